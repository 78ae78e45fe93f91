"""What a batch header says: ``#SBATCH --nodes=4`` as the variables that the scheduler sets for the job.

The variables are those in the manuals of ``sbatch`` (Slurm 23.11), of PBS Professional's and Torque's ``qsub``, and of
LSF's ``bsub``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

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
    "--ntasks-per-gpu": "tasks-per-gpu",
}
_NUMBER = re.compile(r"(?:(\d{1,6})|(\d{1,6})-\2)")
_DEVICES = re.compile(r"(?:gres[:/])?(?:gpu|[a-z]*)(?::[\w.+-]*[A-Za-z][\w.+-]*)?(?::|=)(\d{1,4})(?:\(.*\))?")
_PLAIN_DEVICES = re.compile(r"(?:[\w.-]+:)?(\d{1,4})")
_EXPORTED = re.compile(r"([A-Za-z_]\w*)=([^$`]*)", re.ASCII)

_VARIABLES = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "tasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "tasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "gpus-per-node": ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"),
    "gpus": ("SLURM_GPUS",),
    "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
    "pbs-nodes": ("PBS_NUM_NODES",),
    "pbs-per-node": ("PBS_NUM_PPN",),
    "pbs-tasks": ("PBS_NP",),
    "lsf-tasks": ("LSB_DJOB_NUMPROC",),
}

_UNKNOWN = "\0"

Counts = dict[str, tuple[int, tuple[Span, ...]]]
HeaderWords = Sequence[tuple["str | None", Span]]
"""Words of a header with their places; ``None`` for what is not known."""


# What ``sbatch`` takes from its environment: over the header, under its command line.
_SUBMITTING = {
    "SBATCH_GPUS": "--gpus",
    "SBATCH_GPUS_PER_NODE": "--gpus-per-node",
    "SBATCH_GPUS_PER_TASK": "--gpus-per-task",
    "SBATCH_GRES": "--gres",
}
JOB_VARIABLES = frozenset(name for names in _VARIABLES.values() for name in names)
"""What a scheduler sets anew for each job, whatever the submission had."""


class Submission(NamedTuple):
    """What a submission says of the job: ``words`` as those of a header, by the ``prefix`` of the lines there."""

    prefix: str = ""
    words: HeaderWords = ()


NOT_SUBMITTED = Submission()
SUBMITTERS = {"sbatch": "SBATCH", "qsub": "PBS", "bsub": "BSUB"}
"""Commands that submit a script, and how the lines of its header begin."""


def header_variables(
    header: ShellFacts, given: Iterable[str], submission: Submission = NOT_SUBMITTED
) -> dict[str, Variable]:
    """The variables that a batch header implies, except those already ``given``.

    The options of the ``submission`` win over the header. All are only *likely*: the script may be submitted in another
    way.
    """

    def words(prefix: str) -> HeaderWords:
        return [*_header_words(header, prefix), *(submission.words if submission.prefix == prefix else ())]

    return _as_variables(_counts(words("SBATCH")) | _pbs(words("PBS")) | _lsf(words("BSUB")), given)


def step_variables(words: Sequence[EvaluatedWord]) -> dict[str, Variable]:
    """The variables that the options of ``srun`` or ``sbatch`` imply by themselves."""
    return _as_variables(_counts(_shown(words)), ())


def submission_of(words: Sequence[EvaluatedWord], variables: Mapping[str, Variable], prefix: str) -> Submission:
    """What the options of a submission and the variables that it sees say."""
    if prefix != "SBATCH":
        return Submission(prefix, _shown(words))
    found: list[tuple[str | None, Span]] = []
    for name, flag in _SUBMITTING.items():
        variable = variables.get(name)
        if variable is not None and variable.exported and variable.span is not None and not variable.value.is_absent:
            text = str(variable.value.only) if variable.value.is_known else _UNKNOWN
            found.append((f"{flag}={text}", variable.span))
    return Submission(prefix, [*found, *_shown(words)])


def _shown(words: Sequence[EvaluatedWord]) -> HeaderWords:
    """The words of options; behind what is known of the beginning of one stands what is no number."""
    return [
        (word.literal if word.literal is not None or word.prefix[:1] != "-" else word.prefix + _UNKNOWN, word.span)
        for word in words
    ]


def _as_variables(counts: Counts, given: Iterable[str]) -> dict[str, Variable]:
    skip = set(given)
    return {
        name: scalar(literal(str(number), *spans, sure=Confidence.LIKELY), exported=True, span=spans[0])
        for option, (number, spans) in counts.items()
        for name in _VARIABLES.get(option, ())
        if name not in skip
    }


def exported_variables(words: Sequence[EvaluatedWord]) -> dict[str, Variable]:
    """The variables that ``sbatch --export=ALL,NAME=value`` gives to the job."""
    found: dict[str, Variable] = {}
    for word in words:
        if (word.literal or "").startswith("--export="):
            for item in (word.literal or "").removeprefix("--export=").split(","):
                match = _EXPORTED.fullmatch(item)
                if match is not None:
                    found[match.group(1)] = scalar(literal(match.group(2), word.span), exported=True, span=word.span)
    return found


def only_exported(words: Sequence[EvaluatedWord]) -> bool:
    """Whether ``sbatch --export=NAME,OTHER=value`` keeps the job from inheriting all variables."""
    for word in words:
        if (word.literal or "").startswith("--export="):
            return "ALL" not in (word.literal or "").removeprefix("--export=").split(",")
    return False


def _header_words(facts: ShellFacts, prefix: str) -> list[tuple[str | None, Span]]:
    """The words of a header; none for one of several components, which differ (``#SBATCH hetjob``)."""
    found = [(word.literal, word.span) for kind, words in facts.directives if kind == prefix for word in words]
    return [] if any(text in ("hetjob", "packjob") for text, _ in found) else found


def _counts(words: HeaderWords) -> Counts:
    found: Counts = {}
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
        elif name != "gres" or _UNKNOWN in value:
            found.pop(key, None)
    _complete(found)
    return found


def _complete(found: Counts) -> None:
    """Adds the counts that follow from others."""
    for target, first, second in (
        ("tasks", "nodes", "tasks-per-node"),
        ("tasks", "gpus", "tasks-per-gpu"),
        ("gpus-per-node", "tasks-per-node", "gpus-per-task"),
    ):
        if target not in found and first in found and second in found:
            one, other = found[first], found[second]
            found[target] = (one[0] * other[0], (*one[1], *other[1]))
    total, nodes = found.get("gpus"), found.get("nodes")
    if (
        "gpus-per-node" not in found
        and total is not None
        and nodes is not None
        and nodes[0]
        and not total[0] % nodes[0]
    ):
        found["gpus-per-node"] = (total[0] // nodes[0], (*total[1], *nodes[1]))


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


def _pbs(words: HeaderWords) -> Counts:
    """``-l select=2:ncpus=8:mpiprocs=4`` and ``-l nodes=2:ppn=4``; several chunks (``+``) are added up."""
    found: Counts = {}
    for text, span in words:
        for resource in (text or "").split(","):
            name, equals, rest = resource.partition("=")
            if name not in ("select", "nodes") or not equals:
                continue
            chunks = [_chunk(chunk, "mpiprocs" if name == "select" else "ppn") for chunk in rest.split("+")]
            nodes = [chunk[0] for chunk in chunks if chunk is not None]
            if len(nodes) == len(chunks):
                found["pbs-nodes"] = (sum(nodes), (span,))
                found["pbs-tasks"] = (sum(chunk[0] * chunk[1] for chunk in chunks if chunk is not None), (span,))
                if len(chunks) == 1 and chunks[0] is not None:
                    found["pbs-per-node"] = (chunks[0][1], (span,))
    return found


def _chunk(text: str, per_node: str) -> tuple[int, int] | None:
    """(hosts, processes on each) of ``2:ncpus=8:mpiprocs=4``; ``None`` where hosts are named."""
    first, *rest = text.split(":")
    if not first.isdecimal() or len(first) > 6:
        return None
    given = dict(part.partition("=")[::2] for part in rest)
    count = given.get(per_node, "1")
    return (int(first), int(count)) if count.isdecimal() and len(count) < 6 else None


def _lsf(words: HeaderWords) -> Counts:
    """``-n 8``."""
    for at, (text, span) in enumerate(words):
        value = (words[at + 1][0] or "") if text == "-n" and at + 1 < len(words) else (text or "")[2:]
        if (text or "").startswith("-n") and value.isdecimal() and len(value) < 6:
            return {"lsf-tasks": (int(value), (span,))}
    return {}
