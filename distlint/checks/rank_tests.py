"""What the tests of a program give on the ranks of a job, for those who follow the ranks' ways.

A test is *decided* where it is known on each process, *split* where it differs from rank to rank for another reason than the rank (data,
time, the file system), and otherwise taken to go the same way everywhere, which way is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks.agreed_rounds import compares_rounds, is_over
from distlint.checks.divergence import DIFFERS, Divergence, DivergenceView
from distlint.checks.rank_values import MANY, UNKNOWN, binary, truth_of, unary
from distlint.checks.ranks import FIRST, SECOND, Process
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join
from distlint.link.modules import FunctionRef
from distlint.link.walking import asks_for_main, below
from distlint.model import python as ir
from distlint.model.record import dataclass
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

PROCESSES = (FIRST, SECOND, Process(2, 2), Process(0, 0, world=2), Process(1, 1, world=2))
"""The processes that tests are asked for: three of a job of which the size is not known, and both of one with two."""

PAIRS = ((0, 1), (3, 4), (0, 2))
"""The pairs of these whose ways are compared, the later ones only where a test does not part the first."""

_SEVERAL = ("distribut", "multi", "parallel", "ddp", "fsdp", "launch", "initialized", "deepspeed")
_MODES = {
    **dict.fromkeys(_SEVERAL, True),
    **dict.fromkeys(("single", "shard", "zero", "world", "rank", "size", "gpus", "devices"), None),
}
"""Words that say whether there are several processes at all; ``True`` where a flag so named says that there are."""


_COUNTS = ("world_size", "num_processes", "nprocs", "num_gpus", "n_gpus", "ngpus", "nproc")
"""Parts of names that count the processes of a job."""


class Decision(NamedTuple):
    """What a test gives: on each of ``PROCESSES``; ``why`` and ``places`` where it is split for another reason than the rank.

    ``mode`` says that it may ask whether there are several processes at all.
    """

    values: tuple[bool | None, ...]
    is_split: bool = False
    why: str = ""
    places: tuple[Span, ...] = ()
    mode: bool = False

    def on(self, pair: tuple[int, int]) -> tuple[bool | None, bool | None]:
        """What it gives on the processes of a pair."""
        return self.values[pair[0]], self.values[pair[1]]

    def parts(self, pair: tuple[int, int]) -> bool:
        """Whether the processes of a pair go different ways, because of the rank."""
        one, other = self.on(pair)
        return one is not None and other is not None and one is not other


class Failing(NamedTuple):
    """A call that may fail on some ranks only: what differs between them, and as what a handler takes the exception."""

    at: ir.Position
    decision: Decision
    raised: str


_NOTHING = Decision((None,) * len(PROCESSES))


@dataclass(slots=True, eq=False)
class Frame:
    """A call of a function on the way: its body, the call that led there, and where that stands.

    ``inner`` are the functions that the decorators around it still have to call, innermost last; ``given`` is the name
    that the next of them goes by.
    """

    file: str
    function: int
    call: ir.Call | None = None
    caller: Frame | None = None
    shift: int = 0
    inner: tuple[FunctionRef, ...] = ()
    given: str = ""
    depth: int = 0
    protected: bool = False

    @property
    def calls(self) -> tuple[int, ...]:
        """The calls that led here, by identity, as far as arguments may come from them."""
        found: list[int] = []
        frame: Frame | None = self
        while frame is not None and frame.call is not None and len(found) < 8:
            found.append(id(frame.call))
            frame = frame.caller
        return tuple(found)


class Tests:
    """Decides tests, in the frame of a call where the arguments are known; answers are remembered."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._view = DivergenceView.of_project(project)
        self._plain: dict[tuple[str, int, int], Decision] = {}
        self._inside: dict[tuple[int, tuple[int, ...]], Decision] = {}
        self._counters = {name.rpartition(".")[2] for one in project.specs for name, _ in one.rank_counters}

    def decide(self, test: ir.Expr | None, frame: Frame, *, is_loop: bool = False, repeated: bool = False) -> Decision:
        """What a test gives on the processes; of a loop whether the number of its rounds differs.

        ``repeated`` is for the test of a ``while``: what it gives the first time says nothing of the next.
        """
        if test is None:
            return _NOTHING
        key = (frame.file, frame.function, id(test))
        if key not in self._plain:
            self._plain[key] = self._loop(test, frame) if is_loop else self._test(test, frame, repeated)
        found = self._plain[key]
        inner = (id(test), frame.calls)
        if inner in self._inside:
            return self._inside[inner]
        self._inside[inner] = found
        asks_again = frame.call is not None and found.values[0] is None and not is_loop and not repeated
        if asks_again and any(type(part) is ir.Name and self._argument(part.id, frame) for part in below(test)):
            inside = tuple(truth_of(self._value(test, frame, process, 0)) for process in PROCESSES)
            if None not in inside[:2]:
                self._inside[inner] = found = Decision(inside)
        return found

    def _loop(self, iterable: ir.Expr, frame: Frame) -> Decision:
        found = self._view.length(iterable, frame.file, frame.function)
        if found.state == DIFFERS:
            if is_over(self._project, iterable, frame.file, frame.function, self._view.of):
                return _NOTHING
            return _NOTHING._replace(is_split=True, why=found.why, places=found.places)
        return _NOTHING

    def _test(self, test: ir.Expr, frame: Frame, repeated: bool) -> Decision:
        if asks_for_main(test):
            return Decision((True,) * len(PROCESSES))
        values = self._values(test, frame)
        if (None not in values[:2] or None not in values[3:]) and not (repeated and len(set(values[:2])) == 1):
            return Decision(values)
        # a counter that is switched off on all ranks but one stays where it is there, and moves on that one
        if values[1] is False and values[0] is None and self._view.view(SECOND).off:
            return Decision((True, False, False, True, False))
        ask = self._view.rounds if repeated else self._view.of_test
        found = ask(test, frame.file, frame.function)
        if found.state == DIFFERS and compares_rounds(self._project, test, frame.file, frame.function, self._view.of):
            return _NOTHING
        if found.state == DIFFERS and not _comes_from_afar(found, frame.file) and not self._asks_for_kind(test, frame):
            return Decision(_NOTHING.values, True, found.why, found.places)
        mode = mode_of(test)
        if isinstance(mode, bool):
            return Decision((mode,) * len(PROCESSES))
        return _NOTHING._replace(mode=mode == "perhaps")

    def _values(self, test: ir.Expr, frame: Frame) -> tuple[bool | None, ...]:
        """What a test gives on the processes: what one of them can't tell, the others are not asked."""
        view = self._view.view(FIRST)
        first = view.holds(test, frame.file, frame.function)
        if first is not None or self._counts(test):
            return self._view.outcomes(test, frame.file, frame.function, PROCESSES)
        if view.is_spent():
            return _NOTHING.values
        sized = [self._view.view(process).holds(test, frame.file, frame.function) for process in PROCESSES[3:4]]
        if None in sized:
            return _NOTHING.values
        return (None, None, None, *self._view.outcomes(test, frame.file, frame.function, PROCESSES[3:]))

    def _asks_for_kind(self, test: ir.Expr, frame: Frame) -> bool:
        """Whether a test asks what a sample holds at all, which is the same for all samples of a data set.

        What is there until an iterator is at its end is another matter: ``next(batches, None) is not None``.
        """
        for _ in range(3):
            if type(test) is ir.Operation and len(test.operands) == 1:
                test = test.operands[0]
            elif type(test) is ir.Operation and test.operators[0] in ("in", "not in"):
                return type(test.operands[0]) is ir.Constant and isinstance(test.operands[0].value, str)
            elif type(test) is ir.Operation and test.operators[0] in ("is", "is not"):
                bound = self._bound_to(test.operands[0], frame)
                return not (type(bound) is ir.Call and type(bound.func) is ir.Name)
            else:
                bound = self._bound_to(test, frame)
                if bound is None:
                    return False
                test = bound
        return False

    def _bound_to(self, expr: ir.Expr, frame: Frame) -> ir.Expr | None:
        """The expression that a variable was set to last, if there is one place only."""
        place: Env | None = self._project.flow(frame.file, frame.function).before(expr.at)
        while type(expr) is ir.Name and place is not None:
            if isinstance(place, Bind) and place.name == expr.id:
                return None if place.part or isinstance(place.expr, ir.Stmt) else place.expr
            if isinstance(place, Join) and expr.id in place.touched:
                return None
            place = place.prev
        return None

    def _counts(self, test: ir.Expr) -> bool:
        """Whether a test names a counter that some ranks switch off."""
        return any(type(part) is ir.Attribute and part.name in self._counters for part in below(test))

    def _value(self, expr: ir.Expr, frame: Frame, process: Process, depth: int) -> Any:
        """An expression on a process, with the arguments of the frame's call for the parameters of its function."""
        if depth > 12:
            return UNKNOWN
        if type(expr) is ir.Name:
            given = self._argument(expr.id, frame)
            if given is not None:
                return self._value(given[0], given[1], process, depth + 1)
        if type(expr) is ir.Operation and len(expr.operands) <= 2:
            values = [self._value(one, frame, process, depth + 1) for one in expr.operands]
            first = expr.operators[0]
            if first in ("and", "or"):
                truths = [truth_of(value) for value in values]
                stops = first == "or"
                return stops if stops in truths else UNKNOWN if None in truths else not stops
            return unary(first, values[0]) if len(values) == 1 else binary(first, values[0], values[1])
        return self._view.view(process).ask(expr, frame.file, frame.function)

    def _argument(self, name: str, frame: Frame) -> tuple[ir.Expr, Frame] | None:
        """What the frame's call gives for a parameter of its function, with the frame in which that stands."""
        if frame.call is None or frame.caller is None or frame.function < 0:
            return None
        definition = self._project.module(frame.file).functions[frame.function]
        position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
        if position is None or name in self._project.flow(frame.file, frame.function).bound - {name}:
            return None
        if any(_binds(statement, name) for statement in definition.body):
            return None
        offset = 1 if definition.owner >= 0 else 0
        given, certain = find_argument(frame.call, name, position - offset + frame.shift)
        if given is not None:
            return given, frame.caller
        default = definition.parameters[position].default
        return (default, frame) if certain and type(default) is ir.Constant else None


def _comes_from_afar(found: Divergence, file: str) -> bool:
    """Whether the rank, which would be known here otherwise, came in through objects of other files, whole ones for parts of them."""
    return found.why == "the rank" and any(place.file != file for place in found.places)


def _binds(statement: ir.Stmt, name: str) -> bool:
    return type(statement) is ir.Assign and any(
        type(part) is ir.Name and part.id == name for target in statement.targets for part in below(target)
    )


def mode_of(test: ir.Expr) -> bool | str | None:
    """What a test gives in a job of several processes if it is a flag that says so; ``"perhaps"`` if it may ask for that."""
    if type(test) is ir.Operation and len(test.operands) == 2:
        left, right = test.operands
        counted = any(word in _last(left).lower() for word in _COUNTS)
        if counted and type(right) is ir.Constant and type(right.value) is int:
            return truth_of(binary(test.operators[0], MANY, right.value))
    last = test.name if type(test) is ir.Attribute else test.id if type(test) is ir.Name else ""
    found = {sense for word, sense in _MODES.items() if word in last.lower()}
    if found == {True}:
        return True
    words = _names_in(test)
    words += [part.value for part in below(test) if isinstance(part, ir.Constant) and isinstance(part.value, str)]
    return "perhaps" if any(mode in word.lower() for word in words for mode in _MODES) else None


def names_a_mode(test: ir.Expr) -> bool:
    """Whether a test has the name of a flag that says whether there are several processes: a rank or their number is none."""
    return any(word in name.lower() for name in _names_in(test) for word in (*_SEVERAL, "single"))


def _names_in(test: ir.Expr) -> list[str]:
    return [
        part.id if isinstance(part, ir.Name) else part.name
        for part in below(test)
        if isinstance(part, ir.Name | ir.Attribute)
    ]


def _last(expr: ir.Expr) -> str:
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""


def text_of_test(expr: ir.Expr) -> str:
    """An expression as text, the same for two that are written alike."""
    return _text(expr, 0)


def _text(expr: ir.Expr, depth: int) -> str:
    if depth > 8:
        return "…"
    if type(expr) is ir.Name:
        return expr.id
    if type(expr) is ir.Constant:
        return repr(expr.value)[:60]
    if type(expr) is ir.Attribute:
        return f"{_text(expr.base, depth + 1)}.{expr.name}"
    if type(expr) is ir.Operation:
        parts = [_text(one, depth + 1) for one in expr.operands]
        if len(parts) == 1:
            return f"{expr.operators[0]} {parts[0]}"
        pairs = zip((*expr.operators, *expr.operators[-1:] * len(parts)), parts[1:], strict=False)
        return parts[0] + "".join(f" {symbol} {part}" for symbol, part in pairs)
    if type(expr) is ir.Call:
        given = [_text(one, depth + 1) for one in expr.args]
        given += [f"{one.name}={_text(one.value, depth + 1)}" for one in expr.keywords]
        return f"{_text(expr.func, depth + 1)}({', '.join(given)})"
    if type(expr) is ir.Subscript:
        return f"{_text(expr.base, depth + 1)}[{_text(expr.index, depth + 1)}]"
    return "…"
