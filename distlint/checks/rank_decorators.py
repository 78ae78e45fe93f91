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
    dotted = project.modules.dotted(decorator, ref.file)
    if dotted or type(decorator) is not ir.Attribute:
        return dotted in names
    if decorator.name not in {name.rpartition(".")[2] for name in names}:
        return False
    evaluator = project.evaluator(None)
    options = options_of(evaluator.ask(decorator.base, ref.file, project.function(ref).parent))
    return all(
        isinstance(one, Instance)
        and project.modules.canonical(f"{evaluator.instance_name(one)}.{decorator.name}") in names
        for one in options
    )
