"""Keys that stand twice in a block of a configuration file.

Parameters: ``subject`` (whose ``extra`` holds ``documents``), ``refusing`` (hosts that stop at it; with any other known
host, and where the host is not known, the rule warns), ``hosts`` (the word for each host's way of taking it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.registry import CheckContext, check
from distlint.model.document import Entry, Leaf, Mapping, Sequence
from distlint.model.finding import Finding, Related, Severity
from distlint.model.subject import Subject
from distlint.model.value import absent

MAX_DEPTH = 32


@check("duplicate-keys")
def duplicate_keys(context: CheckContext) -> Iterator[Finding]:
    """A finding for each key that a later one of the same name replaces, at the later one."""
    for subject in context.subjects(context.parameters["subject"]):
        for document in subject.extra.get("documents", ()):
            if document.carrier == "dict":
                continue
            for path, first, again in _twice(document.root, "", 0):
                yield _finding(context, subject, path, first, again)


def _twice(node: Any, above: str, depth: int) -> Iterator[tuple[str, Entry, Entry]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(node, Mapping):
        seen: dict[Any, Entry] = {}
        for entry in node.entries:
            path = f"{above}.{entry.key}" if above else str(entry.key)
            if entry.key in seen:
                yield path, seen[entry.key], entry
            seen[entry.key] = entry
            yield from _twice(entry.node, path, depth + 1)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _twice(item, above, depth + 1)


def _finding(context: CheckContext, subject: Subject, path: str, first: Entry, again: Entry) -> Finding:
    host = subject.names.get("host", absent())
    refusing = host.is_known and host.only in context.parameters["refusing"]
    words = context.parameters["hosts"]
    effect = words.get(host.only if host.is_known else "unknown", words["unknown"])
    values = [entry.node.value for entry in (first, again) if isinstance(entry.node, Leaf)]
    same = len(values) == 2 and all(value.is_known for value in values) and values[0].only == values[1].only
    message = f"`{path}` is written twice" + (", with the same value" if same else "")
    return context.finding(
        message,
        again.key_span,
        related=[Related(first.key_span, "it is written here first")],
        severity=Severity.ERROR if refusing else Severity.WARNING,
        help=effect,
        symbol=path,
        runs=(subject.label,) if subject.run is not None else (),
    )
