"""Training on what each process draws or simulates itself, where all of them do so after the same seed.

That is said where everything that a loss is made of is seen: what is drawn for it in each step comes of generators that all ranks
seed alike, and nothing in it has to do with the rank, is read from outside, or is handed over by another process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.alike_generators import Drawn, common_seeds, drawn_by, drawn_name, is_alike
from distlint.checks.derivations import RANK_WORDS, Part
from distlint.checks.drawn_alike import PLACING, word
from distlint.checks.execution import body_of
from distlint.checks.made_of import made_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.link.followed import followed
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite
from distlint.link.walking import below, calls_in, expressions_of, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_PARTS = 2_000
MAX_ABOVE = 4
MAX_CALLERS = 4
MAX_CALLED = 120
_HANDED = frozenset(
    {
        *("scatter", "scatter_object_list", "broadcast_object_list", "all_to_all", "all_to_all_single", "send", "recv"),
        *("isend", "irecv", "batch_isend_irecv", "new_group", "new_subgroups", "init_device_mesh", "split_group"),
        *("skip", "jumpahead", "jump", "spawn", "advance", "set_rng_state", "fork_rng"),
    }
)
"""Calls by which processes may come to data of their own, or work on one batch together."""
_FILLING = frozenset({"append", "extend", "add", "insert", "put", "update", "push", "appendleft", "copy_", "store"})


class Alike(NamedTuple):
    """A seed by which all ranks draw the same, what is drawn, and the backward pass of the loss that is made of it."""

    seed: Span
    draw: Part
    backward: Part


def simulated(context: CheckContext, file: str, wrap: CallSite) -> Iterator[Finding]:
    """A finding for the seed of each loss that is made of what every rank draws alike."""
    told: set[Span] = set()
    for one in alike_losses(context, file):
        if one.seed not in told:
            told.add(one.seed)
            yield context.finding(
                "all ranks draw by this seed what they train on, and nothing in that has to do with the rank, so all train on the same",
                one.seed,
                related=[
                    Related(
                        ir.unpack(one.draw.expr.at, one.draw.file),
                        "this is drawn anew in each step, alike on every rank",
                    ),
                    Related(ir.unpack(one.backward.expr.at, one.backward.file), "the loss is made of it"),
                    Related(wrap.span, "the gradients of the ranks are averaged by this"),
                ],
                help=context.parameters.get("drawn-help"),
            )


def alike_losses(context: CheckContext, file: str) -> Iterator[Alike]:
    """The backward passes of a file whose losses are made of what every rank draws alike, step by step."""
    project: Project = context.project
    files = family(project, file)
    if any(site.file in files and not _starts(project, site) for name in _HANDED for site in project.sites(name)):
        return
    for site in project.sites("backward"):
        if site.file != file:
            continue
        loss = _loss(site.site.call)
        function = site.site.function
        tests = [one.test for one in guards_of(body_of(project, file, function), site.site.call.at) or () if one.test]
        if loss is None or any(_names_rank(test) for test in tests):
            continue
        found = _drawn(context, Part(loss, file, function), site)
        if found is not None:
            yield Alike(*found, Part(site.site.call, file, function))


def _starts(project: Project, site: CallSite) -> bool:
    """Whether a call that may part a sequence of seeds starts processes."""
    return "multiprocessing" in project.modules.dotted(site.site.call.func, site.file)


def _loss(call: ir.Call) -> ir.Expr | None:
    if call.args:  # an engine goes backward with what it is given
        return call.args[0]
    return call.func.base if type(call.func) is ir.Attribute else None


def _names_rank(expr: ir.Expr) -> bool:
    return any(RANK_WORDS.search(word(part)) for part in below(expr))


def _drawn(context: CheckContext, loss: Part, site: CallSite) -> tuple[Span, Part] | None:
    """The seed and the first draw of a loss, where all that it is made of is seen to be the same on all ranks."""
    project: Project = context.project
    steps = list(_steps(context, site))
    if not steps:
        return None
    parts = _parts(project, loss)
    if parts is None or not all(is_alike(project, one) for one in parts):
        return None
    found: list[Drawn] = []
    for one in parts:
        drawn = drawn_by(context, one)
        if drawn is None:
            return None
        found += drawn
    anew = [one for one in found if _is_data(project, one, steps)]
    seed = common_seeds(context, loss.file, found) if anew else None
    return (seed, anew[0].call) if seed is not None else None


def _is_data(project: Project, drawn: Drawn, steps: list[_Step]) -> bool:
    """Whether something that is drawn anew in each step is data: what a simulation or a function of the project makes batches of.

    Noise that a model adds is none, nor is that which only stands for a batch.
    """
    part = drawn.call
    generating = project.flow(part.file, part.function).has_yield
    if not generating and not any(one.holds(part) for one in steps):
        return False
    by_distribution = type(part.expr) is ir.Call and drawn.is_choice
    owner = project.module(part.file).functions[part.function].owner if part.function >= 0 else -1
    bases = project.modules.external_bases(ClassRef(part.file, owner)) if owner >= 0 else ()
    if any(one.startswith("torch.nn.") for one in bases) and not by_distribution:
        return False
    if by_distribution or drawn.made is not None:
        return True
    ref = FunctionRef(part.file, part.function)
    return (generating or any(ref in one.called for one in steps)) and _works_out(project, ref)


def _works_out(project: Project, ref: FunctionRef) -> bool:
    """Whether a function gives more than what it has drawn, such as the labels of the rows, and makes no step itself."""
    body = project.function(ref).body
    if any(type(one.func) is ir.Attribute and one.func.name == "backward" for one in calls_in(body)):
        return False
    flow = project.flow(ref.file, ref.index)
    given = [one.value for one in statements(body) if type(one) is ir.Return and one.value is not None]
    given += [part.value for one in statements(body) for part in _yielded(one) if part.value is not None]
    for value in given:
        for one in value.items if type(value) is ir.ListDisplay else (value,):
            made = followed(one, flow.before(value.at)) if type(one) is ir.Name else one
            if not drawn_name(project, Part(made, ref.file, ref.index)):
                return True
    return False


def _yielded(statement: ir.Stmt) -> Iterator[ir.Wrapped]:
    for expr in expressions_of(statement):
        yield from (part for part in below(expr) if type(part) is ir.Wrapped and part.kind == "yield")


def _parts(project: Project, loss: Part) -> list[Part] | None:
    """What a loss is made of, with what is put into lists for it; ``None`` where that is too much."""
    found: dict[tuple[object, ...], Part] = {}
    waiting, filled = [loss], set[tuple[str, str, int]]()
    while waiting:
        for one in made_of(project, waiting.pop(), bodies=True, placing=PLACING, most=MAX_PARTS):
            key = (one.expr.at, type(one.expr), one.file, one.function)
            if one.fixed or len(found) > MAX_PARTS:
                return None
            if key in found:
                continue
            found[key] = one
            name = word(one.expr)
            if name and (name, one.file, one.function) not in filled:
                filled.add((name, one.file, one.function))
                waiting += _put_into(project, name, one.file, one.function)
    return list(found.values())


def _put_into(project: Project, name: str, file: str, function: int) -> Iterator[Part]:
    """What a function puts into what a name stands for."""
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            call = statement.value
            if type(call.func) is ir.Attribute and call.func.name in _FILLING and last_name(call.func.base) == name:
                yield from (Part(one, file, function) for one in call.args)
        elif type(statement) is ir.Assign and statement.value is not None:
            if any(type(one) is ir.Subscript and last_name(one.base) == name for one in statement.targets):
                yield Part(statement.value, file, function)


# Where steps are made ---------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """A loop that makes steps: where it stands, and the functions that it comes to."""

    loop: ir.For | ir.While
    file: str
    function: int
    called: frozenset[FunctionRef]

    def holds(self, part: Part) -> bool:
        """Whether something is done anew in each turn."""
        if (part.file, part.function) == (self.file, self.function):
            return ir.encloses(self.loop.at, part.expr.at)
        return FunctionRef(part.file, part.function) in self.called


def _steps(context: CheckContext, site: CallSite) -> Iterator[_Step]:
    """The loops around a backward pass, in its function and in those that call it, but for those that make the model anew."""
    project: Project = context.project
    wrappers = {(one.file, one.site.function) for one in project.calls_to(set(context.parameters["wrappers"]))}
    waiting = [(site.file, site.site.function, site.site.call.at, 0)]
    for file, function, at, depth in waiting:
        body = body_of(project, file, function)
        loops = [one for one in statements(body) if type(one) in (ir.For, ir.While) and ir.encloses(one.at, at)]
        if loops:
            called = _called(project, file, function, loops[0])  # type: ignore[arg-type]
            if any((one.file, one.index) in wrappers for one in called):
                continue
            yield _Step(loops[0], file, function, called)  # type: ignore[arg-type]
        if function >= 0 and depth < MAX_ABOVE:
            callers = project.callers(FunctionRef(file, function))
            if len(callers) <= MAX_CALLERS:
                waiting += [(one.file, one.site.function, one.site.call.at, depth + 1) for one in callers]


def _called(project: Project, file: str, function: int, loop: ir.For | ir.While) -> frozenset[FunctionRef]:
    """The functions that the body of a loop comes to, without what makes objects."""
    found: set[FunctionRef] = set()
    waiting = [(file, function, loop.body)]
    while waiting and len(found) < MAX_CALLED:
        where, inside, body = waiting.pop()
        for call in calls_in(body):
            for edge in project.call_graph.targets(where, inside, call):
                target = edge.target
                definition = project.function(target)
                if target not in found and definition.name != "__init__":
                    found.add(target)
                    waiting.append((target.file, target.index, definition.body))
    return frozenset(found)
