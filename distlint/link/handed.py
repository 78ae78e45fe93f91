"""What the callers of a function hand to one of its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.arguments import find_argument
from distlint.link.calls import is_static
from distlint.link.modules import FunctionRef
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.callers import Caller
    from distlint.link.project import Project


class Handed(NamedTuple):
    """What one call hands to a parameter: ``None`` where it writes nothing, which is sure only if that is ``certain``."""

    caller: Caller
    expr: ir.Expr | None
    certain: bool


def handed(project: Project, ref: FunctionRef, position: int, most: int) -> Iterator[Handed]:
    """What the first ``most`` known callers of a function hand to the parameter at a position; the object of a method is none."""
    definition = project.function(ref)
    bound = definition.owner >= 0 and not is_static(definition)
    if bound and position == 0:
        return
    for caller in project.callers(ref)[:most]:
        expr, certain = find_argument(
            caller.site.call, definition.parameters[position].name, position - bound + caller.shift
        )
        yield Handed(caller, expr, certain)
