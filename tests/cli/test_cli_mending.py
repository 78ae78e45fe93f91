from __future__ import annotations

from distlint.cli.mending import Mended
from distlint.fix.apply import Stable
from distlint.model.report import Report


def mended(before: str, after: str) -> Mended:
    report = Report("/p", (), {}, {"a.py": before}.__getitem__)
    return Mended(report, Stable(report, {"a.py": after}, (), (), settled=True))


def test_diff_for_programs_is_exact():
    assert mended("a\x1b[2J\tb\n", "c\n").diff() == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\x1b[2J\tb\n+c\n"


def test_diff_for_a_terminal_is_harmless():
    shown = mended("a\x1b[2J\tb\n", "c\n").shown_diff(color=False)
    assert shown == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\u241b[2J  b\n+c\n"


def test_diff_for_a_terminal_has_colours():
    lines = mended("a\n", "b\n").shown_diff(color=True).splitlines()
    assert lines[-2:] == ["\x1b[1;31m-a\x1b[0m", "\x1b[32m+b\x1b[0m"]


def test_fixes_that_do_not_settle_are_said(capsys):
    report = Report("/p", (), {}, {}.__getitem__)
    Mended(report, Stable(report, {}, (), (), settled=False)).say()
    assert "do not settle" in capsys.readouterr().err
