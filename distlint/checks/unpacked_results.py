"""The results of a call are taken apart in another way than the call returns them.

Parameters: ``callee``; ``count`` (how many results there are; 0: the result can't be taken apart at all); ``roles`` (for each
result the parts of names that people give to it); ``whole`` (the results come as a tuple, so that a variable that holds them all has
no method of any of them).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.callers import Caller
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, expressions_below, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("unpacked-results")
def unpacked_results(context: CheckContext) -> Iterator[Finding]:
    """A finding for each assignment to another number of names, or to names that stand for each other's results."""
    project: Project = context.project
    calls = {
        (found.file, found.site.call.at): (found, found)
        for found in project.calls_to(set(context.parameters["callee"]))
        if not _is_own(project, found)
    }
    calls |= {
        (caller.file, caller.site.call.at): (CallSite(caller.file, caller.site, made.name), made)
        for made, _ in list(calls.values())
        for caller in _handed_on(project, made)
    }
    for file in sorted({file for file, _ in calls}):
        for _, body in bodies_of(project.module(file)):
            for statement in statements(body):
                if type(statement) is ir.Assign and statement.value is not None:
                    found, made = calls.get((file, statement.value.at), (None, None))
                    for target in statement.targets if found is not None else ():
                        if found is not None and type(target) is ir.ListDisplay:
                            yield from _judged(context, found, target)
                        elif found is not None and made is not None and context.parameters.get("whole", False):
                            yield from _used_as_one(context, project, found, made, target)


def _is_own(project: Project, found: CallSite) -> bool:
    """Whether a class of the project has a method of its own in the place of the library's, with results of its own."""
    func = found.site.call.func
    if not isinstance(func, ir.Attribute) or type(func.base) is ir.Call:
        return False
    receivers = options_of(project.evaluator(None).ask(func.base, found.file, found.site.function))
    owners = [one.callee for one in receivers if isinstance(one, Instance) and isinstance(one.callee, ClassRef)]
    return any(project.modules.method(one, func.name) is not None for one in owners)


def _handed_on(project: Project, made: CallSite) -> tuple[Caller, ...]:
    """The calls of a function of the project that does nothing but give back what the call gives."""
    if made.site.function < 0:
        return ()
    body = project.body(made.file, made.site.function)
    returned = [one.value for one in statements(body) if isinstance(one, ir.Return)]
    if len(returned) != 1 or returned[0] is not made.site.call:
        return ()
    callers = project.callers(FunctionRef(made.file, made.site.function))
    return tuple(one for one in callers if not one.looked_up and not one.shift)


def _judged(context: CheckContext, found: CallSite, target: ir.ListDisplay) -> Iterator[Finding]:
    count = context.parameters["count"]
    starred = [item for item in target.items if type(item) is ir.Starred]
    named = len(target.items) - len(starred)
    if named > count if starred else named != count or count == 0:
        what = f"gives {count} results" if count else "gives one object, which can't be taken apart"
        targets = "1 name" if named == 1 else f"{named} names"
        yield context.finding(
            f"`{found.name.rpartition('.')[2]}` {what}, but is assigned to {targets}",
            ir.unpack(target.at, found.file),
            symbol=found.name,
        )
    elif not starred:
        names = [_role_name(item) for item in target.items]
        swapped = _swapped(names, context.parameters.get("roles", ()))
        if swapped is not None and not _come_back(found, names, swapped):
            first, second = swapped
            yield context.finding(
                f"results {first + 1} and {second + 1} go to the names of each other",
                ir.unpack(target.items[first].at, found.file),
                symbol=found.name,
            )


def _used_as_one(
    context: CheckContext, project: Project, found: CallSite, made: CallSite, target: ir.Expr
) -> Iterator[Finding]:
    """A finding where a variable that holds all results is called, or asked for an attribute that no tuple has.

    ``found`` is the call that is assigned, ``made`` the one that gives the results, where a function hands them on.
    """
    name = last_name(target)
    evaluator = project.evaluator(None)
    for function, body in bodies_of(project.module(found.file)) if name else ():
        for expr in expressions_below(body):
            if type(expr) is ir.Attribute:
                used = None if hasattr(tuple, expr.name) else expr.base
            else:
                used = expr.func if type(expr) is ir.Call else None
            if used is None or last_name(used) != name or used.at == target.at:
                continue
            options = options_of(evaluator.ask(used, found.file, function))
            if options and all(_is_result(one, made) for one in options):
                count = context.parameters["count"]
                message = (
                    f"`{found.name.rpartition('.')[2]}` gives {count} results, but `{name}` is used as one of them"
                )
                related = [Related(ir.unpack(used.at, found.file), "used here")]
                yield context.finding(message, ir.unpack(target.at, found.file), related=related, symbol=found.name)
                return


def _is_result(value: Abstract, found: CallSite) -> bool:
    """Whether a value is all that a call gave."""
    return isinstance(value, Instance) and not value.part and value.call.at == found.site.call.at


def _come_back(found: CallSite, names: Sequence[str], places: tuple[int, int]) -> bool:
    """Whether the call was handed over what it gives back at one of two places, as where both are given the wrong way round."""
    given = [_role_name(one) for one in found.site.call.args]
    return any(place < len(given) and given[place] == names[place] for place in places)


def _role_name(expr: ir.Expr) -> str:
    name = expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
    return name.lower()


def _swapped(names: Sequence[str], roles: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """Two places whose names each say that they hold the other's result, and only that."""
    meant = [[role for role, words in enumerate(roles) if any(word in name for word in words)] for name in names]
    for first, roles_of_first in enumerate(meant):
        for second in range(first + 1, len(meant)):
            if roles_of_first == [second] and meant[second] == [first]:
                return first, second
    return None
