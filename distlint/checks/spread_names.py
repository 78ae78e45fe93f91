"""Where a value goes: the names that come from some others, in their function and in the callers that it is returned to.

The order of statements is ignored, so this errs on the side of more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.link.modules import FunctionRef
from distlint.link.walking import access_path, below, bound_names, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.callers import Caller
    from distlint.link.project import Project

JOINING = re.compile(
    r"reduce|gather|sync|(?:^|_)(?:all|dist|global|world|ranks?|average|aggregate|broadcast|merge)(?:_|$)",
    re.IGNORECASE,
)
"""Names of functions that may bring together what the ranks have."""
_WORLD = re.compile(r"world|num_processes|nprocs|num_replicas|WORLD_SIZE", re.IGNORECASE)
MAX_CALLERS = 6
MAX_DEPTH = 3


class Region(NamedTuple):
    """Names of a function (-1: the module) that hold something, or come from what does."""

    file: str
    function: int
    names: frozenset[str]

    def body(self, project: Project) -> tuple[ir.Stmt, ...]:
        """The statements of the function."""
        return body_of(project, self.file, self.function)


def mentions(expr: ir.Expr, names: Iterable[str]) -> bool:
    """Whether an expression reads one of some names, or attributes (``self.total``)."""
    wanted = set(names)
    return any(
        (type(part) is ir.Name and part.id in wanted)
        or (type(part) is ir.Attribute and type(part.base) is ir.Name and f"{part.base.id}.{part.name}" in wanted)
        for part in below(expr)
    )


def called_name(call: ir.Call) -> str:
    """The last name of what a call calls."""
    func = call.func
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""


def forward(body: tuple[ir.Stmt, ...], names: Iterable[str]) -> frozenset[str]:
    """The names of a body that come from some others, these included."""
    found = set(names)
    while True:
        more = {name for statement in statements(body) for name in _taken(statement, found)} - found
        if not more:
            return frozenset(found)
        found |= more


def taken_by(statement: ir.Stmt, names: set[str]) -> set[str]:
    """The names into which a statement puts what comes from some others."""
    return set(_taken(statement, names))


def _taken(statement: ir.Stmt, names: set[str]) -> Iterator[str]:
    if type(statement) is ir.Assign and statement.value is not None:
        if mentions(statement.value, names):
            for target in statement.targets:
                yield from bound_names(target)
    elif type(statement) is ir.AugAssign:
        if mentions(statement.value, names):
            yield from bound_names(statement.target)
    elif type(statement) is ir.For:
        if mentions(statement.iterable, names):
            yield from bound_names(statement.target)
    elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
        call = statement.value
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if type(call.func) is ir.Attribute and any(mentions(one, names) for one in given):
            root = access_path(call.func)[0]
            if (
                root
                and root not in ("self", "cls", "print")
                and call.func.name in ("append", "update", "extend", "add", "copy_")
            ):
                yield root


def regions(project: Project, file: str, function: int, names: Iterable[str], depth: int = 0) -> Iterator[Region]:
    """The names that come from some names of a function: its own, then those of the callers that get them returned."""
    body = body_of(project, file, function)
    own = forward(body, names)
    yield Region(file, function, own)
    if function < 0 or depth >= MAX_DEPTH:
        return
    returned = [
        one.value
        for one in statements(body)
        if type(one) is ir.Return and one.value is not None and mentions(one.value, own)
    ]
    if not returned:
        return
    for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
        inside = body_of(project, caller.file, caller.site.function)
        bound = {
            name
            for statement in statements(inside)
            if type(statement) is ir.Assign
            and statement.value is not None
            and ir.encloses(statement.value.at, caller.site.call.at)
            and not _joined_around(project, statement.value, caller)
            for target in statement.targets
            for part in _parts_of(target, returned, own, whole=statement.value.at == caller.site.call.at)
            for name in bound_names(part)
        }
        yield from regions(project, caller.file, caller.site.function, bound, depth + 1)


def _parts_of(target: ir.Expr, returned: list[ir.Expr], names: frozenset[str], *, whole: bool) -> Iterator[ir.Expr]:
    """The parts of a target that get what a function returns of some names; ``whole``: the target gets just what it returns."""
    rows = [one for one in returned if type(one) is ir.ListDisplay]
    if not whole or type(target) is not ir.ListDisplay or len(rows) < len(returned):
        yield target
        return
    every = [*target.items, *(item for row in rows for item in row.items)]
    if any(len(row.items) != len(target.items) for row in rows) or any(type(one) is ir.Starred for one in every):
        yield target
        return
    for place, part in enumerate(target.items):
        if any(mentions(row.items[place], names) for row in rows):
            yield part


def _joined_around(project: Project, expr: ir.Expr, caller: Caller) -> bool:
    """Whether a call around another one brings together, over the ranks, what that gives."""
    region = Region(caller.file, caller.site.function, frozenset())
    return any(
        type(part) is ir.Call
        and part.at != caller.site.call.at
        and ir.encloses(part.at, caller.site.call.at)
        and (JOINING.search(called_name(part)) or comes_to_joining(project, part, region))
        for part in below(expr)
    )


def calls_of(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """All calls of a body."""
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Call:
                    yield part


def joins(call: ir.Call, names: Iterable[str]) -> bool:
    """Whether a call may bring together what the ranks have in some names."""
    if not JOINING.search(called_name(call)):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if type(call.func) is ir.Attribute:
        given.append(call.func.base)
    return any(mentions(one, names) for one in given)


def is_joined(project: Project, region: Region) -> bool:
    """Whether something may bring together, over the ranks, what the names of a region hold."""
    own = any(name.startswith("self.") for name in region.names) and region.function >= 0
    if own and any(JOINING.search(called_name(call)) for call in _calls_of_class(project, region)):
        return True
    return any(True for _ in joining_calls(project, region))


def joining_calls(project: Project, region: Region) -> Iterator[ir.Call]:
    """The calls of a function that may bring together, over the ranks, what the names of a region hold."""
    body = region.body(project)
    names = _with_items(body, region.names)
    for call in calls_of(body):
        passed = _hands_over(call, names) and comes_to_joining(project, call, region)
        if passed or joins(call, names) or _hands_to_joining(project, call, names, region):
            yield call


def _with_items(body: tuple[ir.Stmt, ...], names: frozenset[str]) -> frozenset[str]:
    """Some names, and what comprehensions over them call their items."""
    pairs = [
        (iterable, frozenset(bound_names(target)))
        for statement in statements(body)
        for expr in expressions_of(statement)
        for part in below(expr)
        if type(part) is ir.Comprehension
        for target, iterable, _ in part.generators
    ]
    found = names
    while True:
        more = frozenset().union(*(own for over, own in pairs if not own <= found and mentions(over, found)))
        if not more:
            return found
        found |= more


def _hands_to_joining(project: Project, call: ir.Call, names: frozenset[str], region: Region) -> bool:
    """Whether a function that may bring something together is applied to what some names hold (``map(reduced, sums)``)."""
    if not _hands_over(call, names):
        return False
    for given in call.args:
        if type(given) is ir.Lambda:
            inside = [part for part in below(given.body) if type(part) is ir.Call]
        elif _word(given) and _word(given) not in names:
            inside = [ir.Call(given, (), (), given.at)]
        else:
            continue
        if any(JOINING.search(called_name(one)) or _comes_to(project, one, region) for one in inside):
            return True
    return False


def _comes_to(project: Project, call: ir.Call, region: Region) -> bool:
    return called_name(call) in project.function_names and comes_to_joining(project, call, region)


def _word(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""


def _calls_of_class(project: Project, region: Region) -> Iterator[ir.Call]:
    """The calls in all methods of the class of a method."""
    functions = project.module(region.file).functions
    owner = functions[region.function].owner
    for one in functions:
        if owner >= 0 and one.owner == owner:
            yield from calls_of(one.body)


def _hands_over(call: ir.Call, names: frozenset[str]) -> bool:
    return any(mentions(one, names) for one in (*call.args, *(keyword.value for keyword in call.keywords)))


def comes_to_joining(project: Project, call: ir.Call, region: Region, depth: int = 0) -> bool:
    """Whether a call comes to a function of the project that brings something together."""
    for edge in project.call_graph.targets(region.file, region.function, call):
        target = edge.target
        for inner in calls_of(body_of(project, target.file, target.index)):
            if JOINING.search(called_name(inner)):
                return True
            if depth < 2 and comes_to_joining(
                project, inner, Region(target.file, target.index, frozenset()), depth + 1
            ):
                return True
    return False


def scales_by_world(region_body: tuple[ir.Stmt, ...], names: Iterable[str]) -> bool:
    """Whether something of the names is divided or multiplied together with the number of processes."""
    wanted = frozenset(names)
    for statement in statements(region_body):
        if type(statement) is ir.AugAssign and statement.operator in ("/", "*", "//"):
            if mentions(statement.target, wanted) and names_world(statement.value):
                return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and {"/", "*", "//"} & set(part.operators):
                    if mentions(part, wanted) and names_world(part):
                        return True
                if type(part) is ir.Call and called_name(part) in ("div_", "div", "mul_", "mul") and names_world(part):
                    return True
    return False


def names_world(expr: ir.Expr) -> bool:
    """Whether the number of processes is named in an expression."""
    for part in below(expr):
        word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if type(part) is ir.Constant and type(part.value) is str:
            word = part.value
        if word and _WORLD.search(word):
            return True
    return False
