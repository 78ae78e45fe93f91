"""The object whose method is running, where a run has but one that it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import NOTHING, Abstract, Instance
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.objects import fields_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_CALLS = 4
"""A method that is called at more places is taken to be called on any object."""


def only_receiver(evaluator: Evaluator, owner: ClassRef, method: FunctionRef) -> Instance | None:
    """The object of a dataclass on which all calls of a method are made in the evaluator's run; ``None`` where that can't be told.

    A preset that is chosen by an option is one: ``PRESETS[args.preset].build()``.
    """
    if not fields_of(evaluator, owner):
        return None
    found = evaluator.guarded(("receiver", method), lambda: _receiver(evaluator, owner, method))
    return found if isinstance(found, Instance) else None


def _receiver(evaluator: Evaluator, owner: ClassRef, method: FunctionRef) -> Abstract:
    callers = evaluator.project.callers(method)
    if len(callers) > MAX_CALLS:
        return NOTHING
    found: dict[object, Instance] = {}
    for caller in callers:
        func = caller.site.call.func
        if type(func) is not ir.Attribute or caller.shift or caller.looked_up:
            return NOTHING
        outer = evaluator.frame(caller.file, caller.site.function)
        value = evaluator.evaluate(func.base, outer, evaluator.state(outer, caller.site.call.at))
        if not isinstance(value, Instance) or value.part or value.callee != owner:
            return NOTHING
        found[value.identity] = value
    return next(iter(found.values())) if len(found) == 1 else NOTHING
