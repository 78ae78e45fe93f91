"""Which options Megatron-LM makes of the fields of a dataclass.

As ``megatron/training/argument_utils.py`` of core 0.16 and later does it (``ArgumentGroupFactory``, which infers the type
from the annotation, and what a field's ``argparse_meta`` says instead).
"""

from __future__ import annotations

import ast
from typing import Any

from argument_reader import MISSING, Added, Checkout, Definition, Evaluator, Factory, Field


class NotInferredError(Exception):
    """The annotation is none that an option's type can be made of."""


def options_of(checkout: Checkout, factory: Factory) -> list[Added]:
    """The options of a factory's dataclass, field by field."""
    return [
        _option(checkout, one) for one in checkout.fields(factory.owner) if one.name not in factory.exclude and one.init
    ]


def _option(checkout: Checkout, one: Field) -> Added:
    keywords: dict[str, Any] = {"dest": one.name, "default": one.default}
    flags = [_flag(one.name)]
    meta = one.metadata.get("argparse_meta")
    try:
        keywords.update(kind_of(checkout, one))
        if keywords["type"] is bool:
            del keywords["type"]
            # whatever is not False, None included, makes a switch that turns off
            keywords["action"] = "store_true" if one.default is False else "store_false"
            if one.default is not False:
                flags = [_flag(f"no_{one.name}"), _flag(f"disable_{one.name}")]
    except NotInferredError:
        if meta is None:
            raise
    given = dict(meta or {})
    flags = given.pop("arg_names", flags)
    keywords.update(given)
    if keywords["default"] is MISSING:
        raise SystemExit(f"{one.module.name}: {one.name} has no default")
    return Added(flags, keywords)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def kind_of(checkout: Checkout, one: Field) -> dict[str, Any]:
    """``type``, ``nargs`` and ``choices`` as an annotation gives them; raises ``NotInferredError``."""
    return _kind(checkout, one, one.annotation)


def _kind(checkout: Checkout, one: Field, node: ast.expr) -> dict[str, Any]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
        if isinstance(node.left, ast.BinOp) or ast.unparse(parts[1]) != "None":
            raise NotInferredError
        return _kind(checkout, one, parts[0])
    if isinstance(node, ast.Subscript):
        return _generic(checkout, one, node)
    found = Evaluator(checkout).evaluate(node, {}, one.module)
    if isinstance(found, Definition) and checkout.is_enum(found):
        return {"type": found, "choices": checkout.members(found)}
    return {"type": found}


def _generic(checkout: Checkout, one: Field, node: ast.Subscript) -> dict[str, Any]:
    name = ast.unparse(node.value).rpartition(".")[2]
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Optional":
        if isinstance(inner[0], ast.BinOp) or ast.unparse(inner[0]).startswith("Union["):
            raise NotInferredError
        return _kind(checkout, one, inner[0])
    if name == "Union":
        if len(inner) == 2 and ast.unparse(inner[1]) == "None":
            return _kind(checkout, one, inner[0])
        raise NotInferredError
    if name in ("list", "List") and len(inner) == 1:
        return {**_kind(checkout, one, inner[0]), "nargs": "+"}
    if name == "Literal":
        words = [Evaluator(checkout).evaluate(word, {}, one.module) for word in inner]
        return {"type": type(words[0]), "choices": words}
    raise NotInferredError
