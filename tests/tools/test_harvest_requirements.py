"""What releases require is kept in the table without loss, and releases that the folder lacks stay known."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "harvest"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    for name in ("kinds", "packages", "sources", "table"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def release(folder: Path, version: str, *requires: str, yanked: bool = False) -> None:
    information = folder / f"thing-{version}" / f"thing-{version}.dist-info"
    information.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", "Name: thing", *(f"Requires-Dist: {one}" for one in requires)]
    (information / "METADATA").write_text("\n".join(lines) + "\n\n")
    record = {
        "package": "thing",
        "version": version,
        "requires_python": ">=3.9",
        "yanked": yanked,
        "files": [f"thing-{version}-py3-none-any.whl"],
    }
    (information.parent / "release.json").write_text(json.dumps(record))


def made(folder: Path, members: dict[str, bytes], listed: dict[str, dict[str, bool]] | None = None) -> dict[str, bytes]:
    from kinds import Task
    from requirements_rows import make

    return dict(make(Task(members, {}, ("thing",), folder, False, 1, lambda _: None, listed or {})))


def test_releases_that_were_read_before_need_not_be_there_again(tmp_path: Path) -> None:
    first, second, both = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    for folder in (first, both):
        release(folder, "1.0", "other>=2", "more[a,b]==1; extra == 'x'")
    for folder in (second, both):
        release(folder, "1.10", "other>=3; python_version < '3.10'", yanked=True)
    step = made(second, made(first, {}))
    assert step == made(both, {})
    document = json.loads(step["requires/thing.json"])
    assert document["releases"] == ["1.0", "1.10"]
    assert document["yanked"] == ["1.10"]
    assert ["more", "a,b", "==1", "x", 2047, [[0, 0]]] in document["rows"]


def test_releases_that_the_index_lists_are_known_without_being_read(tmp_path: Path) -> None:
    release(tmp_path, "1.0", "other>=2")
    document = json.loads(made(tmp_path, {}, {"thing": {"1.0": True, "1.1": False}})["requires/thing.json"])
    assert document["releases"] == ["1.0", "1.1"]
    assert document["unread"] == ["1.1"]
