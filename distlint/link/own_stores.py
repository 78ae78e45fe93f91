"""Whether an attribute of a library's object may be set somewhere: stores by a computed name count where the object may be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef, External
from distlint.link.objects import NAMESPACES
from distlint.link.parsers import PARSE_CALLS, method_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite

MAX_STORES = 16
"""Computed stores of a project that are looked at one by one."""


class _Answers(dict[int, bool]):
    """By evaluator whether some computed store of the project may be into a library's object."""


def is_stored_outside(evaluator: Evaluator, name: str) -> bool:
    """Whether some statement may set an attribute of this name of an object that is not the program's own.

    ``setattr(settings, name, value)`` does not where the object is known to be one of a class of the project, or what a parser gave.
    """
    project = evaluator.project
    if not project.is_stored(name):
        return False
    every = [project.stored_attributes(file) for file in project.python_files]
    if any(name in one or "__dict__" in one for one in every):
        return True
    answers = project.kept.setdefault(_Answers, _Answers())
    if id(evaluator) not in answers:
        answers[id(evaluator)] = _any_outside(evaluator)
    found: bool = answers[id(evaluator)]
    return found


def _any_outside(evaluator: Evaluator) -> bool:
    computed = [
        found
        for found in evaluator.project.sites("setattr")
        if len(found.site.call.args) > 1 and type(found.site.call.args[1]) is not ir.Constant
    ]
    return len(computed) > MAX_STORES or any(not _is_own(evaluator, found) for found in computed)


def _is_own(evaluator: Evaluator, found: CallSite) -> bool:
    """Whether the object of a ``setattr`` is known to be the program's own."""
    options = options_of(evaluator.ask(found.site.call.args[0], found.file, found.site.function))
    return bool(options) and all(isinstance(one, Instance) and _is_of_program(evaluator, one) for one in options)


def _is_of_program(evaluator: Evaluator, made: Instance) -> bool:
    if isinstance(made.callee, ClassRef):
        return made.part in ((), ("self",)) and not evaluator.modules.has_unknown_base(made.callee)
    is_plain = isinstance(made.callee, External) and made.callee.name in NAMESPACES
    return not made.part and (is_plain or method_of(made) in PARSE_CALLS)
