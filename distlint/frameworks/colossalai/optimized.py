"""Whose parameters an optimizer holds that is handed to ``boost``: those of the model, or of a module that no booster gets.

A plugin that changes the parameters of the model (casts them, or puts them into chunks) does so for the model alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.boosted import maker_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.walking import below, blocks_of, expressions_of, names_below, statements
from distlint.model import python as ir
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Instance
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project

_PARAMETERS = frozenset({"parameters", "named_parameters"})
_HARMLESS = _PARAMETERS | {"cuda", "train", "eval", "zero_grad", "state_dict"}
"""Methods of a module after which its parameters are of the same type, and of the same module."""
_HOLDS = "Parameter Linear Embedding Conv1d Conv2d Conv3d LayerNorm BatchNorm1d BatchNorm2d GRU LSTM Bilinear MultiheadAttention"
_WITH_PARAMETERS = frozenset(f"torch.nn.{name}" for name in _HOLDS.split()) | {"torch.nn.parameter.Parameter"}
_UNSEEN = "not known whose parameters it holds"


def foreign_module(project: Project, evaluator: Evaluator, found: CallSite, optimizer: Instance | None) -> Value:
    """The name of a module that ``boost`` does not get as the model, if the optimizer certainly holds its parameters; else unknown.

    The module is a local variable of the function that calls ``boost``, and is mentioned there only where it is made, called, and asked
    for its parameters: no other module gets it, and nobody casts it.
    """
    function = found.site.function
    if optimizer is None or (optimizer.frame.file, optimizer.frame.function) != (found.file, function):
        return unknown(_UNSEEN)
    given = next(
        (one for name in ("params", "model_params") if (one := find_argument(optimizer.call, name, 0)[0])), None
    )
    if given is None or type(given) is ir.Starred:
        return unknown(_UNSEEN)
    body = project.body(found.file, function)
    for base in _owners(given):
        made = _made(evaluator, maker_of(evaluator.evaluate(base, optimizer.frame, optimizer.state)))
        if made is None or made.part or not _has_parameters(project, evaluator, made):
            continue
        if _is_left_alone(body, base.id, found.site.call):
            return known(base.id, ir.unpack(base.at, found.file), made.span())
    return unknown(_UNSEEN)


def _made(evaluator: Evaluator, made: Instance | None) -> Instance | None:
    """What made a module that was put on the device where it was made."""
    func = made.call.func if made is not None else None
    if made is None or type(func) is not ir.Attribute or func.name != "cuda" or made.part:
        return made
    return maker_of(evaluator.evaluate(func.base, made.frame, made.state))


def _owners(given: ir.Expr) -> Iterator[ir.Name]:
    """The variables whose ``parameters()`` an argument is put together of."""
    for part in below(given):
        if type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name in _PARAMETERS:
            if type(part.func.base) is ir.Name:
                yield part.func.base


def _has_parameters(project: Project, evaluator: Evaluator, made: Instance) -> bool:
    """Whether an object is of a class of the project that makes parameters of its own in any case, in plain words."""
    if not isinstance(made.callee, ClassRef):
        return False
    bases = evaluator.modules.external_bases(made.callee)
    constructor = evaluator.modules.method(made.callee, "__init__")
    if constructor is None or not any(one.startswith("torch.nn.") for one in bases):
        return False
    for statement in project.function(constructor).body:
        if type(statement) is ir.Assign and statement.value is not None and type(statement.value) is ir.Call:
            words = {one.name for one in statement.value.keywords}
            name = evaluator.modules.dotted(statement.value.func, constructor.file)
            if evaluator.modules.canonical(name) in _WITH_PARAMETERS and not words & {"dtype", "requires_grad"}:
                return True
    return False


def _is_left_alone(body: tuple[ir.Stmt, ...], name: str, boost: ir.Call) -> bool:
    """Whether a variable is bound once before a call, asked for what changes nothing, and given to the call as the criterion at most."""
    earlier = [
        one for one in statements(body) if one.at <= boost.at and (blocks_of(one) or not ir.encloses(one.at, boost.at))
    ]
    parts = [part for statement in earlier for one in expressions_of(statement) for part in below(one)]
    mentions = sum(type(one) is ir.Name and one.id == name for one in parts)
    harmless = sum(type(one) is ir.Call and _is_harmless(one, name) for one in parts)
    criterion, _ = find_argument(boost, "criterion", 2)
    handed = sum(
        one == name for part in (*boost.args, *[one.value for one in boost.keywords]) for one in names_below(part)
    )
    as_criterion = type(criterion) is ir.Name and criterion.id == name
    return mentions == harmless + 1 and handed == int(as_criterion)


def _is_harmless(call: ir.Call, name: str) -> bool:
    func = call.func
    if type(func) is ir.Attribute:
        return func.name in _HARMLESS and type(func.base) is ir.Name and func.base.id == name
    return type(func) is ir.Name and func.id == name
