"""Names of parameters by which a process of a rehearsal looks things up that are kept under names of another form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Named
from distlint.rehearsal.values import Items, Table

if TYPE_CHECKING:
    from distlint.model import python as ir
    from distlint.rehearsal.stage import Scope, Stage

MISNAMED = "name of another family"
NOT_FOUND = "name that is never found"


def families_differ(base: Any, index: Any) -> bool:
    """Whether all keys of a dictionary have another form than a name by which it is asked."""
    if not isinstance(index, Named) or not index.family:
        return False
    if isinstance(base, Items):
        sample = base.sample if base.items is None else base.items[0] if base.items else None
        all_named = base.items is None or all(isinstance(one, Named) for one in base.items)
        family = sample.family if all_named and isinstance(sample, Named) else None
    else:
        family = getattr(base, "family", None)
    return bool(family) and family != index.family


def misnamed(stage: Stage, expr: ir.Expr, scope: Scope) -> None:
    """Something is looked up by a name of which its keys have another form, and that fails."""
    if not any(stage.attempts):
        _note(stage, MISNAMED, expr, scope, None)


def not_found(stage: Stage, base: Any, expr: ir.Expr, scope: Scope) -> None:
    """It is asked for by such a name, and what is done without it goes on: whether other keys come in shows later."""
    _note(stage, NOT_FOUND, expr, scope, base)


def _note(stage: Stage, kind: str, expr: ir.Expr, scope: Scope, base: Any) -> None:
    if not stage.unsure and not stage.alone:
        event = Event("state_dict", expr, scope.file, scope.function, {})  # type: ignore[arg-type]
        event.chain = stage.chain
        words = {"base": base, "family": base.family if isinstance(base, Table) else None}
        stage.faults.append(Fault(kind, event.span, event, words))
