"""Calls of wrapped models whose forward pass is made by all processes together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from distlint.checks.execution import body_of
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.evaluate import Evaluator
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, guards_of, last_name, statements
from distlint.model import python as ir

_KEEPING = frozenset({"cuda", "to", "cpu", "half", "float", "double", "bfloat16", "train", "eval", "requires_grad_"})
"""Methods of a module that give the module itself."""


def names_given(project: Project, found: CallSite) -> Iterator[str]:
    """The last names of the variables and attributes that a call's result is assigned to, there or one step on."""
    at = found.site.call.at
    names: set[str] = set()
    for statement in statements(body_of(project, found.file, found.site.function)):
        if type(statement) is ir.Assign and statement.value is not None:
            if statement.value.at == at or last_name(statement.value) in names:
                for target in statement.targets:
                    items = target.items if isinstance(target, ir.ListDisplay) else (target,)
                    names.update(name for item in items if (name := last_name(item)))
    yield from sorted(names)


def names_handed_on(project: Project, names: Collection[str]) -> set[str]:
    """The parameters of project functions that variables or attributes of these names are handed to, by one step."""
    found: set[str] = set()
    for file in project.python_files:
        for site in (one for sites in project.module(file).calls.values() for one in sites):
            given = [*enumerate(site.call.args), *((word.name or "", word.value) for word in site.call.keywords)]
            handed = [place for place, value in given if last_name(value) in names]
            target = project.modules.resolve(site.call.func, file) if handed else None
            if isinstance(target, ClassRef):
                found |= _kept_names(project, target, handed)
            if isinstance(target, FunctionRef):
                found |= _parameters(project, target, handed, 0)
    return found


def _parameters(project: Project, target: FunctionRef, handed: Sequence[object], offset: int) -> set[str]:
    """The parameters that arguments at these places (position or name) are handed to."""
    names = [one.name for one in project.function(target).parameters][offset:]
    found = {names[one] for one in handed if isinstance(one, int) and one < len(names)}
    return found | {one for one in handed if isinstance(one, str) and one in names}


def _kept_names(project: Project, owner: ClassRef, handed: Sequence[object]) -> set[str]:
    """The parameters of a class's ``__init__`` that arguments are handed to, and the attributes that keep them."""
    init = project.modules.method(owner, "__init__")
    if init is None:
        return set()
    names = _parameters(project, init, handed, 1)
    stores = project.attribute_stores(owner)
    kept = {
        name
        for name, values in stores.items()
        if any(value is not None and last_name(value) in names for _, value, _ in values)
    }
    return names | kept


def called_object(project: Project, evaluator: Evaluator, found: CallSite) -> Instance | None:
    """The object that a call site calls itself (``model(x)``, ``self.model(x)``), where it can be one only."""
    func = found.site.call.func
    if type(func) is not ir.Name and not (
        type(func) is ir.Attribute and type(func.base) is ir.Name and func.base.id == "self"
    ):
        return None
    if project.modules.dotted(func, found.file):
        return None
    options = options_of(evaluator.ask(func, found.file, found.site.function))
    only = options[0] if len(options) == 1 else None
    return only if isinstance(only, Instance) else None


def may_hold_buffers(project: Project, evaluator: Evaluator, wrapper: Instance) -> bool:
    """Whether the module that a wrapper was given certainly has buffers."""
    model, _ = find_argument(wrapper.call, "module", 0)
    if model is None:
        return False
    for option in options_of(evaluator.ask(unwrapped(model), wrapper.frame.file, wrapper.frame.function)):
        if not isinstance(option, Instance) or not _holds_buffers(project, option):
            return False
    return True


def unwrapped(expr: ir.Expr) -> ir.Expr:
    """``model`` of ``model.to(device).train()``."""
    while type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _KEEPING:
        expr = expr.func.base
    return expr


def _holds_buffers(project: Project, instance: Instance) -> bool:
    """Whether a module is seen to be built with normalisation layers or registered buffers."""
    call = instance.call
    while type(call.func) is ir.Attribute and call.func.name in _KEEPING and type(call.func.base) is ir.Call:
        call = call.func.base
    if isinstance(instance.callee, ClassRef):
        init = project.modules.method(instance.callee, "__init__")
        if init is None or init.file != instance.callee.file:
            return False
        body = project.function(init).body
        return any(_makes_buffers(one) and not _is_perhaps(body, one) for one in calls_in(body))
    return any(type(part) is ir.Call and _makes_buffers(part) for part in below(call))


def _is_perhaps(body: tuple[ir.Stmt, ...], call: ir.Call) -> bool:
    """Whether a call of a body is made under a condition."""
    return any(guard.kind in ("if", "expression") for guard in guards_of(body, call.at) or ())


def _makes_buffers(call: ir.Call) -> bool:
    name = call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
    return name.startswith(("BatchNorm", "SyncBatchNorm", "resnet")) or name == "register_buffer"
