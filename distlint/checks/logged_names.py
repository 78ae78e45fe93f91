"""What a module logs, and under which names, on each way from a hook of its trainer to the call that logs.

A helper may put the name together of what it is given, and log several values one by one; so each way there has names of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.hooked import Hooked
from distlint.checks.preparing import texts_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import calls_in, last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 3
"""Functions, one called by the other, from a hook to what is logged."""
MAX_PLACES = 64
"""Ways from hooks of one module that are looked at."""
MAX_TURNS = 24
"""Turns of loops around a call that are told apart."""
MAX_STEPS = 12
"""Variables, parameters and parts, one behind the other."""


class Place(NamedTuple):
    """A function that logs for a module, with its name for the module, and the call by which a hook comes to it."""

    file: str
    function: int
    me: str
    call: ir.Call | None = None
    outer: Place | None = None
    bound: int = 0
    """How many parameters the call doesn't write."""


class Given(NamedTuple):
    """An expression in a function, and what variables of loops around it stand for."""

    expr: ir.Expr
    place: Place
    names: Mapping[str, Given] = {}


class Entry(NamedTuple):
    """One value that a call logs, with its name."""

    key: Given
    value: Given


# Which functions log --------------------------------------------------------------------------------------------------


def reached(project: Project, hooked: Hooked, hooks: Iterable[str], bases: frozenset[str]) -> list[Place]:
    """The methods of a module that hooks come to, and the functions that they hand it to, once for each way.

    Hooks of a base that is a module itself (``bases``) are its own matter; those of a mixin are the module's.
    """
    modules = project.modules
    mixins = [one for one in modules.ancestry(hooked.owner)[1:] if not bases & modules.external_bases(one)]
    found = []
    for name in hooks:
        owners = (
            [hooked.owner] if name in hooked.methods else [one for one in mixins if name in modules.own_methods(one)]
        )
        for owner in owners[:1]:
            found.append(_method(project, FunctionRef(owner.file, modules.own_methods(owner)[name])))
    start = 0
    for _ in range(MAX_DEPTH):
        more: list[Place] = []
        for place in found[start:]:
            for call in calls_in(body_of(project, place.file, place.function)) if place.me else ():
                inner = _called(project, hooked.owner, place, call)
                if inner is not None and not _is_recursive(inner):
                    more.append(inner)
        start = len(found)
        found = (found + more)[:MAX_PLACES]
    return found


def _method(project: Project, ref: FunctionRef, call: ir.Call | None = None, outer: Place | None = None) -> Place:
    parameters = project.function(ref).parameters
    return Place(ref.file, ref.index, parameters[0].name if parameters else "", call, outer, 1)


def _is_recursive(place: Place) -> bool:
    outer = place.outer
    while outer is not None:
        if outer[:2] == place[:2]:
            return True
        outer = outer.outer
    return False


def _called(project: Project, owner: ClassRef, place: Place, call: ir.Call) -> Place | None:
    """The method of the module that a call is of, or the function of the project that it hands the module to."""
    if type(call.func) is ir.Attribute and texts_of(call.func.base) == place.me:
        method = project.modules.method(owner, call.func.name)
        return _method(project, method, call, place) if method is not None else None
    target = project.modules.resolve(call.func, place.file)
    if not isinstance(target, FunctionRef):
        return None
    for position, parameter in enumerate(project.function(target).parameters):
        given, _ = find_argument(call, parameter.name, position)
        if given is not None and texts_of(given) == place.me:
            return Place(target.file, target.index, parameter.name, call, place)
    return None


# What they log --------------------------------------------------------------------------------------------------------


def entries(project: Project, call: ir.Call, place: Place) -> list[Entry]:
    """The names and values that a call logs; none where they can't be told apart."""
    kind = last_name(call.func)
    if kind == "log":
        (name, _), (value, _) = find_argument(call, "name", 0), find_argument(call, "value", 1)
        if name is None or value is None:
            return []
        return [
            Entry(Given(name, place, names), Given(value, place, names)) for names in _turns(project, call.at, place)
        ]
    if kind != "log_dict":
        return []
    given, _ = find_argument(call, "dictionary", 0)
    return _pairs(project, Given(given, place)) or [] if given is not None else []


def is_left_out(project: Project, call: ir.Call, word: str, place: Place) -> bool:
    """Whether an argument certainly is not given, or false."""
    given, certain = find_argument(call, word, None)
    if given is not None:
        told = resolved(project, Given(given, place)).expr
        return type(told) is ir.Constant and told.value is False
    if certain:
        return True
    spread = [_pairs(project, Given(one.value, place)) for one in call.keywords if one.name is None]
    keys = [pair.key.expr for pairs in spread for pair in pairs or ()]
    return None not in spread and all(type(one) is ir.Constant and one.value != word for one in keys)


def _turns(project: Project, at: ir.Position, place: Place) -> list[dict[str, Given]]:
    """What the variables of the loops around a place stand for, turn by turn."""
    turns: list[dict[str, Given]] = [{}]
    for loop in statements(body_of(project, place.file, place.function)):
        if type(loop) is ir.For and any(ir.encloses(one.at, at) for one in loop.body):
            made = [
                _of_loop(project, loop.target, loop.iterable, Given(loop.iterable, place, names)) for names in turns
            ]
            if all(one is not None for one in made):
                turns = [{**names, **more} for names, each in zip(turns, made, strict=True) for more in each or ()]
    return turns[:MAX_TURNS] or [{}]


def _of_loop(project: Project, target: ir.Expr, iterable: ir.Expr, given: Given) -> list[dict[str, Given]] | None:
    """What the variables of a loop stand for in each turn, where that is written out."""
    if type(target) is ir.Name:
        told = resolved(project, given)
        items = told.expr.items if type(told.expr) is ir.ListDisplay else None
        return [{target.id: told._replace(expr=one)} for one in items] if items is not None else None
    if type(target) is not ir.ListDisplay or len(target.items) != 2 or type(iterable) is not ir.Call:
        return None
    first, second = target.items
    if type(first) is not ir.Name or type(second) is not ir.Name:
        return None
    pairs: list[Entry] | None = None
    if type(iterable.func) is ir.Attribute and iterable.func.name == "items":
        pairs = _pairs(project, given._replace(expr=iterable.func.base))
    elif last_name(iterable.func) == "zip" and len(iterable.args) == 2:
        sides = [resolved(project, given._replace(expr=one)) for one in iterable.args]
        lists = [one.expr.items if type(one.expr) is ir.ListDisplay else () for one in sides]
        if lists[0] and len(lists[0]) == len(lists[1]):
            keys, values = (
                [side._replace(expr=one) for one in items] for side, items in zip(sides, lists, strict=True)
            )
            pairs = [Entry(key, value) for key, value in zip(keys, values, strict=True)]
    return [{first.id: key, second.id: value} for key, value in pairs] if pairs is not None else None


def _pairs(project: Project, given: Given, depth: int = 0) -> list[Entry] | None:
    """The keys and values of a dictionary; ``None`` where they can't be told."""
    told = resolved(project, given)
    expr, place = told.expr, told.place
    found: list[Entry] | None = None
    if depth > MAX_DEPTH:
        return None
    if type(expr) is ir.DictDisplay:
        found = []
        for key, value in zip(expr.keys, expr.values, strict=True):
            inner = _pairs(project, told._replace(expr=value), depth + 1) if key is None else None
            found += inner or ()
            if key is not None:
                found.append(Entry(told._replace(expr=key), told._replace(expr=value)))
    elif type(expr) is ir.Call:
        found = _of_call(project, told, expr, depth)
    elif type(expr) is ir.Comprehension and expr.kind == "dict" and len(expr.generators) == 1:
        target, iterable, tests = expr.generators[0]
        turns = _of_loop(project, target, iterable, told._replace(expr=iterable)) if not tests else None
        element = expr.element
        if turns is not None and type(element) is ir.ListDisplay and len(element.items) == 2:
            key, value = element.items
            found = [
                Entry(Given(key, place, {**told.names, **names}), Given(value, place, {**told.names, **names}))
                for names in turns
            ]
    elif type(expr) is ir.Name and place.call is not None:
        parameters = project.function(FunctionRef(place.file, place.function)).parameters
        if any(one.name == expr.id and one.kind == "var-keyword" for one in parameters) and place.outer is not None:
            found = _of_keywords(project, place.call, place.outer, {one.name for one in parameters}, depth)
    if type(given.expr) is ir.Name and given.expr.id not in given.names:
        more = [
            Entry(given._replace(expr=key), given._replace(expr=value))
            for key, value in _put_into(body_of(project, given.place.file, given.place.function), given.expr.id)
        ]
        found = [*(found or ()), *more] if more or found is not None else None
    return found


def _of_call(project: Project, told: Given, call: ir.Call, depth: int) -> list[Entry] | None:
    """Those of ``dict(...)``, and of what a function of the project returns."""
    place = told.place
    if last_name(call.func) == "dict" and not call.args:
        return _of_keywords(project, call, place, set(), depth)
    target = project.modules.resolve(call.func, place.file)
    inner: Place | None = None
    if isinstance(target, FunctionRef):
        inner = Place(target.file, target.index, "", call, place)
    elif type(call.func) is ir.Attribute and place.me and texts_of(call.func.base) == place.me:
        targets = {edge.target for edge in project.call_graph.targets(place.file, place.function, call)}
        inner = _method(project, targets.pop(), call, place) if len(targets) == 1 else None
    if inner is None or _is_recursive(inner):
        return None
    returned = [one.value for one in statements(body_of(project, inner.file, inner.function)) if type(one) is ir.Return]
    if len(returned) != 1 or returned[0] is None:
        return None
    return _pairs(project, Given(returned[0], inner), depth + 1)


def _of_keywords(project: Project, call: ir.Call, place: Place, without: set[str], depth: int) -> list[Entry] | None:
    found: list[Entry] = []
    for word in call.keywords:
        if word.name is None:
            inner = _pairs(project, Given(word.value, place), depth + 1)
            if inner is None:
                return None
            found += inner
        elif word.name not in without:
            found.append(Entry(Given(ir.Constant(word.name, word.value.at), place), Given(word.value, place)))
    return found


def _put_into(body: tuple[ir.Stmt, ...], name: str) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What is put into a dictionary by its keys."""
    for statement in statements(body):
        for target in statement.targets if type(statement) is ir.Assign and statement.value is not None else ():
            if type(target) is ir.Subscript and type(target.base) is ir.Name and target.base.id == name:
                yield target.index, statement.value  # type: ignore[union-attr,misc]


# What names and values are --------------------------------------------------------------------------------------------


def resolved(project: Project, given: Given) -> Given:
    """What a variable stands for, also that of a loop, or a parameter on this way."""
    for _ in range(MAX_STEPS):
        expr, place = given.expr, given.place
        if type(expr) is not ir.Name:
            return given
        body = body_of(project, place.file, place.function)
        if expr.id in given.names:
            if _stores(body, expr.id):
                return given
            given = given.names[expr.id]
            continue
        told = followed(expr, project.flow(place.file, place.function).before(expr.at))
        if told is not expr:
            given = given._replace(expr=told)
            continue
        handed = _handed(project, expr.id, place) if not _stores(body, expr.id) else None
        if handed is None:
            return given
        given = handed
    return given


def _stores(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Whether a function assigns to a variable, but for loops over it."""
    return any(
        (type(one) is ir.Assign and any(name in _names(target) for target in one.targets))
        or (type(one) is ir.AugAssign and texts_of(one.target) == name)
        for one in statements(body)
    )


def _names(target: ir.Expr) -> set[str]:
    items = target.items if type(target) is ir.ListDisplay else (target,)
    return {one.id for one in items if type(one) is ir.Name}


def _handed(project: Project, name: str, place: Place) -> Given | None:
    """What a parameter is given by the call of this way."""
    if place.call is None or place.outer is None or place.function < 0:
        return None
    for position, parameter in enumerate(project.function(FunctionRef(place.file, place.function)).parameters):
        if parameter.name != name or parameter.kind.startswith("var-"):
            continue
        at = position - place.bound if parameter.kind != "keyword" else None
        expr, certain = find_argument(place.call, name, at)
        if expr is not None:
            return Given(expr, place.outer)
        if certain and parameter.default is not None:
            return Given(parameter.default, Place(place.file, -1, ""))
    return None
