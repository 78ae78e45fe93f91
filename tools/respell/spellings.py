"""Ways to spell a Python program otherwise without changing what it does.

Each spelling takes the tree of a module and changes it in place; a module in which it finds nothing to change stays as it is. Only what
is certainly the same program is changed: an expression moves into a function only if all names in it can be handed over, and nothing in it
binds a name.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

Function = ast.FunctionDef | ast.AsyncFunctionDef
_BINDING = (
    ast.NamedExpr,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Lambda,
    ast.ListComp,
    ast.GeneratorExp,
    ast.DictComp,
    ast.SetComp,
    ast.Starred,
)
_BUILT_IN = frozenset(dir(builtins)) - {"super"}
_MAINS = ("main", "train", "run", "worker", "fit", "evaluate")


def respelled(text: str, spelling: str) -> str | None:
    """The text of a module in another spelling; ``None`` where there is nothing to change, ``SyntaxError`` where it is no Python."""
    tree = ast.parse(text)
    before = ast.dump(tree)
    SPELLINGS[spelling](tree)
    ast.fix_missing_locations(tree)
    return None if ast.dump(tree) == before else ast.unparse(tree) + "\n"


def _bound(statement: ast.AST) -> set[str]:
    """The names that a statement binds in its own scope."""
    if isinstance(statement, Function | ast.ClassDef):
        return {statement.name}
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, Function | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return found


def _parameters(function: Function) -> set[str]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in every if one is not None}


def _locals(function: Function) -> set[str]:
    return _parameters(function).union(*(_bound(statement) for statement in function.body))


def _is_main_test(node: ast.If) -> bool:
    return "__name__" in ast.unparse(node.test)


def _after_imports(tree: ast.Module) -> int:
    """Where definitions can stand in front of the program: behind its docstring and its first imports."""
    place = 0
    for index, statement in enumerate(tree.body):
        is_doc = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_doc and not isinstance(statement, ast.Import | ast.ImportFrom):
            break
        place = index + 1
    return place


def _put(tree: ast.Module, *statements: ast.stmt) -> None:
    place = _after_imports(tree)
    tree.body[place:place] = statements


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


class _Moving(ast.NodeTransformer):
    """Moves expressions of functions into functions of their own at the top of the module."""

    def __init__(self, tree: ast.Module) -> None:
        self.made: list[ast.stmt] = []
        self._outer = set().union(*(_bound(statement) for statement in tree.body)) if tree.body else set()
        self._scopes: list[set[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._scopes.append(_locals(node))
        self.generic_visit(node)
        self._scopes.pop()
        return node

    def moved(self, expr: ast.expr, stem: str, *, gives: bool = True) -> ast.expr:
        """The call that stands for an expression in a function of its own; the expression itself where it can't be moved."""
        names = self._handed(expr)
        if names is None or not self._scopes:
            return expr
        name = f"{stem}_{len(self.made) + 1}"
        given = ast.arguments([], [ast.arg(one) for one in names], None, [], [], None, [])
        body: list[ast.stmt] = [ast.Return(expr) if gives else ast.Expr(expr)]
        self.made.append(ast.FunctionDef(name, given, body, []))
        return ast.Call(_load(name), [_load(one) for one in names], [])

    def _handed(self, expr: ast.expr) -> list[str] | None:
        names: list[str] = []
        for node in ast.walk(expr):
            if isinstance(node, _BINDING):
                return None
            if isinstance(node, ast.Name):
                if any(node.id in scope for scope in self._scopes):
                    if node.id not in names:
                        names.append(node.id)
                elif node.id not in self._outer and node.id not in _BUILT_IN:
                    return None
        return names


class _Tests(_Moving):
    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = self.moved(node.test, "holds")
        return node


class _Calls(_Moving):
    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call):
            node.value = self.moved(node.value, "do", gives=False)
        return node


class _Values(_Moving):
    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript):
            node.value = self.moved(node.value, "made")
        return node


def _by(moving: type[_Moving]) -> Callable[[ast.Module], None]:
    def spell(tree: ast.Module) -> None:
        work = moving(tree)
        work.visit(tree)
        _put(tree, *work.made)

    return spell


class _Negated(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if not _is_main_test(node):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = (node.orelse or [ast.Pass()]), node.body
        return node


class _Flags(ast.NodeTransformer):
    def __init__(self) -> None:
        self._count = 0

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if _is_main_test(node) or any(isinstance(one, ast.NamedExpr) for one in ast.walk(node.test)):
            return node
        self._count += 1
        name, test = f"flag_{self._count}", node.test
        node.test = _load(name)
        return [ast.Assign([_store(name)], test), node]


class _Early(ast.NodeTransformer):
    """The last ``if`` of a function or loop as an early way out."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._shortened(node, ast.Return(None))

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._shortened(node, ast.Continue())

    def _shortened(self, node: ast.FunctionDef | ast.For, out: ast.stmt) -> ast.AST:
        self.generic_visit(node)
        last = node.body[-1]
        if isinstance(last, ast.If) and not last.orelse:
            node.body[-1:] = [ast.If(ast.UnaryOp(ast.Not(), last.test), [out], []), *last.body]
        return node


class _Pulled(ast.NodeTransformer):
    """``for`` as ``next`` in a ``while True``."""

    def __init__(self) -> None:
        self._count = 0

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if node.orelse:
            return node
        self._count += 1
        name = f"stream_{self._count}"
        pull = ast.Assign([node.target], ast.Call(_load("next"), [_load(name)], []))
        stop = ast.ExceptHandler(_load("StopIteration"), None, [ast.Break()])
        return [
            ast.Assign([_store(name)], ast.Call(_load("iter"), [node.iter], [])),
            ast.While(ast.Constant(True), [ast.Try([pull], [stop], [], []), *node.body], []),
        ]


class _Yielded(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = ast.Call(_load("each_of"), [node.iter], [])
        return node


def _through_generator(tree: ast.Module) -> None:
    before = ast.dump(tree)
    _Yielded().visit(tree)
    if ast.dump(tree) != before:
        _put(tree, *ast.parse("def each_of(items):\n    for item in items:\n        yield item\n").body)


class _Spread(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if node.keywords and all(one.arg for one in node.keywords):
            keys: list[ast.expr | None] = [ast.Constant(one.arg) for one in node.keywords]
            node.keywords = [ast.keyword(None, ast.Dict(keys, [one.value for one in node.keywords]))]
        return node


class _Finally(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)):
            node.body = [ast.Try(node.body, [], [], ast.parse("print('done')").body)]
        return node


_TIMED = """
import functools
def timed(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        result = function(*args, **kwargs)
        return result
    return inner
"""


def _decorated(tree: ast.Module) -> None:
    changed = False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and not node.name.startswith("__"):
            if not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)):
                node.decorator_list = [_load("timed")]
                changed = True
    if changed:
        _put(tree, *ast.parse(_TIMED).body)


class _Owned(ast.NodeTransformer):
    """Names as attributes of an object."""

    def __init__(self, owner: str, names: set[str]) -> None:
        self._owner, self._names = owner, names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Attribute(_load(self._owner), node.id, node.ctx) if node.id in self._names else node


def _main_of(tree: ast.Module) -> tuple[ast.FunctionDef, set[str]] | None:
    """The main function of a script, with those of its variables that may become attributes."""
    mains = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name in _MAINS]
    if not mains:
        return None
    function = max(mains, key=lambda one: len(list(ast.walk(one))))
    given = function.args
    inner = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Nonlocal, ast.Global)
    if any(isinstance(one, inner) and one is not function for one in ast.walk(function)):
        return None
    if function.decorator_list or given.vararg or given.kwarg or given.defaults or given.kwonlyargs:
        return None
    names = _locals(function)
    for node in ast.walk(function):
        if isinstance(node, ast.comprehension):
            names -= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.NamedExpr):
            names.discard(node.target.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.discard(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names -= _bound(node)
    return function, names


def _as_class(tree: ast.Module) -> None:
    found = _main_of(tree)
    if found is None:
        return
    function, names = found
    given = [one.arg for one in function.args.args]
    self_ = ast.arg("self")
    keep: list[ast.stmt] = [ast.Assign([ast.Attribute(_load("self"), one, ast.Store())], _load(one)) for one in given]
    start = ast.arguments([], [self_, *(ast.arg(one) for one in given)], None, [], [], None, [])
    alone = ast.arguments([], [self_], None, [], [], None, [])
    body = [_Owned("self", names).visit(one) for one in function.body]
    methods: list[ast.stmt] = [
        ast.FunctionDef("__init__", start, keep or [ast.Pass()], []),
        ast.FunctionDef("go", alone, body, []),
    ]
    made = ast.Call(_load("Program"), [_load(one) for one in given], [])
    function.body = [ast.Return(ast.Call(ast.Attribute(made, "go", ast.Load()), [], []))]
    tree.body.insert(tree.body.index(function), ast.ClassDef("Program", [], [], methods, []))


def _in_namespace(tree: ast.Module) -> None:
    found = _main_of(tree)
    if found is None:
        return
    function, names = found
    names -= _parameters(function)
    first = ast.parse("state = types.SimpleNamespace()").body
    function.body = [*first, *(_Owned("state", names).visit(one) for one in function.body)]
    _put(tree, *ast.parse("import types").body)


def _visited(visitor: Callable[[], ast.NodeTransformer]) -> Callable[[ast.Module], None]:
    def spell(tree: ast.Module) -> None:
        visitor().visit(tree)

    return spell


SPELLINGS: dict[str, Callable[[ast.Module], None]] = {
    "tests-in-functions": _by(_Tests),
    "calls-in-functions": _by(_Calls),
    "values-in-functions": _by(_Values),
    "tests-negated": _visited(_Negated),
    "tests-in-variables": _visited(_Flags),
    "early-ways-out": _visited(_Early),
    "next-for-for": _visited(_Pulled),
    "through-generator": _through_generator,
    "keywords-spread": _visited(_Spread),
    "try-finally": _visited(_Finally),
    "decorated": _decorated,
    "attributes-for-variables": _as_class,
    "namespace-for-variables": _in_namespace,
}
"""By name, what changes the tree of a module."""
