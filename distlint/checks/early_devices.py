"""Tensors that a module keeps from before its trainer has chosen the process's device: they are on the first one, and the rest is not.

Parameters: those of ``module-hooks`` (``trainers``, ``several``, ``bases``) and of ``devices`` (``first``, ``devices``); ``moving``
(methods that put a tensor on a device), ``making`` (prefix of the functions that take ``device``), ``taking`` and ``batches`` (see
``batch_tensors``), ``setup`` (methods of the module that come before the device is chosen), ``registering`` (methods that make an
attribute part of the module), ``choosing`` (words of programs that choose devices themselves), ``own`` (values of ``accelerator`` with
which there are such devices).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.batch_tensors import BatchTensors
from distlint.checks.devices import is_first
from distlint.checks.hooked import Hooked, hooked_classes
from distlint.checks.preparing import texts_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_tensors import NO_ARITHMETIC, Spread, stored, takes_tensors, tensors_given
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import Project
from distlint.link.walking import below, calls_in, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

_MOVING_NAMES = "to cuda cpu device data set_ type type_as is_cuda get_device numpy"

_ELSEWHERE = frozenset(_MOVING_NAMES.split())
"""What a tensor is asked for where it may be moved, or others may be moved to it."""

_COMPUTING_NAMES = """
matmul mm bmm mv dot mul add sub div pow maximum minimum eq ne lt le gt ge where lerp addmm gather index_select scatter_add logical_and
mul_ add_ sub_ div_ lerp_ addcmul_ index_add_ scatter_add_ masked_fill cross outer inner
"""

_COMPUTING = frozenset(_COMPUTING_NAMES.split())
"""Methods of tensors that compute with another one."""


class Kept(NamedTuple):
    """An attribute (``own``) or variable of the file that keeps a tensor: where it is stored, and where that was put on a device."""

    name: str
    stored: Span
    placed: Span
    own: bool
    tensor: bool
    """Whether it is known to be a tensor: a module is moved by its trainer."""

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
        batches = BatchTensors(context, hooked)
        for kept in (*_kept(context, hooked), *_global(context, hooked)):
            used = _used(context, hooked, kept, batches)
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
                yield Kept(target.name, ir.unpack(statement.at, file), placed[0], own=True, tensor=placed[1])


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
            yield Kept(target.id, ir.unpack(statement.at, file), placed[0], own=False, tensor=placed[1])


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


def _placed(context: CheckContext, expr: ir.Expr, file: str, function: int) -> tuple[Span, bool] | None:
    """Where an expression's tensor was put on the first device, if it certainly was, last of all; and whether it can be nothing else.

    What is put there by a method may be a module.
    """
    project: Project = context.project
    state = project.flow(file, function)
    found: list[tuple[Span, bool]] = []

    def is_put(one: ir.Expr) -> bool:
        put = _put(context, followed(one, state.before(one.at)), file, function)
        if put is not None:
            found.append(put)
        return put is not None

    if Spread(project, file, context.parameters["taking"], is_put).holds(followed(expr, state.before(expr.at))):
        span, known = found[-1]
        computed = type(expr) is ir.Call and takes_tensors(project, expr, file, context.parameters["taking"])
        return span, known or computed
    return None


def _put(context: CheckContext, expr: ir.Expr, file: str, function: int) -> tuple[Span, bool] | None:
    """Where an expression itself puts something on the first device."""
    if type(expr) is ir.Call and _places(context, expr, file, function):
        return ir.unpack(expr.at, file), not _moves(context, expr, file)
    if type(expr) not in (ir.Call, ir.Name, ir.Attribute):
        return None
    found: list[tuple[Span, bool]] = []
    for option in options_of(context.project.evaluator(None).ask(expr, file, function)):
        if not isinstance(option, Instance) or option.part:
            return None
        if not _places(context, option.call, option.frame.file, option.frame.function):
            return None
        found.append(
            (ir.unpack(option.call.at, option.frame.file), not _moves(context, option.call, option.frame.file))
        )
    return (found[-1][0], all(known for _, known in found)) if found else None


def _moves(context: CheckContext, call: ir.Call, file: str) -> bool:
    """Whether a call moves something of which it is not known that it is a tensor."""
    if not _is_move(context, call, file):
        return False
    base = call.func.base if type(call.func) is ir.Attribute else call
    return not (type(base) is ir.Call and takes_tensors(context.project, base, file, context.parameters["taking"]))


def _is_move(context: CheckContext, call: ir.Call, file: str) -> bool:
    named = type(call.func) is ir.Attribute and call.func.name in context.parameters["moving"]
    return named and not context.project.modules.dotted(call.func, file)


def _places(context: CheckContext, call: ir.Call, file: str, function: int) -> bool:
    """Whether a call gives something on the current or the first device."""
    if _is_move(context, call, file):
        given = [*call.args[:1], *(word.value for word in call.keywords if word.name == "device")]
        bare = last_name(call.func) == "cuda" and not call.args and not call.keywords
        return bare or (len(given) == 1 and is_first(context, given[0], file, function))
    dotted = context.project.modules.dotted(call.func, file)
    making = context.parameters["making"]
    if not dotted.startswith(making) or dotted.count(".") != 1 or not dotted.rpartition(".")[2].islower():
        return False
    device, certain = find_argument(call, "device", None)
    return certain and device is not None and is_first(context, device, file, function)


def _used(context: CheckContext, hooked: Hooked, kept: Kept, batches: BatchTensors) -> ir.Expr | None:
    """Where a method that comes later brings it together with tensors of the process's device, and nothing else is done with it.

    What is called, or asked for anything, may be no tensor, unless it is known to be one; what is moved when it is used is on the right
    device then.
    """
    found: ir.Expr | None = None
    for method, function in hooked.methods.items():
        if method in context.parameters["setup"] or not function.parameters or _hides(function, kept):
            continue
        me = function.parameters[0].name
        if any(_is_asked(one, me, kept) for one in _parts(function)):
            return None
        if found is None:
            meeting = _Meeting(context, hooked, kept, batches, method)
            found = next((one for one in _parts(function) if meeting.is_at(one)), None)
    return found


def _parts(function: ir.Function) -> Iterator[ir.Expr]:
    for statement in statements(function.body):
        for expr in expressions_of(statement):
            yield from below(expr)


def _is_asked(part: ir.Expr, me: str, kept: Kept) -> bool:
    """Whether an expression may move what is kept, or shows that it may be no tensor."""
    if type(part) is ir.Attribute and kept.is_meant(part.base, me):
        return not kept.tensor or part.name in _ELSEWHERE
    return type(part) is ir.Call and kept.is_meant(part.func, me)


def _hides(function: ir.Function, kept: Kept) -> bool:
    """Whether a method has a variable of its own by the name of one of the file."""
    bound = {name for name, _, _ in stored(function.body)}
    return not kept.own and kept.name in {*(one.name for one in function.parameters), *bound}


class _Meeting:
    """Tells where a method brings what is kept together with tensors of the process's device."""

    def __init__(self, context: CheckContext, hooked: Hooked, kept: Kept, batches: BatchTensors, method: str) -> None:
        self._context = context
        self._file = hooked.owner.file
        self._theirs = batches.spread(method)
        function = hooked.methods[method]
        me, taking = function.parameters[0].name, context.parameters["taking"]
        names: set[str] = set()

        def is_kept(expr: ir.Expr) -> bool:
            return kept.is_meant(expr, me) or (type(expr) is ir.Name and expr.id in names)

        self._mine = Spread(context.project, self._file, taking, is_kept)
        found = list(stored(function.body)) if kept.tensor else []
        made = {name for name, value, _ in found if value is not None and self._is_mine(value)}
        other = {name for name, value, _ in found if value is None or not self._is_mine(value)}
        names |= made - other

    def _is_mine(self, expr: ir.Expr) -> bool:
        return self._mine.holds(expr) and not self._theirs.holds(expr)

    def is_at(self, part: ir.Expr) -> bool:
        """Whether an operation or a call takes both."""
        parts: list[ir.Expr] = []
        if type(part) is ir.Operation:
            parts = list(part.operands) if part.operators[0] not in NO_ARITHMETIC else []
        elif type(part) is ir.Call:
            if takes_tensors(self._context.project, part, self._file, self._context.parameters["taking"]):
                parts = list(tensors_given(part))
            elif type(part.func) is ir.Attribute and part.func.name in _COMPUTING:
                parts = [part.func.base, *tensors_given(part)]
        mine = [one for one in parts if self._is_mine(one)]
        return bool(mine) and any(self._theirs.holds(one) and not self._mine.holds(one) for one in parts)
