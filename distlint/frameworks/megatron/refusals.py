"""What Megatron's own parser does not take of a command line, before anything else is looked at.

As ``argparse`` reads the options that a release adds (``parse_args``, ``megatron/training/arguments.py``): with
``allow_abbrev=False``, and without positional arguments. A launch counts by the releases that it may be for: those that
the pins allow, and without pins all of them, as far as one of them knows every option of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from distlint.frameworks.megatron.command_line import PACKAGE, CommandSettings, Given, converted, most_words
from distlint.frameworks.megatron.flags import DEEPSPEED, LM, Flag, FlagTable, flag_table, own_name
from distlint.frameworks.refused import Refused
from distlint.knowledge.config_names import distance, nearest
from distlint.model.finding import Related
from distlint.model.launch import Argument, Launch
from distlint.model.record import dataclass
from distlint.model.subject import Versions
from distlint.model.value import Confidence, Value

if TYPE_CHECKING:
    from distlint.link.project import Project

UNKNOWN, OTHER_RELEASE, VALUE, WORDS = "unknown-option", "option-of-another-release", "refused-value", "word-count"

PLAIN_SCRIPTS = frozenset(
    {
        "pretrain_gpt.py",
        "pretrain_bert.py",
        "pretrain_t5.py",
        "pretrain_mamba.py",
        "pretrain_hybrid.py",
        "pretrain_ict.py",
        "pretrain_retro.py",
        "pretrain_vit.py",
        "pretrain_vision_classify.py",
        "pretrain_vision_dino.py",
        "pretrain_vision_inpaint.py",
    }
)
"""Scripts of the repositories that add no options of their own, but those that the table has."""

REPLACED = {
    "--activations-checkpoint-method": "--recompute-method",
    "--activations-checkpoint-num-layers": "--recompute-num-layers",
    "--checkpoint-num-layers": "--recompute-num-layers",
    "--distribute-checkpointed-activations": "--distribute-saved-activations",
    "--fp8-e4m3": "--fp8-format e4m3",
    "--fp8-hybrid": "--fp8-format hybrid",
    "--grpo-default-temperature": "--rl-default-temperature",
    "--grpo-default-top-p": "--rl-default-top-p",
    "--layernorm-epsilon": "--norm-epsilon",
    "--local_rank": "--local-rank",
    "--moe-token-dropping": "--moe-expert-capacity-factor",
    "--override-lr-scheduler": "--override-opt_param-scheduler",
    "--standalone-embedding-stage": "--account-for-embedding-in-pipeline-split",
    "--use-checkpoint-lr-scheduler": "--use-checkpoint-opt_param-scheduler",
    "--use-custom-fsdp": "--use-megatron-fsdp",
}
"""What came in the place of options that were removed (``add_argument`` of the releases before and after)."""

RETIRED = {
    "--batch-size": "--micro-batch-size",
    "--checkpoint-activations": "--recompute-activations",
    "--model-parallel-size": "--tensor-model-parallel-size",
    "--warmup": "--lr-warmup-fraction",
}
"""What Megatron-LM still parses, only to stop with the name of the successor (``validate_args``, v2.0 to core 0.19)."""
_BEFORE = ("v2.5", "v2.6")
"""Releases that recompute activations where ``--checkpoint-activations`` stands."""

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "integers": "whole numbers with commas between them",
    "frequency": "a whole number, or lists of numbers with `+` and `*` between them and no spaces",
}
_MAX_LISTED = 8
_FRAMEWORKS = {LM: "Megatron-LM", DEEPSPEED: "Megatron-DeepSpeed"}


@dataclass(frozen=True, slots=True)
class Parser:
    """The parser that reads one command line: the releases that it may be of, and whose it is.

    ``own`` says that it is certainly Megatron's, ``copied`` that the project holds a copy of it.
    """

    table: FlagTable
    flavour: str
    indexes: tuple[int, ...]
    pinned: bool
    own: bool
    copied: bool


def refusals(project: Project, launch: Launch, read: CommandSettings, versions: Versions) -> Iterator[Refused]:
    """Everything on a command line that the parser ends the run for."""
    parser = _parser(project, launch, read, versions)
    certain = [given for given in read.given if given.certain]
    strange = [given for given in certain if not _known(parser, given.name)]
    names = {given.name for given in certain} - {given.name for given in strange}
    entry = parser.table.releases.entry
    consistent = tuple(i for i in parser.indexes if all(entry(name, i) is not None for name in names))
    foreign = [given for given in strange if not _suggestion(parser, given.name) and not _elsewhere(parser, given.name)]
    if read.ended is not None:
        message = f"{_FRAMEWORKS[parser.flavour]} takes no words behind a bare `--`"
        yield Refused(UNKNOWN, message, read.ended.span, "--", confidence=_sure(read.ended, parser.own))
    for given in certain:
        if given.name not in names:
            yield from _unknown(project, launch, parser, given, foreign)
            continue
        # copies of Megatron-DeepSpeed mix what different days had
        among = parser.indexes if parser.flavour == DEEPSPEED else consistent or parser.indexes
        infos = {index: parser.table.flag(given.name, index) for index in among}
        found = [info for info in infos.values() if info is not None]
        if not found or (not consistent and not _in_newest(parser, read, given)):
            yield from _other_release(project, launch, parser, read, given)
        elif _is_retired(parser, given.name, among):
            message = f"`{given.name}` is no longer valid; now it is `{RETIRED[given.name]}`"
            yield Refused(
                OTHER_RELEASE, message, given.word.span, given.name, confidence=_confidence(given, parser.own)
            )
        elif len(found) == len(infos) or parser.flavour == DEEPSPEED:
            # what is said is said of the release that is judged, if it is one of these
            usual = [info for index, info in infos.items() if info is not None and index in read.view.indexes]
            yield from _values(launch, parser, given, [*found, *usual], is_fork=bool(foreign))


def _parser(project: Project, launch: Launch, read: CommandSettings, versions: Versions) -> Parser:
    table = flag_table(read.flavour)
    pinned = read.flavour == LM and versions.span(PACKAGE) is not None
    indexes = table.releases.all
    if pinned:
        allowed = [i for i in indexes if versions.test(PACKAGE, f"=={table.releases.version(i)}") is not False]
        indexes = tuple(allowed) or read.view.indexes
    copied = any(path.endswith(("megatron/arguments.py", "megatron/training/arguments.py")) for path in project.paths)
    name = str(launch.script.only or "").rpartition("/")[2]
    own = name in PLAIN_SCRIPTS if not launch.script_file else not _is_patched(project, launch.script_file)
    return Parser(table, read.flavour, indexes, pinned, own, copied)


_USUAL = frozenset(
    {"torch", "numpy", "megatron", "transformers", "apex", "einops", "tqdm", "wandb", "packaging", "deepspeed"}
    | {"datasets", "nltk", "yaml", "triton", "transformer_engine", "modelopt", "torchvision", "PIL", "nvtx"}
    | {"nvidia_resiliency_ext", "nvdlfw_inspect", "sentencepiece", "tokenizers", "tensorboard", "one_logger"}
)
"""Packages whose import does not change Megatron's parser."""


def _is_patched(project: Project, script: str) -> bool:
    """Whether something from outside the project may change the parser, or it leaves unknown options alone."""
    import sys

    for file in project.closure(script):
        facts = project.file_facts(file)
        imports = facts.module.imports if facts is not None and facts.module is not None else ()
        for item in imports:
            top = item.module.partition(".")[0]
            if top in _USUAL or top in sys.stdlib_module_names or item.level or not top:
                continue
            if not any(path.startswith((f"{top}/", f"{top}.py")) or f"/{top}" in path for path in project.paths):
                return True
    return project.mentions("ignore_unknown_args=True") or project.mentions("parse_known_args")


def _known(parser: Parser, name: str) -> bool:
    return name in parser.table.releases.names


def _is_retired(parser: Parser, name: str, among: Sequence[int]) -> bool:
    """Whether all of these releases stop at an option that they parse."""
    if name not in RETIRED or parser.flavour != LM or parser.copied:
        return False
    return name != "--checkpoint-activations" or not any(parser.table.releases.label(i) in _BEFORE for i in among)


def _elsewhere(parser: Parser, name: str) -> bool:
    """Whether a line that is Megatron-LM's by its pins has an option of Megatron-DeepSpeed's."""
    return parser.pinned and name in flag_table(DEEPSPEED).releases.names


def _in_newest(parser: Parser, read: CommandSettings, given: Given) -> bool:
    return any(parser.table.flag(given.name, index) is not None for index in read.view.indexes)


def _suggestion(parser: Parser, name: str) -> str:
    """The option that an unknown one can only have meant."""
    return _meant(parser.flavour, parser.indexes[-1], name)


@lru_cache(maxsize=4096)
def _meant(flavour: str, index: int, name: str) -> str:
    # a fork's own options stand in all its scripts, and each is compared with hundreds of names
    table = flag_table(flavour)
    names = {flag[2:]: flag for flag in table.releases.names if flag.startswith("--") and len(flag) > 4}
    present = {body: flag for body, flag in names.items() if table.flag(flag, index) is not None}
    found = nearest(name[2:], present) or nearest(name[2:], names)
    return names[found] if found and _may_mean(name[2:], found) else ""


def _may_mean(written: str, found: str) -> bool:
    """Whether a spelling is a slip, the beginning, or some of the words of another one."""
    words, others = re.split("[-_]", written), re.split("[-_]", found)
    slips = 2 if len(written) > 8 else 1
    if distance(written.replace("_", "-"), found.replace("_", "-"), slips) <= slips or found.startswith(written):
        return True
    return len(words) > 1 and set(words) < set(others)


def _mentioned(project: Project, launch: Launch, name: str) -> bool:
    """Whether the project's own code may define an option."""
    words = (name, f'"{own_name(name)}"', f"'{own_name(name)}'", f"    {own_name(name)}:")
    files = (file for file in project.python_files if file != launch.span.file)
    return any(word in text for file in files for text in (project.text_of(file),) for word in words)


def _unknown(
    project: Project, launch: Launch, parser: Parser, given: Given, foreign: Sequence[Given]
) -> Iterator[Refused]:
    if _mentioned(project, launch, given.name):
        return
    near = _suggestion(parser, given.name)
    other = DEEPSPEED if parser.flavour == LM else LM
    elsewhere = given.name in flag_table(other).releases.names
    message = f"{_FRAMEWORKS[parser.flavour]} has no option `{given.name}`"
    if elsewhere:
        message += f"; {_FRAMEWORKS[other]} has it"
    elif near:
        message += f"; did you mean `{near}`?"
    # several options that nobody knows speak for a fork with options of its own
    sure = parser.own and len(foreign) < 2
    if parser.flavour == DEEPSPEED:
        sure = sure and bool(near) and not foreign
    same = near if near and own_name(near) == own_name(given.name) else ""
    yield Refused(UNKNOWN, message, given.word.span, given.name, confidence=_confidence(given, sure), replacement=same)


def _other_release(
    project: Project, launch: Launch, parser: Parser, read: CommandSettings, given: Given
) -> Iterator[Refused]:
    if _mentioned(project, launch, given.name):
        return
    releases = parser.table.releases
    at = max(read.view.indexes)
    since, until = releases.since(given.name), releases.until(given.name)
    if releases.first_index(given.name) > at:
        message = f"`{given.name}` came with {since}; {releases.label(at)} does not have it"
    else:
        message = f"`{given.name}` was removed in {until}" if until else f"{releases.label(at)} has no `{given.name}`"
        if replacement := REPLACED.get(given.name):
            message += f"; now it is `{replacement}`"
    sure = parser.own and not parser.copied
    yield Refused(OTHER_RELEASE, message, given.word.span, given.name, confidence=_confidence(given, sure))


def _confidence(given: Given, sure: bool) -> Confidence:
    return _sure(given.word, sure)


def _sure(word: Argument, sure: bool) -> Confidence:
    return min(word.value.confidence, Confidence.LIKELY if sure else Confidence.POSSIBLE)


# Words and values ----------------------------------------------------------------------------------------------------


def _values(launch: Launch, parser: Parser, given: Given, infos: Sequence[Flag], *, is_fork: bool) -> Iterator[Refused]:
    if parser.copied:
        return
    # releases that agree share one object; the one that is judged stays the last
    distinct = {id(info): info for info in reversed(infos)}
    problems = [_problem(launch, given, info) for info in reversed(distinct.values())]
    if any(problem is None for problem in problems):
        return
    problem = problems[-1]
    if problem is None:
        return
    kind, message, word, is_choice = problem
    sure = not is_choice or (parser.own and not is_fork and parser.flavour == LM)
    value = word.value
    span = value.spans[0] if value.spans else word.span
    place = given.word.span if word is given.word and kind == WORDS else span
    yield Refused(
        kind,
        message,
        place,
        given.name,
        related=(Related(given.word.span, "the option"),) if place != given.word.span else (),
        confidence=min(value.confidence, _confidence(given, sure)),
    )


_Problem = tuple[str, str, Argument, bool]


def _problem(launch: Launch, given: Given, info: Flag) -> _Problem | None:
    """The kind of the fault, what to say, where, and whether it is about choices; ``None`` for a line that is taken."""
    if info.is_switch:
        return None  # words behind a switch are another rule's matter
    if info.nargs == "...":
        return None
    words = list(given.words)[: most_words(info)]
    if given.inline is not None:
        words = [Argument(given.inline, given.word.span, str(given.inline.only))]
    return _count_problem(launch, given, info, words) or _value_problem(given, info, words)


def _count_problem(launch: Launch, given: Given, info: Flag, words: list[Argument]) -> _Problem | None:
    everything = [*given.words, *given.strays]
    if any(not word.value.is_known for word in everything):
        return None
    needs = info.nargs if isinstance(info.nargs, int) else {"*": 0, "?": 0}.get(str(info.nargs), 1)
    if len(words) < needs and _stands_alone(launch, given):
        said = "needs a value" if needs == 1 else f"needs {needs} values"
        given_words = "none is given" if not words else f"{len(words)} is given" if len(words) == 1 else ""
        tail = given_words or f"{len(words)} are given"
        return WORDS, f"`{given.name}` {said}, but {tail}", given.word, False
    most = most_words(info)
    if given.inline is None and most is not None and len(everything) > most:
        extra = everything[most]
        takes = "one value" if most == 1 else f"{most} values"
        return WORDS, f"`{given.name}` takes {takes}; `{extra.value.only}` is left over", extra, False
    return None


def _stands_alone(launch: Launch, given: Given) -> bool:
    """Whether all words behind an option are seen.

    More may follow the last one, and a text that is run as a command (its words have one place) may have lost some.
    """
    if launch.open_arguments and launch.arguments[-1] is given.word:
        return False
    return sum(word.span == given.word.span for word in launch.arguments) == 1


def _value_problem(given: Given, info: Flag, words: list[Argument]) -> _Problem | None:
    for word in words:
        problem = _word_problem(info, word.value)
        if problem:
            is_choice, text = problem
            shown = word.value.options[0]
            return VALUE, f"`{given.name}` can't be `{shown}`: {text}", word, is_choice
    return None


def _word_problem(info: Flag, value: Value) -> tuple[bool, str] | None:
    """Why the parser refuses every possible word; ``None`` where it may take one."""
    if not value.options or any(not isinstance(text, str) for text in value.options):
        return None
    read = []
    for text in value.options:
        try:
            read.append(converted(text, info.type))
        except ValueError:
            continue
    if not read:
        return False, f"it has to be {_KINDS.get(info.type, 'a number')}"
    if info.choices is None or any(item in info.choices for item in read):
        return None
    if len(info.choices) > _MAX_LISTED:
        return True, f"it is none of the {len(info.choices)} choices{_near(str(read[0]), info)}"
    return True, "the choices are " + ", ".join(f"`{choice}`" for choice in info.choices)


def _near(text: str, info: Flag) -> str:
    found = nearest(text, map(str, info.choices or ()))
    return f"; did you mean `{found}`?" if found else ""
