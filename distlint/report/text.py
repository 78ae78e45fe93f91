"""The report for people: each finding with the source that it rests on, what follows from it, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.model.finding import Finding, Safety
from distlint.model.report import Report
from distlint.model.value import Confidence
from distlint.report.excerpts import Excerpts
from distlint.report.formats import RenderOptions
from distlint.report.frame import Mark, frame, gutter_width
from distlint.report.links import rule_url
from distlint.report.paths import shown_path
from distlint.report.summary import sentence, summarise
from distlint.report.terminal import Painter, harmless, harmless_path

MAX_PLACES = 12
"""A finding shows at most this many related places, and says how many more there are."""

BITES = {
    "install": "when it is installed",
    "import": "when it is imported",
    "start-up": "at start-up",
    "first-step": "in the first step",
    "checkpoint": "at the first checkpoint",
    "resume": "when the job is resumed",
    "end": "at the end of the job",
    "never": "nowhere: nothing fails, but the result is wrong or slow",
}
"""When a fault shows, in words."""

_HOW_TO_APPLY = {
    Safety.SAFE: "apply with --fix",
    Safety.UNSAFE: "changes what the job does: apply with --fix --unsafe-fixes",
    Safety.SUGGESTION: "a sketch: never applied",
}


def render(report: Report, options: RenderOptions) -> str:
    """Every finding as a block, in the order of the report, and the summary."""
    excerpts = Excerpts(report.text)
    painter = Painter(options.color, options.links)
    lines: list[str] = []
    for finding in report.findings:
        lines += _block(report, finding, excerpts, options, painter)
        lines.append("")
    lines.append(painter.paint(sentence(summarise(report)), "bold" if report.findings else "good"))
    return "\n".join([*lines, ""])


def _block(
    report: Report, finding: Finding, excerpts: Excerpts, options: RenderOptions, painter: Painter
) -> Iterator[str]:
    style = finding.severity.word
    head = painter.paint(f"{finding.severity.word}[{harmless(finding.code)}]", style)
    yield f"{painter.link(head, rule_url(finding.code))}: {painter.paint(harmless(finding.message), 'bold')}"
    groups = _marks_by_file(finding)
    gutter = gutter_width(mark for group in groups for mark in group)
    for number, group in enumerate(groups):
        first = next((mark for mark in group if mark.primary), group[0]).span
        arrow = painter.paint(" " * gutter + ("-->" if number == 0 else ":::"), "gutter")
        path = harmless_path(shown_path(report, first.file, options.base))
        yield f"{arrow} {path}:{first.line}:{first.column}"
        drawn = list(frame(excerpts, group, gutter, options.width, painter))
        yield from drawn or _labels_only(group, gutter, painter)
    for line in _remarks(report, finding, options, painter):
        yield painter.paint(" " * gutter + " =", "gutter") + f" {line}"


def _marks_by_file(finding: Finding) -> list[list[Mark]]:
    """The marks of a finding, one group per file in the order of mention; the file of the finding comes first."""
    groups = {finding.span.file: [Mark(finding.span, "", finding.severity.word, primary=True)]}
    for place in finding.related[:MAX_PLACES]:
        groups.setdefault(place.span.file, []).append(Mark(place.span, place.message, "note"))
    return list(groups.values())


def _labels_only(group: list[Mark], gutter: int, painter: Painter) -> Iterator[str]:
    """What is left to say where the text of a file is empty or gone."""
    for mark in group:
        if mark.label:
            yield painter.paint(" " * gutter + " |", "gutter") + f" {harmless(mark.label)}"


def _remarks(report: Report, finding: Finding, options: RenderOptions, painter: Painter) -> Iterator[str]:
    if len(finding.related) > MAX_PLACES:
        yield f"and {len(finding.related) - MAX_PLACES} more places"
    if finding.help:
        yield f"{painter.paint('help:', 'bold')} {harmless(finding.help)}"
    if finding.plan is not None and options.show_fixes:
        how = _HOW_TO_APPLY[finding.plan.safety]
        yield f"{painter.paint('fix:', 'bold')} {harmless(finding.plan.title)} ({finding.plan.safety.word}; {how})"
    if finding.runs:
        yield f"{painter.paint('runs:', 'bold')} {', '.join(harmless(run) for run in finding.runs)}"
    if finding.confidence is not Confidence.CERTAIN:
        yield f"{painter.paint('confidence:', 'bold')} {finding.confidence.word}"
    yield _rule_line(report, finding, painter)


def _rule_line(report: Report, finding: Finding, painter: Painter) -> str:
    rule = report.rules.get(finding.code)
    url = rule_url(finding.code)
    name = rule.name if rule is not None else finding.code
    shows = f", shows {BITES.get(rule.bites, rule.bites)}" if rule is not None and rule.bites else ""
    address = "" if painter.links else f", {url}"
    return f"{painter.paint('rule:', 'bold')} {painter.link(name, url)}{harmless(shows)}{address}"
