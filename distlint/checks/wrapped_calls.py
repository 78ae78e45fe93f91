"""Calls of wrapped models whose forward pass is made by all processes together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.evaluate import Evaluator
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, statements
from distlint.model import python as ir

_KEEPING = frozenset({"cuda", "to", "cpu", "half", "float", "double", "bfloat16", "train", "eval", "requires_grad_"})
"""Methods of a module that give the module itself."""


def wrapped_calls(context: CheckContext, matters: Callable[[CallSite], bool]) -> Iterator[tuple[CallSite, str]]:
    """The calls ``model(...)`` of objects that ``wrappers`` made, with the words for a message.

    A wrapper may be a result of a call (``pkg.function()[0]``).
    ``matters`` tells cheaply whether anything would follow from a call; the others are left out.
    """
    project: Project = context.project
    wrappers = dict(context.parameters.get("wrappers", {}))
    wrapped = [site for name in wrappers for site in project.calls_to({name.partition("()")[0]})]
    if not wrapped:
        return
    evaluator = project.evaluator(None)
    # An object keeps its name wherever it goes in nearly all programs; asking about every callee would cost far more.
    names = {name for site in wrapped for name in names_given(project, site)}
    for file in project.python_files:
        module = project.module(file)
        for name in sorted(names & module.calls.keys()):
            for site in module.calls[name]:
                found = CallSite(file, site)
                instance = called_object(project, evaluator, found) if matters(found) else None
                if instance is None:
                    continue
                made_by = evaluator.instance_name(instance).removesuffix("()")
                switch = wrappers.get(made_by)
                if switch is not None and (not switch or _may_hold_buffers(project, evaluator, instance, switch)):
                    yield found, f"{_text(site.call.func)}(...)"


def names_given(project: Project, found: CallSite) -> Iterator[str]:
    """The last names of the variables and attributes that a call's result is assigned to, there or one step on."""
    at = found.site.call.at
    names: set[str] = set()
    for statement in statements(body_of(project, found.file, found.site.function)):
        if type(statement) is ir.Assign and statement.value is not None:
            if statement.value.at == at or _last_name(statement.value) in names:
                for target in statement.targets:
                    items = target.items if isinstance(target, ir.ListDisplay) else (target,)
                    names.update(name for item in items if (name := _last_name(item)))
    yield from sorted(names)


def names_handed_on(project: Project, names: Collection[str]) -> set[str]:
    """The parameters of project functions that variables or attributes of these names are handed to, by one step."""
    found: set[str] = set()
    for file in project.python_files:
        for site in (one for sites in project.module(file).calls.values() for one in sites):
            given = [*enumerate(site.call.args), *((word.name or "", word.value) for word in site.call.keywords)]
            handed = [place for place, value in given if _last_name(value) in names]
            target = project.modules.resolve(site.call.func, file) if handed else None
            if isinstance(target, FunctionRef):
                parameters = [one.name for one in project.function(target).parameters]
                found.update(parameters[one] for one in handed if isinstance(one, int) and one < len(parameters))
                found.update(one for one in handed if isinstance(one, str) and one in parameters)
    return found


def _last_name(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""


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


def _text(func: ir.Expr) -> str:
    return f"{_text(func.base)}.{func.name}" if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""


def _may_hold_buffers(project: Project, evaluator: Evaluator, wrapper: Instance, switch: str) -> bool:
    """Whether the wrapped module certainly has buffers, and the argument ``switch`` does not keep them at home."""
    given, certain = find_argument(wrapper.call, switch, None)
    if given is not None or not certain:
        return False
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
        return any(_makes_buffers(one) for one in calls_in(project.function(init).body))
    return any(type(part) is ir.Call and _makes_buffers(part) for part in below(call))


def _makes_buffers(call: ir.Call) -> bool:
    name = call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
    return name.startswith(("BatchNorm", "SyncBatchNorm", "resnet")) or name == "register_buffer"
