"""Tests of a package's version, evaluated for one release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from distlint.link.library_uses import written_name
from distlint.link.modules import FunctionRef, GlobalRef
from distlint.link.walking import below, blocks_of, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from packaging.version import Version

    from distlint.link.project import Project


class _Unknown:
    """A value that can't be computed. ``PROBE`` asks for a version or a feature, ``OTHER`` is about something else."""

    def __bool__(self) -> bool:
        raise TypeError("unknown values have no truth")


PROBE = _Unknown()
OTHER = _Unknown()

MAX_DEPTH = 12

_PROBING_CALLS = frozenset(
    {"hasattr", "find_spec", "signature", "getfullargspec", "getattr", "get_distribution", "find_loader"}
)
_PROBING_NAMES = re.compile(
    r"version|availab|support|compat|installed|legacy|greater|less_than|^has_|_has_|TYPE_CHECKING|_(?:ge|gt|le|lt)_|(?:\D\d+_\d+)",
    re.IGNORECASE,
)
_PARSERS = frozenset({"parse", "Version", "LooseVersion", "StrictVersion", "parse_version", "TorchVersion"})
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
_METHODS = frozenset(
    {"split", "startswith", "replace", "strip", "join", "partition", "rpartition", "removesuffix", "index"}
)


class VersionTests:
    """Evaluates expressions for a release of one package; ``package`` names the distribution and its top module."""

    def __init__(self, project: Project, package: str) -> None:
        self._project = project
        self._package = package
        self._module = package.replace("-", "_")
        word = re.escape(self._module)
        self._asking = re.compile(rf"_?is_{word}_version")
        self._asking_least = re.compile(rf"_?is_{word}_(?:greater_or_equal|ge)(?:_than)?(?:_(\d+(?:_\d+)*))?")

    @staticmethod
    def is_known(value: Any) -> bool:
        """Whether a value was computed."""
        return value is not PROBE and value is not OTHER

    @staticmethod
    def mentions_version(expr: ir.Expr) -> bool:
        """Whether a decorator asks for a version or a feature, or skips, as far as its own words tell."""
        return any(_is_probe(part) or _last_name(part).startswith(("skip", "require")) for part in below(expr))

    def value(self, expr: ir.Expr, file: str, function: int, version: str) -> Any:
        """The value of an expression with a release; ``PROBE`` or ``OTHER`` where it can't be computed."""
        return _Evaluation(self, version).value(expr, file, function, 0)

    def asks(self, name: str) -> tuple[str, str] | None:
        """For the last name of a helper: (operator, version) that it stands for, each ``""`` where arguments say it."""
        if self._asking.fullmatch(name):
            return "", ""
        least = self._asking_least.fullmatch(name)
        return (">=", (least.group(1) or "").replace("_", ".")) if least is not None else None


class _Evaluation:
    def __init__(self, tests: VersionTests, version: str) -> None:
        self._tests = tests
        self._project = tests._project
        self._version = version
        self._active: set[tuple[str, str]] = set()

    def value(self, expr: ir.Expr, file: str, function: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            return OTHER
        kind = type(expr)
        if kind is ir.Constant:
            return expr.value  # type: ignore[union-attr]
        if kind is ir.Name or kind is ir.Attribute:
            return self._named(expr, file, function, depth)
        if kind is ir.Call:
            return self._call(expr, file, function, depth)  # type: ignore[arg-type]
        if kind is ir.Operation:
            return self._operation(expr, file, function, depth)  # type: ignore[arg-type]
        if kind is ir.Subscript:
            return self._subscript(expr, file, function, depth)  # type: ignore[arg-type]
        if kind is ir.ListDisplay:
            return self._combined([self.value(item, file, function, depth + 1) for item in expr.items], tuple)  # type: ignore[union-attr]
        if kind is ir.Comprehension:
            return self._comprehension(expr, file, function, depth)  # type: ignore[arg-type]
        return PROBE if any(_is_probe(part) for part in below(expr)) else OTHER

    def _combined(self, values: Sequence[Any], make: Callable[[Any], Any]) -> Any:
        """``make(values)`` where all are known; what it raises makes the answer a probe."""
        if any(value is PROBE for value in values):
            return PROBE
        if any(value is OTHER for value in values):
            return OTHER
        try:
            return make(values)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return PROBE

    # Names -------------------------------------------------------------------------------------------------------

    def _named(self, expr: Any, file: str, function: int, depth: int) -> Any:
        name = written_name(self._project, expr, file, function)
        if name in (f"{self._tests._module}.__version__", f"{self._tests._module}.version.__version__"):
            return self._version
        last = expr.name if type(expr) is ir.Attribute else expr.id
        asked = self._tests.asks(last)
        if asked is not None and asked[1]:
            return self._compare(asked[0], self._version, asked[1])
        found = self._assigned(expr, file, function, depth)
        if found is not None:
            return found
        if type(expr) is ir.Attribute and not name:
            return self._part(expr, file, function, depth)
        return PROBE if any(_is_probe(part) for part in below(expr)) else OTHER

    def _part(self, expr: ir.Attribute, file: str, function: int, depth: int) -> Any:
        base = self.value(expr.base, file, function, depth + 1)
        if expr.name in ("release", "major", "minor", "micro", "base_version", "public", "version"):
            return self._combined([base], lambda values: getattr(_parsed(values[0]), expr.name))
        return PROBE if base is PROBE or _PROBING_NAMES.search(expr.name) else OTHER

    def _assigned(self, expr: Any, file: str, function: int, depth: int) -> Any:
        """What a variable of the project is set to; ``None`` if the name is no such variable."""
        name = expr.id if type(expr) is ir.Name else ""
        around = function
        while name and around >= 0:
            body = self._project.module(file).functions[around].body
            values = list(assignments(body, name))
            if values:
                return self._one_of(values, name, file, around, depth)
            around = self._project.module(file).functions[around].parent
        target = self._project.modules.resolve(expr, file)
        if not isinstance(target, GlobalRef):
            return None
        values = list(assignments(self._project.module(target.file).body, target.name))
        return self._one_of(values, target.name, target.file, -1, depth) if values else None

    def _one_of(self, values: list[ir.Expr | None], name: str, file: str, function: int, depth: int) -> Any:
        key = (file, name)
        if key in self._active:
            return OTHER
        self._active.add(key)
        try:
            found = [PROBE if v is None else self.value(v, file, function, depth + 1) for v in values]
        finally:
            self._active.discard(key)
        if len(found) == 1:
            return found[0]
        return PROBE if any(value is PROBE for value in found) or _PROBING_NAMES.search(name) else OTHER

    # Calls -------------------------------------------------------------------------------------------------------

    def _call(self, call: ir.Call, file: str, function: int, depth: int) -> Any:
        func = call.func
        last = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        if last in _PROBING_CALLS:
            return PROBE
        arguments = [self.value(argument, file, function, depth + 1) for argument in call.args]
        asked = self._tests.asks(last)
        if asked is not None:
            return self._asked(asked, arguments)
        if last in _PARSERS and len(arguments) == 1:
            return self._combined(arguments, lambda values: _parsed(values[0]))
        if last == "version" and len(arguments) == 1:
            return self._version if arguments[0] == self._tests._package else PROBE
        if type(func) is ir.Attribute and last in _METHODS:
            base = self.value(func.base, file, function, depth + 1)
            return self._combined([base, *arguments], lambda values: getattr(str(values[0]), last)(*_texts(values[1:])))
        if last in ("int", "float", "str", "tuple", "list") and len(arguments) == 1:
            kinds: dict[str, Callable[[Any], Any]] = {
                "int": int,
                "float": float,
                "str": str,
                "tuple": tuple,
                "list": tuple,
            }
            return self._combined(arguments, lambda values: kinds[last](values[0]))
        if last == "map" and len(call.args) == 2 and type(call.args[0]) is ir.Name and call.args[0].id == "int":
            return self._combined(arguments[1:], lambda values: tuple(int(one) for one in values[0]))
        return self._own_function(call, last, file, depth)

    def _asked(self, asked: tuple[str, str], arguments: list[Any]) -> Any:
        operator, wanted = asked
        words = [operator] if operator else []
        given = [*words, *([wanted] if wanted else []), *arguments[: 2 - len(words) - bool(wanted)]]
        if len(given) != 2:
            return PROBE
        return self._combined(given, lambda values: self._compare(values[0], self._version, values[1]))

    def _own_function(self, call: ir.Call, last: str, file: str, depth: int) -> Any:
        target = self._project.modules.resolve(call.func, file)
        if isinstance(target, FunctionRef):
            function = self._project.function(target)
            returns = [s for s in statements(function.body) if type(s) is ir.Return]
            if len(returns) == 1 and returns[0].value is not None and not function.parameters:
                return self.value(returns[0].value, target.file, target.index, depth + 1)
            asking = (part for s in statements(function.body) for e in expressions_of(s) for part in below(e))
            return PROBE if any(_is_probe(part) for part in asking) or _PROBING_NAMES.search(last) else OTHER
        return PROBE if _PROBING_NAMES.search(last) else OTHER

    # Operations --------------------------------------------------------------------------------------------------

    def _operation(self, expr: ir.Operation, file: str, function: int, depth: int) -> Any:
        values = [self.value(operand, file, function, depth + 1) for operand in expr.operands]
        first = expr.operators[0]
        if first in ("and", "or"):
            return _short_circuit(values, first == "or")
        if first == "not":
            return self._combined(values, lambda known: not known[0])
        if all(operator in _COMPARISONS for operator in expr.operators):
            return self._combined(values, lambda known: self._chain(expr.operators, known))
        return PROBE if any(value is PROBE for value in values) else OTHER

    def _chain(self, operators: Sequence[str], values: Sequence[Any]) -> Any:
        answers = [self._compare(o, a, b) for o, a, b in zip(operators, values, values[1:], strict=False)]
        return PROBE if any(answer is PROBE for answer in answers) else all(answers)

    def _compare(self, operator: str, left: Any, right: Any) -> Any:
        """A comparison as Python makes it; of two texts, what comparing as texts and as versions agrees on."""
        compare = _COMPARISONS.get(operator)
        if compare is None:
            return PROBE
        try:
            if operator in ("in", "not in"):
                return compare(left, right)
            if isinstance(left, str) and isinstance(right, str):
                as_versions = compare(_parsed(left), _parsed(right))
                return (
                    as_versions
                    if left == self._version and operator[0] in "<>"
                    else _agreed(as_versions, compare(left, right))
                )
            if not isinstance(left, (int, float, tuple)) and not isinstance(right, (int, float, tuple)):
                return compare(_parsed(left), _parsed(right))
            return compare(left, right)
        except (TypeError, ValueError):
            return PROBE

    def _subscript(self, expr: ir.Subscript, file: str, function: int, depth: int) -> Any:
        base = self.value(expr.base, file, function, depth + 1)
        if type(expr.index) is ir.Slice:
            bounds = [
                None if part is None else self.value(part, file, function, depth + 1)
                for part in (expr.index.lower, expr.index.upper, expr.index.step)
            ]
            return self._combined([base, *bounds], lambda values: values[0][slice(*values[1:])])
        index = self.value(expr.index, file, function, depth + 1)
        return self._combined([base, index], lambda values: values[0][values[1]])

    def _comprehension(self, expr: ir.Comprehension, file: str, function: int, depth: int) -> Any:
        """``[int(x) for x in items]``, the only kind that version tests use."""
        if len(expr.generators) != 1:
            return OTHER
        target, iterable, tests = expr.generators[0]
        items = self.value(iterable, file, function, depth + 1)
        element = expr.element
        plain = type(element) is ir.Call and type(element.func) is ir.Name and element.func.id == "int" and not tests
        if not plain or type(target) is not ir.Name:
            return PROBE if items is PROBE or self._tests.is_known(items) else OTHER
        return self._combined([items], lambda values: tuple(int(item) for item in values[0]))


def _agreed(first: bool, second: bool) -> Any:
    return first if first is second else PROBE


def _short_circuit(values: list[Any], decides: bool) -> Any:
    known = [bool(value) for value in values if value is not PROBE and value is not OTHER]
    if decides in known:
        return decides
    if any(value is PROBE for value in values):
        return PROBE
    return OTHER if len(known) < len(values) else not decides


def _texts(values: Sequence[Any]) -> list[Any]:
    return [value if not isinstance(value, tuple) else list(value) for value in values]


def _parsed(value: Any) -> Version:
    from packaging.version import Version

    return value if isinstance(value, Version) else Version(str(value))


def assignments(body: Sequence[ir.Stmt], name: str, tried: bool = False) -> Iterator[ir.Expr | None]:
    """What a body assigns to a name, however deep; ``None`` for what depends on an exception or is unpacked."""
    for statement in body:
        if isinstance(statement, ir.Assign):
            if any(_binds(target, name) for target in statement.targets):
                yield None if tried else statement.value
            elif any(type(t) is ir.ListDisplay and any(_binds(i, name) for i in t.items) for t in statement.targets):
                yield None
        else:
            for block in blocks_of(statement):
                yield from assignments(block, name, tried or isinstance(statement, ir.Try))


def _binds(target: ir.Expr, name: str) -> bool:
    return type(target) is ir.Name and target.id == name


def _last_name(expr: ir.Expr) -> str:
    return expr.name if isinstance(expr, ir.Attribute) else expr.id if isinstance(expr, ir.Name) else ""


def _is_probe(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Name):
        return _PROBING_NAMES.search(expr.id) is not None or expr.id in _PROBING_CALLS
    if isinstance(expr, ir.Attribute):
        is_named = expr.name in _PROBING_CALLS or expr.name == "__version__"
        return is_named or _PROBING_NAMES.search(expr.name) is not None
    return False
