"""The life of process groups in the rehearsal of a program: started, used, destroyed.

Sources: torch 2.13, ``distributed/distributed_c10d.py``: what needs a group raises where there is none, or none any more.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Group
from distlint.rehearsal.stage import Event, Fault

NONE, STARTED, ENDED, OPEN = "none", "started", "ended", ""
BEFORE_START, AFTER_END = "group before its start", "group after its end"
"""Faults: a group is used that is not there yet, or not any more."""

_LIFE = "life of the group of all processes"
_GROUPS = "groups of some processes"
_HARMLESS_NAMES = """
torch torchvision torchaudio torchdata torchmetrics numpy pandas scipy sklearn PIL cv2 matplotlib tqdm yaml omegaconf einops rich
wandb tensorboard tensorboardX loguru datasets tokenizers sentencepiece safetensors h5py requests psutil packaging
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_STARTING = (
    "torch.distributed.elastic.",
    "torch.distributed.launcher.",
    "torch.distributed.rpc.",
    "torch.distributed.run",
)


class Life(NamedTuple):
    """What the group of all processes is since a place; ``strangers`` is how much nobody saw had happened by then."""

    kind: str
    strangers: int
    span: Span | None


def harmless(name: str) -> bool:
    """Whether a library's function that is not followed certainly starts and ends no group."""
    root = name.partition(".")[0]
    return (root in _HARMLESS or root in sys.stdlib_module_names) and not name.startswith(_STARTING)


def now(stage: Any) -> str:
    """What the group of all processes certainly is; ``OPEN`` where that is not known."""
    life: Life | None = stage.kept.get(_LIFE)
    if life is not None:
        return life.kind if life.strangers == stage.strangers else OPEN
    if stage.strangers or stage.alone or stage.initialized or _starts_by_import(stage):
        return OPEN
    return NONE


def _starts_by_import(stage: Any) -> bool:
    """Whether a module starts the group when it is imported, which may have happened anywhere."""
    known = "start by import"
    if known not in stage.kept:
        sites = stage.project.sites("init_process_group")
        stage.kept[known] = any(one.site.function < 0 and one.file != stage.entry for one in sites)
    return bool(stage.kept[known])


def started(stage: Any) -> None:
    """The group of all processes is started, perhaps."""
    stage.kept[_LIFE] = Life(OPEN if stage.unsure else STARTED, stage.strangers, None)


def ended(stage: Any, group: Any, span: Span) -> None:
    """A group is destroyed, perhaps; with that of all processes all others are."""
    if isinstance(group, Group) and group is not stage.everyone:
        group.ended = None if stage.unsure else span
        return
    if group is None or group is stage.everyone:
        stage.kept[_LIFE] = Life(OPEN if stage.unsure else ENDED, stage.strangers, span)
        for one in stage.kept.get(_GROUPS, ()):
            one.ended = None if stage.unsure else span


def made(stage: Any, group: Group) -> None:
    """A group of some processes is made."""
    stage.kept.setdefault(_GROUPS, []).append(group)


def used(player: Any, name: str, group: Any, call: ir.Call, scope: Any) -> None:
    """A group is used, which raises where it is not there: ``None`` is that of all processes."""
    stage = player.stage
    if stage.unsure or any(stage.attempts) or stage.alone:
        return
    kind, span, whole = "", None, group is None or group is stage.everyone
    if isinstance(group, Group) and group is not stage.everyone:
        kind, span = (AFTER_END if group.ended is not None else ""), group.ended
        group.ended = None
    elif whole:
        state = now(stage)
        kind = {NONE: BEFORE_START, ENDED: AFTER_END}.get(state, "")
        if kind:
            span = stage.kept[_LIFE].span if kind == AFTER_END else None
            stage.kept[_LIFE] = Life(OPEN, stage.strangers, None)  # the program ends here
    if kind:
        event = Event(name, call, scope.file, scope.function, {})
        event.chain = stage.chain
        stage.faults.append(Fault(kind, event.span, event, {"ended": span, "whole": whole}))
