"""Collective calls whose arguments differ from rank to rank where they must not.

The rule's ``fault`` parameter says which: ``group`` (every rank has to make every group) or ``shape`` (tensors that are
combined have one shape).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.execution import body_of
from distlint.checks.rank_values import UNKNOWN
from distlint.checks.ranks import FIRST, SECOND, Process, RankView
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, asks_for_main, below, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_KEEPING = frozenset({"to", "cuda", "cpu", "contiguous", "clone", "detach", "float", "half", "bfloat16", "int", "long"})
"""Methods that leave a tensor's shape alone."""

FAR = 4095
"""A rank that no list of ranks in a program is expected to name."""


@check("rank-arguments")
def rank_arguments(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    yield from _FAULTS[context.parameters["fault"]](context)


def _own_group_only(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    sites = [site for site in project.calls_to(set(context.parameters["callees"])) if _for_all(context, site)]
    for site in sites:
        ranks, _ = find_argument(site.site.call, "ranks", 0)
        alone = type(ranks) is ir.ListDisplay and len(ranks.items) == 1
        cause = _depends(project, ranks, site, 0) if ranks is not None and not alone else None
        if cause is not None and not _in_loop(project, site):
            yield context.finding(
                "each rank makes only its own group: the ranks of the group depend on the rank that makes it",
                site.span,
                related=[Related(ir.unpack(cause.at, site.file), "the rank comes in here")],
            )
            continue
        test = _guarding_test(project, site)
        if test is not None and not _others_make_one(project, site, sites, test):
            yield context.finding(
                "only some ranks make this group: the call stands behind a test of the rank",
                site.span,
                related=[Related(ir.unpack(test.at, site.file), "the rank is tested here")],
            )


def _for_all(context: CheckContext, site: CallSite) -> bool:
    """Whether all ranks have to make the call: nothing asks for a synchronisation among the group's own members."""
    given, certain = find_argument(site.site.call, context.parameters["local-argument"], None)
    if given is None:
        return certain
    return context.project.evaluator(None).value(given, site.file, site.site.function).only is False


def _depends(project: Project, expr: ir.Expr, site: CallSite, depth: int) -> ir.Expr | None:
    """The expression by which the rank comes into a value: directly, or as the test of a loop that makes the value."""
    if depth > 4:
        return None
    file, function = site.file, site.site.function
    if _differs(project, expr, site):
        return expr
    body = body_of(project, file, function)
    names = {part.id for part in below(expr) if type(part) is ir.Name}
    for statement in statements(body):
        if statement.at >> 44 >= site.site.call.at >> 44:
            break
        targets = (
            statement.targets
            if type(statement) is ir.Assign
            else (statement.target,)
            if type(statement) is ir.AugAssign
            else ()
        )
        if not any(type(target) is ir.Name and target.id in names for target in targets):
            continue
        for guard in guards_of(body, statement.at) or ():
            if guard.test is not None and guard.kind == "while" and _asks_rank(project, guard.test, site):
                return guard.test
        value = statement.value  # type: ignore[union-attr]
        if value is not None and type(statement) is ir.Assign and not any(part is expr for part in below(value)):
            inner = _depends(project, value, site, depth + 1)
            if inner is not None:
                return inner
    return None


def _differs(project: Project, expr: ir.Expr, site: CallSite) -> bool:
    """Whether an expression certainly has another value on the last rank than on the first."""
    views = (RankView(project, FIRST), RankView(project, _last(project, site.file)))
    values = [view.ask(expr, site.file, site.site.function) for view in views]
    if any(value is UNKNOWN or (isinstance(value, tuple) and UNKNOWN in value) for value in values):
        return False
    return bool(values[0] != values[1])


def _asks_rank(project: Project, test: ir.Expr, site: CallSite) -> bool:
    """Whether a part of a test is certainly another value on the last rank than on the first."""
    parts = (part for part in below(test) if type(part) in (ir.Name, ir.Attribute, ir.Call, ir.Subscript))
    return any(_differs(project, part, site) for part in parts)


def _in_loop(project: Project, site: CallSite) -> bool:
    guards = guards_of(body_of(project, site.file, site.site.function), site.site.call.at)
    return guards is None or any(guard.kind in ("for", "while") for guard in guards)


def _guarding_test(project: Project, site: CallSite) -> ir.Expr | None:
    for guard in guards_of(body_of(project, site.file, site.site.function), site.site.call.at) or ():
        if guard.test is None or guard.kind in ("for", "while") or asks_for_main(guard.test):
            continue
        views = (RankView(project, process) for process in (FIRST, SECOND, _last(project, site.file)))
        first, second, last = (view.holds(guard.test, site.file, site.site.function) for view in views)
        if {True, False} <= {first, second, last}:
            return guard.test
        by_value = type(guard.test) is ir.Operation and guard.test.operators[0] in ("in", "not in", "==")
        unclear = first is None and second is None and by_value
        if unclear and _asks_rank(project, guard.test, site):
            return guard.test
    return None


def _last(project: Project, file: str) -> Process:
    """The last process of the job; of one whose size is not known, a process that no short list of ranks names."""
    sizes = [run.world_size.only for run in project.runs_reaching(file)]
    known = [size for size in sizes if isinstance(size, int)]
    rank = max(known) - 1 if known else FAR
    return Process(rank, rank)


def _others_make_one(project: Project, site: CallSite, sites: list[CallSite], test: ir.Expr) -> bool:
    """Whether the other side of a test makes a group as well, or calls something that may."""
    body = body_of(project, site.file, site.site.function)
    positions = {other.site.call.at for other in sites if other.file == site.file}
    holders = {
        project.module(other.file).functions[other.site.function].name for other in sites if other.site.function >= 0
    }
    mine = {guard.holds for guard in guards_of(body, site.site.call.at) or () if guard.test is test}
    for call in calls_in(body):
        name = call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
        if call.at not in positions and name not in holders:
            continue
        if any(guard.test is test and guard.holds not in mine for guard in guards_of(body, call.at) or ()):
            return True
    return False


def _different_shapes(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    makers = set(context.parameters["makers"])
    first, second = RankView(project, FIRST), RankView(project, SECOND)
    for site in project.calls_to(set(context.parameters["callees"])):
        tensor, _ = find_argument(site.site.call, context.parameters["argument"], 0)
        made = _maker(project, tensor, site, makers) if tensor is not None else None
        if made is None or _tests(project, site):
            continue
        for argument in made.args:
            sizes = [view.ask(argument, site.file, site.site.function) for view in (first, second)]
            if UNKNOWN not in sizes and sizes[0] != sizes[1]:
                yield context.finding(
                    f"the tensor's shape differs between ranks: {sizes[0]} on rank 0, {sizes[1]} on rank 1",
                    site.span,
                    related=[Related(ir.unpack(made.at, site.file), "the tensor is made here")],
                )
                break


def _tests(project: Project, site: CallSite) -> list[Guard]:
    """The conditions around a call, loops and the question for the main module left out."""
    guards = guards_of(body_of(project, site.file, site.site.function), site.site.call.at) or []
    return [one for one in guards if one.kind != "for" and not (one.test is not None and asks_for_main(one.test))]


def _maker(project: Project, expr: ir.Expr, site: CallSite, makers: set[str]) -> ir.Call | None:
    """The call that makes a tensor, behind a local variable and methods that keep its shape."""
    state: Env | None = project.flow(site.file, site.site.function).before(site.site.call.at)
    for _ in range(10):
        if type(expr) is ir.Name:
            while state is not None and not (isinstance(state, Bind) and state.name == expr.id):
                state = state.prev
            if state is None or not isinstance(state, Bind) or state.part or state.expr is None:
                return None
            if isinstance(state.expr, ir.AugAssign):
                return None
            expr, state = state.expr, state.prev  # type: ignore[assignment]
        elif type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _KEEPING:
            expr = expr.func.base
        else:
            break
    return expr if type(expr) is ir.Call and project.modules.dotted(expr.func, site.file) in makers else None


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {"group": _own_group_only, "shape": _different_shapes}
