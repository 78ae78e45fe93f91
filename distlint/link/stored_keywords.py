"""What a function puts into its own ``**kwargs`` before it hands them on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

_READING = frozenset({"get", "keys", "values", "items", "copy"})


def handed_keywords(module: ir.Module, function: int, call: ir.Call) -> dict[str, ir.Position] | None:
    """What a function adds to its own ``**kwargs`` that a call in it spreads; ``None`` where it spreads no such.

    What its callers give is wrong where they give it.
    """
    if function < 0:
        return None
    around = module.functions[function]
    own = {one.name for one in around.parameters if one.kind == "var-keyword"}
    handed = [one.value.id for one in call.keywords if one.name is None and type(one.value) is ir.Name]
    return next((stored_keywords(around.body, name, call.at) for name in handed if name in own), None)


def stored_keywords(body: Sequence[ir.Stmt], name: str, at: ir.Position) -> dict[str, ir.Position]:
    """The keywords that a mapping surely holds at a place of a body, by statements of the body itself before it.

    Nothing where the mapping is bound anew, or where something else may take entries out of it. An entry that is
    taken out anywhere does not count.
    """
    found: dict[str, ir.Position] = {}
    for statement in body:
        if statement.at >> 44 >= at >> 44 or ir.encloses(statement.at, at):
            break
        for key, place in _stored(statement, name):
            found.setdefault(key, place)
    if not found:
        return {}
    taken: set[str] = set()
    for statement in statements(tuple(body)):
        for one in _taken(statement, name):
            if one is None:
                return {}
            taken.add(one)
    return {key: place for key, place in found.items() if key not in taken}


def _stored(statement: ir.Stmt, name: str) -> Iterator[tuple[str, ir.Position]]:
    """``kwargs["key"] = value``, ``kwargs.update(key=value)``, ``kwargs.setdefault("key", value)``."""
    if type(statement) is ir.Assign and statement.value is not None:
        for target in statement.targets:
            if type(target) is ir.Subscript and _is(target.base, name) and (key := _text(target.index)):
                yield key, target.at
    elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
        call = statement.value
        if type(call.func) is not ir.Attribute or not _is(call.func.base, name):
            return
        if call.func.name == "update":
            yield from ((keyword.name, keyword.at) for keyword in call.keywords if keyword.name)
            for one in call.args:
                if type(one) is ir.DictDisplay:
                    yield from ((key, part.at) for part in one.keys if part is not None and (key := _text(part)))
        elif call.func.name == "setdefault" and call.args and (key := _text(call.args[0])):
            yield key, call.args[0].at


def _taken(statement: ir.Stmt, name: str) -> Iterator[str | None]:
    """The entries that a statement takes out of the mapping; ``None`` for what may take out, or bind, anything."""
    if type(statement) is ir.Jump and statement.kind == "del":
        for value in statement.values:
            if type(value) is ir.Subscript and _is(value.base, name):
                yield _text(value.index) or None
            elif _is(value, name):
                yield None
        return
    if type(statement) is ir.Assign:
        targets: tuple[ir.Expr, ...] = statement.targets
    elif type(statement) is ir.AugAssign or type(statement) is ir.For:
        targets = (statement.target,)
    else:
        targets = ()
    for target in targets:
        for part in below(target):
            if _is(part, name) and not _is_item(target, name):
                yield None
    if type(statement) is ir.Assign and statement.value is not None and _is(statement.value, name):
        yield None
    if type(statement) is ir.Return and statement.value is not None and _is(statement.value, name):
        yield None
    for expr in expressions_of(statement):
        for part in below(expr):
            if type(part) is ir.Call:
                yield from _taken_by(part, name)


def _taken_by(call: ir.Call, name: str) -> Iterator[str | None]:
    func = call.func
    if type(func) is ir.Attribute and _is(func.base, name):
        if func.name == "pop" and call.args:
            yield _text(call.args[0]) or None
        elif func.name not in _READING and func.name not in ("update", "setdefault"):
            yield None
    given = (*call.args, *(keyword.value for keyword in call.keywords if keyword.name is not None))
    if any(_is(one, name) for one in given):
        yield None


def _is_item(target: ir.Expr, name: str) -> bool:
    """Whether a target is an entry of the mapping itself."""
    return type(target) is ir.Subscript and _is(target.base, name)


def _is(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name


def _text(expr: ir.Expr) -> str:
    return expr.value if type(expr) is ir.Constant and type(expr.value) is str else ""
