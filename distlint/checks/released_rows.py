"""What curated rules say of names by release, so that the table of released APIs does not say it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.api_by_version import Entry
from distlint.link.library_uses import is_below
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.checks.released_faults import Fault

_CURATED = "api-by-version"


@dataclass(frozen=True, slots=True)
class CuratedRows:
    """The rows of all rules that list names of a library by release, selected or not."""

    names: tuple[Entry, ...]
    keywords: tuple[Entry, ...]

    @classmethod
    def of(cls, context: CheckContext) -> CuratedRows:
        """The rows of all rules; the same object for all checks of a project."""
        kept = context.project.kept
        if cls not in kept:
            curated = [rule for rule in context.rules if rule.check.python == _CURATED]
            rows = [Entry.parse(row) for rule in curated for row in rule.check.parameters["symbols"]]
            kept[cls] = cls(tuple(row for row in rows if not row.keywords), tuple(row for row in rows if row.keywords))
        found: CuratedRows = kept[cls]
        return found

    def tell(self, fault: Fault) -> bool:
        """Whether a curated rule says of the same release what the fault says."""
        version = fault.candidate.version
        if fault.mention.lent:
            return False
        if fault.kind == "name":
            return any(is_below(fault.name, name) and row.lacks(version) for row in self.names for name in row.names)
        if fault.kind in ("argument", "foreign"):
            return any(
                fault.argument in row.keywords and _is_same(fault, row) and row.lacks(version) for row in self.keywords
            )
        if fault.kind in ("missing", "wanting"):
            # An argument that went by another name is wanting only because the other one is refused.
            return any(
                _is_same(fault, row)
                and (
                    (row.lacks(version) and _may_give(fault, row)) or (row.required and fault.argument in row.keywords)
                )
                for row in self.keywords
            )
        return False


def _is_same(fault: Fault, row: Entry) -> bool:
    return any(name.replace("()", "") in (fault.name, fault.subject) for name in row.names)


def _may_give(fault: Fault, row: Entry) -> bool:
    """Whether the call may give an argument of a row."""
    call = fault.mention.call
    if call is None or any(one.name is None or one.name in row.keywords for one in call.keywords):
        return True
    return row.position is not None and len(call.args) > row.position
