"""Meshes of processes over which a program shards its model and does nothing else: each rank then trains on data of its own.

A mesh may as well say that ranks share their data on purpose: those along a dimension for tensors, sequences or stages. That none
does so is shown where every mesh of a program goes whole to a call that shards a model, and to nothing else that could deal with it.
Parameters: ``wrappers`` (calls that make a model train together on all ranks), ``meshes`` (functions that make a mesh of all
processes), ``mesh-words`` (words of programs with meshes), ``other-parallelism`` (words of programs in which ranks share their data).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.checks.spread_names import called_name
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import FunctionRef
from distlint.link.walking import bodies_of, children, expressions_of, last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_ARGUMENTS = frozenset({"mesh", "device_mesh"})
"""The arguments by which a mesh is handed to what shards a model."""
_ASKED = frozenset({"size", "shape", "ndim", "numel", "get_rank", "get_local_rank", "mesh_dim_names", "device_type"})
"""What a mesh may be asked for without anything being done along it."""
_HARMLESS = frozenset({"print", "repr", "str", "len", "isinstance", "info", "debug"})
_REDUCING = frozenset({"all_reduce", "reduce", "barrier"})
"""Operations that bring together figures, and no parts of one batch."""
MAX_FILES = 60
"""Files of a program beyond which its meshes are not followed."""
MAX_ROUNDS = 6
"""How often names and calls that hand a mesh on may bring in further ones."""

_Above = tuple[ir.Expr | ir.Stmt, ...]


def shares_on_purpose(context: CheckContext, file: str) -> bool:
    """Whether ranks of the program of a file may share their data on purpose: it has words about other kinds of parallelism."""
    files = family(context.project, file)
    texts = [context.project.text_of(one) for one in sorted(files)]
    words = re.compile("|".join(context.parameters["other-parallelism"]))
    if any(words.search(text) for text in texts):
        return True
    meshes = context.parameters.get("mesh-words", ())
    if not any(word in text for word in meshes for text in texts):
        return False
    answers: dict[frozenset[str], bool] = context.project.kept.setdefault(_Meshes, {})
    if files not in answers:
        answers[files] = _Meshes(context, files).are_for_sharding()
    return not answers[files]


class _Meshes:
    """The meshes of a program, and where they go. Names stand for what they hold in all of its files, so this errs on the side of more."""

    def __init__(self, context: CheckContext, files: frozenset[str]) -> None:
        project: Project = context.project
        self._project = project
        self._files = [one for one in sorted(files) if one in project.facts and project.facts[one].module is not None]
        sites = [one for one in project.calls_to(set(context.parameters["meshes"])) if one.file in files]
        self._is_line = bool(sites) and all(_is_line(project, one) for one in sites)
        self._calls = {(one.file, one.site.call.at) for one in sites}
        self._wrappers = {(one.file, one.site.call.at) for one in project.calls_to(set(context.parameters["wrappers"]))}
        self._classes = frozenset(one for one in context.parameters["mesh-words"] if one[:1].isupper())
        self._names: set[str] = set()
        self._is_handed = False

    def are_for_sharding(self) -> bool:
        """Whether all meshes go to what shards a model, and to nothing else."""
        if not self._calls or len(self._files) > MAX_FILES:
            return False
        for _ in range(MAX_ROUNDS):
            before = len(self._names), len(self._calls)
            for file in self._files:
                if not all(self._goes_on(one, above, file, where) for one, above, where in self._uses(file)):
                    return False
            if before == (len(self._names), len(self._calls)):
                return self._is_handed
        return False

    def _uses(self, file: str) -> Iterator[tuple[ir.Expr, _Above, int]]:
        """Where something may be a mesh, with what stands around it, inner things first."""
        for function, body in bodies_of(self._project.module(file)):
            for statement in statements(body):
                for expr in expressions_of(statement):
                    for one, above in _with_parents(expr, (statement,)):
                        if (
                            last_name(one) in self._names
                            or last_name(one) in self._classes
                            or (type(one) is ir.Call and (file, one.at) in self._calls)
                        ):
                            yield one, above, function

    def _goes_on(self, one: ir.Expr, above: _Above, file: str, function: int) -> bool:
        """Whether nothing is done with a mesh at a place but to shard a model, ask for its size, or hand it on."""
        parent, *rest = above
        if type(parent) is ir.Call:
            return parent.func is not one and self._is_given(one, parent, file, function)
        if last_name(one) in self._classes and type(one) is not ir.Call:
            return False
        if type(parent) is ir.Attribute:
            return parent.name in _ASKED or _is_group_of_figures(parent, tuple(rest))
        if type(parent) is ir.Subscript and parent.base is one:
            # the one dimension of a mesh is all of it
            return self._is_line and self._goes_on(parent, tuple(rest), file, function)
        if type(parent) is ir.Conditional:
            return parent.test is one or self._goes_on(parent, tuple(rest), file, function)
        if type(parent) is ir.DictDisplay:
            keys = [key for key, value in zip(parent.keys, parent.values, strict=True) if value is one]
            return all(type(key) is ir.Constant and key.value in _ARGUMENTS for key in keys) and self._is_spread()
        if type(parent) is ir.Assign:
            return any(one is target for target in parent.targets) or self._named(parent.targets)
        if type(parent) is ir.Return and function >= 0:
            callers = self._project.callers(FunctionRef(file, function))
            self._calls |= {(caller.file, caller.site.call.at) for caller in callers}
            return True
        return type(parent) in (ir.Formatted, ir.Operation, ir.If, ir.Assert, ir.Evaluate)

    def _is_given(self, one: ir.Expr, call: ir.Call, file: str, function: int) -> bool:
        """Whether a call that is given a mesh shards a model over it, or is one of the project's own."""
        word = next((keyword.name for keyword in call.keywords if keyword.value is one), "")
        name = called_name(call)
        if (file, call.at) in self._wrappers and word in _ARGUMENTS:
            self._is_handed = True
            return True
        if name in _HARMLESS:
            return True
        if name == "dict" and word in _ARGUMENTS:
            return self._is_spread()
        edges = self._project.call_graph.targets(file, function, call)
        for edge in edges:
            definition = self._project.function(edge.target)
            shift = edge.shift - (1 if definition.owner >= 0 else 0)
            taken = [
                parameter.name
                for position, parameter in enumerate(definition.parameters)
                if find_argument(call, parameter.name, position + shift)[0] is one
            ]
            if not taken:
                return False
            self._names |= set(taken)
        return bool(edges) and all(edge.certain for edge in edges)

    def _is_spread(self) -> bool:
        """Whether something that shards a model takes a mesh, maybe out of a mapping of arguments."""
        for file in self._files:
            for site in (one for sites in self._project.module(file).calls.values() for one in sites):
                if (file, site.call.at) in self._wrappers:
                    if any(word.name is None or word.name in _ARGUMENTS for word in site.call.keywords):
                        self._is_handed = True
                        return True
        return False

    def _named(self, targets: Collection[ir.Expr]) -> bool:
        if not all(type(one) in (ir.Name, ir.Attribute) for one in targets):
            return False
        self._names |= {last_name(one) for one in targets}
        return True


def _with_parents(expr: ir.Expr, above: _Above) -> Iterator[tuple[ir.Expr, _Above]]:
    stack = [(expr, above)]
    while stack:
        one, around = stack.pop()
        yield one, around
        inner = (one.body,) if type(one) is ir.Lambda else children(one)
        stack.extend((part, (one, *around)) for part in inner)


def _is_group_of_figures(asked: ir.Attribute, above: _Above) -> bool:
    """``all_reduce(x, group=mesh.get_group())``."""
    if asked.name != "get_group" or len(above) < 2 or type(above[0]) is not ir.Call:
        return False
    return type(above[1]) is ir.Call and called_name(above[1]) in _REDUCING


def _is_line(project: Project, site: CallSite) -> bool:
    """Whether a mesh certainly has one dimension."""
    given, _ = find_argument(site.site.call, "mesh_shape", 1)
    if given is None:
        return False
    shape = followed(given, project.flow(site.file, site.site.function).before(given.at))
    return type(shape) is ir.ListDisplay and len(shape.items) == 1 and type(shape.items[0]) is not ir.Starred
