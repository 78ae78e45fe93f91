"""Which processes a collective is for: all of the job, or the members of a group."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.collectives import BACKWARD, CALLED, Collectives, Operation
from distlint.checks.divergence import DivergenceView
from distlint.checks.rank_values import Many
from distlint.checks.ranks import FIRST
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Leaf

if TYPE_CHECKING:
    from distlint.link.project import Project


class Group(NamedTuple):
    """A group of processes: the place of the call that made it (empty for the whole job), and its ranks if they are known."""

    made: tuple[object, ...] = ()
    members: tuple[int, ...] | None = None


WORLD = Group()
"""All processes of the job."""


class Groups:
    """Answers for operations which group they are made over; ``None`` where that can't be told."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: dict[tuple[str, int], Group | None] = {}

    @classmethod
    def of_project(cls, project: Project) -> Groups:
        """The answers that all checks of a project share."""
        if cls not in project.kept:
            project.kept[cls] = cls(project)
        found: Groups = project.kept[cls]
        return found

    def of(self, operation: Operation) -> Group | None:
        """The group of an operation."""
        if operation.key not in self._found:
            self._found[operation.key] = None
            self._found[operation.key] = self._of(operation)
        return self._found[operation.key]

    def _of(self, operation: Operation) -> Group | None:
        name, position = operation.spec.group
        if not name:
            return self._of_wrappers if operation.spec is BACKWARD or operation.spec.name.endswith(CALLED) else WORLD
        given, certain = find_argument(operation.call, name, position)
        if given is None:
            return WORLD if certain else None
        return self._given(given, operation.file, operation.function)

    @cached_property
    def _of_wrappers(self) -> Group | None:
        """The group over which the passes of wrapped models meet: that of their wrappers where these name one, all of them the same."""
        words = [word for one in self._project.specs for word in one.wrapper_groups]
        found: set[Group | None] = set()
        for site in self._project.calls_to({wrapper for wrapper, _, _ in words}):
            given = [find_argument(site.site.call, *word[1:]) for word in words if word[0] == site.name]
            named = [self._given(expr, site.file, site.site.function) for expr, _ in given if expr is not None]
            found.update(named or ([WORLD] if all(certain for _, certain in given) else []))
        return WORLD if found <= {WORLD} else found.pop() if len(found) == 1 else None

    def _given(self, expr: ir.Expr, file: str, function: int) -> Group | None:
        if type(expr) is ir.Constant:
            return WORLD if expr.value is None else None
        if self._project.modules.dotted(expr, file).endswith(".WORLD"):
            return WORLD
        options = options_of(self._project.evaluator(None).ask(expr, file, function))
        only = options[0] if len(options) == 1 else None
        if isinstance(only, Leaf) and only.value.is_known and only.value.only is None:
            return WORLD
        if not isinstance(only, Instance) or only.part:
            return None
        maker = Collectives.of_project(self._project).operations.get((only.frame.file, only.call.at))
        if maker is None or maker.spec.kind != "new_group":
            return None
        ranks, certain = find_argument(maker.call, *maker.spec.tensor)
        if ranks is None or (type(ranks) is ir.Constant and ranks.value is None):
            return Group(only.identity, None) if not certain else WORLD._replace(made=only.identity)
        if self._is_all(ranks, only.frame.file, only.frame.function):
            return WORLD._replace(made=only.identity)
        value = DivergenceView.of_project(self._project).view(FIRST).ask(ranks, only.frame.file, only.frame.function)
        if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
            return Group(only.identity, value)
        return None

    def _is_all(self, ranks: ir.Expr, file: str, function: int) -> bool:
        """Whether an expression is ``range`` of the number of processes, or a list of that."""
        for part in below(ranks):
            if type(part) is ir.Call and type(part.func) is ir.Name and part.func.id == "range" and len(part.args) == 1:
                view = DivergenceView.of_project(self._project).view(FIRST)
                plain = type(ranks) is ir.Call and (ranks is part or ranks.args == (part,))
                return plain and isinstance(view.ask(part.args[0], file, function), Many)
        return False


def covers(group: Group | None, ranks: tuple[int, int]) -> bool:
    """Whether both processes of a pair are certainly members of a group."""
    if group is None:
        return False
    return all(rank in group.members for rank in ranks) if group.members is not None else True
