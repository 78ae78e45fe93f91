"""Whether the files that a project writes itself are all as long as each other.

Files of each rank's own hold different numbers of rows, as a rule. Where the program has written them, it can be read: with the same
number of rounds for each file they are even, or with the same sizes of what is made and saved at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_CALLERS = 8
_OF_RANK = re.compile(r"(?<!per_)(?:rank|shard|process|world|worker|node)", re.IGNORECASE)
"""Names of what may be another one for each file; not how much there is for each of them."""
_SAVING = ("save", "savez", "dump")
"""What saves a whole file at once."""
_MAKING = frozenset(
    {"randn", "rand", "randint", "zeros", "ones", "full", "arange", "linspace", "empty", "normal", "uniform"}
)
"""What makes tensors and arrays of sizes."""
_WRITING = ("write", "writerow", "print")


class _Even:
    """Whether all files that a project writes are even."""

    def __init__(self, *, holds: bool) -> None:
        self.holds = holds


def writes_evenly(project: Project) -> bool:
    """Whether the project writes files row by row or at once, and each certainly with as much in it as the others."""
    found = project.kept.get(_Even)
    if found is None:
        answers = [*_answers(project), *_saved(project)]
        found = project.kept[_Even] = _Even(holds=bool(answers) and all(answers))
    assert isinstance(found, _Even)  # noqa: S101 - stored just above
    return found.holds


def _answers(project: Project) -> Iterator[bool]:
    """For each place that opens a file for writing, whether what is written there is as much every time."""
    for site in project.sites("open"):
        call = site.site.call
        mode, _ = find_argument(call, "mode", 1 if type(call.func) is ir.Name else 0)
        if type(mode) is not ir.Constant or type(mode.value) is not str or mode.value[:1] not in "wax":
            continue
        module = project.module(site.file)
        function = site.site.function
        body = module.functions[function].body if function >= 0 else module.body
        loops = [one for one in statements(body) if type(one) is ir.For and _writes(one)]
        around = [one for one in loops if ir.encloses(one.at, call.at)]
        inner = [one for one in loops if not ir.encloses(one.at, call.at)]
        parameters = (
            {one.name: place for place, one in enumerate(module.functions[function].parameters)}
            if function >= 0
            else {}
        )
        varying = _varying(body, call.at)
        names = {part.id for loop in inner for part in below(loop.iterable) if type(part) is ir.Name}
        guarded = any(_is_tested(loop) for loop in inner)
        asked = [parameters[name] for name in sorted(names & parameters.keys())]
        yield (
            bool(inner)
            and not guarded
            and not names & (varying | _worked_out(body))
            and not any(_OF_RANK.search(name) for name in names)
            and not any(type(part) is ir.Call and _is_drawn(part) for loop in inner for part in below(loop.iterable))
            and (not asked or function < 0 or _given_alike(project, FunctionRef(site.file, function), asked))
            and all(type(one) is ir.For for one in around)
        )


def _saved(project: Project) -> Iterator[bool]:
    """For each place that saves what is made there of numbers alone, whether it is as large every time."""
    for site in (one for name in _SAVING for one in project.sites(name)):
        module = project.module(site.file)
        function = site.site.function
        body = module.functions[function].body if function >= 0 else module.body
        parts = [part for one in statements(body) for expr in expressions_of(one) for part in below(expr)]
        made = [one for one in parts if type(one) is ir.Call and _last(one) in _MAKING]
        if not made or any(type(one) is ir.Attribute and one.name == "state_dict" for one in parts):
            continue
        sizes = [part for call in made for size in call.args for part in below(size)]
        names = {part.id for part in sizes if type(part) is ir.Name}
        named = names | {part.name for part in sizes if type(part) is ir.Attribute}
        parameters = [one.name for one in module.functions[function].parameters] if function >= 0 else []
        asked = [place for place, name in enumerate(parameters) if name in names and name != "self"]
        plain = not any(type(part) is ir.Call and _is_drawn(part) for part in sizes)
        fixed = not names & (_varying(body, site.site.call.at) | _worked_out(body))
        yield (
            plain
            and fixed
            and not any(_OF_RANK.search(name) for name in named)
            and (not asked or _given_alike(project, FunctionRef(site.file, function), asked))
        )


def _writes(loop: ir.For) -> bool:
    return any(
        type(part) is ir.Call and _last(part) in _WRITING
        for statement in statements(loop.body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def _last(call: ir.Call) -> str:
    return call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""


def _is_drawn(call: ir.Call) -> bool:
    """Whether a call may give another number every time: all but the plain ones."""
    return _last(call) not in ("range", "enumerate", "len", "zip", "int", "min", "max")


def _is_tested(loop: ir.For) -> bool:
    """Whether a test in a loop decides whether a row is written."""
    for statement in statements(loop.body):
        if type(statement) in (ir.If, ir.While, ir.Try):
            return True
        if type(statement) is ir.Jump and statement.kind in ("break", "continue"):
            return True
    return False


def _varying(body: tuple[ir.Stmt, ...], at: ir.Position) -> set[str]:
    """The names that may have another meaning each time that a place is come to: what loops around it bind, and what is made of that."""
    loops = [one for one in statements(body) if type(one) is ir.For and ir.encloses(one.at, at)]
    found = {part.id for loop in loops for part in below(loop.target) if type(part) is ir.Name}
    for _ in range(3):
        for loop in loops:
            for one in statements(loop.body):
                if type(one) in (ir.Assign, ir.AugAssign):
                    targets = one.targets if type(one) is ir.Assign else (one.target,)  # type: ignore[union-attr]
                    found |= {part.id for target in targets for part in below(target) if type(part) is ir.Name}
    return found


def _worked_out(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The variables that a function sets to something that is not written out."""
    return {
        part.id
        for one in statements(body)
        if type(one) is ir.Assign and one.value is not None and type(one.value) is not ir.Constant
        for target in one.targets
        for part in below(target)
        if type(part) is ir.Name
    }


def _given_alike(project: Project, ref: FunctionRef, places: list[int]) -> bool:
    """Whether all calls of a function certainly give the same for some of its parameters."""
    definition = project.function(ref)
    callers = project.callers(ref)
    if not callers or len(callers) > MAX_CALLERS:
        return False
    shift = 1 if definition.owner >= 0 else 0
    given = set()
    for caller in callers:
        module = project.module(caller.file)
        body = module.functions[caller.site.function].body if caller.site.function >= 0 else module.body
        varying = _varying(body, caller.site.call.at)
        for place in places:
            expr, certain = find_argument(caller.site.call, definition.parameters[place].name, place - shift)
            if expr is None and not certain:
                return False
            parts = list(below(expr)) if expr is not None else []
            named = {part.id for part in parts if type(part) is ir.Name}
            # an object that holds settings is made by a call, and holds the same ever after
            holding = {part.base.id for part in parts if type(part) is ir.Attribute and type(part.base) is ir.Name}
            changing = varying | (_worked_out(body) - holding)
            named |= {part.name for part in parts if type(part) is ir.Attribute}
            if named & changing or any(_OF_RANK.search(name) for name in named):
                return False
            if any(type(part) not in (ir.Constant, ir.Name, ir.Attribute, ir.Operation) for part in parts):
                return False
            given.add((place, _text(expr)))
    return len(given) == len(places)


def _word(part: ir.Expr) -> str:
    if type(part) is ir.Constant:
        return str(part.value)
    if type(part) is ir.Name:
        return part.id
    return part.name if type(part) is ir.Attribute else type(part).__name__


def _text(expr: ir.Expr | None) -> str:
    """What tells plain expressions apart."""
    if expr is None:
        return ""
    return " ".join(map(_word, below(expr)))
