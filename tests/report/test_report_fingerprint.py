from __future__ import annotations

from dataclasses import replace

from report_sample import FINDINGS

from distlint.model.finding import Finding, Severity
from distlint.model.span import LineIndex
from distlint.model.value import Confidence
from distlint.report.fingerprint import fingerprints

TEXT = '{\n  "a": {\n    "stage": 2\n  }\n}\n'


def finding_at(text: str, part: str, symbol: str = "a.stage", occurrence: int = 0) -> Finding:
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(part, start + 1)
    span = LineIndex(text).span("c.json", start, start + len(part))
    return Finding("DS1", "m", span, Severity.ERROR, Confidence.CERTAIN, symbol=symbol)


def mark(text: str, *findings: Finding) -> list[str]:
    return fingerprints(findings, {"c.json": text}.__getitem__)


def test_lines_added_above_change_nothing():
    moved = "\n\n// new\n" + TEXT
    assert mark(TEXT, finding_at(TEXT, '"stage": 2')) == mark(moved, finding_at(moved, '"stage": 2'))


def test_white_space_changes_nothing():
    wide = TEXT.replace('"stage": 2', '"stage":   2')
    assert mark(TEXT, finding_at(TEXT, '"stage": 2')) == mark(wide, finding_at(wide, '"stage":   2'))


def test_edits_inside_a_block_change_nothing():
    edited = TEXT.replace("2", "3")
    block, edited_block = TEXT[TEXT.index('"a"') :], edited[edited.index('"a"') :]
    assert mark(TEXT, finding_at(TEXT, block)) == mark(edited, finding_at(edited, edited_block))


def test_code_file_symbol_and_text_count():
    finding = finding_at(TEXT, '"stage": 2')
    others = [
        replace(finding, code="DS2"),
        replace(finding, symbol="b.stage"),
        finding_at(TEXT, '"a"'),
        replace(finding, span=finding.span._replace(file="d.json")),
    ]
    assert len({*mark(TEXT, finding), *(fingerprints([other], lambda file: TEXT)[0] for other in others)}) == 5


def test_message_does_not_count():
    finding = finding_at(TEXT, '"stage": 2')
    assert mark(TEXT, finding) == mark(TEXT, replace(finding, message="other words"))


def test_equals_are_numbered_by_place_whatever_their_order():
    text = "[x, x, x]"
    found = [finding_at(text, "x", occurrence=n) for n in range(3)]
    marks = mark(text, *found)
    assert len(set(marks)) == 3
    assert mark(text, *reversed(found)) == marks[::-1]


def test_missing_text_is_no_error():
    assert len(fingerprints(FINDINGS, {}.__getitem__)) == len(FINDINGS)
