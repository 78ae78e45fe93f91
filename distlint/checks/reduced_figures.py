"""Figures that are brought together over the ranks and scaled wrongly behind it: means that are only added up, or divided twice.

The rule's ``fault`` is ``added`` (a mean of each rank is added up and shown without a division) or ``divided`` (what is an average
already is divided by the number of ranks once more). Parameters: ``summing`` (functions that add a tensor up over the ranks),
``means`` (functions and classes whose result is a mean over the batch), ``loaders``, ``shows`` (names of functions that show a figure).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.checks.mean_losses import is_mean
from distlint.checks.own_means import is_own_mean
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import Region, called_name, calls_of, forward, mentions, names_world
from distlint.checks.world_degree import Degrees
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import FunctionRef
from distlint.link.walking import access_path, below, bound_names, children, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 4
MAX_CALLERS = 6
_VIEWS = frozenset(
    {
        "detach",
        "clone",
        "item",
        "to",
        "cuda",
        "cpu",
        "float",
        "double",
        "data",
        "view",
        "reshape",
        "squeeze",
        "unsqueeze",
    }
)
MAX_SITES = 100
"""Sums in one function that are looked at; each is compared with all that the function does."""

_ORDER = frozenset({"<", ">", "<=", ">=", "==", "!=", "is", "in"})
_MAKERS = frozenset({"tensor", "as_tensor", "FloatTensor", "asarray", "float"})
_SCALED = re.compile(r"^(?:div|mul|true_divide|divide|multiply)_?$")


@check("reduced-figures")
def reduced_figures(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such figure."""
    fault = _added if context.parameters["fault"] == "added" else _divided
    sites = [*context.project.calls_to(set(context.parameters["summing"]))]
    crowded = Counter((site.file, site.site.function) for site in sites)
    for site in sites:
        if crowded[site.file, site.site.function] <= MAX_SITES:
            yield from fault(context, site)


# A mean that is only added up -----------------------------------------------------------------------------------------


def _added(context: CheckContext, site: CallSite) -> Iterator[Finding]:
    project: Project = context.project
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    root = root_of(tensor)
    if not root or tensor is None or operation_of(site.site.call) != "SUM" or has_group(site.site.call):
        return
    body = body_of(project, site.file, site.site.function)
    if _is_scaled(body, forward(body, (root,))):
        return
    for found in Means(context).of(tensor, site.file, site.site.function):
        source = ir.unpack(found.expr.at, found.file)
        shown, scaled = _uses(context, site, root)
        if shown is not None and not scaled:
            yield context.finding(
                "the means of all ranks are added up here, and the sum is shown without a division by the number of ranks",
                site.span,
                related=[
                    Related(source, "this is a mean over what one rank has"),
                    Related(shown, "the figure is shown here"),
                ],
            )
            return


def root_of(tensor: ir.Expr | None) -> str:
    """The variable that holds a tensor, no gradient; ``""`` if there is none."""
    name, steps = access_path(tensor) if tensor is not None else ("", ())
    return name if not any(step == ".grad" for step in steps) else ""


def operation_of(call: ir.Call) -> str:
    """The reduction of a call; ``""`` where it is not known."""
    given, certain = find_argument(call, "op", 1)
    if given is None:
        return "SUM" if certain else ""
    return given.name if type(given) is ir.Attribute else ""


def has_group(call: ir.Call) -> bool:
    """Whether a call is made in a group of which it isn't known how many ranks are in it: perhaps one."""
    given, certain = find_argument(call, "group", 2)
    return not certain if given is None else not (type(given) is ir.Constant and given.value is None)


class Means:
    """Finds where a figure is worked out as a mean; ``losses`` says that what a loss function gives counts as one."""

    def __init__(self, context: CheckContext, *, losses: bool = True) -> None:
        self._losses = losses
        self._context = context
        self._project: Project = context.project

    def of(self, expr: ir.Expr, file: str, function: int, depth: int = 0) -> Iterator[Part]:
        """Where an expression comes from a mean over a batch; nothing where it may be something else."""
        if depth > MAX_DEPTH:
            return
        expr = self._source(expr, file, function)
        if type(expr) is ir.Name:
            if function >= 0 and not _changes(body_of(self._project, file, function), expr.id):
                yield from self._of_parameter(expr.id, file, function, depth)
        elif type(expr) is ir.Call:
            if self._losses and is_mean(self._context, expr, file, function):
                yield Part(expr, file, function)
        elif type(expr) is ir.ListDisplay and len(expr.items) == 1:
            yield from self.of(expr.items[0], file, function, depth + 1)
        elif type(expr) is ir.Operation and is_own_mean(self._context, expr, file, function):
            yield Part(expr, file, function)

    def _source(self, expr: ir.Expr, file: str, function: int) -> ir.Expr:
        """What an expression was set to, through variables and copies."""
        for _ in range(6):
            found = bare_figure(followed(expr, self._project.flow(file, function).before(expr.at)))
            if found is expr:
                break
            expr = found
        return expr

    def _of_parameter(self, name: str, file: str, function: int, depth: int) -> Iterator[Part]:
        definition = self._project.function(FunctionRef(file, function))
        position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
        callers = self._project.callers(FunctionRef(file, function))
        if position is None or not 0 < len(callers) <= MAX_CALLERS:
            return
        found = []
        for caller in callers:
            place = position - (1 if definition.owner >= 0 else 0) + caller.shift
            given, _ = find_argument(caller.site.call, name, place)
            source = None if given is None else next(self.of(given, caller.file, caller.site.function, depth + 1), None)
            if source is None:
                return
            found.append(source)
        yield from found


def bare_figure(expr: ir.Expr) -> ir.Expr:
    """An expression without copies and views of it, and without the tensor that a number is put into."""
    while True:
        if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _VIEWS:
            expr = expr.func.base
        elif type(expr) is ir.Call and called_name(expr) in _MAKERS and expr.args:
            expr = expr.args[0]
        elif type(expr) is ir.Attribute and expr.name == "data":
            expr = expr.base
        elif type(expr) is ir.ListDisplay and len(expr.items) == 1:
            expr = expr.items[0]
        else:
            return expr


def _changes(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Whether something is added to a variable, or it is bound in more than one place."""
    bound = 0
    for statement in statements(body):
        if type(statement) is ir.AugAssign and name in bound_names(statement.target):
            return True
        if type(statement) is ir.Assign and any(name in bound_names(one) for one in statement.targets):
            bound += 1
    return bound > 1


def _uses(context: CheckContext, site: CallSite, root: str) -> tuple[Span | None, bool]:
    """Where what a call has brought together is shown, and whether it may be scaled on the way."""
    project: Project = context.project
    shown: Span | None = None
    for region, around in reached(project, site.file, site.site.function, {root}):
        body = region.body(project)
        if _is_scaled(body, region.names) or any(_scales(one) for one in around):
            return None, True
        for call in calls_of(body):
            if called_name(call) not in context.parameters["shows"]:
                continue
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if any(_tells(one, region.names) for one in given) or any(ir.encloses(call.at, one.at) for one in around):
                shown = shown or ir.unpack(call.at, region.file)
    return shown, False


def _tells(expr: ir.Expr, names: frozenset[str]) -> bool:
    """Whether a value holds one of some names, and not only what a comparison of it says."""
    if type(expr) is ir.Operation and _ORDER & set(expr.operators):
        return False
    if type(expr) is ir.Conditional:
        return _tells(expr.body, names) or _tells(expr.orelse, names)
    inner = list(children(expr))
    if not inner or type(expr) is ir.Attribute:
        return mentions(expr, names)
    return any(_tells(one, names) for one in inner)


def reached(
    project: Project, file: str, function: int, names: set[str], around: tuple[ir.Expr, ...] = (), depth: int = 0
) -> Iterator[tuple[Region, tuple[ir.Expr, ...]]]:
    """The functions that a figure comes to, with the expressions in which the calls that return it stand."""
    body = body_of(project, file, function)
    own = forward(body, names)
    yield Region(file, function, own), around
    if function < 0 or depth >= MAX_DEPTH:
        return
    returned = any(
        type(one) is ir.Return
        and one.value is not None
        and (mentions(one.value, own) or any(ir.encloses(one.value.at, call.at) for call in around))
        for one in statements(body)
    )
    definition = project.function(FunctionRef(file, function))
    given = [i for i, one in enumerate(definition.parameters) if one.name in names]
    for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
        bound: set[str] = set()
        inside: list[ir.Expr] = []
        for statement in statements(body_of(project, caller.file, caller.site.function)):
            for expr in expressions_of(statement):
                if ir.encloses(expr.at, caller.site.call.at) or expr.at == caller.site.call.at:
                    inside += (
                        [one for one in below(expr) if ir.encloses(one.at, caller.site.call.at)] if returned else []
                    )
                    if returned and type(statement) is ir.Assign:
                        bound |= {name for target in statement.targets for name in bound_names(target)}
        if not returned:
            for position in given:
                place = position - (1 if definition.owner >= 0 else 0) + caller.shift
                argument, _ = find_argument(caller.site.call, definition.parameters[position].name, place)
                if argument is not None and type(bare_figure(argument)) is ir.Name:
                    bound.add(bare_figure(argument).id)  # type: ignore[union-attr]
        if bound or inside:
            yield from reached(project, caller.file, caller.site.function, bound, tuple(inside), depth + 1)


def _scales(expr: ir.Expr) -> bool:
    return type(expr) is ir.Operation and bool({"/", "*", "//"} & set(expr.operators))


def _is_scaled(body: tuple[ir.Stmt, ...], names: frozenset[str]) -> bool:
    """Whether something of the names is multiplied or divided in a body."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator in ("/", "*", "//"):
            if mentions(statement.target, names):
                return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if _scales(part) and mentions(part, names):
                    return True
                if type(part) is ir.Call and _SCALED.match(called_name(part)) and mentions(part, names):
                    return True
                if type(part) is ir.Call and called_name(part) == "all_reduce" and operation_of(part) != "SUM":
                    return True
    return False


# Divided once more ----------------------------------------------------------------------------------------------------


def _divided(context: CheckContext, site: CallSite) -> Iterator[Finding]:
    project: Project = context.project
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    root = root_of(tensor)
    operation = operation_of(site.site.call)
    if not root or operation not in ("SUM", "AVG"):
        return
    wanted = 1 if operation == "AVG" else 2
    for region, around in reached(project, site.file, site.site.function, {root}):
        for expr, at in divisions(region.body(project)):
            concerned = mentions(expr, region.names) or any(one.at == expr.at for one in around)
            if not concerned or not names_world(expr):
                continue
            degree = Degrees(project).of(expr, region.file, region.function)
            if degree is not None and degree.power <= -wanted:
                what = "is an average already" if operation == "AVG" else "is divided by it already"
                yield context.finding(
                    f"the figure is divided by the number of ranks, and {what}",
                    ir.unpack(at, region.file),
                    related=[
                        Related(site.span, "the ranks' figures are brought together here"),
                        *(Related(one, "a division by the number of ranks") for one in degree.places[:2] if wanted > 1),
                    ],
                )
                return


def divisions(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Expr, ir.Position]]:
    """The divisions in a body, those in place included."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator == "/":
            yield ir.Operation(("/",), (statement.target, statement.value), statement.at), statement.at
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and "/" in part.operators:
                    yield part, part.at
