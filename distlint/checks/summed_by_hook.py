"""Hooks of a program's own by which a wrapper brings gradients together, and that add them up without ever dividing.

Parameters: ``registering`` (the method that takes the hook), ``argument`` (its keyword) and ``position``, ``wrappers`` (what has that
method and leaves averaging to the hook), ``others`` (wrappers of which nothing is said), ``summing`` (functions that add a tensor up over
the ranks in place), ``harmless`` (library functions that leave numbers as they are, by the beginning of their names), ``means`` (functions
and classes whose result is a mean over the batch).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.scaled_gradients import mean_losses, scales_anywhere
from distlint.checks.spread_names import called_name, forward, mentions, names_world
from distlint.link.abstract import Instance, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_SCALING = frozenset({"/", "*", "//", "**", "@"})
_SIZES = frozenset({"numel", "nelement", "element_size", "nbytes", "itemsize"})
"""What counts how much is sent."""
_PLAIN_METHODS = """
buffer gradients index is_last parameters set_buffer to half float double bfloat16 type type_as clone detach contiguous view reshape
view_as flatten copy_ cpu cuda get_future then value wait add_done_callback set_result numel nelement element_size size dim append
format join debug info record synchronize
"""
_METHODS = frozenset(_PLAIN_METHODS.split())
"""Methods that give, or take, the same numbers in another form."""
_FUNCTIONS = frozenset(
    {"print", "len", "isinstance", "int", "str", "range", "enumerate", "zip", "list", "tuple", "getattr", "hasattr"}
)
_MOST = 12


@check("summed-by-hook")
def summed_by_hook(context: CheckContext) -> Iterator[Finding]:
    """A finding for each hook by which gradients of mean losses become sums."""
    project: Project = context.project
    registering = context.parameters["registering"]
    for site in project.sites(registering):
        files = family(project, site.file)
        if not _calls(project, context.parameters["wrappers"], files) or _calls(
            project, context.parameters["others"], files
        ):
            continue
        for hook in dict.fromkeys(_hooks(context, site)):
            summed = _Hook(context, hook).summed()
            if summed is None or scales_anywhere(project, files | family(project, hook.file)):
                continue
            loss = next(iter(mean_losses(context, files)), None)
            if loss is not None:
                yield context.finding(
                    "this hook adds the gradients of all ranks up, and never divides them by the number of ranks",
                    ir.unpack(summed[0].at, summed[1]),
                    related=[
                        Related(site.span, "the wrapper leaves it to the hook to average"),
                        Related(loss, "the loss is a mean over the batch of one rank"),
                    ],
                )


def _calls(project: Project, names: Iterable[str], files: frozenset[str]) -> bool:
    """Whether some files call one of some library functions."""
    return any(one.file in files for one in project.calls_to(set(names)))


def _hooks(context: CheckContext, site: CallSite) -> Iterator[FunctionRef]:
    """The functions of the project that may be the hook."""
    project: Project = context.project
    hook, _ = find_argument(site.site.call, context.parameters["argument"], context.parameters["position"])
    if type(hook) is ir.Call and called_name(hook) == "partial" and hook.args:
        hook = hook.args[0]
    if hook is None:
        return
    for option in options_of(project.evaluator(None).ask(hook, site.file, site.site.function)):
        if isinstance(option, Reference) and isinstance(option.target, FunctionRef):
            yield option.target
        elif isinstance(option, Instance) and isinstance(option.callee, ClassRef) and option.part == ():
            called = project.modules.method(option.callee, "__call__")
            if called is not None:
                yield called


class _Hook:
    """What a hook does, with the functions in it and those that it calls."""

    def __init__(self, context: CheckContext, hook: FunctionRef) -> None:
        self._project: Project = context.project
        self._summing = frozenset(context.parameters["summing"])
        self._harmless = tuple(context.parameters["harmless"])
        self._hook = hook
        self._sums: list[tuple[ir.Call, str]] = []
        self._reached: dict[FunctionRef, None] = {hook: None}

    def summed(self) -> tuple[ir.Call, str] | None:
        """The call that adds gradients up, and its file, where nothing else is done with their numbers that can be told."""
        definition = self._project.function(self._hook)
        bucket = definition.parameters[-1].name if definition.parameters else ""
        own = list(self._reached)
        for one in own:
            names = forward(
                body_of(self._project, one.file, one.index), {bucket} if one == self._hook else self._given(one)
            )
            if len(own) > _MOST or not self._is_plain(one, names):
                return None
            own += [other for other in self._reached if other not in own]
        return self._sums[0] if self._sums else None

    def _given(self, function: FunctionRef) -> set[str]:
        """What a function that the hook calls, or defines, may have of the gradients."""
        definition = self._project.function(function)
        names = {one.name for one in definition.parameters}
        if definition.parent >= 0:
            outer = FunctionRef(function.file, definition.parent)
            seeds = {one.name for one in self._project.function(outer).parameters}
            names |= forward(body_of(self._project, outer.file, outer.index), seeds)
        return names

    def _is_plain(self, function: FunctionRef, names: frozenset[str]) -> bool:
        """Whether a function only moves numbers, or adds them up over the ranks."""
        definition = self._project.function(function)
        if definition.decorators or definition.is_async:
            return False
        functions = self._project.module(function.file).functions
        for index, inner in enumerate(functions):
            if inner.parent == function.index:
                self._reached[FunctionRef(function.file, index)] = None
        for statement in statements(definition.body):
            if type(statement) is ir.AugAssign and statement.operator in _SCALING and not _counts(statement.value):
                return False
            for part in (one for expr in expressions_of(statement) for one in _inside(expr)):
                if not self._leaves(part, function, names):
                    return False
        return True

    def _leaves(self, part: ir.Expr, function: FunctionRef, names: frozenset[str]) -> bool:
        """Whether an expression leaves numbers as they are, or adds them up over the ranks."""
        if type(part) is ir.Operation:
            return not _SCALING & set(part.operators) or _counts(part)
        if type(part) in (ir.Name, ir.Attribute) and names_world(part):
            return False
        if type(part) is not ir.Call:
            return True
        edges = self._project.call_graph.targets(function.file, function.index, part)
        if edges:
            self._reached.update(dict.fromkeys(edge.target for edge in edges))
            return all(edge.how == "call" for edge in edges)
        modules = self._project.modules
        name = modules.canonical(modules.dotted(part.func, function.file))
        if name in self._summing:
            tensor, _ = find_argument(part, "tensor", 0)
            if tensor is not None and mentions(tensor, names):
                self._sums.append((part, function.file))
            return _is_sum(part)
        if name:
            return name.startswith(self._harmless)
        return called_name(part) in (_METHODS if type(part.func) is ir.Attribute else _FUNCTIONS)


def _is_sum(call: ir.Call) -> bool:
    operation, certain = find_argument(call, "op", 1)
    return certain if operation is None else type(operation) is ir.Attribute and operation.name == "SUM"


def _inside(expr: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and everything in it, lambdas as well."""
    for part in below(expr):
        yield part
        if type(part) is ir.Lambda:
            yield from _inside(part.body)


def _counts(expr: ir.Expr) -> bool:
    """Whether something is worked out of how much there is, as the bytes that are sent."""
    return any(_last_name(part) in _SIZES for part in below(expr))


def _last_name(part: Any) -> str:
    return part.name if type(part) is ir.Attribute else ""
