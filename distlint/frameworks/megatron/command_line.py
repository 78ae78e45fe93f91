"""Megatron's command line as settings: which launches are Megatron's, and what their options say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.frameworks.megatron.flags import (
    ANY_RELEASE,
    DEEPSPEED,
    LM,
    USUAL_DAYS,
    Flag,
    FlagView,
    canonical,
    flag_table,
    own_name,
)
from distlint.frameworks.megatron.patterns import pattern_value
from distlint.link.options import split_flag
from distlint.model.launch import Argument, Launch
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.subject import Setting, Versions
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_YAML = "--yaml-cfg"
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
        _YAML,
    }
)
_ENOUGH = 4
"""A command with so many of the telling options is taken for Megatron's even where its script is not in the project."""

_DEEPSPEED_FLAGS = frozenset(
    {"--deepspeed", "--deepspeed_config", "--zero-stage", "--no-pipeline-parallel", "--cpu-optimizer"}
)
PACKAGE = "megatron-core"

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Given:
    """One option of a command line: the spelling, what it is in the version in use, and the words behind it.

    ``known`` is ``None`` for a flag that the version does not have, and ``flag`` then what another release says of it,
    if one has it. ``words`` are those that it takes, ``strays`` those that are left over before the next option.
    """

    name: str
    known: Flag | None
    flag: Flag | None
    word: Argument
    inline: Value | None
    words: Sequence[Argument]
    strays: Sequence[Argument]

    @property
    def certain(self) -> bool:
        """Whether it stands on the command line for sure."""
        return self.word.value.is_known


@dataclass(slots=True)
class CommandSettings:
    """The options of one command: settings by name, and the options one by one, in order.

    ``open`` says that there may be options that we can't see; ``loose`` are words before the first option, ``ended`` is a bare ``--``.
    """

    view: FlagView
    flavour: str
    settings: dict[str, Setting] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    loose: list[Argument] = field(default_factory=list)
    open: bool = False
    ended: Argument | None = None


def is_megatron(project: Project, launch: Launch) -> bool:
    """Whether a launch starts a script that reads Megatron's options."""
    telling = {flag for word in launch.arguments if (flag := _flag(word)) in _TELLING}
    if launch.script_file:
        return bool(telling) and _imports_megatron(project, launch.script_file)
    name = str(launch.script.only or "").rpartition("/")[2]
    if name.startswith("pretrain_"):
        return len(telling) > 1 or _YAML in telling
    return len(telling) >= _ENOUGH


def _imports_megatron(project: Project, script: str) -> bool:
    for file in project.closure(script):
        facts = project.file_facts(file)
        imports = facts.module.imports if facts is not None and facts.module is not None else ()
        if any(item.module.partition(".")[0] == "megatron" for item in imports):
            return True
    return False


def view_for(project: Project, launch: Launch, versions: Versions) -> tuple[str, FlagView]:
    """Whose command line it is, and the flags that it may have."""
    if any(_flag(word) in _DEEPSPEED_FLAGS for word in launch.arguments) and not _is_pinned_lm(project, versions):
        return DEEPSPEED, flag_table(DEEPSPEED).at(USUAL_DAYS)
    return LM, flag_table(LM).at(versions.newest(PACKAGE))


def _is_pinned_lm(project: Project, versions: Versions) -> bool:
    """Whether a pin says that it is Megatron-LM, and nothing in the project that it is another one.

    Megatron-DeepSpeed needs no megatron-core: it brings its own, and needs DeepSpeed, whose options a script may add.
    """
    place = versions.span(PACKAGE)
    if place is None or place.file.endswith(".py") or versions.span("deepspeed") is not None:
        return False
    if project.mentions("add_config_arguments"):
        return False
    return not any(path.startswith("megatron/") or "/megatron/" in path for path in project.paths)


def read_command(project: Project, launch: Launch, versions: Versions) -> CommandSettings:
    """The options of a launch as settings. The last one counts where an option is given twice, as in argparse."""
    flavour, view = view_for(project, launch, versions)
    read = CommandSettings(view, flavour, open=launch.open_arguments)
    words = launch.arguments
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.value.is_known and word.value.only == "--" and (read.given or launch.launcher == "python"):
            # torchrun takes the one right behind the script for itself, argparse lets everything behind it alone
            read.ended = word
            break
        name = _flag(word)
        if not name.startswith("--") or len(name) < 3:
            read.loose.append(word)
            continue
        taken: list[Argument] = []
        while at < len(words) and not _flag(words[at]):
            taken.append(words[at])
            at += 1
        given = _given(view, name, word, taken)
        read.given.append(given)
        for setting in settings_of(given):
            previous = read.settings.get(setting.path)
            read.settings[setting.path] = setting if previous is None else _over(setting, previous)
    return read


def _over(setting: Setting, previous: Setting) -> Setting:
    return Setting(
        setting.path, setting.value, setting.key_span, setting.span, previous, setting.certain, setting.written
    )


def _given(view: FlagView, name: str, word: Argument, taken: list[Argument]) -> Given:
    info = view.find(name)
    flag = info
    for flavour in (LM, DEEPSPEED):
        flag = flag or flag_table(flavour).at(ANY_RELEASE).find(name)
    inline = split_flag(word)[1]
    end = 0 if inline is not None else 1 if flag is None else most_words(flag)
    return Given(name, info, flag, word, inline, tuple(taken[:end]), tuple(taken[end:]))


def most_words(flag: Flag) -> int | None:
    """How many words an option takes at most; ``None`` for as many as there are."""
    if flag.is_switch:
        return 0
    if isinstance(flag.nargs, int):
        return flag.nargs
    return None if flag.nargs in ("*", "+") else 1


def settings_of(given: Given) -> Iterator[Setting]:
    """The settings that an option makes: by the name of its destination, and by every spelling of its own.

    An option that nobody knows has one by its spelling.
    """
    span = given.words[0].span if given.words else given.word.span
    certain, flag = given.certain, given.flag
    value = _value(given)
    place = value.spans[0] if value.spans and given.inline is not None else span
    if flag is None:
        names = {own_name(given.name): value}
    elif flag.is_switch:
        spelled = given.known.flags if given.known is not None else (given.name,)
        off = [name for name in spelled if flag.action == "boolean" and name.startswith("--no-")]
        same = [name for name in spelled if (name in off) == flag.off]
        names = {own_name(name): known(True, given.word.span) for name in (given.name, *same)}
        names[canonical(given.name)] = known(flag.sets, given.word.span)
    else:
        names = {own_name(name): value for name in (given.name, *flag.flags)}
        names[canonical(given.name)] = value
    for path, one in names.items():
        yield Setting(path, one, given.word.span, place, certain=certain, written=given.name)


def _value(given: Given) -> Value:
    """What the option's words are read as."""
    kind = given.flag.type if given.flag is not None else ""
    if given.flag is not None and given.flag.is_switch:
        return known(True, given.word.span)
    if given.inline is not None:
        value = _read(given.inline, kind, given.word.span)
        return value if given.flag is None or _is_single(given.flag) else value.map(lambda one: [one])
    if not given.words:
        listed = given.flag is not None and given.flag.nargs == "*"
        return known([] if listed else True, given.word.span)
    values = [_read(word.value, kind, word.span) for word in given.words]
    if len(values) == 1 and (given.flag is None or _is_single(given.flag) or not values[0].is_known):
        return values[0]
    if all(value.is_known for value in values):
        confidence = min(value.confidence for value in values)
        return known([value.only for value in values], values[0].spans[0], confidence=confidence)
    return unknown("holds words that are not known", given.words[0].span)


def _is_single(flag: Flag) -> bool:
    return flag.nargs is None or flag.nargs == "?"


def _read(value: Value, kind: str, span: Span) -> Value:
    if any(isinstance(text, str) and not _fits(text, kind) for text in value.options):
        return unknown("the parser does not take it", *(value.spans or (span,)))
    read = value.map(lambda text: converted(text, kind))
    return read if read.spans else read.at(span)


def _fits(text: str, kind: str) -> bool:
    try:
        converted(text, kind)
    except ValueError:
        return False
    return True


def converted(text: object, kind: str) -> object:
    """A word as the option's type reads it; raises ``ValueError`` where it does not. ``""``: as it looks."""
    if not isinstance(text, str):
        return text
    if kind in ("int", "float"):
        if len(text) > 400:
            raise ValueError("is no number")
        return int(text) if kind == "int" else float(text)
    if kind == "bool":
        return bool(text)
    if kind == "frequency":
        return pattern_value(text) if "[" in text else int(text)
    return typed(text) if not kind else text


def _flag(word: Argument) -> str:
    """The option that a word is (also one that is given on some paths only), or ``""`` for a value."""
    flag, _ = split_flag(word)
    text = flag or (word.text if not word.value.is_known else "")
    return text.partition("=")[0] if text.startswith("-") and not _NUMBER.fullmatch(text) else ""


def typed(text: object) -> object:
    """A word as it looks: a number, or itself."""
    if not isinstance(text, str):
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def strays_of(read: CommandSettings) -> Iterator[tuple[str, str, Span]]:
    """Each word behind a switch: the switch as written, the word, and its place."""
    for given in read.given:
        if given.known is None or not given.known.is_switch or not given.certain:
            continue
        word = given.word if given.inline is not None else given.strays[0] if given.strays else None
        if word is not None and word.value.is_known:
            yield given.name, str(word.value.only), word.span
