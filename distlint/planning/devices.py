"""The device that a launch asks for, and how much memory it has.

What the settings say comes first; then the options of the scheduler's command, then the header of the batch script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.knowledge.gpu_memory import Device, find_device
from distlint.model.document import Leaf, Mapping, Node, Sequence
from distlint.model.launch import Launch
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

_NAMING = ("--gres", "--gpus-per-node", "--gpus-per-task", "--gpus", "-G", "--constraint", "-C")
_DESTS = ("gres", "gpus-per-node", "gpus-per-task", "gpus", "constraint")
_SEVERAL = re.compile(r"[|,&\[\]]")


class Memory(NamedTuple):
    """The memory of each device: bytes, what says so, and where."""

    size: int
    name: str
    span: Span | None = None


def device_memory(project: Project, launch: Launch | None) -> Memory | None:
    """The memory of each device of a launch, or ``None`` where nothing tells it.

    Where several kinds may be meant it is that of the largest.
    """
    if project.gpu_memory is not None:
        return Memory(project.gpu_memory, "`gpu-memory` of the settings")
    best: Memory | None = None
    for text, span in _requests(project, launch):
        devices = [find_device(part) for part in _SEVERAL.split(text)]
        named = [device for device in devices if device is not None]
        if not named:
            continue
        if "|" in text and None in devices:
            # "a100|somethingelse": the other may be larger
            return None
        device = max(named, key=_size)
        if best is None or device.size < best.size:
            best = Memory(device.size, device.name, span)
    return best


def _size(device: Device) -> int:
    return device.size


def _requests(project: Project, launch: Launch | None) -> Iterator[tuple[str, Span]]:
    """The words that name devices: of the schedulers around a launch, and of the batch header of its script."""
    outer = launch
    while outer is not None:
        for dest in _DESTS:
            option = outer.options.get(dest)
            if option is not None and isinstance(option.value.only, str):
                yield option.value.only, option.span
        outer = outer.outer
    if launch is None:
        return
    for file in dict.fromkeys([launch.file, launch.span.file]):
        facts = project.file_facts(file) if file else None
        for document in facts.documents if facts is not None else ():
            if document.root.span.contains(launch.span):
                yield from _selected(document.root)
        for prefix, words in facts.shell.directives if facts is not None and facts.shell is not None else ():
            if prefix == "SBATCH":
                yield from _header_requests([(word.literal, word.span) for word in words])


_SELECTORS = frozenset({"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "gpu.nvidia.com/class",
                        "accelerator"})  # fmt: skip
"""Labels of nodes by which a cluster's manifest chooses a kind of device."""

MAX_DEPTH = 40


def _selected(node: Node, depth: int = 0) -> Iterator[tuple[str, Span]]:
    """The kinds of devices that a manifest selects."""
    if depth > MAX_DEPTH:
        return
    if isinstance(node, Mapping):
        for entry in node.entries:
            if entry.key in _SELECTORS and isinstance(entry.node, Leaf) and isinstance(entry.node.value.only, str):
                yield entry.node.value.only, entry.node.span
            else:
                yield from _selected(entry.node, depth + 1)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _selected(item, depth + 1)


def _header_requests(words: list[tuple[str | None, Span]]) -> Iterator[tuple[str, Span]]:
    for index, (text, span) in enumerate(words):
        if text is None:
            continue
        flag, equals, value = text.partition("=")
        if not flag.startswith("--") and len(flag) > 2:
            flag, equals, value = flag[:2], "=", text[2:]
        if flag not in _NAMING:
            continue
        if equals:
            yield value.strip("\"'"), span
        elif index + 1 < len(words) and words[index + 1][0]:
            yield str(words[index + 1][0]), words[index + 1][1]
