"""What a batch header says: ``#SBATCH --nodes=4`` as the variables that the scheduler sets for the job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_state import Variable, scalar
from distlint.link.shell_values import literal
from distlint.model.shell import ShellFacts
from distlint.model.span import Span
from distlint.model.value import Confidence

_OPTIONS = {
    "-N": "nodes",
    "--nodes": "nodes",
    "-n": "tasks",
    "--ntasks": "tasks",
    "--ntasks-per-node": "tasks-per-node",
    "--tasks-per-node": "tasks-per-node",
    "--gpus-per-node": "gpus-per-node",
    "--gres": "gres",
    "-c": "cpus-per-task",
    "--cpus-per-task": "cpus-per-task",
    "-G": "gpus",
    "--gpus": "gpus",
    "--gpus-per-task": "gpus-per-task",
}
_NUMBER = re.compile(r"(?:(\d{1,6})|(\d{1,6})-\2)")
_DEVICES = re.compile(r"(?:gres[:/])?(?:gpu|[a-z]*)(?::[\w.+-]*[A-Za-z][\w.+-]*)?(?::|=)(\d{1,4})(?:\(.*\))?")
_PLAIN_DEVICES = re.compile(r"(?:[\w.-]+:)?(\d{1,4})")

_VARIABLES = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "tasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "tasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "gpus-per-node": ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"),
    "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
}


def header_variables(header: ShellFacts | Sequence[EvaluatedWord], given: Iterable[str]) -> dict[str, Variable]:
    """The variables that a batch header implies, except those already ``given``.

    They are only *likely*: the command line of the submission may overrule the header.
    """
    words = _header_words(header) if isinstance(header, ShellFacts) else [(word.literal, word.span) for word in header]
    counts = _counts(words)
    nodes, per_node, tasks = (counts.get(name) for name in ("nodes", "tasks-per-node", "tasks"))
    if tasks is None and nodes is not None and per_node is not None:
        counts["tasks"] = (nodes[0] * per_node[0], (*nodes[1], *per_node[1]))
    skip = set(given)
    return {
        name: scalar(literal(str(number), *spans, sure=Confidence.LIKELY), exported=True, span=spans[0])
        for option, (number, spans) in counts.items()
        for name in _VARIABLES.get(option, ())
        if name not in skip
    }


def _header_words(facts: ShellFacts) -> list[tuple[str | None, Span]]:
    return [(word.literal, word.span) for prefix, words in facts.directives if prefix == "SBATCH" for word in words]


def _counts(words: Sequence[tuple[str | None, Span]]) -> dict[str, tuple[int, tuple[Span, ...]]]:
    found: dict[str, tuple[int, tuple[Span, ...]]] = {}
    at = 0
    while at < len(words):
        text, span = words[at]
        at += 1
        if text is None:
            continue
        flag, equals, value = text.partition("=")
        if not flag.startswith("--") and len(flag) > 2:
            flag, equals, value = text[:2], "=", text[2:]
        name = _OPTIONS.get(flag)
        if name is None:
            continue
        if not equals:
            value = (words[at][0] or "") if at < len(words) else ""
            span = words[at][1] if at < len(words) else span
            at += 1
        number = _number(name, value)
        key = "gpus-per-node" if name == "gres" else name
        if number is not None:
            found[key] = (number, (span,))
        elif name != "gres":
            found.pop(key, None)
    return found


def _number(name: str, value: str) -> int | None:
    if name == "gres":
        for part in value.split(","):
            if part in ("gpu", "gres:gpu"):
                return 1
            if "gpu" in part and (match := _DEVICES.fullmatch(part)) is not None:
                return int(match.group(1))
        return None
    if name.startswith("gpus"):
        match = _PLAIN_DEVICES.fullmatch(value)
        return int(match.group(1)) if match is not None else None
    match = _NUMBER.fullmatch(value)
    return int(match.group(1) or match.group(2)) if match is not None else None
