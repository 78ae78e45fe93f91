"""DeepSpeed configurations that stand as dicts in Python: those that nobody is seen to load, and those written to a file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from distlint.frameworks.deepspeed.schema import looks_like_deepspeed
from distlint.link.abstract import Abstract, options_of
from distlint.link.library_calls import opened_path
from distlint.link.paths import folders_around, resolve_path
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.document import Document, Mapping
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project

TELLING = ("zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "steps_per_print")
"""A file without any of these words holds no dict that evidently is a configuration."""

MAX_DICTS = 400
"""Dicts looked at per project: a bound for generated code."""


def lone_dicts(project: Project) -> Iterator[Document]:
    """Dicts that evidently are DeepSpeed configurations, as they are at the end of the function or module around them.

    A dict that is assigned to a name is taken with all stores that follow, since the later ones win.
    """
    seen: set[Span] = set()
    for file in project.python_files:
        if not any(word in project.text_of(file) for word in TELLING):
            continue
        for value in _displays(project, file):
            for option in options_of(value):
                if isinstance(option, Mapping) and option.span not in seen and _is_evident(option):
                    seen.add(option.span)
                    yield Document(option, option.span, "dict", "python")
                    if len(seen) >= MAX_DICTS:
                        return


def _is_evident(found: Mapping) -> bool:
    """Whether a dict is a configuration. With a ``type`` of its own it holds the arguments of a class from a registry.

    What some paths only put there says nothing of what it is for.
    """
    sure = Mapping(tuple(entry for entry in found.entries if entry.certain), found.span, found.open)
    return looks_like_deepspeed(sure) and found.entry("type") is None


def _displays(project: Project, file: str) -> Iterator[Abstract]:
    """What the dict displays of a file are: by the name that they are assigned to, or where they stand."""
    module = project.module(file)
    evaluator = project.evaluator(None)
    scopes = [(-1, module.body), *((index, one.body) for index, one in enumerate(module.functions))]
    scopes += [(-1, owner.body) for owner in module.classes]
    for scope, body in scopes:
        for statement in statements(body):
            for whole in expressions_of(statement):
                for expr in below(whole):
                    if not _is_candidate(expr):
                        continue
                    name = _assigned_name(statement, expr) if not _is_of_class(module, body) else None
                    if name is None:
                        yield evaluator.ask(expr, file, scope)
                    else:
                        yield from _at_the_end(evaluator, name, file, scope)


def _is_of_class(module: ir.Module, body: tuple[ir.Stmt, ...]) -> bool:
    return any(body is owner.body for owner in module.classes)


def _is_candidate(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.DictDisplay):
        keys = {key.value for key in expr.keys if isinstance(key, ir.Constant) and isinstance(key.value, str)}
        return not keys.isdisjoint(TELLING)
    if isinstance(expr, ir.Call) and isinstance(expr.func, ir.Name) and expr.func.id == "dict":
        return any(keyword.name in TELLING for keyword in expr.keywords)
    return False


def _assigned_name(statement: ir.Stmt, value: ir.Expr) -> ir.Name | None:
    if isinstance(statement, ir.Assign) and statement.value is value and len(statement.targets) == 1:
        target = statement.targets[0]
        return target if isinstance(target, ir.Name) else None
    return None


def _at_the_end(evaluator: Evaluator, name: ir.Name, file: str, scope: int) -> Iterator[Abstract]:
    for state in evaluator.project.flow(file, scope).ends():
        yield evaluator.evaluate(name, evaluator.frame(file, scope), state)


# Written to a file ---------------------------------------------------------------------------------------------------


_DUMPED: WeakKeyDictionary[Project, dict[str, list[Document]]] = WeakKeyDictionary()
"""What each project writes, asked for once."""


def dumped_document(project: Project, path: str, near: str, folders: tuple[str, ...] = ()) -> Document | None:
    """The dict that a script of the project writes to the file that a path means, where exactly one does."""
    found = _DUMPED.get(project)
    if found is None:
        found = _DUMPED[project] = _dumped(project)
    target = resolve_path(path, [*folders, *folders_around(near)], dict.fromkeys(found, ""))
    documents = found.get(target, []) if target is not None else []
    return documents[0] if len(documents) == 1 else None


def _dumped(project: Project) -> dict[str, list[Document]]:
    """By path, relative to the root as the program says it: the configurations that ``json.dump`` writes."""
    found: dict[str, list[Document]] = {}
    evaluator = project.evaluator(None)
    for call in project.calls_to({"json.dump"}):
        if len(call.site.call.args) < 2:
            continue
        path = _opened(evaluator, call)
        for option in options_of(evaluator.ask(call.site.call.args[0], call.file, call.site.function)):
            if path is not None and isinstance(option, Mapping):
                found.setdefault(path, []).append(Document(option, option.span, "dict", "python"))
    return found


def _opened(evaluator: Evaluator, call: CallSite) -> str | None:
    """The path of the file that ``json.dump`` gets: its name in ``open``."""
    frame = evaluator.frame(call.file, call.site.function)
    state = evaluator.state(frame, call.site.call.at)
    path = opened_path(evaluator, call.site.call.args[1], frame, state, call.span)
    return posixpath.normpath(path.only) if isinstance(path.only, str) else None
