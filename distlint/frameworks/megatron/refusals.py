"""What Megatron's own parser does not take of a command line, before anything else is looked at.

As ``argparse`` reads the options that a release adds (``parse_args``, ``megatron/training/arguments.py``): with
``allow_abbrev=False``, and without positional arguments. A launch counts by the releases that it may be for: those that
the pins allow, and without pins all of them, as far as one of them knows every option of the line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from distlint.frameworks.megatron.command_line import PACKAGE, CommandSettings, Given, most_words
from distlint.frameworks.megatron.flags import DEEPSPEED, LM, Flag, FlagTable, flag_table, own_name
from distlint.frameworks.megatron.program_options import COPIES, ProgramOptions, is_of_copy, lone_copy, program_options
from distlint.frameworks.megatron.refused_words import behind_switch, confidence_of, refused_words, sureness
from distlint.frameworks.megatron.versions import is_stated
from distlint.frameworks.refused import Refused
from distlint.knowledge.config_names import distance, nearest
from distlint.model.launch import Launch
from distlint.model.record import dataclass
from distlint.model.subject import Versions

if TYPE_CHECKING:
    from distlint.link.project import Project

UNKNOWN, OTHER_RELEASE = "unknown-option", "option-of-another-release"

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
    "--checkpoint-activations": "--recompute-activations",
    "--model-parallel-size": "--tensor-model-parallel-size",
    "--warmup": "--lr-warmup-fraction",
}
"""What Megatron-LM still parses, only to stop with the name of the successor (``validate_args``, v2.0 to core 0.19).

Of ``--batch-size`` another rule speaks."""
_BEFORE = ("v2.5", "v2.6")
"""Releases that recompute activations where ``--checkpoint-activations`` stands."""

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
    program: ProgramOptions | None

    def entry(self, name: str, index: int) -> object:
        """What a release has of an option, or the project, which has it with any release."""
        if self.program is not None and name in self.program.defined:
            return True
        return self.table.releases.entry(name, index)


def refusals(project: Project, launch: Launch, read: CommandSettings, versions: Versions) -> Iterator[Refused]:
    """Everything on a command line that the parser ends the run for."""
    parser = _parser(project, launch, read, versions)
    certain = [given for given in read.given if given.certain]
    strange = [given for given in certain if not _known(parser, given.name)]
    names = {given.name for given in certain} - {given.name for given in strange}
    consistent = _having(parser, names)
    foreign = [given for given in strange if not _suggestion(parser, given.name) and not _elsewhere(parser, given.name)]
    if read.ended is not None:
        message = f"{_FRAMEWORKS[parser.flavour]} takes no words behind a bare `--`"
        yield Refused(UNKNOWN, message, read.ended.span, "--", confidence=sureness(read.ended, parser.own))
    for given in certain:
        if parser.program is not None and parser.program.judges(given.name, parser.table.releases.names):
            yield from _by_program(launch, parser, parser.program, read, given)
            continue
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
            yield _retired(given, sure=parser.own)
        elif len(found) == len(infos) or parser.flavour == DEEPSPEED:
            # what is said is said of the release that is judged, if it is one of these
            usual = [info for index, info in infos.items() if info is not None and index in read.view.indexes]
            yield from _values(launch, parser, given, [*found, *usual], is_fork=bool(foreign))


def _parser(project: Project, launch: Launch, read: CommandSettings, versions: Versions) -> Parser:
    table = flag_table(read.flavour)
    pinned = read.flavour == LM and is_stated(versions)
    indexes = table.releases.all
    if pinned:
        allowed = [i for i in indexes if versions.test(PACKAGE, f"=={table.releases.version(i)}") is not False]
        indexes = tuple(allowed) or read.view.indexes
    copied = any(path.endswith(COPIES) for path in project.paths)
    name = str(launch.script.only or "").rpartition("/")[2]
    script = launch.script_file or (lone_copy(project) if name in PLAIN_SCRIPTS else "")
    program = program_options(project, script) if script in project.python_files else None
    if program is not None:
        patched = _is_patched(project, script)
        own = not patched and not program.open
        if patched:
            program = replace(program, open=True)
    else:
        own = name in PLAIN_SCRIPTS if not launch.script_file else not _is_patched(project, launch.script_file)
    return Parser(table, read.flavour, indexes, pinned, own, copied, program)


_USUAL_NAMES = """
accelerate apex click datasets deepspeed diskcache einops energon_util evaluate flash_attn flask flask_restful
h5py huggingface_hub hydra jsonlines mamba_ssm matplotlib megatron mlflow modelopt nltk numpy nvdlfw_inspect
nvidia_resiliency_ext nvtx omegaconf one_logger packaging pandas peft PIL pkg_resources psutil pydantic regex
requests rich safetensors scipy sentencepiece setuptools simpy soundfile tensorboard tiktoken tokenizers torch
torchvision tqdm transformer_engine transformers triton wandb webdataset yaml
"""

_USUAL = frozenset(_USUAL_NAMES.split())
"""Packages whose import does not change Megatron's parser, even where nothing of them is used."""


_PATCHING = re.compile(r"mindspeed|modellink|ascendspeed|megatron_(?!core)|\w+_patch|patch_\w+|musa|primus|flagscale")
"""Packages that change Megatron as they are imported: what else a copy imports itself, it imports in every release."""


def _is_patched(project: Project, script: str) -> bool:
    """Whether something from outside the project may change the parser, or it leaves unknown options alone.

    A package that changes Megatron does so as it is imported: it is known for that, or its name is not used otherwise.
    """
    import sys

    for file in project.closure(script):
        facts = project.file_facts(file)
        imports = facts.module.imports if facts is not None and facts.module is not None else ()
        for item in imports:
            top = item.module.partition(".")[0]
            if is_of_copy(file) and (file != script or file.endswith(COPIES)) and not _PATCHING.match(top):
                continue
            if top in _USUAL or top in sys.stdlib_module_names or item.level or not top:
                continue
            if any(path.startswith((f"{top}/", f"{top}.py")) or f"/{top}" in path for path in project.paths):
                continue
            if _PATCHING.match(top) or not _is_used(item.alias, project.text_of(file)):
                return True
    return False


def _is_used(name: str, text: str) -> bool:
    """Whether a name that an import binds stands anywhere else in the file."""
    return name != "*" and len(re.findall(rf"\b{re.escape(name)}\b", text)) > 1


def _having(parser: Parser, names: Collection[str]) -> tuple[int, ...]:
    """The releases that have all of these options, or else two neighbours: a checkout in between has what both have."""
    having = [{name for name in names if parser.entry(name, i) is not None} for i in parser.indexes]
    found = tuple(i for i, here in zip(parser.indexes, having, strict=True) if len(here) == len(names))
    if found or parser.pinned:
        return found
    for at in range(len(having) - 1, 0, -1):
        if len(having[at - 1] | having[at]) == len(names):
            return parser.indexes[at - 1 : at + 1]
    return ()


def _known(parser: Parser, name: str) -> bool:
    return name in parser.table.releases.names or (parser.program is not None and name in parser.program.defined)


def _is_retired(parser: Parser, name: str, among: Sequence[int]) -> bool:
    """Whether all of these releases stop at an option that they parse."""
    program = parser.program
    # Megatron-DeepSpeed keeps one of them
    seen = program is not None and program.is_parser and "--zero-stage" not in program.defined
    seen = not parser.copied or (parser.pinned and seen)
    if name not in RETIRED or parser.flavour != LM or not seen:
        return False
    return name != "--checkpoint-activations" or not any(parser.table.releases.label(i) in _BEFORE for i in among)


def _retired(given: Given, *, sure: bool) -> Refused:
    message = f"`{given.name}` is no longer valid; now it is `{RETIRED[given.name]}`"
    return Refused(OTHER_RELEASE, message, given.word.span, given.name, confidence=confidence_of(given, sure))


def _elsewhere(parser: Parser, name: str) -> bool:
    """Whether a line that is Megatron-LM's by its pins has an option of Megatron-DeepSpeed's."""
    return parser.pinned and name in flag_table(DEEPSPEED).releases.names


def _in_newest(parser: Parser, read: CommandSettings, given: Given) -> bool:
    return any(parser.table.flag(given.name, index) is not None for index in read.view.indexes)


def _suggestion(parser: Parser, name: str) -> str:
    """The option that an unknown one can only have meant."""
    return _meant(parser.flavour, parser.indexes[-1], name)


def _own_suggestion(parser: Parser, name: str) -> str:
    found = nearest(name, parser.program.defined) if parser.program is not None else ""
    return found if found and _may_mean(name[2:], found[2:]) else ""


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


def _mentioned(project: Project, launch: Launch, parser: Parser, name: str) -> bool:
    """Whether the project's own code may define an option, where not all that does is seen."""
    if parser.program is not None and not parser.program.open:
        return False
    own = own_name(name)
    words = re.compile(rf"{re.escape(name)}(?![\w-])|\"{re.escape(own)}\"|'{re.escape(own)}'|    {re.escape(own)}:")
    files = (file for file in project.python_files if file != launch.span.file)
    return any(words.search(project.text_of(file)) for file in files)


def _unknown(
    project: Project, launch: Launch, parser: Parser, given: Given, foreign: Sequence[Given]
) -> Iterator[Refused]:
    if _mentioned(project, launch, parser, given.name):
        return
    # several options that nobody knows speak for a fork with options of its own
    sure = parser.own and len(foreign) < 2
    if parser.flavour == DEEPSPEED:
        sure = sure and bool(_suggestion(parser, given.name)) and not foreign
    yield _unknown_of(parser, given, sure=sure)


def _unknown_of(parser: Parser, given: Given, *, sure: bool) -> Refused:
    near = _suggestion(parser, given.name) or _own_suggestion(parser, given.name)
    other = DEEPSPEED if parser.flavour == LM else LM
    elsewhere = given.name in flag_table(other).releases.names
    message = f"{_FRAMEWORKS[parser.flavour]} has no option `{given.name}`"
    if elsewhere:
        message += f"; {_FRAMEWORKS[other]} has it"
    elif near:
        message += f"; did you mean `{near}`?"
    same = near if near and own_name(near) == own_name(given.name) else ""
    return Refused(
        UNKNOWN, message, given.word.span, given.name, confidence=confidence_of(given, sure), replacement=same
    )


def _other_release(
    project: Project, launch: Launch, parser: Parser, read: CommandSettings, given: Given
) -> Iterator[Refused]:
    defined = parser.program is not None and given.name in parser.program.defined
    if not defined and not _mentioned(project, launch, parser, given.name):
        yield _other_release_of(parser, read, given, sure=parser.own and not parser.copied)


def _other_release_of(parser: Parser, read: CommandSettings, given: Given, *, sure: bool) -> Refused:
    releases = parser.table.releases
    at = max(read.view.indexes)
    since, until = releases.since(given.name), releases.until(given.name)
    if releases.first_index(given.name) > at:
        message = f"`{given.name}` came with {since}; {releases.label(at)} does not have it"
    else:
        message = f"`{given.name}` was removed in {until}" if until else f"{releases.label(at)} has no `{given.name}`"
        if replacement := REPLACED.get(given.name):
            message += f"; now it is `{replacement}`"
    return Refused(OTHER_RELEASE, message, given.word.span, given.name, confidence=confidence_of(given, sure))


def _by_program(
    launch: Launch, parser: Parser, program: ProgramOptions, read: CommandSettings, given: Given
) -> Iterator[Refused]:
    """By what the project itself defines: the options that a script adds, or the whole parser of a copy."""
    flags = program.flags(given.name)
    if not flags or program.may_be_field(given.name):
        if not program.may_define(given.name):
            if given.name in parser.table.releases.names:
                yield _other_release_of(parser, read, given, sure=True)
            else:
                yield _unknown_of(parser, given, sure=True)
            return
        # what is made of a dataclass is as in the release that the copy states
        flags += [parser.table.flag(given.name, index) if parser.pinned else None for index in parser.indexes]
    if _is_retired(parser, given.name, parser.indexes):
        yield _retired(given, sure=True)
        return
    read_so = [flag for flag in flags if flag is not None]
    if not read_so or len(read_so) < len(flags) or (parser.copied and not program.copy):
        return
    if all(flag.is_switch for flag in read_so):
        if given.known is None:
            yield from behind_switch(given)
        return
    most = most_words(read_so[-1])
    everything = [*given.words, *given.strays]
    if given.inline is None:
        given = replace(given, words=tuple(everything[:most]), strays=() if most is None else tuple(everything[most:]))
    yield from refused_words(launch, given, read_so, sure=True)


# Words and values ----------------------------------------------------------------------------------------------------


def _values(launch: Launch, parser: Parser, given: Given, infos: Sequence[Flag], *, is_fork: bool) -> Iterator[Refused]:
    if not parser.copied:
        yield from refused_words(launch, given, infos, sure=parser.own and not is_fork and parser.flavour == LM)
