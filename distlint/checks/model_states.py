"""Where the state that a program loads into a model comes from: which model it was taken of, or which file it was read from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from distlint.checks.call_levels import handed_by
from distlint.checks.protocol_things import Things
from distlint.link.abstract import Frame, Instance, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import bound_parameters, given_arguments, inner_frame, is_static, returns_of
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, calls_in, last_name, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.span import Span

MAX_DEPTH = 12
"""Names and calls that are followed one behind the other."""

MAX_CALLERS = 8
"""Callers of a function that are asked for what they hand over."""

_COPIES = frozenset({"deepcopy", "copy", "dict", "OrderedDict", "clone"})
_GETTERS = frozenset({"get", "pop"})
_READING = frozenset({"items", "keys", "values", "get", "pop", "copy"})
_LOOKING = frozenset(
    {
        "print",
        "len",
        "list",
        "sorted",
        "set",
        "isinstance",
        "load_state_dict",
        "save",
        "save_file",
        "deepcopy",
        "copy",
        "update",
    }
)

_OPEN = re.compile(r"\{[\w*]*\}")
_FIELD = re.compile(r"\{[^{}]*\}")
_PLACED = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdif]")
_CHOOSING = frozenset({"max", "min", "sorted", "list", "reversed", "next", "iter", "natsorted"})
"""What gives one or all of some file names; ``{*}`` stands in these for what a pattern leaves open."""

_RESUMED = re.compile(r"\{\w*(?:resume|restore|restart|continue_from|snapshot)\w*\}", re.IGNORECASE)

Keys = tuple[str, ...]


class Taken(NamedTuple):
    """A state that was taken of a model: of a wrapped one or not (``None``: nobody knows), and where."""

    wrapped: bool | None
    span: Span


class Read(NamedTuple):
    """A state that was read from a file: its path, and the keys under which it was found in it."""

    path: str
    keys: Keys


class ModelStates:
    """Tells where states come from.

    ``kind`` says of an object whether it is a wrapped model; ``load`` are the functions that read files, with the position of the path.
    """

    def __init__(self, things: Things, kind: Callable[[Instance], bool | None], load: Mapping[str, int]) -> None:
        self._things = things
        self._evaluator = things.evaluator
        self._kind = kind
        self._load = load

    def kind_of(self, expr: ir.Expr, frame: Frame, at: Env | None = None) -> bool | None:
        """Whether a model is a wrapped one; ``None`` where that is not known."""
        options = options_of(self._evaluator.ask_in(expr, frame, at))
        kinds = {self._kind(one) if isinstance(one, Instance) else None for one in options}
        return kinds.pop() if len(kinds) == 1 else None

    def origins(self, expr: ir.Expr, frame: Frame, at: Env, keys: Keys = ()) -> list[Taken | Read] | None:
        """All that an expression may be as a state; ``None`` where something in between is not known."""
        return self._origins(expr, frame, at, keys, 0)

    def _origins(self, expr: ir.Expr, frame: Frame, at: Env, keys: Keys, depth: int) -> list[Taken | Read] | None:
        if depth > MAX_DEPTH:
            return None
        if type(expr) is ir.Subscript and type(expr.index) is ir.Constant and type(expr.index.value) is str:
            return self._origins(expr.base, frame, at, (expr.index.value, *keys), depth + 1)
        if type(expr) is ir.DictDisplay:
            return self._item(dict(_items(expr)), len(expr.keys), frame, at, keys, depth)
        if type(expr) is ir.Comprehension:
            inner = _same_names(expr)
            return self._origins(inner, frame, at, keys, depth + 1) if inner is not None else None
        if type(expr) is ir.Call:
            return self._called(expr, frame, at, keys, depth)
        if type(expr) is ir.Name:
            if self._is_changed(expr.id, frame, keys):
                return None
            if keys and (put := self._put(expr.id, keys[0], frame)):
                return self._all(
                    [
                        self._origins(value, frame, self._evaluator.state(frame, value.at), keys[1:], depth + 1)
                        for value in put
                    ]
                )
            found = list(self._things.definitions(expr.id, frame, at))
            if found:
                return self._all(
                    [self._origins(value, inside, state, keys, depth + 1) for value, state, inside in found]
                )
            if self._is_handed_changed(expr, frame, keys):
                return None
        return self._evaluated(expr, frame, at, keys, depth)

    def _put(self, name: str, key: str, frame: Frame) -> list[ir.Expr]:
        """What a function puts into a dictionary under a key: ``held["model"] = net.state_dict()``."""
        module = self._things.project.module(frame.file)
        body = module.body if frame.function < 0 else module.functions[frame.function].body
        return [
            statement.value
            for statement in statements(body)
            if type(statement) is ir.Assign and statement.value is not None
            for target in statement.targets
            if type(target) is ir.Subscript
            and _is_name(target.base, name)
            and type(target.index) is ir.Constant
            and target.index.value == key
        ]

    def _all(self, found: list[list[Taken | Read] | None]) -> list[Taken | Read] | None:
        together: list[Taken | Read] = []
        for one in found:
            if one is None:
                return None
            together += one
        return together

    def _item(
        self, items: dict[str, ir.Expr], size: int, frame: Frame, at: Env, keys: Keys, depth: int
    ) -> list[Taken | Read] | None:
        if not keys or len(items) != size or keys[0] not in items:
            return None
        return self._origins(items[keys[0]], frame, at, keys[1:], depth + 1)

    def _evaluated(self, expr: ir.Expr, frame: Frame, at: Env, keys: Keys, depth: int) -> list[Taken | Read] | None:
        """By what the evaluator knows of an expression: attributes, parameters, results."""
        if type(expr) is ir.Attribute and (kept := self._kept(expr, frame, at)):
            return self._all([self._origins(value, inside, state, keys, depth + 1) for value, state, inside in kept])
        found: list[list[Taken | Read] | None] = []
        for option in options_of(self._evaluator.ask_in(expr, frame, at)):
            if not isinstance(option, Instance) or option.call is expr:
                return None
            parts = tuple(part for part in option.part if isinstance(part, str))
            if len(parts) != len(option.part) or any(part.startswith(".") for part in parts):
                return None
            found.append(self._origins(option.call, option.frame, option.state, (*parts, *keys), depth + 1))
        return self._all(found) if found else None

    def _kept(self, expr: ir.Attribute, frame: Frame, at: Env) -> list[tuple[ir.Expr, Env, Frame]]:
        """What the methods of a class store in an attribute of their object, ``None`` apart."""
        options = options_of(self._evaluator.ask_in(expr.base, frame, at))
        owners = {one.callee for one in options if isinstance(one, Instance) and not set(one.part) - {"self"}}
        if len(owners) != 1 or len(options) != 1 or not isinstance(owner := owners.pop(), ClassRef):
            return []
        found: list[tuple[ir.Expr, Env, Frame]] = []
        module = self._things.project.module(owner.file)
        for index, function in enumerate(module.functions):
            if function.owner != owner.index or not function.parameters:
                continue
            for statement in statements(function.body):
                if type(statement) is not ir.Assign or statement.value is None or type(statement.value) is ir.Constant:
                    continue
                for target in statement.targets:
                    if type(target) is ir.Attribute and target.name == expr.name:
                        if _is_name(target.base, function.parameters[0].name):
                            inside = self._evaluator.frame(owner.file, index)
                            found.append((statement.value, self._evaluator.state(inside, statement.at), inside))
        return found

    def _called(self, call: ir.Call, frame: Frame, at: Env, keys: Keys, depth: int) -> list[Taken | Read] | None:
        func = call.func
        name = self._evaluator.modules.dotted(func, frame.file)
        if name in self._load:
            position = self._load[name]
            path = self.path(call.args[position], frame, at) if position < len(call.args) else ""
            return [Read(path, keys)] if path else None
        last = last_name(func)
        if type(func) is ir.Attribute and not name:
            if last == "state_dict" and self._function(func, frame, at) is not None:
                # an object of the project says itself what its state is
                return self._returned(call, frame, at, keys, depth)
            if last == "state_dict" and not call.args and not call.keywords and not keys:
                return [Taken(self.kind_of(func.base, frame, at), ir.unpack(call.at, frame.file))]
            if last == "get_state_dict" and not keys:
                return [Taken(wrapped=False, span=ir.unpack(call.at, frame.file))]
            if last in _GETTERS and len(call.args) == 1 and type(key := call.args[0]) is ir.Constant:
                inner = (key.value, *keys) if type(key.value) is str else None
                return self._origins(func.base, frame, at, inner, depth + 1) if inner is not None else None
            if last == "copy" and not call.args:
                return self._origins(func.base, frame, at, keys, depth + 1)
        if last in _COPIES and len(call.args) == 1 and not call.keywords:
            return self._origins(call.args[0], frame, at, keys, depth + 1)
        if last == "dict" and not call.args and all(word.name for word in call.keywords):
            items = {str(word.name): word.value for word in call.keywords}
            return self._item(items, len(items), frame, at, keys, depth)
        return self._returned(call, frame, at, keys, depth)

    def _function(self, func: ir.Expr, frame: Frame, at: Env) -> Reference | None:
        """The one function of the project that is called."""
        options = options_of(self._evaluator.ask_in(func, frame, at))
        only = options[0] if len(options) == 1 else None
        return only if isinstance(only, Reference) and isinstance(only.target, FunctionRef) else None

    def _returned(self, call: ir.Call, frame: Frame, at: Env, keys: Keys, depth: int) -> list[Taken | Read] | None:
        """What a function of the project gives."""
        callee = self._function(call.func, frame, at)
        if callee is None:
            return None
        assert isinstance(callee.target, FunctionRef)  # noqa: S101 - `_function` gives no other
        function = self._things.project.function(callee.target)
        shift = 1 if callee.receiver is not None and function.owner >= 0 and not is_static(function) else 0
        given = given_arguments(self._evaluator, call, frame, at)
        bindings = bound_parameters(self._evaluator, function.parameters[shift:], given, ir.unpack(call.at, frame.file))
        inner = inner_frame(self._evaluator, callee, bindings, 0)
        if inner is None:
            return None
        found = [
            self._origins(value, inner, state, keys, depth + 1) if value is not None else None
            for value, state in returns_of(self._evaluator, inner)
        ]
        return self._all(found) if found else None

    def _is_changed(self, name: str, frame: Frame, keys: Keys = ()) -> bool:
        """Whether a function may change the names in a state that it holds, or in the one under some keys of what it holds."""
        project = self._things.project
        module = project.module(frame.file)
        body = module.body if frame.function < 0 else module.functions[frame.function].body
        for statement in statements(body):
            targets = statement.targets if type(statement) is ir.Assign else ()
            for target in targets:
                if (
                    type(target) is ir.Subscript
                    and _is_name(target.base, name)
                    and type(target.index) is not ir.Constant
                ):
                    return True
        for call in calls_in(body):
            last = last_name(call.func)
            if type(call.func) is ir.Attribute and _is_name(call.func.base, name):
                if last not in _READING:
                    return True
            elif any(_is_name(one, name) or _is_item(one, name, keys) for one in call.args) and last not in _LOOKING:
                if not self._is_seen(call, frame):
                    return True
        return False

    def _is_handed_changed(self, name: ir.Name, frame: Frame, keys: Keys) -> bool:
        """Whether a caller hands a function, as its parameter, a state that it may have changed the names in."""
        for caller, given in handed_by(self._things.project, name, frame.file, frame.function):
            around = self._evaluator.frame(caller.file, caller.site.function)
            if type(given) is ir.Name and self._is_changed(given.id, around, keys):
                return True
        return False

    def _is_seen(self, call: ir.Call, frame: Frame) -> bool:
        """Whether a project function is called that only hands a state to a model."""
        options = options_of(self._evaluator.ask_in(call.func, frame))
        if len(options) != 1 or not isinstance(options[0], Reference):
            return False
        target = options[0].target
        if not isinstance(target, FunctionRef):
            return False
        return all(
            last_name(inner.func) in _LOOKING | {"torch", "barrier", "get_rank"}
            for inner in calls_in(self._things.project.function(target).body)
        )

    # Paths -----------------------------------------------------------------------------------------------------------

    def path(self, expr: ir.Expr, frame: Frame, at: Env | None = None) -> str:
        """A path as text, with ``{name}`` for what is not known of it; ``""`` where too little is."""
        text = self._path(expr, frame, at if at is not None else self._evaluator.state(frame, expr.at), 0)
        return posixpath.normpath(text) if text else ""

    def _path(self, expr: ir.Expr, frame: Frame, at: Env, depth: int) -> str:
        found = self._evaluator.ask_in(expr, frame, at)
        if isinstance(found, Leaf) and found.value.is_known and found.value.only not in ("", None):
            return str(found.value.only)
        if depth > MAX_DEPTH:
            return ""
        if type(expr) is ir.Formatted:
            return "".join(self._path(part, frame, at, depth + 1) for part in expr.parts)
        if type(expr) is ir.Operation and expr.operators in (("/",), ("+",)):
            return ("/" if expr.operators == ("/",) else "").join(
                self._path(part, frame, at, depth + 1) for part in expr.operands
            )
        if type(expr) is ir.Operation and expr.operators == ("%",):
            return _PLACED.sub("{}", self._path(expr.operands[0], frame, at, depth + 1))
        if type(expr) is ir.Conditional:
            some = [one for one in (expr.body, expr.orelse) if not _is_nothing(one)]
            return self._path(some[0], frame, at, depth + 1) if len(some) == 1 else ""
        if type(expr) is ir.Subscript and type(expr.index) is not ir.Slice:
            listed = self._path(expr.base, frame, at, depth + 1)
            return listed if "{*}" in listed else ""
        if type(expr) is ir.Call:
            return self._path_called(expr, frame, at, depth)
        if type(expr) is ir.Name:
            every = [one for one in self._things.definitions(expr.id, frame, at) if not _is_nothing(one[0])]
            # two ways to a place may have one assignment behind them
            defined = list({(id(inside), value.at): (value, state, inside) for value, state, inside in every}.values())
            if len(defined) == 1:
                value, state, inside = defined[0]
                if type(value) is not ir.Name or value.id != expr.id or inside is not frame:
                    return self._path(value, inside, state, depth + 1) or f"{{{expr.id}}}"
            return (self._path_handed(expr.id, frame, depth) if not defined else "") or f"{{{expr.id}}}"
        if type(expr) is ir.Attribute:
            handed = self._path_handed(expr.base.id, frame, depth, expr.name) if type(expr.base) is ir.Name else ""
            return handed or f"{{{expr.name}}}"
        if type(expr) is ir.Constant:
            return str(expr.value)
        return ""

    def _path_handed(self, name: str, frame: Frame, depth: int, field: str = "") -> str:
        """The path that all callers of a function hand over for a parameter or a field of it; ``""`` where they differ or hide it.

        Those that hand over ``None``, or leave it at that, name no file.
        """
        project = self._things.project
        function = project.module(frame.file).functions[frame.function] if frame.function >= 0 else None
        names = [one.name for one in function.parameters] if function is not None else []
        if function is None or name not in names:
            return ""
        callers = project.callers(FunctionRef(frame.file, frame.function))
        found: set[str] = set()
        for caller in callers if len(callers) <= MAX_CALLERS else ():
            place = names.index(name) - (1 if function.owner >= 0 else 0) + caller.shift
            given, certain = find_argument(caller.site.call, name, place)
            left = given is None and certain and _is_nothing(function.parameters[names.index(name)].default)
            if left or _is_nothing(given):
                continue
            if given is None:
                return ""
            around = self._evaluator.frame(caller.file, caller.site.function)
            given = ir.Attribute(given, field, given.at) if field else given
            found.add(self._path(given, around, self._evaluator.state(around, given.at), depth + 1))
        return found.pop() if len(found) == 1 else ""

    def _path_called(self, call: ir.Call, frame: Frame, at: Env, depth: int) -> str:
        last = last_name(call.func)
        if last == "open":  # a file that is open stands for its path
            given = call.func.base if type(call.func) is ir.Attribute and not self._is_library(call, frame) else None
            given = given if given is not None or not call.args else call.args[0]
            return self._path(given, frame, at, depth + 1) if given is not None else ""
        if last in ("Path", "PurePath", "str", "fspath", "expanduser", "abspath", "resolve"):
            given = call.args[0] if len(call.args) == 1 else None
            return self._path(given, frame, at, depth + 1) if given is not None else ""
        if last in ("join", "joinpath") and call.args and not any(type(one) is ir.Starred for one in call.args):
            parts = [self._path(one, frame, at, depth + 1) for one in call.args]
            return "/".join(parts) if all(parts) else ""
        if last == "format" and type(call.func) is ir.Attribute:
            return _FIELD.sub("{}", self._path(call.func.base, frame, at, depth + 1))
        if last in _CHOOSING and call.args:
            chosen = self._path(call.args[0], frame, at, depth + 1)
            return chosen if "{*}" in chosen else ""
        if last in ("glob", "iglob") and len(call.args) == 1:
            pattern = self._path(call.args[0], frame, at, depth + 1)
            of_folder = type(call.func) is ir.Attribute and not self._is_library(call, frame)
            folder = self._path(call.func.base, frame, at, depth + 1) if of_folder else ""  # type: ignore[union-attr]
            return "/".join(part for part in (folder, pattern.replace("*", "{*}")) if part)
        options = options_of(self._evaluator.ask_in(call.func, frame, at))
        if len(options) == 1 and isinstance(options[0], Reference) and isinstance(options[0].target, FunctionRef):
            return self._path_returned(options[0], call, frame, at, depth)
        return ""

    def _is_library(self, call: ir.Call, frame: Frame) -> bool:
        """Whether a function of a library is called, not a method of an object."""
        return bool(self._evaluator.modules.dotted(call.func, frame.file))

    def _path_returned(self, callee: Reference, call: ir.Call, frame: Frame, at: Env, depth: int) -> str:
        assert isinstance(callee.target, FunctionRef)  # noqa: S101 - tested by the caller
        function = self._things.project.function(callee.target)
        shift = 1 if callee.receiver is not None and function.owner >= 0 and not is_static(function) else 0
        given = given_arguments(self._evaluator, call, frame, at)
        bindings = bound_parameters(self._evaluator, function.parameters[shift:], given, ir.unpack(call.at, frame.file))
        inner = inner_frame(self._evaluator, callee, bindings, 0)
        every = returns_of(self._evaluator, inner) if inner is not None else []
        ends = [end for end in every if end[0] is not None and not _is_nothing(end[0])]
        if inner is None or len(ends) != 1 or ends[0][0] is None:
            return ""
        return self._path(ends[0][0], inner, ends[0][1], depth + 1)


def is_same_path(one: str, other: str) -> bool:
    """Whether two paths may be meant to be one file: parts in braces stand for anything where the rest of the name agrees.

    What a run goes on from is what it has saved itself.
    """
    if one == other or _RESUMED.fullmatch(other):
        return True
    first, second = one.split("/"), other.split("/")
    return len(first) == len(second) and first[:-1] == second[:-1] and _covers(first[-1], second[-1])


def _covers(one: str, other: str) -> bool:
    """Whether one of two file names, with open parts, may be the other."""
    import fnmatch

    if "{" in one and _OPEN.sub("{}", one) == _OPEN.sub("{}", other) and len(_OPEN.sub("", one)) >= 5:
        return True
    for pattern, name in ((one, other), (other, one)):
        fixed = _OPEN.sub("", pattern)
        if "{" in pattern and "{" not in name and len(fixed) >= 5:
            glob = "*".join(_escaped(part) for part in _OPEN.split(pattern))
            if fnmatch.fnmatchcase(name, glob):
                return True
    return False


def _escaped(text: str) -> str:
    """A text that stands for itself in a pattern of file names."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in text)


def _is_item(expr: ir.Expr, name: str, keys: Keys) -> bool:
    """Whether an expression is what stands under the first of some keys of a variable."""
    if type(expr) is not ir.Subscript or not keys or not _is_name(expr.base, name):
        return False
    return type(expr.index) is not ir.Constant or expr.index.value == keys[0]


def _items(expr: ir.DictDisplay) -> Iterator[tuple[str, ir.Expr]]:
    for key, value in zip(expr.keys, expr.values, strict=True):
        if type(key) is ir.Constant and type(key.value) is str:
            yield key.value, value


def _same_names(expr: ir.Comprehension) -> ir.Expr | None:
    """The state whose names a comprehension keeps, all or some: ``{name: value.clone() for name, value in state.items()}``."""
    if expr.kind != "dict" or len(expr.generators) != 1 or type(expr.element) is not ir.ListDisplay:
        return None
    target, iterable, _ = expr.generators[0]
    if type(target) is not ir.ListDisplay or type(iterable) is not ir.Call:
        return None
    func = iterable.func
    if type(func) is not ir.Attribute or func.name != "items" or not target.items:
        return None
    name, key = target.items[0], expr.element.items[0]
    same = type(name) is ir.Name and type(key) is ir.Name and name.id == key.id
    return func.base if same else None


def _is_nothing(expr: ir.Expr | None) -> bool:
    return type(expr) is ir.Constant and expr.value is None


def _is_name(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name


def names_prefix(test: ir.Expr | None) -> bool:
    """Whether a test asks for the wrapper or for the prefix that it gives names."""
    if test is None:
        return False
    for part in below(test):
        if type(part) is ir.Constant and type(part.value) is str and part.value.startswith("module"):
            return True
        if type(part) is ir.Call and last_name(part.func) in ("isinstance", "startswith", "hasattr"):
            return True
    return False
