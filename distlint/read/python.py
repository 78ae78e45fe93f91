"""Reads Python files: ``ast`` lowered to ``model.python``."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

from distlint.model import python as ir
from distlint.model.facts import ReadError
from distlint.model.span import LineIndex, Span, whole_line
from distlint.read.patterns import as_tests, is_plain
from distlint.read.pulled_items import write_loops
from distlint.read.spread_options import write_out

MAX_DEPTH = 120
"""Expressions and statements nested deeper are replaced by an unknown constant; keeps recursion bounded."""


def read_python(text: str, file: str) -> tuple[ir.Module | None, tuple[ReadError, ...]]:
    """The facts of a Python file; ``None`` and an error if Python's own parser refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        return None, (ReadError(_syntax_error_span(error, file), f"invalid Python: {error.msg}"),)
    except (ValueError, RecursionError, MemoryError) as error:
        return None, (ReadError(whole_line(file), f"Python's parser gives up: {error or type(error).__name__}"),)
    if _SPREADS.search(text):
        write_out(tree)
    if _PULLS.search(text):
        write_loops(tree)
    return _Lowering(text).module(tree), ()


def _attribute_asked(node: ast.Call) -> str:
    """The name that ``getattr(base, "name")`` asks for; ``""`` where it is worked out, or something else is given in its absence."""
    if len(node.args) != 2 or node.keywords or isinstance(node.args[0], ast.Starred):
        return ""
    name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
    return name if isinstance(name, str) and name.isidentifier() else ""


def _is_partial(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "partial" and isinstance(node.value, ast.Name) and node.value.id == "functools"
    return isinstance(node, ast.Name) and node.id == "partial"


def _called_at_once(outer: ast.Call, inner: ast.Call) -> ast.Call:
    """``partial(f, a, key=b)(c)`` as ``f(a, c, key=b)``, as functools documents it; as it is where ``f`` is not given by itself."""
    if not inner.args or isinstance(inner.args[0], ast.Starred):
        return outer
    later = {keyword.arg for keyword in outer.keywords}
    first = [keyword for keyword in inner.keywords if keyword.arg not in later or keyword.arg is None]
    made = ast.Call(inner.args[0], [*inner.args[1:], *outer.args], [*first, *outer.keywords])
    return ast.copy_location(made, outer)


_PULLS = re.compile(r"\bnext\(")
_SPREADS = re.compile(r"[(,]\s*\*\*\s*[A-Za-z_{]")
"""Where a call may spread a dictionary: the trees of other files need not be walked."""


def _syntax_error_span(error: SyntaxError, file: str) -> Span:
    line = max(error.lineno or 1, 1)
    column = max(error.offset or 1, 1)
    return Span(file, line, column, line, column)


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class _Lowering:
    """One file's lowering. Methods are named after the node that they take; each gives the lowered form."""

    def __init__(self, text: str) -> None:
        self._index = None if text.isascii() else LineIndex(text)
        # Byte columns differ from ours only in lines with other characters than ASCII.
        self._wide = frozenset() if self._index is None else self._index.wide_lines()
        self._functions: list[ir.Function] = []
        self._classes: list[ir.Class] = []
        self._imports: list[ir.Import] = []
        self._calls: dict[str, list[ir.Site]] = {}
        self._attributes: set[str] = set()
        self._function = -1
        self._class = -1
        self._prefix = ""
        self._depth = 0
        self._expressions = _dispatch(self, _EXPRESSIONS)
        self._statements = _dispatch(self, _STATEMENTS)

    def module(self, tree: ast.Module) -> ir.Module:
        body = self.body(tree.body)
        return ir.Module(
            body=body,
            functions=tuple(self._functions),
            classes=tuple(self._classes),
            imports=tuple(self._imports),
            calls={name: tuple(sites) for name, sites in self._calls.items()},
            attributes=frozenset(self._attributes),
            is_script=any(_is_main_test(node) for node in tree.body),
        )

    # Positions ---------------------------------------------------------------------------------------------------

    def at(self, node: Any) -> ir.Position:
        line, end_line = node.lineno, node.end_lineno
        if self._wide and (line in self._wide or end_line in self._wide) and self._index is not None:
            column = self._index.column_of_byte(line, node.col_offset)
            end_column = self._index.column_of_byte(end_line, node.end_col_offset)
            return ir.pack(line, column, end_line, end_column)
        column, end_column = node.col_offset + 1, node.end_col_offset + 1
        if column > 0xFFFFF or end_column > 0xFFFFF:
            return ir.pack(line, column, end_line, end_column)
        packed: int = (line << 64) | (column << 44) | (end_line << 20) | end_column
        return packed

    # Expressions -------------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> ir.Expr:
        kind = type(node)
        if kind is ast.Name:
            return ir.Name(node.id, self.at(node))  # type: ignore[attr-defined]
        if kind is ast.Constant:
            return ir.Constant(node.value, self.at(node))  # type: ignore[attr-defined]
        if self._depth > MAX_DEPTH:
            return ir.Constant(..., self.at(node))
        self._depth += 1
        try:
            return self._expressions[kind](node)  # type: ignore[no-any-return]
        finally:
            self._depth -= 1

    def maybe(self, node: ast.expr | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def attribute(self, node: ast.Attribute) -> ir.Expr:
        self._attributes.add(node.attr)
        return ir.Attribute(self.expr(node.value), node.attr, self.at(node))

    def call(self, node: ast.Call) -> ir.Expr:
        kind = type(node.func)
        if kind is ast.Name and node.func.id == "getattr" and (name := _attribute_asked(node)):  # type: ignore[attr-defined]
            self._attributes.add(name)
            return ir.Attribute(self.expr(node.args[0]), name, self.at(node))
        if kind is ast.Call and _is_partial(node.func.func):  # type: ignore[attr-defined]
            node = _called_at_once(node, node.func)  # type: ignore[arg-type]
        func = self.expr(node.func)
        call = ir.Call(
            func,
            tuple([self.expr(arg) for arg in node.args]),
            tuple([ir.Keyword(kw.arg, self.expr(kw.value), self.at(kw)) for kw in node.keywords]),
            self.at(node),
        )
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        self._calls.setdefault(name, []).append(ir.Site(call, self._function))
        return call

    def dict_display(self, node: ast.Dict) -> ir.Expr:
        return ir.DictDisplay(
            tuple([self.maybe(key) for key in node.keys]), tuple([self.expr(v) for v in node.values]), self.at(node)
        )

    def list_display(self, node: ast.List | ast.Tuple | ast.Set) -> ir.Expr:
        kind = "list" if isinstance(node, ast.List) else "tuple" if isinstance(node, ast.Tuple) else "set"
        return ir.ListDisplay(kind, tuple([self.expr(item) for item in node.elts]), self.at(node))

    def subscript(self, node: ast.Subscript) -> ir.Expr:
        return ir.Subscript(self.expr(node.value), self.expr(node.slice), self.at(node))

    def slice(self, node: ast.Slice) -> ir.Expr:
        return ir.Slice(self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step), self.at(node))

    def binary(self, node: ast.BinOp) -> ir.Expr:
        return ir.Operation((_OPERATORS[type(node.op)],), (self.expr(node.left), self.expr(node.right)), self.at(node))

    def unary(self, node: ast.UnaryOp) -> ir.Expr:
        operand = node.operand
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant):
            value = operand.value
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return ir.Constant(-value, self.at(node))
        return ir.Operation((_OPERATORS[type(node.op)],), (self.expr(operand),), self.at(node))

    def boolean(self, node: ast.BoolOp) -> ir.Expr:
        operator = _OPERATORS[type(node.op)]
        operands = tuple([self.expr(value) for value in node.values])
        return ir.Operation((operator,) * (len(operands) - 1), operands, self.at(node))

    def compare(self, node: ast.Compare) -> ir.Expr:
        return ir.Operation(
            tuple([_OPERATORS[type(op)] for op in node.ops]),
            (self.expr(node.left), *[self.expr(right) for right in node.comparators]),
            self.at(node),
        )

    def conditional(self, node: ast.IfExp) -> ir.Expr:
        return ir.Conditional(self.expr(node.test), self.expr(node.body), self.expr(node.orelse), self.at(node))

    def formatted(self, node: ast.JoinedStr) -> ir.Expr:
        parts: list[ir.Expr] = []
        for value in node.values:
            inner = value.value if isinstance(value, ast.FormattedValue) else value
            parts.append(self.expr(inner))
        forms = tuple([_form(value) for value in node.values])
        return ir.Formatted(tuple(parts), self.at(node), forms if any(form != "" for form in forms) else ())

    def starred(self, node: ast.Starred) -> ir.Expr:
        return ir.Starred(self.expr(node.value), self.at(node))

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ir.Expr:
        generators = tuple(
            [
                (self.expr(g.target), self.expr(g.iter), tuple([self.expr(test) for test in g.ifs]))
                for g in node.generators
            ]
        )
        if isinstance(node, ast.DictComp):
            pair = (self.expr(node.key), self.expr(node.value))
            return ir.Comprehension("dict", ir.ListDisplay("tuple", pair, self.at(node)), generators, self.at(node))
        kind = {"ListComp": "list", "SetComp": "set"}.get(type(node).__name__, "generator")
        return ir.Comprehension(kind, self.expr(node.elt), generators, self.at(node))

    def lambda_(self, node: ast.Lambda) -> ir.Expr:
        return ir.Lambda(self.parameters(node.args), self.expr(node.body), self.at(node))

    def await_(self, node: ast.Await | ast.Yield | ast.YieldFrom) -> ir.Expr:
        kind = {"Await": "await", "Yield": "yield", "YieldFrom": "yield from"}[type(node).__name__]
        return ir.Wrapped(kind, self.maybe(node.value), "", self.at(node))

    def walrus(self, node: ast.NamedExpr) -> ir.Expr:
        return ir.Wrapped(":=", self.expr(node.value), node.target.id, self.at(node))

    # Statements --------------------------------------------------------------------------------------------------

    def body(self, nodes: list[ast.stmt]) -> tuple[ir.Stmt, ...]:
        lowered: list[ir.Stmt] = []
        statements = self._statements
        for node in nodes:
            kind = type(node)
            if kind is ast.Expr:
                value = node.value  # type: ignore[attr-defined]
                if type(value) is not ast.Constant:
                    lowered.append(ir.Evaluate(self.expr(value), self.at(node)))
            elif kind is ast.Import or kind is ast.ImportFrom:
                items = self._import_items(node)  # type: ignore[arg-type]
                self._imports.extend(items)
                lowered.extend(items)
            elif kind is ast.Match and not is_plain(node):  # type: ignore[arg-type]
                if self._depth <= MAX_DEPTH:
                    self._depth += 1
                    lowered.extend(self.body(as_tests(node)))  # type: ignore[arg-type]
                    self._depth -= 1
            elif kind is not ast.Pass:
                if self._depth > MAX_DEPTH:
                    continue
                self._depth += 1
                lowered.append(statements[kind](node))
                self._depth -= 1
        return tuple(lowered)

    def _import_items(self, node: ast.Import | ast.ImportFrom) -> list[ir.Import]:
        whole = self.at(node)
        if isinstance(node, ast.Import):
            return [
                ir.Import(*ir.imported_name(item.name, item.asname), 0, self.at(item), whole) for item in node.names
            ]
        module = node.module or ""
        return [
            ir.Import(item.asname or item.name, module, item.name, node.level, self.at(item), whole)
            for item in node.names
        ]

    def assign(self, node: ast.Assign) -> ir.Stmt:
        value = self.expr(node.value)
        return ir.Assign(tuple([self.expr(target) for target in node.targets]), value, None, self.at(node))

    def annotated(self, node: ast.AnnAssign) -> ir.Stmt:
        return ir.Assign((self.expr(node.target),), self.maybe(node.value), self.expr(node.annotation), self.at(node))

    def augmented(self, node: ast.AugAssign) -> ir.Stmt:
        return ir.AugAssign(self.expr(node.target), _OPERATORS[type(node.op)], self.expr(node.value), self.at(node))

    def return_(self, node: ast.Return) -> ir.Stmt:
        return ir.Return(self.maybe(node.value), self.at(node))

    def if_(self, node: ast.If) -> ir.Stmt:
        return ir.If(self.expr(node.test), self.body(node.body), self.body(node.orelse), self.at(node))

    def match(self, node: ast.Match) -> ir.Stmt:
        cases = []
        for case in node.cases:
            pattern = case.pattern
            cases.append((self.pattern(pattern), self.maybe(case.guard), self.body(case.body)))
        return ir.Match(self.expr(node.subject), tuple(cases), self.at(node))

    def pattern(self, pattern: ast.pattern) -> ir.Expr:
        """A pattern that is a plain value, several of them, or the wildcard (the name ``_``)."""
        if isinstance(pattern, ast.MatchValue):
            return self.expr(pattern.value)
        if isinstance(pattern, ast.MatchSingleton):
            return ir.Constant(pattern.value, self.at(pattern))
        if isinstance(pattern, ast.MatchOr):
            items = [self.expr(part.value) for part in pattern.patterns if isinstance(part, ast.MatchValue)]
            return ir.ListDisplay("tuple", tuple(items), self.at(pattern))
        return ir.Name("_", self.at(pattern))

    def for_(self, node: ast.For | ast.AsyncFor) -> ir.Stmt:
        return ir.For(
            self.expr(node.target), self.expr(node.iter), self.body(node.body), self.body(node.orelse), self.at(node)
        )

    def while_(self, node: ast.While) -> ir.Stmt:
        return ir.While(self.expr(node.test), self.body(node.body), self.body(node.orelse), self.at(node))

    def with_(self, node: ast.With | ast.AsyncWith) -> ir.Stmt:
        items = tuple([(self.expr(item.context_expr), self.maybe(item.optional_vars)) for item in node.items])
        return ir.With(items, self.body(node.body), self.at(node))

    def try_(self, node: ast.Try) -> ir.Stmt:
        handlers = tuple([(self.maybe(h.type), h.name or "", self.body(h.body)) for h in node.handlers])
        return ir.Try(self.body(node.body), handlers, self.body(node.orelse), self.body(node.finalbody), self.at(node))

    def jump(self, node: ast.stmt) -> ir.Stmt:
        if isinstance(node, ast.Raise):
            values = tuple([self.expr(value) for value in (node.exc, node.cause) if value is not None])
            return ir.Jump("raise", values, self.at(node))
        if isinstance(node, ast.Delete):
            return ir.Jump("del", tuple([self.expr(target) for target in node.targets]), self.at(node))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            kind = "global" if isinstance(node, ast.Global) else "nonlocal"
            at = self.at(node)
            return ir.Jump(kind, tuple([ir.Name(name, at) for name in node.names]), at)
        return ir.Jump("break" if isinstance(node, ast.Break) else "continue", (), self.at(node))

    def assert_(self, node: ast.Assert) -> ir.Stmt:
        return ir.Assert(self.expr(node.test), self.at(node))

    def type_alias(self, node: ast.stmt) -> ir.Stmt:
        return ir.Jump("pass", (), self.at(node))

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Stmt:
        decorators = tuple([self.expr(decorator) for decorator in node.decorator_list])
        parameters = self.parameters(node.args)
        index = len(self._functions)
        self._functions.append(_PLACEHOLDER)
        outer = (self._function, self._class, self._prefix)
        qualname = self._prefix + node.name
        self._function, self._class, self._prefix = index, -1, qualname + "."
        body = self.body(node.body)
        self._function, self._class, self._prefix = outer
        self._functions[index] = ir.Function(
            name=node.name,
            qualname=qualname,
            parameters=parameters,
            decorators=decorators,
            body=body,
            owner=outer[1],
            parent=outer[0],
            is_async=isinstance(node, ast.AsyncFunctionDef),
            at=self.at(node),
            name_at=self._name_position(node),
        )
        return ir.Define("function", index, self.at(node))

    def class_(self, node: ast.ClassDef) -> ir.Stmt:
        decorators = tuple([self.expr(decorator) for decorator in node.decorator_list])
        bases = tuple([self.expr(base) for base in node.bases])
        keywords = tuple([ir.Keyword(kw.arg, self.expr(kw.value), self.at(kw)) for kw in node.keywords])
        index = len(self._classes)
        self._classes.append(_CLASS_PLACEHOLDER)
        outer = (self._function, self._class, self._prefix)
        qualname = self._prefix + node.name
        self._class, self._prefix = index, qualname + "."
        body = self.body(node.body)
        self._function, self._class, self._prefix = outer
        self._classes[index] = ir.Class(
            node.name, qualname, bases, keywords, decorators, body, outer[0], self.at(node), self._name_position(node)
        )
        return ir.Define("class", index, self.at(node))

    def _name_position(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ir.Position:
        """Where the defined name stands: behind the keyword on the line of the definition."""
        keyword = {"FunctionDef": 4, "AsyncFunctionDef": 10, "ClassDef": 6}[type(node).__name__]
        column = node.col_offset + keyword
        if self._index is not None:
            column = self._index.column_of_byte(node.lineno, column) - 1
        return ir.pack(node.lineno, column + 1, node.lineno, column + 1 + len(node.name))

    def parameters(self, args: ast.arguments) -> tuple[ir.Parameter, ...]:
        found: list[ir.Parameter] = []
        plain = [(arg, "positional") for arg in args.posonlyargs] + [(arg, "normal") for arg in args.args]
        first_default = len(plain) - len(args.defaults)
        for position, (arg, kind) in enumerate(plain):
            default = args.defaults[position - first_default] if position >= first_default else None
            found.append(self.parameter(arg, kind, default))
        if args.vararg is not None:
            found.append(self.parameter(args.vararg, "var-positional", None))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            found.append(self.parameter(arg, "keyword", default))
        if args.kwarg is not None:
            found.append(self.parameter(args.kwarg, "var-keyword", None))
        return tuple(found)

    def parameter(self, arg: ast.arg, kind: str, default: ast.expr | None) -> ir.Parameter:
        return ir.Parameter(arg.arg, kind, self.maybe(default), self.maybe(arg.annotation), self.at(arg))


def _form(part: ast.expr) -> str | None:
    """The conversion and form of a part of an f-string, as it is written; ``None`` where it holds expressions."""
    if not isinstance(part, ast.FormattedValue):
        return ""
    conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
    if part.format_spec is None:
        return conversion
    texts = [one.value for one in getattr(part.format_spec, "values", ()) if isinstance(one, ast.Constant)]
    if len(texts) != len(getattr(part.format_spec, "values", (None,))):
        return None
    return f"{conversion}:{''.join(map(str, texts))}"


_PLACEHOLDER = ir.Function("", "", (), (), (), -1, -1, False, 0, 0)
_CLASS_PLACEHOLDER = ir.Class("", "", (), (), (), (), -1, 0, 0)

_EXPRESSIONS: dict[str, str] = {
    "Attribute": "attribute",
    "Call": "call",
    "Dict": "dict_display",
    "List": "list_display",
    "Tuple": "list_display",
    "Set": "list_display",
    "Subscript": "subscript",
    "Slice": "slice",
    "BinOp": "binary",
    "UnaryOp": "unary",
    "BoolOp": "boolean",
    "Compare": "compare",
    "IfExp": "conditional",
    "JoinedStr": "formatted",
    "TemplateStr": "formatted",
    "Starred": "starred",
    "ListComp": "comprehension",
    "SetComp": "comprehension",
    "GeneratorExp": "comprehension",
    "DictComp": "comprehension",
    "Lambda": "lambda_",
    "Await": "await_",
    "Yield": "await_",
    "YieldFrom": "await_",
    "NamedExpr": "walrus",
}

_STATEMENTS: dict[str, str] = {
    "Assign": "assign",
    "AnnAssign": "annotated",
    "AugAssign": "augmented",
    "Return": "return_",
    "If": "if_",
    "Match": "match",
    "For": "for_",
    "AsyncFor": "for_",
    "While": "while_",
    "With": "with_",
    "AsyncWith": "with_",
    "Try": "try_",
    "TryStar": "try_",
    "Raise": "jump",
    "Delete": "jump",
    "Global": "jump",
    "Nonlocal": "jump",
    "Break": "jump",
    "Continue": "jump",
    "Assert": "assert_",
    "TypeAlias": "type_alias",
    "FunctionDef": "function",
    "AsyncFunctionDef": "function",
    "ClassDef": "class_",
}


def _dispatch(lowering: _Lowering, methods: dict[str, str]) -> dict[type[ast.AST], Callable[[Any], Any]]:
    """Node class -> bound method, for the node classes that this version of Python has."""
    return {getattr(ast, node): getattr(lowering, method) for node, method in methods.items() if hasattr(ast, node)}


def _is_main_test(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    texts = {side.value for side in sides if isinstance(side, ast.Constant)}
    return "__name__" in names and "__main__" in texts
