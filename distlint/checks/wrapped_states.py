"""States of wrapped models and of models without a wrapper: which of both a model is, and what the files hold that a program writes.

Used by the checks whose rules name what wraps (``wrapped``, ``bare``, ``outer``, ``inner``: see ``prefixed_state``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.model_states import MAX_CALLERS, ModelStates, Read, Taken, is_same_path
from distlint.checks.moved_files import moved_paths
from distlint.checks.preparing import is_module
from distlint.checks.protocol_things import KEEPING, Things
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import statements
from distlint.model import python as ir

_MAX_HANDED = 6
"""Calls that hand a model on, one behind the other."""


class _Saved(NamedTuple):
    """What a call saves, where that stands, and under which path."""

    value: ir.Expr
    frame: Frame
    path: str


class WrappedStates:
    """Answers for one kind of wrapper, as ``words`` name it."""

    def __init__(self, project: Project, words: Mapping[str, Any]) -> None:
        self._project = project
        self._words = words
        self.things = Things(project, (), (), words.get("outer", ()))
        self.states = ModelStates(self.things, self._kind_of, words["load"])

    def taken(self, expr: ir.Expr, frame: Frame, at: Env) -> list[Taken]:
        """The states that an expression may be; nothing where one of them is not known, or where nobody knows who wrote the file."""
        found: list[Taken] = []
        for origin in self.states.origins(expr, frame, at) or ():
            found += [origin] if isinstance(origin, Taken) else self._written(origin)
        return found

    def is_read(self, expr: ir.Expr, frame: Frame, at: Env) -> bool:
        """Whether an expression is a state that comes from a file."""
        return any(isinstance(origin, Read) for origin in self.states.origins(expr, frame, at) or ())

    def _kind_of(self, instance: Instance, depth: int = 0) -> bool | None:
        """Whether an object is a wrapped model, or one without a wrapper; ``None`` where that is not known."""
        words, one = self._words, self.things.peeled(instance)
        name = self.things.evaluator.instance_name(one)
        if any(name == f"{bare}()" for bare in words["bare"]):
            return False
        for maker in words["wrapped"]:
            if name.startswith(f"{maker}()") and not isinstance(one.callee, ClassRef):
                if name.endswith("." + words.get("inner", "module")):
                    return False
                return True if self._is_model_given(one) else None
        if is_module(self._project, one, words["models"], words["layers"]):
            return None if _has_inner(self._project, one) else False
        kinds = {self._kind_of(other, depth + 1) for other in self._behind(one, depth)}
        return kinds.pop() if len(kinds) == 1 else None

    def _behind(self, instance: Instance, depth: int) -> tuple[Instance, ...]:
        """All that a call may have handed on, where that are several (``build(kind).to(device)``); nothing where one is not known."""
        func = instance.call.func
        if instance.part or isinstance(instance.callee, ClassRef) or depth > _MAX_HANDED:
            return ()
        if type(func) is not ir.Attribute or func.name not in KEEPING:
            return ()
        options = options_of(self.things.evaluator.ask_in(func.base, instance.frame, instance.state))
        found = tuple(one for one in options if isinstance(one, Instance) and one.call is not instance.call)
        return found if len(found) == len(options) else ()

    def _is_model_given(self, wrapped: Instance) -> bool:
        """Whether what was handed over for a wrapped object is a network."""
        position = wrapped.part[0] if wrapped.part else 0
        if type(position) is not int or len(wrapped.part) > 1:
            return False
        arguments = wrapped.call.args
        given = arguments[position] if position < len(arguments) else None
        if given is None and not wrapped.part:
            given, _ = find_argument(wrapped.call, "module", 0)
        if given is None:
            return False
        options = options_of(self.things.evaluator.ask_in(given, wrapped.frame, wrapped.state))
        return bool(options) and all(isinstance(one, Instance) and self._is_network(one) for one in options)

    def _is_network(self, instance: Instance, depth: int = 0) -> bool:
        one = self.things.peeled(instance)
        if is_module(self._project, one, self._words["models"], self._words["layers"]):
            return True
        behind = self._behind(one, depth)
        return bool(behind) and all(self._is_network(other, depth + 1) for other in behind)

    @cached_property
    def _saved(self) -> tuple[_Saved, ...]:
        """What the program saves."""
        return tuple(self._saving())

    def _saving(self) -> Iterator[_Saved]:
        save = self._words["save"]
        for site in self._project.calls_to(set(save)):
            arguments, position = site.site.call.args, save[site.name]
            if position >= len(arguments):
                continue
            body = body_of(self._project, site.file, site.site.function)
            for value, within, path, around in _handed(self._project, site, arguments[0], arguments[position]):
                text = self.states.path(path, around)
                yield _Saved(value, within, text)
                for other in moved_paths(self._project, self.states, site, text, body) if text else ():
                    yield _Saved(value, within, other)

    def _written(self, read: Read) -> list[Taken]:
        """The states that a program writes where it reads one; nothing where one of them is not known."""
        found: list[Taken] = []
        for one in self._saved:
            if not one.path or not is_same_path(one.path, read.path):
                continue
            state = self.things.evaluator.state(one.frame, one.value.at)
            origins = self.states.origins(one.value, one.frame, state, read.keys)
            if not origins or not all(isinstance(origin, Taken) for origin in origins):
                return []
            found += [origin for origin in origins if isinstance(origin, Taken)]
        return found


def _has_inner(project: Project, instance: Instance) -> bool:
    """Whether a class of the project names a layer as wrappers do, or says itself what is in its state."""
    if not isinstance(instance.callee, ClassRef):
        return False
    callee = instance.callee
    if any(project.modules.method(callee, name) is not None for name in ("load_state_dict", "state_dict")):
        return True
    functions = project.module(callee.file).functions
    return any(
        type(target) is ir.Attribute and target.name == "module"
        for index, function in enumerate(functions)
        if function.owner == callee.index
        for statement in statements(body_of(project, callee.file, index))
        if type(statement) is ir.Assign
        for target in statement.targets
    )


def _handed(
    project: Project, site: CallSite, value: ir.Expr, path: ir.Expr
) -> Iterator[tuple[ir.Expr, Frame, ir.Expr, Frame]]:
    """What is saved and where, each with the place that it stands in: of a helper what its callers hand it."""
    evaluator = project.evaluator(None)
    function = site.site.function
    own = evaluator.frame(site.file, function)
    definition = project.module(site.file).functions[function] if function >= 0 else None
    names = [one.name for one in definition.parameters] if definition is not None else []
    handed = [one.id for one in (value, path) if type(one) is ir.Name and one.id in names]
    callers = project.callers(FunctionRef(site.file, function)) if definition is not None and handed else ()
    if definition is None or not 0 < len(callers) <= MAX_CALLERS:
        yield value, own, path, own
        return
    for caller in callers:
        frame = evaluator.frame(caller.file, caller.site.function)
        found = []
        for one in (value, path):
            given = None
            if type(one) is ir.Name and one.id in handed:
                place = names.index(one.id) - (1 if definition.owner >= 0 else 0) + caller.shift
                given, _ = find_argument(caller.site.call, one.id, place)
            found.append((given, frame) if given is not None else (one, own))
        yield (*found[0], *found[1])
