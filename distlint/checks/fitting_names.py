"""Only those entries of a state are taken over whose names a model has, and no name fits: one of both has the prefix of a wrapper.

Parameters: those of ``prefixed_state`` but ``strict``, and ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.fitting_ways import choices
from distlint.checks.model_states import Taken
from distlint.checks.prefixed_state import kinds_of_wrappers, loads
from distlint.checks.registry import CheckContext, check
from distlint.checks.wrapped_states import WrappedStates
from distlint.link.abstract import Frame
from distlint.link.flow import Env
from distlint.link.project import Project
from distlint.link.walking import last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_VIEWS = frozenset({"keys", "items"})
_SAME = frozenset({"dict", "set", "list", "tuple", "sorted", "frozenset", "OrderedDict", "deepcopy", "copy"})
_OWN = frozenset({"state_dict", "named_parameters", "named_buffers"})
_TAKING_OUT = frozenset({"pop", "popitem", "clear", "update"})
_MAX_DEPTH = 6


@check("fitting-names")
def fitting_names(context: CheckContext) -> Iterator[Finding]:
    """A finding for each test by which a function takes over what fits, where nothing can."""
    project: Project = context.project
    for words in kinds_of_wrappers(context.parameters):
        names = _Names(project, WrappedStates(project, words))
        for file in project.python_files:
            module = project.module(file)
            if not _OWN & module.attributes:
                continue
            for function in range(-1, len(module.functions)):
                body = body_of(project, file, function)
                frame = names.evaluator.frame(file, function)
                for choice in choices(body):
                    at = names.evaluator.state(frame, choice.at)
                    both = [names.of(one, frame, at) for one in (choice.over, choice.within)]
                    if not any(names.is_read(one, frame, at) for one in (choice.over, choice.within)):
                        continue  # between models of one program the rehearsal looks at what is found
                    if not all(both) or handles_errors_around(body, choice.at) or names.is_told(file, function):
                        continue
                    first, second = both[0], both[1]
                    if {one.wrapped for one in first} | {one.wrapped for one in second} != {True, False}:
                        continue
                    if len({one.wrapped for one in first}) > 1 or len({one.wrapped for one in second}) > 1:
                        continue
                    yield _finding(context, file, choice.at, first[0], second[0], words["message"])
                    break


def _finding(context: CheckContext, file: str, at: ir.Position, first: Taken, second: Taken, message: str) -> Finding:
    wrapped, bare = (first, second) if first.wrapped else (second, first)
    return context.finding(
        message,
        ir.unpack(at, file),
        related=[
            Related(wrapped.span, "these names have the prefix"),
            Related(bare.span, "these do not"),
        ],
    )


class _Names:
    """Tells of which model the names are that an expression holds."""

    def __init__(self, project: Project, states: WrappedStates) -> None:
        self._project = project
        self._states = states
        self._things = states.things
        self.evaluator = states.things.evaluator
        self._told: set[tuple[str, int]] | None = None

    def is_told(self, file: str, function: int) -> bool:
        """Whether a load in the same function says already that nothing fits."""
        if self._told is None:
            self._told = {
                (load.site.file, load.site.site.function)
                for strict in (True, False)
                for load in loads(self._states, self._project, strict=strict)
            }
        return (file, function) in self._told

    def of(self, expr: ir.Expr, frame: Frame, at: Env) -> list[Taken]:
        """The states whose names an expression holds; nothing where that is not known."""
        own = self._own(expr, frame, at, 0)
        found = own or self._states.taken(_plain(expr), frame, at)
        return [] if any(one.wrapped is None for one in found) else found

    def is_read(self, expr: ir.Expr, frame: Frame, at: Env) -> bool:
        """Whether the names that an expression holds come from a file."""
        return self._states.is_read(_plain(expr), frame, at)

    def _own(self, expr: ir.Expr, frame: Frame, at: Env, depth: int) -> list[Taken]:
        """The same where the state is taken of a model in the program itself, and what is done to it gives no other names."""
        if depth > _MAX_DEPTH:
            return []
        expr = _plain(expr)
        if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _OWN and not expr.args:
            return [Taken(self._states.states.kind_of(expr.func.base, frame, at), ir.unpack(expr.at, frame.file))]
        if type(expr) is not ir.Name or _is_changed(self._body(frame), expr.id):
            return []
        found: list[Taken] = []
        for value, state, inside in self._things.definitions(expr.id, frame, at):
            one = self._own(value, inside, state, depth + 1)
            if not one:
                return []
            found += one
        return found

    def _body(self, frame: Frame) -> tuple[ir.Stmt, ...]:
        return body_of(self._project, frame.file, frame.function)


def _plain(expr: ir.Expr) -> ir.Expr:
    """What is behind a view or a copy: ``state`` of ``set(state.keys())``."""
    while type(expr) is ir.Call:
        if last_name(expr.func) in _SAME and len(expr.args) == 1 and not expr.keywords:
            expr = expr.args[0]
        elif type(expr.func) is ir.Attribute and expr.func.name in _VIEWS and not expr.args:
            expr = expr.func.base
        else:
            break
    return expr


def _is_changed(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Whether a function takes names out of a state and puts others in."""
    puts = takes = False
    for statement in statements(body):
        for target in statement.targets if type(statement) is ir.Assign else ():
            puts = puts or (type(target) is ir.Subscript and type(target.base) is ir.Name and target.base.id == name)
        call = statement.value if isinstance(statement, ir.Evaluate | ir.Assign) else None
        if type(call) is ir.Call and type(call.func) is ir.Attribute and call.func.name in _TAKING_OUT:
            if type(call.func.base) is ir.Name and call.func.base.id == name:
                takes = takes or call.func.name != "update"
    return puts and takes
