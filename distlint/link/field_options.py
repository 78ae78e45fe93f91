"""The options that the fields of a dataclass become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.link.modules import ClassRef
from distlint.link.parser_model import Option
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import Project


def dataclass_fields(
    project: Project, evaluator: Evaluator, owner: ClassRef, hops: int = 0
) -> Iterator[tuple[str, Option]]:
    """The fields of a dataclass with their defaults, own ones first, then those of its bases in the project."""
    if hops > 8:
        return
    definition = project.class_(owner)
    for statement in definition.body:
        if type(statement) is ir.Assign and statement.annotation is not None and type(statement.targets[0]) is ir.Name:
            name = statement.targets[0].id
            span = ir.unpack(statement.at, owner.file)
            default = _field_default(evaluator, statement.value, owner, span)
            kind = _plain_kind(statement.annotation)
            words = {
                part.name if isinstance(part, ir.Attribute) else part.id
                for part in below(statement.annotation)
                if isinstance(part, ir.Name | ir.Attribute)
            }
            if words & _NO_FIELDS:
                continue
            arity: Any = "?" if "bool" in words else "+" if words & _LISTS else 1
            metadata = _metadata(statement.value)
            if "nargs" in metadata:
                nargs = metadata["nargs"]
                arity = nargs.value if type(nargs) is ir.Constant else "*"
            yield (
                name,
                Option(
                    name,
                    (f"--{name}", f"--{name.replace('_', '-')}", *_aliases(metadata)),
                    span,
                    default,
                    kind,
                    arity,
                    choices=_literal_choices(statement.annotation),
                    required=known("bool" not in words and _has_no_default(statement.value), span),
                ),
            )
            if kind == "bool" and default.only is True:
                negated = (f"--no_{name}", f"--no-{name.replace('_', '-')}")
                yield name, Option(name, negated, span, default, kind, 0, known(False, span))
    for base in definition.bases:
        parent = evaluator.modules.resolve(base, owner.file)
        if isinstance(parent, ClassRef) and parent != owner:
            yield from dataclass_fields(project, evaluator, parent, hops + 1)


def _plain_kind(annotation: ir.Expr) -> str:
    """The class that an annotation names, or the number that may be missing (``Optional[int]``); else ``""``."""
    if type(annotation) is ir.Name:
        return annotation.id
    parts: tuple[ir.Expr, ...] = ()
    if type(annotation) is ir.Subscript and type(annotation.base) is ir.Name and annotation.base.id == "Optional":
        parts = (annotation.index,)
    elif type(annotation) is ir.Operation and annotation.operators == ("|",):
        none = [one for one in annotation.operands if type(one) is ir.Constant and one.value is None]
        parts = tuple(one for one in annotation.operands if one not in none) if none else ()
    names = [one.id for one in parts if type(one) is ir.Name and one.id in ("int", "float")]
    return names[0] if len(names) == 1 == len(parts) else ""


_LISTS = frozenset({"List", "list", "Sequence"})
_NO_FIELDS = frozenset({"ClassVar", "InitVar", "KW_ONLY"})


def _has_no_default(value: ir.Expr | None) -> bool:
    """Whether a field of a dataclass has to be given: it has neither a default nor what makes one."""
    if value is None:
        return True
    func = value.func if type(value) is ir.Call else None
    name = func.id if type(func) is ir.Name else func.name if type(func) is ir.Attribute else ""
    return (
        type(value) is ir.Call
        and name == "field"
        and not any(one.name in (None, "default", "default_factory", "init") for one in value.keywords)
    )


def _metadata(value: ir.Expr | None) -> dict[str, ir.Expr]:
    """What ``field(metadata={...})`` hands to the parser."""
    keywords = value.keywords if type(value) is ir.Call else ()
    display = next((one.value for one in keywords if one.name == "metadata"), None)
    if type(display) is not ir.DictDisplay:
        return {}
    pairs = zip(display.keys, display.values, strict=True)
    return {str(key.value): item for key, item in pairs if type(key) is ir.Constant}


def _aliases(metadata: dict[str, ir.Expr]) -> tuple[str, ...]:
    given = metadata.get("aliases")
    items = given.items if type(given) is ir.ListDisplay else (given,)
    return tuple(item.value for item in items if type(item) is ir.Constant and isinstance(item.value, str))


def _literal_choices(annotation: ir.Expr) -> tuple[Any, ...] | None:
    """The words of ``Literal["a", "b"]``."""
    if type(annotation) is not ir.Subscript or type(annotation.base) is not ir.Name or annotation.base.id != "Literal":
        return None
    index = annotation.index
    items = index.items if type(index) is ir.ListDisplay else (index,)
    texts = tuple(item.value for item in items if type(item) is ir.Constant and isinstance(item.value, str))
    return texts if len(texts) == len(items) else None


def _field_default(evaluator: Evaluator, value: ir.Expr | None, owner: ClassRef, span: Span) -> Value:
    if value is None:
        return unknown("has no default", span)
    if type(value) is ir.Call:
        name = (
            value.func.name
            if type(value.func) is ir.Attribute
            else value.func.id
            if type(value.func) is ir.Name
            else ""
        )
        if name in ("field", "HfArg"):
            for keyword in value.keywords:
                if keyword.name == "default":
                    return evaluator.value(keyword.value, owner.file, -1)
            return unknown("made by a factory", span)
    return evaluator.value(value, owner.file, -1)
