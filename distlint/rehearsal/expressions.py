"""What expressions are on one process of a rehearsal."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from distlint.link.modules import FunctionRef, GlobalRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.stage import Scope, Stage
from distlint.rehearsal.values import (
    MAX_ITEMS,
    UNKNOWN,
    ClassValue,
    FunctionValue,
    Given,
    Items,
    LambdaOf,
    Library,
    Made,
    MethodOf,
    ModuleValue,
    Nothing,
    Opaque,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    is_known,
    merged,
    source_of,
)

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}

MAX_TEXT = 2_000
_BIG = 1 << 60


class Expressions:
    """Works out values. ``tensors`` says what operations on tensors give (see ``FrameworkSpec.rehearsed``)."""

    def __init__(self, stage: Stage, models: Any) -> None:
        self.stage = stage
        self.models = models

    def span(self, expr: ir.Expr, scope: Scope) -> Span:
        """Where an expression stands."""
        return ir.unpack(expr.at, scope.file)

    def value(self, expr: ir.Expr, scope: Scope) -> Any:
        """The value of an expression."""
        self.stage.step()
        kind = type(expr)
        if kind is ir.Constant:
            return expr.value  # type: ignore[union-attr]
        if kind is ir.Name:
            return self.name(expr.id, scope)  # type: ignore[union-attr]
        method = getattr(self, f"_of_{kind.__name__}", None)
        return method(expr, scope) if method is not None else UNKNOWN

    # Names -------------------------------------------------------------------------------------------------------

    def name(self, name: str, scope: Scope) -> Any:
        """What a name means in a scope."""
        around: Scope | None = scope
        while around is not None:
            if name in around.variables and not (around is scope and name in scope.outside):
                return around.variables[name]
            around = around.outer
        module = self.module_scope(scope.file)
        if name in module.variables:
            return self.module_variable(module, name)
        modules = self.stage.project.modules
        target = modules.lookup(name, scope.file)
        if isinstance(target, GlobalRef):
            if target.file == scope.file:
                return UNKNOWN
            return self.module_variable(self.module_scope(target.file), target.name)
        if target is not None:
            return self.stage.target_value(target)
        return Library(f"builtins.{name}")

    def module_variable(self, module: Scope, name: str) -> Any:
        """A variable of a module; not known where a function that we did not see called may have set it."""
        writers = self.stage.project.global_writers(module.file).get(name, ())
        if writers:
            setters = [
                index for index in writers if f"{name} =" in self.stage.project.flow(module.file, index).assigned.how
            ]
            if setters and not any(FunctionRef(module.file, index) in self.stage.visited for index in setters):
                return UNKNOWN
        return module.variables.get(name, UNKNOWN)

    def module_scope(self, file: str) -> Scope:
        """The variables of a module, whose top level is executed when something in it is first asked for."""
        raise NotImplementedError

    # Displays ----------------------------------------------------------------------------------------------------

    def _of_ListDisplay(self, expr: ir.ListDisplay, scope: Scope) -> Any:  # noqa: N802
        items: list[Any] = []
        for item in expr.items[:MAX_ITEMS]:
            if type(item) is ir.Starred:
                spread = self.items_of(self.value(item.value, scope))
                if spread is None:
                    return Items(None, at=self.span(expr, scope))
                items.extend(spread)
            else:
                items.append(self.value(item, scope))
        for item in items:
            if isinstance(item, Tensor):
                item.copied = False
        return tuple(items) if expr.kind == "tuple" else Items(items, at=self.span(expr, scope))

    def _of_DictDisplay(self, expr: ir.DictDisplay, scope: Scope) -> Any:  # noqa: N802
        table = Table()
        for key, value in zip(expr.keys[:MAX_ITEMS], expr.values, strict=False):
            given = self.value(value, scope)
            name = self.value(key, scope) if key is not None else UNKNOWN
            if is_known(name):
                table.items[name] = given
            elif key is None and isinstance(given, Table) and not given.open:
                table.items.update(given.items)
            else:
                table.open = True
        return table

    def _of_Formatted(self, expr: ir.Formatted, scope: Scope) -> Any:  # noqa: N802
        values = [self.value(part, scope) for part in expr.parts]
        for part, value in zip(expr.parts, values, strict=True):
            self.stage.use(value, self.span(part, scope))
        if all(isinstance(value, str | int) for value in values):
            return "".join(map(str, values))[:MAX_TEXT]
        return derived("text", values)

    def _of_Wrapped(self, expr: ir.Wrapped, scope: Scope) -> Any:  # noqa: N802
        value = self.value(expr.value, scope) if expr.value is not None else None
        if expr.kind == ":=":
            scope.variables[expr.target] = value
        return value if expr.kind in (":=", "await") else UNKNOWN

    def _of_Lambda(self, expr: ir.Lambda, scope: Scope) -> Any:  # noqa: N802
        return LambdaOf(expr, scope)

    def _of_Starred(self, expr: ir.Starred, scope: Scope) -> Any:  # noqa: N802
        return self.value(expr.value, scope)

    def _of_Slice(self, expr: ir.Slice, scope: Scope) -> Any:  # noqa: N802
        parts = [None if part is None else self.value(part, scope) for part in (expr.lower, expr.upper, expr.step)]
        return slice(*parts)

    def _of_Comprehension(self, expr: ir.Comprehension, scope: Scope) -> Any:  # noqa: N802
        inner = Scope(scope.file, scope.function, scope)
        if len(expr.generators) != 1 or expr.kind == "dict":
            return UNKNOWN if expr.kind == "dict" else Items(None, at=self.span(expr, scope))
        target, iterable, tests = expr.generators[0]
        source = self.value(iterable, scope)
        given = self.items_of(source)
        if given is None or len(given) > 64:
            self.bind(target, self.item_of(source), inner)
            for test in tests:
                self.value(test, inner)
            self.stage.repeating += 1
            try:
                item = self.value(expr.element, inner)
            finally:
                self.stage.repeating -= 1
            size = UNKNOWN if tests else self.length(source)
            made = Items(None, size, at=self.span(expr, scope))
            return made if not isinstance(item, Tensor) or item.pending is None else UNKNOWN
        found = []
        for one in given:
            self.bind(target, one, inner)
            decided = [self.truth(self.value(test, inner)) for test in tests]
            if None in decided:
                return Items(None, at=self.span(expr, scope))
            if all(decided):
                found.append(self.value(expr.element, inner))
        for item in found:
            if isinstance(item, Tensor):
                item.copied = False
        return Items(found, at=self.span(expr, scope))

    def bind(self, target: ir.Expr, value: Any, scope: Scope) -> None:
        """Assigns a value to a target."""
        raise NotImplementedError

    def items_of(self, value: Any) -> list[Any] | None:
        """The items of something that is iterated over; ``None`` where they are not known."""
        if isinstance(value, Items):
            return list(value.items) if value.items is not None else None
        if type(value) is tuple:
            return list(value)
        if isinstance(value, range):
            return list(value) if len(value) <= MAX_ITEMS else None
        if isinstance(value, Table) and not value.open:
            return list(value.items)
        if isinstance(value, str | bytes) and len(value) <= MAX_ITEMS:
            return list(value)
        if isinstance(value, Tensor) and value.shape and isinstance(value.shape[0], int) and value.shape[0] <= 16:
            return [self.models.indexed(self, value, index) for index in range(value.shape[0])]
        return value.items(self) if isinstance(value, Made) else None

    def item_of(self, value: Any) -> Any:
        """Some item of something whose items are not known."""
        if isinstance(value, Tensor):
            return self.models.indexed(self, value, UNKNOWN)
        if isinstance(value, range):
            return UNKNOWN
        if isinstance(value, Made):
            found = value.item(self)
            return found if found is not NotImplemented else derived("item", [value])
        if isinstance(value, Items) and value.items:
            return merged(value.items[0], value.items[-1]) if len(value.items) > 1 else value.items[0]
        return derived("item", [value]) if isinstance(value, Opaque) else UNKNOWN

    def length(self, value: Any) -> Any:
        """``len(value)``."""
        if isinstance(value, Items):
            return value.length()
        if isinstance(value, Tensor):
            return value.shape[0] if value.shape else UNKNOWN
        if isinstance(value, str | bytes | range) or type(value) is tuple:
            return len(value)
        if isinstance(value, Table) and not value.open:
            return len(value.items)
        if isinstance(value, Made):
            found = value.length(self)
            return found if found is not NotImplemented else derived("len", [value])
        return derived("len", [value]) if isinstance(value, Opaque) else UNKNOWN

    # Parts -------------------------------------------------------------------------------------------------------

    def _of_Attribute(self, expr: ir.Attribute, scope: Scope) -> Any:  # noqa: N802
        return self.attribute(self.value(expr.base, scope), expr.name, expr, scope)

    def attribute(self, base: Any, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """``base.name``."""
        stage = self.stage
        if isinstance(base, Library):
            dotted = stage.project.modules.canonical(f"{base.name}.{name}")
            if dotted == "os.environ":
                return Made(dotted)
            return Library(dotted)
        if isinstance(base, ModuleValue):
            inner = self.module_scope(base.file)
            if name in inner.variables:
                return self.module_variable(inner, name)
            return stage.target_value(stage.project.modules.lookup(name, base.file))
        if isinstance(base, Thing):
            return self._of_thing(base, name, scope)
        if isinstance(base, Tensor):
            return self.models.tensor_attribute(self, base, name, expr, scope)
        if isinstance(base, Made):
            kind = stage.sources.get(stage.project.modules.canonical(f"{base.name}.{name}"))
            if kind is not None:
                return stage.source(kind)
            found = base.attribute(self, name, expr, scope)
            return self.part_of_made(base, name, expr, scope) if found is NotImplemented else found
        if isinstance(base, Nothing):
            return UNKNOWN
        return MethodOf(base, name)

    def part_of_made(self, base: Made, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """An attribute of an object of a library: options are asked for where they are parsed."""
        stage = self.stage
        if "parse_" in base.name.rpartition(".")[2]:
            known = stage.by_name(name)
            if known is not UNKNOWN:
                return known
            return Opaque(("option", name))
        return MethodOf(base, name)

    def _of_thing(self, base: Thing, name: str, scope: Scope) -> Any:
        if name in base.attributes:
            return base.attributes[name]
        modules = self.stage.project.modules
        method = modules.method(base.cls, name)
        if method is not None:
            function = self.stage.project.function(method)
            if any(type(one) is ir.Name and one.id in ("property", "cached_property") for one in function.decorators):
                return self.call_function(FunctionValue(method, None, base), Given([], {}), None, scope)
            static = any(type(one) is ir.Name and one.id == "staticmethod" for one in function.decorators)
            return FunctionValue(method, None, None if static else base)
        stores = self.stage.project.attribute_stores(base.cls).get(name, ())
        for where, value, part in stores:
            if where.index < 0 and value is not None and not part:
                return self.value(value, self.module_scope(where.file))
        inherited = self.models.inherited(self, base, name)
        if inherited is not NotImplemented:
            return inherited
        return self.stage.by_name(name) if self.stage.alone else UNKNOWN

    def call_function(self, function: FunctionValue, given: Given, call: ir.Call | None, scope: Scope) -> Any:
        """What a function of the project returns."""
        raise NotImplementedError

    def _of_Subscript(self, expr: ir.Subscript, scope: Scope) -> Any:  # noqa: N802
        base = self.value(expr.base, scope)
        index = self.value(expr.index, scope)
        if isinstance(base, Tensor):
            self.stage.use(base, self.span(expr.base, scope))
            return self.models.indexed(self, base, index)
        if isinstance(base, Made) and base.name == "os.environ":
            return self.stage.variable(index)
        if isinstance(base, Made):
            part = base.part(self, index, self.span(expr, scope))
            return derived("part", [base, index]) if part is NotImplemented else part
        if isinstance(base, Items) and isinstance(index, slice):
            cut = _cut(base.items, index) if base.items is not None else None
            return Items(cut, at=base.at)
        if type(base) is tuple and isinstance(index, slice):
            cut = _cut(list(base), index)
            return tuple(cut) if cut is not None else UNKNOWN
        if isinstance(base, Items | tuple | str) and isinstance(index, int):
            items = base.items if isinstance(base, Items) else base
            if items is not None and -len(items) <= index < len(items):
                return items[index]
            return UNKNOWN
        if isinstance(base, Table) and is_known(index):
            return base.items.get(index, UNKNOWN)
        return derived("part", [base, index]) if isinstance(base, Opaque) else UNKNOWN

    def _of_Conditional(self, expr: ir.Conditional, scope: Scope) -> Any:  # noqa: N802
        decided = self.truth(self.value(expr.test, scope))
        if decided is not None:
            return self.value(expr.body if decided else expr.orelse, scope)
        self.stage.unsure += 1
        try:
            values = [self.value(part, scope) for part in (expr.body, expr.orelse)]
        finally:
            self.stage.unsure -= 1
        return merged(*values)

    # Operations --------------------------------------------------------------------------------------------------

    def _of_Operation(self, expr: ir.Operation, scope: Scope) -> Any:  # noqa: N802
        first = expr.operators[0]
        if first in ("and", "or"):
            return self._logic(first, expr, scope)
        values = [self.value(operand, scope) for operand in expr.operands]
        if len(values) == 1:
            return self._unary(first, values[0])
        if len(values) > 2:
            pairs = zip(expr.operators, values, values[1:], strict=False)
            found = [self.truth(self.operate(symbol, one, two, expr.at, scope)) for symbol, one, two in pairs]
            return False if False in found else UNKNOWN if None in found else True
        for operand, value in zip(expr.operands, values, strict=True):
            if first not in ("is", "is not"):
                self.stage.use(value, self.span(operand, scope))
        return self.operate(first, values[0], values[1], expr.at, scope)

    def _logic(self, symbol: str, expr: ir.Operation, scope: Scope) -> Any:
        value: Any = UNKNOWN
        unsure = 0
        open_ = False
        try:
            for operand in expr.operands:
                value = self.value(operand, scope)
                decided = self.truth(value)
                if decided is (symbol == "or"):
                    return UNKNOWN if open_ and not is_known(value) else value
                if decided is None:
                    open_ = True
                    unsure += 1
                    self.stage.unsure += 1
        finally:
            self.stage.unsure -= unsure
        return UNKNOWN if open_ else value

    def _unary(self, symbol: str, value: Any) -> Any:
        if symbol == "not":
            decided = self.truth(value)
            return UNKNOWN if decided is None else not decided
        if isinstance(value, Tensor):
            return self.models.elementwise(self, symbol, [value])
        if isinstance(value, int | float):
            return -value if symbol == "-" else value if symbol == "+" else UNKNOWN
        return derived(symbol, [value])

    def operate(self, symbol: str, one: Any, two: Any, at: ir.Position, scope: Scope) -> Any:
        """The result of a binary operation or comparison."""
        if symbol in ("is", "is not"):
            return self._identity(symbol, one, two)
        if isinstance(one, Nothing) or isinstance(two, Nothing):
            self.misused(one if isinstance(one, Nothing) else two, ir.unpack(at, scope.file))
            return UNKNOWN
        if isinstance(one, Tensor) or isinstance(two, Tensor):
            if symbol in ("in", "not in"):
                numbers = two.numbers if isinstance(two, Tensor) else None
                return (one in numbers) is (symbol == "in") if numbers is not None and is_known(one) else UNKNOWN
            return self.models.elementwise(self, symbol, [one, two])
        if symbol in ("in", "not in"):
            return self._membership(symbol, one, two)
        if isinstance(one, Items) or isinstance(two, Items):
            return self._on_lists(symbol, one, two, ir.unpack(at, scope.file))
        if (is_known(one) and is_known(two)) or (type(one) is tuple and type(two) is tuple):
            return _computed(symbol, one, two)
        return derived(symbol, [one, two])

    def misused(self, result: Nothing, span: Span) -> None:
        """The ``None`` that an operation gave back is used as if it were something."""
        from distlint.rehearsal.stage import Fault

        if not self.stage.unsure:
            self.stage.faults.append(Fault("none", span, result.event, {}))

    def _identity(self, symbol: str, one: Any, two: Any) -> Any:
        if isinstance(one, Nothing) or isinstance(two, Nothing):
            return (isinstance(one, Nothing) and two is None) is (symbol == "is") if two is None else UNKNOWN
        if is_known(one) and is_known(two):
            return (one is two or (type(one) is type(two) and one == two)) is (symbol == "is")
        solid = (Tensor, Items, Table, Thing, Made, FunctionValue, ClassValue)
        if two is None and isinstance(one, solid):
            return symbol == "is not"
        return UNKNOWN

    def _membership(self, symbol: str, one: Any, two: Any) -> Any:
        if isinstance(two, Made) and two.name == "os.environ" and isinstance(one, str):
            known = f"${one}" in self.stage.sources or one in self.stage.environment
            return (symbol == "in") if known else UNKNOWN
        items = self.items_of(two)
        if items is None or not is_known(one):
            return UNKNOWN
        if isinstance(two, str):
            return (one in two) is (symbol == "in") if isinstance(one, str) else UNKNOWN
        if any(is_known(item) and item == one for item in items):
            return symbol == "in"
        return (symbol != "in") if all(is_known(item) for item in items) else UNKNOWN

    def _on_lists(self, symbol: str, one: Any, two: Any, span: Span) -> Any:
        if symbol == "*":
            items, count = (one, two) if isinstance(one, Items) else (two, one)
            if items.items is None or not isinstance(count, int) or count * len(items.items) > MAX_ITEMS:
                size = derived("*", [items.length(), count]) if not isinstance(count, int) else UNKNOWN
                return Items(None, size, at=span)
            made = Items(items.items * count, at=span)
            made.repeated = count > 1
            return made
        if symbol == "+" and isinstance(one, Items) and isinstance(two, Items):
            if one.items is not None and two.items is not None and len(one.items) + len(two.items) <= MAX_ITEMS:
                return Items(one.items + two.items, at=span)
            return Items(None, at=span)
        if symbol in ("==", "!="):
            return UNKNOWN
        return Items(None, at=span)

    def truth(self, value: Any) -> bool | None:
        """Whether a value counts as true; ``None`` where that is not known."""
        if is_known(value):
            return bool(value)
        if isinstance(value, Nothing):
            return False
        if isinstance(value, Items):
            length = value.length()
            return length > 0 if isinstance(length, int) else None
        if type(value) is tuple or isinstance(value, range):
            return bool(value)
        return None

    def changed(self, tensor: Tensor, how: str, others: list[Any]) -> None:
        """A tensor's content changes in place."""
        whole = tensor.whole
        whole.sign = combined(how, [whole, *others])
        whole.source = whole.source or source_of(others)
        tensor.sign = whole.sign
        tensor.source = whole.source
        self.models.changed(self, tensor, how, others)


def _cut(items: list[Any], index: slice) -> list[Any] | None:
    bounds = (index.start, index.stop, index.step)
    if not all(bound is None or (isinstance(bound, int) and abs(bound) < _BIG) for bound in bounds):
        return None
    try:
        return items[index]
    except ValueError:
        return None


def _computed(symbol: str, one: Any, two: Any) -> Any:
    """Arithmetic on plain values; unknown where it fails or gets out of hand."""
    function = _BINARY.get(symbol)
    if function is None:
        small = isinstance(one, int) and isinstance(two, int) and abs(one) < 1000 and 0 <= two < 20
        return one**two if symbol == "**" and small else derived(symbol, [one, two])
    if symbol == "*" and isinstance(one, str | bytes) and isinstance(two, int) and len(one) * abs(two) <= MAX_TEXT:
        return one * two
    texts = isinstance(one, str | bytes | tuple) or isinstance(two, str | bytes | tuple)
    if texts and symbol not in ("==", "!=", "+", "<", ">", "<=", ">="):
        return derived(symbol, [one, two])
    numbers = [item for item in (one, two) if isinstance(item, int)]
    if any(abs(number) > _BIG for number in numbers) or (symbol in ("<<", ">>") and any(n > 64 for n in numbers)):
        return UNKNOWN
    try:
        found = function(one, two)
        return UNKNOWN if isinstance(found, str | bytes | tuple) and len(found) > MAX_TEXT else found
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
