"""What releases of a package have: the knowledge that decides ``hasattr``, ``find_spec`` and a failing import."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import Any

from distlint.knowledge.releases import releases


class Features:
    """The features of one package's releases; every answer is ``None`` where the knowledge does not tell."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._module = package.replace("-", "_")
        self._found: dict[tuple[str, ...], Any] = {}
        self._releases: dict[str, tuple[str, ...]] = {}

    def owns(self, dotted: str) -> bool:
        """Whether a dotted name belongs to a module of the package."""
        return distribution_of(dotted, self._package) == self._package

    def has(self, dotted: str, version: str) -> bool | None:
        """Whether a release has something under a dotted name, as attribute access finds it."""
        return self._state(("has", dotted, version))

    def ever(self, dotted: str) -> bool:
        """Whether some release has something under a dotted name."""
        return bool(_table().history(dotted))

    def imports(self, module: str, name: str, version: str) -> bool | None:
        """Whether ``import module`` (``name`` is ``""``) or ``from module import name`` works."""
        if module == self._module and not name:
            return True
        return self._state(("imports", module, name, version))

    def parameters(self, dotted: str, version: str) -> tuple[str, ...] | None:
        """The names of the parameters of a function, or of a class's constructor."""
        key = ("parameters", dotted, version)
        if key not in self._found:
            found = [_table().find(dotted, release) for release in self._standing(version)]
            symbols = [one.symbol if one.state == "present" else None for one in found]
            taken = {_names(getattr(symbol, "parameters", None)) for symbol in symbols}
            self._found[key] = taken.pop() if len(taken) == 1 else None
        names: tuple[str, ...] | None = self._found[key]
        return names

    def kind(self, dotted: str, version: str) -> str:
        """Whether a release has a ``module``, a ``class`` or a ``function`` under a dotted name; ``""`` where that is not known."""
        found = [_table().find(dotted, release) for release in self._standing(version)]
        kinds = {one.symbol.kind if one.state == "present" and one.symbol is not None else "" for one in found}
        return str(kinds.pop()) if len(kinds) == 1 else ""

    def _state(self, key: tuple[str, ...]) -> bool | None:
        if key not in self._found:
            kind, dotted, *rest = key
            table = _table()
            states = {
                (table.find(dotted, one) if kind == "has" else table.find_import(dotted, rest[0] or None, one)).state
                for one in self._standing(rest[-1])
            }
            self._found[key] = _ANSWERS.get(states.pop()) if len(states) == 1 else None
        answer: bool | None = self._found[key]
        return answer

    def _standing(self, version: str) -> tuple[str, ...]:
        """The releases of the table that stand for one: itself, or where it is not in it, its neighbours."""
        if version not in self._releases:
            table = _table()
            if table.covers(self._package, version):
                self._releases[version] = (version,)
            else:
                from packaging.version import Version

                known = table.releases(self._package)
                place = bisect_left([Version(one) for one in known], Version(version))
                self._releases[version] = (known[place - 1], known[place]) if 0 < place < len(known) else ()
        return self._releases[version]


def _names(parameters: Any) -> tuple[str, ...] | None:
    return None if parameters is None else tuple(parameter.name for parameter in parameters)


_ANSWERS = {"present": True, "absent": False}


def distribution_of(dotted: str, package: str = "") -> str:
    """The distribution whose module a dotted name begins with; ``package`` goes first where both are possible."""
    parts = dotted.split(".")
    if package and any(_normalised(parts[:n]) == package for n in (1, 2, len(parts))):
        return package
    table = _table()
    known = table.package_of(parts[0])
    if known:
        return str(known)
    return next((name for n in (2, 1) if releases(name := _normalised(parts[:n]))), _normalised(parts[:1]))


def _normalised(parts: list[str]) -> str:
    return "-".join(parts).replace("_", "-").lower()


@cache
def _table() -> Any:
    from distlint.knowledge.api import api

    return api()
