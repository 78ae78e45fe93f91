"""Under which releases of other packages a statement at import time runs.

A condition is a mapping of packages to the set of their releases (as bits) for which it holds; ``{}`` always holds,
``False`` never, and ``None`` means that nobody can tell without running it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from needs_sources import ABSENT, Source
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from needs_reader import Binding, Guard
    from needs_world import World

Condition = Mapping[str, int] | bool | None
Compare = Callable[[object, object], bool]

ALWAYS: Condition = {}
_MAX_DEPTH = 8
_OPERATORS: dict[type[ast.cmpop], Compare] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # type: ignore[assignment]
_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_SIGNS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_AT_LEAST = re.compile(r"^_?is_(?P<package>[a-z_]+?)_(?:greater|ge|gte|higher)[a-z_]*?_?(?P<version>\d+(?:_\d+)*)?$")
_AT_LEAST_UPPER = re.compile(r"^_?(?P<package>[A-Z_]+?)_(?:GREATER_EQUAL|GE|GTE)_(?P<version>\d+(?:_\d+)*)$")
_AVAILABLE = re.compile(r"^_?(?:is|has|have)_(?P<package>[a-z0-9_]+?)(?:_available|_installed)?$")
_VERSION_TEST = re.compile(r"^_?(?:is|check|compare)_(?P<package>[a-z_]+?)_?versions?$")


def both(left: Condition, right: Condition) -> Condition:
    """The conjunction."""
    if left is False or right is False:
        return False
    if left is None or right is None:
        return None
    merged = dict(_parts(left))
    for package, mask in _parts(right).items():
        merged[package] = merged.get(package, mask) & mask
        if not merged[package]:
            return False
    return merged


def either(left: Condition, right: Condition) -> Condition:
    """The disjunction, as far as it can be told."""
    if left is False:
        return right
    if right is False:
        return left
    if left is None or right is None:
        return None
    one, other = _parts(left), _parts(right)
    if not one or not other:
        return {}
    if len(one) == len(other) == 1 and one.keys() == other.keys():
        package = next(iter(one))
        return {package: one[package] | other[package]}
    return None


def _parts(condition: Condition) -> Mapping[str, int]:
    return condition if isinstance(condition, Mapping) else {}


@dataclass
class Judge:
    """Judges tests in one module of one release."""

    world: World
    source: Source
    depth: int = 0
    names: dict[str, ast.expr] = field(default_factory=dict)
    """What parameters stand for, inside a function that is followed."""

    def guards(self, guards: tuple[Guard, ...]) -> Condition:
        """Whether all guards hold."""
        found = ALWAYS
        for guard in guards:
            if guard.test is not None:
                found = both(found, self.test(guard.test, guard.truth))
            else:
                found = both(found, self.attempt(guard.attempt, guard.truth))
            if found is False:
                return False
        return found

    def inverted(self, condition: Condition) -> Condition:
        """The negation."""
        if condition is None:
            return None
        if isinstance(condition, bool):
            return not condition or ALWAYS
        if not condition:
            return False
        if len(condition) > 1:
            return None
        ((package, mask),) = condition.items()
        left = self.world.full(package) & ~mask
        if left:
            return {package: left}
        # "not installed": for what everybody has that never holds
        return False if package in self.world.given else None

    def test(self, node: ast.expr, truth: bool = True) -> Condition:
        """When a test comes out ``truth``."""
        found = self._test(node)
        return found if truth else self.inverted(found)

    def attempt(self, number: int, succeeds: bool) -> Condition:
        """When a try block finds everything that it imports."""
        program = self.source.program
        found = ALWAYS
        for asked in program.asked if program is not None else ():
            if number in asked.attempts and asked.kind != "attribute" and not asked.level:
                package = self.world.package_of(asked.module)
                if package is None:
                    if self.world.is_standard(asked.module) or asked.module.split(".")[0] in self.own_tops():
                        continue
                    return None
                found = both(found, {package: self.world.full(package) & ~self.world.lacking(package, asked)})
        return found if succeeds else self.inverted(found)

    def own_tops(self) -> tuple[str, ...]:
        """The top modules of the release that is read."""
        return self.world.tops(self.source.release.package)

    # --- tests ---------------------------------------------------------------------------------------------------

    def _test(self, node: ast.expr) -> Condition:
        if isinstance(node, ast.Constant):
            return ALWAYS if node.value else False
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.test(node.operand, False)
        if isinstance(node, ast.BoolOp):
            conditions = [self._test(value) for value in node.values]
            join = both if isinstance(node.op, ast.And) else either
            found = conditions[0]
            for condition in conditions[1:]:
                found = join(found, condition)
            return found
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node.left, node.ops[0], node.comparators[0])
        if isinstance(node, ast.Call):
            return self._call(node)
        return None

    def _named(self, node: ast.Name | ast.Attribute) -> Condition:
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name == "TYPE_CHECKING":
            return False
        if name in self.names and isinstance(node, ast.Name):
            return self._test(self.names[name])
        found = self._at_least(name)
        if found is not None or not isinstance(node, ast.Name):
            return found
        return self._variable(name)

    def _variable(self, name: str) -> Condition:
        found = self._bindings(name)
        if found is None or self.depth > _MAX_DEPTH:
            return None
        judge, bindings = found
        values = [binding.value for binding in bindings]
        if len(bindings) == 1 and isinstance(values[0], ast.expr) and not bindings[0].attempts:
            guarded = judge.guards(bindings[0].guards)
            return judge._test(values[0]) if guarded == ALWAYS else None
        if not all(isinstance(v, (ast.Constant, ast.Import, ast.ImportFrom)) for v in values):
            return None
        # set to something in a try block, to nothing where that fails
        true = [b for b in bindings if not isinstance(b.value, ast.Constant) or b.value.value]
        false = [b for b in bindings if isinstance(b.value, ast.Constant) and not b.value.value]
        if len(true) != 1 or not false:
            return None
        condition = judge.guards(true[0].guards)
        for number in true[0].attempts:
            condition = both(condition, judge.attempt(number, True))
        return condition

    def _bindings(self, name: str) -> tuple[Judge, list[Binding]] | None:
        """The statements that bind a name, in the module of the same release that they stand in."""
        source: Source | None = self.source
        for _ in range(_MAX_DEPTH):
            program = source.program if source is not None else None
            bindings = program.bound.get(name, []) if program is not None else []
            if source is None or not bindings:
                return None
            first = bindings[0]
            if len(bindings) == 1 and isinstance(first.value, ast.ImportFrom):
                target = source.absolute(first.module, first.level)
                if target.split(".")[0] not in self.own_tops():
                    return Judge(self.world, source, self.depth + 1), bindings
                source, name = source.release.source(target), first.name
                continue
            return Judge(self.world, source, self.depth + 1), bindings
        return None

    # --- versions ------------------------------------------------------------------------------------------------

    def _comparison(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Condition:
        if isinstance(sign, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            return self.test(left, isinstance(sign, ast.IsNot))
        compare = _OPERATORS.get(type(sign))
        if compare is None:
            return None
        text = ast.unparse(left)
        if text in ("sys.platform", "platform.system()", "os.name") and isinstance(right, ast.Constant):
            same = right.value in ("linux", "Linux", "posix")
            return ALWAYS if same == isinstance(sign, ast.Eq) else False
        subject = self._subject(left)
        if subject is None:
            left, right = right, left
            compare, subject = _OPERATORS[_SWAPPED.get(type(sign), type(sign))], self._subject(left)
        if subject is None:
            return None
        package, part = subject
        literal = self._literal(right)
        if literal is None:
            return None
        return self._where(package, part, compare, literal)

    def _where(self, package: str, part: int, compare: Compare, literal: Version | tuple[int, ...] | int) -> Condition:
        mask = 0
        for position, version in enumerate(self.world.versions(package)):
            value: object = version
            other: object = literal
            if part >= 0:
                value = (*version.release, 0, 0, 0)[part]
                if not isinstance(literal, int):
                    return None
            elif isinstance(literal, tuple):
                value = version.release[: len(literal)] if len(literal) < 3 else version.release
            elif isinstance(literal, int):
                return None
            if compare(value, other):
                mask |= 1 << position
        return {package: mask} if mask else False

    def _subject(self, node: ast.expr, depth: int = 0) -> tuple[str, int] | None:
        """The package whose version an expression is, and which number of it (-1: all)."""
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self._subject(self.names[node.id], depth + 1)
            found = self._bindings(node.id)
            if found is not None and len(found[1]) == 1 and isinstance(found[1][0].value, ast.expr):
                return found[0]._subject(found[1][0].value, depth + 1)
            return None
        text = ast.unparse(node)
        if text.startswith("sys.version_info"):
            part = re.search(r"\[(\d)\]$|\.(major|minor)$", text)
            return "python", -1 if part is None else int(part[1]) if part[1] else ("major", "minor").index(part[2])
        part = re.search(r"split\(['\"]\.['\"]\)\[(\d)\]|\.release\[(\d)\]|\.(major|minor)\b", text)
        index = (
            -1
            if part is None
            else next(int(g) if g.isdigit() else ("major", "minor").index(g) for g in part.groups() if g)
        )
        for child in ast.walk(node):
            if isinstance(child, ast.Attribute) and child.attr in ("__version__", "TORCH_VERSION"):
                package = self._package_named(ast.unparse(child.value))
                return None if package is None else (package, index)
            if isinstance(child, ast.Call) and _last(child.func) in ("version", "get_version", "_get_version"):
                if child.args and isinstance(child.args[0], ast.Constant):
                    package = self.world.distribution(str(child.args[0].value))
                    return None if package is None else (package, index)
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id not in ("version", "Version", "parse", "packaging", "int"):
                inner = self._subject(child, depth + 1)
                if inner is not None:
                    return inner[0], max(inner[1], index)
        return None

    def _package_named(self, name: str) -> str | None:
        return self.world.package_of(name)

    def _literal(self, node: ast.expr) -> Version | tuple[int, ...] | int | None:
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self._literal(self.names[node.id])
            found = self._bindings(node.id)
            if found is not None and len(found[1]) == 1 and isinstance(found[1][0].value, ast.expr):
                return found[0]._literal(found[1][0].value) if self.depth <= _MAX_DEPTH else None
            return None
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int):
                return node.value
            return _version(str(node.value))
        if isinstance(node, ast.JoinedStr):
            return None
        if isinstance(node, ast.Tuple):
            numbers = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, int)]
            return tuple(numbers) if len(numbers) == len(node.elts) else None
        if isinstance(node, ast.Call) and len(node.args) == 1:
            return self._literal(node.args[0])
        return None

    def _at_least(self, name: str) -> Condition:
        match = _AT_LEAST.match(name) or _AT_LEAST_UPPER.match(name)
        if match is None or not match["version"]:
            return None
        package = self.world.distribution(match["package"].lower())
        version = _version(match["version"].replace("_", "."))
        if package is None or version is None:
            return None
        return self._where(package, -1, operator.ge, version)  # type: ignore[arg-type]

    # --- calls ---------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Condition:
        name = _last(node.func)
        words = [self._word(argument) for argument in node.args]
        if name == "hasattr" and len(node.args) == 2 and words[1]:
            return self._has_attribute(node.args[0], words[1])
        if name in ("bool", "_LazyBool") and len(node.args) == 1:
            return self._test(node.args[0])
        if name in (
            "find_spec",
            "_is_package_available",
            "module_available",
            "_module_available",
            "package_available",
            "is_package_available",
        ):
            return self._installed(words[0].partition(".")[0]) if words and words[0] else None
        if name in ("RequirementCache", "_RequirementAvailable", "ModuleAvailableCache", "_requirement_available"):
            return self._required(words[0]) if words and words[0] else None
        if name == "compare_version" and len(node.args) >= 3:
            return self._compared(words[0], ast.unparse(node.args[1]).rpartition(".")[2], words[2])
        if name == "compare_versions" and len(words) >= 3:
            package = words[0] or (self._subject(node.args[0]) or ("", -1))[0]
            return self._compared(package, _SIGNS.get(words[1], ""), words[2])
        if len(words) >= 2 and words[0] in _SIGNS and (match := _VERSION_TEST.match(name)):
            return self._compared(match["package"], _SIGNS[words[0]], words[1])
        if (match := _AT_LEAST.match(name)) and words and words[0]:
            return self._compared(match["package"], "ge", words[0])
        found = self._followed(node, name)
        if found is not None:
            return found
        if match := _AVAILABLE.match(name):
            return self._available(match["package"], node)
        return None

    def _word(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self._word(self.names[node.id])
            found = self._bindings(node.id)
            if found is not None and len(found[1]) == 1 and isinstance(found[1][0].value, ast.Constant):
                return str(found[1][0].value.value)
        return ""

    def _installed(self, module: str) -> Condition:
        package = self.world.package_of(module) or self.world.distribution(module)
        return {package: self.world.full(package)} if package is not None else None

    def _available(self, package: str, node: ast.Call) -> Condition:
        """``is_x_available()``, with the least version that it asks for by default or in this call."""
        found = self._installed(package)
        if not isinstance(found, Mapping) or not found:
            return None
        least = self._word(node.args[0]) if len(node.args) == 1 else ""
        for keyword in node.keywords:
            least = self._word(keyword.value) if keyword.arg == "min_version" else least
        if not least:
            least = self._default_minimum(_last(node.func)) or self.world.enforced(self.source.release, package)
        return both(found, self._compared(package, "ge", least)) if least else found

    def _default_minimum(self, name: str) -> str:
        found = self._bindings(name)
        if found is None or len(found[1]) != 1 or not isinstance(found[1][0].value, ast.FunctionDef):
            return ""
        function = found[1][0].value
        defaults = dict(zip(reversed(function.args.args), reversed(function.args.defaults), strict=False))
        for argument, default in defaults.items():
            if argument.arg == "min_version":
                return found[0]._word(default)
        return ""

    def _required(self, text: str) -> Condition:
        match = re.match(r"([A-Za-z0-9_.-]+?)\s*([<>=!~].*)?$", text)
        package = self.world.distribution(match[1]) if match else None
        if match is None or package is None:
            return None
        try:
            wanted = SpecifierSet(match[2] or "")
        except InvalidSpecifier:
            return None
        mask = 0
        for position, version in enumerate(self.world.versions(package)):
            mask |= wanted.contains(version, prereleases=True) << position
        return {package: mask} if mask else False

    def _compared(self, package: str, sign: str, literal: str) -> Condition:
        known = self.world.distribution(package)
        version = _version(literal)
        if known is None or version is None or not sign:
            return None
        return self._where(known, -1, getattr(operator, sign), version)

    def _has_attribute(self, owner: ast.expr, name: str) -> Condition:
        text = ast.unparse(owner)
        package = self.world.package_of(text)
        if package is None or not re.fullmatch(r"[\w.]+", text):
            return None
        mask = 0
        for position, release in enumerate(self.world.releases(package)):
            mask |= (not release.reaches(f"{text}.{name}")) << position
        return {package: mask} if mask else False

    def _followed(self, node: ast.Call, name: str) -> Condition:
        """What a small function of the same package returns."""
        found = self._bindings(name) if isinstance(node.func, ast.Name) else None
        if found is None or len(found[1]) != 1 or self.depth > _MAX_DEPTH:
            return None
        judge, function = found[0], found[1][0].value
        if not isinstance(function, ast.FunctionDef):
            return None
        body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        spec = function.args
        parameters = dict(zip((a.arg for a in reversed(spec.args)), reversed(spec.defaults), strict=False))
        judge.names = {**parameters}
        for parameter, value in zip((a.arg for a in spec.args), node.args, strict=False):
            judge.names[parameter] = value
        for keyword in node.keywords:
            if keyword.arg:
                judge.names[keyword.arg] = keyword.value
        return judge._returned(body)

    def _returned(self, body: list[ast.stmt]) -> Condition:
        """When a function's body returns something true."""
        going: Condition = ALWAYS
        found: Condition = False
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return either(found, both(going, self._test(statement.value)))
            if isinstance(statement, ast.Assert):
                continue
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self.names[statement.targets[0].id] = statement.value
                continue
            if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Return):
                return None
            inner = self._returned(statement.body)
            test = self._test(statement.test)
            found = either(found, both(going, both(test, inner)))
            going = both(going, self.inverted(test))
            if statement.orelse:
                return either(found, both(going, self._returned(statement.orelse)))
        return None


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


__all__ = ["ABSENT", "ALWAYS", "Condition", "Judge", "both", "either"]
