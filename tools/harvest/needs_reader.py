"""What the import of one module executes: the names of other packages that it asks for, and under which conditions.

Only what runs at import counts: statements at module and class level, decorators, default values, annotations that are
evaluated, bases. Function bodies don't. Conditions are kept as written (``Guard``); ``needs_conditions`` judges them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

CATCHING = {
    "ImportError": {"module", "name"},
    "ModuleNotFoundError": {"module"},
    "AttributeError": {"attribute"},
    "Exception": {"module", "name", "attribute"},
    "BaseException": {"module", "name", "attribute"},
    "RuntimeError": set(),
    "OSError": set(),
}
"""What kinds of missing things an exception class covers."""


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition for what follows it: a test that has to come out ``truth``.

    With ``attempt`` instead of a test: the try block with this number has to fail (``truth`` false) or to succeed.
    """

    test: ast.expr | None
    truth: bool = True
    attempt: int = -1


@dataclass(frozen=True, eq=False)
class Asked:
    """One thing that the import asks for.

    ``kind`` is ``import`` (``import a.b``), ``from`` (``from a.b import c``, ``*`` among the names) or ``attribute``
    (``a.b.c`` as an expression, ``module`` is then the whole chain). ``level`` is that of a relative import.
    ``attempts`` are the try blocks that it stands in, innermost last.
    """

    kind: str
    module: str
    name: str
    level: int
    line: int
    guards: tuple[Guard, ...]
    attempts: tuple[int, ...]


@dataclass
class Binding:
    """One statement that binds a module-level name."""

    value: ast.AST | None
    guards: tuple[Guard, ...]
    attempts: tuple[int, ...]
    module: str = ""
    name: str = ""
    level: int = 0


@dataclass
class Program:
    """One module as far as its import goes."""

    asked: list[Asked] = field(default_factory=list)
    bound: dict[str, list[Binding]] = field(default_factory=dict)
    caught: list[frozenset[str]] = field(default_factory=list)
    stars: list[tuple[str, int, tuple[Guard, ...]]] = field(default_factory=list)
    lazy: bool = False


def read_program(text: str) -> Program:
    """The program of a module's source; raises ``SyntaxError`` for what this Python can't parse."""
    tree = ast.parse(text)
    reader = _Reader()
    reader.evaluated = not any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(a.name == "annotations" for a in node.names)
        for node in tree.body
    )
    reader.block(tree.body)
    return reader.program


class _Reader:
    def __init__(self) -> None:
        self.program = Program()
        self.guards: tuple[Guard, ...] = ()
        self.attempts: tuple[int, ...] = ()
        self.evaluated = True
        self.in_class = 0

    # --- statements ----------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> None:
        kept = self.guards
        for statement in body:
            self.statement(statement)
            if isinstance(statement, ast.If) and _stops(statement.body) and not statement.orelse:
                # whoever gets past it was not stopped
                self.guards = (*self.guards, Guard(statement.test, False))
            elif isinstance(statement, (ast.Raise, ast.Return)):
                break
        self.guards = kept

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports(node)
        elif isinstance(node, ast.If):
            self.expression(node.test)
            self.under(Guard(node.test, True), node.body)
            self.under(Guard(node.test, False), node.orelse)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self.attempt(node)  # type: ignore[arg-type]
        elif isinstance(node, ast.With):
            self.with_block(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function(node)
        elif isinstance(node, ast.ClassDef):
            self.class_(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            self.assignment(node)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter)
            self.bind_target(node.target, None)
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.While):
            self.expression(node.test)
            self.under(Guard(node.test, True), node.body)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child)

    def under(self, guard: Guard, body: list[ast.stmt]) -> None:
        kept, self.guards = self.guards, (*self.guards, guard)
        self.block(body)
        self.guards = kept

    def attempt(self, node: ast.Try) -> None:
        number = len(self.program.caught)
        kinds: set[str] = set()
        for handler in node.handlers:
            covered = _covered(handler.type)
            if not _raises(handler.body):
                kinds |= covered
        self.program.caught.append(frozenset(kinds))
        kept = self.attempts
        self.attempts = (*kept, number)
        self.block(node.body)
        self.attempts = kept
        self.under(Guard(None, True, number), node.orelse)
        for handler in node.handlers:
            self.under(Guard(None, False, number), handler.body)
        self.block(node.finalbody)

    def with_block(self, node: ast.With) -> None:
        for item in node.items:
            self.expression(item.context_expr)
        covered: set[str] = set()
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and _last(call.func) == "suppress":
                for argument in call.args:
                    covered |= _covered(argument)
        if not covered:
            self.block(node.body)
            return
        number = len(self.program.caught)
        self.program.caught.append(frozenset(covered))
        kept, self.attempts = self.attempts, (*self.attempts, number)
        self.block(node.body)
        self.attempts = kept

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                self.ask("import", alias.name, "", 0, node.lineno)
                bound = alias.asname or alias.name.partition(".")[0]
                target = alias.name if alias.asname else bound
                self.bind(bound, Binding(node, self.guards, self.attempts, target))
            else:
                module = node.module or ""
                self.ask("from", module, alias.name, node.level, node.lineno)
                if alias.name == "*":
                    self.program.stars.append((module, node.level, self.guards))
                else:
                    binding = Binding(node, self.guards, self.attempts, module, alias.name, node.level)
                    self.bind(alias.asname or alias.name, binding)

    def ask(self, kind: str, module: str, name: str, level: int, line: int) -> None:
        self.program.asked.append(Asked(kind, module, name, level, line, self.guards, self.attempts))

    def bind(self, name: str, binding: Binding) -> None:
        if not self.in_class:
            self.program.bound.setdefault(name, []).append(binding)

    def bind_target(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, Binding(value, self.guards, self.attempts))
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                values = list(value.elts)
            for part, of in zip(target.elts, values, strict=True):
                self.bind_target(part, of)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            if isinstance(target, ast.Subscript) and _last(target.value) == "modules":
                self.program.lazy = True
            self.expression(target.value)

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        if node.value is not None:
            self.expression(node.value)
        if isinstance(node, ast.AnnAssign) and self.evaluated:
            self.expression(node.annotation)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if isinstance(target, (ast.Tuple, ast.List)) and any(
                isinstance(part, ast.Name) and part.id == "__getattr__" for part in target.elts
            ):
                self.program.lazy = True
            self.bind_target(target, value)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator)
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.expression(default)
        if self.evaluated:
            for annotation in _annotations(node):
                self.expression(annotation)
        if node.name == "__getattr__" and not self.in_class:
            self.program.lazy = True
        self.bind(node.name, Binding(node, self.guards, self.attempts))

    def class_(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.expression(part)
        self.in_class += 1
        self.block(node.body)
        self.in_class -= 1
        self.bind(node.name, Binding(node, self.guards, self.attempts))

    # --- expressions ---------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.Lambda):
            for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
                self.expression(default)
        elif isinstance(node, ast.Attribute):
            chain = _chain(node)
            if chain:
                self.ask("attribute", chain, "", 0, node.lineno)
            else:
                self.expression(node.value)
        elif isinstance(node, ast.IfExp):
            self.expression(node.test)
            self.guarded(Guard(node.test, True), node.body)
            self.guarded(Guard(node.test, False), node.orelse)
        elif isinstance(node, ast.BoolOp):
            kept = self.guards
            for value in node.values:
                self.expression(value)
                self.guards = (*self.guards, Guard(value, isinstance(node.op, ast.And)))
            self.guards = kept
        elif isinstance(node, ast.Constant):
            return
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child)
                elif isinstance(child, (ast.keyword, ast.comprehension)):
                    for part in ast.iter_child_nodes(child):
                        if isinstance(part, ast.expr):
                            self.expression(part)

    def guarded(self, guard: Guard, node: ast.expr) -> None:
        kept, self.guards = self.guards, (*self.guards, guard)
        self.expression(node)
        self.guards = kept


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    spec = node.args
    for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
        if argument is not None and argument.annotation is not None:
            yield argument.annotation
    if node.returns is not None:
        yield node.returns


def _chain(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _covered(node: ast.expr | None) -> set[str]:
    if node is None:
        return {"module", "name", "attribute"}
    found: set[str] = set()
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        # a class of exceptions that nobody knows may cover anything
        found |= CATCHING.get(_last(part), set())
    return found


def _raises(body: list[ast.stmt]) -> bool:
    """Whether a handler ends in an exception whatever happens."""
    return bool(body) and isinstance(body[-1], ast.Raise)


def _stops(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Raise, ast.Return))
