"""Features that ranks gather for a loss, and whose gradients end at the gathering.

Parameters: ``gathering`` (functions that fill tensors with what the ranks bring: the names and positions of what is filled and what is
brought), ``wrappers`` (whose models are trained together), ``modules`` (last names of classes of models), ``own-gradients`` (of classes
that say themselves what the gradient of an operation is), ``unrecorded`` (contexts without gradients), ``cutting`` (names behind which a
value has no gradient), ``measures`` (what is asked of a tensor, or made like one, without using it), ``views`` (methods that give the same
numbers) and ``passing`` (functions of their first argument).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import Part, holders
from distlint.checks.drawn_alike import is_wrapped
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, mentions
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.walking import access_path, bound_names, children, expressions_of, names_below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 4
MAX_CALLERS = 6
_LOSS = re.compile(r"loss|entropy|nll|criterion|nce", re.IGNORECASE)


@check("gathered-features")
def gathered_features(context: CheckContext) -> Iterator[Finding]:
    """A finding for each gathering by which features that a loss is made of lose their gradients."""
    project: Project = context.project
    gathering = context.parameters["gathering"]
    for site in project.calls_to(set(gathering)):
        filled_name, filled_at, brought_name, brought_at = gathering[site.name]
        filled, _ = find_argument(site.site.call, filled_name, filled_at)
        brought, _ = find_argument(site.site.call, brought_name, brought_at)
        name, steps = ("", ()) if filled is None else access_path(filled)
        if not name or steps or brought is None:
            continue
        found = _Search(context).trained(site.file, site.site.function, site.site.call, brought, {name}, None, 0)
        if found is not None:
            features, loss = found
            yield context.finding(
                "what is gathered here carries no gradient, and the features that it was made of go into the loss in no other way",
                site.span,
                related=[
                    Related(
                        ir.unpack(features.expr.at, features.file), "the features are computed with gradients here"
                    ),
                    Related(ir.unpack(loss.expr.at, loss.file), "the loss is made of what was gathered"),
                ],
            )


class _Origin(NamedTuple):
    """Where features come from: the pass of a model, or a parameter of the function."""

    forward: Part | None
    parameter: int


class _Search:
    """Follows what is gathered back to the pass of a model, and on to a backward pass."""

    def __init__(self, context: CheckContext) -> None:
        self.context = context
        self.project: Project = context.project
        self.cutting = frozenset(context.parameters["cutting"])
        self.measures = frozenset(context.parameters["measures"])

    def trained(
        self,
        file: str,
        function: int,
        call: ir.Call,
        brought: ir.Expr | None,
        names: set[str],
        features: Part | None,
        depth: int,
    ) -> tuple[Part, Part] | None:
        """The pass that features come from, and the end of what is made of them, from a function that gathers them by a call on.

        ``names`` hold what was gathered, as the call itself does where there are none; ``features`` where that is known already.
        """
        body = body_of(self.project, file, function)
        if self._is_unrecorded(body, call.at) or self._is_own(file, function):
            return None
        parameter = -1
        if features is None:
            origin = None if brought is None else self._origin(brought, call, file, function, 0)
            if origin is None:
                return None
            features, parameter = origin
        returned, ends, lossy = self._followed(body, names, call)
        if features is not None and ends:
            return features, Part(ends[0], file, function)
        if not returned or function < 0:
            return None
        ref = FunctionRef(file, function)
        definition = self.project.function(ref)
        if features is not None and lossy and definition.name == "forward" and self._owner_is(ref, "modules"):
            return features, Part(returned[0], file, function)
        if depth >= MAX_DEPTH:
            return None
        for caller, shift in self._callers(ref):
            given = None
            if parameter >= 0:
                place = parameter - (1 if definition.owner >= 0 else 0) + shift
                given, _ = find_argument(caller.site.call, definition.parameters[parameter].name, place)
            found = self.trained(caller.file, caller.site.function, caller.site.call, given, set(), features, depth + 1)
            if found is not None:
                return found
        return None

    def _callers(self, ref: FunctionRef) -> Iterator[tuple[CallSite, int]]:
        """The calls of a function; those of objects of a class for the pass of a model."""
        for caller in self.project.callers(ref)[:MAX_CALLERS]:
            if not caller.starter:
                yield caller, caller.shift  # type: ignore[misc]
        definition = self.project.function(ref)
        if definition.owner < 0 or definition.name != "forward":
            return
        made = self.project.module(ref.file).classes[definition.owner].name
        held = set()
        for site in self.project.sites(made)[:MAX_CALLERS]:
            for statement in statements(body_of(self.project, site.file, site.site.function)):
                if type(statement) is ir.Assign and statement.value is not None:
                    if ir.encloses(statement.value.at, site.site.call.at) or statement.value.at == site.site.call.at:
                        held |= {one.rpartition(".")[2] for target in statement.targets for one in _last(target)}
        for name in sorted(held):
            for site in self.project.sites(name)[:MAX_CALLERS]:
                edges = self.project.call_graph.targets(site.file, site.site.function, site.site.call)
                if any(edge.target == ref for edge in edges):
                    yield site, 0

    # Where features come from ----------------------------------------------------------------------------------------

    def _origin(self, expr: ir.Expr, by: ir.Call, file: str, function: int, depth: int) -> _Origin | None:
        """Where features come from that are used for nothing but ``by``; nothing where they are used otherwise, or that is not known."""
        parameters = self.context.parameters
        body = body_of(self.project, file, function)
        if depth > 8:
            return None
        if type(expr) is ir.Call:
            if is_wrapped(self.context, expr, file, function) or self._is_layer(expr, file, function):
                return None if self._is_cut_somewhere(file) else _Origin(Part(expr, file, function), -1)
            method = type(expr.func) is ir.Attribute and expr.func.name in parameters["views"]
            if method and not self.project.modules.dotted(expr.func, file):
                return self._origin(expr.func.base, by, file, function, depth + 1)  # type: ignore[union-attr]
            if called_name(expr) in parameters["passing"] and expr.args:
                return self._origin(expr.args[0], by, file, function, depth + 1)
            return None
        if type(expr) is ir.Operation and "/" in expr.operators:
            return self._origin(expr.operands[0], by, file, function, depth + 1)
        if type(expr) is ir.Subscript:
            return self._origin(expr.base, by, file, function, depth + 1)
        return self._of_name(expr.id, by, file, function, depth, body) if type(expr) is ir.Name else None

    def _of_name(
        self, name: str, by: ir.Call, file: str, function: int, depth: int, body: tuple[ir.Stmt, ...]
    ) -> _Origin | None:
        given: list[tuple[ir.Expr, ir.Assign]] = []
        again: list[ir.Assign] = []
        for statement in statements(body):
            bound = type(statement) in (ir.Assign, ir.AugAssign, ir.For, ir.With)
            if type(statement) is ir.Assign and statement.value is not None:
                value = next(
                    (one for target in statement.targets for one in _given(target, statement.value, name)), None
                )
                if value is not None and mentions(value, (name,)):
                    if self._is_cut(value) or self._origin_is_other(value, name):
                        return None
                    again.append(statement)
                elif value is not None:
                    given.append((value, statement))
            elif bound and any(name in bound_names(target) for target in _targets(statement)):
                return None
        leading = [by.at, *(one.value.at for one in again if one.value is not None)]
        if len(given) > 1 or self._is_used(body, name, leading, file, function):
            return None
        if given:
            value, statement = given[0]
            if self._is_unrecorded(body, statement.at) or self._is_cut(value):
                return None
            return self._origin(
                value, statement.value if type(statement.value) is ir.Call else by, file, function, depth + 1
            )
        if function < 0:
            return None
        definition = self.project.function(FunctionRef(file, function))
        place = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
        return None if place is None else _Origin(None, place)

    def _origin_is_other(self, value: ir.Expr, name: str) -> bool:
        """Whether a value that a name is given anew is more than the same features in another form."""
        parameters = self.context.parameters
        while type(value) is not ir.Name:
            if type(value) is ir.Operation and "/" in value.operators:
                value = value.operands[0]
            elif type(value) is ir.Call and value.args and called_name(value) in parameters["passing"]:
                value = value.args[0]
            elif type(value) is ir.Call and type(value.func) is ir.Attribute and value.func.name in parameters["views"]:
                value = value.func.base
            else:
                return True
        return value.id != name

    def _is_used(
        self, body: tuple[ir.Stmt, ...], name: str, leading: list[ir.Position], file: str, function: int
    ) -> bool:
        """Whether a name is used for more than its measures, outside of the places that lead on."""
        for statement in statements(body):
            targets = statement.targets if type(statement) is ir.Assign else ()
            for expr in expressions_of(statement):
                if type(expr) is ir.Name and any(expr is one for one in targets):
                    continue
                for part in self._reads(expr, {name}):
                    bound = any(
                        type(one) is ir.ListDisplay and any(part is item for item in one.items) for one in targets
                    )
                    if not bound and not any(ir.encloses(at, part.at) or at == part.at for at in leading):
                        return True
        inner = [
            i for i, one in enumerate(self.project.module(file).functions) if one.parent == function and function >= 0
        ]
        return any(
            mentions(expr, (name,))
            for i in inner
            for statement in statements(body_of(self.project, file, i))
            for expr in expressions_of(statement)
        )

    def _is_layer(self, call: ir.Call, file: str, function: int) -> bool:
        """Whether a call is the pass of a layer in that of a model: ``self.encoder(x)``."""
        func = call.func
        if function < 0 or type(func) is not ir.Attribute or type(func.base) is not ir.Name or func.base.id != "self":
            return False
        ref = FunctionRef(file, function)
        methods = [
            one.name for one in self.project.module(file).functions if one.owner == self.project.function(ref).owner
        ]
        return (
            self.project.function(ref).name == "forward"
            and func.name not in methods
            and self._owner_is(ref, "modules")
            and not _LOSS.search(func.name)
        )

    def _owner_is(self, ref: FunctionRef, kind: str) -> bool:
        """Whether a function is a method of a class with a base of a certain name."""
        owner = self.project.function(ref).owner
        if owner < 0:
            return False
        bases = self.project.module(ref.file).classes[owner].bases
        return any(list(names_below(base))[-1:] and _name(base) in self.context.parameters[kind] for base in bases)

    def _is_own(self, file: str, function: int) -> bool:
        """Whether a function says itself what its gradient is, or has none."""
        if function < 0:
            return False
        ref = FunctionRef(file, function)
        unrecorded = self.context.parameters["unrecorded"]
        decorated = any(
            name in unrecorded for one in self.project.function(ref).decorators for name in names_below(one)
        )
        return decorated or self._owner_is(ref, "own-gradients")

    def _is_cut_somewhere(self, file: str) -> bool:
        """Whether any model of a program may give something without a gradient."""
        words = {*self.cutting, *self.context.parameters["unrecorded"], "requires_grad", "requires_grad_"}
        for one in family(self.project, file):
            for index, definition in enumerate(self.project.module(one).functions if one in self.project.facts else ()):
                if definition.owner >= 0 and definition.name == "forward":
                    for statement in statements(body_of(self.project, one, index)):
                        if any(name in words for expr in expressions_of(statement) for name in names_below(expr)):
                            return True
        return any("requires_grad" in self.project.text_of(one) for one in family(self.project, file))

    # Where gathered values go ----------------------------------------------------------------------------------------

    def _followed(
        self, body: tuple[ir.Stmt, ...], names: set[str], call: ir.Call
    ) -> tuple[list[ir.Expr], list[ir.Expr], bool]:
        """What is returned of gathered values, the backward passes of what comes of them, and whether a loss is made of them."""
        found, size, lossy = set(names), -1, False
        around = call.at if not names else None
        returned: list[ir.Expr] = []
        ends: list[ir.Expr] = []
        recorded = [one for one in statements(body) if not self._is_unrecorded(body, one.at)]
        while size != len(found):
            size = len(found)
            for statement in recorded:
                if (
                    type(statement) is ir.Assign
                    and statement.value is not None
                    and self._has(statement.value, found, around)
                ):
                    found |= {name for target in statement.targets for name in bound_names(target)}
                    lossy = lossy or _is_loss(statement.value)
                elif isinstance(statement, ir.AugAssign | ir.For):
                    taken = statement.value if isinstance(statement, ir.AugAssign) else statement.iterable
                    if self._has(taken, found, around):
                        found |= set(bound_names(statement.target))
        for statement in recorded:
            if type(statement) is ir.Return and statement.value is not None:
                if self._has(statement.value, found, around):
                    returned.append(statement.value)
                    lossy = lossy or _is_loss(statement.value)
            elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
                if called_name(statement.value) == "backward" and self._has(statement.value, found, around):
                    ends.append(statement.value)
        return returned, ends, lossy

    def _has(self, expr: ir.Expr, names: set[str], around: ir.Position | None) -> bool:
        """Whether an expression reads one of some names, or holds the call at a place, with its gradient."""
        return any(True for _ in self._reads(expr, names, around))

    def _reads(self, expr: ir.Expr, names: set[str], around: ir.Position | None = None) -> Iterator[ir.Expr]:
        """The places in an expression that use some names, or the call at a place, for more than their measures."""
        if type(expr) is ir.Attribute and (expr.name in self.measures or expr.name in self.cutting):
            return
        if type(expr) is ir.Call and called_name(expr) in self.measures:
            return
        if (type(expr) is ir.Name and expr.id in names) or (around is not None and expr.at == around):
            yield expr
            return
        for part in children(expr):
            yield from self._reads(part, names, around)

    def _is_cut(self, expr: ir.Expr) -> bool:
        return any(name in self.cutting for name in names_below(expr))

    def _is_unrecorded(self, body: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
        """Whether a place stands in a context without gradients."""
        unrecorded = self.context.parameters["unrecorded"]
        return any(
            type(holder) is ir.With and any(name in unrecorded for one, _ in holder.items for name in names_below(one))
            for holder in holders(body, at)
        )


def _is_loss(expr: ir.Expr) -> bool:
    return any(_LOSS.search(name) for name in names_below(expr))


def _name(expr: ir.Expr) -> str:
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""


def _last(target: ir.Expr) -> Iterator[str]:
    name = _name(target)
    if name:
        yield name


def _targets(statement: ir.Stmt) -> list[ir.Expr]:
    if type(statement) is ir.With:
        return [target for _, target in statement.items if target is not None]
    return [statement.target] if type(statement) in (ir.AugAssign, ir.For) else []  # type: ignore[union-attr]


def _given(target: ir.Expr, value: ir.Expr, name: str) -> Iterator[ir.Expr]:
    """What a name gets of a value: its place of what is written out, otherwise the whole."""
    if type(target) is ir.Name and target.id == name:
        yield value
    elif type(target) is ir.ListDisplay:
        same = type(value) is ir.ListDisplay and len(value.items) == len(target.items)
        for place, item in enumerate(target.items):
            yield from _given(item, value.items[place] if same else value, name)  # type: ignore[union-attr]
