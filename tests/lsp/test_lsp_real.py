"""The server as it is installed, on the real engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_client import Client, apply, span

FAULTY = "import torch.distributed as dist\n\nx = '🚀'; dist.barrier()  # distlint: ignore[DS9999] reason\n"
CODE = (2, FAULTY.splitlines()[2].encode("utf-16-le").index("DS9999".encode("utf-16-le")) // 2)


@pytest.fixture
def server(start: Callable[..., Client]) -> Client:
    return start(sys.executable, "-m", "distlint", "lsp")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A file in a repository, on disk without fault."""
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/train.py").write_text("import torch.distributed as dist\n\ndist.barrier()\n")
    return tmp_path / "project/train.py"


def test_a_finding_appears_is_fixed_and_vanishes_without_saving(server: Client, script: Path) -> None:
    server.initialize(script.parent)
    uri = server.open(script, FAULTY)
    (diagnostic,) = server.diagnostics(uri)
    assert diagnostic["code"] == "LINT002"
    assert diagnostic["range"]["start"]["line"] == CODE[0]
    mended = FAULTY
    for action in server.actions(uri, diagnostic["range"], [diagnostic], only=["quickfix"]):
        if "edit" in action and "gnore" not in action["title"]:
            mended = apply(FAULTY, action["edit"]["documentChanges"][0]["edits"])
    assert mended != FAULTY
    assert server.diagnostics(uri, server.change(uri, {"text": mended})) == []


def test_hover_explains_a_rule_that_a_comment_names(server: Client, script: Path) -> None:
    server.initialize(script.parent)
    uri = server.open(script, "import torch  # distlint: ignore[LINT001] reason\n")
    shown = server.hover(uri, 0, 35)
    assert shown["contents"]["value"].startswith("# LINT001: unused-suppression")
    assert shown["range"] == span((0, 33), (0, 40))


def test_settings_that_are_wrong_are_logged_and_used_once_they_are_right(server: Client, script: Path) -> None:
    settings = script.parent / "distlint.toml"
    settings.write_text("nonsense = 1\n")
    server.initialize(script.parent)
    uri = server.open(script, FAULTY)
    logged = server.wait(lambda message: message.get("method") == "window/logMessage", "log message")
    assert "distlint.toml" in logged["params"]["message"]
    settings.write_text('ignore = ["LINT002"]\n')
    change = {"changes": [{"uri": settings.as_uri(), "type": 2}]}
    server.notify("workspace/didChangeWatchedFiles", change)
    assert server.diagnostics(uri) == []


def test_the_server_ends_when_the_editor_is_gone(server: Client, script: Path) -> None:
    server.initialize(script.parent)
    server.process.stdin.close()
    assert server.process.wait(60) == 0
