"""The operations that a fix plan may hold: their names, what their span means, and their arguments.

A check writes ``Operation(kind, span, arguments)`` in words of the thing that it changes; ``fix.planning`` turns it
into edits of the text. An argument in square brackets may be left out. A *value* is a plain Python object (``None``,
bool, int, float, str, or a list or dict of such) that is written in the syntax of the place; *text* is source text.

Any file:

- ``replace``: span = the region (empty: insert); ``text``.
- ``delete-lines``: every line that the span touches goes.

Settings, whatever carries them (JSON, HJSON, YAML, TOML files; here-documents; dict displays and keyword arguments):

- ``set-value``: span = an existing value (also a word of a command); ``value``.
- ``set-key``: span = the mapping that shall hold the key (in Python a dict display or a call), an empty span at the
  start of a file for its root; ``path`` (keys relative to the mapping, missing blocks are made), ``value``. An existing
  value is replaced.
- ``remove-key``: span = the key, or a whole keyword argument. The entry goes with its comma and its lines.
- ``rename-key``: span = the key; ``to`` (another key in the same mapping).
- ``move-key``: span = the key; ``to_path`` (keys from the root of the document).

Python:

- ``set-argument``: span = the call; ``name``, ``text`` or ``value``, [``position``: its 0-based index where it may be
  given by position].
- ``remove-argument``: span = the call; ``name``, [``position``].
- ``rename-argument``: span = the call; ``name``, ``to``.
- ``replace-callee``: span = the call or its callee; ``to`` (dotted name). The import is added, and an import that
  nothing uses any more is removed.
- ``replace-import``: span = the import statement or one of its names; ``to`` (dotted, ``package.module.name``),
  [``name``: which of the imported names]. The name that it binds stays.
- ``add-import``: span = anywhere in the file; ``to`` (dotted name), [``alias``].
- ``insert-statement``: span = a statement or anything inside it; ``text`` (not indented), [``where``: ``before``,
  ``after``, or ``first`` or ``last`` in the body of a compound statement; default ``before``].
- ``remove-statement``: span = the statement; ``pass`` stays behind where its block would be empty.
- ``move-statement``: span = the statement; ``target`` (span of another one), [``where``: ``before`` or ``after``;
  default ``after``].

Shell:

- ``set-option``: span = the command; ``flag``, [``value``: str or number; left out or ``None`` for a switch],
  [``after``: span of the word that a new option follows; default: the end of the command].
- ``remove-option``: span = the flag; [``value``: span of the last word that goes with it].
- ``rename-option``: span = the flag (of ``--flag=value`` the value stays); ``to``.
- ``set-environment``: span = the command; ``name``, ``value`` (str or number).
- ``remove-assignment``: span = the assignment ``name=value``.

Requirements:

- ``set-specifier``: span = the requirement without comment; ``specifier`` (PEP 440, ``""`` for any version).
"""

from __future__ import annotations

from distlint.model.finding import Operation
from distlint.model.record import dataclass


@dataclass(frozen=True, slots=True)
class OperationKind:
    """The arguments of one kind of operation, by name."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def _kind(required: str = "", optional: str = "") -> OperationKind:
    return OperationKind(frozenset(required.split()), frozenset(optional.split()))


OPERATIONS: dict[str, OperationKind] = {
    "replace": _kind("text"),
    "delete-lines": _kind(),
    "set-value": _kind("value"),
    "set-key": _kind("path value"),
    "remove-key": _kind(),
    "rename-key": _kind("to"),
    "move-key": _kind("to_path"),
    "set-argument": _kind("name", "text value position"),
    "remove-argument": _kind("name", "position"),
    "rename-argument": _kind("name to"),
    "replace-callee": _kind("to"),
    "replace-import": _kind("to", "name"),
    "add-import": _kind("to", "alias"),
    "insert-statement": _kind("text", "where"),
    "remove-statement": _kind(),
    "move-statement": _kind("target", "where"),
    "set-option": _kind("flag", "value after"),
    "remove-option": _kind("", "value"),
    "rename-option": _kind("to"),
    "set-environment": _kind("name value"),
    "remove-assignment": _kind(),
    "set-specifier": _kind("specifier"),
}
"""Every operation that a plan may hold; the module's docstring says what they mean."""


class CannotFixError(ValueError):
    """An operation cannot be carried out on this text; the message says why, in words for users."""


def operation_problem(operation: Operation) -> str:
    """What is wrong with the form of an operation (unknown kind, missing or unknown argument), or ``""``."""
    kind = OPERATIONS.get(operation.kind)
    if kind is None:
        return f"unknown operation {operation.kind!r}"
    given = frozenset(operation.arguments)
    if missing := kind.required - given:
        return f"{operation.kind} lacks {', '.join(sorted(missing))}"
    if surplus := given - kind.required - kind.optional:
        return f"{operation.kind} takes no {', '.join(sorted(surplus))}"
    if operation.kind == "set-argument" and len(given & {"text", "value"}) != 1:
        return "set-argument needs either text or value"
    return ""
