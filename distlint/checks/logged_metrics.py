"""Values that a module logs of one process's part of the data, and by which something of the program decides.

Parameters: ``hooks`` (methods that a trainer calls with such parts), ``training`` (those that count only for what the program itself does
by a value), ``deciders`` (classes, each with the place of the argument ``monitor``), ``results`` (attributes that hold what was logged),
``collecting`` (last names of calls that give the same on all processes), ``joining`` (how the names of functions look that bring
together what the processes have), ``acting`` (names of calls that do something for good), ``switches`` (attributes of a trainer that
change what it does), ``needing`` (classes that fail without the value, with the place of ``monitor``), ``shared`` (attributes that are
the same on all processes), ``metrics`` (libraries of metrics that reduce themselves).

Without the word for it (``sync_dist``) nothing is reduced of what is logged, one by one or as a dictionary: see the evidence of the rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.hooked import Hooked, processes
from distlint.checks.logged_names import (
    Given,
    Place,
    entries,
    is_left_out,
    reached,
    resolved,
)
from distlint.checks.logged_texts import texts, texts_by_way
from distlint.checks.preparing import texts_of
from distlint.checks.programs import family
from distlint.checks.spread_names import calls_of, forward, mentions
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.walking import below, calls_in, expressions_of, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project


class _Decision(NamedTuple):
    """What goes by a logged value; ``acts`` where the program itself does something by it."""

    place: Related
    acts: bool


def logged_metrics(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    """A finding for each value of one part of the data that is logged as it is, and that something goes by."""
    yield from _logged_by_one(context, hooked)
    deciding = _deciding(context, hooked)
    if not deciding:
        return
    everywhere = {name: one.place for name, one in deciding.items()}
    acting = {name: one.place for name, one in deciding.items() if one.acts}
    told: set[tuple[str, ir.Position]] = set()
    bases = frozenset(context.parameters["bases"])
    for hooks, wanted in ((context.parameters["hooks"], everywhere), (context.parameters["training"], acting)):
        for place in reached(context.project, hooked, hooks, bases) if wanted else ():
            yield from _of_function(context, hooked, place, wanted, told)


def _logged_by_one(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    """A finding for each value that the first process alone logs, and that something of every process asks for."""
    project: Project = context.project
    needed: dict[str, Related] = {}
    for file in sorted(family(project, hooked.trainer.file) & set(project.python_files)):
        for name, position in context.parameters.get("needing", {}).items():
            for site in project.module(file).calls.get(name, ()):
                given, _ = find_argument(site.call, "monitor", position)
                if given is None or find_argument(site.call, "strict", None)[0] is not None:
                    continue
                for text in texts(project, given, file, site.function):
                    needed.setdefault(text, Related(ir.unpack(given.at, file), "every process asks for it here"))
    if not needed:
        return
    logged: dict[str, list[tuple[Place, ir.Call]]] = {}
    for place in reached(project, hooked, [*hooked.methods], frozenset(context.parameters["bases"])):
        for call in calls_in(body_of(project, place.file, place.function)):
            if type(call.func) is not ir.Attribute or texts_of(call.func.base) != place.me:
                continue
            found = entries(project, call, place)
            if last_name(call.func) == "log_dict" and not found:
                return  # nobody knows what is logged by it
            for entry in found:
                names = texts_by_way(project, entry.key)
                if not names:
                    return
                for text in names:
                    logged.setdefault(text, []).append((place, call))
    known = {(one.file, call.at) for places in logged.values() for one, call in places}
    for text, places in logged.items():
        if text in needed and not _is_given_elsewhere(context, hooked, text, known):
            tests = [_test_of_one(project, one, call) for one, call in places]
            if tests[0] is None or None in tests:
                continue
            yield context.finding(
                f"`{text}` is logged on the first process only, and all of them look for it: the others raise an exception",
                ir.unpack(places[0][1].at, places[0][0].file),
                related=[Related(tests[0], "this lets the first process pass alone"), needed[text], processes(hooked)],
                symbol=text,
                help="log it on every process, with `sync_dist=True` where each has another value",
            )


def _is_given_elsewhere(context: CheckContext, hooked: Hooked, text: str, known: set[tuple[str, ir.Position]]) -> bool:
    """Whether something beside the module may log a value, as a callback does, or puts it where the results are."""
    project: Project = context.project
    files = family(project, hooked.trainer.file) & set(project.python_files)
    if any(one in project.text_of(file) for file in files for one in context.parameters["results"]):
        return True
    for name in ("log", "log_dict"):
        for site in project.sites(name):
            if site.file in files and (site.file, site.site.call.at) not in known:
                keys = [one.key for one in entries(project, site.site.call, Place(site.file, site.site.function, ""))]
                if not keys or any(text in texts_by_way(project, one) for one in keys):
                    return True
    return False


def _test_of_one(project: Project, place: Place, call: ir.Call) -> Span | None:
    """The test in the function of a call that lets the first process alone come to it."""
    view = DivergenceView.of_project(project)
    for guard in guards_of(body_of(project, place.file, place.function), call.at) or ():
        if guard.test is not None and guard.kind in ("if", "exit", "expression"):
            outcomes = view.outcomes(guard.test, place.file, place.function)
            if outcomes == ((True, False) if guard.holds else (False, True)):
                return ir.unpack(guard.test.at, place.file)
    return None


def _of_function(
    context: CheckContext, hooked: Hooked, place: Place, wanted: dict[str, Related], told: set[tuple[str, ir.Position]]
) -> Iterator[Finding]:
    """A finding for each such value that a function logs on one of the ways to it; ``told``: the calls of which that is said."""
    project: Project = context.project
    for call in calls_in(body_of(project, place.file, place.function)) if place.me else ():
        if type(call.func) is not ir.Attribute or texts_of(call.func.base) != place.me or (place.file, call.at) in told:
            continue
        found = entries(project, call, place)
        if not found or not is_left_out(project, call, "sync_dist", place):
            continue
        if find_argument(call, "rank_zero_only", None)[0] is not None:
            continue
        for entry in found:
            text = next((one for one in texts_by_way(project, entry.key) if one in wanted), None)
            if text is None or _is_common(context, entry.value):
                continue
            told.add((place.file, call.at))
            yield context.finding(
                f"`{text}` is the value of one process's part of the data, and decides for the whole job",
                ir.unpack(call.at, place.file),
                related=[wanted[text], *_ways_there(place), processes(hooked)],
                symbol=text,
            )
            break


def _ways_there(place: Place) -> Iterator[Related]:
    """The calls by which a hook comes to what logs."""
    while place.call is not None and place.outer is not None:
        yield Related(ir.unpack(place.call.at, place.outer.file), "this comes to it, and says what is logged")
        place = place.outer


def _is_common(context: CheckContext, given: Given) -> bool:
    """Whether a logged value may be a metric that reduces itself, be collected from all processes, or have nothing to do with the data."""
    project: Project = context.project
    # what a helper is given on this way says more than all that it may be given
    told = resolved(project, given)
    value, place = (told if type(given.expr) is ir.Name else given)[:2]
    evaluator = project.evaluator(None)
    found = derivation(project, value, place.file, place.function)
    helper, caller = (given.place.file, given.place.function), (place.file, place.function)
    for part in found.parts:
        if helper != caller and (part.file, part.function) == helper:
            continue  # how a helper logs says nothing of what it is given
        word = last_name(part.expr)
        if word in context.parameters["collecting"] or re.search(context.parameters["joining"], word):
            return True
        if type(part.expr) is ir.Attribute and part.file == place.file:
            for option in options_of(evaluator.ask(part.expr, part.file, part.function)):
                if isinstance(option, Instance) and evaluator.instance_name(option).startswith(
                    tuple(context.parameters["metrics"])
                ):
                    return True
    if any(type(part) is ir.Attribute and part.name in context.parameters["shared"] for part in below(value)):
        # only where nothing else has a part in it
        return sum(type(part) is ir.Name and part.id not in ("float", "int") for part in below(value)) == 1
    counted = not any(type(part.expr) is ir.Call for part in found.parts) and found.whole
    return counted or (type(value) is ir.Attribute and texts_of(value.base) == place.me)


# What goes by a value -----------------------------------------------------------------------------------------------------


def _deciding(context: CheckContext, hooked: Hooked) -> dict[str, _Decision]:
    """The names of logged values that something of the program decides by."""
    project: Project = context.project
    found: dict[str, _Decision] = {}
    for file in sorted(family(project, hooked.trainer.file) & set(project.python_files)):
        module = project.module(file)
        for name in context.parameters["deciders"]:
            for site in module.calls.get(name, ()):
                given, _ = find_argument(site.call, "monitor", context.parameters["deciders"][name])
                for text in texts(project, given, file, site.function) if given is not None else ():
                    found.setdefault(text, _Decision(Related(ir.unpack(given.at, file), "this goes by it"), False))  # type: ignore[union-attr]
        indexes = range(-1, len(module.functions))
        for index in indexes:
            for key, one in _monitors(project, file, index):
                found.setdefault(key, one)
        for index in indexes:
            for key, one in _readings(context, file, index):
                if key not in found or (one.acts and not found[key].acts):
                    found[key] = one
    return found


def _monitors(project: Project, file: str, index: int) -> Iterator[tuple[str, _Decision]]:
    """What the schedulers go by that a function gives a trainer in a dictionary."""
    if "monitor" not in project.text_of(file):
        return
    for statement in statements(body_of(project, file, index)):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is not ir.DictDisplay:
                    continue
                for key, value in zip(part.keys, part.values, strict=True):
                    if type(key) is ir.Constant and key.value == "monitor":
                        for text in texts(project, value, file, index):
                            yield text, _Decision(Related(ir.unpack(value.at, file), "this goes by it"), False)


def _readings(context: CheckContext, file: str, index: int) -> Iterator[tuple[str, _Decision]]:
    """What a function reads of what was logged; nothing where it brings together what the processes have."""
    project: Project = context.project
    results = context.parameters["results"]
    if not any(one in project.text_of(file) for one in results):
        return
    body = body_of(project, file, index)
    held = {
        target.id
        for statement in statements(body)
        if type(statement) is ir.Assign and statement.value is not None and _holds(statement.value, results)
        for target in statement.targets
        if type(target) is ir.Name
    }
    read = [
        (key, part)
        for statement in statements(body)
        for expr in expressions_of(statement)
        for part in below(expr)
        for key in _keys(part, (*results, *held))
    ]
    if not read or _joins(context, file, index):
        return
    for key, part in read:
        acts = _acts(context, body, part)
        for text in texts(project, key, file, index):
            yield text, _Decision(Related(ir.unpack(part.at, file), "this goes by it"), acts)


def _holds(expr: ir.Expr, results: Collection[str]) -> bool:
    """Whether an expression is what was logged, or a copy of it."""
    if type(expr) is ir.Call:
        inner = expr.args[0] if expr.args else expr.func.base if type(expr.func) is ir.Attribute else None
        return last_name(expr.func) in ("dict", "copy") and inner is not None and last_name(inner) in results
    return last_name(expr) in results


def _keys(part: ir.Expr, names: tuple[str, ...]) -> Iterator[ir.Expr]:
    """The key by which an expression reads what was logged."""
    if type(part) is ir.Subscript and _holds(part.base, names):
        yield part.index
    elif type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name == "get" and part.args:
        if last_name(part.func.base) in names:
            yield part.args[0]


def _joins(context: CheckContext, file: str, index: int) -> bool:
    """Whether a function may bring something together, itself or in a function of the project that it calls."""
    project: Project = context.project
    joining = re.compile(context.parameters["joining"])
    for call in calls_of(body_of(project, file, index)):
        if joining.search(last_name(call.func)):
            return True
        for edge in project.call_graph.targets(file, index, call):
            if any(joining.search(last_name(one.func)) for one in calls_of(project.function(edge.target).body)):
                return True
    return False


def _acts(context: CheckContext, body: tuple[ir.Stmt, ...], read: ir.Expr) -> bool:
    """Whether a function does something for good, or leaves, by a test of what it reads."""
    names: set[str] = set()
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None and ir.encloses(statement.value.at, read.at):
            names |= {target.id for target in statement.targets if type(target) is ir.Name}
    derived = forward(body, names)
    for statement in statements(body):
        if type(statement) is ir.If and (ir.encloses(statement.test.at, read.at) or mentions(statement.test, derived)):
            if any(_is_act(context, one) for one in statements((*statement.body, *statement.orelse))):
                return True
        if type(statement) is ir.Assign and statement.value is not None and mentions(statement.value, derived):
            if _is_act(context, statement):
                return True
    return False


def _is_act(context: CheckContext, statement: ir.Stmt) -> bool:
    if type(statement) is ir.Jump:
        return statement.kind == "raise"
    if type(statement) is ir.Assign:
        if any(last_name(target) in context.parameters["switches"] for target in statement.targets):
            return True
        if any(
            type(target) is ir.Subscript and type(target.index) is ir.Constant and target.index.value == "lr"
            for target in statement.targets
        ):
            return True
    acting = re.compile(context.parameters["acting"])
    return any(
        type(part) is ir.Call and acting.search(last_name(part.func))
        for expr in expressions_of(statement)
        for part in below(expr)
    )
