"""``--fix`` and ``--diff``: fixes worked out until nothing is left to do, then written or shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from distlint.cli.screen import say
from distlint.fix.apply import Stable, fix_until_stable
from distlint.fix.diff import unified_diff
from distlint.fix.writing import WriteError, write_changes
from distlint.model.record import dataclass
from distlint.model.report import Report
from distlint.model.source import DecodingError, SourceKind, decode
from distlint.report.summary import counted
from distlint.report.terminal import Painter, harmless

Analyse = Callable[[Mapping[str, str]], Report]
"""Analyses the project with some texts in place of those on disk."""


@dataclass(frozen=True, slots=True)
class Mended:
    """``before`` is the report on the files as they were, ``stable`` the outcome of all fixes together."""

    before: Report
    stable: Stable

    def diff(self) -> str:
        """What the fixes would change, as a unified diff, byte for byte as ``patch`` needs it."""
        return unified_diff(self.stable.changed, self.before.text)

    def shown_diff(self, color: bool) -> str:
        """The diff for a terminal: nothing in it acts upon the terminal, and what is added and removed has a colour."""
        painter = Painter(color)
        lines = self.diff().removesuffix("\n").split("\n")
        styles = {"+": "good", "-": "error", "@": "gutter"}
        return "".join(
            painter.paint(harmless(line.expandtabs(4)), styles.get(line[:1], "plain")) + "\n" for line in lines
        )

    def write(self) -> None:
        """Writes the changed files; ends with an error if one of them is not what was analysed any more."""
        root = Path(self.before.root)
        try:
            write_changes(root, self.stable.changed, lambda file: _analysed_bytes(root, file, self.before.text(file)))
        except WriteError as error:
            raise click.ClickException(f"cannot fix: {error}") from None

    def say(self) -> None:
        """Tells on standard error what was fixed, what was not and why."""
        fixed = Counter(finding.code for finding in self.stable.applied)
        files = len(self.stable.changed)
        say(f"Fixed {counted(sum(fixed.values()), 'finding')} in {counted(files, 'file')}")
        for code, number in sorted(fixed.items()):
            say(f"{number:6} {code}")
        for finding, reason in self.stable.skipped:
            span = finding.span
            say(f"not fixed: {span.file}:{span.line}:{span.column} {finding.code}: {reason}")
        if not self.stable.settled:
            say("warning: the fixes do not settle: two of them undo each other; please report this")


def mend(analyse: Analyse, *, unsafe: bool) -> Mended:
    """Analyses, fixes and analyses again until nothing changes; writes nothing."""
    reports: list[Report] = []

    def check(texts: Mapping[str, str]) -> Report:
        report = analyse(texts)
        reports.append(report)
        return report

    stable = fix_until_stable(check, unsafe=unsafe)
    return Mended(reports[0], stable)


def _analysed_bytes(root: Path, file: str, text: str) -> bytes:
    """The bytes of a file, if they still decode to the text that was analysed."""
    kind = SourceKind.PYTHON if file.endswith((".py", ".pyi")) else SourceKind.SHELL
    try:
        data = (root / file).read_bytes()
        unchanged = decode(data, kind) == text
    except (OSError, DecodingError):
        unchanged = False
    if not unchanged:
        raise WriteError(f"{file}: has changed since it was read; run again")
    return data
