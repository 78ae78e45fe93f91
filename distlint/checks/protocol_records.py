"""Records: objects of a project that keep plain values, such as counters, and give and take nothing else where their state is asked for."""

from __future__ import annotations

from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.modules import ClassRef, External
from distlint.link.project import Project
from distlint.link.walking import calls_in
from distlint.model import python as ir

_STATE = ("state_dict", "load_state_dict")
_PLAIN_NAMES = """
int float bool str list dict tuple set deque len isinstance getattr setattr hasattr vars asdict astuple fields sorted zip enumerate range
get pop items keys values update append extend clear copy deepcopy item tolist print format min max sum
"""
_PLAIN = frozenset(_PLAIN_NAMES.split())
"""Calls that move plain values about: none of them gives or takes the state of another object."""

_SCHEDULES = "torch.optim.lr_scheduler."
"""Library classes whose state is counters and rates, though they hold an optimizer."""


def is_record(project: Project, value: Abstract) -> bool:
    """Whether a value is certainly an object whose state holds nothing of models and optimizers."""
    options = options_of(value)
    return bool(options) and all(isinstance(one, Instance) and _is_plain(project, one) for one in options)


def _is_plain(project: Project, made: Instance) -> bool:
    if made.part:
        return False
    if isinstance(made.callee, External):
        return made.callee.name.startswith(_SCHEDULES)
    if not isinstance(made.callee, ClassRef):
        return False
    modules = project.modules
    if modules.has_unknown_base(made.callee) or modules.external_bases(made.callee) - {"object"}:
        return False
    for name in _STATE:
        method = modules.method(made.callee, name)
        if method is None or not all(_last(call.func) in _PLAIN for call in calls_in(project.function(method).body)):
            return False
    given = (*made.call.args, *[one.value for one in made.call.keywords])
    evaluator = project.evaluator(None)
    return not any(
        isinstance(option, Instance)
        for one in given
        for option in options_of(evaluator.ask_in(one, made.frame, made.state))
    )


def _last(func: ir.Expr) -> str:
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
