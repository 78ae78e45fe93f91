"""Why no releases fit together, and the smallest change that makes them fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from distlint.knowledge.release_order import clauses, witnesses
from distlint.knowledge.requirements import PYTHONS, python_bits, requirements
from distlint.link.release_picks import Wish, is_met_by_newest
from distlint.link.release_sets import Problem, Step, UndecidedError

_MAX_SOLUTIONS = 300
_MAX_CANDIDATES = 40
_MAX_FACTS = 4
_FIRST_TRIES = 3


class Repair(NamedTuple):
    """A change of one requirement that makes the set consistent; ``complete`` if nothing else is wrong with it."""

    position: int
    version: str
    specifier: str
    complete: bool = True


class Conflict(NamedTuple):
    """Requirements that can't hold together.

    ``core`` are the positions of as few of them as contradict each other. ``facts`` say which release asks for what
    (``colossalai 0.5.0 asks for `transformers==4.51.3` ``). ``repairs`` are changes of one of them, the best first.
    ``pythons`` are the Pythons that releases of each package in the core, by itself, install with.
    """

    core: tuple[int, ...]
    facts: tuple[str, ...]
    repairs: tuple[Repair, ...]
    pythons: tuple[str, ...]


class Judge:
    """Decides on the requirements of one installation, for the Pythons that it may have; within bounds."""

    def __init__(self, wishes: Sequence[Wish], pythons: Iterable[str], free: Iterable[str] = ()) -> None:
        self.wishes = tuple(wishes)
        self._free = frozenset(free)
        self._bits = python_bits(pythons)
        self._left = _MAX_SOLUTIONS

    def chosen(self) -> dict[str, str] | None:
        """What an installer would pick, by package; ``None`` if nothing fits. Raises ``UndecidedError``."""
        for bit in self._bits:
            found = self._solved(self.wishes, bit)
            if found is not None:
                return found
        return None

    def conflict(self) -> Conflict | None:
        """What contradicts each other; ``None`` if the requirements can be satisfied, or that can't be decided."""
        try:
            if not self._bits or self._fits(self.wishes):
                return None
            core = self._core()
            return Conflict(core, self._facts(core), self._repairs(core), self._pythons_of(core))
        except UndecidedError:
            return None

    def _solved(self, wishes: Sequence[Wish], bit: int) -> dict[str, str] | None:
        self._left -= 1
        if self._left < 0:
            raise UndecidedError
        return Problem(wishes, bit, self._free).solve()

    def _fits(self, wishes: Sequence[Wish]) -> bool:
        """Whether some Python has releases that satisfy all; raises ``UndecidedError``."""
        open_question = False
        for at, bit in enumerate(self._bits[:_FIRST_TRIES]):
            wanted = [wish for wish in wishes if wish.pythons & bit]
            if is_met_by_newest(wanted, bit, self._free):
                self._bits.insert(0, self._bits.pop(at))
                return True
        for at, bit in enumerate(self._bits):
            try:
                if at == 1 and self._solved(wishes, 0) is None:
                    # Where the versions alone contradict, no Python is needed to tell.
                    return False
                if self._solved(wishes, bit) is not None:
                    self._bits.insert(0, self._bits.pop(at))
                    return True
            except UndecidedError:
                if self._left < 0:
                    raise
                open_question = True
        if open_question:
            raise UndecidedError
        return False

    def _core(self) -> tuple[int, ...]:
        """Positions of requirements that contradict each other, and none of which can be left out."""
        core = list(range(len(self.wishes)))
        involved = self._involved()
        if involved and not self._fits([self.wishes[at] for at in involved]):
            core = involved
        for at in list(core):
            rest = [other for other in core if other != at]
            if rest and not self._fits([self.wishes[other] for other in rest]):
                core = rest
        return tuple(core)

    def _involved(self) -> list[int]:
        """The requirements from which the contradiction follows, with one of the Pythons."""
        problem = Problem(self.wishes, self._bits[0], self._free)
        problem.solve()
        packages = {step.package.partition("[")[0] for step in _trace(problem)}
        return [at for at, wish in enumerate(self.wishes) if wish.package in packages]

    def _pythons_of(self, core: Sequence[int]) -> tuple[str, ...]:
        bits = self._bits
        for at in core:
            wish = self.wishes[at]
            known = requirements(wish.package)
            admitted = known.line.admitted(wish.specifier) if known is not None else None
            if known is not None and admitted is not None:
                bits = [bit for bit in bits if known.installable(bit) & admitted]
        return tuple(python for at, python in enumerate(PYTHONS) if 1 << at in bits)

    def _facts(self, core: Sequence[int]) -> tuple[str, ...]:
        wishes = [self.wishes[at] for at in core]
        pythons = self._pythons_of(core)
        bits = [1 << PYTHONS.index(python) for python in pythons] or self._bits
        for bit in (0, *python_bits(PYTHONS[b.bit_length() - 1] for b in bits)):
            problem = Problem(wishes, bit, self._free)
            if problem.solve() is None and (facts := tuple(_told(problem))):
                return facts
        return ()

    def _repairs(self, core: Sequence[int]) -> tuple[Repair, ...]:
        """Changes of one requirement of the core: near ones first, and those of packages that few others require."""
        found: list[tuple[tuple[int, int, int], Repair]] = []
        whole = any(self._fits(self._without(self.wishes, at)) for at in core)
        wishes = self.wishes if whole else tuple(self.wishes[at] for at in core)
        for at in core:
            position = at if whole else core.index(at)
            for version, distance in self._nearest(wishes, position):
                known = requirements(wishes[position].package)
                central = known.required_by if known is not None else 0
                specifier = moved(wishes[position].specifier, version)
                order = (distance + 1) * (central + 1)
                found.append(((order, central, at), Repair(at, version, specifier, whole)))
        return tuple(repair for _, repair in sorted(found))

    def _without(self, wishes: Sequence[Wish], at: int) -> list[Wish]:
        """The requirements with one of them for any version."""
        return [wish._replace(specifier="") if other == at else wish for other, wish in enumerate(wishes)]

    def _nearest(self, wishes: Sequence[Wish], at: int) -> Iterator[tuple[str, int]]:
        """The release nearest to a requirement that would fit, and how many releases lie between."""
        package = wishes[at].package
        known = requirements(package)
        if package in self._free or not wishes[at].specifier or not self._fits(self._without(wishes, at)):
            return
        if known is None:
            yield from self._named(wishes, at)
            return
        here = known.line.admitted(wishes[at].specifier) or 0
        if not here:
            return
        first, last = (here & -here).bit_length() - 1, here.bit_length() - 1
        possible = known.line.all & ~known.yanked & ~known.unread & ~here
        order = sorted(
            (max(first - position, position - last, 0), -position)
            for position in range(len(known.line.releases))
            if possible >> position & 1
        )
        problem = Problem(self._without(wishes, at), self._bits[0], self._free)
        left = problem.narrowed(package)
        tried = 0
        for distance, negative in order:
            if not left >> -negative & 1:
                continue
            tried += 1
            if tried > _MAX_CANDIDATES:
                return
            version = known.line.releases[-negative]
            exact = wishes[at]._replace(specifier=f"=={version}")
            if self._fits([exact if other == at else wish for other, wish in enumerate(wishes)]):
                yield version, distance
                return

    def _named(self, wishes: Sequence[Wish], at: int) -> Iterator[tuple[str, int]]:
        """The version of a package whose releases nobody knows that others name as the one, or the least, that fits."""
        problem = Problem(self._without(wishes, at), self._bits[0], self._free)
        for version in problem.named(wishes[at].package)[:_MAX_CANDIDATES]:
            exact = wishes[at]._replace(specifier=f"=={version}")
            if self._fits([exact if other == at else wish for other, wish in enumerate(wishes)]):
                yield version, 0
                return


def _trace(problem: Problem) -> list[Step]:
    """The steps from which a contradiction follows, backwards from the last."""
    wanted = {problem.steps[-1].package} if problem.steps else set()
    found = []
    for step in reversed(problem.steps):
        if step.package in wanted:
            found.append(step)
            if step.by:
                wanted.add(step.by)
    return found


def _told(problem: Problem) -> Iterator[str]:
    """What releases ask for, as far as a contradiction follows from it."""
    told: dict[str, None] = {}
    for step in reversed(_trace(problem)):
        if not step.by or step.by.partition("[")[0] == step.package.partition("[")[0]:
            continue
        asking, asked = (step.package, step.by) if step.backwards else (step.by, step.package)
        releases = step.before if step.backwards else problem.left(asking) or step.before
        told[problem.told(asking, asked, releases)] = None
    return iter([text for text in told if text][-_MAX_FACTS:])


def moved(specifier: str, version: str) -> str:
    """A specifier with the bounds that a version doesn't satisfy moved to it."""
    parts = []
    for operator, bound in clauses(specifier) or ():
        one = witnesses([f"=={version}", f"{operator}{bound}"])
        if (one.admitted(f"{operator}{bound}") or 0) & (one.admitted(f"=={version}") or 0):
            parts.append(f"{operator}{bound}")
        elif operator in (">", ">="):
            parts.append(f">={version}")
        elif operator in ("<", "<="):
            parts.append(f"<={version}")
        elif operator != "!=":
            parts.append(f"{operator if operator == '~=' and '.' in version else '=='}{version}")
    return ",".join(parts)
