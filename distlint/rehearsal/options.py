"""The options of a program on one process of a rehearsal.

A command line gives all processes the same options. What they are is known where the project says how the program is started, or the
program itself gives the words; otherwise an option is only the same for everyone, or has its default (``Stage.usual``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Instance, options_of
from distlint.link.process_arguments import process_arguments
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Sequence, node_value, walk
from distlint.model.span import Span
from distlint.model.value import Confidence, unknown
from distlint.rehearsal.entities import ClassValue, FunctionValue, LambdaOf, MethodOf, Partial, Reader
from distlint.rehearsal.tables import Attributes
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, Thing, is_known

if TYPE_CHECKING:
    from distlint.model.launch import Run
    from distlint.rehearsal.iterating import Iterating
    from distlint.rehearsal.stage import Scope, Stage

MAX_RUNS = 4
"""Known command lines of a script that are asked for an option; of a script with more none is."""


def is_parsed(value: Made) -> bool:
    """Whether a value is what a parser of options gave."""
    return "parse_" in value.name.rpartition(".")[2]


def is_parsing(name: str) -> bool:
    """Whether a method of a parser reads options from words, which it leaves as they are."""
    return name in ("parse_args", "parse_known_args", "parse_intermixed_args")


def option_of(player: Iterating, base: Made, name: str) -> Any:
    """One of the options that a parser gave."""
    known = player.stage.by_name(name)
    if known is not UNKNOWN and not _is_given(player.stage, name):
        return known
    if name in player.stage.defaults:
        return _default(player, player.stage.defaults[name])
    found, sure = _in_runs(player, base, name) if base.call is not None else (UNKNOWN, True)
    if found is UNKNOWN and player.stage.run is not None and base.call is not None:
        found = _read(player, base, name)
        if found is UNKNOWN and name not in player.stage.placed:
            return Opaque(("option", name))  # it is given, whatever that means
    found = UNKNOWN if found is NotImplemented else found
    if name in player.stage.placed and (found is UNKNOWN or not sure):
        return player.stage.placed[name]
    if found is UNKNOWN:
        default = player.stage.declared_options.get(name, UNKNOWN)
        return by_default(player.stage, name, default) if default is not UNKNOWN else Opaque(("option", name))
    return found if sure else by_default(player.stage, name, found)


def _read(player: Iterating, base: Made, name: str) -> Any:
    """An option of the run that is followed, as a function of the program reads its text (``type=Grid.parse``).

    Unknown where it can't be read, ``NotImplemented`` where the command line does not give it.
    """
    stage = player.stage
    key = (id(base.call), name, "read")
    if key not in stage.options:
        assert base.call is not None  # noqa: S101 - tested by the caller
        evaluator = stage.project.evaluator(stage.run)
        parsed = evaluator.ask(base.call, base.file, base.function)
        is_parsed_here = isinstance(parsed, Instance) and _words_of(player, base) is None
        text = evaluator.options.text(evaluator, parsed, name) if is_parsed_here else unknown("another way")
        reader = stage.readers.get(name)
        stage.options[key] = UNKNOWN
        if reader is not None and isinstance(text.only, str):
            stage.options[key] = player.apply(reader.function, Given([text.only], {}), reader.call, reader.scope)
        elif text.is_absent and not (
            isinstance(parsed, Instance) and evaluator.options.is_set_by_action(evaluator, parsed, name)
        ):
            stage.options[key] = NotImplemented if reader is None else reader.default
    return stage.options[key]


def command_words(stage: Stage, span: Span) -> Items | None:
    """``sys.argv`` in the run that is followed; ``None`` where there is none, or words of it are not known."""
    found = process_arguments(stage.project, stage.run, span)
    words = [node_value(one).only for one in found.items] if isinstance(found, Sequence) and not found.open else []
    return Items(words) if words and all(isinstance(one, str) for one in words) else None


def _is_given(stage: Stage, name: str) -> bool:
    """Whether the launch of the run that is followed gives an option itself, so that it is the same for all processes (``--rank 8``)."""
    launch = stage.run.launch if stage.run is not None else None
    texts = (one.text for one in launch.arguments) if launch is not None else ()
    return any(text.startswith("-") and text.lstrip("-").partition("=")[0] == name for text in texts)


def by_default(stage: Stage, name: str, default: Any) -> Any:
    """An option or variable that nobody is known to give, by its default."""
    stage.has_defaults = True
    return default if stage.usual else Opaque(("environment", name[1:]) if name.startswith("$") else ("option", name))


def declared(stage: Stage, given: Given, call: ir.Call, scope: Scope) -> None:
    """``parser.add_argument("--local-rank", default=os.environ["LOCAL_RANK"])``: who starts a process tells it what nobody writes."""
    default, names = given.get("default"), [one for one in given.positional if isinstance(one, str)]
    written = next((keyword.value for keyword in call.keywords if keyword.name == "default"), None)
    if names and len(names) == len(given.positional) and not given.open:
        reads = given.get("type")
        if isinstance(reads, FunctionValue | ClassValue | LambdaOf | Partial | MethodOf):
            stage.readers[_name_of(names, given)] = Reader(reads, given.get("default", None, None), call, scope)
        _remember(stage, _name_of(names, given), given.get("default", None, None) if written is not None else UNKNOWN)
    if not names or written is None or not is_known(default):
        return
    if any(type(part) is ir.Constant and f"${part.value}" in stage.sources for part in below(written)):
        name = _name_of(names, given)
        kind = next((keyword.value for keyword in call.keywords if keyword.name == "type"), None)
        is_number = type(kind) is ir.Name and kind.id == "int"
        stage.placed[name] = int(default) if is_number and isinstance(default, str) and default.isdigit() else default


def _name_of(names: list[str], given: Given) -> str:
    """What a parser calls an option of these names."""
    long = next((one for one in names if one.startswith("--")), names[0])
    told = given.get("dest", None, None)
    return told if isinstance(told, str) else long.lstrip("-").replace("-", "_")


def _remember(stage: Stage, name: str, default: Any) -> None:
    """An option as the program was seen to declare it; with two defaults it has none that is known."""
    known = is_known(default) and not stage.unsure and stage.declared_options.get(name, default) == default
    stage.declared_options[name] = default if known else UNKNOWN


def all_options(player: Iterating, base: Made) -> dict[str, Any]:
    """The options that the program was seen to declare, by name."""
    return {name: option_of(player, base, name) for name in player.stage.declared_options}


def every_option(player: Iterating, base: Made) -> dict[str, Any] | None:
    """All options that a parser gives in the run that is followed; ``None`` where there may be others, or no run is followed."""
    stage = player.stage
    if stage.run is None or base.call is None:
        return None
    evaluator = stage.project.evaluator(stage.run)
    found = evaluator.ask(base.call, base.file, base.function)
    names = evaluator.options.names(evaluator, found) if isinstance(found, Instance) else None
    return {name: option_of(player, base, name) for name in names} if names is not None else None


def parsed_into(player: Any, thing: Thing, parsed: Made) -> Thing:
    """An object of the project that a parser fills (``parse_args(namespace=...)``): with what it has already, options come last."""
    every = every_option(player, parsed)
    if every is None:
        thing.open = True
    for name, value in (every or {}).items():
        # what is there already is left alone where the command line does not give it
        held = name in thing.attributes or player.class_attribute(thing.cls, name) is not NotImplemented
        thing.attributes[name] = UNKNOWN if held else value
    return thing


def set_defaults(stage: Stage, parser: Made, given: Given) -> None:
    """``parser.set_defaults(...)``: defaults of options, and functions that a program calls by the command that it is given."""
    if given.open:
        stage.declared_options.update(dict.fromkeys(stage.declared_options, UNKNOWN))
    command = parser.arguments.get("name", 0) if parser.arguments is not None else None
    for name, value in given.keywords.items():
        if not is_known(value):
            key = command if "add_parser" in parser.name and isinstance(command, str) else ""
            stage.defaults.setdefault(name, {})[key] = value
        elif name in stage.declared_options:
            stage.declared_options[name] = value if not stage.unsure else UNKNOWN


def _default(player: Iterating, choices: dict[str, Any]) -> Any:
    """What was set for the command that the program is started with, where there is one or that is known."""
    if len(choices) == 1:
        return next(iter(choices.values()))
    runs = _runs(player.stage)
    named = {one.text for run in runs if run.launch is not None for one in run.launch.arguments} & set(choices)
    return choices[named.pop()] if len(named) == 1 else UNKNOWN


def _runs(stage: Stage) -> tuple[Run, ...]:
    """The runs of the program that is followed: one of them, or all that the project has."""
    return (stage.run,) if stage.run is not None else tuple(stage.project.runs_reaching(stage.entry))


def _in_runs(player: Iterating, base: Made, name: str) -> tuple[Any, bool]:
    """What the command lines of the project, or the words that the program gives, say an option is; else unknown.

    And whether they say so: without a command line a default is only possible.
    """
    stage = player.stage
    key = (id(base.call), name)
    if key not in stage.options:
        stage.options[key] = _asked(player, base, name)
    found, sure = stage.options[key]
    return _held(found), sure


def _held(plain: Any) -> Any:
    """What the program reads from words: texts, numbers, lists and dictionaries of these."""
    if isinstance(plain, dict):
        return Table({key: _held(one) for key, one in plain.items()})
    return Items(list(map(_held, plain))) if isinstance(plain, list | tuple) else plain


def _asked(player: Iterating, base: Made, name: str) -> tuple[Any, bool]:
    project = player.stage.project
    runs = _runs(player.stage)
    if len(runs) > MAX_RUNS:
        return UNKNOWN, True
    words = _words_of(player, base)
    if words is not None:
        return _read_from(player, base, name, words)
    answers: list[Any] = []
    sure = True
    for run in runs or (None,):
        evaluator = project.evaluator(run)
        frame = evaluator.frame(base.file, base.function)
        assert base.call is not None  # noqa: S101 - tested by the caller
        found = evaluator.ask(base.call, base.file, base.function)
        objects = [one for one in options_of(found) if isinstance(one, Instance)]
        if len(objects) != 1:
            return UNKNOWN, True
        answer = evaluator.options.attribute(evaluator, objects[0], name, Span(frame.file, 1, 0, 1, 0))
        value = node_value(answer) if isinstance(answer, Leaf | Mapping) else None
        if value is None or not value.is_known:
            return UNKNOWN, True
        leaves = [entry.node.value for _, entry in walk(answer) if isinstance(entry.node, Leaf)]
        # an empty dictionary holds nothing that tells how sure it is
        sure = sure and (bool(leaves) or isinstance(answer, Leaf) or run is not None)
        sure = sure and all(one.confidence >= Confidence.LIKELY for one in (value, *leaves))
        answers.append(value.only)
    first = answers[0]
    return (first, sure) if _is_plain(first) and all(one == first for one in answers) else (UNKNOWN, True)


def _words_of(player: Iterating, base: Made) -> list[str] | None:
    """The words that the program itself gives to a parser; ``None`` where they are not known, or those of the command line."""
    given = base.arguments.get("args", 0, None) if base.arguments is not None else None
    words = player.items_of(given) if isinstance(given, Items) else None
    return words if words is not None and all(isinstance(one, str) for one in words) else None


def _read_from(player: Iterating, base: Made, name: str, words: list[str]) -> tuple[Any, bool]:
    """An option as a parser reads it from some words."""
    assert base.call is not None  # noqa: S101 - tested by the caller
    evaluator = player.stage.project.evaluator(player.stage.run)
    found = evaluator.ask(base.call, base.file, base.function)
    if not isinstance(found, Instance):
        return UNKNOWN, True
    value = evaluator.options.read_from(evaluator, found, name, words)
    return (value.only, True) if value.is_known and _is_plain(value.only) else (UNKNOWN, True)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(is_known, value)) and all(map(_is_plain, value.values()))
    return is_known(value) or (isinstance(value, list) and all(map(_is_plain, value)))


def attributes_of(player: Iterating, base: Made) -> Table:
    """The attributes of what a parser gave, or of another plain object, by name."""
    every = every_option(player, base) if is_parsed(base) else None
    is_plain = "Namespace" in base.name and bool(base.stored)
    if every is not None or is_plain:
        for name, value in (every or {}).items():
            base.stored.setdefault(name, value)
        return Attributes(base.stored)
    table = Table({**(all_options(player, base) if is_parsed(base) else {}), **base.stored})
    table.opens(base)
    return table
