"""Figures of what a library has gathered from all ranks already, that the function which gets it adds up over the ranks once more.

Parameters: ``makers`` (library classes, whose subclasses count too), ``argument`` (the keyword by which they get the function),
``summing`` (calls that add a tensor up over the ranks in place).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, forward, mentions, names_world
from distlint.link.abstract import Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import access_path, below, bound_names, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_SAME = frozenset(
    {
        "float",
        "int",
        "round",
        "abs",
        "item",
        "tolist",
        "cpu",
        "numpy",
        "sum",
        "mean",
        "detach",
        "to",
        "array",
        "tensor",
        "sqrt",
    }
)
"""Calls that give their argument, or the object, in another form: as often a factor is in it, it is in the result."""
_LIMITS = frozenset({"max", "min", "clamp", "clip", "maximum", "minimum"})


@check("summed-again")
def summed_again(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such sum, of which a figure comes out that is too large by the number of ranks."""
    seen = set()
    for target, given in _functions(context):
        if target not in seen:
            seen.add(target)
            yield from _Figures(context, target).findings(context, given)


def _functions(context: CheckContext) -> Iterator[tuple[FunctionRef, CallSite]]:
    """The functions that are handed to the library, and the calls that hand them over."""
    project: Project = context.project
    argument = context.parameters["argument"]
    for file in project.python_files:
        if argument not in project.text_of(file):
            continue
        module = project.module(file)
        for index in range(-1, len(module.functions)):
            for call in calls_in(body_of(project, file, index)):
                given, _ = find_argument(call, argument, None)
                if given is None or not _makes(context, call, file):
                    continue
                for option in options_of(project.evaluator(None).ask(given, file, index)):
                    if isinstance(option, Reference) and isinstance(option.target, FunctionRef):
                        yield option.target, CallSite(file, ir.Site(call, index), argument)


def _makes(context: CheckContext, call: ir.Call, file: str) -> bool:
    project: Project = context.project
    makers = set(context.parameters["makers"])
    target = project.modules.resolve(call.func, file)
    if isinstance(target, ClassRef):
        return bool(makers & set(project.modules.external_bases(target)))
    return isinstance(target, External) and project.modules.canonical(target.name) in makers


class _Figures:
    """How often the number of ranks is a factor of the figures of one function, statement by statement."""

    def __init__(self, context: CheckContext, target: FunctionRef) -> None:
        self._project: Project = context.project
        self._summing = frozenset(context.parameters["summing"])
        self._file, self._function = target.file, target.index
        definition = self._project.function(target)
        self._body = definition.body
        first = 1 if definition.owner >= 0 and definition.parameters[:1] else 0
        self._given = forward(self._body, {one.name for one in definition.parameters[first:]})
        self._known: dict[str, int | None] = {}
        self._sums: list[ir.Call] = []

    def findings(self, context: CheckContext, given: CallSite) -> Iterator[Finding]:
        """A finding for a sum of which a figure that the function gives back is made, and nothing takes the factor out again."""
        for statement in statements(self._body):
            if type(statement) is ir.Assign and statement.value is not None:
                for target in statement.targets:
                    self._bind(target, statement.value)
            elif type(statement) is ir.AugAssign:
                whole = ir.Operation((statement.operator,), (statement.target, statement.value), statement.at)
                self._bind(statement.target, whole)
            elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
                self._summed(statement.value)
            elif type(statement) is ir.Return and statement.value is not None:
                for value in self._figures(statement.value):
                    if (self._of(value) or 0) >= 1 and self._sums:
                        yield self._finding(context, value, given)
                        return

    def _finding(self, context: CheckContext, value: ir.Expr, given: CallSite) -> Finding:
        return context.finding(
            "this adds up over the processes what was gathered from all of them before: the figure is too large by their number",
            ir.unpack(self._sums[-1].at, self._file),
            related=[
                Related(ir.unpack(value.at, self._file), "this figure comes of it"),
                Related(given.span, "the library gathers what it hands to this function"),
            ],
        )

    def _figures(self, expr: ir.Expr) -> Iterator[ir.Expr]:
        """The values of a dictionary that is returned, also one that was put into a variable."""
        if type(expr) is ir.Name:
            for statement in statements(self._body):
                if type(statement) is ir.Assign and statement.value is not None:
                    for target in statement.targets:
                        if type(target) is ir.Name and target.id == expr.id and type(statement.value) is not ir.Name:
                            yield from self._figures(statement.value)
                        elif type(target) is ir.Subscript and access_path(target)[0] == expr.id:
                            yield statement.value
        elif type(expr) is ir.DictDisplay:
            yield from expr.values
        elif type(expr) is ir.Call and called_name(expr) == "dict":
            yield from (word.value for word in expr.keywords)

    def _bind(self, target: ir.Expr, value: ir.Expr) -> None:
        if type(target) is ir.ListDisplay and type(value) is ir.ListDisplay and len(target.items) == len(value.items):
            for one, part in zip(target.items, value.items, strict=True):
                self._bind(one, part)
            return
        found = self._of(value)
        for name in bound_names(target):
            self._known[name] = found

    def _summed(self, call: ir.Call) -> None:
        """A call that adds up a tensor in place."""
        if self._project.modules.dotted(call.func, self._file) in self._summing and _adds(call):
            tensor, _ = find_argument(call, "tensor", 0)
            name = access_path(tensor)[0] if tensor is not None else ""
            before = self._known.get(name, 0)
            if name in self._given and before is not None:
                self._known[name] = before + 1
                self._sums.append(call)

    def _of(self, expr: ir.Expr) -> int | None:
        """How often the number of ranks is a factor; ``None`` where that can't be told."""
        sums = len(self._sums)
        found = self._factor(expr)
        plain = all(self._known.get(part.id, 0) == 0 for part in below(expr) if type(part) is ir.Name)
        return 0 if found is None and plain and len(self._sums) == sums and not names_world(expr) else found

    def _factor(self, expr: ir.Expr) -> int | None:
        if type(expr) is ir.Name:
            return self._known.get(expr.id, 0)
        if type(expr) is ir.Operation:
            return self._operation(expr)
        if type(expr) is ir.Call:
            return self._call(expr)
        if type(expr) is ir.Subscript or type(expr) is ir.Attribute:
            return self._of(expr.base)
        if type(expr) is ir.ListDisplay and expr.items:
            return _alike([self._of(one) for one in expr.items])
        if type(expr) is ir.Conditional:
            return _alike([self._of(one) for one in (expr.body, expr.orelse) if type(one) is not ir.Constant])
        return 0 if type(expr) is ir.Constant else None

    def _operation(self, expr: ir.Operation) -> int | None:
        if set(expr.operators) <= {"+", "-"}:
            return _alike([self._of(one) for one in expr.operands if type(one) is not ir.Constant])
        if not set(expr.operators) <= {"*", "/", "//"} or len(expr.operands) != 2:
            return None
        first, second = (self._of(one) for one in expr.operands)
        if first is None or second is None:
            return None
        return first + second if expr.operators[0] == "*" else first - second

    def _call(self, call: ir.Call) -> int | None:
        name = called_name(call)
        if names_world(call.func):
            return 1
        if name in _LIMITS and type(call.func) is ir.Name:
            return _alike([self._of(one) for one in call.args if type(one) is not ir.Constant])
        edges = self._project.call_graph.targets(self._file, self._function, call)
        if len(edges) == 1 and edges[0].how == "call":
            adds = any(mentions(one, self._given) for one in call.args) and self._adds_up(edges[0].target)
            before = _alike([self._of(one) for one in call.args]) if adds else None
            if before is not None:
                self._sums.append(call)
            return None if before is None else before + 1
        if edges or name not in (*_SAME, "len"):
            return None
        if name == "len":
            return 0
        if call.args and (type(call.func) is ir.Name or self._project.modules.dotted(call.func, self._file)):
            return self._of(call.args[0])
        return self._of(call.func.base) if type(call.func) is ir.Attribute else None

    def _adds_up(self, target: FunctionRef) -> bool:
        """Whether a function gives back the sum over the ranks of what it is given."""
        definition = self._project.function(target)
        names = forward(definition.body, {one.name for one in definition.parameters})
        sums = [
            call
            for call in calls_in(definition.body)
            if self._project.modules.dotted(call.func, target.file) in self._summing
        ]
        returned = [
            one.value for one in statements(definition.body) if type(one) is ir.Return and one.value is not None
        ]
        scaled = any(
            (type(one) is ir.AugAssign and one.operator in ("/", "*"))
            or any(type(part) is ir.Operation and "/" in part.operators for part in _parts(one))
            for one in statements(definition.body)
        )
        return (
            len(sums) == 1
            and _adds(sums[0])
            and mentions(sums[0].args[0], names)
            and not scaled
            and bool(returned)
            and all(mentions(one, names) for one in returned)
        )


def _parts(statement: ir.Stmt) -> Iterator[ir.Expr]:
    return (part for expr in expressions_of(statement) for part in below(expr))


def _adds(call: ir.Call) -> bool:
    """Whether a reduction is a sum, over all ranks."""
    given, certain = find_argument(call, "op", 1)
    group, alone = find_argument(call, "group", 2)
    named = given is None or (type(given) is ir.Attribute and given.name == "SUM")
    return bool(call.args) and certain and alone and group is None and named


def _alike(found: list[int | None]) -> int | None:
    """The one number that all of them are; nothing at all is none."""
    return found[0] if found and all(one == found[0] for one in found) else None if found else 0
