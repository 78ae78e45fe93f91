"""What the arguments of megatron.core's configuration objects stand for that no command line can hold: types and functions.

They become the words that options have for them: ``torch.bfloat16`` is ``bf16``, ``torch.nn.functional.silu`` is ``silu``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distlint.link.abstract import ObjectLeaf, Reference, options_of
from distlint.link.modules import ClassRef, External
from distlint.model import python as ir
from distlint.model.value import Value, known, one_of, unknown

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project
    from distlint.model.document import Node
    from distlint.model.launch import Run

_WORDS: Mapping[str, str] = {
    "torch.bfloat16": "bf16",
    "torch.float16": "fp16",
    "torch.half": "fp16",
    "torch.float32": "fp32",
    "torch.float": "fp32",
    "torch.uint8": "fp8",
}
_FUNCTIONS = ("torch.nn.functional.", "megatron.core.activations.", "torch.")


def named_objects(project: Project, found: CallSite, run: Run | None) -> dict[str, Value]:
    """The arguments of a call that are types or functions of a library, by parameter."""
    entries = project.evaluator(run).keywords(found.site.call, found.file, found.site.function).entries
    words = {entry.key: _word(entry.node) for entry in entries if isinstance(entry.node, ObjectLeaf)}
    return {name: value for name, value in words.items() if value is not None}


def _word(node: Node) -> Value | None:
    options = options_of(node.object) if isinstance(node, ObjectLeaf) and node.object is not None else ()
    names = [
        option.target.name
        for option in options
        if isinstance(option, Reference) and isinstance(option.target, External)
    ]
    if not names or len(names) != len(options):
        return None
    return one_of([_spelled(name) for name in names], (node.span,))


def _spelled(name: str) -> str:
    if name in _WORDS:
        return _WORDS[name]
    for module in _FUNCTIONS:
        if name.startswith(module):
            return name.removeprefix(module)
    return name


def own_fields(project: Project, found: CallSite) -> dict[str, Value]:
    """The defaults that a class of the project gives to fields, where a call makes an object of such a class."""
    target = project.modules.resolve(found.site.call.func, found.file)
    fields: dict[str, Value] = {}
    if not isinstance(target, ClassRef):
        return fields
    for owner in project.modules.ancestry(target):
        definition = project.class_(owner)
        for statement in definition.body if definition.decorators else ():
            # what has no annotation, or stands in a class that is no dataclass, is no field
            if type(statement) is not ir.Assign or statement.value is None or statement.annotation is None:
                continue
            for name in statement.targets:
                if type(name) is ir.Name:
                    fields.setdefault(name.id, _constant(statement.value, owner.file))
    return fields


def _constant(expr: ir.Expr, file: str) -> Value:
    if type(expr) is ir.Constant and (expr.value is None or isinstance(expr.value, (bool, int, float, str))):
        return known(expr.value, ir.unpack(expr.at, file))
    return unknown("the class computes it", ir.unpack(expr.at, file))
