"""Recipes of tests: YAML files whose ``MODEL_ARGS`` a script turns into Megatron's command line.

As in Megatron-LM's ``tests/functional_tests/shell_test_utils/_run_training.sh`` (core 0.9 to 0.19): ``true`` leaves the
option alone, a text in brackets becomes several words, anything else is one word behind the option; ``ENV_VARS`` are
exported; ``MODEL_ARGS_2`` and so on are further runs; eight processes per node where ``GPUS_PER_NODE`` says nothing. The
recipes beside it (``tests/test_utils/recipes``) say which script runs a file, and on how many nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.model.document import Document, Entry, Leaf, Mapping, Node, Sequence, find, node_value
from distlint.model.launch import Argument, Launch
from distlint.model.record import dataclass
from distlint.model.value import Value, absent, known, one_of, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_RUN = re.compile(r"MODEL_ARGS(?:_[0-9]{1,3})?")
_LIST = re.compile(r"\[([^\]]*)\]")
_USUAL_PROCESSES = 8
_RUNNER = "to_entries"


@dataclass(frozen=True, slots=True)
class _Host:
    """What a recipe says of the test cases that it starts: the script, nodes, and processes per node."""

    folder: str
    model: str
    cases: frozenset[str]
    script: str
    nodes: Value
    processes: Value


def recipe_launches(project: Project) -> Iterator[Launch]:
    """One launch for every set of options in the recipes of a project."""
    files = [(path, facts.documents[0]) for path, facts in project.documents.files()]
    recipes = [(path, document) for path, document in files if _sets(document)]
    if not recipes:
        return
    hosts = [host for _, document in files if (host := _host(project, document)) is not None]
    false_is_word = any(_RUNNER in text and "MODEL_ARGS" in text for text in _scripts(project))
    for path, document in recipes:
        for entry in _sets(document):
            yield _launch(project, path, document, entry, _hosts_of(path, hosts), false_is_word=false_is_word)


def _scripts(project: Project) -> Iterator[str]:
    for path in sorted(project.paths):
        if path.endswith(".sh") and "test" in path:
            yield project.text_of(path)


def _sets(document: Document) -> list[Entry]:
    """The sets of options that a document has."""
    if document.format != "yaml" or not isinstance(document.root, Mapping):
        return []
    found = {}
    for entry in document.root.entries:
        if isinstance(entry.key, str) and _RUN.fullmatch(entry.key) and isinstance(entry.node, Mapping):
            options = entry.node.entries
            if options and all(isinstance(option.key, str) for option in options):
                found[entry.key] = entry
    return [entry for entry in found.values() if _are_options(entry.node)]


def _are_options(node: Node) -> bool:
    return isinstance(node, Mapping) and any(entry.key.startswith("--") for entry in node.entries)


def _launch(
    project: Project, path: str, document: Document, entry: Entry, hosts: list[_Host], *, false_is_word: bool
) -> Launch:
    environment = _environment(document)
    processes = _processes(document, str(entry.key), environment, hosts)
    nodes = _same([host.nodes for host in hosts]) if hosts else unknown("no recipe says on how many nodes it runs")
    world = unknown("the number of processes is not known", entry.key_span)
    if nodes.is_known and processes.is_known and isinstance(processes.only, int):
        world = known(nodes.only * processes.only, *processes.spans, *nodes.spans)
    scripts = {host.script for host in hosts}
    script = min(scripts) if len(scripts) == 1 else ""
    arguments, is_open = _arguments(entry.node, false_is_word=false_is_word)
    folder = _root_of(path)
    named = f"{folder}{script.removeprefix('./')}"
    return Launch(
        launcher="torchrun",
        span=entry.key_span,
        script=known(script, entry.key_span) if script else unknown("no recipe says which script it is"),
        script_file=named if script and named in project.paths else "",
        arguments=tuple(arguments),
        options={},
        nodes=nodes,
        processes_per_node=processes,
        world_size=world,
        environment=environment,
        provides=frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}),
        directory=folder.rstrip("/"),
        open_arguments=is_open,
        file=path,
    )


def _root_of(path: str) -> str:
    """The folder of the repository that a recipe is in: above ``tests``."""
    head, found, _ = f"/{path}".rpartition("/tests/")
    return f"{head[1:]}/" if found and head else ""


# Options -------------------------------------------------------------------------------------------------------------


def _arguments(node: Node, *, false_is_word: bool) -> tuple[list[Argument], bool]:
    """The words that a set of options becomes, and whether there may be others."""
    assert isinstance(node, Mapping)  # noqa: S101 - the caller asked for such sets
    words: list[Argument] = []
    is_open = node.open
    last = {entry.key: entry for entry in node.entries}
    for entry in last.values():
        name = str(entry.key).strip()
        value = node_value(entry.node)
        if not entry.certain or not name.startswith("-"):
            is_open = True
            continue
        if value.is_known and value.only is False and not false_is_word:
            continue
        words.append(Argument(known(name, entry.key_span), entry.key_span, name))
        words.extend(_words(entry.node, value))
    return words, is_open


def _words(node: Node, value: Value) -> Iterator[Argument]:
    span = node.span
    text = _word(value.only) if value.is_known and not isinstance(node, Sequence) else "$"
    if value.only is True or not text.strip():
        return
    words = None if "$" in text or "`" in text else _read(text)
    if words is None:
        yield Argument(unknown("the environment or the runner says it", span), span, "${WORDS}")
        return
    yield from (Argument(known(word, span), span, word) for word in words)


def _read(text: str) -> list[str] | None:
    """The words that the runner makes of a value: ``xargs`` takes quotes off, and ``eval`` reads the rest as the shell does.

    ``None`` where that depends on the release: texts with spaces.
    """
    import shlex

    try:
        trimmed = " ".join(shlex.split(text))
        if trimmed == "true":
            return []
        listed = _LIST.fullmatch(trimmed)
        if listed is not None:
            return shlex.split(listed[1])
        if " " in trimmed:
            return None
        return [trimmed] if trimmed.startswith("(") else shlex.split(trimmed)
    except ValueError:
        return None


# The world around it -------------------------------------------------------------------------------------------------


def _environment(document: Document) -> dict[str, Value]:
    entry, _ = find(document.root, ("ENV_VARS",))
    if entry is None or not isinstance(entry.node, Mapping):
        return {}
    found = {}
    for one in entry.node.entries:
        value = node_value(one.node)
        if value.is_known and "$" in str(value.only):
            value = unknown("the environment says it", one.node.span)
        found[str(one.key)] = value.map(_word).at(one.node.span)
    return found


def _word(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _processes(document: Document, key: str, environment: dict[str, Value], hosts: list[_Host]) -> Value:
    for keys in (("MODEL_ENV_VARS", key, "GPUS_PER_NODE"), ("ENV_VARS", "GPUS_PER_NODE")):
        entry, _ = find(document.root, keys)
        if entry is not None:
            return node_value(entry.node).map(lambda number: int(str(number))).at(entry.node.span)
    if not hosts:
        return unknown("no recipe says on how many processes it runs")
    return _same([host.processes for host in hosts])


def _same(values: list[Value]) -> Value:
    """What all recipes say that start a file; one of a few where they differ."""
    if any(not value.is_known for value in values):
        return unknown("not every recipe says it")
    spans = tuple(span for value in values for span in value.spans)
    return one_of([value.only for value in values], spans[:1])


def _host(project: Project, document: Document) -> _Host | None:
    """What a document is as a recipe of test cases; ``None`` where it is none.

    Its script holds ``${{...}}``, for which templates are not known as values: the text of the file is searched.
    """
    if document.format != "yaml" or not isinstance(document.root, Mapping):
        return None
    spec, _ = find(document.root, ("spec",))
    products, _ = find(document.root, ("products",))
    if spec is None or products is None or not isinstance(products.node, Sequence):
        return None
    told = {key: _plain(spec.node, key) for key in ("model", "nodes", "gpus")}
    model, text = told["model"].only, project.text_of(document.file)
    if not isinstance(model, str) or "_PARAMS_PATH" not in text:
        return None
    runs = re.search(r"TRAINING_SCRIPT_PATH=\"?([\w./-]+\.py)\"?\s", text)
    return _Host(
        _root_of(document.file),
        model,
        frozenset(_cases(products.node)),
        runs[1] if runs else "",
        _count(told["nodes"]),
        _per_node(text, told["gpus"]),
    )


def _plain(node: Node, key: str) -> Value:
    entry = node.entry(key) if isinstance(node, Mapping) else None
    if entry is None:
        return absent()
    value = node_value(entry.node)
    return value if value.spans else value.at(entry.node.span)


def _count(value: Value) -> Value:
    return value if value.is_known and type(value.only) is int and value.only > 0 else unknown("no count is given")


def _per_node(text: str, devices: Value) -> Value:
    """How many processes a node gets: what the recipe's script exports, or the usual number."""
    stated = re.search(r"GPUS_PER_NODE=(\S+)", text)
    if stated is None:
        # devices that are fewer than the processes are counted by what starts the recipe
        usual = devices.is_known and devices.only == _USUAL_PROCESSES
        return devices if usual else unknown("the number of processes per node is not known")
    if stated[1] == "{gpus}":
        return _count(devices)
    return known(int(stated[1]), *devices.spans) if stated[1].isdecimal() else unknown("a script says it")


def _cases(products: Sequence) -> Iterator[str]:
    """The names of the test cases of a recipe."""
    for item in products.items:
        entry = item.entry("test_case") if isinstance(item, Mapping) else None
        names = entry.node.items if entry is not None and isinstance(entry.node, Sequence) else ()
        for name in names:
            if isinstance(name, Leaf) and isinstance(name.value.only, str):
                yield name.value.only


def _hosts_of(path: str, hosts: list[_Host]) -> list[_Host]:
    parts = path.split("/")
    if len(parts) < 3:
        return []
    near = [host for host in hosts if host.folder == _root_of(path)]
    return [host for host in near if host.model == parts[-3] and parts[-2] in host.cases]
