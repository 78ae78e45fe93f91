"""What came out of ``Booster.boost``, and what was handed to it: each thing at its place among the five results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.plugins import BOOSTER, signature
from distlint.frameworks.reaching import MAX_CALLERS, comes_to, open_tests
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.model import python as ir
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run
    from distlint.model.span import Span

BOOST = f"{BOOSTER}().boost()"
PLACES = ("model", "optimizer", "criterion", "dataloader", "lr_scheduler")
"""The results of ``boost`` in order, under the names of its parameters."""
_UNWRAPPED = frozenset({f"{BOOST}[0].unwrap()", f"{BOOST}[0].module"})
"""The model inside what ``boost`` gives back."""
_UNWRAPPED_MAKERS = ("colossalai.nn.", f"{BOOSTER}()")
"""What of the library makes plain optimizers and models: its optimizers, and adapters that the booster puts in."""


def parameters(method: str, release: str) -> tuple[str, ...]:
    """The parameters of a method of the booster in a release, in order."""
    return signature(f"colossalai.booster.booster.Booster.{method}", release).parameters


def name_of(evaluator: Evaluator, made: Instance) -> str:
    """The library name of what a call gave."""
    return evaluator.modules.canonical(evaluator.instance_name(made))


def maker_of(value: Abstract | None) -> Instance | None:
    """The one call that made an object."""
    options = options_of(value) if value is not None else ()
    return options[0] if len(options) == 1 and isinstance(options[0], Instance) else None


def is_boosted(evaluator: Evaluator, value: Abstract, place: str) -> Value:
    """Whether a thing came out of ``boost`` at its place; unknown where it may be something else."""
    found = set()
    for option in options_of(value):
        if not isinstance(option, Instance):
            return unknown("what it is, is not known")
        name = name_of(evaluator, option)
        is_wrapper = name == f"{BOOST}[{PLACES.index(place)}]"
        found.add(None if not is_wrapper and _may_be_wrapped(evaluator, option, name) else is_wrapper)
    if len(found) != 1 or None in found:
        return unknown("what it is, is not known")
    return known(found.pop(), *(option.span() for option in options_of(value) if isinstance(option, Instance)))


def unboosted_by_caller(project: Project, found: CallSite, run: Run, expr: ir.Expr | None, place: str) -> Span | None:
    """Where a caller surely hands over what did not come out of ``boost`` at a place, for a parameter that ``expr`` names in a call."""
    if type(expr) is not ir.Name or found.site.function < 0:
        return None
    ref = FunctionRef(found.file, found.site.function)
    function = project.function(ref)
    names = [one.name for one in function.parameters]
    position = names.index(expr.id) - (1 if function.owner >= 0 else 0) if expr.id in names else None
    for caller in project.callers(ref)[:MAX_CALLERS] if position is not None else ():
        site = found._replace(file=caller.file, site=caller.site)
        handed, _ = find_argument(caller.site.call, expr.id, position)
        if handed is None or caller.looked_up or not comes_to(project, site, run):
            continue
        if any(True for _ in open_tests(project, site, run)):
            continue
        evaluator = project.evaluator(run)
        value = evaluator.ask(handed, caller.file, caller.site.function)
        if is_boosted(evaluator, value, place).only is False:
            return ir.unpack(handed.at, caller.file)
    return None


def _may_be_wrapped(evaluator: Evaluator, made: Instance, name: str) -> bool:
    """Whether something that did not come out of ``boost`` at its place may still be what the booster wants.

    Another part of a boost, a wrapper that the library makes elsewhere, or an object of a class with ``backward`` of its own.
    """
    if name.startswith(BOOST):
        return name not in _UNWRAPPED
    if isinstance(made.callee, ClassRef):
        return evaluator.modules.method(made.callee, "backward") is not None
    return name == "()" or (name.startswith("colossalai.") and not name.startswith(_UNWRAPPED_MAKERS))


def before_boost(evaluator: Evaluator, value: Abstract, place: str) -> Abstract:
    """What was handed to ``boost``, for a thing that came out of it at a place; else the thing itself."""
    made = maker_of(value)
    if made is None or name_of(evaluator, made) != f"{BOOST}[{PLACES.index(place)}]":
        return value
    position = parameters("boost", "").index(place)
    given = evaluator.argument(made.call, place, position, made.frame, made.state)
    return value if given is None else given
