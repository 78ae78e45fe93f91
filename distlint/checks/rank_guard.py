"""Calls that every process of a job must make, on a way that only some of them take.

Parameters: ``collectives`` (library functions and methods), ``group-arguments`` (arguments that name a smaller group; a
call that has one is left alone), ``wrappers`` (objects whose call is collective, with the argument that switches the
sending of buffers: then only if the wrapped module has some), ``counters`` (attributes that stay 0 where an argument
switches their object off), ``mode-words`` (parts of names that say whether there are several processes at all),
``one-rank-decorators`` (decorators of libraries whose function runs on the main process only; those of the project are read);
``subject`` and ``when`` (a condition over configurations: only calls of objects that were made with such ones count).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from distlint.checks.engines import configurations
from distlint.checks.execution import body_of
from distlint.checks.rank_decorators import is_named, split_inside
from distlint.checks.ranks import FIRST, SECOND, RankView
from distlint.checks.registry import CheckContext, check
from distlint.checks.wrapped_calls import wrapped_calls
from distlint.judge.conditions import compile_condition
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, asks_for_main, below, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.record import dataclass
from distlint.model.value import Confidence

MAX_CALL_CHAIN = 3
"""Calls that are followed from a guarded call of a project function to the collective inside it."""

DECORATOR = "decorator"
"""The kind of a guard that is a decorator of a library."""

MAX_CALLERS = 20
"""Calls of a name that are looked at for a test of the rank around them."""


class Collective(NamedTuple):
    """A call that all processes must make: its site, what it is called, and the calls that lead to the library's."""

    site: CallSite
    what: str
    chain: tuple[CallSite, ...] = ()


class Split(NamedTuple):
    """The test that parts the ranks, and the ranks that pass it: 0, or all others."""

    guard: Guard
    main_only: bool
    by_counter: bool
    file: str = ""
    """Where the test stands, if not in the file of the call: in a decorator of the project."""


@dataclass(slots=True)
class _Work:
    project: Project
    first: RankView
    second: RankView
    collective_names: frozenset[str] = frozenset()
    mode_words: tuple[str, ...] = ()
    decorators: frozenset[str] = frozenset()
    decorated: dict[tuple[str, int], Split | None] = field(default_factory=dict)
    possible: set[str] = field(default_factory=set)
    """Names of project functions that may come to a collective."""
    lone: dict[tuple[str, str], set[bool]] = field(default_factory=dict)
    """For each file and collective the sides (main only or not) that make it alone; with no file where a decorator decides."""


@check("rank-guard")
def rank_guard(context: CheckContext) -> Iterator[Finding]:
    """A finding for each collective call that is certainly made by rank 0 alone, or by all but rank 0."""
    project: Project = context.project
    counters = dict(context.parameters.get("counters", {}))
    views = (RankView(project, FIRST, counters=counters), RankView(project, SECOND, counters=counters))
    work = _Work(
        project,
        *views,
        mode_words=tuple(context.parameters.get("mode-words", ())),
        decorators=frozenset(context.parameters.get("one-rank-decorators", ())),
    )
    direct = [
        *(Collective(site, _what(site.name)) for site in project.calls_to(set(context.parameters["collectives"]))),
        *(Collective(site, what) for site, what in wrapped_calls(context, lambda site: _may_split(work, site))),
    ]
    if "when" in context.parameters:
        direct = [item for item in direct if _is_so_configured(context, item.site)]
    if not direct:
        return
    work.collective_names = frozenset(item.site.name.rpartition(".")[2] for item in direct if item.site.name)
    work.possible = _names_leading_to(project, direct)
    whole = [item for item in direct if not _has_group(item.site.site.call, context)]
    found = [(item, split) for item in _with_callers(work, whole) if (split := _split(work, item.site)) is not None]
    for item, split in found:
        work.lone.setdefault((item.site.file, item.what), set()).add(split.main_only)
        if split.file:
            work.lone.setdefault(("", item.what), set()).add(split.main_only)
    for item, split in found:
        if _is_answered(work, item, split) or _is_alone(project, item.site.file):
            continue
        yield _finding(context, item, split)


def _is_so_configured(context: CheckContext, site: CallSite) -> bool:
    """Whether the object of a call was made with configurations for all of which the condition holds."""
    project: Project = context.project
    func = site.site.call.func
    thing = func.base if type(func) is ir.Attribute and site.name else func
    condition = compile_condition(context.parameters["when"])
    options = options_of(project.evaluator(None).ask(thing, site.file, site.site.function))
    made = [option for option in options if isinstance(option, Instance)]
    subjects = [one for option in made for one in configurations(context, option)]
    return len(made) == len(options) and bool(subjects) and all(condition.judge(one).holds for one in subjects)


def _finding(context: CheckContext, item: Collective, split: Split) -> Finding:
    site = item.site
    who = "rank 0 alone makes" if split.main_only else "all ranks but 0 make"
    file = site.file
    test = split.guard.test
    related = []
    if test is not None:
        why = "a counter that runs on rank 0 only is tested here" if split.by_counter else "the rank is tested here"
        if split.guard.kind == DECORATOR:
            why = "this decorator lets the function run on the main process only"
        related.append(Related(ir.unpack(test.at, split.file or file), why))
    related += [Related(inner.span, f"comes to `{item.what}` here") for inner in item.chain]
    called = "call" if not item.chain else f"call, which leads to `{item.what}`"
    name = item.what if not item.chain else _callee(site)
    return context.finding(
        f"{who} the `{name}` {called}, but every rank has to",
        site.span,
        related=related,
        confidence=Confidence.LIKELY,
        symbol=name,
    )


def _callee(site: CallSite) -> str:
    func = site.site.call.func
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else "function"


def _what(name: str) -> str:
    return name.rpartition(".")[2]


def _has_group(call: ir.Call, context: CheckContext) -> bool:
    given = context.parameters["group-arguments"]
    return any(
        keyword.name is None or (keyword.name in given and not _is_none(keyword.value)) for keyword in call.keywords
    )


def _is_none(expr: ir.Expr) -> bool:
    return type(expr) is ir.Constant and expr.value is None


def _may_split(work: _Work, site: CallSite) -> bool:
    """Whether the ranks part on the way to a call, in its function or where something of that name is called."""
    if _split(work, site) is not None:
        return True
    function = site.site.function
    if function < 0:
        return False
    name = _function_around(work.project, site)
    return any(_split(work, caller) is not None for caller in work.project.sites(name)[:MAX_CALLERS])


def _names_leading_to(project: Project, direct: list[Collective]) -> set[str]:
    """The names of functions that may come to one of the calls: by names alone, so rather too many."""
    wave = {name for item in direct if (name := _function_around(project, item.site))}
    found = set(wave)
    for _ in range(MAX_CALL_CHAIN):
        callers = (_function_around(project, site) for name in sorted(wave) for site in project.sites(name))
        wave = {name for name in callers if name} - found
        found |= wave
    return found


def _function_around(project: Project, site: CallSite) -> str:
    function = site.site.function
    return project.module(site.file).functions[function].name if function >= 0 else ""


def _with_callers(work: _Work, direct: list[Collective]) -> Iterator[Collective]:
    """The calls themselves, and calls of project functions that certainly come to one of them."""
    wave = direct
    seen: set[tuple[str, int]] = set()
    for depth in range(MAX_CALL_CHAIN + 1):
        yield from wave
        following: list[Collective] = []
        for item in wave if depth < MAX_CALL_CHAIN else ():
            function = item.site.site.function
            if function < 0 or not _is_unconditional(work, item.site):
                continue
            for caller in work.project.callers(FunctionRef(item.site.file, function)):
                key = (caller.file, caller.site.call.at)
                if caller.shift == 0 and key not in seen:
                    seen.add(key)
                    site = CallSite(caller.file, caller.site)
                    following.append(Collective(site, item.what, (*item.chain, item.site)))
        wave = following


def _is_unconditional(work: _Work, site: CallSite) -> bool:
    """Whether a call is made whenever its function is entered."""
    guards = guards_of(body_of(work.project, site.file, site.site.function), site.site.call.at)
    if guards is None or _split_around(work, site.file, site.site.function) is not None:
        return False
    for guard in guards:
        if guard.test is None:
            return False
        if guard.kind == "for":
            continue
        sides = [view.holds(guard.test, site.file, site.site.function) for view in (work.first, work.second)]
        if sides != [guard.holds, guard.holds]:
            return False
    return True


def _split(work: _Work, site: CallSite) -> Split | None:
    """The test that lets exactly one side of the ranks through to a call; ``None`` where there is no such test."""
    body = body_of(work.project, site.file, site.site.function)
    guards = guards_of(body, site.site.call.at)
    found = _split_around(work, site.file, site.site.function)
    for guard in [part for whole in guards or () for part in _parts(whole)]:
        if guard.test is None:
            return None
        if guard.kind == "for" or asks_for_main(guard.test):
            continue
        if guard.kind == "exit" and _raises(body, guard):
            return None
        one = _passes(work.first, guard, site)
        one_off = work.first.off
        other = _passes(work.second, guard, site)
        counted = work.second.off and not one_off
        if one is False and other is False:
            return None
        if one is None and other is None and _may_ask_for_mode(work, guard.test):
            return None
        if one is True and other is False:
            found = found or Split(guard, True, counted)
        elif one is False and other is True:
            found = found or Split(guard, False, False)
        elif one is None and other is False and counted:
            found = found or Split(guard, True, True)
    return found


def _split_around(work: _Work, file: str, function: int) -> Split | None:
    """The test of the rank in a decorator of the function, under which it is entered."""
    key = (file, function)
    if function < 0 or key in work.decorated:
        return work.decorated.get(key)
    work.decorated[key] = None  # a decorator that decorates its own parts says nothing of them
    ref = FunctionRef(file, function)
    for decorator in work.project.function(ref).decorators:
        if is_named(work.project, decorator, ref, work.decorators):
            work.decorated[key] = Split(Guard(decorator, True, DECORATOR, decorator.at), True, False, file)
            break
        inner = split_inside(work.project, decorator, file, lambda call: _split(work, call))
        if inner is not None:
            target = work.project.modules.resolve(decorator, file)
            where = target.file if isinstance(target, FunctionRef) else file
            work.decorated[key] = inner._replace(file=inner.file or where)
            break
    return work.decorated[key]


def _parts(guard: Guard) -> list[Guard]:
    """The conditions that must all be met where a guard lets through: the operands of an ``and``, or of an ``or`` that must be false."""
    test = guard.test
    if (
        isinstance(test, ir.Operation)
        and len(test.operands) > 1
        and test.operators[0] == ("and" if guard.holds else "or")
    ):
        return [part for operand in test.operands for part in _parts(guard._replace(test=operand))]
    return [guard]


def _may_ask_for_mode(work: _Work, test: ir.Expr) -> bool:
    """Whether an undecided test names what says if there are several processes at all: then rank 0 may be all there is."""
    words = [
        part.id if isinstance(part, ir.Name) else part.name
        for part in below(test)
        if isinstance(part, ir.Name | ir.Attribute)
    ]
    words += [part.value for part in below(test) if isinstance(part, ir.Constant) and isinstance(part.value, str)]
    return any(mode in word.lower() for word in words for mode in work.mode_words)


def _raises(body: tuple[ir.Stmt, ...], guard: Guard) -> bool:
    """Whether the way that leaves early ends the whole job with an exception."""
    for statement in statements(body):
        if statement.at == guard.at and type(statement) is ir.If:
            left = statement.orelse if guard.holds else statement.body
            return type(left[-1]) is ir.Jump and left[-1].kind == "raise"
    return False


def _passes(view: RankView, guard: Guard, site: CallSite) -> bool | None:
    assert guard.test is not None  # noqa: S101 - tested by the callers
    holds = view.holds(guard.test, site.file, site.site.function)
    return None if holds is None else holds is guard.holds


def _is_answered(work: _Work, item: Collective, split: Split) -> bool:
    """Whether the other ranks may make a matching call elsewhere: beside this one, or at another place of the file."""
    other_side = not split.main_only
    if other_side in work.lone.get((item.site.file, item.what), ()):
        return True
    # what a decorator keeps on one rank is called from anywhere, so the other ranks' call may be in any file
    if other_side in work.lone.get(("", item.what), ()):
        return True
    if split.file and any(other_side in sides for (_, what), sides in work.lone.items() if what == item.what):
        return True
    site = item.site
    body = body_of(work.project, site.file, site.site.function)
    for call in calls_in(body):
        name = call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
        if name not in work.possible and name not in work.collective_names:
            continue
        other = _split(work, CallSite(site.file, ir.Site(call, site.site.function)))
        if other is not None and other.main_only is not split.main_only:
            return True
    return False


def _is_alone(project: Project, file: str) -> bool:
    """Whether every known launch of the file starts one process only."""
    runs = project.runs_reaching(file)
    return bool(runs) and all(run.world_size.only == 1 for run in runs)
