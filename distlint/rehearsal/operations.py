"""What operators give on one process of a rehearsal: arithmetic, comparisons, logic, membership."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from distlint.link.text_sizes import MAX_TEXT, may_be_long
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.bounds import COMPARING, asks, asks_all, compared, is_of_members
from distlint.rehearsal.chosen_items import of_each
from distlint.rehearsal.comprehensions import Comprehensions
from distlint.rehearsal.entities import ClassValue, FunctionValue, Group, Library, Nothing
from distlint.rehearsal.enumerations import is_flag, of_flags
from distlint.rehearsal.figures import numbered
from distlint.rehearsal.known_files import KnownPath
from distlint.rehearsal.known_texts import Matched
from distlint.rehearsal.merging import alike, merged, number_in
from distlint.rehearsal.notes import DIVISORS, REMAINDERS
from distlint.rehearsal.paths import joined
from distlint.rehearsal.some_keys import under
from distlint.rehearsal.stage import Fault, Scope
from distlint.rehearsal.sums import added, is_summand, scaled
from distlint.rehearsal.unknowns import UNKNOWN, Named, Number, Opaque, Opposite, Perhaps
from distlint.rehearsal.values import (
    MAX_ITEMS,
    Given,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    is_known,
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
_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "&": "and",
    "|": "or",
    "^": "xor",
    "@": "matmul",
}
_CONSTANTS = {"typing.TYPE_CHECKING": False, "builtins.__debug__": True}
_OPPOSITE = {"==": "!=", "!=": "=="}

_TRUTHS = ("__bool__", "__len__")
"""Methods that say whether an object counts as true; the first one is asked."""

_BITS = 60
_BIG = 1 << _BITS


class Operations(Comprehensions):
    """Works out what operators give."""

    def chained(self, expr: ir.Operation, values: list[Any], scope: Scope) -> Any:
        """``a < b < c``."""
        pairs = zip(expr.operators, values, values[1:], strict=False)
        found = [self.operate(symbol, one, two, expr.at, scope) for symbol, one, two in pairs]
        decided = [self.truth(one) for one in found]
        if False in decided or None not in decided:
            return False not in decided
        return asks_all(derived("and", found), "and", found)

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
                if numbers is not None and is_known(one):
                    return (one in numbers) is (symbol == "in")
                return derived(symbol, [one, two])
            return self.models.elementwise(self, symbol, [one, two])
        if symbol in ("in", "not in"):
            return self._membership(symbol, one, two, scope)
        if isinstance(one, Thing) or isinstance(two, Thing):
            return self._on_things(symbol, one, two, scope)
        if isinstance(one, Items) or isinstance(two, Items):
            return self._on_lists(symbol, one, two, ir.unpack(at, scope.file))
        if isinstance(one, Table) and isinstance(two, Table) and symbol == "|":
            made = Table({**one.items, **two.items})
            for other in (one, two):
                if other.open:
                    made.opens(other)
            return made
        if symbol in _OPPOSITE and isinstance(two, str) and isinstance(one, Named) and one.text is not None:
            return _computed(symbol, one.text, two)
        if is_known(one) and is_known(two):
            return _computed(symbol, one, two)
        if type(one) is tuple and type(two) is tuple:
            return _on_tuples(symbol, one, two)
        if type(one) is tuple and symbol == "*" and isinstance(two, int) and len(one) * two <= MAX_ITEMS:
            return one * two
        if symbol == "%" and isinstance(one, str):
            return _formatted(one, two)
        if symbol in ("/", "//", "%") and isinstance(two, int) and two > 1 and is_of_members(one):
            return UNKNOWN  # numbers of members that differ are rounded to the same one perhaps
        if symbol == "/" and isinstance(one, KnownPath) and (below := one.joined(two)) is not NotImplemented:
            return below
        if symbol == "/" and isinstance(one, Opaque | Made) and isinstance(two, str | Opaque | Made):
            return numbered(symbol, one, two, joined(self.stage, derived(symbol, [one, two]), [one, two]))
        if symbol == "/" and isinstance(one, Opaque) and is_known(two):
            return numbered(symbol, one, two, derived(symbol, [one, two]))
        named = (Library, ClassValue, FunctionValue)
        if symbol in _OPPOSITE and isinstance(one, named) and isinstance(two, named):
            return (one == two) is (symbol == "==")
        if symbol in _OPPOSITE and (one is None or two is None) and isinstance(one or two, (*named, Made)):
            return symbol == "!="
        if symbol in _OPPOSITE and type(two) is int and two == 0 and type(one) in (Opaque, Number):
            # a number is zero where it counts as false
            return (
                Opposite(one, combined("not", [one]))
                if symbol == "=="
                else Opaque(one.sign, one.source, measured=one.measured)
            )
        found = self._of_numbers(symbol, one, two)
        if isinstance(found, Opaque) and (is_known(one) or is_known(two)):
            return of_each(one, two, lambda first, second: _computed(symbol, first, second), found)
        return found

    def _of_numbers(self, symbol: str, one: Any, two: Any) -> Any:
        """The result where it is not known what one of both is."""
        if symbol in ("+", "-"):
            return numbered(symbol, one, two, added(one, two, minus=symbol == "-"))
        if symbol in COMPARING:
            told = compared(symbol, one, two)
            return asks(derived(symbol, [one, two]), symbol, one, two) if told is None else told
        found = numbered(symbol, one, two, scaled(one, two) if symbol == "*" else derived(symbol, [one, two]))
        if symbol == "%" and found.sign is not None:
            self.stage.kept.setdefault(REMAINDERS, set()).add(found.sign)
        if symbol == "%" and isinstance(two, int):
            self.stage.kept.setdefault(DIVISORS, set()).add(two)
        return found

    def _on_things(self, symbol: str, one: Any, two: Any, scope: Scope) -> Any:
        """An operator between objects of the project: their own method for it, or whether they are the same one."""
        flags = of_flags(self, symbol, one, two)
        if flags is not NotImplemented:
            return flags
        for thing, other, prefix in ((one, two, ""), (two, one, "r")):
            if not isinstance(thing, Thing) or (prefix and symbol in _OPPOSITE):
                continue
            name = f"__{prefix}{_METHODS.get(symbol, '?')}__"
            method = self.stage.project.modules.method(thing.cls, name)
            if method is not None:
                return self.call_function(FunctionValue(method, None, thing), Given([other], {}), None, scope)
        if symbol in _OPPOSITE:
            members = [self.member_value(item) for item in (one, two)]
            if all(member is not UNKNOWN for member in members):
                told = self._told_apart(symbol, one, two)
                if told is not None:
                    return told
                return (one is two or members[0] == members[1]) is (symbol == "==")
            if one is two:
                return symbol == "=="
            inner = [self.member_value(item) if isinstance(item, Thing) else item for item in (one, two)]
            if all(is_known(item) for item in inner):
                return _computed(symbol, *inner)
        elif any(self.member_value(item) is not UNKNOWN for item in (one, two)):
            inner = [self.member_value(item) if isinstance(item, Thing) else item for item in (one, two)]
            if all(is_known(item) for item in inner):
                return _computed(symbol, *inner)
        return derived(symbol, [one, two])

    def _told_apart(self, symbol: str, one: Any, two: Any) -> Any:
        """Whether two members of an enumeration are the same, where it is not known which members they are; ``None`` where it is."""
        mine, yours = one.attributes.get("_name_"), two.attributes.get("_name_")
        if one is two or one.cls != two.cls or not (isinstance(mine, Opaque) or isinstance(yours, Opaque)):
            return None
        found = derived(symbol, [mine, yours])
        return of_each(mine, yours, lambda first, second: _computed(symbol, first, second), found)

    def member_value(self, value: Any) -> Any:
        """What stands for a member of an enumeration; unknown for everything else."""
        raise NotImplementedError

    def misused(self, result: Nothing, span: Span) -> None:
        """The ``None`` that an operation gave back is used as if it were something."""
        if not self.stage.unsure:
            self.stage.faults.append(Fault("none", span, result.event, {}))

    def _identity(self, symbol: str, one: Any, two: Any) -> Any:
        if isinstance(one, Nothing) or isinstance(two, Nothing):
            return (isinstance(one, Nothing) and two is None) is (symbol == "is") if two is None else UNKNOWN
        if is_known(one) and is_known(two):
            return (one is two or (type(one) is type(two) and one == two)) is (symbol == "is")
        solid = (Tensor, Items, Table, Thing, Made, FunctionValue, ClassValue, Group, range)
        if two is None and (isinstance(one, solid) or type(one) is tuple):
            return symbol == "is not"
        if two is None and isinstance(one, Perhaps):
            return derived(symbol, [one.missing])
        if isinstance(one, Thing) and isinstance(two, Thing):
            members = all(self.member_value(item) is not UNKNOWN for item in (one, two))
            told = self._told_apart("==" if symbol == "is" else "!=", one, two) if members else None
            return (one is two) is (symbol == "is") if told is None else told
        named = (Library, ClassValue)
        if isinstance(one, named) and isinstance(two, named):
            return (one == two) is (symbol == "is")
        return derived(symbol, [one, two])

    def _membership(self, symbol: str, one: Any, two: Any, scope: Scope) -> Any:
        if isinstance(two, Made) and two.name == "os.environ" and isinstance(one, str):
            known = f"${one}" in self.stage.sources or one in self.stage.environment or self.stage.exports(one)
            return (symbol == "in") if known else Opaque(("environment", one, "set"))
        if isinstance(two, Thing):
            method = self.stage.project.modules.method(two.cls, "__contains__")
            if method is not None:
                found = self.call_function(FunctionValue(method, None, two), Given([one], {}), None, scope)
                return found if symbol == "in" else self._negated(found)
        if isinstance(two, Thing) and two.content is not None:
            return self._membership(symbol, one, two.content, scope)
        if isinstance(one, Named) and one.text is not None and _is_of_texts(two):
            one = one.text
        if isinstance(two, Named) and two.text is not None and isinstance(one, str):
            two = two.text
        if isinstance(two, str):
            return (one in two) is (symbol == "in") if isinstance(one, str) else derived(symbol, [one, two])
        if isinstance(two, range) and isinstance(one, int):
            return (one in two) is (symbol == "in")
        items = list(two.items) if isinstance(two, Table) else self.items_of(two)
        if items is None:
            return derived(symbol, [one, two])
        if any(_same(item, one) for item in items):
            return symbol == "in"
        closed = not (isinstance(two, Table) and two.open)
        solid = (int, float, str, bytes, Thing, Library, ClassValue)
        plain = one is None or isinstance(one, solid) or (type(one) is tuple and all(map(is_known, one)))
        if closed and plain and all(_comparable(item) for item in items):
            return symbol != "in"
        if isinstance(two, Table) and (perhaps := under(two, one) if plain else NotImplemented) is not NotImplemented:
            return derived(symbol, [perhaps.missing])
        return derived(symbol, [one, *items]) if closed else UNKNOWN

    def _negated(self, value: Any) -> Any:
        decided = self.truth(value)
        if isinstance(value, Opposite):
            return value.value
        return derived("not", [value]) if decided is None else not decided

    def _on_lists(self, symbol: str, one: Any, two: Any, span: Span) -> Any:
        if symbol == "*":
            return self._repeated(one, two, span)
        if symbol == "+" and isinstance(one, Items) and isinstance(two, Items):
            if one.items is not None and two.items is not None and len(one.items) + len(two.items) <= MAX_ITEMS:
                return Items(one.items + two.items, at=span)
            made = self.some(derived("+", [one, two]), added(one.length(), two.length()), span=span)
            made.sample = number_in((one, two)) or merged(self.item_of(one), self.item_of(two))
            return made
        if symbol in ("==", "!=", "<", ">", "<=", ">="):
            if isinstance(one, Items) and isinstance(two, Items) and None not in (one.items, two.items):
                return _on_tuples(symbol, tuple(one.items or ()), tuple(two.items or ()))
            return derived(symbol, [one, two])
        if isinstance(one, Items) and isinstance(two, Items) and symbol in ("-", "&", "|", "^"):
            return self._of_sets(symbol, one, two, span)
        if isinstance(one, str) and symbol == "%":
            return _formatted(one, two)
        made = self.some(derived(symbol, [one, two]), span=span)
        total = added(self.length(one), self.length(two)) if symbol == "+" else None
        if is_summand(total):
            made.size = total  # a list is added to what must be one as well
        return made

    def _of_sets(self, symbol: str, one: Items, two: Items, span: Span) -> Items:
        found = None
        if one.items is not None and two.items is not None and all(map(is_known, one.items + two.items)):
            first, second = dict.fromkeys(one.items), dict.fromkeys(two.items)
            if symbol == "-":
                found = [item for item in first if item not in second]
            elif symbol == "&":
                found = [item for item in first if item in second]
            elif symbol == "|":
                found = list({**first, **second})
            else:
                found = [item for item in {**first, **second} if (item in first) is not (item in second)]
        made = Items(found, at=span) if found is not None else self.some(derived(symbol, [one, two]), span=span)
        made.distinct = True
        if found is None:
            made.ordered = one.order if symbol == "-" else one.order or two.order
        if found is None and symbol in ("-", "&"):
            made.sample = self.item_of(one)
        return made

    def _repeated(self, one: Any, two: Any, span: Span) -> Items:
        """``[x] * n``."""
        items, count = (one, two) if isinstance(one, Items) else (two, one)
        if items.items is None or not isinstance(count, int) or count * len(items.items) > MAX_ITEMS:
            unknown = not isinstance(count, int)
            size = scaled(items.length(), count) if unknown else UNKNOWN
            if isinstance(count, int) and isinstance(items.length(), int):
                size = count * items.length()
            made = self.some(derived("*", [one, two]), size, span=span)
            made.sample = self.item_of(items)
            return made
        made = Items(items.items * count, at=span)
        made.repeated = count > 1
        return made

    def truth(self, value: Any) -> bool | None:
        """Whether a value counts as true; ``None`` where that is not known."""
        if is_known(value):
            return bool(value)
        if isinstance(value, Nothing):
            return False
        if isinstance(value, Items):
            length = value.length()
            return length > 0 if isinstance(length, int) else None
        if isinstance(value, Table):
            return True if value.items else None if value.open else False
        if type(value) is tuple or isinstance(value, range):
            return bool(value)
        if isinstance(value, FunctionValue | ClassValue | Matched):
            return True
        if isinstance(value, Library) and value.name in _CONSTANTS:
            return _CONSTANTS[value.name]
        if isinstance(value, Thing):
            return self._truth_of_thing(value)
        return None

    def tested(self, expr: ir.Expr, scope: Scope) -> Any:
        """What a test comes to: of an object of the project what its own method says."""
        value = self.value(expr, scope)
        if isinstance(value, Thing) and value.content is None:
            for name in _TRUTHS:
                method = self.stage.project.modules.method(value.cls, name)
                if method is not None:
                    return self.call_function(FunctionValue(method, None, value), Given([], {}), None, scope)
        return value

    def _truth_of_thing(self, thing: Thing) -> bool | None:
        if is_flag(self, thing):
            return bool(thing.attributes["value"])
        if thing.content is not None:
            return self.truth(thing.content)
        modules = self.stage.project.modules
        for name in _TRUTHS:
            method = modules.method(thing.cls, name)
            if method is not None:
                found = self.call_function(FunctionValue(method, None, thing), Given([], {}), None, self._anywhere())
                return self.truth(found) if is_known(found) else None
        return None if modules.external_bases(thing.cls) or modules.has_unknown_base(thing.cls) else True

    def _anywhere(self) -> Scope:
        return self.module_scope(self.stage.entry)


def _is_of_texts(value: Any) -> bool:
    """Whether a value is a text, or a list of texts."""
    items = value.items if isinstance(value, Items) else value if type(value) is tuple else None
    return isinstance(value, str) or (items is not None and all(isinstance(item, str) for item in items))


def _same(one: Any, other: Any) -> bool:
    if is_known(one) and is_known(other):
        return bool(one == other)
    return alike(one, other)


def _comparable(value: Any) -> bool:
    if type(value) is tuple:
        return all(_comparable(item) for item in value)
    return is_known(value) or isinstance(value, Thing | Library | ClassValue)


def _on_tuples(symbol: str, one: tuple[Any, ...], two: tuple[Any, ...]) -> Any:
    if symbol == "+":
        return one + two if len(one) + len(two) <= MAX_ITEMS else UNKNOWN
    if all(map(_plain, one)) and all(map(_plain, two)):
        return _computed(symbol, one, two)
    if symbol in _OPPOSITE and len(one) != len(two):
        return symbol == "!="
    return derived(symbol, [one, two])


def _plain(value: Any) -> bool:
    return is_known(value) or (type(value) is tuple and all(map(_plain, value)))


def _formatted(text: str, values: Any) -> Any:
    """``text % values``."""
    given = values if type(values) is tuple else (values,)
    if all(map(is_known, given)) and not may_be_long(text, given):
        try:
            return (text % given)[:MAX_TEXT]
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
    return derived("%", [text, *given])


def _is_small_power(one: Any, two: Any) -> bool:
    """Whether a power of plain numbers is a number of at most so many bits as numbers may have."""
    if not (isinstance(one, int | float) and isinstance(two, int | float)):
        return False
    return not isinstance(one, int) or not isinstance(two, int) or one.bit_length() * two <= _BITS


def _computed(symbol: str, one: Any, two: Any) -> Any:
    """Arithmetic on plain values; unknown where it fails or gets out of hand."""
    if symbol == "%" and isinstance(one, str):
        return _formatted(one, two)
    function = _BINARY.get(symbol)
    if function is None:
        try:
            return one**two if symbol == "**" and _is_small_power(one, two) else derived(symbol, [one, two])
        except (ArithmeticError, ValueError):
            return UNKNOWN
    if symbol == "*" and isinstance(one, str | bytes) and isinstance(two, int):
        return one * two if len(one) * abs(two) <= MAX_TEXT else derived(symbol, [one, two])
    texts = isinstance(one, str | bytes | tuple) or isinstance(two, str | bytes | tuple)
    if texts and symbol not in ("==", "!=", "+", "<", ">", "<=", ">="):
        return derived(symbol, [one, two])
    numbers = [item for item in (one, two) if isinstance(item, int)]
    if any(abs(number) > _BIG for number in numbers) or (symbol in ("<<", ">>") and any(n > 64 for n in numbers)):
        return derived(symbol, [one, two])
    try:
        found = function(one, two)
        return UNKNOWN if isinstance(found, str | bytes | tuple) and len(found) > MAX_TEXT else found
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
