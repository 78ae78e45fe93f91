"""What the editor offers on a finding: mend it, mend all that is safe, silence it with a reason, read about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from difflib import SequenceMatcher

from lsprotocol import types

from distlint.lsp.convert import SOURCE, Client, Converter
from distlint.lsp.snapshot import Analysis
from distlint.model.finding import Edit, Finding, Fix, Safety
from distlint.model.record import dataclass
from distlint.model.report import Report
from distlint.model.span import LineIndex, Span

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
OPEN_PAGE = f"{SOURCE}.openRulePage"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)


@dataclass(frozen=True, slots=True)
class Remedies:
    """How findings are mended or silenced.

    ``fix`` and ``silence`` answer ``None`` where they can't; ``fix_all`` gives the new texts, by file, after as many
    safe fixes of the findings as go together.
    """

    fix: Callable[[Report, Finding], Fix | None]
    silence: Callable[[Report, Finding], Edit | None]
    fix_all: Callable[[Report, Sequence[Finding]], Mapping[str, str]]


@dataclass(slots=True)
class ActionList:
    """The actions for one request on one file of an analysis."""

    analysis: Analysis
    client: Client
    remedies: Remedies
    converter: Converter = field(init=False)

    def __post_init__(self) -> None:
        self.converter = Converter(self.analysis, self.client)

    def actions(self, file: str, request: types.CodeActionParams) -> list[types.CodeAction]:
        """The actions of the kinds that were asked for, the most direct first."""
        wanted = request.context.only
        actions: list[types.CodeAction] = []
        if _asks_for(wanted, types.CodeActionKind.QuickFix.value):
            for index, finding in self._meant(file, request):
                actions += self._on_finding(index, finding)
        if _asks_for(wanted, FIX_ALL):
            actions += self._fix_all(file)
        return actions

    def _meant(self, file: str, request: types.CodeActionParams) -> list[tuple[int, Finding]]:
        """The findings that the request is about: those its diagnostics name, else those that touch its range."""
        here = self.converter.findings(file)
        named = [item.data for item in request.context.diagnostics if item.source == SOURCE and item.data is not None]
        if named:
            generation = self.analysis.snapshot.generation
            return [(index, finding) for index, finding in here if {"generation": generation, "index": index} in named]
        positions = self.converter.positions(file)
        start, end = positions.place(request.range.start), positions.place(request.range.end)
        return [(index, item) for index, item in here if item.span.start <= end and start <= item.span.end]

    def _on_finding(self, index: int, finding: Finding) -> Iterable[types.CodeAction]:
        diagnostic = self.converter.diagnostic(index, finding)
        fix = self.remedies.fix(self.analysis.report, finding)
        if fix is not None and fix.safety is not Safety.SUGGESTION:
            title = fix.title if fix.safety is Safety.SAFE else f"{fix.title} (unsafe)"
            yield self._edit(title, [diagnostic], fix.edits, preferred=fix.safety is Safety.SAFE)
        silence = self.remedies.silence(self.analysis.report, finding)
        if silence is not None:
            yield self._edit(f"Ignore {finding.code} here", [diagnostic], [silence])
        if self.client.shows_documents:
            title = f"Open the page of {finding.code}"
            yield types.CodeAction(
                title=title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                command=types.Command(title, OPEN_PAGE, arguments=[finding.code]),
            )

    def _fix_all(self, file: str) -> Iterable[types.CodeAction]:
        report = self.analysis.report
        findings = [finding for _, finding in self.converter.findings(file) if finding.plan is not None]
        changed = self.remedies.fix_all(report, findings) if findings else {}
        edits = [edit for name, text in changed.items() for edit in block_edits(name, report.text(name), text)]
        if edits:
            yield self._edit("Fix everything that distlint can fix safely", None, edits, kind=FIX_ALL)

    def _edit(
        self,
        title: str,
        diagnostics: list[types.Diagnostic] | None,
        edits: Iterable[Edit],
        *,
        kind: str = types.CodeActionKind.QuickFix.value,
        preferred: bool = False,
    ) -> types.CodeAction:
        return types.CodeAction(
            title=title,
            kind=kind,
            diagnostics=diagnostics,
            is_preferred=preferred or None,
            edit=self.converter.workspace_edit(edits),
        )


def block_edits(file: str, old: str, new: str) -> list[Edit]:
    """The edits that turn one text of a file into another: one for each block of lines that differs."""
    before, after = LineIndex(old), LineIndex(new)
    old_lines, new_lines = _lines(before), _lines(after)
    edits = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old_lines, new_lines, False).get_opcodes():
        if kind != "equal":
            span = Span(file, *_line_start(before, start), *_line_start(before, end))
            edits.append(Edit(span, "".join(new_lines[new_start:new_end])))
    return edits


def _lines(index: LineIndex) -> list[str]:
    """The lines of a text with their ends."""
    starts = [index.offset(line, 1) for line in range(1, index.line_count + 1)]
    return [index.text[start:end] for start, end in zip(starts, [*starts[1:], len(index.text)], strict=True)]


def _line_start(index: LineIndex, number: int) -> tuple[int, int]:
    """The place where a 0-based line starts, the end of the text for the one behind the last."""
    return (number + 1, 1) if number < index.line_count else index.position(len(index.text))


def _asks_for(wanted: Iterable[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether a request for kinds (any when ``None``) includes a kind: a kind stands for all below it."""
    if wanted is None:
        return True
    names = [str(getattr(one, "value", one)) for one in wanted]
    return any(not name or kind == name or kind.startswith(f"{name}.") for name in names)
