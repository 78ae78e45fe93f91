from __future__ import annotations

import re

import pytest
from report_sample import FINDINGS, RULES, empty_report, sample_report

from distlint.model.finding import Finding, Related, Severity
from distlint.model.report import Report
from distlint.model.span import LineIndex, Span
from distlint.model.value import Confidence
from distlint.report.formats import RenderOptions, render
from distlint.report.terminal import harmless, harmless_path, text_width

ANSI = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


def one(text: str, marked: str, message: str = "m", related: tuple[tuple[str, str], ...] = (), width: int = 80) -> str:
    """The text report of one finding on ``marked`` in a file ``f.py`` with the given text."""
    index = LineIndex(text)

    def span(part: str) -> Span:
        start = text.index(part)
        return index.span("f.py", start, start + len(part))

    places = tuple(Related(span(part), label) for part, label in related)
    finding = Finding("DS103", message, span(marked), Severity.ERROR, Confidence.CERTAIN, places)
    report = Report("/p", (finding,), RULES, {"f.py": text}.__getitem__)
    return render("text", report, RenderOptions(width=width))


def frame_lines(rendered: str) -> list[str]:
    return [line for line in rendered.splitlines() if re.match(r" *\d* \||\.\.\.", line)]


def test_whole_report(golden):
    golden("report.txt", render("text", sample_report(), RenderOptions(width=100)))


def test_concise_report(golden):
    golden("concise.txt", render("concise", sample_report(), RenderOptions()))


def test_color_adds_nothing_but_escapes():
    plain = render("text", sample_report(), RenderOptions(width=100))
    coloured = render("text", sample_report(), RenderOptions(color=True, width=100))
    assert coloured != plain
    assert ANSI.sub("", coloured) == plain


def test_links_are_terminal_hyperlinks_to_the_rule_page():
    linked = render("text", sample_report(), RenderOptions(links=True))
    assert "\x1b]8;;https://distlint.readthedocs.io/en/latest/rules/DS103/\x1b\\" in linked
    assert ", https://" not in ANSI.sub("", linked)


def test_nothing_found():
    assert render("text", empty_report(), RenderOptions()) == "No problems found\n"


def test_fixes_can_be_left_out():
    assert "fix:" not in render("text", sample_report(), RenderOptions(show_fixes=False))
    assert "fixable]" not in render("concise", sample_report(), RenderOptions(show_fixes=False))


@pytest.mark.parametrize(
    ("base", "shown"),
    [
        ("", "--> ds_config.json:4:5"),
        ("/project", "--> ds_config.json:4:5"),
        ("/", "--> project/ds_config.json:4:5"),
        ("/project/sub", "--> ../ds_config.json:4:5"),
        ("/elsewhere", "--> /project/ds_config.json:4:5"),
    ],
)
def test_paths_can_be_opened_from_the_working_directory(base, shown):
    assert shown in render("text", sample_report("/project"), RenderOptions(base=base))


def test_underline_follows_tabs_wide_and_combining_characters():
    shown = frame_lines(one('\tx = "模型e\u0301", bad\n', "bad"))
    source, underline = shown[1], shown[2]
    assert text_width(source[: source.index("bad")]) == underline.index("^")
    assert underline.count("^") == 3


def test_two_labels_on_one_line_each_get_a_row():
    shown = frame_lines(one("f(a=1, b=2)\n", "f", related=(("a=1", "first"), ("b=2", "second"))))
    assert shown[2].endswith("^")
    assert shown[3].endswith("--- first")
    assert shown[4].endswith("--- second")


def test_related_place_with_the_same_span_keeps_its_label():
    assert "- why" in one("x = 1\n", "1", related=(("1", "why"),))


def test_long_line_is_clipped_around_each_mark():
    text = "a" * 5000 + "BAD" + "b" * 5000 + "OTHER" + "c" * 100 + "\n"
    shown = frame_lines(one(text, "BAD", related=(("OTHER", "here"),)))
    assert all(text_width(line) <= 80 for line in shown)
    sources = [line for line in shown if line.startswith("1 |")]
    assert len(sources) == 2
    for source, word in zip(sources, ("BAD", "OTHER"), strict=True):
        underline = shown[shown.index(source) + 1]
        assert source.index(word) == min(underline.index(mark) for mark in "^-" if mark in underline)


def test_mark_longer_than_the_terminal_stays_inside():
    shown = frame_lines(one("x = '" + "y" * 500 + "'\n", "'" + "y" * 500 + "'"))
    assert all(text_width(line) <= 80 for line in shown)


def test_huge_single_line_is_quick_to_show():
    assert "BAD" in one("a" * 3_000_000 + "BAD" + "b" * 3_000_000, "BAD")


def test_span_over_several_lines_shows_both_ends():
    text = "f(\n  a,\n  b,\n  c,\n)\n"
    shown = frame_lines(one(text, text.rstrip()))
    assert [line for line in shown if "^" in line] == ["  | ^^", "  | ^"]
    assert "..." in shown


def test_span_that_ends_at_the_start_of_a_line_shows_its_first_line_only():
    shown = frame_lines(one("a = 1\nb = 2\n", "a = 1\n"))
    assert sum("^" in line for line in shown) == 1


def test_span_outside_of_the_text_is_no_crash():
    finding = Finding("DS103", "m", Span("f.py", 99, 7, 120, 3), Severity.ERROR, Confidence.CERTAIN)
    rendered = render("text", Report("/p", (finding,), RULES, {"f.py": "x\n"}.__getitem__), RenderOptions())
    assert "--> f.py:99:7" in rendered


def test_label_survives_where_the_file_is_gone():
    places = (Related(Span("gone.sh", 3, 1, 3, 2), "started here"),)
    finding = Finding("DS103", "m", Span("f.py", 1, 1, 1, 2), Severity.ERROR, Confidence.CERTAIN, places)
    rendered = render("text", Report("/p", (finding,), RULES, {"f.py": "x\n"}.__getitem__), RenderOptions())
    assert "::: gone.sh:3:1" in rendered
    assert "started here" in rendered


def test_many_related_places_are_counted():
    places = tuple(Related(Span("f.py", 1, 1, 1, 2), f"place {n}") for n in range(40))
    finding = Finding("DS103", "m", Span("f.py", 1, 1, 1, 2), Severity.ERROR, Confidence.CERTAIN, places)
    rendered = render("text", Report("/p", (finding,), RULES, {"f.py": "x\n"}.__getitem__), RenderOptions())
    assert "and 28 more places" in rendered
    assert "place 39" not in rendered


HOSTILE = [
    "\x1b]0;owned\x07",
    "\x1b[2J",
    "\x9b31m",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\r\nb",
    "a\u2028b",
    "a\u2029b",
    "a\x85b",
    "a\x00b",
    "a\udc80b",
    "a\ufeffb",
    "\x7f",
    "\U000e0041",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_harmful_characters_never_reach_the_terminal(text):
    shown = one(f"x = 1 # {text}\n", "x", message=text)
    assert "\x1b" not in shown
    assert not [char for char in shown if char != "\n" and not char.isprintable()]
    assert harmless(text).isprintable()


@pytest.mark.parametrize("text", ["größe", "模型", "naïve e\u0301", "emoji 🚀", "→ ≤ ∞"])
def test_honest_text_is_left_as_it_is(text):
    assert harmless(text) == text


@pytest.mark.parametrize("name", ["text", "concise"])
def test_no_line_is_a_workflow_command(name):
    path = "::error file=x::y"
    finding = Finding(
        "DS103", "::error::a\n::error::b ##[error]c", Span(path, 1, 1, 1, 2), Severity.ERROR, Confidence.CERTAIN
    )
    text = "::error::x\n::error::y\n##[error]z\n"
    rendered = render(name, Report("/p", (finding,), RULES, {path: text}.__getitem__), RenderOptions())
    assert not [
        line for line in rendered.splitlines() if re.match(r"\s*::(error|warning|notice|set-output|add-)", line)
    ]
    assert "##[" not in rendered
    assert harmless_path("::a").startswith("./")


def test_long_messages_are_cut():
    assert len(one("x\n", "x", message="m" * 100_000)) < 5000


def test_sample_has_every_severity():
    assert {finding.severity for finding in FINDINGS} == set(Severity)
