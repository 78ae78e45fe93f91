from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsp_client import Client

STUB = Path(__file__).with_name("stub_server.py")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Starts servers, and sees to it that each ends well and never wrote anything but protocol."""
    clients: list[Client] = []

    def begin(*command: str) -> Client:
        clients.append(Client(list(command) or [sys.executable, str(STUB)], tmp_path))
        return clients[-1]

    yield begin
    for client in clients:
        assert client.stop() == 0
        assert not client.noise


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two files, one of which is wrong."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text("x = 1\ny = bad\n")
    (root / "other.json").write_text('{"a": 1}\n')
    return root
