"""Applying fixes: which of them, in which order, until nothing is left to do. Nothing here writes a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from distlint.fix.edits import Patch, patched
from distlint.fix.planning import Refusal, build_fix
from distlint.fix.validation import broken_by
from distlint.model.finding import Edit, Finding, FixPlan, Safety
from distlint.model.record import dataclass
from distlint.model.report import Report
from distlint.model.span import LineIndex

Text = Callable[[str], str]
"""Gives the text of a project file by its path relative to the root."""

MAX_PASSES = 10
"""Fixes that have not settled after so many passes undo one another; a real chain has two or three."""

OVERLAP = "changes the same place as another fix"


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of one pass: new texts by file, the findings whose fix is in them, and the others with the reason.

    Findings without a fix, and those whose fix may not be applied unasked, are not mentioned.
    """

    changed: Mapping[str, str]
    applied: tuple[Finding, ...]
    skipped: tuple[tuple[Finding, str], ...]


@dataclass(frozen=True, slots=True)
class Stable:
    """The outcome of all passes. ``report`` is the check of the final texts.

    ``settled`` is false where the last pass allowed still changed something: two fixes work against each other.
    """

    report: Report
    changed: Mapping[str, str]
    applied: tuple[Finding, ...]
    skipped: tuple[tuple[Finding, str], ...]
    settled: bool


def apply_fixes(findings: Sequence[Finding], text: Text, *, unsafe: bool) -> Applied:
    """Applies the fixes of findings to the texts that were analysed, each of them whole or not at all.

    A fix that overlaps one before it (by place of the finding) is skipped; the next pass sees it again. The same plan
    of several findings is applied once and counts for all. Suggestions are never applied, unsafe fixes only if asked.
    """
    least = Safety.UNSAFE if unsafe else Safety.SAFE
    state = _Pass(text)
    applied: list[Finding] = []
    skipped: list[tuple[Finding, str]] = []
    done: list[FixPlan] = []
    for finding in sorted(findings, key=lambda finding: finding.sort_key):
        plan = finding.plan
        if plan is None or plan.safety < least:
            continue
        reason = "" if plan in done else state.take(plan)
        if reason:
            skipped.append((finding, reason))
        else:
            applied.append(finding)
            done.append(plan)
    return Applied(state.texts(), tuple(applied), tuple(skipped))


def fix_until_stable(
    check: Callable[[Mapping[str, str]], Report], *, unsafe: bool, max_passes: int = MAX_PASSES
) -> Stable:
    """Checks and fixes in turn, until a check leaves nothing to fix.

    ``check`` analyses the project with some texts in the place of those on disk, given by file.
    """
    changed: dict[str, str] = {}
    applied: list[Finding] = []
    report = check({})
    for _ in range(max_passes):
        outcome = apply_fixes(report.findings, report.text, unsafe=unsafe)
        if not outcome.changed:
            return Stable(report, changed, tuple(applied), outcome.skipped, settled=True)
        changed.update(outcome.changed)
        applied += outcome.applied
        report = check(dict(changed))
    outcome = apply_fixes(report.findings, report.text, unsafe=unsafe)
    return Stable(report, changed, tuple(applied), outcome.skipped, settled=not outcome.changed)


class _Pass:
    """The edits taken so far in one pass, by file, as patches of the analysed text."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._indexes: dict[str, LineIndex] = {}
        self._patches: dict[str, list[Patch]] = {}

    def take(self, plan: FixPlan) -> str:
        """Adds the edits of a plan; the reason if that can't be done."""
        fix = build_fix(plan, self._text)
        if isinstance(fix, Refusal):
            return fix.reason
        wanted: dict[str, list[Patch]] = {}
        for edit in fix.edits:
            wanted.setdefault(edit.span.file, []).append(self._patch(edit))
        for file, patches in wanted.items():
            taken = self._patches.get(file, [])
            if any(_touch(patch, other) for patch in patches for other in taken):
                return OVERLAP
            if taken and (problem := self._problem(file, [*taken, *patches])):
                return f"together with another fix, {problem}"
        for file, patches in wanted.items():
            self._patches.setdefault(file, []).extend(patches)
        return ""

    def texts(self) -> dict[str, str]:
        """The new texts by file, sorted by path."""
        return {file: patched(self._index(file).text, self._patches[file]) for file in sorted(self._patches)}

    def _problem(self, file: str, patches: list[Patch]) -> str:
        before = self._index(file).text
        return broken_by(file, before, patched(before, patches))

    def _patch(self, edit: Edit) -> Patch:
        index, span = self._index(edit.span.file), edit.span
        start, end = index.offset(span.line, span.column), index.offset(span.end_line, span.end_column)
        return Patch(start, end, edit.text)

    def _index(self, file: str) -> LineIndex:
        if file not in self._indexes:
            self._indexes[file] = LineIndex(self._text(file))
        return self._indexes[file]


def _touch(one: Patch, other: Patch) -> bool:
    """Whether two patches overlap or meet: what stands side by side may be one entry and its comma."""
    return one.start <= other.end and other.start <= one.end
