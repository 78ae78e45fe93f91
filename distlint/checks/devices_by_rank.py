"""Devices that are chosen by the rank in the whole job, which is no number of a device from the second node on.

Parameters: ``setters`` (library functions that choose a device: parameter and position), ``groups`` (functions that join
the job, with its ``rank``), ``rank`` (the variable of the environment that tells them), ``makers`` (how the names of library
functions start whose ``device`` may be a number), ``count`` (the expression for the devices of a node), ``plain`` (the backend
for processes without devices), ``within`` (variables and options that tell nodes apart).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.environment_stores import environment_stores
from distlint.checks.local_rank import mentions
from distlint.checks.programs import family
from distlint.checks.rank_names import PER_PROCESS
from distlint.checks.rank_objects import SETTINGS
from distlint.checks.ranks import SECOND_NODE, RankView
from distlint.checks.registry import CheckContext
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import CallSite, Project
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation
from distlint.model.value import Confidence, Value

WRITTEN_STEPS = 150
"""Steps for a question whether what ``.to(...)`` and its like are given is a rank: mostly it is a type or another tensor's device."""


def global_rank(context: CheckContext) -> Iterator[Finding]:
    """A finding for each device index that is the rank in the whole job, in a job that may have several nodes."""
    project: Project = context.project
    view = RankView(project, SECOND_NODE, guess=False)
    counting = RankView(project, SECOND_NODE, guess=False, counted=True)
    short = RankView(project, SECOND_NODE, guess=False, steps=WRITTEN_STEPS)
    joined = _joined_over_nodes(context, view, counting)
    seen = set()
    asked = [(view, *one) for one in indexes(context)]
    asked += [(short, *one) for one in _written_indexes(context, joined)]
    for plain, site, index in asked:
        place = ir.unpack(index.at, site.file)
        if place in seen:
            continue
        seen.add(place)
        counts = site.file in joined
        told = (counting if counts else plain).ask(index, site.file, site.site.function)
        if told not in (SECOND_NODE.rank, str(SECOND_NODE.rank)):
            continue
        if not counts and _on_one_node(project, site.file):
            continue
        if not counts and not _tells_nodes_apart(context, site.file) and _is_tried_without_devices(context, site.file):
            continue
        yield context.finding(
            "the device index is the rank in the whole job, which is too high from the second node on",
            place,
            plan=_modulo(context, index, site.file),
        )


def _joined_over_nodes(context: CheckContext, view: RankView, counting: RankView) -> frozenset[str]:
    """The files of programs whose processes join a job with a rank that they have counted over the nodes themselves."""
    project: Project = context.project
    found: set[str] = set()
    told = []
    for site in project.calls_to(set(context.parameters["groups"])):
        given, _ = find_argument(site.site.call, "rank", 4)
        if given is not None:
            told.append((given, site.file, site.site.function))
    for store in environment_stores(project, [context.parameters["rank"]]):
        told.append((store.expr, store.file, store.function))
    ranks = (SECOND_NODE.rank, str(SECOND_NODE.rank))
    for expr, file, function in told:
        if counting.ask(expr, file, function) in ranks and view.ask(expr, file, function) not in ranks:
            found |= family(project, file)
    return frozenset(found)


def _written_indexes(context: CheckContext, joined: frozenset[str]) -> Iterator[tuple[CallSite, ir.Expr]]:
    """Indexes in other spellings (``.cuda(rank)``, ``device=rank``, ``f"cuda:{rank}"``) of programs that mind several nodes."""
    project: Project = context.project
    for file in project.python_files:
        found = [
            (site, given)
            for name, sites in project.module(file).calls.items()
            for site in sites
            for given in _devices_given(context, name, site.call, file)
        ]
        if not found or not (file in joined or _tells_nodes_apart(context, file)):
            continue
        for site, given in found:
            index = index_in_text(on_device(followed(given, project.flow(file, site.function).before(site.call.at))))
            named = type(given) in (ir.Name, ir.Attribute, ir.Call) and not _is_of_tensor(given)
            if index is not None or named:
                yield CallSite(file, site), given if index is None else index


def _is_of_tensor(given: ir.Expr) -> bool:
    """Whether what is given is where another tensor lies, or of which type it is: neither is a number.

    Attributes of a method's own object, and of what is named like settings, may be ranks; asking what any other object is costs too much.
    """
    if type(given) is not ir.Attribute or given.name not in ("device", "dtype"):
        return False
    return type(given.base) is not ir.Name or given.base.id not in (*SETTINGS, "self", "cls")


def _devices_given(context: CheckContext, name: str, call: ir.Call, file: str) -> list[ir.Expr]:
    """What a call is given as a device."""
    given = call.args[:1] if name in ("cuda", "to", "device", "set_device") else ()
    named = [word.value for word in call.keywords if word.name == "device"]
    if named and name not in ("cuda", "to"):
        makers = tuple(context.parameters["makers"])
        named = named if context.project.modules.dotted(call.func, file).startswith(makers) else []
    return [one for one in (*given, *named) if type(one) is not ir.Constant]


def on_device(given: ir.Expr) -> ir.Expr:
    """What is given where there are devices: the other side may be ``None``, or the name of the processor."""
    if type(given) is ir.Conditional:
        sides = [side for side in (given.body, given.orelse) if type(side) is not ir.Constant]
        return sides[0] if len(sides) == 1 else given
    return given


def index_in_text(text: ir.Expr) -> ir.Expr | None:
    """The index in the name of a device, in whatever way the name is put together."""
    if type(text) is ir.Formatted and len(text.parts) == 2:
        return text.parts[1] if _is_text(text.parts[0], "cuda:") else None
    if type(text) is ir.Operation and len(text.operands) == 2:
        first, second = text.operands
        if text.operators[0] == "%" and _is_text(first, "cuda:%d", "cuda:%s", "cuda:%i"):
            return second.items[0] if type(second) is ir.ListDisplay and len(second.items) == 1 else second
        if text.operators[0] == "+" and _is_text(first, "cuda:"):
            return (
                second.args[0]
                if type(second) is ir.Call and type(second.func) is ir.Name and len(second.args) == 1
                else second
            )
    if type(text) is ir.Call and type(text.func) is ir.Attribute and text.func.name == "format" and len(text.args) == 1:
        return text.args[0] if _is_text(text.func.base, "cuda:{}", "cuda:{0}") else None
    return None


def _is_text(expr: ir.Expr, *texts: str) -> bool:
    return type(expr) is ir.Constant and expr.value in texts


def _tells_nodes_apart(context: CheckContext, file: str) -> bool:
    """Whether a launch of a file is seen to start processes on more than one node, or the program asks for what tells nodes apart."""
    project: Project = context.project
    nodes = [run.launch.nodes for run in project.runs_reaching(file) if run.launch is not None]
    if any((isinstance(one.only, int) and one.only > 1) or _is_for_callers_to_say(one) for one in nodes):
        return True
    return not _asking(project, frozenset(context.parameters["within"])).isdisjoint(family(project, file))


class _Asking(frozenset[str]):
    """The files that tell nodes apart."""

    __slots__ = ()


def _asking(project: Project, names: frozenset[str]) -> frozenset[str]:
    """The files of a project that speak of one of some variables or options, looked for once."""
    found = project.kept.get(_Asking)
    if found is None:
        texts = (file for file in project.python_files if any(name in project.text_of(file) for name in names))
        found = project.kept[_Asking] = _Asking(file for file in texts if mentions(project, frozenset({file}), names))
    assert isinstance(found, _Asking)  # noqa: S101 - stored just above
    return found


def _is_tried_without_devices(context: CheckContext, file: str) -> bool:
    """Whether the groups of a program are all for processes without devices, or may be: such a job hardly runs on several nodes."""
    project: Project = context.project
    files = family(project, file)
    plain = []
    for site in project.calls_to(set(context.parameters["groups"])):
        given, _ = find_argument(site.site.call, "backend", 0)
        if site.file in files and given is not None:
            value = project.evaluator(None).value(given, site.file, site.site.function).only
            told = followed(given, project.flow(site.file, site.site.function).before(site.site.call.at))
            words = {part.value for part in below(told) if type(part) is ir.Constant}
            plain.append(context.parameters["plain"] in (words if value is None else {value}))
    return bool(plain) and all(plain)


def _modulo(context: CheckContext, index: ir.Expr, file: str) -> FixPlan | None:
    if type(index) is not ir.Name:
        return None
    text = f"{index.id} % {context.parameters['count']}"
    return context.plan(Operation("replace", ir.unpack(index.at, file), {"text": text}))


def _on_one_node(project: Project, file: str) -> bool:
    """Whether the processes of a file are all on one node: so all its launches say, or it starts them itself."""
    if any(name in PER_PROCESS for name in project.module(file).calls):
        return True
    runs = project.runs_reaching(file)
    nodes = [run.launch.nodes if run.launch is not None else None for run in runs]
    return bool(runs) and all(one is not None and one.only == 1 and not _is_for_callers_to_say(one) for one in nodes)


def _is_for_callers_to_say(nodes: Value) -> bool:
    """Whether a launch leaves the number of nodes to who calls it: ``--nnodes ${NNODES:-1}``."""
    is_written = bool(nodes.spans) and not nodes.is_absent
    return is_written and not (nodes.is_known and nodes.confidence is Confidence.CERTAIN)


def indexes(context: CheckContext) -> Iterator[tuple[CallSite, ir.Expr]]:
    """The device indexes that a program gives to library calls: ``setters`` maps these to (parameter, position)."""
    project: Project = context.project
    setters = context.parameters["setters"]
    for site in project.calls_to(set(setters)):
        name, position = setters[site.name]
        given, _ = find_argument(site.site.call, name, position)
        given = given and on_device(given)
        if type(given) is ir.ListDisplay and len(given.items) == 1:
            given = given.items[0]
        if given is not None and type(given) is not ir.Constant:
            yield site, given
