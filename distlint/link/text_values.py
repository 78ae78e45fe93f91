"""Which expressions certainly are strings, and which go through a set of strings in the set's own order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.calls import decorated
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.followed import followed
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef
from distlint.link.walking import below, bound_names, calls_in, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 24
MAX_STEPS = 2_000
"""Expressions and variables that are looked at for one question."""
MAX_CALLERS = 6
_TEXT_METHODS = frozenset(
    {
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "title",
        "join",
        "format",
        "replace",
        "decode",
        "read_text",
        "as_posix",
        "hexdigest",
    }
)
_TEXT_CALLS = frozenset({"str", "repr", "chr", "basename", "dirname", "abspath", "input", "ascii"})
_LIST_METHODS = frozenset({"split", "splitlines", "rsplit", "readlines"})
_LIST_CALLS = frozenset({"listdir", "glob", "iglob"})
_KEEPING = frozenset(
    {"sorted", "list", "tuple", "set", "frozenset", "iter", "reversed", "chain", "from_iterable", "fromkeys"}
)
_PICKING = frozenset({"choice", "next", "min", "max"})
"""Functions that give one of the items of their first argument."""
_PICKING_SOME = frozenset({"choices", "sample"})
_TAKING_OUT = frozenset({"pop", "popleft"})
_SET_METHODS = frozenset({"union", "difference", "intersection", "symmetric_difference", "copy"})
_PUTTING = ("add", "append", "update", "extend")
_AUGMENTING = ("|", "+", "&", "-", "^")
"""Operators by which what is in a collection goes into another one: all are taken to be of one kind."""
_ORDER_KEEPING = frozenset({"list", "tuple", "iter", "reversed"})

Part = tuple["int | str", ...]
Shows = Callable[[ir.Expr, str, int], bool]
"""A test of what a set of a function holds: the expression, its file and function."""
_VALUE = "[]"
"""In a part: what an index gives, which is an item of a list, and a value of a dictionary; a key that is known stands behind it."""
_ROWS = ("csv.reader", "csv.DictReader")
"""Calls that give rows of strings."""


class Texts:
    """Follows expressions to where they come from. Every answer is shown: an expression of which nothing is known is no string."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._steps = 0
        self._joins: dict[tuple[int, str, Part], bool] = {}
        """What was found where ways come together, for one question; of what is still looked at nothing is shown."""

    def local(self, expr: ir.Expr, file: str, function: int) -> ir.Expr:
        """What a local variable was last set to."""
        return followed(expr, self.project.flow(file, function).before(expr.at))

    def is_defined(self, name: str, file: str) -> bool:
        """Whether a file gives a built-in name another meaning."""
        return self.project.modules.lookup(name, file) is not None

    def is_text(self, expr: ir.Expr, file: str, function: int) -> bool:
        """Whether an expression certainly is a string, or a tuple with one."""
        self._steps = 0
        self._joins.clear()
        return self._is(expr, (), file, function, self.project.flow(file, function).before(expr.at), 0)

    def holds_texts(self, expr: ir.Expr, file: str, function: int) -> bool:
        """Whether the items of an expression certainly are strings, or tuples with one."""
        self._steps = 0
        self._joins.clear()
        known = self.project.evaluator(None).value(expr, file, function).options
        if known and all(isinstance(one, list | tuple) and one and all(type(it) is str for it in one) for one in known):
            return True
        return self._is(expr, ("*",), file, function, self.project.flow(file, function).before(expr.at), 0)

    def _is(self, expr: ir.Expr, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        """Whether a part of an expression is a string: ``()`` the whole, ``("*",)`` its items, ``("*", 1)`` the second of each item.

        ``("[]",)`` is what an index gives.
        """
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > MAX_STEPS:
            return False
        again = depth + 1
        if type(expr) is ir.Name:
            return self._name(expr.id, part, file, function, state, again)
        if type(expr) is ir.Attribute:
            return self._attribute(expr, part, file, function, again)
        if type(expr) is ir.Conditional:
            return self._is(expr.body, part, file, function, state, again) and self._is(
                expr.orelse, part, file, function, state, again
            )
        if type(expr) is ir.Formatted or (type(expr) is ir.Constant and type(expr.value) is str):
            return not part or (len(part) == 1 and _asks_items(part))
        if type(expr) is ir.ListDisplay:
            return self._display(expr, part, file, function, state, again)
        if type(expr) is ir.DictDisplay:
            found = _values_at(expr, part) if _asks_value(part) else [one for one in expr.keys if one is not None]
            return (
                _asks_items(part)
                and bool(found)
                and all(self._is(one, part[1:], file, function, state, again) for one in found)
            )
        if type(expr) is ir.Comprehension:
            return _asks_items(part) and self._element(expr, part, file, function, state, again)
        if type(expr) is ir.Operation:
            return self._operation(expr, part, file, function, state, again)
        if type(expr) is ir.Subscript:
            if type(expr.index) is ir.Slice:
                return self._is(expr.base, part, file, function, state, again)
            return self._is(expr.base, (_token(expr.index), *part), file, function, state, again)
        return type(expr) is ir.Call and self._call(expr, part, file, function, state, again)

    def _display(self, expr: ir.ListDisplay, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        items = [one.value if type(one) is ir.Starred else one for one in expr.items]
        part = ("*", *part[1:]) if _asks_value(part) else part
        if not part:
            return expr.kind == "tuple" and any(self._is(one, (), file, function, state, depth) for one in items)
        if type(part[0]) is int and expr.kind == "tuple":
            return part[0] < len(items) and self._is(items[part[0]], part[1:], file, function, state, depth)
        return bool(items) and all(
            self._is(one, part if type(given) is ir.Starred else part[1:], file, function, state, depth)
            for one, given in zip(items, expr.items, strict=True)
        )

    def _operation(self, expr: ir.Operation, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        if expr.operators[0] == "%" and not part:
            return self._is(expr.operands[0], (), file, function, state, depth)
        if set(expr.operators) <= {"+", "|", "-", "&", "^", "or", "/"}:
            return any(self._is(one, part, file, function, state, depth) for one in expr.operands)
        return False

    def _element(self, expr: ir.Comprehension, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        element = expr.element
        if expr.kind == "dict" and type(element) is ir.ListDisplay:
            element = element.items[1 if _asks_value(part) else 0]
        part = part[1:]
        if type(element) is ir.Name:
            for target, iterable, _ in expr.generators:
                place = _place_of(target, element.id)
                if place is not None:
                    return self._iterated(iterable, (*place, *part), file, function, state, depth)
        if type(element) is ir.Attribute or type(element) is ir.Subscript:
            base, index = element.base, element.index if type(element) is ir.Subscript else None
            if type(base) is ir.Name and index is not None and type(index) is not ir.Slice:
                for target, iterable, _ in expr.generators:
                    place = _place_of(target, base.id)
                    if place is not None:
                        return self._iterated(iterable, (*place, _token(index), *part), file, function, state, depth)
            return False
        return self._is(element, part, file, function, state, depth)

    def _iterated(self, iterable: ir.Expr, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        """The same for what a loop over an expression comes to."""
        if type(iterable) is ir.Call and type(iterable.func) is ir.Name and iterable.args:
            if iterable.func.id == "enumerate":
                if part[:1] != (1,):
                    return False
                return self._is(iterable.args[0], ("*", *part[1:]), file, function, state, depth)
            if iterable.func.id == "zip" and part and type(part[0]) is int and part[0] < len(iterable.args):
                return self._is(iterable.args[part[0]], ("*", *part[1:]), file, function, state, depth)
        return self._is(iterable, ("*", *part), file, function, state, depth)

    def _call(self, call: ir.Call, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        func = call.func
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        edges = self.project.call_graph.targets(file, function, call)
        if edges:
            return len(edges) == 1 and self._returned(edges[0].target, part, depth)
        if name in _TEXT_CALLS or (type(func) is ir.Attribute and name in _TEXT_METHODS):
            return not part or (len(part) == 1 and _asks_items(part))
        if (type(func) is ir.Attribute and name in _LIST_METHODS) or (name in _LIST_CALLS):
            return _asks_items(part) or (len(part) == 1 and type(part[0]) is int)
        if name in _PICKING and len(call.args) == 1:
            return self._is(call.args[0], ("*", *part), file, function, state, depth)
        if name in _TAKING_OUT and type(func) is ir.Attribute:
            return self._is(func.base, (_VALUE, *part), file, function, state, depth)
        if type(func) is ir.Attribute and name in ("items", "values") and not call.args and part:
            base = part[1:] if name == "values" else part[2:]
            which = _VALUE if name == "values" or part[1:2] == (1,) else "*" if part[1:2] == (0,) else ""
            return bool(which) and self._is(func.base, (which, *base), file, function, state, depth)
        if (
            name in (*_KEEPING, *_PICKING_SOME)
            and call.args
            and part
            and not (name == "fromkeys" and _asks_value(part))
        ):
            # what stands at a place of a list is one of the items that it is made of
            ways = dict.fromkeys((part, ("*", *part[1:])) if type(part[0]) is int else (("*", *part[1:]),))
            return any(self._is(call.args[0], one, file, function, state, depth) for one in ways)
        if len(part) == 2 and part[0] == "*" and self.project.modules.dotted(func, file) in _ROWS:
            return True
        if type(func) is ir.Attribute and name in _SET_METHODS and part:
            return self._is(func.base, part, file, function, state, depth)
        if type(func) is ir.Attribute and name == "keys" and part:
            return self._is(func.base, part, file, function, state, depth)
        return name == "join" and self.project.modules.dotted(func, file).endswith("path.join") and not part

    def _returned(self, target: FunctionRef, part: Part, depth: int) -> bool:
        flow = self.project.flow(target.file, target.index)
        ways = [(one.value, at) for one, at in flow.returns if one.value is not None]
        return bool(ways) and all(self._is(value, part, target.file, target.index, at, depth) for value, at in ways)

    def _name(self, name: str, part: Part, file: str, function: int, state: Env, depth: int) -> bool:
        place: Env | None = state
        self._steps += 1
        while place is not None:
            if isinstance(place, Bind) and place.name == name:
                return self._bound(place, part, file, function, depth)
            if isinstance(place, Store) and place.name == name and _asks_items(part):
                if place.action in ("add", "append") and isinstance(place.expr, ir.Call) and place.expr.args:
                    return self._is(place.expr.args[0], part[1:], file, function, place.at, depth)
                if place.action in ("update", "extend") and isinstance(place.expr, ir.Call) and place.expr.args:
                    return self._is(place.expr.args[0], part, file, function, place.at, depth)
            if isinstance(place, Join) and name in place.touched:
                return self._joined(place, name, part, file, function, depth)
            place = place.prev
        return self._outside(name, part, file, function, depth)

    def _joined(self, join: Join, name: str, part: Part, file: str, function: int, depth: int) -> bool:
        key = (id(join), name, part)
        if key not in self._joins:
            self._joins[key] = False
            self._joins[key] = max(depth / MAX_DEPTH, self._steps / MAX_STEPS) <= 1 and any(
                self._name(name, part, file, function, branch, depth + 2) for branch in join.branches
            )
        return self._joins[key]

    def _bound(self, bind: Bind, part: Part, file: str, function: int, depth: int) -> bool:
        if isinstance(bind.expr, ir.AugAssign) and bind.prev is not None and bind.expr.operator in _AUGMENTING:
            more = self._is(bind.expr.value, part, file, function, bind.at, depth)
            return more or self._name(bind.name, part, file, function, bind.prev, depth)
        if bind.expr is None or not isinstance(bind.expr, ir.Expr) or bind.prev is None:
            return False
        if not bind.part:
            return self._is(bind.expr, part, file, function, bind.at, depth)
        if bind.part[0] == "*":
            return self._iterated(bind.expr, (*bind.part[1:], *part), file, function, bind.at, depth)
        if all(type(one) is int for one in bind.part):
            return self._is(bind.expr, (*bind.part, *part), file, function, bind.at, depth)
        return False

    def _outside(self, name: str, part: Part, file: str, function: int, depth: int) -> bool:
        if function >= 0:
            definition = self.project.module(file).functions[function]
            for position, parameter in enumerate(definition.parameters):
                if parameter.name == name:
                    return self._parameter(FunctionRef(file, function), definition, position, part, depth)
            for target, iterable in _comprehension_targets(self.project, file, function, name):
                place = _place_of(target, name)
                if place is not None:
                    state = self.project.flow(file, function).before(iterable.at)
                    return self._iterated(iterable, (*place, *part), file, function, state, depth)
            flow = self.project.flow(file, definition.parent)
            return self._name(name, part, file, definition.parent, flow.exit or flow.entry, depth)
        for target, iterable in _comprehension_targets(self.project, file, -1, name):
            place = _place_of(target, name)
            if place is not None:
                state = self.project.flow(file, -1).before(iterable.at)
                return self._iterated(iterable, (*place, *part), file, -1, state, depth)
        found = self.project.modules.lookup(name, file)
        if isinstance(found, GlobalRef) and (found.file, found.name) != (file, name):
            flow = self.project.flow(found.file, -1)
            return self._name(found.name, part, found.file, -1, flow.exit or flow.entry, depth)
        return False

    def _parameter(self, ref: FunctionRef, definition: ir.Function, position: int, part: Part, depth: int) -> bool:
        parameter = definition.parameters[position]
        if parameter.kind == "var-keyword" and part == ("*",):
            return True
        written = parameter.annotation
        if type(written) is ir.Name and written.id == "str" and part in ((), ("*",)):
            return True
        if type(written) is ir.Subscript and type(written.index) is ir.Name and written.index.id == "str":
            if part == ("*",):
                return True
        shift = 1 if definition.owner >= 0 else 0
        callers = self.project.callers(ref)
        if not callers or len(callers) > MAX_CALLERS:
            return False
        for caller in callers:
            given, _ = find_argument(caller.site.call, parameter.name, position - shift + caller.shift)
            if given is None:
                return False
            state = self.project.flow(caller.file, caller.site.function).before(given.at)
            if not self._is(given, part, caller.file, caller.site.function, state, depth + 1):
                return False
        return True

    def _attribute(self, expr: ir.Attribute, part: Part, file: str, function: int, depth: int) -> bool:
        stores = self.stores(expr, file, function)
        if not stores and _is_text_option(self.project, expr, part, file, function):
            return True
        if _asks_items(part) and stores and all(_is_empty(value) for _, value, inner in stores if not inner):
            return self._put_in(expr, part, file, function, depth)
        worked_out = self._property(expr, file, function) if not stores else None
        if worked_out is not None:
            return self._returned(worked_out, part, depth)
        return bool(stores) and all(
            value is not None
            and not inner
            and self._is(
                value, part, where.file, where.index, self.project.flow(where.file, where.index).before(value.at), depth
            )
            for where, value, inner in stores
        )

    def _put_in(self, expr: ir.Attribute, part: Part, file: str, function: int, depth: int) -> bool:
        """The same for an attribute of the own object that begins empty, and that methods put something in."""
        owner = self.project.module(file).functions[function].owner if function >= 0 else -1
        if owner < 0 or type(expr.base) is not ir.Name or expr.base.id not in ("self", "cls"):
            return False
        for method in self.project.attribute_changes(ClassRef(file, owner)).get(expr.name, ()):
            flow = self.project.flow(method.file, method.index)
            for call in calls_in(self.project.function(method).body):
                func = call.func
                if type(func) is not ir.Attribute or func.name not in _PUTTING or not call.args:
                    continue
                if type(func.base) is ir.Attribute and func.base.name == expr.name:
                    asked = part[1:] if func.name in ("add", "append") else part
                    if self._is(call.args[0], asked, method.file, method.index, flow.before(call.at), depth):
                        return True
        return False

    def _property(self, expr: ir.Attribute, file: str, function: int) -> FunctionRef | None:
        """The method of the project that works out an attribute."""
        known = self.project.evaluator(None).ask(expr.base, file, function)
        if not isinstance(known, Instance) or not isinstance(known.callee, ClassRef) or known.part:
            return None
        method = self.project.modules.method(known.callee, expr.name)
        if method is None or not decorated(self.project.function(method).decorators, "property", "cached_property"):
            return None
        return method

    def stores(
        self, expr: ir.Attribute, file: str, function: int
    ) -> list[tuple[FunctionRef, ir.Expr | None, tuple[object, ...]]]:
        """What an attribute of the own object, or of another of the project, is set to."""
        if type(expr.base) is ir.Name and expr.base.id in ("self", "cls") and function >= 0:
            owner = self.project.module(file).functions[function].owner
            return self.project.attribute_stores(ClassRef(file, owner)).get(expr.name, []) if owner >= 0 else []
        known = self.project.evaluator(None).ask(expr.base, file, function)
        if isinstance(known, Instance) and isinstance(known.callee, ClassRef) and not known.part:
            return self.project.attribute_stores(known.callee).get(expr.name, [])
        return []


def _token(index: ir.Expr) -> int | str:
    """What stands in a part for an index."""
    key = index.value if type(index) is ir.Constant else None
    return key if type(key) is int else f"{_VALUE}{key}" if type(key) is str else _VALUE


def _asks_value(part: Part) -> bool:
    """Whether a part is what an index gives."""
    return bool(part) and type(part[0]) is str and part[0].startswith(_VALUE)


def _asks_items(part: Part) -> bool:
    """Whether a part is about any of the items."""
    return part[:1] == ("*",) or _asks_value(part)


def _values_at(expr: ir.DictDisplay, part: Part) -> list[ir.Expr]:
    """The values of a dictionary that an index may give: those of a key that is known, else all."""
    if part[0] == _VALUE:
        return list(expr.values)
    keys = [one.value if type(one) is ir.Constant else None for one in expr.keys]
    return [value for key, value in zip(keys, expr.values, strict=True) if f"{_VALUE}{key}" == part[0]]


def _is_empty(value: ir.Expr | None) -> bool:
    """Whether something is written as a collection without items."""
    if type(value) is ir.Call:
        return type(value.func) is ir.Name and value.func.id in ("set", "list") and not value.args
    return type(value) is ir.ListDisplay and not value.items


def _is_text_option(project: Project, expr: ir.Attribute, part: Part, file: str, function: int) -> bool:
    """Whether a part of what a parser has read certainly is a string: words of a command line are."""
    from distlint.link.parsers import PARSE_CALLS, method_of, parsers_of, receiver_of

    evaluator = project.evaluator(None)
    known = evaluator.ask(expr.base, file, function)
    if not isinstance(known, Instance) or method_of(known) not in PARSE_CALLS:
        return False
    receiver = receiver_of(evaluator, known)
    option = parsers_of(project).get(evaluator, receiver).by_dest(expr.name) if receiver is not None else None
    if option is None or option.kind not in ("", "str") or option.reader is not None or not option.flags:
        return False
    given = all(type(one) is str for one in option.default.options)
    return part == ("*",) if option.arity in ("+", "*") else part == () and option.arity == 1 and given


class _Targets(dict[tuple[str, int], dict[str, list[tuple[ir.Expr, ir.Expr]]]]):
    """The targets of the comprehensions of functions, by the names that they bind, with what they go through."""


def _comprehension_targets(project: Project, file: str, function: int, name: str) -> list[tuple[ir.Expr, ir.Expr]]:
    """The targets of comprehensions of a function that bind a name, with what they go through."""
    known: _Targets = project.kept.setdefault(_Targets, _Targets())
    if (file, function) not in known:
        found = known[file, function] = {}
        for statement in statements(_body_of(project, file, function)):
            for expr in expressions_of(statement):
                for part in below(expr):
                    if type(part) is ir.Comprehension:
                        for target, iterable, _ in part.generators:
                            for one in bound_names(target):
                                found.setdefault(one, []).append((target, iterable))
    return known[file, function].get(name, [])


def _body_of(project: Project, file: str, function: int) -> tuple[ir.Stmt, ...]:
    module = project.module(file)
    return module.body if function < 0 else module.functions[function].body


def _place_of(target: ir.Expr, name: str) -> Part | None:
    """Where a name stands in the target of a loop: ``()``, ``(1,)``."""
    if type(target) is ir.Name:
        return () if target.id == name else None
    if type(target) is ir.ListDisplay:
        for position, item in enumerate(target.items):
            inner = _place_of(item, name)
            if inner is not None:
                return (position, *inner)
    return None


def is_set_order(
    texts: Texts, expr: ir.Expr, file: str, function: int, depth: int = 0, *, shows: Shows | None = None
) -> ir.Expr | None:
    """The set of strings in whose order an expression gives its items; ``None`` where that is not shown.

    ``shows`` is a further test whether strings are in a set, for those that do not come from strings that are seen.
    """
    if depth > MAX_DEPTH:
        return None
    if type(expr) is ir.Name:
        known = texts.local(expr, file, function)
        if known is not expr and not _is_sorted_later(texts, expr, file, function):
            return is_set_order(texts, known, file, function, depth + 1, shows=shows)
        return None
    if type(expr) is ir.Attribute:
        stores = texts.stores(expr, file, function)
        if len(stores) == 1 and stores[0][1] is not None and not stores[0][2]:
            where, value, _ = stores[0]
            return is_set_order(texts, value, where.file, where.index, depth + 1, shows=shows)  # type: ignore[arg-type]
        return None
    if is_set(texts, expr, file, function, depth):
        shown = texts.holds_texts(expr, file, function) or (shows is not None and shows(expr, file, function))
        return expr if shown else None
    if type(expr) is ir.Comprehension and expr.kind == "list" and len(expr.generators) == 1:
        return is_set_order(texts, expr.generators[0][1], file, function, depth + 1, shows=shows)
    if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id in _ORDER_KEEPING and expr.args:
        return is_set_order(texts, expr.args[0], file, function, depth + 1, shows=shows)
    if type(expr) is ir.Call:
        edges = texts.project.call_graph.targets(file, function, expr)
        if len(edges) == 1:
            ref = edges[0].target
            returned = [
                one.value for one, _ in texts.project.flow(ref.file, ref.index).returns if one.value is not None
            ]
            if len(returned) == 1:
                return is_set_order(texts, returned[0], ref.file, ref.index, depth + 1, shows=shows)
    return None


def is_set(texts: Texts, expr: ir.Expr, file: str, function: int, depth: int = 0) -> bool:
    """Whether an expression certainly is a set."""
    if depth > MAX_DEPTH:
        return False
    if type(expr) is ir.Name:
        known = texts.local(expr, file, function)
        return known is not expr and is_set(texts, known, file, function, depth + 1)
    if type(expr) is ir.ListDisplay or type(expr) is ir.Comprehension:
        return expr.kind == "set"
    if type(expr) is ir.Operation and set(expr.operators) <= {"|", "&", "-", "^"} and len(expr.operands) > 1:
        return any(is_set(texts, one, file, function, depth + 1) for one in expr.operands)
    if type(expr) is not ir.Call:
        return False
    func = expr.func
    if type(func) is ir.Name:
        return func.id in ("set", "frozenset") and not texts.is_defined(func.id, file)
    return (
        type(func) is ir.Attribute
        and func.name in _SET_METHODS
        and (is_set(texts, func.base, file, function, depth + 1))
    )


def _is_sorted_later(texts: Texts, name: ir.Name, file: str, function: int) -> bool:
    """Whether a list is put in order where it stands."""
    for statement in statements(_body_of(texts.project, file, function)):
        if type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            func = statement.value.func
            if type(func) is ir.Attribute and func.name == "sort" and type(func.base) is ir.Name:
                if func.base.id == name.id:
                    return True
    return False
