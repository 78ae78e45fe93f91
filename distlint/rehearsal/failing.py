"""What may fail on one process of a rehearsal and not on another, where the program handles the exception and goes on.

Such a place stands in the trace as a branch: on one arm everything goes on, on the other an exception is raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.rehearsal.bounds import same_bounds
from distlint.rehearsal.entities import Library
from distlint.rehearsal.even_files import writes_evenly
from distlint.rehearsal.exceptions import ANY, CONVERTING, MATCHED, READERS, Raised, names_raised
from distlint.rehearsal.files import asked
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.stage import Left
from distlint.rehearsal.trace import Branch, End
from distlint.rehearsal.unknowns import InMemory, Opaque, Source
from distlint.rehearsal.values import Made, Tensor, combined, source_of

if TYPE_CHECKING:
    from distlint.model.span import Span
    from distlint.rehearsal.stage import Scope, Stage

COMPUTING = ANY | {"RuntimeError", "OutOfMemoryError"}
"""Exceptions of a model that is called; what handles any exception of a whole loop is not written because of those."""
STEP = "of one step"
"""What stands in ``Stage.attempts`` for a handler around no loop: it is written for one step that fails, so that others go on."""
FINDING = frozenset({"KeyError", "IndexError", "LookupError"})
"""Exceptions of a key or index; what handles any exception is not written because of those."""
AMISS = frozenset({"ValueError"})
"""Exceptions of what is looked for in a list; what handles any exception is not written because of those."""
ASSERTING = frozenset({"AssertionError"})
"""Exceptions of an ``assert``; what handles any exception is not written because of those."""
DIVIDING = frozenset({"ZeroDivisionError", "ArithmeticError"})
"""Exceptions of a division; what handles any exception is not written because of those."""
MISSING = frozenset({"FileNotFoundError", "OSError", "IOError"})
"""Exceptions of what reads a file that is not there."""
ENDING = frozenset({"", "StopIteration", "BaseException", "Exception"})
"""Exceptions of an iterator without a next item."""

FILES = frozenset({"OSError"})
"""What tells the exceptions of a place that reads a file."""

READING_PATHS = frozenset({"open", "read_text", "read_bytes"})
"""Methods of a path by which the file there is read."""

OWN_TEXT = "what each rank has to read"
NO_OTHER = "only some ranks come here"
OWN_FILE = "each rank's own file"
EVEN_FILE = "each rank's own file of those that are as long as each other"
OWN_FILES = "how many files each rank has"
_UNEVEN = (OWN_FILE, OWN_FILES)
"""Why what is read differs in length as well."""
SHARE = "the part of the data that each rank gets"


def guarding(statement: ir.Try, caught: frozenset[str]) -> frozenset[str]:
    """What the handlers of a ``try`` take (``caught``), with ``STEP`` where they are around no loop."""
    around = any(type(inner) in (ir.For, ir.While) for inner in statements(statement.body))
    return caught if around or not caught else caught | {STEP}


def may_fail(stage: Stage, classes: frozenset[str], values: Iterable[Any], at: ir.Expr, scope: Scope) -> None:
    """Notes a place that may fail for what a process has of its own, where a handler around it takes that."""
    if not classes or not any(names & classes for names in stage.attempts):
        return
    if classes is COMPUTING and not any(names & (classes - ANY) or STEP in names for names in stage.attempts):
        return
    values = list(values)
    source = source_of(values)
    if source is None and (classes >= CONVERTING or classes in (ASSERTING, MATCHED)):
        # one after the other: each is noted for itself
        apart = [stage.differs(at, scope.file, one) for one in values if isinstance(one, str | Opaque)]
        source = Source(OWN_TEXT, ir.unpack(at.at, scope.file)) if any(apart) else None
    if source is None and FILES & classes and stage.is_alone_at(at, scope.file):
        source = Source(NO_OTHER, ir.unpack(at.at, scope.file))
    if source is not None:
        _part(stage, classes, source, at, scope)


def _part(stage: Stage, classes: frozenset[str], source: Source | None, at: ir.Expr, scope: Scope) -> None:
    span = ir.unpack(at.at, scope.file)
    branch = Branch(at, span, stage.chain, ("fails", span, stage.chain), source, 2)
    branch.fails = classes
    branch.arms[1].append(End("raise"))
    stage.mark(branch)


def fails(stage: Stage, error: str) -> None:
    """An exception of Python's own is certainly raised here: a handler around takes it, where the run is known and there is one.

    What nothing handles ends the program: that is for others to find, and what comes behind is followed all the same.
    """
    if stage.witness is None or stage.unsure:
        return
    names = names_raised(stage.project, Library(f"builtins.{error}"))
    for caught, depth in zip(reversed(stage.attempts), reversed(stage.attempt_depths), strict=True):
        if caught & names:
            # what takes anything, far from here, is not written for this
            if caught & (names - ANY) or depth == stage.depth:
                raise Left(Raised.of(names))
            return


_WRITTEN = "files that a process has written"
"""What ``Stage.kept`` holds by their paths: why the contents differ between processes, if they do."""


def saved(stage: Stage, values: Iterable[Any], call: ir.Call, file: str) -> None:
    """Remembers what each process writes to a path of its own: what it reads there later differs between processes if that does."""
    values = list(values)
    held = [one for one in values if not isinstance(one, str)]
    for path in values if held and not stage.unsure else ():
        if isinstance(path, str) and stage.differs(call, file, path):
            stage.kept.setdefault(_WRITTEN, {})[path] = source_of(held)


def own_file(stage: Stage, values: Iterable[Any], call: ir.Call, scope: Scope) -> Source | None:
    """Why what is read here differs between processes: they are known to read different files."""
    why = EVEN_FILE if writes_evenly(stage.project) else OWN_FILE
    known = stage.kept.get(_WRITTEN, {})
    for value in values:
        if isinstance(value, InMemory):
            return None
        if isinstance(value, str) and value in known:
            return known[value]  # type: ignore[no-any-return]
        given = source_of([value])
        if given is not None:
            return Source(why, given.span)
        if isinstance(value, str | Opaque | Made) and stage.differs(call, scope.file, value):
            return Source(why, ir.unpack(call.at, scope.file))
        raced = asked(stage, value, call, scope) if handles(stage, MISSING) else None
        return raced.source if raced is not None else None
    return None


def length_of(value: Any) -> Opaque:
    """How long something is that is not known: files of each rank's own hold different numbers of things.

    Of anything else that differs between processes there may be as much on all of them.
    """
    source = source_of([value])
    found = Opaque(combined("len", [value]), source if source is not None and source.why in _UNEVEN else None)
    same_bounds(found, value)
    return found


def cut_evenly(part: Any, index: Any) -> Any:
    """What a slice takes of a file of each process's own: up to an end that all have, it may be as long on each."""
    first = index[0] if type(index) is tuple and index else index
    source = part.source if type(part) is Opaque else None
    if not isinstance(first, slice) or source is None or source.why not in _UNEVEN:
        return part
    end = first.stop
    agreed = end >= 0 if isinstance(end, int) else isinstance(end, Opaque) and end.source is None
    return Opaque(part.sign, source._replace(why=EVEN_FILE)) if agreed else part


def more_of(stage: Stage, count: Any, part: Any, span: Span) -> Opaque | None:
    """How much ``count`` things like one hold together that were read from files, where processes have different numbers of these.

    With more files there is more, as a rule; ``None`` where the number is not known, or is the same everywhere. ``span`` is where they
    are put together.
    """
    # asked for in any case: what differs shows only when all are followed once more
    known = isinstance(count, int) and not isinstance(count, bool)
    differs = known and stage.shared.note(stage.rank, ("how many", span, stage.chain), count)
    source = source_of([part])
    if not differs or source is None or source.why not in (OWN_FILE, EVEN_FILE):
        return None
    return Opaque(combined(OWN_FILES, [count, part]), Source(OWN_FILES, span))


def drawn_apart(stage: Stage, length: Any, span: Span) -> Any:
    """A length that is made of numbers which were drawn for each thing: it is each process's own where they have others of them.

    ``span`` is where processes take theirs.
    """
    if not isinstance(length, Opaque) or not length.chance or length.source is not None or length.sign is None:
        return length
    differs = stage.shared.note(stage.rank, ("drawn lengths", span, stage.chain), length.sign)
    return Opaque(length.sign, Source(SHARE, span, indirect=True)) if differs else length


def is_reading(name: str) -> bool:
    """Whether a library's function of this name reads what a path or an open file tells."""
    return name.rpartition(".")[2] in READERS


def texts(values: Iterable[Any]) -> list[Any]:
    """The values that may be texts: no tensors."""
    return [value for value in values if not isinstance(value, Tensor)]


def handles(stage: Stage, classes: frozenset[str]) -> bool:
    """Whether some handler around takes one of these exceptions."""
    return any(names & classes for names in stage.attempts)


def perhaps_ends(stage: Stage, iterator: Generated, call: ir.Call, scope: Scope) -> None:
    """Notes that an iterator of which the items are not known one by one may have no next one."""
    if not handles(stage, ENDING):
        return
    count = iterator.count
    source = count.source if isinstance(count, Opaque) else None
    if source is None and isinstance(count, int) and stage.differs(call, scope.file, count):
        source = Source("the number of items that each rank has", ir.unpack(call.at, scope.file))
    _part(stage, ENDING, source, call, scope)
