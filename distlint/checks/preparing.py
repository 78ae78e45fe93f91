"""Calls that take a program's objects over (``prepare``), what they were handed, and which object an expression means.

The names of the calls come from the rule: ``prepare`` (they give the objects back, made ready for several processes), ``unwrap`` (they
give the program's own object again).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext
from distlint.link.abstract import Abstract, Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, External
from distlint.link.project import CallSite, Project
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.record import dataclass
from distlint.model.span import Span

MAX_SITES = 200
"""Calls of one kind that are looked at in a project."""


class Handed(NamedTuple):
    """An object that a program hands to ``prepare``."""

    found: CallSite
    position: int
    expr: ir.Expr
    instance: Instance | None


@dataclass(slots=True)
class Preparations:
    """What is prepared in a project, for the rules that name the same calls; see ``of_context``."""

    project: Project
    names: tuple[str, ...]
    things: Things
    sites: tuple[CallSite, ...]
    handed: tuple[Handed, ...]

    @classmethod
    def of_context(cls, context: CheckContext) -> Preparations:
        """The preparations by the calls that a rule names (``prepare``; ``silent``: contexts without gradients), worked out once."""
        project: Project = context.project
        names, silent = context.parameters["prepare"], context.parameters.get("silent", ())
        known: dict[tuple[str, ...], Preparations] = project.kept.setdefault(cls, {})
        key = (*sorted(names), *silent)
        if key not in known:
            things = Things(project, (), silent, ())
            sites = tuple(list(project.calls_to(set(names)))[:MAX_SITES])
            handed = tuple(_handed(things, sites))
            known[key] = cls(project, tuple(names), things, sites, handed)
        return known[key]

    def is_prepared(self, instance: Instance) -> bool:
        """Whether an object is what a preparation gave."""
        name = self.things.evaluator.instance_name(instance)
        return any(name.startswith(f"{one}()") for one in self.names)

    def handed_as(self, instance: Instance) -> Handed | None:
        """Where an object was handed over."""
        for one in self.handed:
            if one.instance is not None and one.instance.identity == instance.identity:
                return one
        return None

    def given_for(self, instance: Instance) -> Handed | None:
        """What was handed over for an object that a preparation gave."""
        part = instance.part
        for one in self.handed:
            if one.found.file == instance.frame.file and one.found.site.call.at == instance.call.at:
                if part == (one.position,) or (not part and len(one.found.site.call.args) == 1):
                    return one
        return None

    def objects(self, expr: ir.Expr, file: str, function: int) -> tuple[Instance, ...]:
        """All objects that an expression may be; none where it may be something that is not known."""
        return self.objects_in(expr, self.things.evaluator.frame(file, function))

    def objects_in(self, expr: ir.Expr, frame: Frame) -> tuple[Instance, ...]:
        """The same in a frame, where more may be known of the parameters."""
        options = options_of(self.things.evaluator.ask_in(expr, frame))
        found = [self.things.peeled(one) for one in options if isinstance(one, Instance)]
        return tuple(found) if len(found) == len(options) else ()


def _handed(things: Things, sites: tuple[CallSite, ...]) -> Iterator[Handed]:
    for found in sites:
        for position, expr in enumerate(found.site.call.args):
            if type(expr) is ir.Starred:
                break
            given = options_of(things.evaluator.ask(expr, found.file, found.site.function))
            # what an attribute holds behind the call is not what the call gets
            options = [one for one in given if not isinstance(one, Instance) or one.call is not found.site.call]
            one = options[0] if len(options) == 1 else None
            yield Handed(found, position, expr, things.peeled(one) if isinstance(one, Instance) else None)


def splits_batches(context: CheckContext, found: Preparations, site: CallSite) -> bool | None:
    """Whether the preparing object is told to split batches; ``None`` if it may part them otherwise, or is not known.

    Parameters of the rule: ``switches`` (arguments of that object that change how it parts them) and, if one may be looked at,
    ``splitting``.
    """
    func = site.site.call.func
    if type(func) is not ir.Attribute:
        return None
    makers = found.objects(func.base, site.file, site.site.function)
    words = [word for one in makers for word in one.call.keywords]
    if not makers or any(word.name is None for word in words):
        return None
    switches = [word for word in words if word.name in context.parameters["switches"]]
    if not switches:
        return False
    word = switches[0]
    told = type(word.value) is ir.Constant and type(word.value.value) is bool
    if len(switches) > 1 or len(makers) > 1 or word.name != context.parameters.get("splitting") or not told:
        return None
    return bool(word.value.value)  # type: ignore[union-attr]


def is_module(project: Project, instance: Instance, modules: Collection[str], layers: str) -> bool:
    """Whether an object is a network: of a project class below one of the library classes ``modules``, or a class below ``layers``."""
    if instance.part:
        return False
    if isinstance(instance.callee, ClassRef):
        return bool(project.modules.external_bases(instance.callee) & set(modules))
    name = instance.callee.name if isinstance(instance.callee, External) else ""
    last = name.rpartition(".")[2]
    return name.startswith(layers) and last[:1].isupper() and not last.endswith("Loss")


def texts_of(expr: ir.Expr) -> str:
    """An access path as it is written: ``self.model`` of its expression."""
    if type(expr) is ir.Attribute:
        base = texts_of(expr.base)
        return f"{base}.{expr.name}" if base else ""
    return expr.id if type(expr) is ir.Name else ""


def function_body(project: Project, found: CallSite) -> tuple[ir.Stmt, ...]:
    """The statements of the function that a call stands in."""
    return body_of(project, found.file, found.site.function)


class Accumulation(NamedTuple):
    """How many backward passes an object adds up: the number where it is known, how it is written, and where."""

    number: int | None
    expr: ir.Expr
    file: str
    function: int
    span: Span


def accumulation_of(project: Project, instance: Instance, words: Mapping[str, Any]) -> Accumulation | None:
    """What the call that made an object says about accumulation.

    ``words`` are ``argument`` with ``position``, and ``plugin`` with the ``field`` of what is given for it.
    """
    given, _ = find_argument(instance.call, words["argument"], words["position"])
    frame, state = instance.frame, instance.state
    evaluator = project.evaluator(None)
    if given is None:
        plugin, _ = find_argument(instance.call, words["plugin"], None)
        options = options_of(evaluator.evaluate(plugin, frame, state)) if plugin is not None else ()
        only = options[0] if len(options) == 1 else None
        if not isinstance(only, Instance):
            return None
        given, _ = find_argument(only.call, words["field"], 0)
        frame, state = only.frame, only.state
        if given is None:
            return None
    found = options_of(evaluator.evaluate(given, frame, state))
    return Accumulation(_number(found), given, frame.file, frame.function, ir.unpack(given.at, frame.file))


def _number(options: tuple[Abstract, ...]) -> int | None:
    numbers = {
        one.value.only
        for one in options
        if isinstance(one, Leaf) and one.value.is_known and type(one.value.only) is int
    }
    return numbers.pop() if len(numbers) == 1 and len(options) == 1 else None


def is_thrown_away(project: Project, found: CallSite) -> bool:
    """Whether a call stands as a statement of its own, so that nobody gets its result."""
    at = found.site.call.at
    return any(type(one) is ir.Evaluate and one.value.at == at for one in statements(function_body(project, found)))
