"""For which releases of a package a place in the program is reached.

Programs that support several releases ask for the version, or try and catch. Such tests are evaluated for a release
where they can be; where they can't, the place is *guarded* and nothing may be said about it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.callers import MAX_CANDIDATES
from distlint.link.caught import around, is_caught
from distlint.link.library_uses import function_around
from distlint.link.modules import FunctionRef
from distlint.link.reachers import Reachers, stopping_conditions
from distlint.link.skipped_tests import Skips
from distlint.link.version_paths import Condition, Handler, Test, Unless, conditions_to, last_name
from distlint.link.version_tests import VersionTests
from distlint.link.version_values import OTHER, PROBE
from distlint.link.walking import below
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_LEVELS = 2
"""Callers of callers are asked, not more."""

MAX_METHODS = 10
"""A method with more calls under its name than this is not followed: which of them mean it is costly to tell."""

_RUNNERS = frozenset({"main", "train", "run", "cli", "app", "launch", "worker", "main_worker", "run_training", "_main"})
"""Functions that are the program: what is caught around their calls ends it all the same."""

_WORD = re.compile(r"[A-Za-z_]\w*")


class Place(NamedTuple):
    """A place in a file and the function whose body runs it (-1: the module's, and classes' at module level)."""

    file: str
    at: ir.Position
    function: int


class Reach:
    """Answers for one package; make one per project and package (``project.reach``), answers are remembered."""

    def __init__(self, project: Project, package: str) -> None:
        self._project = project
        self._tests = VersionTests(project, package)
        self._reachers = Reachers.of(project)
        self._skips = Skips(project, self._tests)
        self._always: dict[object, bool | None] = {}
        self._known: dict[tuple[str, object], bool | None] = {}
        self._active: set[tuple[str, object]] = set()
        self._circles = 0
        self._caught: dict[tuple[str, int, frozenset[str]], bool] = {}
        self._conditions: dict[Place, list[tuple[Condition, int]]] = {}

    def reached(self, file: str, at: ir.Position, version: str, errors: frozenset[str] | None) -> bool | None:
        """Whether a release gets to a place and a failure there is not caught.

        ``None`` where a test on the way can't be evaluated. ``errors`` are the names of the exceptions under which
        the failure can be caught (besides ``Exception``): ``ImportError`` for a missing name, and
        ``ModuleNotFoundError`` too for a missing module; ``None`` for a failure that raises nothing.
        """
        certain, unknown = self.reached_versions(file, at, (version,), errors)
        return True if certain else None if unknown else False

    def reached_versions(
        self, file: str, at: ir.Position, versions: Collection[str], errors: frozenset[str] | None
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Which of several releases get to a place where a failure is not caught: (surely, perhaps).

        Much cheaper than asking for one after the other: most places depend on no version.
        """
        function = function_around(self._project.module(file), at)
        place = Place(file, at, function)
        if errors is not None and self._is_caught(place, errors, 0):
            return frozenset(), frozenset()
        certain: list[str] = []
        unknown: list[str] = []
        for version in versions:
            answer = self._reached(place, version, 0)
            if place in self._always:
                every = frozenset(versions)
                return (every if answer else frozenset(), every if answer is None else frozenset())
            if answer is not False:
                (certain if answer else unknown).append(version)
        return frozenset(certain), frozenset(unknown)

    def depends_on_release(self, file: str, at: ir.Position) -> bool:
        """Whether tests on the way to a place ask for anything that a release decides; asked after the place was looked at."""
        return Place(file, at, function_around(self._project.module(file), at)) not in self._always

    def decided(self, test: ir.Expr, file: str, function: int, versions: Collection[str]) -> bool | None:
        """Whether a test holds for all of some releases; ``None`` where they differ, and where it is not the release that decides it."""
        answers = set()
        for version in versions:
            touched = self._tests.touched
            answers.add(self._tests.answer(Test(test, True), file, function, version))
            if self._tests.touched == touched:
                return None
        found = answers.pop() if len(answers) == 1 else None
        return found if isinstance(found, bool) else None

    # Ways to a place ---------------------------------------------------------------------------------------------

    def _reached(self, place: Place, version: str, level: int) -> bool | None:
        return self._remembered(place, version, lambda: self._way_to(place, version, level))

    def _remembered(self, node: object, version: str, compute: object) -> bool | None:
        """A computed answer: kept for all releases where it depends on none, and not kept within a circle."""
        if node in self._always:
            return self._always[node]
        key = (version, node)
        if key in self._known:
            self._tests.touched += 1
            return self._known[key]
        if key in self._active:
            self._circles += 1
            return False  # what is reached only through itself is not reached
        self._active.add(key)
        touched, circles = self._tests.touched, self._circles
        answer: bool | None = compute()  # type: ignore[operator]
        self._active.discard(key)
        if self._circles == circles or not self._active:
            if self._tests.touched == touched:
                self._always[node] = answer
            else:
                self._known[key] = answer
        return answer

    def _way_to(self, place: Place, version: str, level: int) -> bool | None:
        here = self._within(place, version)
        if here is False:
            return False
        outside = self._outside(place, version, level)
        return False if outside is False else None if None in (here, outside) else True

    def _within(self, place: Place, version: str) -> bool | None:
        """By the conditions of the body that the place is in."""
        answer: bool | None = True
        for condition, function in self._conditions_to(place):
            holds = self._tests.answer(condition, place.file, function, version)
            if holds is False:
                return False
            if holds is PROBE or (holds is OTHER and self._asks_for_it(condition, place)):
                answer = None
        return answer

    def _conditions_to(self, place: Place) -> list[tuple[Condition, int]]:
        """The conditions on the way, each with the function that poses it; class bodies run where they stand."""
        if place not in self._conditions:
            module = self._project.module(place.file)
            found = []
            at = place.at
            for owner in reversed(module.classes):
                if owner.parent == place.function and owner.at != at and ir.encloses(owner.at, at):
                    if place.function < 0 or ir.encloses(module.functions[place.function].at, owner.at):
                        found += [(condition, place.function) for condition in conditions_to(owner.body, at)]
                        at = owner.at
            body = module.functions[place.function].body if place.function >= 0 else module.body
            found += [(condition, place.function) for condition in conditions_to(body, at)]
            self._conditions[place] = found
        return self._conditions[place]

    def _asks_for_it(self, condition: Condition, place: Place) -> bool:
        """Whether a test asks for something by name that is used at the place: ``hasattr(model, "x")``."""
        if type(condition) is not Test:
            return False
        parts = list(below(condition.expr))
        if not any(last_name(part) in ("hasattr", "getattr", "signature") for part in parts if type(part) is ir.Call):
            return False
        named = {part.value for part in parts if type(part) is ir.Constant and isinstance(part.value, str)}
        if not named:
            return False
        span = ir.unpack(place.at, place.file)
        lines = self._project.text_of(place.file).splitlines()[span.line - 1 : span.end_line]
        return not named.isdisjoint(_WORD.findall("\n".join(lines)))

    # Around the body ---------------------------------------------------------------------------------------------

    def _outside(self, place: Place, version: str, level: int) -> bool | None:
        file, function = place.file, place.function
        if function < 0:
            tries = self._tries_around(place)
            key = (file, -1, *(statement.at for statement in tries))
            return self._remembered(key, version, lambda: self._module_reached(file, version, level, tries))
        return self._remembered(
            (file, function), version, lambda: self._function_reached(file, function, version, level)
        )

    def _function_reached(self, file: str, function: int, version: str, level: int) -> bool | None:
        definition = self._project.module(file).functions[function]
        answers = [self._reached(Place(file, definition.at, definition.parent), version, level)]
        if answers[0] is not False:
            answers.append(self._skips.runs(file, function, version))
            answers.append(self._goes_on(file, version))
        if False not in answers and level < MAX_LEVELS:
            answers.append(self._called(FunctionRef(file, function), version, level))
        return False if False in answers else None if None in answers else True

    def _called(self, ref: FunctionRef, version: str, level: int) -> bool | None:
        name = self._project.function(ref).name
        if name.startswith("__") and name.endswith("__") and name != "__init__":
            return True
        named = self._reachers.sites_of(ref)
        if not named or len(named) > self._most_sites(ref):
            return True if named else self._referred(ref, version, level)
        # Only where one of the calls by this name is in doubt it matters which of them mean this function.
        doubtful = [site for site in named if self._call_reached(site.file, site.site, version, level) is not True]
        if not doubtful:
            return True
        own = {(caller.file, caller.site.call.at) for caller in self._project.callers(ref)}
        sure = [site for site in named if site not in doubtful and (site.file, site.site.call.at) in own]
        if sure:
            return True
        answers = [
            self._call_reached(caller.file, caller.site, version, level) for caller in self._project.callers(ref)
        ]
        if True not in answers:
            answers.append(self._referred(ref, version, level) if self._reachers.references_to(ref) else False)
        return _any(answers) if own else True

    def _most_sites(self, ref: FunctionRef) -> int:
        return MAX_METHODS if self._project.function(ref).owner >= 0 else MAX_CANDIDATES

    def _call_reached(self, file: str, site: ir.Site, version: str, level: int) -> bool | None:
        return self._reached(Place(file, site.call.at, site.function), version, level + 1)

    def _referred(self, ref: FunctionRef, version: str, level: int) -> bool | None:
        """Whether a place is reached that takes the function as a value; one that nobody names is called from outside."""
        places = self._reachers.references_to(ref)
        if not places:
            return True
        return _any([self._reached(Place(file, at, function), version, level + 1) for file, at, function in places])

    def _tries_around(self, place: Place) -> tuple[ir.Try, ...]:
        """The ``try`` statements whose bodies hold a place of a module: what fails there is what their handlers end."""
        found = around(self._project.module(place.file).body, place.at)
        return tuple(one for one, block in found if type(one) is ir.Try and block is one.body)

    def _module_reached(self, file: str, version: str, level: int, tries: tuple[ir.Try, ...]) -> bool | None:
        stopped = self._none_stops(file, version, tries) if tries else self._goes_on(file, version)
        if stopped is not True or level >= MAX_LEVELS or self._project.module(file).is_script:
            return stopped
        places = self._reachers.imports_of(file)
        return _any(
            [self._reached(Place(path, at, function), version, level + 1) for path, at, function in places] or [True]
        )

    def _goes_on(self, file: str, version: str) -> bool | None:
        """Whether no module that this one needs ends the program: a package's ``__init__.py`` may refuse a release."""
        return self._remembered((file, "goes on"), version, lambda: self._none_stops(file, version))

    def _none_stops(self, file: str, version: str, tries: tuple[ir.Try, ...] = ()) -> bool | None:
        """The handlers of ``tries`` don't count."""
        answer: bool | None = True
        for needed in self._reachers.needed_by(file):
            for condition in stopping_conditions(self._project, needed):
                if tries and type(condition) is Unless and _is_of(condition, tries):
                    continue
                holds = self._tests.answer(condition, needed, -1, version)
                if holds is False:
                    return False
                if holds is PROBE:
                    answer = None
        return answer

    # Failures ----------------------------------------------------------------------------------------------------

    def _is_caught(self, place: Place, errors: frozenset[str], level: int) -> bool:
        module = self._project.module(place.file)
        at = place.at
        for owner in reversed(module.classes):
            if owner.parent == place.function and owner.at != at and ir.encloses(owner.at, at):
                if is_caught(self._project, place.file, owner.body, at, errors):
                    return True
                at = owner.at
        body = module.functions[place.function].body if place.function >= 0 else module.body
        if is_caught(self._project, place.file, body, at, errors):
            return True
        return level < MAX_LEVELS and self._is_caught_outside(place.file, place.function, errors, level)

    def _is_caught_outside(self, file: str, function: int, errors: frozenset[str], level: int) -> bool:
        key = (file, function, errors)
        if key not in self._caught:
            self._caught[key] = False
            self._caught[key] = self._all_catch(file, function, errors, level)
        return self._caught[key]

    def _all_catch(self, file: str, function: int, errors: frozenset[str], level: int) -> bool:
        if function < 0:
            if self._project.module(file).is_script:
                return False
            places = [Place(path, at, around) for path, at, around in self._reachers.imports_of(file)]
        else:
            ref = FunctionRef(file, function)
            named = self._reachers.sites_of(ref)
            if not named or len(named) > self._most_sites(ref) or self._project.function(ref).name in _RUNNERS:
                return False
            catching = {
                (site.file, site.site.call.at)
                for site in named
                if self._is_caught(Place(site.file, site.site.call.at, site.site.function), errors, level + 1)
            }
            if len(catching) == len(named) or not catching or self._project.function(ref).owner >= 0:
                return len(catching) == len(named)
            own = [(caller.file, caller.site.call.at) for caller in self._project.callers(ref)]
            return bool(own) and catching.issuperset(own)
        return bool(places) and all(self._is_caught(place, errors, level + 1) for place in places)


def _is_of(condition: Unless, tries: tuple[ir.Try, ...]) -> bool:
    """Whether a way out leads through a handler of one of these statements."""
    return any(type(part) is Handler and any(part.statement is one for one in tries) for part in condition.parts)


def _any(answers: Sequence[bool | None]) -> bool | None:
    if True in answers:
        return True
    return None if None in answers else False
