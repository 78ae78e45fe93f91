"""Whatever a file holds and wherever a span lies in it, a report is shown, stays harmless and fits the terminal."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from report_sample import RULES
from test_report_formats import SCHEMA

from distlint.model.finding import Finding, Related, Severity
from distlint.model.report import Report
from distlint.model.span import Span
from distlint.model.value import Confidence
from distlint.report.excerpts import Excerpts
from distlint.report.fingerprint import fingerprints
from distlint.report.formats import RenderOptions, render
from distlint.report.frame import Mark, frame
from distlint.report.terminal import Painter, text_width

ODD = st.sampled_from(
    [
        "\t",
        "\r",
        "\n",
        "\r\n",
        "\x1b[",
        "模",
        "e\u0301",
        "\u202e",
        "🚀",
        "\x85",
        "##[",
        "::",
        "\ud800",
        "]]>",
        "%",
        "a" * 90,
    ]
)
TEXT = st.lists(st.one_of(ODD, st.text(max_size=12)), max_size=25).map("".join)
PLACE = st.integers(0, 40)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    start, end = sorted([(draw(PLACE), draw(PLACE)), (draw(PLACE), draw(PLACE))])
    return Span("f.py", *start, *end)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    text = draw(TEXT)
    places = tuple(Related(draw(spans()), draw(TEXT)) for _ in range(draw(st.integers(0, 3))))
    finding = Finding("DS103", draw(TEXT), draw(spans()), Severity.ERROR, Confidence.LIKELY, places, draw(TEXT))
    return Report("/p", (finding,), RULES, {"f.py": text}.__getitem__)


@settings(max_examples=150, deadline=None)
@given(TEXT, st.lists(spans(), min_size=1, max_size=4), st.integers(20, 140))
def test_frames_fit_and_are_harmless(text, places, width):
    marks = [Mark(span, "", "error", primary=number == 0) for number, span in enumerate(places)]
    lines = list(frame(Excerpts({"f.py": text}.__getitem__), marks, 2, width, Painter()))
    assert all(text_width(line) <= max(width, 25) + 1 for line in lines)
    assert not {char for line in lines for char in line if char in "\x1b\r\n\t\u202e\x85\ud800"}
    assert "##[" not in "\n".join(lines)


@settings(max_examples=60, deadline=None)
@given(reports())
def test_every_format_holds_what_it_promises(report):
    shown = render("text", report, RenderOptions())
    assert "\x1b" not in shown
    assert shown.encode("utf-8")
    assert len(render("concise", report, RenderOptions()).splitlines()) == 2
    assert len(render("github", report, RenderOptions()).splitlines()) == 1
    assert len(json.loads(render("json", report, RenderOptions()))["findings"]) == 1
    ET.fromstring(render("junit", report, RenderOptions()).encode())  # noqa: S314
    log = json.loads(render("sarif", report, RenderOptions()))
    assert not list(Draft7Validator(SCHEMA).iter_errors(log))
    assert len(fingerprints(report.findings, report.text)) == 1
