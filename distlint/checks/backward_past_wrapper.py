"""The loss is differentiated directly although the object that prepared the model has to do it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.call_levels import handed_by
from distlint.checks.execution import body_of
from distlint.checks.preparing import texts_of
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.origins import origins_of
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_SCALING = ("/", "*")
_SCALING_METHODS = ("div", "div_", "divide", "true_divide", "mul", "mul_", "multiply")
_LOSS = "Loss().__call__"

MAX_FUNCTIONS = 5
"""Functions that a loss is followed through."""


@check("backward-past-wrapper")
def backward_past_wrapper(context: CheckContext) -> Iterator[Finding]:
    """``loss.backward()`` in files that call ``prepare`` and never the wrapper's own ``backward``, where it matters.

    In a file that such a one imports, the loss has to be seen to come from a prepared model.

    It matters under an engine (a subject of kind ``subject`` with host ``host``), and where the wrapper was made with
    one of the ``arguments`` (name: values).
    """
    project: Project = context.project
    prepared: dict[str, CallSite] = {}
    for found in project.calls_to(set(context.parameters["prepare"])):
        prepared.setdefault(found.file, found)
    for file, call in sorted(prepared.items()):
        sites = [found for found in project.sites("backward") if found.file == file]
        if not all(_is_direct(context, project, found) for found in sites):
            continue
        if sites:
            direct = [found for found in sites if _is_trained(context, project, found)]
        else:
            direct = _in_helpers(context, project, file)
        if not direct:
            continue
        reason = _reason(context, project, file)
        if reason is not None:
            why, counts = reason
            for found in direct:
                if (found.file == file or found.file not in prepared) and not (counts and _is_scaled(project, found)):
                    yield _finding(context, found, call, why)


def _in_helpers(context: CheckContext, project: Project, file: str) -> list[CallSite]:
    """The direct calls in the files that one imports, if all there are direct and the loss comes from a prepared model only."""
    closure = project.closure(file)
    sites = [found for found in project.sites("backward") if found.file in closure]
    if not all(_is_direct(context, project, found) for found in sites):
        return []
    prepared = tuple(f"{name}()" for name in context.parameters["prepare"])
    found_here = []
    for found in sites:
        called = [name for name in _called_for(project, found) if not name.endswith(_LOSS)]
        if called and all(name.startswith(prepared) for name in called):
            found_here.append(found)
    return found_here


def _called_for(project: Project, found: CallSite) -> list[str]:
    """The objects that are called themselves for a loss, such as models, by what made them."""
    origins = origins_of(project, _loss_of(found), found.file, found.site.function)
    # a method's name stands behind the brackets of its object
    return [origin.name for origin in origins if origin.name.endswith((").__call__", "].__call__"))]


def _is_trained(context: CheckContext, project: Project, found: CallSite) -> bool:
    """Whether a loss may come from a prepared model: it does, or it has a name and nothing shows where it comes from."""
    called = _called_for(project, found)
    if any(name.startswith(f"{prepare}()") for prepare in context.parameters["prepare"] for name in called):
        return True
    return type(_loss_of(found)) is ir.Name and all(name.endswith(_LOSS) for name in called)


def _loss_of(found: CallSite) -> ir.Expr:
    """What goes backward in a direct call."""
    call = found.site.call
    assert isinstance(call.func, ir.Attribute)  # noqa: S101 - tested by _is_direct
    return call.args[0] if call.args else call.func.base


def _finding(context: CheckContext, found: CallSite, call: CallSite, reason: Related) -> Finding:
    wrapper, loss = call.site.call.func, _loss_of(found)
    plan = None
    if isinstance(wrapper, ir.Attribute) and isinstance(wrapper.base, ir.Name) and isinstance(loss, ir.Name):
        text = f"{wrapper.base.id}.backward({loss.id})"
        if (call.file, call.site.function) == (found.file, found.site.function):
            plan = context.plan(Operation("replace", found.span, {"text": text}))
    related = [Related(call.span, "the model is prepared here"), reason]
    return context.finding(
        "the loss goes backward past the object that prepared the model", found.span, related=related, plan=plan
    )


def _is_scaled(project: Project, found: CallSite) -> bool:
    """Whether the program itself divides the loss, as the wrapper would do for several passes."""
    return _holds_scaled(project, _loss_of(found), found.file, found.site.function, 0)


def _holds_scaled(project: Project, expr: ir.Expr, file: str, function: int, depth: int) -> bool:
    """Whether a value may be a quotient or a product: as it is written, in what a variable gets, or what a caller hands over."""
    name = texts_of(expr)
    body = body_of(project, file, function)
    given = [expr, *(value for target, value in _assigned(body) if name and target == name and value is not None)]
    if any(
        type(one) is ir.AugAssign and texts_of(one.target) == name and one.operator in _SCALING
        for one in statements(body)
    ):
        return True
    if any(_is_scaling(one) or _gives_scaled(project, one, file, depth) for one in given):
        return True
    return depth < MAX_FUNCTIONS and any(
        handed is not None and _holds_scaled(project, handed, caller.file, caller.site.function, depth + 1)
        for caller, handed in handed_by(project, expr, file, function)
    )


def _gives_scaled(project: Project, expr: ir.Expr, file: str, depth: int) -> bool:
    """Whether a value comes from a function of the project that gives a quotient or a product."""
    target = project.modules.resolve(expr.func, file) if type(expr) is ir.Call else None
    if not isinstance(target, FunctionRef) or depth >= MAX_FUNCTIONS:
        return False
    returns = [one.value for one in statements(project.function(target).body) if type(one) is ir.Return]
    return any(one is not None and _holds_scaled(project, one, target.file, target.index, depth + 1) for one in returns)


def _assigned(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[str, ir.Expr | None]]:
    for statement in statements(body):
        if type(statement) is ir.Assign:
            yield from ((texts_of(one), statement.value) for one in statement.targets)


def _is_scaling(expr: ir.Expr | None) -> bool:
    """Whether a value is a quotient or a product."""
    if type(expr) is ir.Operation:
        return any(operator in _SCALING for operator in expr.operators)
    return type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _SCALING_METHODS


def _is_direct(context: CheckContext, project: Project, found: CallSite) -> bool:
    call = found.site.call
    if type(call.func) is not ir.Attribute or any(k.name != "retain_graph" for k in call.keywords):
        return False
    if call.args:
        plain = project.modules.dotted(call.func, found.file) in context.parameters["plain"]
        return plain and len(call.args) == 1 and type(call.args[0]) is not ir.Starred
    value = project.evaluator(None).ask(call.func.base, found.file, found.site.function)
    names = [project.evaluator(None).instance_name(one) for one in options_of(value) if isinstance(one, Instance)]
    wrappers = {f"{name}()" for name in context.parameters["wrapper"]}
    return wrappers.isdisjoint(names)


def _reason(context: CheckContext, project: Project, file: str) -> tuple[Related, bool] | None:
    """Why the wrapper's own method is needed, with the place that says so, and whether that is the number of passes that it divides by."""
    parameters = context.parameters
    for subject in context.subjects(parameters["subject"]):
        host = subject.names.get("host")
        if host is None or host.only != parameters["host"] or subject.run is None:
            continue
        if file in project.closure(subject.run.script_file):
            return Related(subject.span, "an engine is configured here"), False
    for found in project.calls_to(set(parameters["wrapper"])):
        if found.file == file:
            for name, values in parameters["arguments"].items():
                expr, _ = find_argument(found.site.call, name, None)
                if expr is not None and _is_one_of(project, expr, found, values, parameters["counting"]):
                    return Related(ir.unpack(expr.at, file), f"`{name}` is set here"), "more" in values
    return None


def _is_one_of(project: Project, expr: ir.Expr, found: CallSite, values: list[object], counting: str) -> bool:
    value = project.evaluator(None).value(expr, found.file, found.site.function)
    if not value.is_known:
        # whoever counts passes means more than one
        return "more" in values and any(one.file == found.file for one in project.sites(counting))
    return value.only in values or ("more" in values and isinstance(value.only, int) and value.only > 1)
