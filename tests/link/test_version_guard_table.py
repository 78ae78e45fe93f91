"""The table of guards: for each, which releases get behind it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from distlint.link import version_features
from distlint.link.version_guards import Reach
from tests.conftest import MakeProject

HEAD = "import torch\nfrom packaging import version\n"
ANSWERS = {"yes": True, "no": False, "unknown": None}

HISTORY = {
    "torch.compile": ("2.0", ""),
    "torch._six": ("1.0", "2.0"),
    "torch._six.inf": ("1.0", "2.0"),
    "torch.distributed.reduce_scatter_tensor": ("1.13", ""),
    "torch.distributed.fsdp.fully_shard": ("2.6", ""),
    "torch.distributed._composable.fsdp.fully_shard": ("2.4", ""),
}
"""Since when, and up to which release, torch has some names."""


class Table:
    """A small table of the same form as the harvested one."""

    def package_of(self, top: str) -> str | None:
        return top if top in ("torch", "transformers", "deepspeed") else None

    def covers(self, package: str, version: str) -> bool:
        return True

    def find(self, dotted: str, version: str) -> Any:
        if dotted == "torch.load":
            names = ["f", "map_location", *(["weights_only"] if Version(version) >= Version("1.13") else [])]
            symbol = SimpleNamespace(parameters=tuple(SimpleNamespace(name=name) for name in names))
            return SimpleNamespace(state="present", symbol=symbol)
        if dotted == "torch.launch":
            kind = "module" if Version(version) >= Version("2.0") else "function"
            return SimpleNamespace(state="present", symbol=SimpleNamespace(kind=kind))
        since, removed = HISTORY.get(dotted, ("", ""))
        if not since:
            return SimpleNamespace(state="unknown", symbol=None)
        there = Version(version) >= Version(since) and (not removed or Version(version) < Version(removed))
        return SimpleNamespace(state="present" if there else "absent", symbol=None)

    def find_import(self, module: str, name: str | None, version: str) -> Any:
        return self.find(f"{module}.{name}" if name else module, version)


def rows() -> list[tuple[str, str, dict[str, bool | None]]]:
    """The rows of the table: title, program, and the answer for each release."""
    _, *blocks = re.split(r"^### ", Path(__file__).with_name("version_guards.txt").read_text(), flags=re.MULTILINE)
    found = []
    for block in blocks:
        title, *lines = block.splitlines()
        wanted: dict[str, bool | None] = {}
        while (match := re.match(r"(yes|no|unknown): (.*)", lines[0])) is not None:
            wanted.update(dict.fromkeys(match.group(2).split(), ANSWERS[match.group(1)]))
            del lines[0]
        found.append((title, "\n".join(lines) + "\n", wanted))
    return found


ROWS = rows()


@pytest.mark.parametrize(("title", "text", "wanted"), ROWS, ids=[title for title, _, _ in ROWS])
def test_row(
    make_project: MakeProject,
    monkeypatch: pytest.MonkeyPatch,
    title: str,
    text: str,
    wanted: dict[str, bool | None],
) -> None:
    monkeypatch.setattr(version_features, "_table", Table)
    package = title.partition(":")[0] if re.match(r"[a-z-]+: ", title) else "torch"
    raised = re.search(r"\[(.*)\]$", title)
    errors = frozenset(raised.group(1).split() if raised else ["ImportError"])
    main, *others = text.split("# file: ")
    project = make_project({"main.py": HEAD + main, **dict(other.split("\n", 1) for other in others)})
    (found,) = project.sites("probe")
    sure, perhaps = Reach(project, package).reached_versions(found.file, found.site.call.at, tuple(wanted), errors)
    assert {release: True if release in sure else None if release in perhaps else False for release in wanted} == wanted
