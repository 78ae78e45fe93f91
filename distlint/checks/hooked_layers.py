"""Layers of a module with hooks that no step uses, where the trainer's processes wait for the gradients of all.

Parameters of a rule that asks: ``layers`` (classes with parameters), ``waiting`` (values of ``strategy`` that wait), ``wrapper`` (the
class of such a strategy), ``searching`` (its arguments that make it do without).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.hooked import Hooked, processes
from distlint.checks.unused_parameters import never_used, reaches_otherwise
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import keywords_given
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext

_MAKING_OPTIMIZERS = "configure_optimizers"
"""A hook that may list all parameters and uses no layer."""


def unused_layers(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    """A finding for each layer that no code names."""
    definition = context.project.class_(hooked.owner)
    attributes = context.project.module(hooked.owner.file).attributes
    if len(definition.bases) != 1 or definition.decorators or "automatic_optimization" in attributes:
        return
    if "training_step" not in hooked.methods or not _waits(context, hooked):
        return
    if reaches_otherwise(one for name, one in hooked.methods.items() if name != _MAKING_OPTIMIZERS):
        return
    for name, at in never_used(context, hooked.owner):
        yield context.finding(
            f"the parameters of `{name}` get no gradient: no code uses the layer",
            ir.unpack(at, hooked.owner.file),
            related=[processes(hooked)],
            symbol=f"{definition.name}.{name}",
        )


def _waits(context: CheckContext, hooked: Hooked) -> bool:
    """Whether the processes of the trainer certainly wait for the gradients of all parameters."""
    parameters, found = context.parameters, hooked.trainer
    evaluator = context.project.evaluator(None)
    expr, certain = find_argument(found.site.call, "strategy", None)
    if expr is None:
        return certain
    options = options_of(evaluator.ask(expr, found.file, found.site.function))
    only = options[0] if len(options) == 1 else None
    if isinstance(only, Leaf):
        return only.value.is_known and only.value.only in parameters["waiting"]
    if not isinstance(only, Instance) or evaluator.instance_name(only).removesuffix("()") not in parameters["wrapper"]:
        return False
    given = keywords_given(evaluator, only.call, only.frame.file, only.frame.function)
    return given is not None and not given & set(parameters["searching"])
