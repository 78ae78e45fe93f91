"""What settings may say: each key with its type and default, and how files and command line become one ``Settings``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.judge.selection import SelectionLayer
from distlint.judge.suggestion import did_you_mean
from distlint.judge.tomltext import TomlText
from distlint.model.finding import Severity
from distlint.model.value import Confidence
from distlint.settings import FilePattern, IgnoreEntry, Settings, SettingsError, SettingsFile

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

COMMAND_LINE = "command line"

_SEVERITIES = ("note", "warning", "error")
_CONFIDENCES = ("possible", "likely", "certain")
_IGNORE_FIELDS = ("rule", "file", "path", "reason")


class Option(NamedTuple):
    """One key: the check that says what is wrong with a value (or nothing), its default, and its meaning."""

    check: Callable[[Any], str]
    default: Any
    help: str


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "has to be a string"


def _texts(value: Any) -> str:
    fine = isinstance(value, (list, tuple)) and all(isinstance(item, str) and item for item in value)
    return "" if fine else "has to be a list of strings"


def _switch(value: Any) -> str:
    return "" if isinstance(value, bool) else "has to be true or false"


def _count(value: Any) -> str:
    return "" if type(value) is int and value > 0 else "has to be a whole number above 0"


def _memory(value: Any) -> str:
    from distlint.knowledge.gpu_memory import parse_memory

    try:
        parse_memory(value)
    except ValueError:
        return "has to be an amount of memory such as `80GB`"
    return ""


def _bytes(value: Any) -> int | None:
    from distlint.knowledge.gpu_memory import parse_memory

    return None if value is None else parse_memory(value)


def _one_of(words: Sequence[str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if isinstance(value, str) and value in words:
            return ""
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        return f"has to be one of {', '.join(f'`{word}`' for word in words)}{hint}"

    return check


def _table(item: Callable[[Any], str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, dict):
            return "has to be a table"
        return next((f"`{key}` {problem}" for key, inner in value.items() if (problem := item(inner))), "")

    return check


def _specifier(value: Any) -> str:
    from distlint.judge.versions import is_specifier

    return "" if isinstance(value, str) and is_specifier(value) else "has to be a version specifier such as `>=0.14`"


def _requirements(value: Any) -> str:
    from packaging.requirements import InvalidRequirement, Requirement

    if _texts(value):
        return _texts(value)
    item = ""
    try:
        for item in value:
            requirement = Requirement(item)
            if requirement.url or requirement.marker:
                return f"`{item}` has to be a name and versions only, such as `torch==2.4`"
            if _is_empty(requirement.specifier):
                return f"`{item}` fits no version at all"
    except InvalidRequirement:
        return f"`{item}` is no requirement such as `torch==2.4`"
    return ""


def _is_empty(specifier: SpecifierSet) -> bool:
    """Whether bounds contradict each other: neither they nor anything between or beside them is left."""
    from packaging.version import InvalidVersion, Version

    edges: list[Version] = []
    for one in specifier:
        try:
            edges.append(Version(one.version.removesuffix(".*")))
        except InvalidVersion:
            return False
    beside = [Version(f"{edge.base_version}.{number}") for edge in edges for number in (1, 99)]
    below = [Version("0"), *(Version(str(max(edge.major - 1, 0))) for edge in edges)]
    above = [Version(str(edge.major + 1)) for edge in edges]
    candidates = (*edges, *beside, *below, *above)
    return bool(edges) and not any(specifier.contains(version, prereleases=True) for version in candidates)


def _ignores(value: Any) -> str:
    if not isinstance(value, (list, tuple)):
        return "has to be a list of selectors or of tables"
    return next((problem for item in value if (problem := _ignore_item(item))), "")


def _ignore_item(item: Any) -> str:
    if isinstance(item, str) and item:
        return ""
    if not isinstance(item, dict):
        return "has to be a list of selectors or of tables"
    for name, inner in item.items():
        if name not in _IGNORE_FIELDS:
            return f"has the unknown field `{name}`{did_you_mean(name, _IGNORE_FIELDS)}"
        if not isinstance(inner, str):
            return f"has a field `{name}` that is no string"
    return "" if item.get("rule") else "needs the field `rule`"


OPTIONS: dict[str, Option] = {
    "select": Option(_texts, [], "the rules that are on, instead of all"),
    "extend-select": Option(_texts, [], "further rules that are on"),
    "ignore": Option(_ignores, [], "rules that are off, or tables that silence a rule at one place"),
    "severity": Option(_table(_one_of(_SEVERITIES)), {}, "severities by rule, instead of the rules' own"),
    "per-file-ignores": Option(_table(_texts), {}, "rules that are off in files that fit a pattern"),
    "frameworks": Option(_table(_specifier), {}, "versions of packages, instead of what the project pins"),
    "pin": Option(_requirements, [], "versions of packages as requirements"),
    "installed": Option(_text, "", "interpreter or folder of an environment whose packages count instead of the pins"),
    "world-size": Option(_count, None, "number of processes, where no launch line tells it"),
    "gpus-per-node": Option(_count, None, "number of devices of a node"),
    "gpu-memory": Option(_memory, None, "memory of each device (`80GB`), where no launch names the device"),
    "exclude": Option(_texts, [], "patterns of files that are not read"),
    "min-confidence": Option(_one_of(_CONFIDENCES), "likely", "findings that we are less sure of are left out"),
    "fail-on": Option(_one_of(_SEVERITIES), "warning", "the severity from which on the exit code is 1"),
    "rules": Option(_texts, [], "folders with your own rule files"),
    "installed-rules": Option(_switch, False, "whether installed packages may add rules"),
    "require-reason": Option(_switch, False, "whether a suppression has to say why"),
    "root": Option(_switch, False, "whether the folder of this file is the whole project, whatever lies around it"),
    "extend": Option(_text, "", "a settings file that this one builds on"),
}


def check_values(values: Mapping[str, Any], place: Callable[[str], str]) -> None:
    """Raises ``SettingsError`` for an unknown key or a value of the wrong kind; ``place`` says where a key stands."""
    for key, value in values.items():
        option = OPTIONS.get(key)
        if option is None:
            raise SettingsError(place(key), f"unknown setting `{key}`{did_you_mean(key, OPTIONS)}")
        problem = option.check(value)
        if problem:
            raise SettingsError(place(key), f"`{key}` {problem}")


def places_of(text: str, name: str, values: Mapping[str, Any], table: str) -> dict[str, str]:
    """Where each key stands, as ``file:line``; names in tables as ``key.name``, ``ignore`` tables as ``ignore.0``."""
    toml = TomlText(text)
    places: dict[str, str] = {}
    for key, value in values.items():
        places[key] = f"{name}:{toml.line_of(table, key)}"
        inner = f"{table}.{key}".lstrip(".")
        if isinstance(value, dict):
            places.update({f"{key}.{item}": f"{name}:{toml.line_of(inner, item)}" for item in value})
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for index in range(len(value)):
                places[f"{key}.{index}"] = f"{name}:{toml.line_of(inner, '', index)}"
    return places


def parse_assignment(text: str) -> tuple[str, Any]:
    """Key and value of ``--set key=value``: the value in TOML, or else a plain string; ``a.b=1`` sets in a table."""
    key, sign, written = text.partition("=")
    key = key.strip()
    if not sign or not key:
        raise SettingsError(f"--set {text}", "has to be `key=value`")
    import tomli

    try:
        value = tomli.loads(f"value = {written}")["value"]
    except (tomli.TOMLDecodeError, RecursionError):
        value = written.strip()
    key, dot, name = key.partition(".")
    return (key, {name.strip("\"'"): value}) if dot else (key, value)


def assemble(
    root: Path,
    file: Path | None,
    files: Sequence[SettingsFile],
    assignments: Sequence[tuple[str, Any]],
    overrides: Mapping[str, Any],
) -> Settings:
    """One ``Settings`` from files, ``--set`` assignments and options of the command line, later ones winning."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    patterns: dict[str, str] = {}
    ignores: list[IgnoreEntry] = []
    folders: list[Path] = []
    installed: Path | None = None
    for source in _bases_first(files):
        _merge(values, origins, source.values, source.places)
        patterns |= dict.fromkeys(_patterns(source.values), source.folder)
        ignores += _ignore_entries(source.values.get("ignore", []), source.folder, source.places)
        if "rules" in source.values:
            folders = [_inside(source.path.parent, folder, root, source.places) for folder in source.values["rules"]]
        if "installed" in source.values:
            installed = _environment(source.path.parent, source.values["installed"])
    layers = [_layer(values)]
    command = _command_values(assignments, overrides)
    _merge(values, origins, command, dict.fromkeys(_names(command), COMMAND_LINE))
    ignores += _ignore_entries(command.get("ignore", []), "", {})
    if "rules" in command:
        folders = [Path(folder).resolve() for folder in command["rules"]]
    if "installed" in command:
        installed = _environment(Path.cwd(), command["installed"])
    return Settings(
        root=root,
        file=file,
        layers=(*layers, _layer(command)),
        severity={word: Severity.parse(level) for word, level in values.get("severity", {}).items()},
        per_file_ignores=tuple(
            (FilePattern(pattern, patterns.get(pattern, "")), tuple(words))
            for pattern, words in values.get("per-file-ignores", {}).items()
        ),
        ignores=tuple(ignores),
        pins=_pins(values),
        installed=installed,
        world_size=values.get("world-size"),
        gpus_per_node=values.get("gpus-per-node"),
        gpu_memory=_bytes(values.get("gpu-memory")),
        exclude=tuple(FilePattern(pattern, patterns.get(pattern, "")) for pattern in values.get("exclude", [])),
        min_confidence=Confidence.parse(values.get("min-confidence", "likely")),
        fail_on=Severity.parse(values.get("fail-on", "warning")),
        rule_folders=tuple(folders),
        installed_rules=values.get("installed-rules", False),
        require_reason=values.get("require-reason", False),
        values=values,
        origins=origins,
    )


def _command_values(assignments: Sequence[tuple[str, Any]], overrides: Mapping[str, Any]) -> dict[str, Any]:
    command: dict[str, Any] = {}
    for key, value in assignments:
        if isinstance(value, str) and key in OPTIONS and isinstance(OPTIONS[key].default, list):
            value = [part.strip() for part in value.split(",") if part.strip()]
        check_values({key: value}, lambda key: f"--set {key}")
        _merge(command, {}, {key: value}, {})
    given = {key: list(value) if isinstance(value, tuple) else value for key, value in overrides.items()}
    given = {key: value for key, value in given.items() if value is not None and value not in ([], {})}
    check_values(given, lambda key: f"--{key}")
    _merge(command, {}, given, {})
    return command


def _bases_first(files: Sequence[SettingsFile]) -> Iterator[SettingsFile]:
    for file in files:
        if file.base is not None:
            yield from _bases_first([file.base])
        yield file


def _merge(values: dict[str, Any], origins: dict[str, str], more: Mapping[str, Any], places: Mapping[str, str]) -> None:
    """Later values replace earlier ones; tables are merged by name, and pins are collected."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            values[key] = values[key] | value
        elif key == "pin" and key in values:
            values[key] = [*values[key], *value]
        else:
            values[key] = value
    origins.update(places)


def _names(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{name}" for name in value)


def _patterns(values: Mapping[str, Any]) -> Iterator[str]:
    yield from values.get("exclude", [])
    yield from values.get("per-file-ignores", {})


def _layer(values: Mapping[str, Any]) -> SelectionLayer:
    plain = [item for item in values.get("ignore", []) if isinstance(item, str)]
    return SelectionLayer(tuple(values.get("select", [])), tuple(values.get("extend-select", [])), tuple(plain))


def _ignore_entries(items: Sequence[Any], folder: str, places: Mapping[str, str]) -> Iterator[IgnoreEntry]:
    for index, item in enumerate(items):
        if isinstance(item, dict):
            where = places.get(f"ignore.{index}", places.get("ignore", COMMAND_LINE))
            file = FilePattern(item.get("file", ""), folder)
            yield IgnoreEntry(item["rule"], file, item.get("path", ""), item.get("reason", ""), where)


def _pins(values: Mapping[str, Any]) -> dict[str, str]:
    """Packages and specifiers of ``frameworks`` and ``pin``; names are normalised as PEP 503 says, and ``pin`` wins."""
    import re

    pins = dict(values.get("frameworks", {}))
    if values.get("pin"):
        from packaging.requirements import Requirement

        for item in values["pin"]:
            requirement = Requirement(item)
            pins[requirement.name] = str(requirement.specifier)
    return {re.sub(r"[-_.]+", "-", name).lower(): specifier for name, specifier in pins.items()}


def _environment(folder: Path, written: str) -> Path | None:
    """The environment that is named, from the folder of the settings file or the working directory."""
    return folder / Path(written).expanduser() if written else None


def _inside(folder: Path, written: str, root: Path, places: Mapping[str, str]) -> Path:
    path = (folder / written).resolve()
    where = places.get("rules", "")
    if not path.is_relative_to(root):
        raise SettingsError(where, f"the rule folder `{written}` lies outside the repository")
    if not path.is_dir():
        raise SettingsError(where, f"there is no rule folder `{written}`")
    return path
