"""Follows the statements of a program as one process executes them."""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal import rows_called, rows_followed
from distlint.rehearsal.entities import ModuleValue
from distlint.rehearsal.exceptions import CONVERTING, Raised, names_raised
from distlint.rehearsal.failing import ASSERTING, may_fail
from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.loops import Loops
from distlint.rehearsal.merging import merged
from distlint.rehearsal.some_keys import put_perhaps
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Perhaps, Source
from distlint.rehearsal.values import OWN_PLACE, Items, Made, Table, Tensor, Thing, escape


class Player(Loops):
    """Executes bodies. A body ends with ``""`` (went on), ``return``, ``break``, ``continue`` or ``raise``."""

    def play(self, body: tuple[ir.Stmt, ...], scope: Scope) -> str:
        """Follows a body."""
        for statement in body:
            self.stage.step()
            ended = self._statement(statement, scope)
            if ended:
                return ended
        return ""

    def follow(self, statement: ir.Stmt, scope: Scope) -> str:
        """Follows one statement."""
        return self._statement(statement, scope)

    def _statement(self, statement: ir.Stmt, scope: Scope) -> str:
        kind = type(statement).__name__
        handler = getattr(self, f"_on_{kind}", None)
        return (handler(statement, scope) or "") if handler is not None else ""

    # Plain statements --------------------------------------------------------------------------------------------

    def _on_Assign(self, statement: ir.Assign, scope: Scope) -> None:  # noqa: N802
        if statement.value is None:
            return
        value = self.value(statement.value, scope)
        for target in statement.targets:
            if _takes_cells(target, statement.value) and isinstance(value, Opaque):
                may_fail(self.stage, CONVERTING, [value], statement.value, scope)  # there may be more, or fewer
            self.bind(target, value, scope)

    def _on_AugAssign(self, statement: ir.AugAssign, scope: Scope) -> None:  # noqa: N802
        before = self.value(statement.target, scope)
        other = self.value(statement.value, scope)
        if isinstance(before, Tensor):
            self.stage.overwrite(before, self.span(statement.target, scope))
            self.stage.use(other, self.span(statement.value, scope))
            self.changed(before, statement.operator, [other], self.span(statement.target, scope))
            return
        if isinstance(before, Items) and statement.operator == "+":
            was_empty = before.items == []
            self.extend(before, other)
            if self.follows_rows:
                rows_called.extended(self, before, other, self.span(statement.target, scope), was_empty=was_empty)
            return
        found = self.operate(statement.operator, before, other, statement.at, scope)
        if self.follows_rows:
            rows_followed.operated(self, statement.operator, before, other, found, self.span(statement.target, scope))
        self.bind(statement.target, found, scope)

    def _on_Evaluate(self, statement: ir.Evaluate, scope: Scope) -> None:  # noqa: N802
        value = statement.value
        if type(value) is ir.Comprehension and value.kind == "generator":
            value = value.generators[0][1]  # nobody ever asks it for an item
        self.value(value, scope)

    def _on_Assert(self, statement: ir.Assert, scope: Scope) -> str:  # noqa: N802
        test = self.value(statement.test, scope)
        holds = self.truth(test)
        if holds is None:
            may_fail(self.stage, ASSERTING, [test], statement.test, scope)
        if holds is False and not self.stage.unsure:
            self.stage.refused = True
        # what is supposed of a program is not to contradict what it demands; else what it demands is taken to be so
        return "raise" if holds is False and self.stage.usual else ""

    def _on_Return(self, statement: ir.Return, scope: Scope) -> str:  # noqa: N802
        scope.results.append(self.value(statement.value, scope) if statement.value is not None else None)
        return "return"

    def _on_Jump(self, statement: ir.Jump, scope: Scope) -> str:  # noqa: N802
        if statement.kind == "raise" and statement.values:
            return Raised.of(names_raised(self.stage.project, self.value(statement.values[0], scope)))
        if statement.kind in ("break", "continue", "raise"):
            return statement.kind
        if statement.kind in ("global", "nonlocal"):
            scope.outside |= {name.id for name in statement.values if type(name) is ir.Name}
        if statement.kind == "del":
            for target in statement.values:
                if type(target) is ir.Name:
                    scope.variables[target.id] = UNKNOWN
                elif type(target) is ir.Subscript:
                    self.deleted(self.value(target.base, scope), self.value(target.index, scope))
        return ""

    def _on_Define(self, statement: ir.Define, scope: Scope) -> None:  # noqa: N802
        self.defined(statement, scope)

    def _on_Import(self, statement: ir.Import, scope: Scope) -> None:  # noqa: N802
        self.imported(statement, scope)

    # Binding -----------------------------------------------------------------------------------------------------

    def bind(self, target: ir.Expr, value: Any, scope: Scope) -> None:
        """Assigns a value to a target."""
        if type(target) is ir.Name:
            self._bind_name(target.id, value, scope)
        elif type(target) is ir.Attribute:
            self._bind_attribute(target, value, scope)
        elif type(target) is ir.Subscript:
            self.store_item(target, value, scope)
        elif type(target) is ir.ListDisplay:
            self._unpack(target.items, value, scope)

    def _unpack(self, targets: tuple[ir.Expr, ...], value: Any, scope: Scope) -> None:
        """``a, *b = value``."""
        value = value.value if isinstance(value, Perhaps) else value
        items = self.items_of(value)
        starred = [position for position, one in enumerate(targets) if type(one) is ir.Starred]
        if items is not None and starred and len(items) >= len(targets) - 1:
            first, behind = starred[0], len(targets) - starred[0] - 1
            end = len(items) - behind
            items = [*items[:first], Items(items[first:end]), *items[end:]]
        if items is None or len(items) != len(targets):
            escape(value)
            for position, one in enumerate(targets):
                inner = type(one) is ir.Starred
                part = self.part(value, position if not starred or position < starred[0] else position - len(targets))
                part = rows_followed.taken_apart(self, value, part) if self.follows_rows else part
                self.bind(one.value if type(one) is ir.Starred else one, UNKNOWN if inner else part, scope)
            return
        for one, part in zip(targets, items, strict=True):
            self.bind(one.value if type(one) is ir.Starred else one, part, scope)

    def _bind_name(self, name: str, value: Any, scope: Scope) -> None:
        holder: Scope | None = scope
        if name in scope.outside:
            holder = scope.outer
            while holder is not None and name not in holder.variables and holder.outer is not None:
                holder = holder.outer
            holder = holder or self.module_scope(scope.file)
            if self.stage.unsure:
                earlier = self.stage.before(holder.variables, name, holder.variables.get(name, UNKNOWN))
                value = merged(earlier, value, self.stage.reasons)
        holder.variables[name] = value  # type: ignore[union-attr]
        if isinstance(value, Tensor):
            value.copied = False

    def _bind_attribute(self, target: ir.Attribute, value: Any, scope: Scope) -> None:
        base = self.value(target.base, scope)
        if isinstance(value, Tensor):
            value.copied = False
        self.models.stored(self, base, target.name, value, self.span(target, scope))
        if not self.set_attribute(base, target.name, value):
            escape(value)
        elif isinstance(base, Made) and isinstance(value, Tensor):
            value.sign = None

    def store_item(self, target: ir.Subscript, value: Any, scope: Scope) -> None:
        """``base[index] = value``."""
        base = self.held(self.value(target.base, scope), "__setitem__")
        index = self.value(target.index, scope)
        if self.follows_rows:
            rows_followed.put(self, base, index, value, self.span(target, scope))
        if isinstance(value, Tensor) and not isinstance(base, Tensor):
            value.copied = False
        if isinstance(base, Items):
            if base.items is not None and isinstance(index, int):
                if -len(base.items) <= index < len(base.items):
                    base.items[index] = (
                        merged(base.items[index], value, self.stage.reasons) if self.stage.doubts(base) else value
                    )
                    base.repeated = False
                    self.note(base)
                return
            length = UNKNOWN if isinstance(index, slice) else base.length()
            base.open()
            base.size = length
            escape(value)
        elif isinstance(base, Table):
            if is_key(index) and (index in base.items or not self.stage.doubts(base)):
                self.leads(base, target.index, index, scope)
                self.put(base.items, index, value, base.made_in)
                if base.perhaps:
                    base.perhaps.pop(index, None)
            else:
                order = self.own_keys(target.index, index, scope)
                put_perhaps(self, base, index, value, order, told=is_key(index))
        elif isinstance(base, Tensor):
            self.stage.overwrite(base, self.span(target, scope))
            if base.whole.level and isinstance(index, int | slice) and self.stage.differs(target, scope.file, index):
                base.whole.placed = Source(OWN_PLACE, self.span(target, scope))
            self.changed(base, "item", [index, value])
        elif isinstance(base, Made) and base.name == "os.environ" and isinstance(index, str):
            self.stage.environment[index] = UNKNOWN if self.stage.unsure else value
        elif isinstance(base, ModuleValue):
            self.store_global(base, index, value)
        elif isinstance(base, Thing):
            self.special_method(base, "__setitem__", [index, value], None)
        elif isinstance(base, Made):
            base.put(self, index, value)
        else:
            escape(value)


def _takes_cells(target: ir.Expr, value: ir.Expr) -> bool:
    """Whether an assignment takes a text apart that is split, and so has to have a certain number of parts."""
    if type(target) is not ir.ListDisplay or any(type(one) is ir.Starred for one in target.items):
        return False
    if type(value) is not ir.Call or type(value.func) is not ir.Attribute or value.func.name not in ("split", "rsplit"):
        return False
    # tensors are split by numbers
    return all(type(one) is ir.Constant and isinstance(one.value, str | None) for one in value.args[:1])
