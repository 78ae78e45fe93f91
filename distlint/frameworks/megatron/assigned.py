"""Arguments that a program sets itself: after they were parsed, whatever the command line said.

Programs around Megatron parse its options, change some of them, and only then let Megatron validate them. What Megatron's
own files do to the arguments is what the rules describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from distlint.frameworks.megatron.refusals import PLAIN_SCRIPTS
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_NAMES = frozenset({"args", "megatron_args", "opts"})
_FOUND: WeakKeyDictionary[Project, dict[str, frozenset[str]]] = WeakKeyDictionary()


def assigned_arguments(project: Project, script: str, name: str) -> frozenset[str]:
    """The arguments that a program sets (``args.bf16 = True``), in files that are not Megatron's own.

    ``script`` is its file in the project, ``name`` the file name as written. Where the script is one that is not read (it
    imports nothing that distlint knows, or its path is one of another machine), all files count that import what reads
    Megatron's arguments.
    """
    is_followed = script in project.python_files
    if not is_followed and (not name or name in PLAIN_SCRIPTS):
        return frozenset()
    key = script if is_followed else ""
    found = _FOUND.setdefault(project, {})
    if key not in found:
        files = project.closure(script) if is_followed else project.python_files
        found[key] = frozenset(
            argument
            for file in files
            if not _is_megatron(file) and (is_followed or _reads_arguments(project, file))
            for argument in _in_file(project, file)
        )
    return found[key]


def _reads_arguments(project: Project, file: str) -> bool:
    module = project.module(file)
    return any(item.module in ("megatron.training.arguments", "megatron.arguments") for item in module.imports)


def _is_megatron(file: str) -> bool:
    return file.startswith("megatron/") or "/megatron/core/" in file or "/megatron/training/" in file


def _in_file(project: Project, file: str) -> set[str]:
    facts = project.file_facts(file)
    module = facts.module if facts is not None else None
    if module is None:
        return set()
    return {
        target.name
        for body in (module.body, *(function.body for function in module.functions))
        for statement in statements(body)
        if type(statement) is ir.Assign
        for target in statement.targets
        if type(target) is ir.Attribute and type(target.base) is ir.Name and target.base.id in _NAMES
    }
