"""What belongs to an object that a protocol follows: its parameters, its parts, and whether only some ranks come to a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.protocol_things import Mention, Things
from distlint.link.abstract import Frame
from distlint.link.flow import Env
from distlint.link.modules import ClassRef
from distlint.link.walking import below, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.program import Program
    from distlint.link.project import Project

NO, MAYBE, YES = 0, 1, 2

_LISTS = frozenset({"parameters", "named_parameters"})
ANY_OBJECT = "object"
"""Among the makers of a pattern: anything that may be an object."""

MAX_DEPTH = 6
"""Names that are followed from a loop variable to the module whose parameters it goes over."""

Place = tuple[ir.Expr, Frame, Env | None, bool]


class Parts:
    """Answers for one object of a program; ``is_role`` tells whether a mention is the object in a role."""

    def __init__(self, things: Things, program: Program, is_role: Callable[[str, Mention], int]) -> None:
        self._things = things
        self._program = program
        self._is_role = is_role

    def reached(self, reach: str, role: str, expr: ir.Expr, frame: Frame, state: Env | None) -> int:
        """Whether an expression is in a place about the object in a role.

        ``each``: one of its parameters, in a loop over all of them; ``every``: that, where no test chooses which; ``part``: a part
        of it; ``each-of-part``: one of the parameters of a part, or some of its own.
        """
        if reach == "part":
            return self._is_part(role, expr, frame, state)
        if type(expr) is not ir.Name:
            return NO
        best = NO
        chosen = reach == "every" and self._is_chosen(expr, frame)
        for module, inside, at, all_of_it in self._modules(expr, frame, state, 0):
            if reach in ("each", "every"):
                result = self._is_role(role, self._things.mention(module, inside, at))
                best = max(best, result if all_of_it and not chosen else min(result, MAYBE))
            else:
                best = max(best, self._is_part(role, module, inside, at))
        return best

    def _is_chosen(self, expr: ir.Name, frame: Frame) -> bool:
        """Whether a test in the loop around decides which of the items it is about."""
        guards = guards_of(body_of(self._things.project, frame.file, frame.function), expr.at) or []
        inner = next((place for place in range(len(guards) - 1, -1, -1) if guards[place].kind == "for"), -1)
        return inner >= 0 and any(guard.test is not None for guard in guards[inner + 1 :])

    def _is_part(self, role: str, expr: ir.Expr, frame: Frame, state: Env | None, depth: int = 0) -> int:
        if type(expr) is ir.Name and depth < MAX_DEPTH:
            at = state if state is not None else self._things.evaluator.state(frame, expr.at)
            found = [
                self._is_part(role, value, inside, where, depth + 1)
                for value, where, inside in self._things.definitions(expr.id, frame, at)
            ]
            return NO if not found else max(found) if len(set(found)) == 1 else min(max(found), MAYBE)
        while isinstance(expr, ir.Attribute | ir.Subscript):
            if isinstance(expr, ir.Attribute) and expr.name == "module":
                return NO
            expr = expr.base
            result = self._is_role(role, self._things.mention(expr, frame, state))
            if result:
                return result
        return NO

    def _modules(self, expr: ir.Name, frame: Frame, state: Env | None, depth: int) -> Iterator[Place]:
        """The modules over whose parameters a loop goes, each with whether it goes over all of them."""
        at = state if state is not None else self._things.evaluator.state(frame, expr.at)
        for value, where, inside in self._things.definitions(expr.id, frame, at):
            whole = not any(type(part) is ir.Comprehension and part.generators[0][2] for part in below(value))
            for part in below(value):
                if type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name in _LISTS:
                    yield part.func.base, inside, where, whole
            if type(value) is ir.Name and depth < MAX_DEPTH:
                yield from self._modules(value, inside, where, depth + 1)

    def is_on_some_ranks(self, call: ir.Call, frame: Frame) -> bool:
        """Whether a test decides by the rank whether a call is made, here or on the way here."""
        view = DivergenceView.of_project(self._things.project)
        at = call.at
        for _ in range(MAX_DEPTH * 2):
            for guard in guards_of(body_of(self._things.project, frame.file, frame.function), at) or ():
                if guard.test is None or guard.kind == "for":
                    continue
                outcomes = view.outcomes(guard.test, frame.file, frame.function)
                if None not in outcomes and len(set(outcomes)) > 1:
                    return True
            step = self._program.calls.get(id(frame))
            if step is None:
                return False
            frame, at = self._program.steps[step].frame, self._program.steps[step].point.at
        return False


def names_storing(project: Project, attributes: set[str], makers: set[str]) -> set[str]:
    """The names of the functions that assign one of some attributes, or any attribute to what one of the makers makes."""
    found: set[str] = set()
    wanted = makers - {ANY_OBJECT}
    for file in project.python_files:
        module = project.module(file)
        if not wanted and not attributes & module.attributes:
            continue
        for function in module.functions:
            if any(_stores(project, file, one, attributes, wanted) for one in statements(function.body)):
                # what a constructor puts in is there before the object is
                own = function.name == "__init__" and function.owner >= 0
                found.add(module.classes[function.owner].name if own else function.name)
    return found


def _stores(project: Project, file: str, statement: ir.Stmt, attributes: set[str], makers: set[str]) -> bool:
    if type(statement) is not ir.Assign:
        return False
    for target in statement.targets:
        if type(target) is ir.Attribute and target.name in attributes:
            return True
        if isinstance(target, ir.Attribute | ir.Subscript) and makers and type(statement.value) is ir.Call:
            made = project.modules.resolve(statement.value.func, file)
            names = project.modules.external_bases(made) if isinstance(made, ClassRef) else {getattr(made, "name", "")}
            if names & makers:
                return True
    return False
