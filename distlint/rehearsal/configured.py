"""Settings that a program reads from a configuration file of the project.

A program may be started with another file of this form. So at first its settings are only the same on all processes; where
the program is followed as it usually goes (``Stage.usual``), they are those that stand in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.library_calls import LOADERS, every_parsed, parsed_text
from distlint.link.paths import folders_around
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Node
from distlint.model.value import Value, known
from distlint.rehearsal.failing import fails
from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.known_files import TextFile, plain
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, is_known

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Run
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope, Stage

MAX_SETTINGS = 256
"""Keys and items of a file with more than these, which holds data rather than settings, are not looked at."""
MAX_RUNS = 4
"""Command lines of a script that are asked for a file; of a script with more none is."""

_Place = tuple[str, str, ir.Position]


class _Read(dict[_Place, Mapping | None]):
    """The settings that calls read, by the script that is followed and the call."""


def settings_of(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a call of a library function reads from a configuration file, as a function of the program makes it over (``object_hook``)."""
    found = _read(player, name, given, call, scope)
    hook = given.keywords.get("object_hook")
    if found is NotImplemented or hook is None:
        return found
    return _made_over(player, found, hook, call, scope)


def _made_over(player: Calls, value: Any, hook: Any, call: ir.Call, scope: Scope) -> Any:
    """What a function makes of each dictionary, the innermost first."""
    if isinstance(value, Items) and value.items is not None:
        return player.stage.made(Items([_made_over(player, one, hook, call, scope) for one in value.items]))
    if not isinstance(value, Table):
        return value
    for key, one in value.items.items():
        value.items[key] = _made_over(player, one, hook, call, scope)
    return player.apply(hook, Given([value], {}), call, scope)


def _read(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a call of a library function reads from a configuration file; ``NotImplemented`` where that is not known or not asked for."""
    stage = player.stage
    text = next(iter(given.positional), None)
    if name not in LOADERS:
        return _one_by_one(player, name, text, call, scope)
    if isinstance(text, str) and not given.open:
        written = parsed_text(stage.project.documents, name, text, ir.unpack(call.at, scope.file))
        if isinstance(written, Leaf) and not written.value.is_known and name == "json.loads":
            fails(stage, "ValueError")
        return NotImplemented if written is None else _value(player, written, ("text", text))
    path = _path(given)
    found = _asked(stage, call, scope) if path is None else _named(player, path, call, scope)
    if found is None:
        return NotImplemented
    stage.configurations.add(found.span.file)
    return _value(player, found, (found.span.file,)) if stage.usual else NotImplemented


def _one_by_one(player: Calls, name: str, text: Any, call: ir.Call, scope: Scope) -> Any:
    """What a function gives that reads several documents from a text or an open file; ``NotImplemented`` for others."""
    text = text.text if isinstance(text, TextFile) else text
    span = ir.unpack(call.at, scope.file)
    every = every_parsed(player.stage.project.documents, name, text, span) if isinstance(text, str) else None
    if every is None:
        return NotImplemented
    return Generated(iter([_value(player, one, ("text", text, place)) for place, one in enumerate(every)]))


def settings_at(player: Calls, path: str, call: ir.Call, scope: Scope) -> Any:
    """The settings in the file of a path that a library is handed and reads by itself; unknown where the project has no such file."""
    found = _named(player, path, call, scope)
    return UNKNOWN if found is None else _value(player, found, (found.span.file,))


def text_as(player: Calls, text: str, call: ir.Call, scope: Scope) -> Any:
    """What stands in a text as YAML; unknown where that is none."""
    node = player.stage.project.documents.parsed(text, "yaml", ir.unpack(call.at, scope.file))
    return UNKNOWN if isinstance(node, Leaf) and not node.value.is_known else _value(player, node, ("text", text))


def _path(given: Given) -> str | None:
    """The path that an open file was opened with, where it is known on the way that the process has gone."""
    file = next(iter(given.values()), None)
    if not isinstance(file, Made) or file.arguments is None or not file.name.endswith("open()"):
        return None
    path = plain(file.arguments.get("file", 0))
    return path if isinstance(path, str) else None


def _named(player: Calls, path: str, call: ir.Call, scope: Scope) -> Mapping | None:
    """The settings in the file that a path means for the code that names it."""
    return settings_in(player, known(path, ir.unpack(call.at, scope.file)), scope)


def settings_in(player: Calls, path: Value, scope: Scope) -> Mapping | None:
    """The settings in the file that a path means for the code that names it; ``None`` where the project has none, or it holds data."""
    stage = player.stage
    document = stage.project.documents.found(path, scope.file, folders_around(stage.entry))
    return _settings(document.root) if document is not None else None


def _asked(stage: Stage, call: ir.Call, scope: Scope) -> Mapping | None:
    project, entry = stage.project, stage.entry
    if stage.run is not None:
        return _loaded(project, (stage.run,), call, scope)
    read = project.kept.get(_Read)
    if read is None:
        read = project.kept[_Read] = _Read()
    assert isinstance(read, _Read)  # noqa: S101 - stored just above
    place = (entry, scope.file, call.at)
    if place not in read:
        read[place] = _loaded(project, tuple(project.runs_reaching(entry)), call, scope)
    return read[place]


def _loaded(project: Project, runs: tuple[Run, ...], call: ir.Call, scope: Scope) -> Mapping | None:
    """The only configuration file that a call reads in all of some runs; no texts that stand in the program."""
    if len(runs) > MAX_RUNS:
        return None
    found = [project.evaluator(run).ask(call, scope.file, scope.function) for run in runs or (None,)]
    return _settings(found[0]) if all(one is found[0] for one in found) else None


def _settings(node: Any) -> Mapping | None:
    """What a file holds, if these are settings."""
    is_file = isinstance(node, Mapping) and not node.span.file.endswith(".py")
    return node if is_file and _count(node) <= MAX_SETTINGS else None


def _count(node: Node) -> int:
    """How many keys and items a tree has."""
    if isinstance(node, Leaf):
        return 1
    parts = [entry.node for entry in node.entries] if isinstance(node, Mapping) else node.items
    return 1 + sum(map(_count, parts[: MAX_SETTINGS + 1]))


def _value(player: Calls, node: Node, path: tuple[Any, ...]) -> Any:
    """A part of a file as a program has it; what is not known is the same on all processes."""
    if isinstance(node, Leaf):
        plain = node.value.is_known and is_known(node.value.only)
        return node.value.only if plain else Opaque(("setting", *path))
    if isinstance(node, Mapping):
        table = Table(is_open=node.open)
        for entry in node.entries:
            if is_key(entry.key):
                inner = _value(player, entry.node, (*path, entry.key))
                table.items[entry.key] = inner if entry.certain else Opaque(("setting", *path, entry.key))
        return player.stage.made(table)
    if node.open:
        return Opaque(("setting", *path))
    return player.stage.made(Items([_value(player, one, (*path, place)) for place, one in enumerate(node.items)]))
