"""Reads which options a parser of a checkout gets, without running it.

A small interpreter over ``ast`` for functions that are handed an ``ArgumentParser``: it follows the calls that pass the
parser on, the groups, and the factories that make options of the fields of a dataclass
(``megatron/training/argument_utils.py``, ``ArgumentGroupFactory``). Both branches of a condition are read.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Scope = dict[str, Any]

BUILTINS = {"int": int, "float": float, "str": str, "bool": bool, "None": None, "list": list}
NUMBERS = (int, float)


@dataclass(eq=False)
class Module:
    """One file: what its names stand for at top level."""

    name: str
    tree: ast.Module
    is_package: bool


@dataclass(eq=False)
class Definition:
    """A function, class or lambda, and the module in which its names are looked up."""

    module: Module
    node: ast.FunctionDef | ast.ClassDef | ast.Lambda

    @property
    def name(self) -> str:
        """Its name; the text of a lambda."""
        return ast.unparse(self.node) if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(frozen=True)
class Member:
    """A member of an enumeration."""

    name: str
    value: Any


@dataclass(frozen=True)
class Unknown:
    """What can't be told from the text, such as what the environment holds."""

    text: str


@dataclass
class Factory:
    """``ArgumentGroupFactory(a dataclass, exclude=names)``."""

    owner: Definition
    exclude: list[str]


@dataclass
class Field:
    """A field of a dataclass: its annotation, its default (``MISSING`` where it needs a value), and what it carries."""

    name: str
    module: Module
    annotation: ast.expr
    default: Any
    metadata: dict[str, Any] = field(default_factory=dict)
    init: bool = True


class _Parser:
    """The parser, and each of its groups."""


PARSER = _Parser()
MISSING = Unknown("no default")


class Checkout:
    """The Python files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """The module of this dotted name; ``None`` if the folder has none."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def needed(self, name: str) -> Module:
        """A module that has to be there."""
        found = self.module(name)
        if found is None:
            raise SystemExit(f"{self.root}: {name} is not where it was")
        return found

    def _read(self, name: str) -> Module | None:
        base = self.root.joinpath(*name.split("."))
        for path, is_package in ((base.with_suffix(".py"), False), (base / "__init__.py", True)):
            if path.is_file():
                return Module(name, ast.parse(path.read_text(encoding="utf-8")), is_package)
        return None

    def lookup(self, module: Module, name: str, depth: int = 0) -> Any:
        """What a name at the top of a module stands for; ``Unknown`` for what is not in the folder."""
        found: Any = Unknown(name)
        for statement in _flat(module.tree.body):
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.name == name:
                found = Definition(module, statement)
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    if (alias.asname or alias.name) == name and depth < 12:
                        imported = self.imported(module, statement, alias.name, depth + 1)
                        found = imported if not isinstance(imported, Unknown) else found
            elif isinstance(statement, ast.Assign):
                if any(isinstance(target, ast.Name) and target.id == name for target in statement.targets):
                    found = Evaluator(self).evaluate(statement.value, {}, module)
        return found

    def imported(self, module: Module, statement: ast.ImportFrom, name: str, depth: int = 0) -> Any:
        """What ``from ... import name`` in a module brings."""
        base = statement.module or ""
        if statement.level:
            parts = module.name.split(".")
            parts = parts[: len(parts) - statement.level + (1 if module.is_package else 0)]
            base = ".".join([*parts, *([base] if base else [])])
        source = self.module(base)
        if source is None:
            return Unknown(f"{base}.{name}")
        found = self.lookup(source, name, depth)
        return found if not isinstance(found, Unknown) else self.module(f"{base}.{name}") or found

    def members(self, owner: Definition) -> list[Member]:
        """The members of an enumeration, in order."""
        found = []
        for statement in owner.node.body if isinstance(owner.node, ast.ClassDef) else ():
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                automatic = isinstance(statement.value, ast.Call)
                value = len(found) + 1 if automatic else Evaluator(self).evaluate(statement.value, {}, owner.module)
                found.append(Member(statement.targets[0].id, value))
        return found

    def bases(self, owner: Definition) -> list[Definition]:
        """The base classes that stand in the folder."""
        bases = owner.node.bases if isinstance(owner.node, ast.ClassDef) else []
        found = (Evaluator(self).evaluate(base, {}, owner.module) for base in bases)
        return [base for base in found if isinstance(base, Definition)]

    def is_enum(self, owner: Definition) -> bool:
        """Whether a class is an enumeration."""
        if not isinstance(owner.node, ast.ClassDef):
            return False
        return any("Enum" in ast.unparse(base) for base in owner.node.bases)

    def fields(self, owner: Definition) -> list[Field]:
        """The fields of a dataclass, those of its bases first, in the order in which ``dataclasses`` has them."""
        found: dict[str, Field] = {}
        for base in reversed(self.bases(owner)):
            for inherited in self.fields(base):
                found[inherited.name] = inherited
        for statement in owner.node.body if isinstance(owner.node, ast.ClassDef) else ():
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if "ClassVar" not in ast.unparse(statement.annotation):
                    found[statement.target.id] = self._field(owner, statement.target.id, statement)
        return list(found.values())

    def _field(self, owner: Definition, name: str, statement: ast.AnnAssign) -> Field:
        read = Field(name, owner.module, statement.annotation, MISSING)
        value = statement.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("field", "dataclasses.field"):
            given = {keyword.arg: keyword.value for keyword in value.keywords}
            evaluate = Evaluator(self).evaluate
            if "default" in given:
                read.default = evaluate(given["default"], {}, owner.module)
            elif "default_factory" in given:
                read.default = _made(given["default_factory"], lambda node: evaluate(node, {}, owner.module))
            if "metadata" in given:
                read.metadata = evaluate(given["metadata"], {}, owner.module)
            read.init = "init" not in given or bool(evaluate(given["init"], {}, owner.module))
        elif value is not None:
            read.default = Evaluator(self).evaluate(value, {}, owner.module)
        return read


def _made(node: ast.expr, evaluate: Any) -> Any:
    if isinstance(node, ast.Lambda):
        return evaluate(node.body)
    return {"list": [], "dict": {}}.get(ast.unparse(node), Unknown(ast.unparse(node)))


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, also those below ``try`` and ``if``."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Try):
            handlers = [line for handler in statement.handlers for line in handler.body]
            found += [*_flat(handlers), *_flat(statement.body), *_flat(statement.orelse)]
        elif isinstance(statement, ast.If):
            found += [*_flat(statement.orelse), *_flat(statement.body)]
        else:
            found.append(statement)
    return found


class Evaluator:
    """What expressions of a checkout stand for, as far as their text tells."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout

    def evaluate(self, node: ast.expr, scope: Scope, module: Module) -> Any:
        """The value of an expression; ``Unknown`` where the text does not tell."""

        def inner(part: ast.expr) -> Any:
            return self.evaluate(part, scope, module)

        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in scope:
                return scope[node.id]
            found = self.checkout.lookup(module, node.id)
            return BUILTINS[node.id] if isinstance(found, Unknown) and node.id in BUILTINS else found
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = [inner(item) for item in node.elts]
            return tuple(items) if isinstance(node, ast.Tuple) else items
        if isinstance(node, ast.Dict):
            return {inner(key): inner(value) for key, value in zip(node.keys, node.values, strict=True) if key}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = inner(node.operand)
            return -value if isinstance(value, NUMBERS) else Unknown(ast.unparse(node))
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, inner(node.left), inner(node.right))
        if isinstance(node, ast.Lambda):
            return Definition(module, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, module)
        if isinstance(node, ast.ListComp):
            return self._comprehension(node, scope, module)
        if isinstance(node, ast.JoinedStr):
            return "".join(str(inner(part)) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return inner(node.value)
        if isinstance(node, ast.Call):
            return self.call(node, scope, module)
        return Unknown(ast.unparse(node))

    def call(self, node: ast.Call, scope: Scope, module: Module) -> Any:
        """The value of a call: lists of members, ranges and numbers of constants."""
        name = ast.unparse(node.func)
        given = [self.evaluate(argument, scope, module) for argument in node.args]
        if name == "list" and len(given) == 1:
            owner = given[0]
            if isinstance(owner, Definition) and self.checkout.is_enum(owner):
                return self.checkout.members(owner)
            return list(owner) if isinstance(owner, (list, tuple)) else Unknown(ast.unparse(node))
        if name == "range" and all(isinstance(number, int) for number in given):
            return list(range(*given))
        if name in ("int", "float") and len(given) == 1 and isinstance(given[0], NUMBERS):
            return BUILTINS[name](given[0])  # type: ignore[operator]
        return Unknown(ast.unparse(node))

    def _arithmetic(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
            if isinstance(node.op, ast.Pow):
                return left**right
            if isinstance(node.op, ast.Mult):
                return left * right
        if isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, (list, str)):
            return left + right
        return Unknown(ast.unparse(node))

    def _attribute(self, node: ast.Attribute, scope: Scope, module: Module) -> Any:
        owner = self.evaluate(node.value, scope, module)
        if isinstance(owner, Member):
            return getattr(owner, node.attr, Unknown(ast.unparse(node)))
        if isinstance(owner, Definition) and self.checkout.is_enum(owner):
            for member in self.checkout.members(owner):
                if member.name == node.attr:
                    return member
        if isinstance(owner, Module):
            return self.checkout.lookup(owner, node.attr)
        return Unknown(ast.unparse(node))

    def _comprehension(self, node: ast.ListComp, scope: Scope, module: Module) -> Any:
        (loop,) = node.generators
        source = self.evaluate(loop.iter, scope, module)
        if isinstance(source, Definition) and self.checkout.is_enum(source):
            source = self.checkout.members(source)
        if not isinstance(source, (list, tuple)) or loop.ifs or not isinstance(loop.target, ast.Name):
            return Unknown(ast.unparse(node))
        return [self.evaluate(node.elt, {**scope, loop.target.id: item}, module) for item in source]


@dataclass
class Added:
    """One call of ``add_argument``: the flags, and the keywords as the text has them."""

    flags: list[str]
    keywords: dict[str, Any]
    perhaps: bool = False
    """Whether it depends on a condition."""


class Walker(Evaluator):
    """Walks functions that are given the parser, and notes what they add."""

    def __init__(self, checkout: Checkout) -> None:
        super().__init__(checkout)
        self.added: list[Added] = []
        self.outside: list[str] = []
        self._conditions = 0
        """Calls that hand the parser to functions which are not in the folder."""

    def walk(self, function: Definition, given: list[Any]) -> Any:
        """Reads the body of a function that is called with these values; gives what it returns."""
        scope: Scope = {}
        if not isinstance(function.node, ast.FunctionDef):
            return None
        arguments = function.node.args.args
        defaults = function.node.args.defaults
        for argument, default in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
            scope[argument.arg] = self.evaluate(default, {}, function.module)
        scope.update(zip((argument.arg for argument in arguments), given, strict=False))
        return self._run(function.node.body, scope, function.module)

    def _run(self, body: list[ast.stmt], scope: Scope, module: Module) -> Any:
        returned: Any = None
        for statement in body:
            if isinstance(statement, ast.Assign):
                value = self.evaluate(statement.value, scope, module)
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        scope[target.id] = value
            elif isinstance(statement, ast.Expr):
                self.evaluate(statement.value, scope, module)
            elif isinstance(statement, ast.Return):
                returned = self.evaluate(statement.value, scope, module) if statement.value else None
            elif isinstance(statement, ast.If):
                self._conditions += 1
                ways = [self._run(part, scope, module) for part in (statement.body, statement.orelse)]
                returned = next((way for way in ways if way is not None), returned)
                self._conditions -= 1
            elif isinstance(statement, ast.Try):
                for part in [*(handler.body for handler in statement.handlers), statement.body, statement.orelse]:
                    returned = self._run(part, scope, module) or returned
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    scope[alias.asname or alias.name] = self.checkout.imported(module, statement, alias.name)
            elif isinstance(statement, ast.FunctionDef):
                scope[statement.name] = Definition(module, statement)
            elif isinstance(statement, (ast.For, ast.While, ast.With)) and "add_argument" in ast.unparse(statement):
                raise SystemExit(f"{module.name}:{statement.lineno}: options that are added in a loop")
        return returned

    def call(self, node: ast.Call, scope: Scope, module: Module) -> Any:
        """As the evaluator, and what is done with the parser."""
        if isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value, scope, module)
            if owner is PARSER:
                return self._use(node, node.func.attr, scope, module)
            if isinstance(owner, Factory) and node.func.attr == "build_group":
                from dataclass_options import options_of

                self.added += options_of(self.checkout, owner)
                return PARSER
        if ast.unparse(node.func).endswith("ArgumentParser"):
            return PARSER
        callee = self.evaluate(node.func, scope, module)
        given = [self.evaluate(argument, scope, module) for argument in node.args]
        if isinstance(callee, Definition) and callee.name == "ArgumentGroupFactory":
            excluded = [self.evaluate(k.value, scope, module) for k in node.keywords if k.arg == "exclude"]
            return Factory(given[0], excluded[0] if excluded else [])
        if any(value is PARSER for value in given):
            if isinstance(callee, Definition) and isinstance(callee.node, ast.FunctionDef):
                return self.walk(callee, given)
            self.outside.append(ast.unparse(node.func))
            return PARSER
        return super().call(node, scope, module)

    def _use(self, node: ast.Call, method: str, scope: Scope, module: Module) -> Any:
        if method in ("add_argument_group", "add_mutually_exclusive_group"):
            return PARSER
        if method == "add_argument":
            flags = [self.evaluate(argument, scope, module) for argument in node.args]
            keywords = {
                keyword.arg: self.evaluate(keyword.value, scope, module)
                for keyword in node.keywords
                if keyword.arg not in (None, "help", "metavar")
            }
            given = {name: value for name, value in keywords.items() if name}
            self.added.append(Added(flags, given, self._conditions > 0))
        elif method not in ("parse_args", "parse_known_args"):
            raise SystemExit(f"{module.name}:{node.lineno}: {method} of a parser is not understood")
        return None
