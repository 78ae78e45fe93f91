"""Schedulers that start anew where a program goes on with the model, the optimizer and the epoch of a checkpoint.

Parameters: ``schedulers`` (the calls that make one whose learning rate rests on the number of its steps), ``loads`` (what reads a
checkpoint), ``harmless`` (methods of a scheduler that leave its state alone).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.stores import stored_into
from distlint.link.walking import below, children, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_CALLERS = 6
_SCHEDULE = re.compile(r"sched", re.IGNORECASE)


class _Restored(NamedTuple):
    """What a program takes from a checkpoint: the loads of states by the name of the object, and the variables with numbers of it."""

    states: dict[str, tuple[str, ir.Position]]
    numbers: frozenset[str]


class _Programs(dict[frozenset[str], "_Restored | None"]):
    """What programs restore, by their files; ``None`` where a schedule is among it, or nothing is."""


@check("unrestored-schedules")
def unrestored_schedules(context: CheckContext) -> Iterator[Finding]:
    """A finding for each scheduler whose state nothing saves or restores, beside an optimizer that is restored."""
    project: Project = context.project
    known: _Programs = project.kept.setdefault(_Programs, _Programs())
    for site in project.calls_to(set(context.parameters["schedulers"])):
        files = frozenset(one for one in family(project, site.file) if one in project.facts)
        if files not in known:
            known[files] = _restored(context, files)
        restored = known[files]
        name = _kept_as(project, site)
        optimizer, _ = find_argument(site.site.call, "optimizer", 0)
        if restored is None or not name or optimizer is None:
            continue
        place = restored.states.get(last_name(optimizer))
        if (
            place is None
            or _rests_on(site.site.call, restored.numbers)
            or not _goes_on(project, files, restored.numbers)
        ):
            continue
        if _only_steps(context, files, name):
            yield context.finding(
                "this schedule starts anew after a resume: its state is not restored with that of the optimizer",
                site.span,
                related=[Related(ir.unpack(place[1], place[0]), "the state of its optimizer is restored here")],
            )


def _restored(context: CheckContext, files: frozenset[str]) -> _Restored | None:
    """What the files of a program restore; ``None`` where a schedule is mentioned in what is saved or loaded."""
    project: Project = context.project
    states: dict[str, tuple[str, ir.Position]] = {}
    numbers: set[str] = set()
    for file in sorted(files):
        for function in range(-1, len(project.module(file).functions)):
            body = body_of(project, file, function)
            read = {
                last_name(target)
                for one in statements(body)
                if type(one) is ir.Assign and type(one.value) is ir.Call and _loads(context, file, one.value)
                for target in one.targets
            }
            for statement in statements(body):
                if any(_names_schedule(part) for expr in expressions_of(statement) for part in below(expr)):
                    return None
                if not read:
                    continue
                for expr in expressions_of(statement):
                    for part in below(expr):
                        if type(part) is ir.Call and called_name(part) == "load_state_dict" and part.args:
                            if type(part.func) is ir.Attribute and _takes_from(part.args[0], read):
                                states.setdefault(last_name(part.func.base), (file, part.at))
                value = statement.value if type(statement) in (ir.Assign, ir.Return) else None  # type: ignore[union-attr]
                if not isinstance(value, ir.Expr) or not _takes_from(value, read):
                    continue
                if type(statement) is ir.Assign:
                    numbers |= {last_name(one) for one in stored_into(statement)}
                elif function >= 0:
                    numbers |= set(_given_back(project, FunctionRef(file, function)))
    return _Restored(states, frozenset(numbers - {""})) if states and numbers else None


def _loads(context: CheckContext, file: str, call: ir.Call) -> bool:
    return context.project.modules.dotted(call.func, file) in context.parameters["loads"]


def _names_schedule(expr: ir.Expr) -> bool:
    """Whether a key of a dictionary has to do with schedules: ``state["scheduler"]``, ``{"sched": ...}``."""
    if type(expr) is ir.Subscript:
        keys: tuple[ir.Expr | None, ...] = (expr.index,)
    elif type(expr) is ir.DictDisplay:
        keys = expr.keys
    elif type(expr) is ir.Call and called_name(expr) in ("get", "pop", "dict", "save", "save_checkpoint"):
        keys = expr.args[:1]
        if any(word.name and _SCHEDULE.search(word.name) for word in expr.keywords):
            return True
    else:
        return False
    return any(type(key) is ir.Constant and isinstance(key.value, str) and _SCHEDULE.search(key.value) for key in keys)


def _takes_from(expr: ir.Expr, names: set[str]) -> bool:
    """Whether an expression takes an item out of one of some dictionaries."""
    for part in below(expr):
        if type(part) is ir.Subscript and last_name(part.base) in names:
            return True
        if type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name in ("get", "pop"):
            if last_name(part.func.base) in names:
                return True
    return False


def _given_back(project: Project, ref: FunctionRef) -> Iterator[str]:
    """The variables in which callers keep what a function returns."""
    for caller in project.callers(ref)[:MAX_CALLERS]:
        for statement in statements(body_of(project, caller.file, caller.site.function)):
            if (
                type(statement) is ir.Assign
                and statement.value is not None
                and statement.value.at == caller.site.call.at
            ):
                yield from (last_name(one) for one in stored_into(statement))


def _kept_as(project: Project, site: CallSite) -> str:
    """The last name of the variable or attribute that a scheduler is kept in; ``""`` if there is none."""
    for statement in statements(body_of(project, site.file, site.site.function)):
        if type(statement) is ir.Assign and statement.value is not None and statement.value.at == site.site.call.at:
            return last_name(statement.targets[0]) if len(statement.targets) == 1 else ""
    return ""


def _rests_on(call: ir.Call, numbers: frozenset[str]) -> bool:
    """Whether a scheduler is told where to begin, or what is left to do."""
    given = (*call.args, *(word.value for word in call.keywords))
    if any(word.name in (None, "last_epoch") for word in call.keywords):
        return True
    parts = [part for expr in given for part in below(expr)]
    parts += [part for one in parts if type(one) is ir.Lambda for part in below(one.body)]
    return any(last_name(part) in numbers for part in parts)


def _goes_on(project: Project, files: frozenset[str], numbers: frozenset[str]) -> bool:
    """Whether a loop begins with a number of the checkpoint."""
    for file in sorted(files):
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                if type(statement) is not ir.For:
                    continue
                for part in below(statement.iterable):
                    if type(part) is ir.Call and called_name(part) in ("range", "trange") and len(part.args) > 1:
                        if any(last_name(one) in numbers for one in below(part.args[0])):
                            return True
    return False


def _only_steps(context: CheckContext, files: frozenset[str], name: str) -> bool:
    """Whether nothing happens to what goes by a name but single steps without a number, as far as the files of a program tell."""
    project: Project = context.project
    steps = 0
    for file in sorted(files):
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                stored = {one.at for one in stored_into(statement)}
                for expr in expressions_of(statement):
                    if expr.at in stored and last_name(expr) == name:
                        continue
                    found = _uses(context, file, expr, name, stored)
                    if found is None:
                        return False
                    steps += found
    return steps == 1


def _uses(context: CheckContext, file: str, expr: ir.Expr, name: str, stored: set[ir.Position]) -> int | None:
    """How many steps an expression makes; ``None`` where it does something else with the scheduler."""
    steps = 0
    allowed: set[ir.Position] = set(stored)
    for part in below(expr):
        if type(part) is ir.Call:
            if type(part.func) is ir.Attribute and last_name(part.func.base) == name:
                if part.func.name == "step" and not part.args and not part.keywords:
                    steps += 1
                elif part.func.name not in context.parameters["harmless"]:
                    return None
                allowed |= {one.at for one in below(part.func)}
            else:
                allowed |= _handed_on(context.project, file, part, name)
        if last_name(part) == name and part.at not in allowed:
            return None
    return steps


def _handed_on(project: Project, file: str, call: ir.Call, name: str) -> set[ir.Position]:
    """Arguments that a function of the project takes under the same name, so that what it does with them is seen."""
    given = [
        *((at, one) for at, one in enumerate(call.args) if last_name(one) == name),
        *((word.name, word.value) for word in call.keywords if last_name(word.value) == name),
    ]
    target = project.modules.resolve(call.func, file) if given else None
    if not isinstance(target, FunctionRef):
        return set()
    names = [one.name for one in project.function(target).parameters]
    found: set[ir.Position] = set()
    for key, one in given:
        at = names[key] if isinstance(key, int) and key < len(names) else key
        if at == name:
            found |= {one.at, *(child.at for child in children(one))}
    return found
