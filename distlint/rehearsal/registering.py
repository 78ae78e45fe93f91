"""Modules of a project that do something for others when they are imported.

A module is followed when something in it is first asked for. That is too late where importing it fills what another module holds: by a
decorator of the other one (``@on("epoch_end")``), or by a store (``HANDLERS["save"] = save``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.modules import ClassRef, FunctionRef, GlobalRef, ModuleFile
from distlint.link.stores import stored_into
from distlint.link.walking import access_path, blocks_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project


class _Registering(dict[str, bool]):
    """Whether the modules of a project register something, by their files."""


def acts(project: Project, file: str) -> bool:
    """Whether importing a module does more than to define something: it calls something, or registers in another module."""
    calls = any(type(one) is ir.Evaluate and type(one.value) is ir.Call for one in project.module(file).body)
    return calls or registers(project, file)


def registers(project: Project, file: str) -> bool:
    """Whether importing a module, or those that it imports, puts something into what another module of the project holds."""
    known: _Registering = project.kept.setdefault(_Registering, _Registering())
    if file not in known:
        known[file] = False  # modules that import each other
        known[file] = _fills_others(project, file) or any(
            registers(project, inner)
            for statement in _at_import(project.module(file).body)
            if type(statement) is ir.Import
            for inner in files_of(project, statement, file)
        )
    return known[file]


def files_of(project: Project, statement: ir.Import, file: str) -> Iterator[str]:
    """The modules of the project that an import executes: the one that it names, and one that it takes from a package."""
    whole = project.modules.find(statement.module, file, statement.level) if statement.module else None
    if whole is not None:
        yield whole
    if statement.name and statement.name != "*":
        dotted = f"{statement.module}.{statement.name}" if statement.module else statement.name
        inner = project.modules.find(dotted, file, statement.level) if statement.module or statement.level else None
        if inner is not None and inner != whole:
            yield inner


def _fills_others(project: Project, file: str) -> bool:
    module = project.module(file)
    for statement in _at_import(module.body):
        if type(statement) is ir.Define:
            definition = (module.functions if statement.kind == "function" else module.classes)[statement.index]
            marks = [one.func if type(one) is ir.Call else one for one in definition.decorators]
            if any(_is_of_other(project, access_path(one)[0], file) for one in marks):
                return True
        for target in stored_into(statement):
            root, steps = access_path(target)
            if steps and _is_of_other(project, root, file):
                return True
    return False


def _is_of_other(project: Project, name: str, file: str) -> bool:
    """Whether a name of a module stands for something that another module of the project defines."""
    target = project.modules.lookup(name, file) if name else None
    return isinstance(target, FunctionRef | ClassRef | GlobalRef | ModuleFile) and target.file != file


def _at_import(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """The statements that importing a module may execute."""
    for statement in body:
        yield statement
        if type(statement) is not ir.While:
            for block in blocks_of(statement):
                yield from _at_import(block)
