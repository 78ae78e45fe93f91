"""Commands in YAML: steps of workflows, services, pods, tasks of clusters, with the environment that is written around.

Where commands and variables stand: GitHub's and GitLab's workflow syntax, the Compose specification, Kubernetes' pods,
Kubeflow's ``PyTorchJob`` (v1), ``TrainJob`` (v1alpha1) and ``MPIJob`` (v2beta1), Ray's ``RayJob`` (v1), SkyPilot's tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from distlint.model.document import Document, Leaf, Mapping, Node, lookup
from distlint.model.document import Sequence as Items
from distlint.model.shell import Carried, Expansion, For, Literal, Part, ShellFacts, Statement, Word
from distlint.model.span import LineIndex, Span
from distlint.read.carried import (
    MAX_CARRIED,
    MAX_SCRIPT,
    PiecedText,
    command_of,
    exported,
    hole_word,
    literal_word,
    parts_word,
    pieced_script,
)
from distlint.read.yaml_scalars import scalar_text

_SCRIPTS = ("run", "script", "before_script", "commands", "cmd", "bash", "entrypoint", "command", "args")
_SHELL_LISTS = frozenset({"run", "script", "before_script", "commands"})
_ENVIRONMENTS = ("env", "environment", "variables", "envs", "env_vars", "envVars")
_TEMPLATE = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}|\$\[\[\s*([\w.-]+)\s*\]\]")
_ANY_TEMPLATE = re.compile(r"\$\{\{.*?\}\}")
_KUBERNETES = re.compile(r"\$\(([A-Za-z_]\w*)\)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_PAIR = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,5}\Z")
_SERVICES = re.compile(r"^services:", re.MULTILINE)
_MAX_DEPTH = 20
_MAX_MATRIX = 8


class _Around(NamedTuple):
    """What a place in the file inherits from those around it."""

    environment: tuple[tuple[str, Word], ...] = ()
    choices: tuple[tuple[str, tuple[Node, ...]], ...] = ()
    directory: str | None = None
    cluster: tuple[Word, ...] = ()
    before: tuple[Statement, ...] = ()


def read_yaml_commands(documents: Sequence[Document], text: str, file: str) -> tuple[Carried, ...]:
    """A script for every step, service, pod and task that runs commands."""
    reader = _Reader(LineIndex(text), file, doubled=_SERVICES.search(text) is not None)
    root = "" if "/workflows/" in f"/{file}" or file.rpartition("/")[2].startswith(".gitlab-ci") else None
    for document in documents:
        for carried in reader.scripts(document.root, _Around(directory=root), 0):
            reader.found.append(carried)
            if len(reader.found) >= MAX_CARRIED:
                return tuple(reader.found)
    return tuple(reader.found)


class _Reader:
    def __init__(self, index: LineIndex, file: str, *, doubled: bool) -> None:
        self._index = index
        self._doubled = doubled
        """Whether a dollar is written twice, as in Compose files."""
        self._file = file
        self.found: list[Carried] = []

    def scripts(self, node: Node, around: _Around, depth: int) -> Iterator[Carried]:
        """The scripts below a node."""
        if depth > _MAX_DEPTH:
            return
        if isinstance(node, Items):
            for item in node.items:
                yield from self.scripts(item, around, depth + 1)
            return
        if not isinstance(node, Mapping):
            return
        around = self._inside(node, around)
        around = around._replace(cluster=self._cluster(node) or around.cluster)
        given = {entry.key: entry.node for entry in node.entries if isinstance(entry.key, str)}
        statements = self._commands(given)
        if statements and not _is_config(given):
            yield self._carried(statements, around, on_host=self._doubled and _is_on_host(node))
        skipped = {"on", *_SCRIPTS} if statements else set(_ENVIRONMENTS)
        kept = _worker_specs(given)
        for entry in node.entries:
            if entry.key not in skipped and (kept is None or entry.key in kept):
                yield from self.scripts(entry.node, around, depth + 1)

    def _carried(self, statements: tuple[Statement, ...], around: _Around, *, on_host: bool) -> Carried:
        body: tuple[Statement, ...] = (*self._exports(around), *statements)
        for name, values in around.choices:
            span = values[0].span
            words = tuple(self._word(value) for value in values)
            body = (For(variable_of(name), words, body, span),)
        return Carried(ShellFacts(body), "job", around.directory, around.cluster, on_host)

    # What is around

    def _inside(self, node: Mapping, around: _Around) -> _Around:
        environment = list(around.environment)
        for key in _ENVIRONMENTS:
            entry = node.entry(key)
            if entry is not None:
                environment += self._pairs(entry.node)
        environment += self._of_task(node)
        environment += self._of_mpi_job(node)
        choices = around.choices
        matrix = _below(node, "strategy", "matrix") or _below(node, "matrix")
        if isinstance(matrix, Mapping):
            for one in matrix.entries:
                values = one.node.items if isinstance(one.node, Items) else ()
                plain = all(isinstance(value, Leaf) for value in values)
                if isinstance(one.key, str) and plain and 0 < len(values) <= _MAX_MATRIX and len(choices) < 3:
                    choices = (*choices, (f"matrix.{one.key}", values))
        directory = around.directory
        named = lookup(node, ("working-directory",))
        if named.is_absent:
            named = lookup(node, ("defaults", "run", "working-directory"))
        if isinstance(named.only, str) and directory is not None and not named.only.startswith("/"):
            directory = named.only.removeprefix("./").rstrip("/")
        return around._replace(environment=tuple(environment), choices=choices, directory=directory)

    def _exports(self, around: _Around) -> Iterator[Statement]:
        for name, word in (*_of_cluster(around.cluster), *around.environment):
            yield exported(name, word, word.span)

    def _cluster(self, node: Mapping) -> tuple[Word, ...]:
        """The words that stand for what runs the pods of a training job: how many there are."""
        kind = lookup(node, ("kind",))
        if kind.only == "PyTorchJob":
            specs = _below(node, "spec", "pytorchReplicaSpecs")
            if not isinstance(specs, Mapping):
                return ()
            counts = [
                (entry.node, lookup(entry.node, ("replicas",))) for entry in specs.entries if entry.key != "Launcher"
            ]
            total = sum(int(count.only) if isinstance(count.only, int) else 1 for _, count in counts)
            sure = all(isinstance(count.only, int) or count.is_absent for _, count in counts)
            elastic = _below(node, "spec", "elasticPolicy") is not None
            nodes = literal_word(str(total), specs.span) if sure and not elastic else hole_word("REPLICAS", specs.span)
            each = _below(node, "spec", "nprocPerNode")
            return self._cluster_words(node, "PyTorchJob", nodes, each)
        if kind.only == "TrainJob":
            trainer = _below(node, "spec", "trainer")
            count = _below(trainer, "numNodes") if isinstance(trainer, Mapping) else None
            nodes = self._word(count) if count is not None else hole_word("NUM_NODES", node.span)
            each = _below(trainer, "numProcPerNode") if isinstance(trainer, Mapping) else None
            return self._cluster_words(node, "TrainJob", nodes, each)
        return ()

    def _cluster_words(self, node: Mapping, name: str, nodes: Word, each: Node | None) -> tuple[Word, ...]:
        span = node.entry("kind").node.span  # type: ignore[union-attr]
        words = [literal_word(name, span), literal_word("--nodes", span), nodes]
        if each is not None:
            words += [literal_word("--nproc-per-node", each.span), self._word(each)]
        return tuple(words)

    def _of_task(self, node: Mapping) -> Iterator[tuple[str, Word]]:
        """The variables that SkyPilot sets for a task: how many nodes, and how many devices each of them has."""
        run, count, resources = node.entry("run"), node.entry("num_nodes"), node.entry("resources")
        if run is None or (count is None and resources is None):
            return
        nodes = self._word(count.node) if count is not None else literal_word("1", run.key_span)
        yield "SKYPILOT_NUM_NODES", nodes
        devices = lookup(resources.node, ("accelerators",)) if resources is not None else None
        if devices is not None and isinstance(devices.only, str):
            number = devices.only.partition(":")[2] or "1"
            if _NUMBER.match(number):
                yield "SKYPILOT_NUM_GPUS_PER_NODE", literal_word(number, devices.spans[0])

    def _of_mpi_job(self, node: Mapping) -> Iterator[tuple[str, Word]]:
        """The hosts of an ``MPIJob``, and the slots of each, which its launcher finds in a host file."""
        if lookup(node, ("kind",)).only != "MPIJob":
            return
        specs = _below(node, "spec", "mpiReplicaSpecs")
        workers = _below(specs, "Worker") if specs is not None else None
        if workers is None:
            return
        count, slots = _below(workers, "replicas"), _below(node, "spec", "slotsPerWorker")
        yield "MPIJOB_WORKERS", self._word(count) if count is not None else literal_word("1", workers.span)
        yield "MPIJOB_SLOTS", self._word(slots) if slots is not None else literal_word("1", workers.span)

    def _pairs(self, node: Node) -> Iterator[tuple[str, Word]]:
        """The variables of ``{NAME: value}``, ``[{name: NAME, value: ...}]`` and ``[NAME=value]``."""
        if isinstance(node, Mapping):
            for entry in node.entries:
                if isinstance(entry.key, str) and _NAME.match(entry.key) and isinstance(entry.node, Leaf):
                    yield entry.key, self._word(entry.node, named=entry.key)
        for item in node.items if isinstance(node, Items) else ():
            if isinstance(item, Mapping):
                name = lookup(item, ("name",)).only
                if isinstance(name, str) and _NAME.match(name):
                    yield name, self._word(_below(item, "value"), named=name)
            elif isinstance(item, Leaf):
                text = scalar_text(self._index, item.span).text
                match = _PAIR.match(text)
                if match is not None:
                    yield match[1], literal_word(text[match.end() :], item.span)

    # Commands

    def _commands(self, given: dict[str, Node]) -> tuple[Statement, ...]:
        """What a step or a container runs."""
        lists = [given[key] for key in ("entrypoint", "command", "args", "cmd") if isinstance(given.get(key), Items)]
        words = [
            self._word(item) for one in lists if isinstance(one, Items) for item in one.items if isinstance(item, Leaf)
        ]
        if words:
            return (command_of(words),)
        statements: list[Statement] = []
        for key in ("before_script", "entrypoint", *_SCRIPTS):
            node = given.get(key)
            if key in ("before_script", "entrypoint") and statements:
                continue
            if isinstance(node, Items) and key in _SHELL_LISTS:
                for item in node.items:
                    statements += self._shell(item)
            elif isinstance(node, Mapping) and key == "run":
                inner = _below(node, "command")
                statements += self._shell(inner) if inner is not None else ()
            elif node is not None and key != "args":
                statements += self._shell(node)
        return tuple(statements)

    def _shell(self, node: Node) -> tuple[Statement, ...]:
        if not isinstance(node, Leaf):
            return ()
        pieces = scalar_text(self._index, node.span)
        if not pieces.size or pieces.size > MAX_SCRIPT:
            return ()
        return pieced_script(with_variables(pieces, self._index, doubled=self._doubled), self._file).statements

    def _word(self, node: Node | None, named: str = "") -> Word:
        """A value of the file as a word: templates and references are variables."""
        span = node.span if node is not None else Span(self._file, 1, 1, 1, 1)
        if not isinstance(node, Leaf):
            return hole_word("VALUE", span)
        text = scalar_text(self._index, node.span).text.removesuffix("\n")
        parts: list[Part] = []
        at = 0
        for match in re.finditer(f"{_TEMPLATE.pattern}|{_KUBERNETES.pattern}", text):
            name = match[1] or match[2] or match[3]
            parts.append(Literal(text[at : match.start()], True, 0, 0))
            parts.append(Expansion(variable_of(name) if match[3] is None else name, quoted=True, span=span))
            at = match.end()
        if not parts:
            if _ANY_TEMPLATE.search(text) or (named and re.fullmatch(rf"\$\{{?{named}\}}?", text)):
                return hole_word("TEMPLATE", span)
            return literal_word(text, span)
        parts.append(Literal(text[at:], True, 0, 0))
        return parts_word(parts, span)


def with_variables(pieces: PiecedText, index: LineIndex, *, doubled: bool) -> PiecedText:
    """The text with ``${{ env.NAME }}`` and its like as variables of the shell, and with single dollars."""
    text = pieces.text
    if "${{" not in text and "$[[" not in text and not (doubled and "$$" in text):
        return pieces
    result = PiecedText(index)
    at = 0

    def keep(low: int, high: int) -> None:
        start = low
        for end in range(low + 1, high + 1):
            if end == high or pieces.offset(end) != pieces.offset(end - 1) + 1:
                result.add(text[start:end], pieces.offset(start))
                start = end

    dollars = r"|\$\$" if doubled else ""
    for match in re.finditer(f"{_TEMPLATE.pattern}|{_ANY_TEMPLATE.pattern}{dollars}", text):
        keep(at, match.start())
        if match.group() == "$$":
            result.add("$", pieces.offset(match.start()), exact=False)
            at = match.end()
            continue
        name = match[1] or match[2]
        result.add(f"${{{variable_of(name) if name else 'TEMPLATE'}}}", pieces.offset(match.start()), exact=False)
        at = match.end()
    keep(at, len(text))
    return result


def variable_of(name: str) -> str:
    """The variable of the shell that stands for an expression: that of the environment where it is one."""
    scope, _, rest = name.partition(".")
    if scope in ("env", "envs") and _NAME.match(rest):
        return rest
    return "TEMPLATE_" + re.sub(r"\W", "_", name)


def _of_cluster(words: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    """The variables that a cluster sets in the pods of a training job."""
    if not words:
        return
    kind, nodes = words[0].literal, words[2]
    each = words[4] if len(words) > 4 else literal_word("auto", nodes.span)
    yield "PET_NNODES", nodes
    yield "PET_NPROC_PER_NODE", each
    unknown = ["PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"]
    if kind == "PyTorchJob":
        unknown += ["MASTER_ADDR", "MASTER_PORT", "RANK"]
        count = (nodes.literal or "", each.literal or "")
        if _NUMBER.match(count[0]) and _NUMBER.match(count[1]):
            yield "WORLD_SIZE", literal_word(str(int(count[0]) * int(count[1])), nodes.span)
        else:
            yield "WORLD_SIZE", nodes if each.literal == "auto" else hole_word("WORLD_SIZE", nodes.span)
    for name in unknown:
        yield name, hole_word(f"POD_{name}", nodes.span)


def _below(node: Node | None, *keys: str) -> Node | None:
    for key in keys:
        entry = node.entry(key) if isinstance(node, Mapping) else None
        if entry is None:
            return None
        node = entry.node
    return node


def _worker_specs(given: dict[str, Node]) -> set[str] | None:
    """Of the pods of a training job, which run the same, the first kind only; ``None`` where a node holds none."""
    roles = [name for name in ("Master", "Launcher", "Worker") if name in given]
    return {roles[0]} if roles and all(isinstance(given[name], Mapping) for name in roles) else None


def _is_on_host(node: Mapping) -> bool:
    """Whether a service shares the network of the host with whatever else runs there, from the start on.

    Profiles choose services, placement spreads them, and one that waits for another's end does not run beside it.
    """
    chosen = node.entry("profiles") is not None or _below(node, "deploy", "placement") is not None
    after = _below(node, "depends_on")
    ordered = isinstance(after, Mapping) and any(
        lookup(entry.node, ("condition",)).only == "service_completed_successfully" for entry in after.entries
    )
    return lookup(node, ("network_mode",)).only == "host" and not chosen and not ordered


def _is_config(given: dict[str, Node]) -> bool:
    """Whether a mapping only looks like a step: ``run`` and ``command`` are names of settings elsewhere."""
    return "choices" in given or "help" in given
