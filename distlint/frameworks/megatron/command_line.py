"""Megatron's command line as settings: which launches are Megatron's, and what their options say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.frameworks.megatron.switches import SWITCHES
from distlint.link.options import split_flag
from distlint.model.launch import Argument, Launch
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.subject import Setting
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_TELLING = frozenset(
    {
        "--tensor-model-parallel-size",
        "--pipeline-model-parallel-size",
        "--micro-batch-size",
        "--global-batch-size",
        "--num-attention-heads",
        "--max-position-embeddings",
        "--num-layers",
        "--hidden-size",
        "--seq-length",
    }
)
_ENOUGH = 4
"""A command with so many of the telling options is taken for Megatron's even where its script is not in the project."""

_SEVERAL = """
rampup-batch-size data-path train-data-path valid-data-path test-data-path retriever-report-topk-accuracies spec
moe-router-load-balancing-type moe-aux-loss-coeff tiktoken-special-tokens tokenizer-special-tokens cp-comm-type
hierarchical-context-parallel-sizes cuda-graph-scope cuda-graph-modules mrope-section recompute-modules
iterations-to-skip high-priority-stream-groups export-freeze-mtp profile-ranks num-experts num-experts-teacher
"""

_MANY = frozenset(_SEVERAL.split())
"""Options that take several words (``nargs`` in the releases named in ``switches``)."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(slots=True)
class CommandSettings:
    """The options of one command: settings by canonical name, and words behind a switch, which takes none.

    ``open`` says that there may be options that we can't see.
    """

    settings: dict[str, Setting] = field(default_factory=dict)
    strays: list[tuple[Setting, Argument]] = field(default_factory=list)
    open: bool = False


def is_megatron(project: Project, launch: Launch) -> bool:
    """Whether a launch starts a script that reads Megatron's options."""
    telling = {flag for word in launch.arguments if (flag := _flag(word)) in _TELLING}
    if launch.script_file:
        return bool(telling) and _imports_megatron(project, launch.script_file)
    name = str(launch.script.only or "").rpartition("/")[2]
    return len(telling) >= (2 if name.startswith("pretrain_") else _ENOUGH)


def _imports_megatron(project: Project, script: str) -> bool:
    for file in project.closure(script):
        facts = project.file_facts(file)
        imports = facts.module.imports if facts is not None and facts.module is not None else ()
        if any(item.module.partition(".")[0] == "megatron" for item in imports):
            return True
    return False


def read_command(launch: Launch) -> CommandSettings:
    """The options of a launch as settings. The last one counts where an option is given twice, as in argparse."""
    read = CommandSettings(open=launch.open_arguments)
    words = launch.arguments
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        flag = _flag(word)
        if not flag.startswith("--") or len(flag) < 3:
            continue
        taken: list[Argument] = []
        while at < len(words) and not _flag(words[at]):
            taken.append(words[at])
            at += 1
        setting = _setting(word, flag, taken)
        previous = read.settings.get(setting.path)
        if previous is not None:
            setting = Setting(
                setting.path, setting.value, setting.key_span, setting.span, previous, setting.certain, flag
            )
        read.settings[setting.path] = setting
        if flag[2:] in SWITCHES and (taken or _inline(word) is not None):
            read.strays.append((setting, taken[0] if taken else word))
    return read


def _setting(word: Argument, flag: str, taken: list[Argument]) -> Setting:
    path = flag[2:].replace("-", "_")
    inline = _inline(word)
    certain = word.value.is_known
    if flag[2:] in SWITCHES or (not taken and inline is None):
        return Setting(path, known(True, word.span), word.span, word.span, certain=certain, written=flag)
    if inline is not None:
        return Setting(path, inline.map(typed).at(word.span), word.span, word.span, certain=certain, written=flag)
    value = _joined(taken if flag[2:] in _MANY else taken[:1])
    return Setting(path, value, word.span, taken[0].span, certain=certain, written=flag)


def _joined(taken: list[Argument]) -> Value:
    """The value of an option: of one word what it reads as, of several a list."""
    if len(taken) == 1:
        value = taken[0].value
        return value.map(typed) if value.spans else value.map(typed).at(taken[0].span)
    if all(word.value.is_known for word in taken):
        return known([typed(word.value.only) for word in taken], taken[0].span)
    return unknown("holds words that are not known", taken[0].span)


def _flag(word: Argument) -> str:
    """The option that a word is (also one that is given on some paths only), or ``""`` for a value."""
    flag, _ = split_flag(word)
    text = flag or (word.text if not word.value.is_known else "")
    return text.partition("=")[0] if text.startswith("-") and not _NUMBER.fullmatch(text) else ""


def _inline(word: Argument) -> Value | None:
    return split_flag(word)[1]


def typed(text: object) -> object:
    """A word as argparse reads it for an option of the type that it looks like: a number, or itself."""
    if not isinstance(text, str):
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def strays_of(read: CommandSettings) -> Iterator[tuple[str, str, Span]]:
    """Each word behind a switch: the switch as written, the word, and its place."""
    for setting, word in read.strays:
        if setting.certain and word.value.is_known:
            yield setting.written, str(word.value.only), word.span
