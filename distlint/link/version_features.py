"""What releases of a package have: the knowledge that decides ``hasattr``, ``find_spec`` and a failing import."""

from __future__ import annotations

from functools import cache
from typing import Any

from distlint.knowledge.releases import releases


class Features:
    """The features of one package's releases; every answer is ``None`` where the knowledge does not tell."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._module = package.replace("-", "_")
        self._found: dict[tuple[str, ...], Any] = {}

    def owns(self, dotted: str) -> bool:
        """Whether a dotted name belongs to a module of the package."""
        return distribution_of(dotted, self._package) == self._package

    def has(self, dotted: str, version: str) -> bool | None:
        """Whether a release has something under a dotted name, as attribute access finds it."""
        return self._state(("has", dotted, version))

    def imports(self, module: str, name: str, version: str) -> bool | None:
        """Whether ``import module`` (``name`` is ``""``) or ``from module import name`` works."""
        if module == self._module and not name:
            return True
        return self._state(("imports", module, name, version))

    def parameters(self, dotted: str, version: str) -> tuple[str, ...] | None:
        """The names of the parameters of a function, or of a class's constructor."""
        key = ("parameters", dotted, version)
        if key not in self._found:
            table = _table()
            found = table.find(dotted, version) if table is not None else None
            symbol = found.symbol if found is not None and found.state == "present" else None
            taken = getattr(symbol, "parameters", None)
            self._found[key] = tuple(parameter.name for parameter in taken) if taken is not None else None
        names: tuple[str, ...] | None = self._found[key]
        return names

    def _state(self, key: tuple[str, ...]) -> bool | None:
        if key not in self._found:
            table = _table()
            if table is None:
                self._found[key] = None
            else:
                kind, dotted, *rest = key
                found = (
                    table.find(dotted, *rest) if kind == "has" else table.find_import(dotted, rest[0] or None, rest[1])
                )
                self._found[key] = {"present": True, "absent": False}.get(found.state)
        answer: bool | None = self._found[key]
        return answer


def distribution_of(dotted: str, package: str = "") -> str:
    """The distribution whose module a dotted name begins with; ``package`` goes first where both are possible."""
    parts = dotted.split(".")
    if package and any(_normalised(parts[:n]) == package for n in (1, 2, len(parts))):
        return package
    table = _table()
    known = table.package_of(parts[0]) if table is not None else None
    if known:
        return str(known)
    return next((name for n in (2, 1) if releases(name := _normalised(parts[:n]))), _normalised(parts[:1]))


def _normalised(parts: list[str]) -> str:
    return "-".join(parts).replace("_", "-").lower()


@cache
def _table() -> Any:
    from distlint.knowledge.api import api

    return api()
