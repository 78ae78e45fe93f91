"""Objects of library classes that hold another one in an attribute (``ddp.module``), and tests that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Instance
from distlint.link.modules import ClassRef, External

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator


def is_held_in(evaluator: Evaluator, value: Abstract, attribute: str) -> bool:
    """Whether an object is one of a library class that keeps another one in this attribute."""
    if not isinstance(value, Instance) or value.part or not isinstance(value.callee, External):
        return False
    return any((value.callee.name, attribute) in spec.holders for spec in evaluator.project.specs)


def is_kind_of(evaluator: Evaluator, value: Abstract, names: list[str]) -> bool | None:
    """Whether an object is one of some library classes; ``None`` where that is not known.

    It is not one of classes that hold others if another class made it: nothing derives from those unseen.
    """
    if not isinstance(value, Instance) or value.part:
        return None
    if isinstance(value.callee, External):
        made = {value.callee.name}
        is_class = value.callee.name.rpartition(".")[2][:1].isupper()
    elif isinstance(value.callee, ClassRef):
        made, is_class = set(evaluator.modules.external_bases(value.callee)), True
    else:
        return None
    if made & set(names):
        return True
    if len(made) == 1 and is_class and names:
        canonical = evaluator.modules.canonical
        own, asked = canonical(next(iter(made))), {canonical(name) for name in names}
        for spec in evaluator.project.specs:
            if any(own in kinds and asked <= kinds for kinds in spec.exclusive):
                return own in asked
    holders = {one for spec in evaluator.project.specs for one, _ in spec.holders}
    return False if is_class and names and all(name in holders for name in names) else None
