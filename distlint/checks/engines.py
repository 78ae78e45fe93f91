"""Objects that a call made, and the configurations that they were made with."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from distlint.checks.call_levels import Levels
from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.callers import Caller
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, contexts_around
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.model.subject import Subject
from distlint.model.value import unknown


def receivers(project: Project, found: CallSite) -> Iterator[Instance]:
    """The objects of which a call site calls a method, as far as calls that made them are known."""
    func = found.site.call.func
    if type(func) is ir.Attribute:
        for option in options_of(project.evaluator(None).ask(func.base, found.file, found.site.function)):
            if isinstance(option, Instance):
                yield option


def configurations(context: CheckContext, made: Instance, kind: str = "") -> list[Subject]:
    """The configurations that the call gets which made an object (``extra["made-by"]`` of a subject is that call).

    ``kind`` is the kind of subject; without it the one that the rule names.
    """
    place = made.span()
    return [one for one in context.subjects(kind or context.parameters["subject"]) if one.extra.get("made-by") == place]


def handed_over(
    project: Project, methods: Collection[str], argument: str, position: int
) -> Iterator[tuple[Instance, CallSite]]:
    """Method calls of an object that was handed to a maker before, with what the maker made.

    ``methods`` are names by what the maker made (``pkg.function()[0].method``); it counts as made where the object goes
    by one place only. The calls stand behind the maker's in its function, or in a function that is only called there.
    """
    evaluator = project.evaluator(None)
    for maker in sorted({name.partition("()")[0] for name in methods}):
        lasts = {name.rpartition(".")[2] for name in methods if name.startswith(f"{maker}()")}
        for made in project.calls_to({maker}):
            expr, _ = find_argument(made.site.call, argument, position)
            if expr is None:
                continue
            given = options_of(evaluator.ask(expr, made.file, made.site.function))
            if len(given) != 1 or not isinstance(given[0], Instance):
                continue
            frame = evaluator.frame(made.file, made.site.function)
            engine = Instance(given[0].callee, made.site.call, frame, evaluator.state(frame, made.site.call.at), (0,))
            for last in sorted(lasts):
                for found in project.sites(last):
                    if _is_behind(project, found, made) and _is_object(project, found, given[0]):
                        yield engine, found


def _is_behind(project: Project, found: CallSite, made: CallSite) -> bool:
    """Whether a call only comes after another: it stands behind it in one function, or in a function that is called there."""
    place = (made.file, made.site.function)
    if (found.file, found.site.function) == place:
        return found.span > made.span
    if found.site.function < 0:
        return False
    callers = project.callers(FunctionRef(found.file, found.site.function))
    return bool(callers) and all((one.file, one.site.function) == place and _start(one) > made.span for one in callers)


def _start(caller: Caller) -> Span:
    return ir.unpack(caller.site.call.at, caller.file)


def _is_object(project: Project, found: CallSite, thing: Instance) -> bool:
    """Whether a method call's receiver is an object, and nothing else."""
    func = found.site.call.func
    if type(func) is not ir.Attribute:
        return False
    options = options_of(project.evaluator(None).ask(func.base, found.file, found.site.function))
    return len(options) == 1 and isinstance(options[0], Instance) and options[0].identity == thing.identity


def is_inside(project: Project, found: CallSite, names: frozenset[str]) -> bool:
    """Whether a ``with`` around a call makes or calls something with one of the last names."""
    if not names:
        return False
    body = body_of(project, found.file, found.site.function)
    return any(names & set(_names(context)) for context in contexts_around(body, found.site.call.at))


def _names(expr: ir.Expr) -> Iterator[str]:
    for part in below(expr):
        yield from _name_of(part)


def _name_of(part: ir.Expr) -> Iterator[str]:
    """The name that an expression itself is, or its text."""
    if type(part) is ir.Name:
        yield part.id
    elif type(part) is ir.Attribute:
        yield part.name
    elif type(part) is ir.Constant and isinstance(part.value, str):
        yield part.value


def tests_name(project: Project, found: CallSite, words: Collection[str]) -> bool:
    """Whether a test on the way to a call names one of the words: it may ask for just what matters there.

    The test stands in the function of the call or where that is called; what its variables, parameters and functions stand for counts.
    """
    if not words:
        return False
    levels = Levels.of_project(project)
    return any(
        any(word in name.lower() for word in words)
        for way in levels.ways(found)
        for guard, frame in levels.guards(way[:2])
        if guard.test is not None and guard.kind != "for"
        for part, _ in levels.mentioned(guard.test, frame)
        for name in _name_of(part)
    )


def unseen(project: Project, kind: str, found: CallSite) -> Subject:
    """A configuration of which nothing is known but the versions of the place."""
    return Subject(
        kind=kind,
        label=found.file,
        span=found.span,
        settings={},
        versions=project.environments.for_file(found.file),
        names={"host": unknown("not known"), "world_size": unknown("not known")},
        open_blocks=frozenset({""}),
    )
