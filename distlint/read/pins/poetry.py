"""Requirements as tables, and Poetry's version constraints in PEP 440's words."""

from __future__ import annotations

import re

from distlint.model.document import Leaf, Mapping, Sequence
from distlint.model.value import Value
from distlint.read.pins.requirement import Requirement, RequirementError, normalise_name

_SUFFIX = r"(?:[-._]?[A-Za-z][A-Za-z0-9.]*)?(?:\+[A-Za-z0-9.]+)?"
_CLAUSE = re.compile(rf"(\^|~=|~|==|=|!=|<=|>=|<|>|)\s*v?(\d+(?:\.\d+)*)((?:\.\*|\.x)?)({_SUFFIX})", re.ASCII)
_MAX_LENGTH = 500


def poetry_requirement(name: str, version: Value | None, fields: Mapping | None) -> Requirement:
    """The requirement of one table entry; raises ``RequirementError``.

    ``version`` is the constraint, ``fields`` the table around it where there is one. Alternatives (``||``) can't be
    written in PEP 440: such a requirement is *dynamic*.
    """
    name = normalise_name(name)
    marker, extras, url = _fields(fields) if fields is not None else ("", (), "")
    if version is None or not version.is_known:
        return Requirement(name, "", extras, marker, url, dynamic=not url)
    text = version.only
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        raise RequirementError("a version constraint must be a string")
    if "|" in text:
        return Requirement(name, "", extras, marker, url, dynamic=True)
    return Requirement(name, version_specifier(text), extras, marker, url)


def version_specifier(text: str) -> str:
    """Poetry's constraint in PEP 440's words.

    ``^1.2`` is ``>=1.2,<2``, ``~1.2`` is ``>=1.2,<1.3``, ``1.2`` is ``==1.2``. Raises ``RequirementError``.
    """
    clauses = []
    joined = re.sub(r"(?<=[<>=~^!])\s+", "", text.strip())
    for part in re.split(r"\s*,\s*|\s+", joined):
        if part in ("", "*", "latest"):
            continue
        match = _CLAUSE.fullmatch(part)
        if match is None:
            raise RequirementError(f"`{text[:60]}` is not a version constraint")
        clauses.append(_translate(match[1], match[2], bool(match[3]), match[4]))
    return ",".join(clauses)


def _translate(operator: str, release: str, star: bool, suffix: str) -> str:
    numbers = [int(number) for number in release.split(".")]
    version = release + suffix
    if operator == "^":
        fixed = next((position for position, number in enumerate(numbers) if number), len(numbers) - 1)
        return f">={version},<{_next(numbers, fixed)}"
    if operator == "~":
        return f">={version},<{_next(numbers, min(1, len(numbers) - 1))}"
    if operator in ("", "=", "=="):
        return f"=={release}.*" if star else f"=={version}"
    if star and operator == "!=":
        return f"!={release}.*"
    return f"{operator}{version}"


def _next(numbers: list[int], position: int) -> str:
    return ".".join(str(number) for number in [*numbers[:position], numbers[position] + 1])


def _fields(fields: Mapping) -> tuple[str, tuple[str, ...], str]:
    """Marker, extras and address of a table."""
    marker = _text(fields, "markers")
    if python := _text(fields, "python"):
        asked = " and ".join(_python_clause(clause) for clause in version_specifier(python).split(",") if clause)
        marker = " and ".join(part for part in (f"({marker})" if marker and asked else marker, asked) if part)
    entry = fields.entry("extras")
    items = entry.node.items if entry is not None and isinstance(entry.node, Sequence) else ()
    names = [item.value.only for item in items if isinstance(item, Leaf) and isinstance(item.value.only, str)]
    return marker, tuple(sorted({normalise_name(extra) for extra in names})), _address(fields)


def _python_clause(clause: str) -> str:
    match = re.match(r"[<>=!~]+", clause)
    operator = match[0] if match else "=="
    return f'python_version {operator} "{clause[len(operator) :]}"'


def _address(fields: Mapping) -> str:
    if git := _text(fields, "git"):
        reference = _text(fields, "tag") or _text(fields, "ref") or _text(fields, "rev") or _text(fields, "branch")
        return f"git+{git}@{reference}" if reference else f"git+{git}"
    for key in ("url", "path", "file"):
        if address := _text(fields, key):
            return address
    return ""


def _text(fields: Mapping, key: str) -> str:
    entry = fields.entry(key)
    value = entry.node.value.only if entry is not None and isinstance(entry.node, Leaf) else None
    return value if isinstance(value, str) else ""
