"""Loaders without their first batches, for going on where training was broken off, that are gone through in later epochs as well.

Parameters: ``shortening`` (the calls that give such a loader, with the ``loader`` and ``count`` parameters).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.loaders import Loop, handed_on, lexical_loop
from distlint.checks.preparing import texts_of
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.stores import stored_into
from distlint.link.walking import below, bound_names, expressions_of, guards_of, leaves, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_CALLERS = 4
"""Callers of a function that gives a shortened loader, or goes through one."""
_PLAIN_CALLS = frozenset({"len", "int", "divmod", "min", "max"})
"""Calls that give the same for the same arguments."""


class _Kept(NamedTuple):
    """A variable or attribute (``text``) of a function that holds a shortened loader from a place (``at``) on."""

    file: str
    function: int
    text: str
    at: ir.Position


@check("shortened-loaders")
def shortened_loaders(context: CheckContext) -> Iterator[Finding]:
    """A finding for each call that takes the first batches from every epoch that follows."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["shortening"])):
        if _count_is_zero(context, site):
            continue
        again = _again(context, site)
        if again is not None:
            yield context.finding(
                "the first batches are left out of every epoch, not only of the one that was broken off",
                site.span,
                related=[Related(ir.unpack(_head(again[1]), again[0]), "each round of this loop leaves them out")],
            )
            continue
        for kept in _kept(project, site.file, site.site.function, site.site.call.at):
            found = _epochs_with(project, kept)
            if found is not None:
                file, loop, place = found
                yield context.finding(
                    "the loader without its first batches is kept: later epochs never see them either",
                    site.span,
                    related=[
                        Related(ir.unpack(place, file), "it is gone through here"),
                        Related(ir.unpack(_head(loop), file), "again in each round of this loop"),
                    ],
                )
                break


def _count_is_zero(context: CheckContext, site: CallSite) -> bool:
    count, certain = find_argument(site.site.call, context.parameters["count"], 1)
    if count is None:
        return certain  # nothing is left out by default
    # an option that is 0 unless somebody says so is another number where a job is resumed
    return type(count) is ir.Constant and count.value == 0


def _head(loop: Loop) -> ir.Position:
    if type(loop) is ir.While:
        return loop.test.at
    return loop.iterable.at if type(loop) is ir.For else loop.at


# --- called again in each epoch


def _again(context: CheckContext, site: CallSite) -> tuple[str, Loop] | None:
    """The loop each round of which shortens the same loader by the same number, and the file it stands in."""
    project: Project = context.project
    call, function = site.site.call, site.site.function
    given = [find_argument(call, context.parameters[name], at)[0] for at, name in enumerate(("loader", "count"))]
    if any(one is None for one in given):
        return None
    wanted = [one for one in given if one is not None]
    body = body_of(project, site.file, function)
    tests = [guard.test for guard in guards_of(body, call.at) or () if guard.test is not None and guard.kind != "for"]
    loop = lexical_loop(body, call.at)
    if loop is not None:
        inside = [one for one in tests if ir.encloses(loop.at, one.at) and one.at != _head(loop)]
        same = all(_is_same(project, loop, site.file, one, call.at) for one in (*wanted, *inside))
        return (site.file, loop) if same and _goes_round(loop) else None
    return _again_by_caller(project, site, [*wanted, *tests])


def _again_by_caller(project: Project, site: CallSite, asked: list[ir.Expr]) -> tuple[str, Loop] | None:
    """The loop around the only call of a function that shortens the loader which it is given."""
    if site.site.function < 0:
        return None
    ref = FunctionRef(site.file, site.site.function)
    definition = project.function(ref)
    names = [one.name for one in definition.parameters]
    callers = project.callers(ref)
    if len(callers) != 1 or any(_stores(definition.body, name) for name in names):
        return None
    caller = callers[0]
    body = body_of(project, caller.file, caller.site.function)
    call = caller.site.call
    loop = lexical_loop(body, call.at)
    if loop is None or not _goes_round(loop):
        return None
    offset = 1 if definition.owner >= 0 and type(call.func) is ir.Attribute else 0
    tests = [guard.test for guard in guards_of(body, call.at) or () if guard.test is not None and guard.kind != "for"]
    handed = [one for one in tests if ir.encloses(loop.at, one.at) and one.at != _head(loop)]
    for expr in asked:
        if any(type(part) is ir.Call and texts_of(part.func) not in _PLAIN_CALLS for part in below(expr)):
            return None
        for part in below(expr):
            if type(part) is ir.Attribute:
                return None
            if type(part) is not ir.Name or part.id in _PLAIN_CALLS:
                continue
            if part.id not in names:
                return None
            given, _ = find_argument(call, part.id, names.index(part.id) - offset + caller.shift)
            if given is None:
                return None
            handed.append(given)
    return (caller.file, loop) if all(_is_same(project, loop, caller.file, one, call.at) for one in handed) else None


# --- kept for later epochs


def _kept(project: Project, file: str, function: int, at: ir.Position, depth: int = 0) -> Iterator[_Kept]:
    """Where the result of a call is stored, in its function or in those that it is returned to."""
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.Assign and statement.value is not None and len(statement.targets) == 1:
            steps = _steps_to(statement.value, at)
            target: ir.Expr | None = statement.targets[0] if steps is not None else None
            for step in steps or ():
                target = target.items[step] if type(target) is ir.ListDisplay and step < len(target.items) else None
            text = texts_of(target) if target is not None else ""
            if text:
                yield _Kept(file, function, text, statement.at)
        elif type(statement) is ir.Return and statement.value is not None and function >= 0 and depth < 2:
            steps = _steps_to(statement.value, at)
            if steps is None:
                continue
            for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
                yield from _unpacked(project, caller.file, caller.site.function, caller.site.call.at, steps, depth)
    if depth == 0 and function >= 0:
        yield from _returned(project, file, function, at)


def _unpacked(
    project: Project, file: str, function: int, at: ir.Position, steps: tuple[int, ...], depth: int
) -> Iterator[_Kept]:
    """Where a part of what a call gives is stored."""
    if not steps:
        yield from _kept(project, file, function, at, depth + 1)
        return
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.Assign and statement.value is not None and statement.value.at == at:
            target: ir.Expr | None = statement.targets[0]
            for step in steps:
                target = target.items[step] if type(target) is ir.ListDisplay and step < len(target.items) else None
            if target is not None and texts_of(target):
                yield _Kept(file, function, texts_of(target), statement.at)


def _returned(project: Project, file: str, function: int, at: ir.Position) -> Iterator[_Kept]:
    """Where a variable that holds the result is given back to: ``loader = shorten(loader, n); return loader``."""
    body = body_of(project, file, function)
    names = {
        target.id
        for statement in statements(body)
        if type(statement) is ir.Assign and statement.value is not None and _steps_to(statement.value, at) == ()
        for target in statement.targets
        if type(target) is ir.Name
    }
    returned = [one.value for one in statements(body) if type(one) is ir.Return and one.value is not None]
    if len(names) != 1 or len(returned) != 1:
        return
    items = returned[0].items if type(returned[0]) is ir.ListDisplay else (returned[0],)
    for index, item in enumerate(items):
        if type(item) is ir.Name and item.id in names:
            steps = (index,) if type(returned[0]) is ir.ListDisplay else ()
            for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
                yield from _unpacked(project, caller.file, caller.site.function, caller.site.call.at, steps, 1)


def _steps_to(value: ir.Expr, at: ir.Position) -> tuple[int, ...] | None:
    """By which indices a value leads to a call that is all of that part, on one way of a test at least."""
    if value.at == at:
        return ()
    if type(value) is ir.Conditional:
        found = [_steps_to(one, at) for one in (value.body, value.orelse)]
        return next((one for one in found if one is not None), None)
    if type(value) is ir.ListDisplay:
        for index, item in enumerate(value.items):
            steps = _steps_to(item, at)
            if steps is not None:
                return (index, *steps)
    return None


def _epochs_with(project: Project, kept: _Kept) -> tuple[str, Loop, ir.Position] | None:
    """The loop in each round of which a kept loader is gone through, and where."""
    if lexical_loop(body_of(project, kept.file, kept.function), kept.at) is not None:
        return None
    for function in _readers(project, kept):
        body = body_of(project, kept.file, function)
        for loop in statements(body):
            if type(loop) not in (ir.For, ir.While) or (function == kept.function and loop.at < kept.at):
                continue
            if not _goes_round(loop) or _stores(loop.body, kept.text):  # type: ignore[arg-type, union-attr]
                continue
            if any(_is_stored_between(one, kept, loop) for one in statements(body) if function == kept.function):
                continue
            for place in _places(project, kept, loop):
                tests = [one.test for one in guards_of(loop.body, place) or () if one.test is not None]  # type: ignore[union-attr]
                inner = lexical_loop(loop.body, place)  # type: ignore[union-attr]
                if inner is None and all(_is_same(project, loop, kept.file, one, 0) for one in tests):  # type: ignore[arg-type]
                    return kept.file, loop, place  # type: ignore[return-value]
    return None


def _readers(project: Project, kept: _Kept) -> list[int]:
    """The functions in which a kept loader goes by the same name; none where others may put another one there."""
    functions = project.module(kept.file).functions
    root, _, rest = kept.text.partition(".")
    if not rest:
        return [kept.function]
    owner = functions[kept.function].owner if kept.function >= 0 else -1
    if root != "self" or owner < 0 or "." in rest:
        return []
    methods = [index for index, one in enumerate(functions) if one.owner == owner]
    others = [
        one for one in methods if one != kept.function and functions[one].name not in ("__init__", "setup", "prepare")
    ]
    if any(_stores(functions[one].body, kept.text) for one in others):
        return []
    return methods


def _is_stored_between(statement: ir.Stmt, kept: _Kept, loop: ir.Stmt) -> bool:
    """Whether something else is put into the variable after the shortened loader and before the loop."""
    if not kept.at < statement.at < loop.at or type(statement) in (ir.If, ir.With, ir.Try):
        return False
    return any(texts_of(one) == kept.text for one in stored_into(statement))


def _places(project: Project, kept: _Kept, loop: ir.Stmt) -> Iterator[ir.Position]:
    """Where a loop goes through a kept loader, itself or by a function that it hands it to."""
    for statement in statements(loop.body):  # type: ignore[union-attr]
        if type(statement) is ir.For and any(texts_of(one) == kept.text for one in handed_on(statement.iterable)):
            yield statement.at
            continue
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Call and _goes_through(project, kept, part):
                    yield part.at


def _goes_through(project: Project, kept: _Kept, call: ir.Call) -> bool:
    """Whether a function of the project goes through the loader that a call hands to it."""
    given: list[tuple[int | str, ir.Expr]] = [*enumerate(call.args)]
    given += [(word.name, word.value) for word in call.keywords if word.name is not None]
    at = next((key for key, one in given if texts_of(one) == kept.text), None)
    target = project.modules.resolve(call.func, kept.file) if at is not None else None
    if not isinstance(target, FunctionRef):
        return False
    definition = project.function(target)
    names = [one.name for one in definition.parameters]
    if isinstance(at, int):
        at += 1 if definition.owner >= 0 and type(call.func) is ir.Attribute else 0
        if at >= len(names):
            return False
        at = names[at]
    if at not in names or _stores(definition.body, at):
        return False
    return any(
        type(one) is ir.For
        and any(texts_of(part) == at for part in handed_on(one.iterable))
        and not [guard for guard in guards_of(definition.body, one.at) or () if guard.kind != "exit"]
        for one in statements(definition.body)
    )


# --- what changes from round to round


def _goes_round(loop: Loop) -> bool:
    """Whether a loop may make a second round: its body does not end with a way out of it."""
    if isinstance(loop, ir.Comprehension):
        return False
    last = loop.body[-1] if loop.body else None
    ends = leaves(last.body) or leaves(last.orelse) if type(last) is ir.Try else leaves(loop.body)
    return not ends


def _stores(body: tuple[ir.Stmt, ...], text: str, but: ir.Position = 0) -> bool:
    """Whether statements store into a variable or attribute, or into what it is a part of; ``but`` is a place that does not count."""
    for statement in statements(body):
        if but and ir.encloses(statement.at, but) and type(statement) is ir.Assign:
            continue
        targets = [*stored_into(statement)]
        if type(statement) is ir.Jump and statement.kind in ("global", "nonlocal"):
            targets += statement.values
        written = {texts_of(one) for one in targets} | {name for one in targets for name in bound_names(one)}
        if text in written or text.partition(".")[0] in {one for one in written if one != "self"}:
            return True
        for expr in expressions_of(statement):
            if any(type(part) is ir.Wrapped and part.target == text for part in below(expr)):
                return True
    return False


def _is_same(project: Project, loop: Loop, file: str, expr: ir.Expr, but: ir.Position) -> bool:
    """Whether an expression certainly gives the same in each round of a loop."""
    if isinstance(loop, ir.Comprehension):
        return False
    whole: tuple[ir.Stmt, ...] = (loop,)
    for part in below(expr):
        if type(part) is ir.Call:
            if texts_of(part.func) not in _PLAIN_CALLS:
                return False
        elif type(part) is ir.Name:
            if _stores(whole, part.id, but):
                return False
        elif type(part) is ir.Attribute:
            text = texts_of(part)
            if not text or _stores(whole, text, but):
                return False
            if text.startswith("self.") and _is_changed_by_methods(project, file, text):
                return False
        elif type(part) in (ir.Subscript, ir.Lambda, ir.Comprehension, ir.Wrapped):
            return False
    return True


def _is_changed_by_methods(project: Project, file: str, text: str) -> bool:
    """Whether more than one method stores into an attribute of its object: a loop may call one of them."""
    functions = project.module(file).functions
    writers = [one for one in functions if one.owner >= 0 and _stores(one.body, text)]
    return len([one for one in writers if one.name != "__init__"]) > 1
