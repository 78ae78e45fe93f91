"""Decorators of libraries that let a function run on some ranks only."""

from __future__ import annotations

from collections.abc import Collection

from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.model import python as ir


def is_named(project: Project, decorator: ir.Expr, ref: FunctionRef, names: Collection[str]) -> bool:
    """Whether a decorator of a function is a library's of one of the names (``pkg.function``, ``pkg.Class().method``), called or not."""
    if not names:
        return False
    if type(decorator) is ir.Call:
        decorator = decorator.func
    return is_one_of(project, decorator, ref.file, project.function(ref).parent, names)


def is_one_of(project: Project, expr: ir.Expr, file: str, function: int, names: Collection[str]) -> bool:
    """Whether an expression is a library's function, class or method of one of the names."""
    dotted = project.modules.dotted(expr, file)
    if dotted or type(expr) is not ir.Attribute:
        return dotted in names
    if expr.name not in {name.rpartition(".")[2] for name in names}:
        return False
    evaluator = project.evaluator(None)
    return all(
        isinstance(one, Instance) and project.modules.canonical(f"{evaluator.instance_name(one)}.{expr.name}") in names
        for one in options_of(evaluator.ask(expr.base, file, function))
    )
