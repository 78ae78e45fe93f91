"""The options that a parser makes of dataclasses of libraries.

Tables in ``distlint/knowledge`` say which fields such a class has in which release, and how their words are read. A
table's classes are named by package and class (``transformers.TrainingArguments``), wherever in the package they stand.
The newest release that the pins allow decides, which is what a fresh install picks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from distlint.link.parser_model import Option
from distlint.model.record import dataclass
from distlint.model.value import known, unknown

if TYPE_CHECKING:
    from distlint.knowledge.release_tables import ReleaseTable
    from distlint.link.project import Project
    from distlint.model.span import Span

_MAX_BASES = 8


@dataclass(frozen=True, slots=True)
class LibraryFields:
    """The options of a library's dataclass, and what is to say of fields that only other releases have."""

    options: tuple[Option, ...]
    elsewhere: Mapping[str, str]
    """Name of a field: since or until which release there is one."""


def library_fields(project: Project, name: str, span: Span) -> LibraryFields | None:
    """The options of a class by its dotted name, for a parser that is made at ``span``.

    ``None`` where no table has the class, or where the release in use is not known to the table.
    """
    root, _, last = name.rpartition(".")
    package = root.partition(".")[0]
    table = _table(project, f"{package}.{last}")
    if table is None:
        return None
    index = _release(table, project.environments.for_file(span.file).newest(package))
    own = table.entry("", index) if index is not None else None
    if index is None or own is None:
        return None
    options: list[Option] = []
    elsewhere: dict[str, str] = {}
    for base in own["bases"][:_MAX_BASES]:
        inherited = library_fields(project, base, span)
        if inherited is None:
            return None
        options += inherited.options
        elsewhere.update(inherited.elsewhere)
    for field in table.names:
        entry = table.entry(field, index) if field else None
        if entry is not None:
            options[:0] = _options(field, entry, span)
        elif field:
            elsewhere[field] = _when(table, field, index)
    taken = {option.dest for option in options}
    return LibraryFields(tuple(options), {field: when for field, when in elsewhere.items() if field not in taken})


def _table(project: Project, key: str) -> ReleaseTable | None:
    from distlint.knowledge.release_tables import ReleaseTable, section

    for spec in project.specs:
        data = section(spec.dataclass_table, 0).get(key) if spec.dataclass_table else None
        if data is not None:
            return ReleaseTable(data)
    return None


def _release(table: ReleaseTable, version: str) -> int | None:
    """The release of a table that a version belongs to; ``None`` for one that is older or newer than the table."""
    minor = ".".join(version.split(".")[:2]) if version.replace(".", "").isdigit() else ""
    found = table.indexes(minor) if minor else ()
    return found[0] if len(found) == 1 and table.version(found[0]) == minor else None


def _when(table: ReleaseTable, field: str, index: int) -> str:
    if table.first_index(field) > index:
        return f"there is one since {table.since(field)}"
    gone = next((at for at in table.all if at > table.first_index(field) and table.entry(field, at) is None), index)
    return f"{table.label(gone)} has it no more"


def _options(field: str, entry: Mapping[str, Any], span: Span) -> list[Option]:
    dashed = field.replace("_", "-")
    default = unknown("the library's default", span)
    kind, arity = entry["kind"], entry.get("arity", 1)
    choices = tuple(entry["choices"]) if entry.get("choices") else None
    flags = dict.fromkeys((f"--{field}", f"--{dashed}", *entry.get("aliases", ())))
    required = known(bool(entry.get("required")), span)
    found = [Option(field, tuple(flags), span, default, kind, arity, choices=choices, required=required)]
    if entry.get("negated"):
        found.append(Option(field, (f"--no_{field}", f"--no-{dashed}"), span, default, kind, 0))
    return found
