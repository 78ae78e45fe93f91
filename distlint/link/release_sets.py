"""Whether releases of several packages exist that satisfy all requirements: a project's own and those of the releases.

Every package has the set of releases that are still possible (a number, one bit for each). What all of them require
narrows other packages; releases that require what is no longer possible fall out. Where that leaves a choice, the newest
releases are tried first, as installers do. The number of tries is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from distlint.knowledge.release_order import ReleaseLine, clauses, witnesses
from distlint.knowledge.requirements import ALL_PYTHONS, Requirements, Row, requirements
from distlint.link.release_picks import Wish, admitted_by, is_beyond, may_clash

_MAX_TRIES = 200
_MAX_PACKAGES = 400


class Step(NamedTuple):
    """How a package was narrowed: by which other one (``""``: by the project), from and to which releases.

    ``backwards`` says that what fell out asks for releases of the other package that are no longer possible.
    """

    package: str
    by: str
    before: int
    left: int
    backwards: bool = False


Edges = Mapping[str, Sequence[tuple[int, int]]]
"""What a package asks of others: parts of its releases, each with the releases of the other package that it admits."""


class ContradictionError(Exception):
    """Nothing is left of a package."""


class UndecidedError(Exception):
    """Nothing was found out within the bounds."""


class Problem:
    """The requirements of one installation with one Python (its bit; 0: leave Pythons, and what hangs on them, out)."""

    def __init__(self, wishes: Iterable[Wish], python: int, free: Iterable[str] = ()) -> None:
        """``free`` are packages of which nothing is known: neither their version nor what they require."""
        self.python = python
        wanted = python or ALL_PYTHONS
        self.wishes = tuple(wish for wish in wishes if wish.pythons & wanted == wanted)
        self._lines: dict[str, ReleaseLine] = {}
        self._edges: dict[str, Edges] = {}
        self._asking: dict[str, set[str]] = {}
        self._left: dict[str, int] = {}
        self._present: set[str] = set()
        self.steps: list[Step] = []
        self.tries = 0
        self._free = {*free, *(wish.package for wish in self.wishes if is_beyond(wish))}
        self._close()

    def line(self, package: str) -> ReleaseLine:
        """The releases of a package, or versions that stand for those of one that was not harvested."""
        return self._lines[_base(package)]

    def solve(self) -> dict[str, str] | None:
        """The newest releases that fit together, by package; ``None`` if there are none.

        Raises ``UndecidedError`` where that takes too many tries.
        """
        try:
            queue = self._begin()
            self._spread(queue)
            self._choose()
        except ContradictionError:
            return None
        return {
            package: self.line(package).newest(self._left[package])
            for package in sorted(self._present)
            if "[" not in package and requirements(package) is not None
        }

    def _close(self) -> None:
        """Collects the packages that may come in, and what they ask of each other."""
        asked: dict[str, set[str]] = {}
        queue: list[str] = []
        for wish in self.wishes:
            asked.setdefault(wish.package, set()).add(wish.specifier)
            queue += [wish.package, *(f"{wish.package}[{extra}]" for extra in wish.extras)]
        rows: dict[str, list[Row]] = {}
        while queue:
            node = queue.pop()
            if node in rows:
                continue
            if len(rows) >= _MAX_PACKAGES:
                raise UndecidedError
            base, _, extra = node.rstrip("]").partition("[")
            known = requirements(base) if base not in self._free else None
            rows[node] = [] if known is None else _rows_for(base, extra, self.python)
            if extra:
                queue.append(base)
            for row in rows[node]:
                if row.package in self._free:
                    continue
                asked.setdefault(row.package, set()).add(row.specifier)
                queue += [row.package, *(f"{row.package}[{extra}]" for extra in row.extras)]
        wished = {wish.package for wish in self.wishes if wish.specifier}
        for package, specifiers in asked.items():
            known = requirements(package) if package not in self._free else None
            if known is not None:
                self._lines[package] = known.line
            elif package in wished or may_clash(specifiers):
                self._lines[package] = witnesses(sorted(specifiers))
        for node, own in rows.items():
            if _base(node) in self._lines:
                self._edges[node] = self._edges_of(node, own)
                self._left[node] = self._possible(node)
                for other in self._edges[node]:
                    self._asking.setdefault(other, set()).add(node)

    def _edges_of(self, node: str, rows: Sequence[Row]) -> Edges:
        edges = _known_edges(*_parts(node), self.python)
        if self._free:
            edges = {other: parts for other, parts in edges.items() if _base(other) not in self._free}
        others = [row for row in rows if row.package in self._lines and requirements(row.package) is None]
        return {**edges, **_edges(others, self._lines)} if others else edges

    def _possible(self, node: str) -> int:
        base = _base(node)
        known = requirements(base) if base not in self._free else None
        if known is None:
            return self._lines[base].all
        return known.installable(self.python) if self.python else known.line.all

    def _begin(self) -> list[str]:
        """Applies what the project asks for itself."""
        queue = []
        for wish in self.wishes:
            package = wish.package
            if package not in self._lines or package in self._free:
                continue
            admitted = _admitted(self._lines[package], requirements(package), wish.specifier)
            if not wish.limits_only:
                for node in (package, *(f"{package}[{extra}]" for extra in wish.extras)):
                    self._present.add(node)
                    queue.append(node)
            self._narrow(package, "", admitted, queue)
        return queue

    def _narrow(self, node: str, by: str, admitted: int, queue: list[str], *, backwards: bool = False) -> None:
        before = self._left[node]
        left = before & admitted
        if left == before:
            return
        self._left[node] = left
        self.steps.append(Step(node, by, before, left, backwards))
        if not left and node in self._present:
            raise ContradictionError
        queue.append(node)
        queue += [other for other in self._asking.get(node, ()) if other in self._present]

    def _spread(self, queue: list[str]) -> None:
        """Narrows until nothing changes; raises ``ContradictionError``."""
        while queue:
            node = queue.pop()
            if node not in self._present:
                continue
            left = self._left[node]
            if not left:
                raise ContradictionError
            base = _base(node)
            if base != node:
                self._enter(base, queue)
                self._narrow(base, node, left, queue)
                self._narrow(node, base, self._left[base], queue)
                left = self._left[node]
            for other, parts in self._edges[node].items():
                refused, asking, admitted = 0, 0, 0
                for releases, wanted in parts:
                    here = releases & left
                    if not here:
                        continue
                    if wanted & self._left[other]:
                        asking |= here
                        admitted |= wanted
                    else:
                        refused |= here
                if refused:
                    self._narrow(node, other, ~refused, queue, backwards=True)
                    left = self._left[node]
                if asking == left:
                    self._narrow(other, node, admitted, queue)
                    self._enter(other, queue)
            if base == node:
                for other in self._extras_of(base):
                    self._narrow(other, base, left, queue)

    def _extras_of(self, base: str) -> list[str]:
        return [node for node in self._present if node.startswith(f"{base}[")]

    def _enter(self, node: str, queue: list[str]) -> None:
        if node not in self._present:
            self._present.add(node)
            queue.append(node)
            if not self._left[node]:
                raise ContradictionError

    def narrowed(self, package: str) -> int:
        """The releases of a package that are left before anything is tried; none if the requirements contradict."""
        try:
            self._spread(self._begin())
        except ContradictionError:
            return 0
        return self._left.get(package, 0)

    def present(self) -> dict[str, int]:
        """The releases that are left, before anything is tried, of the harvested packages that are certainly there.

        Empty if the requirements contradict each other.
        """
        try:
            self._spread(self._begin())
        except ContradictionError:
            return {}
        return {node: self._left[node] for node in self._present if "[" not in node and requirements(node) is not None}

    def named(self, package: str) -> list[str]:
        """The versions that packages which are certainly there name for another one with ``==``, ``>=`` or ``<=``."""
        self.narrowed(package)
        found: dict[str, None] = {}
        for node in sorted(self._present & self._edges.keys()):
            base, extra = _parts(node)
            for row in _rows_for(base, extra, self.python) if base not in self._free else ():
                if row.package == package and row.releases & self._left[node]:
                    found.update((v, None) for op, v in clauses(row.specifier) or () if op in ("==", ">=", "<=", "~="))
        return [version for version in found if "*" not in version]

    def told(self, asking: str, asked: str, releases: int) -> str:
        """What some releases of a package ask of another one, in words; ``""`` if they don't."""
        base, extra = _parts(asking)
        line, name = self._lines[base], _base(asked)
        rows = [row for row in _rows_for(base, extra, self.python) if row.package == name and row.releases & releases]
        if not rows:
            return ""
        first, last = line.releases[(releases & -releases).bit_length() - 1], line.newest(releases)
        texts = [f"`{name}{row.specifier}`" for row in sorted(rows, key=lambda row: -row.releases)]
        told = " or ".join(dict.fromkeys(texts[:1] + texts[-1:]))
        which = last if first == last else f"{first} to {last}"
        return f"{base}{f'[{extra}]' if extra else ''} {which} ask{'s' if first == last else ''} for {told}"

    def left(self, package: str) -> int:
        """The releases of a package that were possible at last."""
        return self._left[package]

    def _choose(self) -> None:
        """Tries the newest releases first, package by package."""
        node = next((one for one in self._order() if self._is_open(one)), None)
        if node is None:
            return
        while True:
            self.tries += 1
            if self.tries > _MAX_TRIES:
                raise UndecidedError
            saved = dict(self._left), set(self._present), len(self.steps)
            newest = 1 << (self._left[node].bit_length() - 1)
            same = self._like(node, newest)
            try:
                queue: list[str] = []
                self._narrow(node, "", same, queue)
                self._spread(queue)
                self._choose()
            except ContradictionError:
                self._left, self._present = saved[0], saved[1]
                del self.steps[saved[2] :]
                queue = []
                self._narrow(node, "", ~same, queue)
                self._spread(queue)
                if not self._is_open(node):
                    self._choose()
                    return
            else:
                return

    def _order(self) -> list[str]:
        first = {wish.package: at for at, wish in enumerate(self.wishes)}
        return sorted(self._present, key=lambda node: (first.get(_base(node), len(first)), node))

    def _is_open(self, node: str) -> bool:
        """Whether the releases that are left of a package ask for different things."""
        left = self._left[node]
        return any(
            left & releases and left & ~releases for parts in self._edges[node].values() for releases, _ in parts
        )

    def _like(self, node: str, release: int) -> int:
        """The releases left of a package that ask for the same as one of them."""
        same = self._left[node]
        for parts in self._edges[node].values():
            around = 0
            for releases, _ in parts:
                if releases & release:
                    same &= releases
                    break
                around |= releases
            else:
                same &= ~around
        return same


def _base(node: str) -> str:
    return node.partition("[")[0]


def _parts(node: str) -> tuple[str, str]:
    base, _, extra = node.rstrip("]").partition("[")
    return base, extra


def _admitted(line: ReleaseLine, known: Requirements | None, specifier: str) -> int:
    """The releases that a specifier admits for an installer; all where it can't be read."""
    if known is not None:
        return admitted_by(known, specifier)
    found = line.admitted(specifier)
    return line.all if found is None else found


@cache
def _rows_for(package: str, extra: str, python: int) -> list[Row]:
    """What a package, or one of its extras, asks for with a Python."""
    known = requirements(package)
    wanted = python or ALL_PYTHONS
    return [row for row in known.rows if row.extra == extra and row.pythons & wanted == wanted] if known else []


@cache
def _known_edges(package: str, extra: str, python: int) -> Edges:
    """What a package, or one of its extras, asks of harvested packages."""
    rows = _rows_for(package, extra, python)
    lines = {row.package: known.line for row in rows if (known := requirements(row.package)) is not None}
    return _edges([row for row in rows if row.package in lines], lines)


def _edges(rows: Iterable[Row], lines: Mapping[str, ReleaseLine]) -> Edges:
    found: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        line = lines[row.package]
        # Without a release that fits, it is pre-releases that are asked for, or what the index has no more.
        admitted = _admitted(line, requirements(row.package), row.specifier) or line.all
        for node in (row.package, *(f"{row.package}[{extra}]" for extra in row.extras)):
            parts = found.setdefault(node, [])
            rest = row.releases
            for at in range(len(parts)):
                releases, wanted = parts[at]
                both = releases & rest
                if both:
                    rest &= ~both
                    parts[at] = (both, wanted & admitted)
                    if releases & ~both:
                        parts.append((releases & ~both, wanted))
            if rest:
                parts.append((rest, admitted))
    return {node: _merged(parts) for node, parts in found.items()}


def _merged(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Parts that admit the same joined."""
    together: dict[int, int] = {}
    for releases, wanted in parts:
        together[wanted] = together.get(wanted, 0) | releases
    return [(releases, wanted) for wanted, releases in together.items()]
