"""Fingerprints: names of findings that stay the same while the files around them change.

Used by SARIF, GitLab and the baseline. A fingerprint rests on the code, the file, the configuration path or enclosing
function, the first line of the text in question, and a running number among findings that agree in all of these. Line
numbers are no part.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

from distlint.model.finding import Finding
from distlint.model.report import Report
from distlint.report.excerpts import Excerpts


def fingerprints(findings: Sequence[Finding], text: Callable[[str], str]) -> list[str]:
    """One fingerprint (32 hexadecimal digits) per finding, in the order given; all of them differ.

    ``text`` gives the text of a file by its project-relative path. Pass suppressed findings too: the running number
    among equals must not change when one of them is silenced.
    """
    excerpts = Excerpts(text)
    result = [""] * len(findings)
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for index in sorted(range(len(findings)), key=lambda i: findings[i].sort_key):
        finding = findings[index]
        identity = (finding.code, finding.span.file, finding.symbol, _first_line(excerpts.slice(finding.span)))
        result[index] = _digest((*identity, str(seen[identity])))
        seen[identity] += 1
    return result


def report_fingerprints(report: Report) -> tuple[list[str], list[str]]:
    """Fingerprints of the report's findings, and of its suppressed ones, numbered together."""
    every = [*report.findings, *(suppressed.finding for suppressed in report.suppressed)]
    found = fingerprints(every, report.text)
    return found[: len(report.findings)], found[len(report.findings) :]


def _first_line(text: str) -> str:
    """The first line that says something, runs of white space as one space; blocks change below their first line."""
    stripped = text.strip()
    return " ".join(stripped.splitlines()[0].split()) if stripped else ""


def _digest(parts: tuple[str, ...]) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]
