from __future__ import annotations

from dataclasses import replace

from report_sample import RULES

from distlint.report.page import MAX_EXAMPLE_LINES, page_markdown, page_text

RULE = RULES["DS103"]
HEADINGS = [
    "What it finds",
    "Why it matters",
    "Example (bad)",
    "Instead (good)",
    "When it stays silent",
    "Fix safety",
    "Options",
    "Evidence",
]


def fixtures(tmp_path, text="{}\n"):
    for kind in ("bad-basic", "good-basic", "good-other"):
        folder = tmp_path / "DS103" / kind / "sub"
        folder.mkdir(parents=True)
        (folder / "ds.json").write_text(text)
        (folder.parent / "expect.txt").write_text("sub/ds.json:1:1 DS103\n")
    return tmp_path


def test_page_has_all_sections_in_order(tmp_path, golden):
    page = page_markdown(RULE, fixtures=fixtures(tmp_path))
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == HEADINGS
    golden("page.md", page)


def test_examples_are_the_fixtures_without_what_tests_expect(tmp_path):
    page = page_markdown(RULE, fixtures=fixtures(tmp_path))
    assert "`sub/ds.json`\n\n```json\n{}\n```" in page
    assert "expect.txt" not in page


def test_page_without_fixtures_has_no_empty_sections(tmp_path):
    page = page_markdown(RULE, fixtures=tmp_path)
    assert "Example" not in page
    assert "## Evidence" in page


def test_long_examples_are_cut(tmp_path):
    page = page_markdown(RULE, fixtures=fixtures(tmp_path, "x\n" * 500))
    assert page.count("\nx") <= 2 * MAX_EXAMPLE_LINES


def test_example_with_a_fence_stays_inside_its_own(tmp_path):
    page = page_markdown(RULE, fixtures=fixtures(tmp_path, "```\n# not a heading\n```\n"))
    assert "````json\n```" in page


def test_rule_without_a_fix_says_so():
    assert "There is no automatic fix" in page_markdown(replace(RULE, fix=None))


def test_text_page_has_no_markup():
    page = page_text(RULE)
    assert "| ---" not in page
    assert "  Severity: error" in page
    assert "\nWhat it finds\n" in page
    assert "\x1b[1mWhat it finds" in page_text(RULE, bold=True)
