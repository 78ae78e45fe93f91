"""Items of values in the rehearsal of a program: ``base[index]``, slices, and why what stands there is each process's own."""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal import rows_followed
from distlint.rehearsal.absent import used
from distlint.rehearsal.bounds import of_part
from distlint.rehearsal.chosen_items import drawn_at, is_drawn, one_of_few, one_of_tensors
from distlint.rehearsal.containers import bounds_of, cut
from distlint.rehearsal.entities import (
    ClassValue,
    FunctionValue,
    LambdaOf,
    Library,
    MethodOf,
    ModuleValue,
    Partial,
)
from distlint.rehearsal.failing import FINDING, SHARE, cut_evenly, fails, may_fail
from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.names import families_differ, misnamed
from distlint.rehearsal.objects import Objects
from distlint.rehearsal.options import is_parsed
from distlint.rehearsal.samples import any_row, seen_as_own, tensor_in
from distlint.rehearsal.some_keys import under
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.sums import added, at_least
from distlint.rehearsal.unknowns import UNKNOWN, Number, OneOf, Opaque, OwnLength, Perhaps, Source, Words, kinds_of
from distlint.rehearsal.values import (
    Given,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    holds_work,
    is_known,
    source_of,
)

MAX_CHOICES = 6
"""Functions of which one is called that are all followed."""


class Subscripts(Objects):
    """Takes items out of values."""

    def _of_Subscript(self, expr: ir.Subscript, scope: Scope) -> Any:  # noqa: N802
        base = self.value(expr.base, scope)
        index = self.value(expr.index, scope)
        found = self._at(base, index, expr, scope)
        if self.follows_rows:
            rows_followed.subscripted(self, base, index, found)
        return found

    def _at(self, base: Any, index: Any, expr: ir.Subscript, scope: Scope) -> Any:
        """``base[index]``, where that stands in the program."""
        used(self.stage, base, expr.base, scope)
        base = self.held(base.value if isinstance(base, Perhaps) else base, "__getitem__")
        if isinstance(base, Tensor):
            self.stage.use(base, self.span(expr.base, scope))
            return self._own_rows(self.models.indexed(self, base, index), index, expr, scope)
        may_fail(self.stage, FINDING, [base, index], expr, scope)
        if families_differ(base, index):
            misnamed(self.stage, expr, scope)
        if isinstance(base, Made) and base.name == "os.environ":
            return self.stage.variable(index)
        if isinstance(base, Made) and not is_parsed(base):
            part = base.part(self, index, self.span(expr, scope))
            if part is not NotImplemented:
                return part
        if isinstance(base, Table) and base.missing is not None and is_key(index):
            self.leads(base, expr.index, index, scope)
        if (
            isinstance(base, Table)
            and not base.open
            and base.missing is None
            and is_key(index)
            and index not in base.items
        ):
            fails(self.stage, "KeyError")
        found = cut_evenly(self.item(base, index), index)
        new = not is_key(index) or (isinstance(base, Table) and self.stage.unsure and index not in base.items)
        if new and isinstance(base, Table) and base.missing is not None and (base.led or not base.items):
            base.gets(index, found, self.own_keys(expr.index, index, scope), self.stage.batch)
        if isinstance(found, Tensor):
            return self._own_rows(found, index, expr, scope)
        if isinstance(index, slice) and isinstance(found, Items | Opaque) and type(expr.index) is not ir.Constant:
            return self._of_its_own(found, index, expr, scope)
        return found

    def _of_its_own(self, part: Items | Opaque, index: slice, expr: ir.Expr, scope: Scope) -> Items | Opaque:
        """What a slice holds is each process's own where they are known to take different ones."""
        if not self.stage.differs(expr, scope.file, index):
            return part
        source = self._share(index, expr, scope)
        if isinstance(part, Opaque):
            return Opaque(part.sign, part.source or source)
        part.whole, part.sample = seen_as_own(part.whole, source), seen_as_own(part.sample, source)
        part.items = None if part.items is None else [seen_as_own(item, source) for item in part.items]
        return part

    def leads(self, table: Table, expr: ir.Expr, key: Any, scope: Scope) -> None:
        """Notes whether the first key of a dictionary is another one on each process."""
        if not table.items and not table.open and type(expr) is not ir.Formatted:
            table.led = self.stage.differs(expr, scope.file, key)
        if self.stage.orders and table.order is None and not (is_known(key) and key in table.items):
            table.order = self.stage.orders[-1][0]

    def own_order(self, expr: ir.Expr, table: Table, scope: Scope) -> Source | None:
        """Why a dictionary whose keys are known gives them in another order on each process, where these are the same ones."""
        if table.open or len(table.items) < 2 or not all(map(is_known, table.items)):
            return None
        place = (scope.file, expr.at, self.stage.chain, "keys")
        others = self.stage.shared.note(self.stage.rank, place, tuple(table.items))
        same = not self.stage.shared.note(self.stage.rank, (*place, "together"), frozenset(table.items))
        return Source("the order in which keys come up first", self.span(expr, scope)) if others and same else None

    def own_keys(self, expr: ir.Expr, key: Any, scope: Scope) -> Source | None:
        """Why keys come up in an order of each process's own: ``None`` where they don't, or name the process."""
        if type(expr) is ir.Formatted:
            return None
        source = source_of([key])
        if source is not None and not source.counted:
            return Source(f"the order in which keys come up first ({source.why})", self.span(expr, scope))
        if source is None and self.stage.differs(expr, scope.file, key):
            return Source("the order in which keys come up first", self.span(expr, scope))
        return None

    def own_way(self, key: Any) -> Source | None:
        """Why only some processes come to put a key where they do: not because of the key alone (``if key not in table``)."""
        source, own = source_of(self.stage.reasons), source_of([key])
        alike = source is not None and own is not None and not own.counted and source.span == own.span
        return None if alike else source

    def _own_rows(self, rows: Any, index: Any, expr: ir.Expr, scope: Scope) -> Any:
        """Rows of a tensor, or one of several tensors, are each process's own where they are known to take different ones."""
        if isinstance(rows, Tensor) and rows.source is None and self.stage.differs(expr, scope.file, index):
            return rows.seen_as(self._share(index, expr, scope))
        return rows

    def _share(self, index: Any, expr: ir.Expr, scope: Scope) -> Source:
        """Why rows differ that each process takes for itself: where they are dealt out in turn, each gets some of every kind."""
        in_turn = isinstance(index, slice) and index.step not in (None, 1)
        return Source(SHARE, self.span(expr, scope), indirect=in_turn)

    def item(self, base: Any, index: Any) -> Any:
        """``base[index]`` of anything but a tensor."""
        is_row = isinstance(base, Items | str | bytes | range) or type(base) is tuple
        if isinstance(index, slice) and (is_row or isinstance(base, Words)):
            return self._slice(base, index)
        if is_row and isinstance(index, int):
            items = base.items if isinstance(base, Items) else base
            if items is not None and -len(items) <= index < len(items):
                return items[index]
            return self._item_at(base, index) if isinstance(base, Items) and items is None else UNKNOWN
        if isinstance(base, Table):
            return self._entry(base, index)
        if isinstance(base, ModuleValue):
            return self.module_variable(self.module_scope(base.file), index) if isinstance(index, str) else UNKNOWN
        if isinstance(base, Thing):
            return self.item_of_thing(base, index)
        if isinstance(base, ClassValue) and isinstance(index, str):
            found = self.of_object(base, index, self.module_scope(self.stage.entry))
            return UNKNOWN if isinstance(found, MethodOf) else found
        if isinstance(base, Items) and base.items and all(isinstance(one, Tensor) for one in base.items):
            return one_of_tensors(base.items, index)
        if isinstance(base, Items) and (row := any_row(base, index)) is not None:
            return row
        if isinstance(base, Items):
            bare = base.sample is None or type(base.sample) is Opaque
            if base.items is None and is_drawn(base.sample):
                return drawn_at(base, index)
            return one_of_few(base, index) if base.items is not None or bare else self.item_of(base)
        if isinstance(base, Made) and is_parsed(base) and isinstance(index, int):
            return base if index == 0 else derived("part", [base, index])
        if type(index) is int and (found := self._result(base, index)) is not None:
            return found
        if isinstance(base, Library) and isinstance(index, int):
            return derived("part", [base, index])
        if isinstance(base, Library) or (isinstance(base, Made) and base.name.startswith("typing.")):
            return base  # a type with its parameters
        if not isinstance(base, Opaque | Made | MethodOf) and type(base) is not tuple:
            return UNKNOWN
        found = one_of_few(base, index)
        return of_part(found, index) if isinstance(index, slice) else found

    def _item_at(self, base: Items, index: int) -> Any:
        """An item of a list whose items are not known: where these are in another order on each process, it is another one."""
        found = drawn_at(base, index) if is_drawn(base.sample) else self.item_of(base)
        if type(found) in (Opaque, Number) and found.source is None and base.ordered is not None:
            return Opaque(combined("part", [found, index]), base.ordered)
        return found

    def _slice(self, base: Any, index: slice) -> Any:
        """``base[a:b]``."""
        if isinstance(base, Words):
            words, base = base, self.some(base, self.length(base))
            base.sample = self.item_of(words)
        items = base.items if isinstance(base, Items) else list(base) if type(base) is tuple else base
        found = cut(items, index) if items is not None else None
        if type(base) is tuple:
            return tuple(found) if found is not None else derived("slice", [base, *bounds_of(index)])
        if not isinstance(base, Items):
            return found if found is not None else derived("slice", [base, *bounds_of(index)])
        if found is not None:
            return Items(found, at=base.at)
        length = base.length()
        part = cut(range(length), index) if isinstance(length, int) else None
        if type(index.stop) is int and index.start in (None, 0) and index.step is None:
            part = range(index.stop) if 0 <= index.stop <= at_least(length) else part
        tells = derived("slice", [length, *bounds_of(index)])
        if index.stop is not None:
            # a limit makes it as many everywhere, as a rule
            most = added(index.stop, index.start or 0, minus=True)
            tells = Opaque(combined("cut", [most, index.step]), source_of(bounds_of(index)))
        if tells.sign is None:
            tells = OwnLength(tells)  # what is taken off and added again leaves no trace
        of_part(tells, index)
        size = len(part) if part is not None else tells
        made = self.some(derived("slice", [base, *bounds_of(index)]), size, span=base.at)
        made.sample = self.item_of(base) if base.items or base.sample is not None else None
        if type(made.sample) in (Opaque, Number):
            other = derived("item", [made.sample, made.whole])  # other slices hold others
            kinds = kinds_of(made.sample)
            made.sample = Number(next(iter(kinds)), other) if len(kinds) == 1 else other
        return made

    def _entry(self, base: Table, index: Any) -> Any:
        """``base[key]`` of a dictionary."""
        if isinstance(index, Tensor):
            index = Opaque()  # tensors are told apart by which object they are, and not by their numbers
        base.read(index if is_key(index) else None)
        if is_key(index) and index in base.items:
            return base.items[index]
        if is_key(index) and base.missing is not None and not base.open:
            made = self.made_by(base.missing, index)
            if not self.stage.unsure:
                base.items[index] = made
            return made
        if base.open and not base.items and holds_work(base.sample):
            return base.sample
        if base.open:
            perhaps = under(base, index) if is_key(index) else NotImplemented
            if perhaps is not NotImplemented:
                return perhaps.value
            found = tensor_in(base, index)
            return derived("part", [base.whole, index]) if found is None else found
        return UNKNOWN if is_key(index) else self.one_of(list(base.items.values()), index)

    def one_of(self, choices: list[Any], index: Any) -> Opaque:
        """One of some values, by something that is not known; functions may be called all the same."""
        functions = FunctionValue | LambdaOf | Partial
        if choices and len(choices) <= MAX_CHOICES and all(isinstance(one, functions) for one in choices):
            return OneOf(choices, derived("choice", [index]))
        kinds = {type(one) for one in choices}
        told = derived("part", [*choices, index])
        return Number(kinds.pop(), told) if kinds in ({int}, {float}) else told

    def made_by(self, maker: Any, key: Any) -> Any:
        """What makes the value of a new key gives: a function without arguments, or a method ``__missing__``."""
        call = ir.Call(ir.Constant(None, 0), (), (), 0)
        asked = isinstance(maker, FunctionValue) and isinstance(maker.receiver, Thing)
        asked = asked and self.stage.project.modules.method(maker.receiver.cls, "__missing__") == maker.ref
        return self.apply(maker, Given([key] if asked else [], {}), call, self.module_scope(self.stage.entry))

    def part(self, value: Any, position: int) -> Any:
        """One of the values that something unknown is unpacked to."""
        if isinstance(value, Made) and is_parsed(value):
            return value if position == 0 else derived("part", [value, position])
        if isinstance(value, Items) and value.items is None:
            return self.item_of(value)
        found = self._result(value, position)
        if found is not None:
            return found
        return derived("part", [value, position]) if isinstance(value, Opaque | Made | MethodOf) else UNKNOWN

    def _result(self, whole: Any, position: int) -> Made | None:
        """The thing at a place of what a library's function gave; ``None`` where that does not have to be several things."""
        if isinstance(whole, Results):
            return whole.result(position)
        return part_of_result(whole, position) if type(whole) is Made and self.stage.witness is not None else None


class Results(Made):
    """What a library's function gave, several things at once, of which its framework knows more than which they are."""

    __slots__ = ()

    def result(self, position: int) -> Made:
        """The thing at a place."""
        return part_of_result(self, position)


def part_of_result(whole: Made, position: int) -> Made:
    """One of the results of a library's function, by its place: an object that is known by what made it, as the whole is."""
    part = Made(f"{whole.name}[{position}]", whole.call, whole.arguments)
    part.sign, part.source = combined("part", [whole, position]), whole.source
    part.file, part.function = whole.file, whole.function
    return part
