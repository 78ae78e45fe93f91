"""Sets of which nothing is known in the rehearsal but that strings are in them, as the text of the program shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.text_values import Texts

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model import python as ir
    from distlint.rehearsal.stage import Scope
    from distlint.rehearsal.values import Items


class _Places(dict[tuple[str, int, int], bool]):
    """The expressions of a project that were asked about, with the answers."""


def holds_texts(project: Project, listed: Items, expr: ir.Expr, scope: Scope) -> None:
    """Notes that a set gives its items in another order on each process, where they are shown to be strings.

    ``expr`` is what gives the set, in ``scope``.
    """
    if listed.items is not None or listed.order is not None:
        return
    known: _Places = project.kept.setdefault(_Places, _Places())
    place = (scope.file, scope.function, expr.at)
    if place not in known:
        known[place] = Texts(project).holds_texts(expr, scope.file, scope.function)
    if known[place]:
        listed.ordered = listed.in_own_order()
