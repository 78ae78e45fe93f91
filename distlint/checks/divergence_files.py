"""Files that one rank makes while the others ask whether they are there, without having waited for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence_names import alike
from distlint.checks.divergence_state import DIFFERS, Divergence
from distlint.checks.execution import body_of
from distlint.link.walking import calls_in, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

ASKING = frozenset({"os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.lexists"})
ASKING_METHODS = frozenset({"exists", "is_file", "is_dir"})
_MAKING_METHODS = frozenset({"touch", "mkdir", "write_text", "write_bytes"})
_MAKING = frozenset({"makedirs", "mkdir", "save", "dump", "copy", "copyfile", "savez", "savetxt", "mknod", "to_csv"})
_MAX_CALLS = 400


def made_by_one(tracer: Tracer, asked: ir.Call, path: ir.Expr, ground: Ground) -> Divergence | None:
    """Why a file may be there on some ranks only: one of them makes it, and nothing makes the others wait."""
    body = body_of(tracer.project, ground.file, ground.function)
    calls = list(calls_in(body))
    if len(calls) > _MAX_CALLS:
        return None
    for call in calls:
        if not _makes(call, path) or not _by_one(tracer, body, call, ground):
            continue
        if any(_waits(tracer, one, ground) for one in _between(body, calls, call, asked)):
            continue
        if call.at < asked.at or _loop_around(body, call, asked) is not None:
            where = ir.unpack(call.at, ground.file)
            return Divergence(DIFFERS, "a file that one rank makes while nobody waits for it", (where,))
    return None


def _makes(call: ir.Call, path: ir.Expr) -> bool:
    func = call.func
    name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
    if type(func) is ir.Attribute and name in _MAKING_METHODS and alike(func.base, path):
        return True
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if name == "open":
        mode = next((one.value for one in given[1:] if type(one) is ir.Constant), "")
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax")
        return writes and bool(given) and alike(given[0], path)
    return name in _MAKING and any(alike(one, path) for one in given)


def _by_one(tracer: Tracer, body: tuple[ir.Stmt, ...], call: ir.Call, ground: Ground) -> bool:
    flow = tracer.project.flow(ground.file, ground.function)
    return any(
        guard.test is not None
        and guard.kind != "for"
        and tracer.of(guard.test, ground, flow.before(guard.test.at)).why == "the rank"
        for guard in guards_of(body, call.at) or ()
    )


def _loop_around(body: tuple[ir.Stmt, ...], one: ir.Call, other: ir.Call) -> ir.For | ir.While | None:
    """The innermost loop in which both calls stand."""
    found = None
    for statement in statements(body):
        if isinstance(statement, ir.For | ir.While):
            if ir.encloses(statement.at, one.at) and ir.encloses(statement.at, other.at):
                found = statement
    return found


def _between(body: tuple[ir.Stmt, ...], calls: list[ir.Call], made: ir.Call, asked: ir.Call) -> Iterator[ir.Call]:
    """The calls on the way from the one that makes the file to the question: on the next round where it comes behind it."""
    if made.at < asked.at:
        yield from (call for call in calls if made.at < call.at < asked.at)
        return
    loop = _loop_around(body, made, asked)
    if loop is not None:
        yield from (
            call
            for call in calls
            if ir.encloses(loop.at, call.at) and (call.at > made.at or call.at < asked.at) and call is not asked
        )


def _waits(tracer: Tracer, call: ir.Call, ground: Ground) -> bool:
    """Whether a call may make the ranks wait for each other."""
    func = call.func
    name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
    if name in tracer.sources.collective_words:
        return True
    targets = tracer.project.call_graph.targets(ground.file, ground.function, call)
    return any(
        (inner.func.name if type(inner.func) is ir.Attribute else inner.func.id if type(inner.func) is ir.Name else "")
        in tracer.sources.collective_words
        for edge in targets
        for inner in calls_in(tracer.project.function(edge.target).body)
    )
