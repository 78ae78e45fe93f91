"""Which names, parameters, defaults and deprecation marks the releases of frameworks have.

The table ``api.zip`` is made from the released packages by ``tools/harvest``; ``docs/knowledge.md`` describes it. It is opened at
the first question, and only the members that questions are about are read, so a run that asks nothing pays nothing.

"Absent" is said only of a name that some other release has, and only where nothing in the release can bring it in at run time:
a name that no release has is unknown here, since the table does not see what C extensions and run-time tricks define.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from distlint.knowledge.api_symbols import Found, Param, Symbol, merged
from distlint.knowledge.api_table import Table
from distlint.knowledge.api_walk import Walker
from distlint.model.record import dataclass

__all__ = ["Api", "Edition", "Found", "Param", "Symbol", "api"]

PATH = Path(__file__).with_name("api.zip")


@cache
def api() -> Api:
    """The table that is shipped; the same object every time. Without a readable table file it knows no package."""
    return Api(PATH)


@dataclass(frozen=True)
class Edition:
    """The number of a table file, the day of its harvest, and the checksum of its members."""

    version: str
    harvested: str
    checksum: str


class Api:
    """Questions about released APIs. Dotted names start with the top module of a package, as code writes them."""

    def __init__(self, path: Path) -> None:
        """Opens nothing yet."""
        self._table = Table(path)
        self._walkers: dict[tuple[str, int], Walker] = {}
        self._histories: dict[tuple[str, str], tuple[tuple[int, int], ...]] = {}

    @property
    def edition(self) -> Edition:
        """What the table file says of itself; empty texts for one that is missing."""
        index = self._table.index
        return Edition(index.get("version", ""), index.get("harvested", ""), index.get("checksum", ""))

    def is_intact(self) -> bool:
        """Whether the checksum that the table file names is that of its members; reads the whole file."""
        return self._table.checksum() == self.edition.checksum != ""

    def size(self, package: str) -> int:
        """How many names all releases of a package have had."""
        return int(self._table.index["packages"].get(package, {}).get("names", 0))

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages in the table, by their normalised names, sorted."""
        return self._table.packages

    def package_of(self, top_module: str) -> str | None:
        """The package that installs a top-level module; ``None`` if the table has none."""
        return self._table.package_of(top_module)

    def tops(self, package: str) -> tuple[str, ...]:
        """The top-level modules that a package installs; ``()`` for an unknown package."""
        return self._table.tops(package)

    def releases(self, package: str) -> tuple[str, ...]:
        """The releases that were harvested, oldest first, withdrawn ones too; ``()`` for an unknown package."""
        return self._table.releases(package)

    def yanked(self, package: str) -> tuple[str, ...]:
        """Those of the harvested releases that were withdrawn."""
        return self._table.yanked(package)

    def covers(self, package: str, version: str) -> bool:
        """Whether exactly this release was harvested; ``2.1`` and ``2.1.0+cu121`` mean ``2.1.0``."""
        return self._table.position(package, version) is not None

    def content(self, member: str) -> bytes | None:
        """A member of the table file that other modules read (``requires/torch.json``); ``None`` if it has none."""
        return self._table.content(member)

    def has(self, member: str) -> bool:
        """Whether the table file has a member of that name."""
        return self._table.has(member)

    def members(self, folder: str) -> tuple[str, ...]:
        """The names of the members in a folder (``requires/``), sorted."""
        return self._table.members(folder)

    def find(self, dotted: str, version: str) -> Found:
        """What a dotted name is in a release when code reaches it by attribute access.

        A class member is reached through its class (``pkg.Class.method``), also one that a base class has.
        """
        walker = self._walker(dotted, version)
        return walker.attribute(dotted) if walker else Found("unknown")

    def find_import(self, module: str, name: str | None, version: str) -> Found:
        """What ``from module import name`` gets in a release, or ``import module`` where ``name`` is ``None``."""
        walker = self._walker(module, version)
        return walker.imported(module, name) if walker else Found("unknown")

    def names(self, module: str, version: str) -> tuple[str, ...]:
        """The names that a module of a release binds, sorted, without its submodules; ``()`` if it is not known."""
        walker = self._walker(module, version)
        return walker.names(module) if walker else ()

    def history(self, dotted: str, parameter: str | None = None) -> tuple[tuple[str, str], ...]:
        """The stretches of releases, (first, last) each, that have a name, or that parameter of it."""
        package = self.package_of(dotted.partition(".")[0])
        if package is None:
            return ()
        releases = self.releases(package)
        return tuple((releases[first], releases[last]) for first, last in self._history(package, dotted, parameter))

    def default(self, dotted: str, parameter: str, version: str) -> str | None:
        """The default of a parameter as source text; ``None`` if it has none or that is not known."""
        symbol = self.find(dotted, version).symbol
        found = symbol.parameter(parameter) if symbol else None
        return found.default if found else None

    def deprecated_since(self, dotted: str, version: str, parameter: str | None = None) -> str:
        """The release since which a name, or that parameter, has been deprecated without a break until ``version``.

        ``""`` if it is not deprecated in ``version``. Withdrawn releases are passed over.
        """
        package = self.package_of(dotted.partition(".")[0])
        at = self._table.position(package, version) if package else None
        if package is None or at is None:
            return ""
        releases, withdrawn = self.releases(package), set(self.yanked(package))
        since = ""
        for position in range(at, -1, -1):
            symbol = self.find(dotted, releases[position]).symbol
            message = "" if symbol is None else symbol.deprecated
            if symbol is not None and parameter is not None:
                message = symbol.deprecated_parameters.get(parameter, "")
            if not message:
                if releases[position] in withdrawn and position != at:
                    continue
                break
            if releases[position] not in withdrawn or not since:
                since = releases[position]
        return since

    def moved(self, dotted: str, version: str) -> str:
        """Where a name that this release lacks can be had in it, as a dotted path; ``""`` if nobody knows."""
        walker = self._walker(dotted, version)
        package = self.package_of(dotted.partition(".")[0])
        if walker is None or package is None:
            return ""
        return walker.moved(dotted) or self._advised(package, dotted, walker)

    def lender(self, dotted: str, field: str, version: str) -> str:
        """The class of another package in the table that lends a dataclass a field; ``""`` if the field is its own.

        Which release of that package is in use decides whether there is such a field.
        """
        walker = self._walker(dotted, version)
        return walker.lender(dotted, field) if walker else ""

    def derived_with(self, owner: str, member: str, version: str, parameter: str | None = None) -> bool:
        """Whether a class below ``owner`` in a release may have a member, one that takes the parameter, of its own.

        Looks through the whole package: for what seems wrong with an object that may be of any such class.
        """
        from distlint.knowledge.api_derived import derived_with

        walker, package = self._walker(owner, version), self.package_of(owner.partition(".")[0])
        if walker is None or package is None:
            return False
        return derived_with(walker, self._table, package, owner, member, parameter)

    def _advised(self, package: str, dotted: str, walker: Walker) -> str:
        """The first name in the deprecation message of another release that this one has."""
        for _, last in reversed(self._history(package, dotted)):
            symbol = self._walker_at(package, last).symbol(dotted)
            for name in re.findall(r"[A-Za-z_][\w.]*\w", symbol.deprecated if symbol else ""):
                top, beside = name.partition(".")[0], f"{dotted.rpartition('.')[0]}.{name}"
                path = name if "." in name and self.package_of(top) == package else beside
                if path != dotted and walker.symbol(path) is not None:
                    return str(path)
        return ""

    def _walker(self, dotted: str, version: str) -> Walker | None:
        package = self.package_of(dotted.partition(".")[0])
        at = self._table.position(package, version) if package else None
        return None if package is None or at is None else self._walker_at(package, at)

    def _walker_at(self, package: str, position: int) -> Walker:
        found = self._walkers.get((package, position))
        if found is None:
            found = self._walkers[package, position] = Walker(self._table, package, position, self._history)
        return found

    def _history(self, package: str, dotted: str, parameter: str | None = None) -> tuple[tuple[int, int], ...]:
        """The stretches of releases, by index, that have a name or a parameter."""
        key = (dotted, parameter or "")
        if key not in self._histories:
            present: list[tuple[int, int]] = []
            for position in range(len(self.releases(package))):
                symbol = self._walker_at(package, position).symbol(dotted)
                if symbol is not None and (parameter is None or symbol.accepts(parameter) is True):
                    present.append((position, position))
            self._histories[key] = merged(present)
        return self._histories[key]
