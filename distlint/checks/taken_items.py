"""Loaders whose batches are not gone through by a loop over them: they come one by one out of an iterator, or through what hands them on.

``next(batches)`` in a loop over steps, where ``batches`` is ``iter(loader)``, ``itertools.chain.from_iterable(...)``, a generator of the
project or an object of a class with ``__iter__``. What leads from the loader to the batch is looked at for the rank on the way: where it
may have a part there, no loader is named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from distlint.checks.derivations import derivation, derivation_of_body
from distlint.checks.execution import body_of
from distlint.checks.loaders import HANDING_ON, Pass, loaders_in, trains
from distlint.checks.partial_samplers import names_rank
from distlint.checks.spread_names import called_name
from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef
from distlint.link.project import Project
from distlint.link.walking import (
    below,
    blocks_of,
    calls_in,
    expressions_of,
    guards_of,
    last_name,
    names_below,
    statements,
)
from distlint.model import python as ir

_PASSING = HANDING_ON | {"chain", "from_iterable", "repeat", "reversed"}
_EVALUATING = re.compile(r"(?:^|_)(?:eval|valid|val|test|dev|infer|predict|sample|debug)", re.IGNORECASE)
_TAKING = frozenset({"next", "islice", "deque", "consume", "nth", "list"})
"""Calls that take items out of an iterator."""
MAX_DEPTH = 10
MAX_STEPS = 200
MAX_CALLERS = 6
MAX_UP = 3


class Taken(NamedTuple):
    """A loop that goes backward and takes something out of an iterator: the loop, and the iterator with the function in which it stands.

    ``calls`` are the places of the call of ``next``, and of the calls that lead to it from the loop.
    """

    place: Pass
    iterator: ir.Expr
    file: str
    function: int
    calls: frozenset[tuple[str, ir.Position]]


def takers(project: Project, files: Collection[str]) -> Iterator[Taken]:
    """The loops in some files that train on what ``next`` gives them in each turn."""
    for file in sorted(files):
        if file not in project.facts or project.facts[file].module is None or "next(" not in project.text_of(file):
            continue
        for function in range(-1, len(project.module(file).functions)):
            for call in calls_in(body_of(project, file, function)):
                if type(call.func) is not ir.Name or call.func.id != "next" or not call.args:
                    continue
                given = call.args[0]
                # `next(iter(loader))` is the first batch, to look at; what is named for an evaluation is no training
                if type(given) is ir.Call or any(_EVALUATING.search(word) for word in names_below(given)):
                    continue
                place, calls = _loop_of(project, call, file, function)
                if place is not None and not _is_moved_on(project, given, file, function):
                    yield Taken(place._replace(iterable=given), given, file, function, frozenset(calls))


def _is_moved_on(project: Project, iterator: ir.Expr, file: str, function: int) -> bool:
    """Whether a function takes something out of an iterator as often as the rank says, so that each rank starts at a place of its own."""
    body = body_of(project, file, function)
    for call in calls_in(body):
        if not any(last_name(one) == last_name(iterator) for given in call.args for one in below(given)):
            continue
        heads: list[ir.Expr] = [call]
        for guard in guards_of(body, call.at) or ():
            heads += [guard.test] if guard.test is not None else []
        heads += [one.iterable for one in _loops_around(body, call.at) if type(one) is ir.For]
        for head in heads:
            if called_name(call) in _TAKING and any(
                _names_rank(project, one, file, function) for one in _numbers(head)
            ):
                return True
    return False


def _numbers(expr: ir.Expr) -> Iterator[ir.Expr]:
    """What tells how much is taken: the arguments of a call but the first, all of another expression."""
    if type(expr) is ir.Call and called_name(expr) in _TAKING:
        for one in expr.args:
            if type(one) is ir.Call:
                yield from _numbers(one)
        yield from expr.args[1:]
    else:
        yield expr


def _names_rank(project: Project, expr: ir.Expr, file: str, function: int) -> bool:
    return names_rank(derivation(project, expr, file, function, by_field=True).names())


def _loop_of(
    project: Project, call: ir.Call, file: str, function: int, depth: int = 0
) -> tuple[Pass | None, set[tuple[str, ir.Position]]]:
    """The innermost loop around a call, or around the calls of its function, that goes backward; and the calls that lead there."""
    for loop in reversed(list(_loops_around(body_of(project, file, function), call.at))):
        if trains(project, file, loop.body):
            return Pass(file, function, call, loop.at, loop.body), {(file, call.at)}
    if function < 0 or depth >= MAX_UP:
        return None, set()
    for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
        if (caller.file, caller.site.function) != (file, function):
            found, calls = _loop_of(project, caller.site.call, caller.file, caller.site.function, depth + 1)
            if found is not None:
                return found, {*calls, (file, call.at)}
    return None, set()


def _loops_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> Iterator[ir.For | ir.While]:
    """The loops of a body that make a call anew in each turn, outer ones first."""
    while True:
        holder = next((one for one in body if ir.encloses(one.at, at)), None)
        if holder is None:
            return
        if type(holder) is ir.While or (type(holder) is ir.For and not ir.encloses(holder.iterable.at, at)):
            yield holder
        body = next((b for b in blocks_of(holder) if any(ir.encloses(one.at, at) for one in b)), ())


def is_trained_on(project: Project, taken: Taken) -> bool:
    """Whether what a loop takes has a part in a loss that it goes backward from."""
    for loss, file, function in _losses(project, taken.place.file, taken.place.function, taken.place.body):
        made = derivation(project, loss, file, function, by_field=True)
        if any((one.file, one.expr.at) in taken.calls and type(one.expr) is ir.Call for one in made.parts):
            return True
    return False


def _losses(
    project: Project, file: str, function: int, body: tuple[ir.Stmt, ...], depth: int = 0
) -> Iterator[tuple[ir.Expr, str, int]]:
    """What statements go backward from, themselves or in functions that they call."""
    for call in calls_in(body):
        if type(call.func) is ir.Attribute and call.func.name == "backward":
            # `engine.backward(loss)` is given it, `loss.backward()` is called on it
            yield (call.args[0] if call.args else call.func.base), file, function
        elif depth < MAX_UP:
            for edge in project.call_graph.targets(file, function, call):
                inner = project.function(edge.target).body
                yield from _losses(project, edge.target.file, edge.target.index, inner, depth + 1)


def loaders_behind(project: Project, expr: ir.Expr, file: str, function: int, names: frozenset[str]) -> list[Instance]:
    """The loaders whose batches an iterator gives all of; empty where that is not known, or where the rank may have a part in it."""
    search = _Search(project, names)
    whole = search.follow(expr, _Where(file, function, ()))
    return list(search.found.values()) if whole and not search.parted else []


class _Entered(NamedTuple):
    """A call by which a function was entered."""

    target: FunctionRef
    call: ir.Call
    shift: int
    where: _Where


class _Where(NamedTuple):
    """A function, and the calls by which it was entered."""

    file: str
    function: int
    entered: tuple[_Entered, ...]


class _Search:
    """Follows an iterator back to the loaders that it takes from."""

    def __init__(self, project: Project, names: frozenset[str]) -> None:
        self._project = project
        self._names = names
        self._steps = 0
        self._open: set[tuple[str, int, str]] = set()
        """The variables that are being followed: one that is made from itself has its other values."""
        self.found: dict[tuple[str, ir.Position], Instance] = {}
        self.parted = False

    def follow(self, expr: ir.Expr, where: _Where, depth: int = 0) -> bool:
        """Whether an expression is known to hand on the items of loaders."""
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > MAX_STEPS or self.parted:
            return False
        made = (
            loaders_in(self._project, expr, where.file, where.function, self._names) if not self._passes(expr) else []
        )
        if made and not where.entered:
            self.found.update({(one.frame.file, one.call.at): one for one in made})
            return True
        if type(expr) is ir.Call:
            if made and self._is_class(expr, where):
                self.found.update({(one.frame.file, one.call.at): one for one in made})
                return True
            return self._call(expr, where, depth + 1)
        if type(expr) is ir.Comprehension:
            return self._comprehension(expr, where, depth + 1)
        if type(expr) is ir.ListDisplay:
            self._look(expr, where)
            return _any(self.follow(one, where, depth + 1) for one in expr.items)
        if type(expr) is ir.Starred:
            return self.follow(expr.value, where, depth + 1)
        if type(expr) is ir.Name:
            return self._name(expr.id, where, depth + 1)
        if type(expr) is ir.Attribute:
            return self._attribute(expr, where, depth + 1)
        return False

    def _is_class(self, call: ir.Call, where: _Where) -> bool:
        return f"{self._project.modules.dotted(call.func, where.file)}()" in self._names

    def _passes(self, expr: ir.Expr) -> bool:
        return type(expr) is ir.Call and called_name(expr) in _PASSING

    def _look(self, expr: ir.Expr, where: _Where) -> None:
        """Notes whether something on the way has to do with the rank."""
        if _names_rank(self._project, expr, where.file, where.function):
            self.parted = True

    def _call(self, call: ir.Call, where: _Where, depth: int) -> bool:
        edges = self._project.call_graph.targets(where.file, where.function, call)
        edges = tuple(edge for edge in edges if edge.how == "call")
        target = self._project.modules.resolve(call.func, where.file)
        if isinstance(target, ClassRef):
            return self._object(target, call, where, depth)
        if not edges and self._passes(call):
            first, *others = call.args or (None,)
            gathers = called_name(call) in ("chain", "zip")
            for one in (*(() if gathers else others), *(word.value for word in call.keywords)):
                if one is not None:
                    self._look(one, where)
            given = call.args if gathers else call.args[:1]
            return first is not None and _any(self.follow(one, where, depth) for one in given)
        for edge in edges:
            entered = (*where.entered, _Entered(edge.target, call, edge.shift, where))
            inner = _Where(edge.target.file, edge.target.index, entered)
            if not self._function(edge.target, inner, depth):
                return False
        return bool(edges)

    def _function(self, ref: FunctionRef, where: _Where, depth: int) -> bool:
        """What a function gives: all that it returns, or something that it yields the items of."""
        flow = self._project.flow(ref.file, ref.index)
        if not flow.has_yield:
            returned = [one.value for one, _ in flow.returns]
            return bool(returned) and all(one is not None and self.follow(one, where, depth) for one in returned)
        if names_rank(derivation_of_body(self._project, ref).names()):
            self.parted = True
            return False
        return _any(self.follow(one, where, depth) for one in _yielded_from(self._project.function(ref).body))

    def _object(self, owner: ClassRef, call: ir.Call, where: _Where, depth: int) -> bool:
        """What an object of the project gives to whoever goes through it."""
        method = self._project.modules.method(owner, "__iter__")
        start = self._project.modules.method(owner, "__init__")
        if method is None or not self._project.flow(method.file, method.index).has_yield:
            return False
        entered = where.entered
        if start is not None:
            entered = (*entered, _Entered(start, call, 0, where))
        return self._function(method, _Where(method.file, method.index, entered), depth)

    def _comprehension(self, expr: ir.Comprehension, where: _Where, depth: int) -> bool:
        bound = {word for target, _, _ in expr.generators for word in names_below(target)}
        for _, _, tests in expr.generators:
            for test in tests:
                self._look(test, where)
        sources = [iterable for _, iterable, _ in expr.generators]
        root = expr.element
        if not bound & set(names_below(root)):
            sources.append(root)
        elif type(root) is not ir.Name:
            self._look(root, where)
        return _any([self.follow(one, where, depth) for one in sources])

    def _name(self, name: str, where: _Where, depth: int) -> bool:
        key = (where.file, where.function, name)
        if key in self._open:
            return True
        self._open.add(key)
        try:
            return self._variable(name, where, depth)
        finally:
            self._open.discard(key)

    def _variable(self, name: str, where: _Where, depth: int) -> bool:
        values = list(_values(body_of(self._project, where.file, where.function), name))
        if values:
            # each value has to be known: another one may be a loader that somebody has made ready
            known = [one for one in values if not _is_nothing(one)]
            return bool(known) and all(one is not None and self.follow(one, where, depth) for one in known)
        if where.function < 0:
            target = self._project.modules.lookup(name, where.file)
            if isinstance(target, GlobalRef) and (target.file, target.name) != (where.file, name):
                return self._name(target.name, _Where(target.file, -1, ()), depth)
            return False
        definition = self._project.module(where.file).functions[where.function]
        position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
        if position is None:
            return self._name(name, _Where(where.file, definition.parent, where.entered), depth)
        ref = FunctionRef(where.file, where.function)
        for one in reversed(where.entered):
            if one.target == ref:
                own = 1 if definition.owner >= 0 else 0
                given, _ = find_argument(one.call, name, position - own + one.shift)
                return given is not None and self.follow(given, one.where, depth)
        shift = 1 if definition.owner >= 0 else 0
        callers = self._project.callers(ref)
        if not callers or len(callers) > MAX_CALLERS:
            return False
        for caller in callers:
            given, _ = find_argument(caller.site.call, name, position - shift + caller.shift)
            if given is None or not self.follow(given, _Where(caller.file, caller.site.function, ()), depth):
                return False
        return True

    def _attribute(self, expr: ir.Attribute, where: _Where, depth: int) -> bool:
        owner = self._project.module(where.file).functions[where.function].owner if where.function >= 0 else -1
        if owner < 0 or type(expr.base) is not ir.Name or expr.base.id != "self":
            return False
        key = (where.file, -2 - owner, expr.name)
        if key in self._open:
            return True
        self._open.add(key)
        stores = self._project.attribute_stores(ClassRef(where.file, owner)).get(expr.name, ())
        known = [(ref, value, part) for ref, value, part in stores if not _is_nothing(value)]
        try:
            return bool(known) and all(
                value is not None and not part and self.follow(value, _Where(ref.file, ref.index, where.entered), depth)
                for ref, value, part in known
            )
        finally:
            self._open.discard(key)


def _any(answers: Iterator[bool] | list[bool]) -> bool:
    """Whether one of the answers is yes, all of which are asked for."""
    return any(list(answers))


def _is_nothing(expr: ir.Expr | None) -> bool:
    return type(expr) is ir.Constant and expr.value is None


def _values(body: tuple[ir.Stmt, ...], name: str) -> Iterator[ir.Expr | None]:
    """What a variable is set to in a body; ``None`` for what is not an assignment of its own."""
    for statement in statements(body):
        if type(statement) is ir.Assign:
            for target in statement.targets:
                if type(target) is ir.Name and target.id == name:
                    yield statement.value
                elif type(target) is ir.ListDisplay and name in names_below(target):
                    yield _item_for(target, statement.value, name)
        elif type(statement) is ir.For and type(statement.target) is not ir.Attribute:
            if name in names_below(statement.target):
                yield statement.iterable if type(statement.target) is ir.Name else None
        elif type(statement) is ir.AugAssign and name in names_below(statement.target):
            yield None
        elif type(statement) is ir.With:
            yield from (None for _, bound in statement.items if bound is not None and name in names_below(bound))


def _item_for(target: ir.ListDisplay, value: ir.Expr | None, name: str) -> ir.Expr | None:
    """The item of a row that a variable gets: ``a, b = x, y``."""
    if type(value) is not ir.ListDisplay or len(value.items) != len(target.items):
        return None
    if any(type(one) is ir.Starred for one in (*value.items, *target.items)):
        return None
    pairs = zip(target.items, value.items, strict=True)
    return next((item for one, item in pairs if type(one) is ir.Name and one.id == name), None)


def _yielded_from(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    """What a generator goes through to yield the items of."""
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Wrapped and part.kind == "yield from" and part.value is not None:
                    yield part.value
        if type(statement) is ir.For and any(
            type(part) is ir.Wrapped and part.kind == "yield"
            for one in statement.body
            for inner in statements((one,))
            for expr in expressions_of(inner)
            for part in below(expr)
        ):
            yield statement.iterable
