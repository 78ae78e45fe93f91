"""Which tensors have a row for each sample of a batch: what a loader or a model gives, and what is worked out of it row by row.

A sum or a mean over further dimensions keeps the rows (``hits.sum(dim=1)``), one over all of them does not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.spread_tensors import NO_ARITHMETIC, NO_TENSORS
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, last_name, statements
from distlint.model import python as ir

MAX_DEPTH = 3
"""Functions of the project, one inside the other, that are looked into."""
MAX_STEPS = 40
"""Parts of expressions that one question may come to."""

OF_BATCH = re.compile(r"loss|scale|aux|norm|total|mean|ppl|perplex|num|count|temperature|(?:^|_)n$", re.IGNORECASE)
"""Names of what a model says of a whole batch, or of itself."""

_KEEPING_NAMES = """
float double half bfloat16 long int bool to cpu cuda detach clone contiguous abs exp log sqrt square pow neg add sub mul div eq ne lt le gt
ge clamp round sigmoid softmax log_softmax tanh relu logical_and logical_or logical_not where masked_fill
"""

_KEEPING = frozenset(_KEEPING_NAMES.split())
"""Methods and functions of a library that work on each element, or along another dimension than the first."""

_REDUCING_NAMES = """
sum mean argmax argmin any all prod norm logsumexp amax amin std var gather cumsum sort argsort topk max min squeeze unsqueeze
count_nonzero
"""

_ALONG = frozenset(_REDUCING_NAMES.split())
"""Those that keep the rows where they work along a further dimension (``dim``)."""

_POSITION_OF_DIM = {"topk": 1}


class _Scope(NamedTuple):
    file: str
    function: int
    rows: Collection[str]
    """Variables that have such rows."""
    body: tuple[ir.Stmt, ...]


class SampleRows:
    """Tells such tensors in a function of a project, of which some variables (``rows``) are known to be such."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._steps = 0

    def has(self, expr: ir.Expr, file: str, function: int, rows: Collection[str], body: tuple[ir.Stmt, ...]) -> bool:
        """Whether an expression has a row for each sample; ``body`` is where its variables are set."""
        self._steps = 0
        return self._has(expr, _Scope(file, function, rows, body), 0)

    def _has(self, expr: ir.Expr, scope: _Scope, depth: int) -> bool:
        self._steps += 1
        if self._steps > MAX_STEPS:
            return False
        if type(expr) is ir.Name:
            if expr.id in scope.rows:
                return True
            made = _made_once(scope.body, expr.id)
            return made is not None and self._has(made, scope, depth)
        if type(expr) is ir.Operation:
            if expr.operators[0] in NO_ARITHMETIC:
                return False
            # of a matrix product the first has the rows
            operands = expr.operands[:1] if "@" in expr.operators else expr.operands
            return any(self._has(one, scope, depth) for one in operands)
        if type(expr) is ir.Subscript:
            return _keeps_rows(expr.index) and self._has(expr.base, scope, depth)
        if type(expr) is ir.Attribute:
            whole = OF_BATCH.search(expr.name) or expr.name in NO_TENSORS or expr.name in ("T", "mT")
            return not whole and type(expr.base) is ir.Name and self._has(expr.base, scope, depth)
        return type(expr) is ir.Call and self._gives(expr, scope, depth)

    def _gives(self, call: ir.Call, scope: _Scope, depth: int) -> bool:
        target = self._project.modules.resolve(call.func, scope.file)
        if isinstance(target, FunctionRef):
            return self._of_function(call, target, scope, depth)
        edges = self._project.call_graph.targets(scope.file, scope.function, call)
        if edges:
            return len(edges) == 1 and self._of_function(call, next(iter(edges)).target, scope, depth)
        name = last_name(call.func)
        library = bool(self._project.modules.dotted(call.func, scope.file))
        if type(call.func) is ir.Attribute and not library:
            first: ir.Expr | None = call.func.base
        else:
            first = call.args[0] if library and call.args else None
        if first is None or type(first) is ir.Starred:
            return False
        along = name in _KEEPING or (name in _ALONG and _is_along_rows(call, name, int(library)))
        return along and self._has(first, scope, depth)

    def _of_function(self, call: ir.Call, ref: FunctionRef, scope: _Scope, depth: int) -> bool:
        """Whether what a function of the project returns has such rows, with what it is given here."""
        if depth >= MAX_DEPTH:
            return False
        definition = self._project.function(ref)
        given = self._given(call, definition, scope, depth)
        body = body_of(self._project, ref.file, ref.index)
        returned = [one.value for one in statements(body) if type(one) is ir.Return]
        names = frozenset(name for name in given if not _is_stored(body, name))
        inner = _Scope(ref.file, ref.index, names, body)
        return (
            bool(names)
            and bool(returned)
            and all(one is not None and self._has(one, inner, depth + 1) for one in returned)
        )

    def _given(self, call: ir.Call, definition: ir.Function, scope: _Scope, depth: int) -> Mapping[str, ir.Expr]:
        found: dict[str, ir.Expr] = {}
        bound = definition.owner >= 0 and type(call.func) is ir.Attribute and bool(definition.parameters)
        shift = int(bound and definition.parameters[0].name in ("self", "cls"))
        for position, parameter in enumerate(definition.parameters[shift:]):
            given, _ = find_argument(call, parameter.name, position)
            if given is not None and self._has(given, scope, depth):
                found[parameter.name] = given
        return found


def _made_once(body: tuple[ir.Stmt, ...], name: str) -> ir.Expr | None:
    """What is put into a variable, where that is done once, as a whole."""
    found = [
        one.value if type(one) is ir.Assign and type(target) is ir.Name else None
        for one in statements(body)
        if type(one) in (ir.Assign, ir.AugAssign, ir.For)
        for target in (one.targets if type(one) is ir.Assign else (one.target,))  # type: ignore[union-attr]
        if any(type(part) is ir.Name and part.id == name for part in _bound(target))
    ]
    return found[0] if len(found) == 1 else None


def _is_stored(body: tuple[ir.Stmt, ...], name: str) -> bool:
    return any(
        type(part) is ir.Name and part.id == name
        for one in statements(body)
        if type(one) in (ir.Assign, ir.AugAssign, ir.For)
        for target in (one.targets if type(one) is ir.Assign else (one.target,))  # type: ignore[union-attr]
        for part in _bound(target)
    )


def _bound(target: ir.Expr) -> tuple[ir.Expr, ...]:
    return tuple(below(target)) if type(target) is ir.ListDisplay else (target,)


def _keeps_rows(index: ir.Expr) -> bool:
    """Whether a subscript takes all rows (``[:, None]``, ``[:, 0]``), or a part of a batch by its name."""
    if type(index) is ir.Constant:
        return isinstance(index.value, str) and not OF_BATCH.search(index.value)
    first = index.items[0] if type(index) is ir.ListDisplay and len(index.items) > 1 else None
    if type(first) is ir.Slice:
        return first.lower is None and first.upper is None
    return False


def _is_along_rows(call: ir.Call, name: str, shift: int) -> bool:
    """Whether a call works along a dimension behind the first."""
    dim, certain = find_argument(call, "dim", _POSITION_OF_DIM.get(name, 0) + shift)
    if dim is None and certain:
        dim, certain = find_argument(call, "axis", None)
    parts = dim.items if type(dim) is ir.ListDisplay else (dim,)
    return all(type(one) is ir.Constant and type(one.value) is int and one.value >= 1 for one in parts)
