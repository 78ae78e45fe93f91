"""For which releases of a package a place in the program is reached.

Programs that support several releases ask for the version, or try and catch. Such tests are evaluated for a release
where they can be; where they can't, the place is *guarded* and nothing may be said about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.link.library_uses import function_around
from distlint.link.modules import FunctionRef
from distlint.link.version_tests import PROBE, VersionTests
from distlint.link.walking import blocks_of, guards_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_LEVELS = 2
"""Callers of callers are asked, not more."""

_CATCH_ALL = frozenset({"Exception", "BaseException"})
_KNOWN_EXCEPTIONS = frozenset(
    {
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "ConnectionError",
        "EOFError",
        "FileNotFoundError",
        "IOError",
        "ImportError",
        "IndexError",
        "KeyError",
        "KeyboardInterrupt",
        "LookupError",
        "ModuleNotFoundError",
        "NameError",
        "OSError",
        "PermissionError",
        "RuntimeError",
        "StopIteration",
        "TimeoutError",
        "TypeError",
        "UnicodeDecodeError",
        "ValueError",
        "ZeroDivisionError",
    }
)


class Reach:
    """Answers for one package; make one per project and package, answers are remembered."""

    def __init__(self, project: Project, package: str) -> None:
        self._project = project
        self._tests = VersionTests(project, package)
        self._known: dict[tuple[str, ir.Position, str], bool | None] = {}

    def reached(self, file: str, at: ir.Position, version: str, errors: frozenset[str] | None) -> bool | None:
        """Whether a release gets to a place and a failure there is not caught.

        ``None`` where a test on the way can't be evaluated. ``errors`` are the names of the exceptions that the
        failure may raise; ``None`` for one that raises nothing.
        """
        if errors is not None and self._is_caught(file, at, errors):
            return False
        return self._reached(file, at, version, 0)

    def _reached(self, file: str, at: ir.Position, version: str, level: int) -> bool | None:
        key = (file, at, version)
        if key in self._known:
            return self._known[key]
        self._known[key] = True  # a function that is reached through itself is reached some other way too
        here = self._within(file, at, version)
        if here is True and level < MAX_LEVELS:
            outside = self._through_callers(file, at, version, level)
            here = outside if outside is not True else self._through_importers(file, version, level)
        self._known[key] = here
        return here

    def _within(self, file: str, at: ir.Position, version: str) -> bool | None:
        """By the tests of the file itself, from the innermost body outwards."""
        module = self._project.module(file)
        for body, place, function in _bodies_around(module, at):
            for guard in guards_of(body, place) or ():
                if guard.kind in ("except", "match"):
                    return None
                if guard.test is None or guard.kind == "for":
                    continue
                value = self._tests.value(guard.test, file, function, version)
                if value is PROBE:
                    return None
                if self._tests.is_known(value) and bool(value) is not guard.holds:
                    return False
            if _is_behind_try(body, place):
                return None
        if any(self._tests.mentions_version(decorator) for decorator in _decorators_around(module, at)):
            return None
        return True

    def _through_callers(self, file: str, at: ir.Position, version: str, level: int) -> bool | None:
        module = self._project.module(file)
        function = function_around(module, at)
        if function < 0:
            return True
        callers = self._project.callers(FunctionRef(file, function))
        answers = [self._reached(c.file, c.site.call.at, version, level + 1) for c in callers]
        return _any(answers)

    def _through_importers(self, file: str, version: str, level: int) -> bool | None:
        if self._project.module(file).is_script:
            return True
        return _any([self._reached(path, item.at, version, level + 1) for path, item in self._importers(file)])

    def _importers(self, file: str) -> Iterator[tuple[str, ir.Import]]:
        modules = self._project.modules
        stem = file.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
        for path in self._project.python_files:
            for item in self._project.module(path).imports:
                if stem in (item.name, item.module.rpartition(".")[2]):
                    inner = f"{item.module}.{item.name}".strip(".")
                    if file in (modules.find(item.module, path, item.level), modules.find(inner, path, item.level)):
                        yield path, item

    def _is_caught(self, file: str, at: ir.Position, errors: frozenset[str]) -> bool:
        module = self._project.module(file)
        return any(_catches(body, place, errors) for body, place, _ in _bodies_around(module, at))


def _any(answers: list[bool | None]) -> bool | None:
    if not answers or True in answers:
        return True
    return None if None in answers else False


def _functions_around(module: ir.Module, at: ir.Position) -> Iterator[int]:
    function = function_around(module, at)
    while function >= 0:
        yield function
        function = module.functions[function].parent


def _decorators_around(module: ir.Module, at: ir.Position) -> Iterator[ir.Expr]:
    """The decorators of the functions and classes around a place: test suites skip what a release lacks."""
    for function in _functions_around(module, at):
        yield from module.functions[function].decorators
        if module.functions[function].owner >= 0:
            yield from module.classes[module.functions[function].owner].decorators


def _bodies_around(module: ir.Module, at: ir.Position) -> Iterator[tuple[tuple[ir.Stmt, ...], ir.Position, int]]:
    """The bodies that hold a place, inner ones first: (body, the place or the definition that holds it, function)."""
    place = at
    for function in _functions_around(module, at):
        definition = module.functions[function]
        yield definition.body, place, function
        place = definition.at
        if definition.owner >= 0:
            owner = module.classes[definition.owner]
            yield owner.body, place, owner.parent
            place = owner.at
    if place == at:
        for owner in module.classes:
            if ir.encloses(owner.at, at) and owner.parent < 0:
                yield owner.body, place, -1
                place = owner.at
    yield module.body, place, -1


def _holds(statement: ir.Stmt, at: ir.Position) -> bool:
    return ir.encloses(statement.at, at)


def _around(body: Sequence[ir.Stmt], at: ir.Position) -> Iterator[tuple[ir.Stmt, Sequence[ir.Stmt]]]:
    """The compound statements of a body around a place, outer ones first, each with the block that it is in."""
    while True:
        statement = next((one for one in body if _holds(one, at)), None)
        if statement is None:
            return
        block = next((block for block in blocks_of(statement) if any(_holds(one, at) for one in block)), None)
        if block is None:
            return
        yield statement, block
        body = block


def _catches(body: Sequence[ir.Stmt], at: ir.Position, errors: frozenset[str]) -> bool:
    for statement, block in _around(body, at):
        if type(statement) is ir.Try and block is statement.body:
            caught = any(_handles(kind, errors) and not _gives_up(body) for kind, _, body in statement.handlers)
        elif type(statement) is ir.With:
            caught = any(_last_name(context) in ("suppress", "raises") for context, _ in statement.items)
        else:
            caught = False
        if caught:
            return True
    return False


def _is_behind_try(body: Sequence[ir.Stmt], at: ir.Position) -> bool:
    """Whether the place stands in the ``else`` of a ``try``, so that what was tried has worked."""
    return any(type(statement) is ir.Try and block is statement.orelse for statement, block in _around(body, at))


def _handles(caught: ir.Expr | None, errors: frozenset[str]) -> bool:
    if caught is None:
        return True
    names = [_last_name(item) for item in caught.items] if type(caught) is ir.ListDisplay else [_last_name(caught)]
    # A name that we don't know may stand for any exception.
    return any(name in errors or name in _CATCH_ALL or name not in _KNOWN_EXCEPTIONS for name in names)


def _gives_up(handler: Sequence[ir.Stmt]) -> bool:
    last = handler[-1] if handler else None
    if type(last) is ir.Jump:
        return last.kind == "raise"
    return (
        type(last) is ir.Evaluate and type(last.value) is ir.Call and _last_name(last.value.func) in ("exit", "_exit")
    )


def _last_name(expr: ir.Expr) -> str:
    if type(expr) is ir.Call:
        expr = expr.func
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""
