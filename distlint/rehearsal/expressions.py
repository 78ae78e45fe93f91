"""What expressions are on one process of a rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from distlint.link.modules import FunctionRef, GlobalRef, Target
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import rows_followed
from distlint.rehearsal.absent import UNSET, used, without_value
from distlint.rehearsal.bounds import asks_all, narrowed, of_part, widened
from distlint.rehearsal.chosen_items import drawn_at, is_drawn, one_of_few, one_of_tensors
from distlint.rehearsal.containers import bounds_of, cut
from distlint.rehearsal.defaults import defaults_of
from distlint.rehearsal.entities import (
    ClassValue,
    FunctionValue,
    LambdaOf,
    Library,
    MethodOf,
    ModuleValue,
    Nothing,
    Partial,
)
from distlint.rehearsal.failing import DIVIDING, FINDING, SHARE, cut_evenly, may_fail
from distlint.rehearsal.iterating import distinct, is_key
from distlint.rehearsal.joined_tests import joined_operands, negated
from distlint.rehearsal.like_objects import one_of_two
from distlint.rehearsal.merging import merged
from distlint.rehearsal.names import families_differ, misnamed, not_found
from distlint.rehearsal.objects import Objects
from distlint.rehearsal.operations import MAX_TEXT
from distlint.rehearsal.options import is_parsed, option_of
from distlint.rehearsal.paths import text_path
from distlint.rehearsal.samples import any_row, seen_as_own, tensor_in
from distlint.rehearsal.sets_of_texts import holds_texts
from distlint.rehearsal.some_keys import taken_over, under
from distlint.rehearsal.some_ways import parted
from distlint.rehearsal.stage import Scope, Tested
from distlint.rehearsal.sums import added, at_least, is_summand
from distlint.rehearsal.trace import Branch
from distlint.rehearsal.unknowns import UNKNOWN, Number, OneOf, Opaque, OwnLength, Perhaps, Source, Words, kinds_of
from distlint.rehearsal.values import (
    MAX_ITEMS,
    OWN_PLACE,
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
    is_measured,
    signature,
    source_of,
)

MAX_CHOICES = 6
"""Functions of which one is called that are all followed."""
_LEVEL = frozenset({"fill_", "zero_"})
"""Changes that leave all numbers of a tensor the same one."""
_NUMERIC = frozenset({"+", "-", "*", "/", "//", "**", "@", "<", ">", "<=", ">="})


class Expressions(Objects):
    """Works out values. ``models`` says what operations on tensors give (see ``FrameworkSpec.rehearsed``)."""

    def value(self, expr: ir.Expr, scope: Scope) -> Any:
        """The value of an expression."""
        self.stage.step()
        kind = type(expr)
        if kind is ir.Constant:
            return expr.value  # type: ignore[union-attr]
        if kind is ir.Name:
            return without_value(self.stage, self.name(expr.id, scope), expr, scope)  # type: ignore[union-attr]
        method = getattr(self, f"_of_{kind.__name__}", None)
        found = method(expr, scope) if method is not None else UNKNOWN
        if type(found) is Items and found.distinct:
            holds_texts(self.stage.project, found, expr, scope)
        return found

    def text_of(self, thing: Thing, default: Any) -> Any:
        """What an object is as a text."""
        raise NotImplementedError

    # Names -------------------------------------------------------------------------------------------------------

    def name(self, name: str, scope: Scope) -> Any:
        """What a name means in a scope."""
        around: Scope | None = scope
        while around is not None:
            if name in around.variables and not (around is scope and name in scope.outside):
                return around.variables[name]
            around = around.outer
        module = self.module_scope(scope.file)
        if name in module.variables:
            return self.module_variable(module, name)
        modules = self.stage.project.modules
        target = modules.lookup(name, scope.file)
        if isinstance(target, GlobalRef):
            if target.file == scope.file:
                return UNSET if scope is module and not module.doubt else UNKNOWN
            return self.module_variable(self.module_scope(target.file), target.name)
        if target is not None:
            return self.target_value(target)
        return Library(f"builtins.{name}")

    def target_value(self, target: Target | None) -> Any:
        """What a resolved name means: a function as its decorators leave it."""
        if isinstance(target, FunctionRef):
            definition = self.stage.project.function(target)
            if definition.decorators and definition.parent < 0 and definition.owner < 0:
                found = self.module_scope(target.file).variables.get(definition.name)
                if found is not None:
                    return found
        return self.stage.target_value(target)

    def module_variable(self, module: Scope, name: str) -> Any:
        """A variable of a module; not known where a function that we did not see called may have set it."""
        writers = self.stage.project.global_writers(module.file).get(name, ())
        if writers:
            setters = [
                index for index in writers if f"{name} =" in self.stage.project.flow(module.file, index).assigned.how
            ]
            if setters and not any(FunctionRef(module.file, index) in self.stage.visited for index in setters):
                return UNKNOWN
        return module.variables.get(name, UNKNOWN)

    # Displays ----------------------------------------------------------------------------------------------------

    def _of_ListDisplay(self, expr: ir.ListDisplay, scope: Scope) -> Any:  # noqa: N802
        items: list[Any] = []
        length: Any = 0
        is_open = False
        for item in expr.items[:MAX_ITEMS]:
            if type(item) is ir.Starred:
                given = self.value(item.value, scope)
                spread = self.items_of(given)
                length = added(length, self.length(given) if spread is None else len(spread))
                items.extend([given] if spread is None else spread)
                is_open = is_open or spread is None
            else:
                items.append(self.value(item, scope))
                length = added(length, 1)
        if is_open:
            made = self.some(derived("list", items), span=self.span(expr, scope))
            made.sample = self.item_of(items[0]) if len(expr.items) == 1 else None
            if expr.kind != "set" and is_summand(length):
                made.size = length
            return made
        for item in items:
            if isinstance(item, Tensor):
                item.copied = False
        if expr.kind == "set":
            return distinct(items, self.span(expr, scope))
        self._displayed(items, expr, scope)
        return tuple(items) if expr.kind == "tuple" else self.stage.made(Items(items, at=self.span(expr, scope)))

    def _displayed(self, values: Iterable[Any], expr: ir.Expr, scope: Scope) -> None:
        """Values stand in one row, or in one text."""
        if self.follows_rows:
            rows_followed.displayed(self, values, self.span(expr, scope))

    def _of_DictDisplay(self, expr: ir.DictDisplay, scope: Scope) -> Any:  # noqa: N802
        table = self.stage.made(Table())
        table.batch = self.stage.batch
        for key, value in zip(expr.keys[:MAX_ITEMS], expr.values, strict=False):
            given = self.value(value, scope)
            name = self.value(key, scope) if key is not None else UNKNOWN
            if key is not None and is_key(name):
                table.items[name] = given
            elif key is None and isinstance(given, Table):
                given.read()
                taken_over(table, given)
            else:
                table.opens(name if key is not None else given, given)
            self._displayed([name, given], expr, scope)
        self._displayed(table.items.values(), expr, scope)
        return table

    def _of_Formatted(self, expr: ir.Formatted, scope: Scope) -> Any:  # noqa: N802
        values = [self.value(part, scope) for part in expr.parts]
        for part, value in zip(expr.parts, values, strict=True):
            self.stage.use(value, self.span(part, scope))
        self._displayed(values, expr, scope)
        values = [self.text_of(value, value) if isinstance(value, Thing) else value for value in values]
        if all(isinstance(value, str | int) for value in values):
            return "".join(map(str, values))[:MAX_TEXT]
        return text_path(self.stage, derived("text", values), values)

    def _of_Wrapped(self, expr: ir.Wrapped, scope: Scope) -> Any:  # noqa: N802
        value = self.value(expr.value, scope) if expr.value is not None else None
        if expr.kind == ":=":
            self.bind(ir.Name(expr.target, expr.at), value, _function_scope(scope))
        return value if expr.kind in (":=", "await") else UNKNOWN

    def _of_Lambda(self, expr: ir.Lambda, scope: Scope) -> Any:  # noqa: N802
        return LambdaOf(expr, scope, defaults_of(self, expr.parameters, scope))

    def _of_Starred(self, expr: ir.Starred, scope: Scope) -> Any:  # noqa: N802
        return self.value(expr.value, scope)

    def _of_Slice(self, expr: ir.Slice, scope: Scope) -> Any:  # noqa: N802
        parts = [None if part is None else self.value(part, scope) for part in (expr.lower, expr.upper, expr.step)]
        return slice(*parts)

    # Parts -------------------------------------------------------------------------------------------------------

    def _of_Attribute(self, expr: ir.Attribute, scope: Scope) -> Any:  # noqa: N802
        base = self.value(expr.base, scope)
        used(self.stage, base, expr.base, scope)
        found = self.attribute(base, expr.name, expr, scope)
        if self.follows_rows:
            rows_followed.attribute(self, base, expr.name, found)
        return without_value(self.stage, found, expr, scope)

    def attribute(self, base: Any, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """``base.name``."""
        stage = self.stage
        base = base.value if isinstance(base, Perhaps) else base
        if isinstance(base, Library):
            dotted = stage.project.modules.canonical(f"{base.name}.{name}")
            if dotted == "os.environ":
                return Made(dotted)
            constant = self.models.constant(dotted)
            return Library(dotted) if constant is NotImplemented else constant
        if isinstance(base, ModuleValue):
            inner = self.module_scope(base.file)
            if name in inner.variables:
                return self.module_variable(inner, name)
            return self.target_value(stage.project.modules.lookup(name, base.file))
        if isinstance(base, Tensor):
            return self.models.tensor_attribute(self, base, name, expr, scope)
        if isinstance(base, Made):
            kind = stage.sources.get(stage.project.modules.canonical(f"{base.name}.{name}"))
            if kind is not None:
                return stage.source(kind)
            if name in base.stored:
                return base.stored[name]
            found = base.attribute(self, name, expr, scope)
            return self.part_of_made(base, name, expr, scope) if found is NotImplemented else found
        if isinstance(base, Nothing):
            return UNKNOWN
        found = self.of_object(base, name, scope)
        return MethodOf(base, name) if found is NotImplemented else found

    def part_of_made(self, base: Made, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """An attribute of an object of a library: options are asked for where they are parsed."""
        if is_parsed(base):
            return option_of(self, base, name)
        owner = self.models.owner(base, name)
        return owner if owner is not None else MethodOf(base, name)

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
        return derived("part", [value, position]) if isinstance(value, Opaque | Made | MethodOf) else UNKNOWN

    def _of_Conditional(self, expr: ir.Conditional, scope: Scope) -> Any:  # noqa: N802
        test = self.value(expr.test, scope)
        decided = self.truth(test)
        if decided is not None:
            return self.value(expr.body if decided else expr.orelse, scope)
        branch = self.parting(test, expr.test, scope)
        grown, side = self.stage.grown, self.stage.sides.get(id(test))
        values = []
        for part, nodes, holds in zip((expr.body, expr.orelse), branch.arms, (True, False), strict=True):
            told = narrowed(scope.variables, test, holds=holds)
            self.stage.sides[id(test)] = holds
            values.append(self._perhaps_value(part, nodes, test, scope))
            widened([scope.variables], [told])
        self.stage.took_side(test, side, [])
        if self.stage.grown > grown:
            self.stage.mark(branch)
        asked = [self.asked(test)]
        either_one = one_of_two(values[0], values[1], expr, scope.file) if source_of(asked) is None else None
        if either_one is not None:
            return either_one
        return parted(values[0], values[1], merged(values[0], values[1], asked), asked)

    def asked(self, value: Any) -> Any:
        """What a test asks of a value: of a list whether something is in it, not what."""
        if isinstance(value, Perhaps) and isinstance(value.value, Items | Table):
            both = [value.missing, self.length(value.value)]
            return Opaque(combined("asked", both), source_of(both))
        if isinstance(value, Perhaps) and not isinstance(value.value, Tensor):
            return value.missing
        return self.length(value) if isinstance(value, Items | Table) else value

    def parting(self, test: Any, at: ir.Expr, scope: Scope, arms: int = 2) -> Branch:
        """A place in the trace for a test that is not known."""
        test = self.asked(test)
        if not is_known(test) and source_of([test]) is not None:
            self.stage.tested[id(test)] = Tested(test, at, scope, len(self.stage.reasons))
        span, chain = self.span(at, scope), self.stage.chain
        sign = signature(test)
        branch = Branch(at, span, chain, sign if sign is not None else ("at", span, chain), source_of([test]), arms)
        branch.measured = sign is not None and is_measured(test)
        self.stage.tests |= {(span, chain), branch.key}
        return branch

    def _perhaps_value(self, expr: ir.Expr, nodes: list[Any], test: Any, scope: Scope) -> Any:
        """The value of an expression that is worked out only where a test says so."""
        return self.perhaps(lambda: self.value(expr, scope), nodes, test)

    def perhaps(self, action: Callable[[], Any], nodes: list[Any], test: Any) -> Any:
        """Does something that is done only where a test says so."""
        stage = self.stage
        outer, stage.trace = stage.trace, nodes
        stage.unsure += 1
        stage.reasons.append(self.asked(test))
        try:
            return action()
        finally:
            stage.reasons.pop()
            stage.unsure -= 1
            stage.trace = outer

    # Operations --------------------------------------------------------------------------------------------------

    def _of_Operation(self, expr: ir.Operation, scope: Scope) -> Any:  # noqa: N802
        first = expr.operators[0]
        if first in ("and", "or"):
            return self._logic(first, expr, scope)
        values = [self.value(operand, scope) for operand in expr.operands]
        if len(values) == 1:
            return self._unary(first, values[0])
        if len(values) > 2:
            return self.chained(expr, values, scope)
        for operand, value in zip(expr.operands, values, strict=True):
            if first not in ("is", "is not"):
                self.stage.use(value, self.span(operand, scope))
            if first in _NUMERIC:
                used(self.stage, value, operand, scope)
        if first in ("/", "//", "%") and not isinstance(values[1], Tensor):
            may_fail(self.stage, DIVIDING, values[1:], expr, scope)
        if first in ("in", "not in") and families_differ(values[1], values[0]):
            not_found(self.stage, values[1], expr, scope)
            return first != "in"
        found = self.operate(first, values[0], values[1], expr.at, scope)
        if self.follows_rows:
            rows_followed.operated(self, first, values[0], values[1], found, self.span(expr, scope))
        return found

    def _logic(self, symbol: str, expr: ir.Operation, scope: Scope) -> Any:
        return self._rest_of_logic(symbol, list(expr.operands), [], scope)

    def _rest_of_logic(self, symbol: str, operands: list[ir.Expr], before: list[Any], scope: Scope) -> Any:
        """What the rest of ``a and b and c`` gives, behind operands of which it is not known whether they decide."""
        first, *rest = operands
        value = self.value(first, scope)
        decided = self.truth(value)
        every = [*before, value]
        if decided is (symbol == "or"):
            return asks_all(derived(symbol, every), symbol, every) if before and not is_known(value) else value
        if not rest:
            joins = before and decided is not (symbol == "or")
            return joined_operands(self, symbol, every, decided) if joins else value
        if decided is not None:
            return self._rest_of_logic(symbol, rest, before, scope)
        branch = self.parting(value, first, scope)
        stage = self.stage
        grown = stage.grown
        outer, stage.trace = stage.trace, branch.arms[0 if symbol == "and" else 1]
        stage.unsure += 1
        stage.reasons.append(self.asked(value))
        try:
            return self._rest_of_logic(symbol, rest, every, scope)
        finally:
            stage.reasons.pop()
            stage.unsure -= 1
            stage.trace = outer
            if stage.grown > grown:
                stage.mark(branch)

    def _unary(self, symbol: str, value: Any) -> Any:
        if symbol == "not":
            decided = self.truth(value)
            return negated(self, value) if decided is None else not decided
        if isinstance(value, Tensor):
            return self.models.elementwise(self, symbol, [value])
        if isinstance(value, int | float):
            if symbol == "~":
                return ~value if isinstance(value, int) else UNKNOWN
            return -value if symbol == "-" else value if symbol == "+" else UNKNOWN
        return derived(symbol, [value])

    def changed(self, tensor: Tensor, how: str, others: list[Any], span: Span | None = None) -> None:
        """A tensor's content changes in place, where that is known at the place ``span``."""
        whole = tensor.whole
        if whole.level and tensor is not whole and tensor.source is not None and whole.source is None:
            whole.placed = Source(OWN_PLACE, tensor.source.span)  # a row that each process picked for itself
        whole.level = whole.level and how in _LEVEL
        whole.sign = combined(how, [whole, *others])
        whole.source = whole.source or source_of(others)
        tensor.sign = whole.sign
        tensor.source = whole.source
        self.models.changed(self, tensor, how, others, span)


def _function_scope(scope: Scope) -> Scope:
    """Where an assignment within an expression binds: comprehensions have no variables of their own for it."""
    outer = scope.outer
    while outer is not None and outer.function == scope.function and outer.file == scope.file:
        scope, outer = outer, outer.outer
    return scope
