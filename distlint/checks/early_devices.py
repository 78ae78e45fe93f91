"""Tensors that a module keeps from before its trainer has chosen the process's device: they are on the first one, and the rest is not.

Parameters: those of ``module-hooks`` (``trainers``, ``several``, ``bases``) and of ``devices`` (``first``, ``devices``); ``moving``
(methods that put a tensor on a device), ``making`` (prefix of the functions that take ``device``), ``taking`` (prefixes of library
functions that are given tensors), ``setup`` (methods of the module that come before the device is chosen), ``registering`` (methods
that make an attribute part of the module), ``choosing`` (words of programs that choose devices themselves), ``own`` (values of
``accelerator`` with which there are such devices).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.devices import is_first
from distlint.checks.hooked import Hooked, hooked_classes
from distlint.checks.preparing import last_name, texts_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import Project
from distlint.link.walking import below, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span


class Kept(NamedTuple):
    """An attribute (``own``) or variable of the file that keeps a tensor: where it is stored, and where that was put on a device."""

    name: str
    stored: Span
    placed: Span
    own: bool

    def is_meant(self, expr: ir.Expr, me: str) -> bool:
        """Whether an expression in a method is what keeps the tensor."""
        if self.own:
            return type(expr) is ir.Attribute and expr.name == self.name and texts_of(expr.base) == me
        return type(expr) is ir.Name and expr.id == self.name


@check("early-devices")
def early_devices(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such tensor that meets what is on the process's own device."""
    project: Project = context.project
    for hooked in hooked_classes(context):
        files = sorted(family(project, hooked.trainer.file) & set(project.python_files))
        if any(word in project.text_of(file) for word in context.parameters["choosing"] for file in files):
            continue
        if not _has_devices(context, hooked):
            continue
        for kept in (*_kept(context, hooked), *_global(context, hooked)):
            used = _used(context, hooked, kept)
            if used is None:
                continue
            related = [
                Related(ir.unpack(used.at, hooked.owner.file), "it meets what is on the process's own device here"),
                Related(
                    hooked.trainer.span, "this trainer runs several processes, and chooses their devices when it starts"
                ),
            ]
            if kept.placed != kept.stored:
                related.insert(
                    0, Related(kept.placed, "it is put on the current device here, the first one for every process")
                )
            yield context.finding(
                f"`{'self.' if kept.own else ''}{kept.name}` is put on a device before the trainer has chosen the process's own: "
                "it is on the first one on every rank",
                kept.stored,
                related=related,
                symbol=kept.name,
            )


def _has_devices(context: CheckContext, hooked: Hooked) -> bool:
    """Whether the trainer may run on such devices."""
    given, certain = find_argument(hooked.trainer.site.call, "accelerator", None)
    if given is None:
        return certain
    found = context.project.evaluator(None).value(given, hooked.trainer.file, hooked.trainer.site.function)
    return not found.options or any(one in context.parameters["own"] for one in found.options)


def _kept(context: CheckContext, hooked: Hooked) -> Iterator[Kept]:
    """The attributes that keep a tensor of the first device, and nothing else at any time."""
    project: Project = context.project
    file = hooked.owner.file
    stores = project.attribute_stores(hooked.owner)
    early = context.parameters["setup"]
    for method, index in hooked.indexes.items():
        function = hooked.methods[method]
        if method not in early or not function.parameters:
            continue
        me = function.parameters[0].name
        for statement in statements(function.body):
            if type(statement) is not ir.Assign or statement.value is None or len(statement.targets) != 1:
                continue
            target = statement.targets[0]
            if type(target) is not ir.Attribute or texts_of(target.base) != me:
                continue
            if len(stores.get(target.name, ())) != 1 or _is_registered(context, hooked, target.name):
                continue
            placed = _placed(context, statement.value, file, index)
            if placed is not None:
                yield Kept(target.name, ir.unpack(statement.at, file), placed, own=True)


def _global(context: CheckContext, hooked: Hooked) -> Iterator[Kept]:
    """The variables of the class's file that keep such a tensor."""
    project: Project = context.project
    file = hooked.owner.file
    writers = project.global_writers(file)
    stored = [one for one in project.module(file).body if type(one) is ir.Assign and one.value is not None]
    for statement in stored:
        target = statement.targets[0] if len(statement.targets) == 1 else None
        if type(target) is not ir.Name or writers.get(target.id):
            continue
        if sum(type(one) is ir.Name and one.id == target.id for other in stored for one in other.targets) > 1:
            continue
        placed = _placed(context, statement.value, file, -1) if statement.value is not None else None
        if placed is not None:
            yield Kept(target.id, ir.unpack(statement.at, file), placed, own=False)


def _is_registered(context: CheckContext, hooked: Hooked, name: str) -> bool:
    """Whether a class makes an attribute part of the module, which is moved as a whole, or changes it where we don't see it."""
    project: Project = context.project
    for function in hooked.methods.values():
        for call in calls_in(function.body):
            if last_name(call.func) not in context.parameters["registering"]:
                continue
            if not call.args or type(call.args[0]) is not ir.Constant or call.args[0].value == name:
                return True
    return bool(project.outside_stores(name))


def _placed(context: CheckContext, expr: ir.Expr, file: str, function: int) -> Span | None:
    """Where an expression's tensor was put on the first device, if it certainly was, last of all."""
    project: Project = context.project
    expr = followed(expr, project.flow(file, function).before(expr.at))
    if type(expr) is ir.Call:
        return ir.unpack(expr.at, file) if _places(context, expr, file, function) else None
    found = None
    for option in options_of(project.evaluator(None).ask(expr, file, function)):
        if not isinstance(option, Instance) or option.part:
            return None
        if not _places(context, option.call, option.frame.file, option.frame.function):
            return None
        found = ir.unpack(option.call.at, option.frame.file)
    return found


def _places(context: CheckContext, call: ir.Call, file: str, function: int) -> bool:
    """Whether a call gives something on the current or the first device."""
    parameters = context.parameters
    if type(call.func) is ir.Attribute and call.func.name in parameters["moving"]:
        if context.project.modules.dotted(call.func, file):
            return False
        given = [*call.args[:1], *(word.value for word in call.keywords if word.name == "device")]
        bare = call.func.name == "cuda" and not call.args and not call.keywords
        return bare or (len(given) == 1 and is_first(context, given[0], file, function))
    dotted = context.project.modules.dotted(call.func, file)
    if not dotted.startswith(parameters["making"]) or dotted.count(".") != 1 or not dotted.rpartition(".")[2].islower():
        return False
    device, certain = find_argument(call, "device", None)
    return certain and device is not None and is_first(context, device, file, function)


def _used(context: CheckContext, hooked: Hooked, kept: Kept) -> ir.Expr | None:
    """Where a method that comes later brings it together with tensors of its own, and nothing else is done with it.

    What is called, or asked for anything, may be no tensor; what is moved when it is used is on the right device then.
    """
    found: ir.Expr | None = None
    for method, function in hooked.methods.items():
        if method in context.parameters["setup"] or not function.parameters or _hides(function, kept):
            continue
        me, tensors = function.parameters[0].name, _variables(function)
        for statement in statements(function.body):
            for expr in expressions_of(statement):
                for part in below(expr):
                    asked = part.func if type(part) is ir.Call else part.base if type(part) is ir.Attribute else None
                    if asked is not None and kept.is_meant(asked, me):
                        return None
                    if found is None and _meets(context, part, me, tensors, kept, hooked.owner.file):
                        found = part
    return found


def _hides(function: ir.Function, kept: Kept) -> bool:
    """Whether a method has a variable of its own by the name of one of the file."""
    return not kept.own and kept.name in {*(one.name for one in function.parameters), *_bound(function)}


def _bound(function: ir.Function) -> dict[str, list[ir.Expr | None]]:
    """The variables that a method binds, with the values that are written there."""
    found: dict[str, list[ir.Expr | None]] = {}
    for statement in statements(function.body):
        pairs: list[tuple[ir.Expr, ir.Expr | None]] = []
        if type(statement) is ir.Assign:
            pairs = [(target, statement.value) for target in statement.targets]
        elif type(statement) is ir.For:
            pairs = [(statement.target, None)]
        for target, value in pairs:
            for part in below(target):
                if type(part) is ir.Name:
                    found.setdefault(part.id, []).append(value)
    return found


def _variables(function: ir.Function) -> frozenset[str]:
    """The variables of a method that may hold tensors of a batch: no numbers that are written out, or that count batches."""
    given = [one.name for one in function.parameters[1:]]
    given = given[:1] if function.name.endswith("_step") else given
    bound = {name for name, values in _bound(function).items() if not all(type(one) is ir.Constant for one in values)}
    return frozenset({*given, *bound})


def _meets(context: CheckContext, part: ir.Expr, me: str, tensors: frozenset[str], kept: Kept, file: str) -> bool:
    if type(part) is ir.Operation:
        parts = list(part.operands)
        if part.operators[0] in ("and", "or", "not", "in", "not in", "is", "is not"):
            return False
    elif type(part) is ir.Call and _takes_tensors(context, part, file):
        parts = [*part.args, *(word.value for word in part.keywords)]
    else:
        return False
    others = [one for one in parts if not kept.is_meant(one, me)]
    return len(others) < len(parts) and any(
        type(inner) is ir.Name and inner.id in tensors for one in others for inner in below(one)
    )


def _takes_tensors(context: CheckContext, call: ir.Call, file: str) -> bool:
    """Whether a call is one of a library's functions that compute with the tensors that they are given."""
    dotted = context.project.modules.dotted(call.func, file)
    for prefix in context.parameters["taking"]:
        rest = dotted.removeprefix(prefix)
        if rest != dotted and "." not in rest and rest.islower():
            return True
    return False
