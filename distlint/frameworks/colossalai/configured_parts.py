"""What the older ``initialize`` makes of a configuration beside the parallel layout: gradient handlers and mixed precision.

Sources: ``initialize.py``, ``builder/builder.py``, ``engine/gradient_handler/`` and ``amp/`` of 0.3.0, and of ``legacy`` of 0.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distlint.model.document import Leaf, node_value
from distlint.model.document import Mapping as Tree
from distlint.model.document import Sequence as Items
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.document import Node
    from distlint.model.subject import Setting

_HANDLERS = frozenset(
    {
        "DataParallelGradientHandler",
        "MoeGradientHandler",
        "PipelineSharedModuleGradientHandler",
        "SequenceParallelGradientHandler",
        "ZeROGradientHandler",
    }
)
_SCALING = frozenset({"init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled"})
_NAIVE = frozenset(
    {
        "dynamic_grad_scale",
        "verbose",
        "clip_grad_norm",
        "dp_process_group",
        "mp_process_group",
        "initial_scale",
        "growth_factor",
        "backoff_factor",
        "growth_interval",
        "min_scale",
        "max_scale",
        "hysteresis",
    }
)
_KEYS: Mapping[str, frozenset[str]] = {"AMP_TYPE.TORCH": _SCALING, "AMP_TYPE.NAIVE": _NAIVE}
"""What the wrapped optimizer of a mode takes beside ``mode``; that of apex hands everything on."""


def refused_handler(project: Project, read: Tree) -> Value:
    """What is wrong with ``gradient_handler``, in words; absent where nothing is, unknown where it can't be told."""
    entry = read.entry("gradient_handler")
    if entry is None:
        return absent() if not read.open else unknown("may be set where we can't see")
    if not entry.certain:
        return unknown("set on some paths only")
    given = entry.node
    if isinstance(given, Items):
        faults = (_fault_of(project, item) for item in given.items)
        return next(
            (known(fault, item.span) for fault, item in zip(faults, given.items, strict=True) if fault), absent()
        )
    if isinstance(given, Leaf) and (not given.value.is_known or given.value.only is None):
        return absent() if given.value.is_known else unknown("not known")
    return known("is no list", given.span)


def _fault_of(project: Project, item: Node) -> str:
    """What is wrong with one handler; nothing where it is right or not known."""
    if isinstance(item, Tree):
        kind = item.entry("type")
        if kind is None:
            return "" if item.open else "has no `type`"
        name = node_value(kind.node).only if kind.certain else None
        if isinstance(name, str) and name not in _HANDLERS and not _is_defined(project, name):
            return f"names `{name}`, which no handler is registered as"
        return ""
    is_text = isinstance(item, Leaf) and isinstance(item.value.only, str)
    return "is no dictionary with a `type`" if is_text else ""


def _is_defined(project: Project, name: str) -> bool:
    """Whether the project has a class of the name, which it may register as a handler."""
    return any(owner.name == name for file in project.python_files for owner in project.module(file).classes)


def foreign_precision_key(settings: Mapping[str, Setting]) -> Value:
    """The first key below ``fp16`` that the mode's optimizer does not take; absent where there is none."""
    mode = settings.get("fp16.mode")
    taken = _KEYS.get(str(mode.value.only)) if mode is not None and mode.certain and mode.value.is_known else None
    if taken is None:
        return unknown("the mode is not known")
    for path, setting in settings.items():
        head, _, key = path.rpartition(".")
        if head == "fp16" and key != "mode" and key not in taken and setting.certain:
            return known(key, setting.key_span)
    return absent()
