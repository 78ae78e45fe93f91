"""Lists of strings in a Python module, followed through the names, sums and calls that build them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

_MAX_DEPTH = 20
_MAX_LENGTH = 1_000
"""A string that is put together from more characters is no requirement."""
_MAX_ITEMS = 2000
_WRAPPERS = frozenset({"list", "tuple", "set", "sorted"})
_PATH_FUNCTIONS = frozenset({"join", "Path", "joinpath", "abspath"})
_LIST_ENDINGS = (".txt", ".in")


class Item(NamedTuple):
    """A string in a list. ``certain`` is false where only some paths of the program put it there."""

    text: str
    node: ast.expr
    certain: bool = True


class _Part(NamedTuple):
    """An expression that is the value of a name, or is added to it."""

    value: ast.expr
    adds: bool
    certain: bool


class ModuleValues:
    """The assignments of a module, by name; functions are only looked at where they are called."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._names: dict[str, list[_Part]] = {}
        self._keys: dict[str, list[tuple[str, ast.expr]]] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._left = _MAX_ITEMS
        self._texts: dict[str, str | None] = {}
        """The strings that names stand for, each worked out once."""
        self._collect(tree.body, True)

    def _collect(self, body: list[ast.stmt], certain: bool) -> None:
        pending = [(statement, certain) for statement in reversed(body)]
        while pending:
            statement, sure = pending.pop()
            if isinstance(statement, ast.FunctionDef):
                self._functions[statement.name] = statement
                continue
            self._collect_statement(statement, sure)
            plain = isinstance(statement, ast.With)
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            blocks += [handler.body for handler in getattr(statement, "handlers", [])]
            if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
                inner = [nested for block in blocks for nested in block]
                pending.extend((nested, sure and plain) for nested in reversed(inner))

    def _collect_statement(self, statement: ast.stmt, certain: bool) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], statement.value, certain)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value, certain)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            self._part(statement.target.id, _Part(statement.value, True, certain))
        elif isinstance(statement, ast.With):
            for item in statement.items:
                if isinstance(item.optional_vars, ast.Name):
                    self._part(item.optional_vars.id, _Part(item.context_expr, False, certain))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._method(statement.value, certain)

    def _assign(self, target: ast.expr, value: ast.expr, certain: bool) -> None:
        if isinstance(target, ast.Name):
            self._part(target.id, _Part(value, False, certain))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            for element in target.elts:
                self._assign(element, value, certain)
        elif (
            isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
            and isinstance(target.slice, ast.Constant)
            and isinstance(target.slice.value, str)
        ):
            self._keys.setdefault(target.value.id, []).append((target.slice.value, value))

    def _method(self, call: ast.Call, certain: bool) -> None:
        method = call.func
        if (
            isinstance(method, ast.Attribute)
            and method.attr in ("append", "extend")
            and isinstance(method.value, ast.Name)
            and len(call.args) == 1
        ):
            self._part(method.value.id, _Part(call.args[0], True, certain))

    def _part(self, name: str, part: _Part) -> None:
        parts = self._names.setdefault(name, [])
        if not part.adds and part.certain:
            parts.clear()
        parts.append(part)

    def calls(self, function: str) -> Iterator[ast.Call]:
        """Every call of a function by its last name (``setup()``, ``setuptools.setup()``), wherever it stands."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and _last_name(node.func) == function:
                yield node

    def computed(self) -> Iterator[tuple[str, ast.expr]]:
        """The f-strings that begin with text and go on with what can't be followed: that text, and the string."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.JoinedStr) and node.values and self._text(node) is None:
                first = node.values[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value, node

    def keywords(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """The keyword arguments of a call, those in ``**mapping`` included as far as they are written down."""
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value
            else:
                yield from self.entries(keyword.value)

    def entries(self, expression: ast.expr, depth: int = 0) -> list[tuple[str, ast.expr]]:
        """The keys and values of a mapping: a display, ``dict()``, or a name that is filled key by key."""
        if depth > _MAX_DEPTH:
            return []
        found: list[tuple[str, ast.expr]] = []
        if isinstance(expression, ast.Dict):
            for key, value in zip(expression.keys, expression.values, strict=True):
                if key is None:
                    found += self.entries(value, depth + 1)
                elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found.append((key.value, value))
        elif isinstance(expression, ast.Call) and _last_name(expression.func) == "dict":
            found += [(keyword.arg, keyword.value) for keyword in expression.keywords if keyword.arg is not None]
        elif isinstance(expression, ast.Name):
            for part in self._names.get(expression.id, ()):
                found += self.entries(part.value, depth + 1)
            found += self._keys.get(expression.id, [])
        return found

    def strings(self, expression: ast.expr, certain: bool = True, depth: int = 0) -> list[Item]:
        """The strings of a list expression that are written down, in order."""
        if depth > _MAX_DEPTH or self._left <= 0:
            return []
        items: list[Item] = []
        text = self._text(expression, depth)
        if text is not None:
            self._left -= 1
            return [Item(text, expression, certain)]
        if isinstance(expression, (ast.Subscript, ast.Call)) and (named := self._by_name(expression)):
            self._left -= len(named)
            return [item._replace(certain=item.certain and certain) for item in named]
        if isinstance(expression, (ast.List, ast.Tuple, ast.Set)):
            parts = [(element, certain) for element in expression.elts]
        else:
            parts = self._parts(expression, certain)
        for part, sure in parts:
            items += self.strings(part, sure, depth + 1)
        return items

    def _text(self, expression: ast.expr, depth: int = 0) -> str | None:
        """A string that is written, or put together from strings that are; ``None`` for any other expression."""
        if isinstance(expression, ast.Constant):
            return expression.value if isinstance(expression.value, str) else None
        if depth > _MAX_DEPTH:
            return None
        if isinstance(expression, ast.JoinedStr):
            parts = [self._text(part, depth + 1) for part in expression.values]
            return _joined(parts)
        if isinstance(expression, ast.FormattedValue):
            return self._value(expression.value, depth) if expression.format_spec is None else None
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
            return _joined([self._value(side, depth) for side in (expression.left, expression.right)])
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod):
            right = expression.right.elts if isinstance(expression.right, ast.Tuple) else [expression.right]
            return _filled(self._value(expression.left, depth), "%s", [self._value(part, depth) for part in right])
        if (
            isinstance(expression, ast.Call)
            and isinstance(expression.func, ast.Attribute)
            and expression.func.attr == "format"
            and not expression.keywords
        ):
            given = [self._value(part, depth) for part in expression.args]
            return _filled(self._value(expression.func.value, depth), "{}", given)
        return None

    def _value(self, expression: ast.expr, depth: int) -> str | None:
        """As ``_text``, of a name with one certain value too."""
        if isinstance(expression, ast.Name):
            if expression.id not in self._texts:
                self._texts[expression.id] = None  # what a name that is made of itself is meanwhile
                parts = self._names.get(expression.id, [])
                if len(parts) == 1 and parts[0].certain and not parts[0].adds:
                    self._texts[expression.id] = self._text(parts[0].value, depth + 1)
            return self._texts[expression.id]
        return self._text(expression, depth + 1)

    def _by_name(self, expression: ast.Subscript | ast.Call) -> list[Item]:
        """What a table of requirements by package gives: ``deps["torch"]``, or a function that looks several up in it."""
        if isinstance(expression, ast.Subscript):
            wanted, tables = [expression.slice], [expression.value]
        else:
            function = self._functions.get(_last_name(expression.func))
            looked_up = (
                [] if function is None else [n.value for n in ast.walk(function) if isinstance(n, ast.Subscript)]
            )
            wanted, tables = list(expression.args), looked_up
        names = [one.value for one in wanted if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        for table in tables:
            for part in self._names.get(table.id, ()) if isinstance(table, ast.Name) else ():
                if isinstance(part.value, ast.DictComp) and len(names) == len(wanted):
                    source = part.value.generators[0].iter
                    while isinstance(source, (ast.GeneratorExp, ast.ListComp)):
                        source = source.generators[0].iter
                    listed = self.strings(source)
                    return [item for name in names for item in listed if _package(item.text) == name.lower()]
        return []

    def _parts(self, expression: ast.expr, certain: bool) -> list[tuple[ast.expr, bool]]:
        """The lists that an expression is made of."""
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
            return [(expression.left, certain), (expression.right, certain)]
        if isinstance(expression, ast.Starred):
            return [(expression.value, certain)]
        if isinstance(expression, ast.IfExp):
            return [(expression.body, False), (expression.orelse, False)]
        if isinstance(expression, ast.Call) and _last_name(expression.func) in _WRAPPERS:
            return [(argument, certain) for argument in expression.args[:1]]
        if isinstance(expression, ast.Name):
            return [(part.value, certain and part.certain) for part in self._names.get(expression.id, ())]
        if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
            key = expression.slice.value
            values = [value for name, value in self.entries(expression.value) if name == key]
            return [(value, certain) for value in values[-1:]]
        return []

    def files(self, expression: ast.expr) -> list[tuple[str, ast.expr]]:
        """The files of requirements that an expression reads: (path as written, where it is said)."""
        found: dict[str, ast.expr] = {}
        self._files(expression, found, set(), 0)
        return list(found.items())

    def _files(self, expression: ast.expr, found: dict[str, ast.expr], seen: set[str], depth: int) -> None:
        if depth > _MAX_DEPTH or isinstance(expression, (ast.List, ast.Tuple, ast.Set, ast.Constant)):
            return
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and _last_name(node.func) not in _PATH_FUNCTIONS:
                for path, where in self._read_by(node):
                    found.setdefault(path, where)
            elif isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                for part in self._names.get(node.id, ()):
                    self._files(part.value, found, seen, depth + 1)

    def _read_by(self, call: ast.Call) -> list[tuple[str, ast.expr]]:
        """The paths of requirements among a call's arguments, or opened in the body of the function that it calls."""
        bound = {**self._constants(), **self._arguments(call)}
        function = self._functions.get(_last_name(call.func))
        if function is not None:
            opened = [
                node for node in ast.walk(function) if isinstance(node, ast.Call) and _last_name(node.func) == "open"
            ]
            paths = [_path(node.args[0], bound) for node in opened if node.args]
            if any(paths):
                return [(path, call) for path in paths if path.endswith(_LIST_ENDINGS)]
        sources = (
            [call.func.value] if isinstance(call.func, ast.Attribute) and call.func.attr == "read_text" else call.args
        )
        arguments = [(_path(argument, bound), argument) for argument in sources]
        return [(path, argument) for path, argument in arguments if path.endswith(_LIST_ENDINGS)]

    def _constants(self) -> dict[str, str]:
        values = {name: parts[-1].value for name, parts in self._names.items() if parts}
        return {name: v.value for name, v in values.items() if isinstance(v, ast.Constant) and isinstance(v.value, str)}

    def _arguments(self, call: ast.Call) -> dict[str, str]:
        """The strings that a call binds to the parameters of a function of this module, defaults included."""
        function = self._functions.get(_last_name(call.func))
        if function is None:
            return {}
        names = [argument.arg for argument in function.args.args]
        given: dict[str, ast.expr] = {}
        if defaults := function.args.defaults:
            given.update(zip(names[-len(defaults) :], defaults, strict=False))
        given.update(zip(names, call.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
        return {name: v.value for name, v in given.items() if isinstance(v, ast.Constant) and isinstance(v.value, str)}


def _joined(parts: list[str | None]) -> str | None:
    given = [part for part in parts if part is not None]
    is_short = sum(map(len, given)) <= _MAX_LENGTH
    return "".join(given) if is_short and len(given) == len(parts) else None


def _filled(text: str | None, hole: str, values: list[str | None]) -> str | None:
    """A text with its holes filled one by one; ``None`` if there are not as many."""
    if text is None or None in values or text.count(hole) != len(values):
        return None
    for value in values:
        text = text.replace(hole, value or "", 1)
        if len(text) > _MAX_LENGTH:
            return None
    return text


def _package(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return match[0].lower() if match else ""


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _path(expression: ast.expr, bound: dict[str, str], depth: int = 0) -> str:
    """A path expression as text: strings, ``join`` and ``/``; names that we don't know drop out."""
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(expression, ast.Constant):
        return expression.value if isinstance(expression.value, str) else ""
    if isinstance(expression, ast.Name):
        return bound.get(expression.id, "")
    parts: list[ast.expr] = []
    if isinstance(expression, ast.Call) and _last_name(expression.func) in _PATH_FUNCTIONS:
        parts = expression.args
    elif isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Div):
        parts = [expression.left, expression.right]
    return "/".join(text for part in parts if (text := _path(part, bound, depth + 1)))
