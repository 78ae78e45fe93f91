"""GPT-NeoX files: DeepSpeed's settings among those of GPT-NeoX.

Source: EleutherAI/gpt-neox, ``megatron/neox_arguments/deepspeed_args.py`` (the keys that are handed on) and
``arguments.py`` (``deepspeed_config``, ``calculate_derived``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.use import NEOX, Use
from distlint.frameworks.megatron.neox import documents_of, looks_like_neox
from distlint.model.document import Document, Entry, Mapping, Node, lookup
from distlint.model.launch import Run
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

HANDED_ON = frozenset(
    {
        "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
        "prescale_gradients", "gradient_predivide_factor", "sparse_gradients", "fp16", "bf16", "amp",
        "gradient_clipping", "zero_optimization", "curriculum_learning", "steps_per_print", "wall_clock_breakdown",
        "dump_state", "flops_profiler", "communication_data_type", "activation_checkpointing", "sparse_attention",
        "data_efficiency", "tensorboard", "wandb", "csv_monitor", "elasticity", "comms_logger",
        "compression_training", "checkpoint", "data_types",
    }
)  # fmt: skip
"""The keys that GPT-NeoX hands on as they are."""

MADE_BY_DEEPSPEED = frozenset({"onebitadam"})
"""Optimizers that GPT-NeoX leaves to DeepSpeed; it makes all others itself, so that DeepSpeed does not read the block."""

FORK = "0.16.5"
"""The DeepSpeed release that the newest DeeperSpeed, the fork that GPT-NeoX asks for, is made of (EleutherAI/gpt-neox#1343)."""

SEARCH = "autotuning"
"""A file with this block lists values to try, so that none is the one in use."""

MARKS = {"fp16": ("fp16", "type"), "bf16": ("bf16", "type")}
"""Words in the precision blocks that say nothing but the precision again.

GPT-NeoX's own configurations carry ``fp16.fp16``, and it writes ``type`` itself where it makes the block (``arguments.py``,
``calculate_derived``); DeepSpeed reads neither, and nothing is lost.
"""

EXTRA = "deepspeed_extra_args"


def neox_uses(project: Project) -> Iterator[Use]:
    """The files of each launch together, and each file that no launch names by itself."""
    named: set[str] = set()
    for run in project.runs:
        if run.launch is None:
            continue
        documents, is_open = documents_of(project, run.launch)
        if documents and all(isinstance(one.root, Mapping) for one in documents):
            if any(looks_like_neox(one) for one in documents) and not any(_searches(one) for one in documents):
                named.update(one.file for one in documents)
                yield Use(_handed_on(documents, is_open=is_open), NEOX, run, release=FORK)
    for path, facts in project.documents.files():
        for document in facts.documents:
            if path not in named and looks_like_neox(document) and not _searches(document):
                alone = Run(path, world_size=project.given_size())
                yield Use(_handed_on([document], is_open=True), NEOX, alone, release=FORK)


def _handed_on(documents: list[Document], *, is_open: bool) -> Document:
    """What DeepSpeed gets of GPT-NeoX's files, as one configuration."""
    entries: list[Entry] = []
    main = documents[0]
    for document in documents:
        assert isinstance(document.root, Mapping)  # noqa: S101 - tested by the callers
        is_open = is_open or document.root.open
        if document.root.entry("zero_optimization") is not None:
            main = document
        for entry in document.root.entries:
            key = str(entry.key).replace("-", "_")
            if key in HANDED_ON or (key == "optimizer" and _is_left(entry)):
                entries.append(Entry(key, entry.key_span, _without_marks(key, entry.node), entry.certain))
            elif key == EXTRA and isinstance(entry.node, Mapping):
                entries.extend(entry.node.entries)
                is_open = is_open or entry.node.open
    span = main.root.span
    return Document(Mapping(tuple(entries), Span(*span), is_open), main.span, main.carrier, main.format)


def _without_marks(key: str, node: Node) -> Node:
    marks = MARKS.get(key, ())
    if not isinstance(node, Mapping) or not any(one.key in marks for one in node.entries):
        return node
    kept = tuple(one for one in node.entries if one.key not in marks)
    return Mapping(kept, Span(*node.span), node.open)


def _searches(document: Document) -> bool:
    return isinstance(document.root, Mapping) and document.root.entry(SEARCH) is not None


def _is_left(entry: Entry) -> bool:
    kind = lookup(entry.node, ("type",))
    return isinstance(kind.only, str) and kind.only.lower() in MADE_BY_DEEPSPEED
