"""Conda environment files, and conda's way to write a requirement."""

from __future__ import annotations

import re
from dataclasses import replace

from distlint.knowledge.distributions import (
    CUDA,
    conda_package,
    cuda_of_build,
    cuda_of_conda,
    cuda_specifier,
    is_built_for_cuda,
)
from distlint.model.document import Document, Leaf, Mapping, Node, Sequence
from distlint.model.span import LineIndex, Span
from distlint.read.pins.quoted import inner_span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, RequirementError, normalise_name
from distlint.read.pins.requirements import INDEXES, requirement_extent

_CHANNEL = r"(?:[^\s:\[]+::|[^\s/\[]+/(?:[^\s/\[]+::)?)?"
_SPEC = re.compile(
    _CHANNEL + r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(?P<rest>[^\[]*)(?:\[(?P<keys>.*)\])?", re.ASCII
)
_BUILD_KEY = re.compile(r"""(?:^|,)\s*build\s*=\s*['"]?([^'",\]]+)""")
_LABEL = re.compile(r"/label/cuda-(\d+\.\d+)")
_PYTHON_BUILD = re.compile(r"(?<![A-Za-z0-9])py(3)\.?(\d{1,2})(?![0-9])")
_VERSION_KEY = re.compile(r"""(?:^|,)\s*version\s*=\s*(?:'([^']*)'|"([^"]*)"|([^,\s]+))""")
_CLAUSE = re.compile(r"(==|!=|<=|>=|~=|=|<|>|)\s*([0-9][A-Za-z0-9._+!-]*?)(\.?\*)?", re.ASCII)
_MAX_LENGTH = 500


def read_conda(text: str, file: str, documents: tuple[Document, ...] | None = None) -> PinReading:
    """Reads a conda environment file; an empty reading for other YAML that has ``dependencies``.

    ``documents`` saves a second parse where the caller has the YAML trees of ``text`` already.
    """
    collector = Collector(file, "conda")
    if documents is None:
        from distlint.read.yaml import read_yaml

        documents = read_yaml(text, file).documents
    root = documents[0].root if documents else None
    if not isinstance(root, Mapping):
        return collector.reading()
    entry = root.entry("dependencies")
    if entry is None or not isinstance(entry.node, Sequence) or not _is_environment(root, file):
        return collector.reading()
    index = LineIndex(text)
    for item in entry.node.items:
        _read_item(item, collector, index)
    return collector.reading()


def conda_requirement(text: str) -> Requirement:
    """Takes a conda match specification apart and translates its version to PEP 440; raises ``RequirementError``.

    ``name=2.1`` means any 2.1, ``name==2.1`` and ``name 2.1`` that very version, ``name=2.1=build`` as well.
    Alternatives (``1.2|1.4``) can't be written in PEP 440: such a requirement is *dynamic*.
    """
    match = _SPEC.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise RequirementError(f"`{text[:60]}` is not a requirement that conda accepts")
    name, rest = conda_package(normalise_name(match["name"])), match["rest"].strip()
    in_brackets = _VERSION_KEY.search(match["keys"] or "")
    if in_brackets:
        rest = next(group for group in in_brackets.groups() if group is not None)
    version = _without_build(rest)
    if version.lstrip("=") in ("", "*"):
        return Requirement(name)
    if "|" in version:
        return Requirement(name, dynamic=True)
    clauses = []
    for clause in version.split(","):
        found = _CLAUSE.fullmatch(clause.strip())
        if found is None:
            return Requirement(name, dynamic=True)
        clauses.append(_translate(*found.groups(), exact=version != rest or in_brackets is not None))
    return Requirement(name, ",".join(clauses))


def conda_requirements(text: str) -> list[Requirement]:
    """As ``conda_requirement``, with what the specification says of CUDA and Python beside it; one or several."""
    first = conda_requirement(text)
    channel = _LABEL.search(text.partition("::")[0]) if "::" in text else None
    if cuda := cuda_of_conda(first.name):
        specifier = cuda_specifier(channel[1]) if channel and not first.specifier else _of_cuda(first.specifier)
        return [Requirement(cuda, specifier, dynamic=first.dynamic)]
    build = _build(text)
    found = [first]
    if build and is_built_for_cuda(first.name) and (version := cuda_of_build(build)):
        found.append(Requirement(CUDA, cuda_specifier(version)))
    if build and (python := _PYTHON_BUILD.search(build)):
        found.append(Requirement("python", f"=={python[1]}.{python[2]}.*"))
    return found


def _of_cuda(specifier: str) -> str:
    """A specifier for CUDA: of an exact version only the first two numbers count."""
    if specifier.startswith("==") and "," not in specifier:
        return cuda_specifier(specifier[2:].removesuffix(".*"))
    return specifier


def _build(text: str) -> str:
    """The build of ``name=version=build``, ``name version build`` or ``name[build=…]``."""
    if match := _BUILD_KEY.search(text.partition("[")[2]):
        return match[1]
    match = re.fullmatch(r"[^=<>!~|,\s\[]+(?:\s*=?=\s*|\s+)[^=<>!~|,\s\[]+(?:=|\s+)([A-Za-z0-9_.*]+)", text.strip())
    return match[1] if match else ""


def _without_build(rest: str) -> str:
    """The version part of ``=2.1=build``, ``==2.1=build`` or ``2.1 build``."""
    match = re.fullmatch(r"(=?=?[^=<>!~|,\s]+)(?:=|\s+)[A-Za-z0-9_.*]+", rest)
    if match and not rest.startswith(("<", ">", "!", "~")):
        return match[1]
    return re.sub(r"(?<=[=<>!~])\s+", "", rest)


def _translate(operator: str, version: str, star: str | None, *, exact: bool) -> str:
    version = version.rstrip(".-_")
    if operator in ("", "=", "=="):
        prefix = bool(star) or (operator == "=" and not exact)
        return f"=={version}.*" if prefix else f"=={version}"
    return f"{operator}{version}.*" if operator == "!=" and star else f"{operator}{version}"


def _is_environment(root: Mapping, file: str) -> bool:
    name = file.rpartition("/")[2].lower()
    return "env" in name or "conda" in name or root.entry("channels") is not None


def _read_item(item: Node, collector: Collector, index: LineIndex) -> None:
    if isinstance(item, Leaf) and isinstance(item.value.only, str):
        span = inner_span(item, index)
        add_conda(item.value.only, span, collector)
    elif isinstance(item, Mapping):
        entry = item.entry("pip")
        for line in entry.node.items if entry is not None and isinstance(entry.node, Sequence) else ():
            if isinstance(line, Leaf) and isinstance(line.value.only, str):
                _read_pip_line(line.value.only, inner_span(line, index), collector)


def add_conda(text: str, span: Span, collector: Collector, group: str = "", *, optional: bool = False) -> None:
    """Adds what one specification asks for; an error is recorded."""
    try:
        first = len(collector.pins)
        for requirement in conda_requirements(text):
            collector.add_parsed(requirement, span, group, optional=optional)
        collector.pins[first:] = [replace(pin, elsewhere=True) for pin in collector.pins[first:]]
    except RequirementError as error:
        collector.error(span, str(error))


def _read_pip_line(text: str, span: Span, collector: Collector) -> None:
    text = text.strip()
    flag, _, value = (text.replace("=", " ", 1) if text.startswith("--") else text).partition(" ")
    if flag in INDEXES:
        collector.add_index(value.strip(), span)
    elif flag in ("-r", "--requirement", "-c", "--constraint"):
        collector.include(value.strip(), span, constraint=flag in ("-c", "--constraint"))
    elif flag in ("-e", "--editable"):
        collector.add(value, span)
    elif text[:2] == "-r" and len(text) > 2:
        collector.include(text[2:].strip(), span)
    elif not text.startswith("-"):
        first, last = requirement_extent(text)
        collector.add(text[first:last], span)
