"""Parameters of functions and fields of dataclasses, written as the table writes them: ``name``, ``name=default``, ``*``, ``/``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

LONGEST_DEFAULT = 60
"""Longer defaults are cut to ``...``: a table of defaults is for values that people type."""


def parameters(arguments: ast.arguments, *, bound: bool) -> list[str]:
    """The parameters of a function; ``bound`` leaves out the first one, which is ``self`` or ``cls``."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    defaults += arguments.defaults
    out: list[str] = []
    for position, (one, default) in enumerate(zip(plain, defaults, strict=True)):
        if not (bound and position == 0):
            out.append(_written(one.arg, default))
        if position + 1 == len(arguments.posonlyargs) and out:
            out.append("/")
    if arguments.vararg:
        out.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        out.append("*")
    out += [
        _written(one.arg, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        out.append(f"**{arguments.kwarg.arg}")
    return out


def with_rest(texts: list[str]) -> list[str]:
    """Parameters that take more positional arguments than are written."""
    if any(one.startswith("*") and one != "*" and not one.startswith("**") for one in texts):
        return texts
    if "*" in texts:
        return ["*args" if one == "*" else one for one in texts]
    at = next((position for position, one in enumerate(texts) if one.startswith("**")), len(texts))
    return [*texts[:at], "*args", *texts[at:]]


def _written(name: str, default: ast.expr | None) -> str:
    return name if default is None else f"{name}={text_of(default)}"


def text_of(node: ast.expr) -> str:
    """An expression as source text, shortened."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST_DEFAULT else "..."


def fields(node: ast.ClassDef, decorator: ast.expr) -> list[str]:
    """The fields that a dataclass adds to its constructor; ``-name`` is one that it takes away from an inherited one."""
    keyword_only = isinstance(decorator, ast.Call) and any(
        one.arg == "kw_only" and isinstance(one.value, ast.Constant) and one.value.value is True
        for one in decorator.keywords
    )
    normal: list[str] = []
    keywords: list[str] = []
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        kind = dotted(
            statement.annotation.value if isinstance(statement.annotation, ast.Subscript) else statement.annotation
        )
        if isinstance(statement.annotation, ast.Constant) and isinstance(statement.annotation.value, str):
            kind = statement.annotation.value.partition("[")[0]
        kind = kind.rpartition(".")[2]
        if kind == "ClassVar":
            continue
        if kind == "KW_ONLY":
            keyword_only = True
            continue
        text, only = _field(statement.target.id, statement.value)
        (keywords if keyword_only or only else normal).append(text)
    return normal + (["*", *keywords] if keywords else [])


def _field(name: str, value: ast.expr | None) -> tuple[str, bool]:
    if not isinstance(value, ast.Call) or dotted(value.func).rpartition(".")[2] != "field":
        return _written(name, value), False
    default, only, shown = "", False, True
    for one in value.keywords:
        if one.arg == "default":
            default = f"={text_of(one.value)}"
        elif one.arg == "default_factory":
            made = one.value.body if isinstance(one.value, ast.Lambda) else None
            default = f"={text_of(made)}" if made is not None else f"={text_of(one.value)}()"
            default = {"=list()": "=[]", "=dict()": "={}", "=tuple()": "=()"}.get(default, default)
        elif one.arg == "init":
            shown = not (isinstance(one.value, ast.Constant) and one.value.value is False)
        elif one.arg == "kw_only":
            only = isinstance(one.value, ast.Constant) and one.value.value is True
    return (name + default if shown else f"-{name}"), only


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a chain of attributes; ``""`` for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


_LEAVES = (ast.Load, ast.Store, ast.Name, ast.Constant)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a tree but the contexts of names, in no order; twice as fast as ``ast.walk``."""
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        if isinstance(one, _LEAVES):
            continue
        for name in one._fields:
            value = getattr(one, name, None)
            if isinstance(value, list):
                todo.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                todo.append(value)
