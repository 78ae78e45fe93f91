"""What jobs, services and tasks that are written in YAML run in: their images, and what their commands install.

Every job of a workflow, service, pod and task is an environment of its own: its pins have the group ``job<line>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

from distlint.knowledge.distributions import exactly
from distlint.model.document import Document, Entry, Leaf, Mapping, Node, lookup
from distlint.model.document import Sequence as Items
from distlint.model.span import LineIndex
from distlint.read.carried import MAX_SCRIPT, pieced_script
from distlint.read.pins.quoted import inner_span
from distlint.read.pins.reading import INDEX_VARIABLES, Collector, PinReading
from distlint.read.pins.requirement import Requirement
from distlint.read.pins.shell_installs import installs_something, pins_of_statements
from distlint.read.yaml_commands import variable_of, with_variables
from distlint.read.yaml_scalars import scalar_text

_SCRIPT_KEYS = frozenset(
    {
        "run",
        "script",
        "before_script",
        "commands",
        "command",
        "args",
        "cmd",
        "bash",
        "entrypoint",
        "setup",
        "setup_commands",
        "install",
        "before_install",
        "initialization_commands",
        "head_setup_commands",
        "worker_setup_commands",
        "file_mounts_setup",
        "setup_script",
        "inline",
        "shell",
        "build_commands",
        "pre_commands",
        "python_packages",
        "sh",
    }
)
_IMAGE_KEYS = frozenset(
    {
        "image",
        "image_id",
        "container",
        "container_image",
        "containerImage",
        "docker_image",
        "image_uri",
        "imageUri",
        "base_image",
        "baseImage",
        "docker",
        "image_name",
        "runtime_image",
        "worker_image",
        "head_image",
    }
)
_STARTS = frozenset({"steps", "runs-on", "services", "script", "run", "setup", *_IMAGE_KEYS})
_VARIABLES = ("env", "environment", "variables", "envs", "env_vars")
_TEMPLATE = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_DEFAULTED = re.compile(r"\$\{[A-Za-z_]\w*:?-([^}]*)\}")
_NAMED = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_PYTHON = re.compile(r"(?:py(?:thon)?-?)?(3\.\d{1,2}(?:\.\d+)?)")
_MAX_DEPTH = 20
_MAX_CHOICES = 16
_MAX_ENVIRONMENTS = 200

Choices = dict[str, tuple[str, ...]]
"""The values that a variable may have: one, or those of a matrix."""


class _Around(NamedTuple):
    group: str
    choices: Choices


def read_yaml_installs(documents: Sequence[Document], text: str, file: str) -> PinReading:
    """The images of jobs, services and tasks, the Python that they ask for, and what their commands install."""
    reader = _Reader(LineIndex(text), Collector(file, "shell"))
    for document in documents:
        reader.read(document.root, _Around("", {}), 0)
    return reader.collector.reading()


class _Reader:
    def __init__(self, index: LineIndex, collector: Collector) -> None:
        self._index = index
        self._groups = 0
        self.collector = collector

    def read(self, node: Node, around: _Around, depth: int) -> None:
        """Goes through a node and all below it."""
        if depth > _MAX_DEPTH:
            return
        if isinstance(node, Items):
            for item in node.items:
                self.read(item, around, depth + 1)
            return
        if not isinstance(node, Mapping):
            return
        keys = {entry.key for entry in node.entries}
        group = around.group
        if (
            not group
            and keys & _STARTS
            and self._groups < _MAX_ENVIRONMENTS
            and not ("services" in keys and depth == 0)
        ):
            group, self._groups = f"job{node.span.line}", self._groups + 1
        around = _Around(group, {**around.choices, **self._variables(node)})
        for entry in node.entries:
            self._entry(entry, node, around, depth)

    def _entry(self, entry: Entry, node: Mapping, around: _Around, depth: int) -> None:
        key, value = str(entry.key), entry.node
        if key in _IMAGE_KEYS:
            image = value if isinstance(value, Leaf) else _child(value, "name")
            if isinstance(image, Leaf):
                self._image(image, around)
        if (
            key in ("python-version", "python_version", "python", "versionSpec")
            and around.group
            and isinstance(value, (Leaf, Items))
        ):
            self._python(value, around)
        elif key in _SCRIPT_KEYS and not isinstance(value, Mapping):
            for leaf in value.items if isinstance(value, Items) else (value,):
                if isinstance(leaf, Leaf):
                    self._script(leaf, around)
                else:
                    self.read(leaf, around, depth + 1)
            self._words(value, around)
        elif not isinstance(value, Leaf):
            self.read(value, around, depth + 1)

    # Variables

    def _variables(self, node: Mapping) -> Choices:
        found: Choices = {}
        for name in _VARIABLES:
            for key, leaf in _pairs(_child(node, name)):
                text = self._text(leaf)
                if "${" not in text:
                    found[key] = (text,)
                    found[variable_of(f"env.{key}")] = (text,)
                if key in INDEX_VARIABLES:
                    self.collector.add_index(text, inner_span(leaf, self._index))
        matrix = _child(_child(node, "strategy"), "matrix") or _child(node, "matrix")
        if isinstance(matrix, Mapping):
            found |= self._matrix(matrix)
        return found

    def _matrix(self, matrix: Mapping) -> Choices:
        values: dict[str, list[str]] = {}
        for entry in matrix.entries:
            items = entry.node.items if isinstance(entry.node, Items) else ()
            for item in items:
                if isinstance(item, Leaf):
                    values.setdefault(str(entry.key), []).append(self._text(item))
                elif isinstance(item, Mapping):
                    prefix = "" if entry.key == "include" else f"{entry.key}."
                    for inner in item.entries:
                        if isinstance(inner.node, Leaf) and entry.key != "exclude":
                            values.setdefault(f"{prefix}{inner.key}", []).append(self._text(inner.node))
        return {variable_of(f"matrix.{name}"): tuple(dict.fromkeys(texts)) for name, texts in values.items()}

    # What jobs run in

    def _image(self, leaf: Leaf, around: _Around) -> None:
        for image in self._filled(self._text(leaf), around):
            self.collector.add_image(image, inner_span(leaf, self._index), f"{around.group or 'job'}#image")

    def _python(self, node: Leaf | Items, around: _Around) -> None:
        for leaf in node.items if isinstance(node, Items) else (node,):
            if isinstance(leaf, Leaf):
                for text in self._filled(self._text(leaf), around):
                    if match := _PYTHON.fullmatch(text.strip("\"' ")):
                        span = inner_span(leaf, self._index)
                        self.collector.add_parsed(Requirement("python", exactly(match[1])), span, around.group)

    def _script(self, leaf: Leaf, around: _Around) -> None:
        pieces = scalar_text(self._index, leaf.span)
        if not pieces.size or pieces.size > MAX_SCRIPT or not installs_something(pieces.text):
            return
        filled = with_variables(pieces, self._index, doubled=False)
        statements = pieced_script(filled, self.collector.file).statements
        for variables in self._combinations(filled.text, around):
            reading = pins_of_statements(statements, "shell", self.collector.file, variables, around.group)
            self.collector.take(_without_repeated(reading, self.collector))

    def _words(self, node: Node, around: _Around) -> None:
        """A command as a list of words: ``[bash, -c, "pip install …"]`` was read word by word, ``[pip, install, …]`` not."""
        from distlint.read.pins.command_lines import pins_from_words

        if isinstance(node, Items) and len(node.items) > 2 and all(isinstance(item, Leaf) for item in node.items):
            words = [(self._text(item), item.span) for item in node.items if isinstance(item, Leaf)]
            if words[0][0] and " " not in words[0][0]:
                self.collector.take(pins_from_words(words, "shell", self.collector.file, around.group))

    def _combinations(self, text: str, around: _Around) -> Iterator[dict[str, str]]:
        """The values of the variables that a text names: one set for each cell of a matrix."""
        names = [name for name in around.choices if name in text]
        values = (around.choices[name] for name in names)
        for combination in islice(product(*values), _MAX_CHOICES):
            yield dict(zip(names, combination, strict=True))

    def _filled(self, text: str, around: _Around) -> Iterator[str]:
        """A text with its variables replaced by what they may be."""
        text = _TEMPLATE.sub(lambda match: f"${{{variable_of(match[1])}}}", text)
        text = _DEFAULTED.sub(lambda match: match[1], text)
        for variables in self._combinations(text, around):
            found = variables
            yield _NAMED.sub(lambda match, found=found: found.get(match[1] or match[2], match[0]), text)  # type: ignore[misc]

    def _text(self, leaf: Leaf) -> str:
        return scalar_text(self._index, leaf.span).text.strip()


def _without_repeated(reading: PinReading, collector: Collector) -> PinReading:
    """What cells of a matrix add anew."""
    return PinReading(
        tuple(pin for pin in reading.pins if pin not in collector.pins),
        tuple(include for include in reading.includes if include not in collector.includes),
        tuple(error for error in reading.errors if error not in collector.errors),
    )


def _child(node: Node | None, key: str) -> Node | None:
    entry = node.entry(key) if isinstance(node, Mapping) else None
    return entry.node if entry is not None else None


def _pairs(node: Node | None) -> Iterator[tuple[str, Leaf]]:
    """The variables of ``{NAME: value}`` and ``[{name: NAME, value: …}]``."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            if isinstance(entry.node, Leaf):
                yield str(entry.key), entry.node
    for item in node.items if isinstance(node, Items) else ():
        name, value = lookup(item, ("name",)).only if isinstance(item, Mapping) else None, _child(item, "value")
        if isinstance(name, str) and isinstance(value, Leaf):
            yield name, value
