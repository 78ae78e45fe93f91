"""One line per finding: what editors, grep and people in a hurry want."""

from __future__ import annotations

from distlint.model.finding import Finding
from distlint.model.report import Report
from distlint.model.value import Confidence
from distlint.report.formats import RenderOptions
from distlint.report.links import rule_url
from distlint.report.paths import shown_path
from distlint.report.summary import sentence, summarise
from distlint.report.terminal import Painter, harmless, harmless_path


def render(report: Report, options: RenderOptions) -> str:
    """``path:line:column: severity CODE message`` per finding, and the summary at the end."""
    painter = Painter(options.color, options.links)
    lines = [_line(report, finding, options, painter) for finding in report.findings]
    return "\n".join([*lines, sentence(summarise(report)), ""])


def _line(report: Report, finding: Finding, options: RenderOptions, painter: Painter) -> str:
    path = harmless_path(shown_path(report, finding.span.file, options.base))
    place = painter.paint(f"{path}:{finding.span.line}:{finding.span.column}:", "bold")
    word = painter.paint(finding.severity.word, finding.severity.word)
    code = painter.link(painter.paint(harmless(finding.code), "bold"), rule_url(finding.code))
    doubt = "" if finding.confidence is Confidence.CERTAIN else f" ({finding.confidence.word})"
    fixable = " [fixable]" if options.show_fixes and finding.plan is not None else ""
    return f"{place} {word} {code} {harmless(finding.message)}{doubt}{fixable}"
