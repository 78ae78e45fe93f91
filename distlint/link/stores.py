"""Which statements of a file store into attributes and into the variables of its module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.walking import access_path, name_behind_calls, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.modules import FunctionRef

MERGING = """
    merge_with merge_with_cli merge_with_dotlist merge_update merge_from_file merge_from_list merge_from_dict merge_from_other_cfg
"""
"""Methods of settings (OmegaConf, ml_collections, yacs, mmengine) that put others into them."""
MUTATORS = frozenset(
    {"update", "setdefault", "pop", "clear", "popitem", "append", "extend", "insert", "remove", "add", "discard"}
) | {*MERGING.split()}
"""Methods of mappings, lists and sets that change them."""


def stored_into(statement: ir.Stmt) -> Iterator[ir.Expr]:
    """What a statement stores into, unpacked."""
    stack: list[ir.Expr] = []
    if isinstance(statement, ir.Assign):
        stack.extend(statement.targets if statement.value is not None else ())
    elif isinstance(statement, ir.AugAssign | ir.For):
        stack.append(statement.target)
    elif isinstance(statement, ir.With):
        stack.extend(bound for _, bound in statement.items if bound is not None)
    elif isinstance(statement, ir.Jump) and statement.kind == "del":
        stack.extend(statement.values)
    while stack:
        target = stack.pop()
        if type(target) is ir.ListDisplay:
            stack.extend(target.items)
        elif type(target) is ir.Starred:
            stack.append(target.value)
        else:
            yield target


def _changed(statement: ir.Stmt) -> Iterator[tuple[str, tuple[ir.Expr | str, ...], bool]]:
    """The places that a statement changes: root name, path, and whether what stands there is changed in place."""
    for target in stored_into(statement):
        root, path = access_path(target)
        if root:
            yield root, path, False
        elif behind := name_behind_calls(target):
            yield behind, (), True
    value = statement.value if isinstance(statement, ir.Evaluate | ir.Assign) else None
    if type(value) is ir.Call and type(value.func) is ir.Attribute and value.func.name in MUTATORS:
        root, path = access_path(value.func.base)
        if root:
            yield root, path, True
        elif behind := name_behind_calls(value.func.base):
            yield behind, (), True


def changed_attributes(body: tuple[ir.Stmt, ...], own: str) -> set[str]:
    """The attributes of ``own`` whose objects a body changes in place."""
    found = set()
    for statement in statements(body):
        for root, path, in_place in _changed(statement):
            if root == own and path and isinstance(path[0], str) and (len(path) > 1 or in_place):
                found.add(path[0][1:])
    return found


def changed_names(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The names whose objects a body changes in place."""
    return {root for statement in statements(body) for root, path, in_place in _changed(statement) if path or in_place}


class OutsideStore(NamedTuple):
    """``object.name = value`` in a function (-1: the module's own body), where the object is not the method's own.

    ``value`` is ``None`` where it is taken apart or worked out; ``whole`` is then what it is one of several parts of, and ``place`` which.
    """

    function: int
    base: ir.Expr
    name: str
    value: ir.Expr | None
    at: ir.Position
    whole: ir.Expr | None = None
    place: int = 0


def outside_stores(module: ir.Module) -> tuple[OutsideStore, ...]:
    """The plain stores of a file into attributes of objects other than the method's own."""
    found = []
    bodies = [(-1, "", module.body)]
    for index, function in enumerate(module.functions):
        own = function.parameters[0].name if function.owner >= 0 and function.parameters else ""
        bodies.append((index, own, function.body))
    for index, own, body in bodies:
        for statement in statements(body):
            value = statement.value if isinstance(statement, ir.Assign) and len(statement.targets) == 1 else None
            for target in stored_into(statement):
                if type(target) is ir.Attribute and not (type(target.base) is ir.Name and target.base.id == own):
                    items = _items_of_target(statement)
                    counted = () if any(type(item) is ir.Starred for item in items) else items
                    place = next((number for number, item in enumerate(counted) if item is target), None)
                    found.append(
                        OutsideStore(index, target.base, target.name, None, statement.at, value, place)
                        if place is not None
                        else OutsideStore(index, target.base, target.name, None if items else value, statement.at)
                    )
    return tuple(found)


def _items_of_target(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The targets that an assignment takes its value apart for; nothing for a plain one."""
    target = statement.targets[0] if isinstance(statement, ir.Assign) else None
    return target.items if type(target) is ir.ListDisplay else ()


def stored_attributes(module: ir.Module) -> frozenset[str]:
    """The names of all attributes that a file stores into; ``*`` if some are computed (``setattr``, ``__dict__``)."""
    found: set[str] = set()
    for body in (module.body, *(function.body for function in module.functions)):
        for statement in statements(body):
            for _, path, _ in _changed(statement):
                found.update(step[1:] for step in path if isinstance(step, str))
    for site in module.calls.get("setattr", ()):
        name = site.call.args[1] if len(site.call.args) > 1 else None
        found.add(name.value if type(name) is ir.Constant and isinstance(name.value, str) else "*")
    if "__dict__" in found:
        found.add("*")
    return frozenset(found)


def global_writers(module: ir.Module) -> dict[str, tuple[int, ...]]:
    """The functions that bind or change a variable of the module, by variable."""
    found: dict[str, list[int]] = {}
    for index, function in enumerate(module.functions):
        declared: set[str] = set()
        own = {parameter.name for parameter in function.parameters}
        touched: set[str] = set()
        for statement in statements(function.body):
            if isinstance(statement, ir.Jump) and statement.kind == "global":
                declared.update(name.id for name in statement.values if type(name) is ir.Name)
            for root, path, in_place in _changed(statement):
                if path or in_place:
                    touched.add(root)
                else:
                    own.add(root)
        for name in declared | (touched - own):
            found.setdefault(name, []).append(index)
    return {name: tuple(indexes) for name, indexes in found.items()}


def collect_stores(
    body: tuple[ir.Stmt, ...],
    self_name: str,
    method: FunctionRef,
    found: dict[str, list[tuple[FunctionRef, ir.Expr | None, tuple[Any, ...]]]],
) -> None:
    """The assignments to ``self.name`` in a method's body, however deep."""
    for statement in body:
        if type(statement) is ir.Assign:
            for target in statement.targets:
                _collect_target(target, statement.value, (), self_name, method, found)
        elif type(statement) is ir.AugAssign:
            _collect_target(statement.target, None, (), self_name, method, found)
        elif type(statement) is ir.Try:
            for block in (
                statement.body,
                *(handler[2] for handler in statement.handlers),
                statement.orelse,
                statement.final,
            ):
                collect_stores(block, self_name, method, found)
        elif type(statement) is ir.Match:
            for case in statement.cases:
                collect_stores(case[2], self_name, method, found)
        elif type(statement) in (ir.If, ir.For, ir.While):
            collect_stores(statement.body, self_name, method, found)  # type: ignore[union-attr]
            collect_stores(statement.orelse, self_name, method, found)  # type: ignore[union-attr]
        elif type(statement) is ir.With:
            collect_stores(statement.body, self_name, method, found)


def _collect_target(
    target: ir.Expr,
    value: ir.Expr | None,
    part: tuple[Any, ...],
    self_name: str,
    method: FunctionRef,
    found: dict[str, list[tuple[FunctionRef, ir.Expr | None, tuple[Any, ...]]]],
) -> None:
    if type(target) is ir.Attribute and type(target.base) is ir.Name and target.base.id == self_name:
        found.setdefault(target.name, []).append((method, value, part))
    elif type(target) is ir.ListDisplay:
        for index, item in enumerate(target.items):
            _collect_target(item, value, (*part, index), self_name, method, found)
