"""What ``distlint check`` says on standard error about a report: failures, reasons for silence, counts."""

from __future__ import annotations

from collections import Counter, defaultdict

from distlint.cli.screen import say
from distlint.model.report import Report
from distlint.report.paths import shown_path
from distlint.report.summary import counted

MAX_PLACES = 10
"""A reason for silence names at most this many places."""


def say_errors(report: Report, base: str) -> None:
    """One line per file that could not be read and per rule that failed."""
    for error in report.errors:
        place = shown_path(report, error.file, base) if error.file else ""
        if place and error.line:
            place += f":{error.line}"
        kind = "error" if error.internal else "warning"
        say(f"{kind}: {place}: {error.message}" if place else f"{kind}: {error.message}")


def say_notes(report: Report, base: str) -> None:
    """Why distlint was silent: each reason once, with the places that it holds for."""
    places: dict[str, list[str]] = defaultdict(list)
    for note in report.notes:
        path = shown_path(report, note.span.file, base)
        place = f"{path}:{note.span.line}" if note.span.line > 1 or note.span.column > 1 else path
        if place not in places[note.message]:
            places[note.message].append(place)
    for message in sorted(places):
        say(f"note: {message}")
        for place in places[message][:MAX_PLACES]:
            say(f"  {place}")
        if len(places[message]) > MAX_PLACES:
            say(f"  and {counted(len(places[message]) - MAX_PLACES, 'more place')}")


def say_statistics(report: Report) -> None:
    """How often each rule found something, the most frequent first, and what was read."""
    counts = Counter(finding.code for finding in report.findings)
    for code, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        rule = report.rules.get(code)
        say(f"{number:6} {code:8} {rule.name if rule is not None else ''}".rstrip())
    for name, number in sorted(report.statistics.items()):
        say(f"{number:6} {name.replace('_', ' ')}")
