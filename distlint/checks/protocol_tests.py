"""The tests of a program that must go the same way twice: what one of them decided holds for the other.

Two tests are the same if they compare the same things, and nothing in between gave one of them another value. So a way through the
program that enters ``if last:`` and leaves out a later ``if last:`` is none. What is known of tests that count goes on with the count
(``protocol_rounds``), and what a variable holds is what the test gave when it was stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from distlint.checks.execution import body_of
from distlint.checks.protocol_entering import names_changing
from distlint.checks.protocol_keys import Key, Keys, UnlikeError, is_test
from distlint.checks.protocol_rounds import (
    CONSTANT,
    ROUND,
    TURN,
    Limits,
    Sum,
    at_value,
    completes,
    excludes,
    holds_term,
    is_count,
    limits_of,
    moved,
    sum_of,
)
from distlint.link.abstract import Frame
from distlint.link.walking import asks_for_main, below, bound_names, guards_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf

if TYPE_CHECKING:
    from distlint.link.program import Program, Step
    from distlint.link.project import Project

Results = tuple[tuple[int, bool], ...]
"""What is known of tests, by their numbers."""

MAX_WAY = 8
"""Calls that are gone up to the loop that a step is in."""

MAX_TESTS = 12
"""Tests that are kept in mind at once."""

MAX_MEANT = 4
"""Functions and parameters that are gone through to the test behind them."""


class Tests:
    """The tests of a program that occur more than once, or hold for the whole run."""

    def __init__(self, project: Project, program: Program, extra: Iterator[tuple[ir.Expr, Frame]]) -> None:
        self._project = project
        self._program = program
        self._keys = Keys(project)
        self._taken: set[Key] = set()
        """Variables that take the items of something else than numbers in order: what a test of one gives in the last turn is open."""
        self._find_limits(program)
        counts: dict[Key, int] = {}
        for step in program.steps:
            if step.point.kind == "test" and step.point.expr is not None and len(step.next) > 1:
                self._count(step.point.expr, step.frame, counts, 1)
        chosen = list(extra)
        for expr, frame in chosen:
            self._count(expr, frame, counts, 2)
        self._behind: dict[Key, set[Key]] = {}
        for step in program.steps:
            stored = self._stored(step, counts)
            if stored is not None:
                self._count(stored[1], step.frame, counts, 2)  # what decides by a name is as good as asked twice
                counts[stored[0]] += 1
                self._behind.setdefault(stored[0], set()).update(self._families(stored[1], step.frame))
                if self._is_open(stored[1], step.frame):
                    self._taken.add(stored[0][1])
        self._count_moved(program, counts)
        self._choosing = {key for expr, frame in chosen for key in self._families(expr, frame)}
        together: dict[Key, int] = {}
        for key, count in counts.items():
            together[_family(key)] = together.get(_family(key), 0) + count
        kept = [key for key in counts if together[_family(key)] > 1][:MAX_TESTS]
        self._numbers = {key: number for number, key in enumerate(kept)}
        self._names: dict[tuple[object, str], set[int]] = {}
        self._attributes: dict[str, set[int]] = {}
        self._frames: dict[object, set[int]] = {}
        for key, number in self._numbers.items():
            self._depends(key, number)

    def _count_moved(self, program: Program, counts: dict[Key, int]) -> None:
        """What tests that count are about once their counter has gone on: the first pass of a round is then the second one."""
        for step in program.steps:
            statement = step.point.statement
            if step.point.kind != "bind" or not isinstance(statement, ir.AugAssign) or statement.operator != "+":
                continue
            if type(statement.value) is not ir.Constant or type(statement.value.value) is not int:
                continue
            try:
                counter = self._keys.term(statement.target, step.frame)
            except UnlikeError:
                continue
            for key in [one for one in counts if one[0] == ROUND]:
                following = moved(key, counter, statement.value.value)
                if following is not None:
                    counts.setdefault(following, 1)

    def _find_limits(self, program: Program) -> None:
        """What is known of the variables of loops; of one that several loops have, nothing."""
        several: set[Key] = set()
        for step in program.steps:
            loop = step.point.statement
            if step.point.kind != "loop" or not isinstance(loop, ir.For):
                continue
            try:
                found = limits_of(loop, lambda expr, step=step: self._keys.term(expr, step.frame))  # type: ignore[misc]
            except UnlikeError:
                continue
            if found is None:
                self._taken.update(self._terms(loop.target, step.frame))
                continue
            if self._keys.limits.get(found[0], found[1]) != found[1]:
                several.add(found[0])
            self._keys.limits[found[0]] = found[1]
        for key in several:
            del self._keys.limits[key]

    def _is_open(self, test: ir.Expr, frame: Frame) -> bool:
        """Whether what a test gives in the last turn of a loop is open."""
        keys = [self._keys.key(one, inside) for one, inside in self._atoms(test, frame, 0)]
        return any(key is not None and key[0][0] != ROUND and _holds_any(key[0], self._taken) for key in keys)

    def _terms(self, target: ir.Expr, frame: Frame) -> Iterator[Key]:
        for one in target.items if isinstance(target, ir.ListDisplay) else (target,):
            if isinstance(one, ir.Name):
                yield self._keys.term(one, frame)

    def _count(self, expr: ir.Expr, frame: Frame, counts: dict[Key, int], by: int) -> None:
        for one, inside in self._atoms(expr, frame, 0):
            found = self._keys.key(one, inside)
            if found is not None:
                counts[found[0]] = counts.get(found[0], 0) + by

    def _atoms(self, expr: ir.Expr, frame: Frame, depth: int) -> Iterator[tuple[ir.Expr, Frame]]:
        """The tests that a test is made of."""
        if type(expr) is ir.Operation and expr.operators[0] in ("not", "and", "or"):
            for one in expr.operands:
                yield from self._atoms(one, frame, depth)
            return
        meant = self._keys.meant(expr, frame) if depth < MAX_MEANT else None
        if meant is not None:
            yield from self._atoms(*meant, depth + 1)
        else:
            yield expr, frame

    def _families(self, expr: ir.Expr, frame: Frame) -> Iterator[Key]:
        """What the tests in a test are about; also those that a variable holds the result of."""
        for one, inside in self._atoms(expr, frame, 0):
            found = self._keys.key(one, inside)
            family = _family(found[0]) if found is not None else ("?",)
            yield family
            yield from self._behind.get(family, ())
            if family[0] == ROUND and family[1] in self._keys.limits:
                last = self._keys.limits[family[1]].last
                if last is not None:
                    yield (ROUND, last.base, family[2])

    def tells(self, step: Step) -> bool:
        """Whether tests that choose a context are, or may be, those that decide whether a step of the same loop is reached.

        If others decide about it, nobody knows which results go together.
        """
        if not self._choosing:
            return True
        deciding = {
            family
            for test, frame in tests_around(self._project, self._program, step)
            for family in self._families(test, frame)
        }
        return not deciding or bool(deciding & self._choosing)

    def outcomes(
        self, expr: ir.Expr, frame: Frame, results: Results, depth: int = 0
    ) -> list[tuple[bool | None, Results]]:
        """What a test may give, with what is known of tests then; ``None`` where nothing is known of it."""
        if type(expr) is ir.Operation and expr.operators == ("not",):
            found = self.outcomes(expr.operands[0], frame, results, depth)
            return [(None if one is None else not one, known) for one, known in found]
        if type(expr) is ir.Operation and expr.operators[0] in ("and", "or"):
            return self._of_several(expr, frame, results, depth)
        if _is_truth(expr):
            return [(expr.value is True, results)]  # type: ignore[union-attr]
        meant = self._keys.meant(expr, frame) if depth < MAX_MEANT else None
        if meant is not None:
            return self.outcomes(*meant, results, depth + 1)
        key = self._keys.key(expr, frame)
        number = self._numbers.get(key[0]) if key is not None else None
        if key is None or number is None or (key[0][0] != ROUND and _holds_any(key[0], self._taken)):
            return [(None, results)]
        ways: list[tuple[bool | None, Results]] = []
        for value in (True, False):
            known = self._with(results, number, value=value)
            if known is not None:
                ways.append((value is key[1], known))
        return ways

    def in_between(self, expr: ir.Expr, frame: Frame, depth: int = 0) -> bool | None:
        """What a test of a round gives in a pass that neither begins nor ends one; ``None`` where it asks for something else.

        A round that may have one pass only, as one whose length is an option that is 1 unless it is given, has no such pass.
        """
        if type(expr) is ir.Operation and expr.operators == ("not",):
            found = self.in_between(expr.operands[0], frame, depth)
            return None if found is None else not found
        if type(expr) is ir.Operation and expr.operators[0] in ("and", "or"):
            ends = expr.operators[0] == "or"
            given = [self.in_between(one, frame, depth) for one in expr.operands]
            return ends if ends in given else None if None in given else not ends
        meant = self._keys.meant(expr, frame) if depth < MAX_MEANT else None
        if meant is not None:
            return self.in_between(*meant, depth + 1)
        key = self._keys.key(expr, frame)
        if key is None or not is_count(key[0]) or (key[0][0] == ROUND and not self._has_several(expr, frame)):
            return None
        return not key[1]

    def in_between_at(self, step: Step) -> tuple[int | None, bool | None]:
        """What the test of a step gives in such a pass; with the number of the variable's test where it is stored there."""
        if step.point.kind == "test" and step.point.expr is not None:
            return None, self.in_between(step.point.expr, step.frame)
        stored = self._stored(step, self._numbers)
        return (None, None) if stored is None else (self._numbers[stored[0]], self.in_between(stored[1], step.frame))

    def _has_several(self, expr: ir.Expr, frame: Frame) -> bool:
        """Whether the rounds that a test counts are known to have several passes."""
        evaluator = self._project.evaluator(None)
        for part in below(expr):
            if type(part) is ir.Operation and part.operators == ("%",):
                size = evaluator.ask_in(part.operands[1], frame)
                numbers = size.value.options if isinstance(size, Leaf) else ()
                if not numbers or not all(type(one) is int and one > 1 for one in numbers):
                    return False
        return True

    def of_each_turn(self, step: Step) -> bool:
        """Whether a step is come to in each turn of the innermost loop around it, or in all turns of it or in none."""
        return all(self._lasts(test, frame) for test, frame in tests_around(self._project, self._program, step))

    def _lasts(self, test: ir.Expr, frame: Frame) -> bool:
        """Whether a test gives the same in all turns of the loop around it: it is about what nothing there gives another value."""
        names: set[str] = set()
        for part in below(test):
            if type(part) is ir.Attribute:
                if not names_changing(self._project, part.name) <= {"__init__"}:
                    return False
            elif type(part) is ir.Name:
                names.add(part.id)
            elif type(part) not in (ir.Constant, ir.Operation):
                return False
        body = body_of(self._project, frame.file, frame.function)
        loops = [one for one in statements(body) if isinstance(one, ir.For | ir.While) and ir.encloses(one.at, test.at)]
        if not loops:
            return not (names - {"self"}) & self._project.flow(frame.file, frame.function).bound
        targets = [one.target for one in loops if isinstance(one, ir.For)]
        for one in statements(loops[-1].body):
            if isinstance(one, ir.Assign):
                targets += one.targets
            elif isinstance(one, ir.For | ir.AugAssign):
                targets.append(one.target)
            elif isinstance(one, ir.With):
                targets += [bound for _, bound in one.items if bound is not None]
        return not names.intersection(name for one in targets for name in bound_names(one))

    def _of_several(
        self, expr: ir.Operation, frame: Frame, results: Results, depth: int
    ) -> list[tuple[bool | None, Results]]:
        ends = expr.operators[0] == "or"
        open_: list[tuple[bool | None, Results]] = [(not ends, results)]
        done: list[tuple[bool | None, Results]] = []
        for operand in expr.operands:
            following: list[tuple[bool | None, Results]] = []
            for so_far, known in open_:
                for value, after in self.outcomes(operand, frame, known, depth):
                    if value is ends:
                        done.append((ends, after))
                    else:
                        following.append((None if value is None else so_far, after))
            open_ = following
        return [*done, *open_]

    def _with(self, results: Results, number: int, *, value: bool) -> Results | None:
        """What is known once a test is known to give ``value``; ``None`` where it can't give that."""
        known = dict(results)
        if known.setdefault(number, value) is not value:
            return None
        key = next((key for key, one in self._numbers.items() if one == number))
        if is_count(key):
            for other, one in self._numbers.items():
                if one == number or other[:3] != key[:3]:
                    continue
                follows = (
                    False if value and excludes(key, other) else True if not value and completes(key, other) else None
                )
                if follows is not None and known.setdefault(one, follows) is not follows:
                    return None
        return tuple(sorted(known.items()))

    # What steps change -----------------------------------------------------------------------------------------------

    def after(self, step: Step, label: str, results: Results) -> list[Results]:
        """What is known of tests behind a step, on one way out of it; several where a stored test may give one or the other."""
        if not self._numbers:
            return [results]
        if step.point.kind == "loop" and label == "done":
            ended = self._behind_loop(step, results)
            return [] if ended is None else [ended]
        changed = self._changed(step)
        kept = tuple([one for one in results if one[0] not in changed]) if changed else results
        if step.point.kind != "bind":
            return [kept]
        stored = self._stored(step, self._numbers)
        if stored is not None:
            found = []
            for value, known in self.outcomes(stored[1], step.frame, results):
                kept = tuple([one for one in known if one[0] not in changed])
                behind = kept if value is None else self._with(kept, self._numbers[stored[0]], value=value)
                if behind is not None:
                    found.append(behind)
            return found
        return [self._counted_on(step, results, kept)]

    def _counted_on(self, step: Step, before: Results, kept: Results) -> Results:
        """What is known of tests whose counter went on by a number, or began with one."""
        statement = step.point.statement
        target = statement.target if isinstance(statement, ir.AugAssign) else None
        if isinstance(statement, ir.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        if target is None or not isinstance(statement, ir.Assign | ir.AugAssign) or statement.value is None:
            return kept
        try:
            counter = self._keys.term(target, step.frame)
            value = sum_of(statement.value, lambda expr: self._keys.term(expr, step.frame))
        except UnlikeError:
            return kept
        by = None
        if isinstance(statement, ir.AugAssign):
            if value.base == CONSTANT and statement.operator in ("+", "-"):
                by = value.offset if statement.operator == "+" else -value.offset
        elif value.base == counter:
            by = value.offset
        elif value.base == CONSTANT:
            return self._known_at(kept, counter, value)
        if by is None:
            return kept
        result: Results | None = kept
        given = dict(before)
        for key, number in self._numbers.items():
            following = moved(key, counter, by) if is_count(key) and number in given else None
            if following in self._numbers and result is not None:
                result = self._with(result, self._numbers[following], value=given[number])
        return kept if result is None else result

    def _known_at(self, results: Results, counter: Key, value: Sum) -> Results:
        found: Results | None = results
        for key, number in self._numbers.items():
            gives = at_value(key, counter, value) if is_count(key) else None
            if gives is not None and found is not None:
                found = self._with(found, number, value=gives)
        return results if found is None else found

    def _behind_loop(self, step: Step, results: Results) -> Results | None:
        """What is known behind a loop, whose last turn was the last one; ``None`` where it can't end like this."""
        loop = step.point.statement
        if not isinstance(loop, ir.For):
            return results
        target = loop.target.items[0] if isinstance(loop.target, ir.ListDisplay) and loop.target.items else loop.target
        if not isinstance(target, ir.Name):
            return results
        counter = self._keys.term(target, step.frame)
        last = self._keys.limits[counter].last if counter in self._keys.limits else None
        found: Results | None = results
        for key, number in self._numbers.items():
            if not is_count(key) or found is None or counter not in key[1:3]:
                continue
            gives = at_value(key, counter, last, several=True) if last is not None else None
            if last is None and key[0] == TURN and counter in self._keys.limits:
                gives = False if key[1:] == _first(counter, self._keys.limits) else None
            if gives is not None:
                found = self._with(found, number, value=gives)
            elif key[0] == TURN or (last is not None and holds_term(last.base, key[2].base)):
                # the last turn may well be the one that the test is about
                found = tuple([one for one in found if one[0] != number])
        return found

    def _stored(self, step: Step, wanted: Collection[Key]) -> tuple[Key, ir.Expr] | None:
        """The test, one of some, of a variable that a step gives the result of another test, and that test."""
        statement = step.point.statement
        if step.point.kind != "bind" or not isinstance(statement, ir.Assign) or len(statement.targets) != 1:
            return None
        target, value = statement.targets[0], statement.value
        if value is None or not isinstance(target, ir.Name | ir.Attribute):
            return None
        found = self._keys.key(target, step.frame)
        if found is None or found[0] not in wanted:
            return None
        if is_test(value) or _is_truth(value) or self._keys.meant(value, step.frame) is not None:
            return found[0], value
        return None

    def _changed(self, step: Step) -> set[int]:
        """The tests that may go another way behind a step."""
        point, frame = step.point, step.frame
        if point.kind == "entry":
            return self._frames.get(id(frame), set())
        found: set[int] = set()
        statement = point.statement
        targets: list[ir.Expr] = []
        if point.kind == "bind" and isinstance(statement, ir.Assign):
            targets = list(statement.targets)
        elif (point.kind == "bind" and isinstance(statement, ir.AugAssign)) or (
            point.kind == "loop" and isinstance(statement, ir.For)
        ):
            targets = [statement.target]
        elif point.kind == "enter" and isinstance(statement, ir.With):
            targets = [bound for _, bound in statement.items if bound is not None]
        elif point.kind == "call" and step.opaque:
            return {number for numbers in self._attributes.values() for number in numbers}
        if point.kind in ("call", "enter", "leave") and isinstance(point.expr, ir.Call) and self._attributes:
            found |= self._stored_by(point.expr, step)
        while targets:
            target = targets.pop()
            if isinstance(target, ir.Name):
                place = id(frame) if frame.function >= 0 else frame.file
                found |= self._names.get((place, target.id), set())
            elif isinstance(target, ir.Attribute):
                found |= self._attributes.get(target.name, set())
            elif isinstance(target, ir.ListDisplay):
                targets.extend(target.items)
            elif isinstance(target, ir.Starred):
                targets.append(target.value)
            elif isinstance(target, ir.Subscript):
                targets.append(target.base)
        return found

    def _stored_by(self, call: ir.Call, step: Step) -> set[int]:
        """The tests about attributes that a function may store to whose steps are not in the program."""
        if step.next and self._program.steps[step.next[0][0]].frame is not step.frame:
            return set()
        name = call.func.name if isinstance(call.func, ir.Attribute) else getattr(call.func, "id", "")
        return {
            number
            for attribute, numbers in self._attributes.items()
            if name in names_changing(self._project, attribute)
            for number in numbers
        }

    def _depends(self, key: Key, number: int) -> None:
        stack: list[Any] = [key]
        while stack:
            current = stack.pop()
            if not isinstance(current, tuple):
                continue
            if current[:1] == ("name",):
                self._names.setdefault((current[1], current[2]), set()).add(number)
                self._frames.setdefault(current[1], set()).add(number)
            elif current[:1] == ("attribute",):
                self._attributes.setdefault(current[2], set()).add(number)
            stack.extend(current)


def tests_around(project: Project, program: Program, step: Step) -> Iterator[tuple[ir.Expr, Frame]]:
    """The tests that decide whether a step is reached in a turn of the innermost loop around it, here and on the way here."""
    frame, at = step.frame, step.point.at
    for _ in range(MAX_WAY):
        body = body_of(project, frame.file, frame.function)
        loops = [one for one in statements(body) if isinstance(one, ir.For | ir.While) and ir.encloses(one.at, at)]
        for guard in guards_of(body, at) or ():
            inside = not loops or (ir.encloses(loops[-1].at, guard.at) and guard.at != loops[-1].at)
            if guard.test is not None and guard.kind in ("if", "exit") and inside and not asks_for_main(guard.test):
                yield guard.test, frame
        call = program.calls.get(id(frame))
        if loops or call is None:
            return
        frame, at = program.steps[call].frame, program.steps[call].point.at


def _family(key: Key) -> Key:
    return key[:3] if is_count(key) else key


def _first(counter: Key, limits: dict[Key, Limits]) -> Key:
    first = limits[counter].first
    return (counter, first.base, first.offset)


def _is_truth(expr: ir.Expr) -> bool:
    return type(expr) is ir.Constant and type(expr.value) is bool


def _holds_any(key: Key, terms: set[Key]) -> bool:
    """Whether one of some terms is part of a test."""
    return key in terms or any(isinstance(part, tuple) and _holds_any(part, terms) for part in key)
