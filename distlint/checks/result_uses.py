"""What a function does with the result of a model that has several parts: whether it may use one of them.

A result is an object with fields that is a tuple as well (``found.last_hidden_state``, ``found[0]``), or is taken apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from distlint.link.walking import blocks_of, children, expressions_of, statements
from distlint.model import python as ir


class Use(NamedTuple):
    """A mention of a model: ``may`` says that the part may be used there, ``called`` that it is called, ``stored`` what is put there."""

    may: bool = False
    called: bool = False
    stored: ir.Expr | None = None


class Body(NamedTuple):
    """The statements of a function, and those of the functions in it."""

    own: tuple[ir.Stmt, ...]
    inner: tuple[ir.Stmt, ...] = ()

    @classmethod
    def of(cls, module: ir.Module, function: int) -> Body:
        """Those of a function of a module, or of its top level (-1)."""
        if function < 0:
            return cls(module.body)
        inner = [number for number, one in enumerate(module.functions) if one.parent == function]
        deeper = [part for number in inner for part in cls.of(module, number)]
        return cls(module.functions[function].body, tuple(one for part in deeper for one in part))


class Results:
    """Results of which ``fields`` and ``places`` (indices; the last one stands for all behind it) have nothing to do with a part.

    ``plain`` are attributes of the model that leave its parts as they are.
    """

    def __init__(self, fields: Collection[str], places: Sequence[int], plain: Collection[str] = ()) -> None:
        self._fields = frozenset(fields)
        self._places = places
        self._plain = frozenset(plain)

    def may_use(self, body: Body, call: ir.Call) -> bool:
        """Whether a function may use the part of what a call in it gives."""
        for statement in statements(body.own):
            for expr, around in _nested(statement):
                if expr is call:
                    return self._leads_on(body, statement, call, around)
        return True

    def uses_of(self, body: Body, name: str, other: str) -> Iterator[Use]:
        """The mentions of an attribute in a function, but for those of the object ``other``."""
        for statement in statements(body.own):
            for expr, around in _nested(statement):
                if type(expr) is not ir.Attribute or expr.name != name:
                    continue
                if other and type(expr.base) is ir.Name and expr.base.id == other:
                    continue
                if type(statement) is ir.Assign and any(expr is target for target in statement.targets):
                    yield Use(may=True, stored=statement.value)
                elif type(around) is ir.Call and around.func is expr:
                    yield Use(may=self.may_use(body, around), called=True)
                else:
                    yield Use(may=type(around) is not ir.Attribute or around.name not in self._plain)

    def _leads_on(self, body: Body, statement: ir.Stmt, expr: ir.Expr, around: ir.Expr | None) -> bool:
        """Whether a result goes on with the part in it."""
        if around is not None:
            return not self._is_other(around)
        if type(statement) is not ir.Assign or len(statement.targets) != 1:
            return True
        target = statement.targets[0]
        if type(target) is ir.ListDisplay:
            return self._is_taken_apart(body, target)
        if type(target) is not ir.Name:
            return True
        return any(
            type(part) is ir.Name and part.id == target.id and (over is None or not self._is_other(over))
            for one in (*_behind(body.own, statement, target.id), *statements(body.inner))
            for part, over in _nested(one)
            if not (type(one) is ir.Assign and any(part is goal for goal in one.targets))
        )

    def _is_other(self, around: ir.Expr) -> bool:
        """Whether what stands around a result takes something else of it than the part."""
        if type(around) is ir.Attribute:
            return around.name in self._fields
        if type(around) is not ir.Subscript:
            return False
        if type(around.index) is ir.Constant:
            index = around.index.value
            return index in self._fields if isinstance(index, str) else self._is_other_place(index)
        if type(around.index) is not ir.Slice:
            return False
        lower = around.index.lower
        return type(lower) is ir.Constant and self._is_other_place(lower.value) and lower.value == self._places[-1]

    def _is_other_place(self, index: object) -> bool:
        return (
            isinstance(index, int)
            and not isinstance(index, bool)
            and (index in self._places or index > self._places[-1])
        )

    def _is_taken_apart(self, body: Body, target: ir.ListDisplay) -> bool:
        """Whether a name that gets the part is used."""
        if any(type(one) is not ir.Name for one in target.items):
            return True
        names = [
            one.id for index, one in enumerate(target.items) if type(one) is ir.Name and not self._is_other_place(index)
        ]
        return any(
            sum(
                1
                for one in statements(body.own + body.inner)
                for part, _ in _nested(one)
                if type(part) is ir.Name and part.id == name
            )
            > 1
            for name in names
            if not name.startswith("_")
        )


def _nested(statement: ir.Stmt) -> Iterator[tuple[ir.Expr, ir.Expr | None]]:
    """The expressions in a statement, each with the one right around it."""
    waiting: list[tuple[ir.Expr, ir.Expr | None]] = [(one, None) for one in expressions_of(statement)]
    while waiting:
        expr, around = waiting.pop()
        yield expr, around
        inside = (expr.body,) if type(expr) is ir.Lambda else children(expr)
        waiting += [(one, expr) for one in inside]


def _behind(body: tuple[ir.Stmt, ...], made: ir.Assign, name: str) -> list[ir.Stmt]:
    """The statements that may see what an assignment gave a name: those behind it, up to one that certainly gives it something else."""
    listed = list(statements(body))
    start = next(index for index, one in enumerate(listed) if one is made)
    again = next((one for one in _later(body, made) if _stores(one, name)), None)
    if again is not None:
        end = next(index for index, one in enumerate(listed) if one is again)
        return listed[start + 1 : end + 1]
    looped = any(type(one) in (ir.For, ir.While) and ir.encloses(one.at, made.at) for one in listed)
    return listed if looped else listed[start + 1 :]


def _later(body: tuple[ir.Stmt, ...], made: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """The statements of the same block behind one."""
    for index, one in enumerate(body):
        if one is made:
            return body[index + 1 :]
        for block in blocks_of(one):
            found = _later(block, made)
            if found:
                return found
    return ()


def _stores(statement: ir.Stmt, name: str) -> bool:
    return type(statement) is ir.Assign and any(
        type(part) is ir.Name and part.id == name
        for target in statement.targets
        for part in (target.items if type(target) is ir.ListDisplay else (target,))
    )
