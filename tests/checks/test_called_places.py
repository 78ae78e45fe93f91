"""The calls that join the places of a finding are told, and no others."""

from __future__ import annotations

from distlint.checks.called_places import joining_calls
from distlint.model.finding import Related
from distlint.model.span import Span
from tests.conftest import MakeProject

MAIN = """
import parts

def main():
    made = parts.make()
    parts.use(made)
    return made

main()
"""
PARTS = """
def make():
    return object()

def use(made):
    return step(made)

def step(made):
    return str(made)
"""


def place(file: str, line: int) -> Span:
    """Some columns of a line."""
    return Span(file, line, 5, line, 9)


def told(make_project: MakeProject, files: dict[str, str], first: Span, other: Span) -> list[tuple[str, int, str]]:
    """File, line and words of what joins two places."""
    calls = joining_calls(make_project(files), first, [Related(other, "")])
    return [(one.span.file, one.span.line, one.message) for one in calls]


def test_functions_are_joined_where_another_calls_both(make_project: MakeProject) -> None:
    files = {"main.py": MAIN, "parts.py": PARTS}
    assert told(make_project, files, place("parts.py", 3), place("parts.py", 9)) == [
        ("main.py", 5, "`make` is called here"),
        ("parts.py", 6, "`step` is called here"),
        ("main.py", 6, "`use` is called here"),
    ]


def test_a_caller_and_what_it_calls_need_the_call_between_them_only(make_project: MakeProject) -> None:
    files = {"main.py": MAIN, "parts.py": PARTS}
    assert told(make_project, files, place("main.py", 7), place("parts.py", 9)) == [
        ("parts.py", 6, "`step` is called here"),
        ("main.py", 6, "`use` is called here"),
    ]
    assert told(make_project, files, place("parts.py", 6), place("parts.py", 6)) == []


def test_a_function_that_is_called_twice_is_joined_by_neither_call(make_project: MakeProject) -> None:
    files = {"main.py": MAIN + "\nparts.make()\n", "parts.py": PARTS}
    assert told(make_project, files, place("parts.py", 3), place("parts.py", 9)) == []
