"""Which variables of the environment a number comes from: all that it may be read from, with its defaults, or that this is not known.

A small search backwards: through assignments, fields, and functions of the project that are handed the names of the variables. What else
may have a part in the number (arithmetic, a library's function) makes the answer unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.derivations import RANK_WORDS
from distlint.checks.execution import body_of
from distlint.checks.spread_names import called_name
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, guards_of, statements
from distlint.model import python as ir
from distlint.model.span import Span

_READING = frozenset({"os.environ.get", "os.getenv"})
_PLAIN = frozenset({"int", "str", "max", "min", "abs", "float"})
_IN_READERS = _PLAIN | {
    "get",
    "getenv",
    "len",
    "iter",
    "next",
    "strip",
    "items",
    "KeyError",
    "ValueError",
    "isdigit",
    "bool",
    "any",
    "all",
}
_MAKING = frozenset({"cls", "SimpleNamespace", "Namespace", "replace"})
"""Calls that store under the names of their keywords."""
MAX_DEPTH = 12
MAX_STEPS = 150


class _UnknownError(Exception):
    """Something else may have a part in the number."""


class _Where(NamedTuple):
    """A function, and the call by which it was entered: with the place of that."""

    file: str
    function: int
    call: ir.Call | None = None
    shift: int = 0
    outer: _Where | None = None


class Asked(NamedTuple):
    """The variables that a number is read from, where each is named, and what it is without them."""

    names: dict[str, Span]
    defaults: frozenset[object]


def asked_variables(project: Project, expr: ir.Expr, file: str, function: int) -> Asked | None:
    """What an expression of a function (-1: the module) is read from; ``None`` where something else may have a part in it."""
    search = _Search(project)
    try:
        search.follow(expr, _Where(file, function), 0)
    except _UnknownError:
        return None
    return Asked(search.names, frozenset(search.defaults))


class _Search:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._steps = 0
        self._open: set[tuple[str, int, str]] = set()
        self.names: dict[str, Span] = {}
        self.defaults: set[object] = set()

    def follow(self, expr: ir.Expr, where: _Where, depth: int, part: int | None = None) -> None:
        """Notes what an expression is read from; ``part`` is the item of it that is asked for."""
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > MAX_STEPS:
            raise _UnknownError
        if part is not None and type(expr) is ir.ListDisplay:
            if part >= len(expr.items) or any(type(one) is ir.Starred for one in expr.items):
                raise _UnknownError
            self.follow(expr.items[part], where, depth + 1)
        elif type(expr) is ir.Constant:
            self.defaults.add(expr.value)
        elif type(expr) is ir.Name:
            self._name(expr.id, where, depth + 1, part)
        elif type(expr) is ir.Call:
            self._call(expr, where, depth + 1, part)
        elif part is not None:
            raise _UnknownError
        elif type(expr) is ir.Attribute:
            self._field(expr.name, where, depth + 1)
        elif type(expr) is ir.Subscript:
            self._item(expr, where)
        elif type(expr) is ir.Operation and expr.operators[0] in ("or", "and"):
            for one in expr.operands:
                self.follow(one, where, depth + 1)
        elif type(expr) is ir.Conditional:
            for one in (expr.body, expr.orelse):
                if type(one) is ir.Subscript and self._is_environment(one.base, where):
                    self._variable(one.index, where)  # the test is whether it is there
                else:
                    self.follow(one, where, depth + 1)
        elif type(expr) is ir.Wrapped and expr.kind == ":=" and expr.value is not None:
            self.follow(expr.value, where, depth + 1)
        else:
            raise _UnknownError

    def _is_environment(self, expr: ir.Expr, where: _Where) -> bool:
        return self._project.modules.dotted(expr, where.file) == "os.environ"

    def _variable(self, index: ir.Expr, where: _Where) -> None:
        found = dict(self._texts(index, where, 0))
        if len(found) != 1:
            raise _UnknownError
        self.names.update(found)

    def _item(self, expr: ir.Subscript, where: _Where) -> None:
        body = body_of(self._project, where.file, where.function)
        # without a test the program ends where the variable is missing, and nothing goes on with a default
        if not self._is_environment(expr.base, where) or not guards_of(body, expr.at):
            raise _UnknownError
        self._variable(expr.index, where)

    def _name(self, name: str, where: _Where, depth: int, part: int | None) -> None:
        key = (where.file, where.function, name)
        if key in self._open:
            return
        self._open.add(key)
        values = list(_values(body_of(self._project, where.file, where.function), name))
        for value, inner in values:
            if value is None or (inner is not None and part is not None):
                raise _UnknownError
            self.follow(value, where, depth, part if inner is None else inner)
        if not values:
            self._outside(name, where, depth, part)
        self._open.discard(key)

    def _outside(self, name: str, where: _Where, depth: int, part: int | None) -> None:
        if where.function < 0:
            target = self._project.modules.lookup(name, where.file)
            if not isinstance(target, GlobalRef) or (target.file, target.name) == (where.file, name):
                raise _UnknownError
            self._name(target.name, _Where(target.file, -1), depth, part)
            return
        definition = self._project.module(where.file).functions[where.function]
        position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
        if position is None:
            self._name(name, _Where(where.file, definition.parent), depth, part)
            return
        own = 1 if definition.owner >= 0 else 0
        if where.call is not None and where.outer is not None:
            calls = [(where.call, where.outer, where.shift)]
        else:
            callers = self._project.callers(FunctionRef(where.file, where.function))
            calls = [(one.site.call, _Where(one.file, one.site.function), one.shift) for one in callers]
        if not calls:
            raise _UnknownError
        for call, outer, shift in calls:
            given, certain = find_argument(call, name, position - own + shift)
            default = definition.parameters[position].default
            if given is None and (not certain or default is None):
                raise _UnknownError
            if given is not None:
                self.follow(given, outer, depth, part)
            elif default is not None:
                self.follow(default, _Where(where.file, definition.parent), depth, part)

    def _call(self, call: ir.Call, where: _Where, depth: int, part: int | None) -> None:
        dotted = self._project.modules.dotted(call.func, where.file)
        if dotted in _READING and call.args and part is None:
            self._variable(call.args[0], where)
            default = find_argument(call, "default", 1)[0]
            if default is None:
                self.defaults.add(None)
            else:
                self.follow(default, where, depth)
            return
        edges = [one for one in self._project.call_graph.targets(where.file, where.function, call) if one.how == "call"]
        if not edges and type(call.func) is ir.Name and call.func.id in _PLAIN and part is None:
            for one in call.args:
                self.follow(one, where, depth)
            return
        if len(edges) != 1:
            raise _UnknownError
        edge = edges[0]
        inner = _Where(edge.target.file, edge.target.index, call, edge.shift, where)
        if self._reads(call, edge.target, where):
            return
        returned = [one.value for one, _ in self._project.flow(edge.target.file, edge.target.index).returns]
        if not returned:
            raise _UnknownError
        for value in returned:
            if value is None:
                raise _UnknownError
            self.follow(value, inner, depth, part)

    def _reads(self, call: ir.Call, ref: FunctionRef, where: _Where) -> bool:
        """Whether a function reads what it is handed the names of, with what it is handed for their lack."""
        given = [*call.args, *(word.value for word in call.keywords)]
        texts = [one for each in given for one in self._texts(each, where, 0) if one[0].isupper()]
        if not texts:
            return False
        for expr in (expr for one in statements(self._project.function(ref).body) for expr in expressions_of(one)):
            for part in below(expr):
                word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
                if (word and RANK_WORDS.search(word)) or (
                    type(part) is ir.Operation and set(part.operators) & {"%", "//"}
                ):
                    raise _UnknownError
                if type(part) is ir.Call and called_name(part) not in _IN_READERS:
                    raise _UnknownError
                if type(part) is ir.Constant and isinstance(part.value, str) and part.value.isupper():
                    texts.append((part.value, ir.unpack(part.at, ref.file)))
        definition = self._project.function(ref)
        spare = [one.default for one in definition.parameters if one.default is not None]
        returned = [one.value for one, _ in self._project.flow(ref.file, ref.index).returns]
        for each in (*given, *spare, *returned):
            if type(each) is ir.Constant and not (isinstance(each.value, str) and each.value.isupper()):
                self.defaults.add(each.value)
        self.names.update(texts)
        return True

    def _texts(self, expr: ir.Expr, where: _Where, depth: int) -> Iterator[tuple[str, Span]]:
        """The texts in an expression, those of variables in it too."""
        if depth > MAX_DEPTH:
            raise _UnknownError
        if type(expr) is ir.Subscript and type(expr.index) is ir.Constant:
            for table, place in self._settled(expr.base, where):
                keys = table.keys if type(table) is ir.DictDisplay else ()
                for key, value in zip(keys, table.values if type(table) is ir.DictDisplay else (), strict=True):
                    if type(key) is ir.Constant and key.value == expr.index.value:
                        yield from self._texts(value, place, depth + 1)
            return
        for part in below(expr):
            if type(part) is ir.Constant and isinstance(part.value, str) and part.value:
                yield part.value, ir.unpack(part.at, where.file)
            elif type(part) is ir.Name:
                for value, place in self._settled(part, where):
                    yield from self._texts(value, place, depth + 1)

    def _settled(self, expr: ir.Expr, where: _Where) -> Iterator[tuple[ir.Expr, _Where]]:
        """What a variable of a function or a module is set to, if that is one thing."""
        if type(expr) is not ir.Name:
            return
        values = list(_values(body_of(self._project, where.file, where.function), expr.id))
        if len(values) == 1 and values[0][0] is not None and values[0][1] is None:
            yield values[0][0], where
        elif not values and where.function >= 0:
            definition = self._project.module(where.file).functions[where.function]
            if all(one.name != expr.id for one in definition.parameters):
                yield from self._settled(expr, _Where(where.file, definition.parent))
        elif not values:
            target = self._project.modules.lookup(expr.id, where.file)
            if isinstance(target, GlobalRef) and (target.file, target.name) != (where.file, expr.id):
                yield from self._settled(ir.Name(target.name, expr.at), _Where(target.file, -1))

    # Fields ------------------------------------------------------------------------------------------------------

    def _field(self, name: str, where: _Where, depth: int) -> None:
        """All that is ever stored under the name of a field; another object with such a field counts as well."""
        key = ("", -1, name)
        if key in self._open:
            return
        self._open.add(key)
        found = False
        for value, place in self._stored(name):
            found = True
            if value is None:
                raise _UnknownError
            self.follow(value, place, depth)
        if not found:
            raise _UnknownError
        self._open.discard(key)

    def _stored(self, name: str) -> Iterator[tuple[ir.Expr | None, _Where]]:
        project = self._project
        for file, store in project.outside_stores(name):
            yield store.value, _Where(file, store.function)
        for file in project.python_files:
            if name not in project.text_of(file):
                continue
            module = project.module(file)
            holders: dict[int, int] = {}
            for index in range(len(module.classes)):
                yield from self._of_class(ClassRef(file, index), name)
                fields = _fields(module.classes[index])
                if name in fields:
                    holders[index] = fields.index(name)
        yield from self._made_with(name)

    def _of_class(self, owner: ClassRef, name: str) -> Iterator[tuple[ir.Expr | None, _Where]]:
        for ref, value, part in self._project.attribute_stores(owner).get(name, ()):
            yield (None if part else value), _Where(ref.file, ref.index)
        for index, one in enumerate(self._project.module(owner.file).functions):
            if one.owner == owner.index and one.name == name:
                for returned, _ in self._project.flow(owner.file, index).returns:
                    yield returned.value, _Where(owner.file, index)

    def _made_with(self, name: str) -> Iterator[tuple[ir.Expr | None, _Where]]:
        """What objects with a field are made with."""
        for file in self._project.python_files:
            for sites in self._project.module(file).calls.values():
                for site in sites:
                    position = self._place_of(name, site.call, file, site.function)
                    if position is None:
                        continue
                    given, certain = find_argument(site.call, name, position if position >= 0 else None)
                    if given is not None:
                        yield given, _Where(file, site.function)
                    elif not certain:
                        yield None, _Where(file, site.function)

    def _place_of(self, name: str, call: ir.Call, file: str, function: int) -> int | None:
        """At which position a call takes the value of a field; -1: only by its name; ``None``: it has no such field."""
        target = self._project.modules.resolve(call.func, file)
        if isinstance(target, ClassRef):
            owner = target
        elif called_name(call) == "cls" and function >= 0 and self._project.module(file).functions[function].owner >= 0:
            owner = ClassRef(file, self._project.module(file).functions[function].owner)
        else:
            return -1 if called_name(call) in _MAKING and any(word.name == name for word in call.keywords) else None
        if self._project.modules.method(owner, "__init__") is not None:
            return None  # its own stores are looked at
        fields = _fields(self._project.class_(owner))
        return fields.index(name) if name in fields else None


def _fields(definition: ir.Class) -> list[str]:
    """The fields that a class declares, in their order."""
    return [
        target.id
        for one in definition.body
        if type(one) is ir.Assign and one.annotation is not None
        for target in one.targets
        if type(target) is ir.Name
    ]


def _values(body: tuple[ir.Stmt, ...], name: str) -> Iterator[tuple[ir.Expr | None, int | None]]:
    """What a variable is set to in a body, with the item of it; ``None`` for what is no assignment of its own."""
    for statement in statements(body):
        if type(statement) is ir.Assign:
            for target in statement.targets:
                if type(target) is ir.Name and target.id == name:
                    yield statement.value, None
                elif type(target) is ir.ListDisplay:
                    for place, one in enumerate(target.items):
                        if type(one) is ir.Name and one.id == name:
                            yield statement.value, place
        elif type(statement) is ir.AugAssign and type(statement.target) is ir.Name:
            if statement.target.id == name:
                yield None, None
        elif type(statement) is ir.For:
            yield from ((None, None) for one in below(statement.target) if type(one) is ir.Name and one.id == name)
