"""Asks astroid for values that our own evaluation does not model: ``%`` formatting, attributes that classes inherit or compute.

astroid costs ten times what our facts cost, so it is asked last, only for values that a rule is about to judge, and only in the file
where the expression stands. It must never read anything by itself: imports are not followed, extensions are not loaded. Results of
string methods and of library calls are not believed: without its plug-ins astroid takes the empty string of a stub for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, one_of, unknown

if TYPE_CHECKING:
    from astroid import nodes

    from distlint.link.project import Project

MAX_QUESTIONS = 60
"""Questions per project; a project with more would be slower than what the answers are worth."""

MAX_CHARACTERS = 200_000
"""Longer files are not given to astroid."""

MAX_INFERRED = 4


def worth_asking(expr: ir.Expr) -> bool:
    """Whether astroid may know an expression that we don't: no call may stand in it, except one that makes an object."""
    if isinstance(expr, ir.Attribute):
        return all(not isinstance(part, ir.Call) or _makes_object(part) for part in below(expr))
    is_format = isinstance(expr, ir.Operation) and expr.operators == ("%",)
    return is_format and not any(isinstance(part, ir.Call) for part in below(expr))


def _makes_object(call: ir.Call) -> bool:
    return isinstance(call.func, ir.Name) and call.func.id[:1].isupper()


class Inference:
    """astroid over the files of one project, each parsed once and only when asked about."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._modules: dict[str, nodes.Module | None] = {}
        self._asked = 0

    def value(self, span: Span) -> Value:
        """What astroid infers for the expression that covers ``span`` exactly; unknown where it can't tell."""
        if self._asked >= MAX_QUESTIONS:
            return unknown("too many values that need inference", span)
        self._asked += 1
        module = self._module(span.file)
        node = _node_at(module, span, self._project.text_of(span.file)) if module is not None else None
        if node is None:
            return unknown("not inferred", span)
        values = _inferred(node)
        if values is None:
            return unknown("not inferred", span)
        return one_of(values, (span,), Confidence.LIKELY)

    def _module(self, file: str) -> nodes.Module | None:
        if file not in self._modules:
            self._modules[file] = _parse(self._project.text_of(file), file)
        return self._modules[file]


def _parse(text: str, file: str) -> nodes.Module | None:
    """The astroid tree of a text, in a manager of its own that refuses to look for any other module."""
    if not text or len(text) > MAX_CHARACTERS:
        return None
    from astroid.builder import AstroidBuilder
    from astroid.exceptions import AstroidError, AstroidImportError
    from astroid.manager import AstroidManager

    class _Closed(AstroidManager):  # type: ignore[misc]  # astroid is not followed by the type checker
        def ast_from_module_name(self, modname: Any, *_: Any, **__: Any) -> Any:
            if modname == "builtins":
                return self.builtins_module
            raise AstroidImportError(f"{modname} is not read")

        def ast_from_file(self, filepath: str, *_: Any, **__: Any) -> Any:
            raise AstroidImportError(f"{filepath} is not read")

    manager = _Closed()
    manager.always_load_extensions = False
    manager.max_inferable_values = MAX_INFERRED * 4
    try:
        return AstroidBuilder(manager, apply_transforms=False).string_build(text, "analysed", file)
    except (AstroidError, RecursionError, ValueError):
        return None


def _node_at(module: nodes.Module, span: Span, text: str) -> nodes.NodeNG | None:
    """The expression node that covers a span exactly; astroid counts columns in bytes from zero."""
    lines = text.splitlines()

    def column(line: int, points: int) -> int:
        return len(lines[line - 1][: points - 1].encode("utf-8", "surrogatepass")) if line <= len(lines) else -1

    wanted = (span.line, column(span.line, span.column), span.end_line, column(span.end_line, span.end_column))
    stack: list[nodes.NodeNG] = [module]
    while stack:
        node = stack.pop()
        if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == wanted:
            return node
        first, last = node.fromlineno, node.tolineno
        if node is module or (first is not None and last is not None and first <= span.line <= last):
            stack.extend(node.get_children())
    return None


def _inferred(node: nodes.NodeNG) -> list[Any] | None:
    """The plain values that a node can be; ``None`` unless astroid is sure of all of them."""
    from astroid.exceptions import AstroidError

    values: list[Any] = []
    try:
        for found in node.infer():
            plain = _plain(found)
            if plain is _UNSURE or len(values) >= MAX_INFERRED:
                return None
            values.append(plain)
    except (AstroidError, RecursionError):
        return None
    return values or None


_UNSURE = object()


def _plain(node: Any, depth: int = 0) -> Any:
    from astroid import nodes

    if isinstance(node, nodes.Const):
        return node.value
    if depth > 4:
        return _UNSURE
    if isinstance(node, (nodes.List, nodes.Tuple)):
        items = [_plain(item, depth + 1) for item in node.elts]
        return _UNSURE if _UNSURE in items else items
    if isinstance(node, nodes.Dict):
        pairs = [(_plain(key, depth + 1), _plain(value, depth + 1)) for key, value in node.items]
        if any(part is _UNSURE for pair in pairs for part in pair):
            return _UNSURE
        return dict(pairs)
    return _UNSURE
