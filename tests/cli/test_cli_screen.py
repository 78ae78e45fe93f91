from __future__ import annotations

import io

import click
import pytest

from distlint.cli.progress import DELAY, progress_line
from distlint.cli.screen import wants_color, write_file, write_out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_color(stream, environment, wanted):
    assert wants_color(stream, environment) is wanted


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_appears_late_and_leaves_no_trace():
    out, clock = Terminal(), Clock()
    with progress_line(True, out, clock) as update:
        update("reading", 1, 9)
        assert out.getvalue() == ""
        clock.now = DELAY
        update("reading", 5, 9)
        assert "reading 5/9" in out.getvalue()
        update("reading", 6, 9)
        assert "6/9" not in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")


def test_short_work_draws_nothing():
    out = Terminal()
    with progress_line(True, out, Clock()) as update:
        update("reading", 1, 1)
    assert out.getvalue() == ""


@pytest.mark.parametrize(("wanted", "stream"), [(False, Terminal()), (True, io.StringIO())])
def test_no_progress_without_a_terminal_or_wish(wanted, stream):
    with progress_line(wanted, stream, Clock()) as update:
        assert update is None


def test_progress_is_cleared_when_the_work_fails():
    out, clock = Terminal(), Clock()

    def work() -> None:
        with progress_line(True, out, clock) as update:
            clock.now = DELAY
            update("reading", 1, 2)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        work()
    assert out.getvalue().endswith("\r\x1b[K")


def test_output_survives_a_poor_encoding(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    write_out("größe ␛\n")
    assert raw.getvalue() == b"gr\\xf6\\xdfe \\u241b\n"


def test_reports_make_their_folder(tmp_path):
    write_file(tmp_path / "new" / "report.txt", "größe\udc80\n")
    assert (tmp_path / "new" / "report.txt").read_bytes() == "größe\\udc80\n".encode()


def test_unwritable_report_names_the_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(click.ClickException, match=r"cannot write `.*report\.txt`"):
        write_file(tmp_path / "file" / "report.txt", "x")
