"""What GPT-NeoX does not take of its configuration files.

As ``from_ymls`` (``cls(**config)``, for which an unknown key is a TypeError) and ``validate_types`` of
``megatron/neox_arguments/arguments.py`` do it. A key or a value is only reported where no release takes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from distlint.frameworks.refused import Refused
from distlint.knowledge.config_names import nearest
from distlint.knowledge.release_tables import ReleaseTable, section
from distlint.model.document import Document, Entry, node_value
from distlint.model.document import Mapping as Block
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import Project

UNKNOWN_KEY, WRONG_TYPE = "unknown-key", "wrong-type"

_COPY = "megatron/neox_arguments/"
_WORDS = {"int": "a whole number", "float": "a number", "str": "a string", "bool": "true or false", "list": "a list"}
_WORDS |= {"dict": "a mapping", "None": "null"}


def neox_refusals(project: Project, documents: Sequence[Document]) -> Iterator[Refused]:
    """Every key that GPT-NeoX does not know, and every value that is of another type than its key has."""
    table = ReleaseTable(section("megatron_arguments", 1))
    copy = [file for file in project.python_files if _COPY in file]
    for document in documents:
        for entry in document.root.entries if isinstance(document.root, Block) else ():
            if not isinstance(entry.key, str) or not entry.certain:
                continue
            name = entry.key.replace("-", "_")
            if name in table.names:
                yield from _mistyped(table, entry, name)
            elif not any(f" {name}:" in project.text_of(file) for file in copy):
                yield _unknown(table, entry, name)


def _unknown(table: ReleaseTable, entry: Entry, name: str) -> Refused:
    near = nearest(name, table.names)
    hint = f"; did you mean `{_as_written(str(entry.key), near)}`?" if near else ""
    return Refused(
        UNKNOWN_KEY,
        f"GPT-NeoX has no key `{entry.key}`{hint}",
        entry.key_span,
        name,
        confidence=Confidence.LIKELY,
    )


def _as_written(key: str, name: str) -> str:
    return name.replace("_", "-") if "-" in key else name


def _mistyped(table: ReleaseTable, entry: Entry, name: str) -> Iterator[Refused]:
    kind, value = _kind(entry)
    if not kind or kind == "NoneType" or value == "auto":
        return
    infos = [info for index in table.all if (info := table.entry(name, index)) is not None]
    if any(_takes(info, kind, value) for info in infos):
        return
    info = infos[-1]
    wanted = [_WORDS.get(word, word) for word in info["types"] if word != "None"]
    if "choices" in info:
        wanted = ["one of " + ", ".join(f"`{choice}`" for choice in info["choices"])]
    shown = f"`{value}`" if kind in ("int", "float") else f'`"{value}"`' if kind == "str" else _WORDS.get(kind, kind)
    if kind == "bool":
        shown = f"`{str(value).lower()}`"
    hint = ""
    if kind == "str" and "float" in info["types"] and _is_number(str(value)):
        hint = "; YAML reads an exponent as a number only behind a point and with a sign (`1.0e-5`)"
    yield Refused(
        WRONG_TYPE,
        f"`{entry.key}` has to be {' or '.join(wanted)}, not {shown}{hint}",
        entry.node.span,
        name,
        confidence=Confidence.LIKELY,
    )


def _kind(entry: Entry) -> tuple[str, Any]:
    """The name of the type that a value has once it is loaded; ``""`` where it is not known."""
    if isinstance(entry.node, Block):
        return "dict", None
    value = node_value(entry.node)
    if not value.is_known:
        return "", None
    return type(value.only).__name__, value.only


def _takes(info: Mapping[str, Any], kind: str, value: Any) -> bool:
    types = info["types"]
    if info.get("derived") or "Any" in types:
        return True
    if "choices" in info and not info.get("union"):
        choices = info["choices"]
        folded = [choice.lower() for choice in choices if isinstance(choice, str)]
        return value in choices or (isinstance(value, str) and value.lower() in folded)
    if kind in types or "choices" in info:
        return True
    return kind == "int" and types == ["float"]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
