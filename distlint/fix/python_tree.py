"""Finding the nodes of a Python file by where they stand, in code-point offsets."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from distlint.fix.items import ItemList
from distlint.fix.operations import CannotFixError
from distlint.model.span import LineIndex

_Node = TypeVar("_Node", bound=ast.AST)
_SILENT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


class PythonTree:
    """A parsed file with conversion of positions."""

    def __init__(self, text: str) -> None:
        try:
            self.module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise CannotFixError("the file does not parse") from None
        self.text = text
        self._index = LineIndex(text)

    def region(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node; parentheses around an expression are not part of it."""
        line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        start = self._index.column_of_byte(line, getattr(node, "col_offset", 0))
        end = self._index.column_of_byte(end_line, getattr(node, "end_col_offset", 0))
        return self._index.offset(line, start), self._index.offset(end_line, end)

    def statement_region(self, node: ast.stmt) -> tuple[int, int]:
        """Start and end of a statement, with the decorators of a definition."""
        start, end = self.region(node)
        decorators = getattr(node, "decorator_list", [])
        if decorators:
            first = self.region(decorators[0])[0]
            start = self.text.rindex("@", 0, first)
        return start, end

    def covering(self, kinds: type[_Node] | tuple[type[_Node], ...], start: int, end: int) -> _Node | None:
        """The smallest node of these kinds whose region holds ``start`` to ``end``."""
        best: _Node | None = None
        size = len(self.text) + 1
        for node in ast.walk(self.module):
            if isinstance(node, kinds):
                low, high = self.region(node)
                if low <= start and end <= high and high - low < size:
                    best, size = node, high - low
        return best

    def blocks(self) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
        """Every block of statements with the node that owns it."""
        for node in ast.walk(self.module):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block:
                    yield node, block

    def statement(self, start: int, end: int) -> tuple[ast.stmt, list[ast.stmt], ast.AST]:
        """The smallest statement that holds the region, the block that it stands in, and the block's owner.

        Raises:
            CannotFixError: there is none.
        """
        best: tuple[int, ast.stmt, list[ast.stmt], ast.AST] | None = None
        for owner, block in self.blocks():
            for statement in block:
                low, high = self.statement_region(statement)
                if low <= start and end <= high and (best is None or high - low < best[0]):
                    best = high - low, statement, block, owner
        if best is None:
            raise CannotFixError("there is no statement at this place")
        return best[1:]


class Item(NamedTuple):
    """An item between commas: ``node`` its value; ``name`` its keyword or ``None``; ``star`` for ``*x`` and ``**x``."""

    node: ast.expr
    name: str | None
    star: bool


@lru_cache(maxsize=4)
def python_tree(text: str) -> PythonTree:
    """The parsed file; the last few are kept, because many fixes touch the same file."""
    return PythonTree(text)


def dict_items(tree: PythonTree, display: ast.Dict) -> ItemList:
    """The entries of a dict display, in the order of ``display.keys``."""
    start, end = tree.region(display)
    return _items(tree, start, end, display.values)


def call_items(tree: PythonTree, call: ast.Call) -> tuple[ItemList, list[Item]]:
    """The arguments of a call as text and as nodes, in the order of the text."""
    arguments = [Item(node, None, isinstance(node, ast.Starred)) for node in call.args]
    arguments += [Item(keyword.value, keyword.arg, keyword.arg is None) for keyword in call.keywords]
    arguments.sort(key=lambda item: tree.region(item.node))
    return _items(tree, _opening(tree, call), tree.region(call)[1], [item.node for item in arguments]), arguments


def _opening(tree: PythonTree, call: ast.Call) -> int:
    """The offset of the bracket that opens the arguments: the first ``(`` behind the callee and its own brackets."""
    at, end = tree.region(call.func)[1], tree.region(call)[1]
    gap = ItemList(tree.text, at, end, (), ("#", "\\"))
    at = gap.skip(at, end)
    while at < end and tree.text[at] == ")":
        at = gap.skip(at + 1, end)
    return at


def _items(tree: PythonTree, start: int, end: int, nodes: Sequence[ast.expr]) -> ItemList:
    """Splits the inside of the brackets ``text[start:end]`` at its commas; ``nodes`` are the values of the items.

    Raises:
        CannotFixError: the tokens do not agree with the nodes.
    """
    values = [tree.region(node) for node in nodes]
    regions: list[tuple[int, int]] = []
    first = last = -1
    depth = 0
    for kind, symbol, low, high in _tokens(tree.text, start, end):
        if kind in _SILENT:
            continue
        opens = kind == tokenize.OP and symbol in "([{"
        closes = kind == tokenize.OP and symbol in ")]}"
        comma = kind == tokenize.OP and symbol == "," and not any(begin <= low < stop for begin, stop in values)
        if depth == 1 and (comma or closes):
            if first >= 0:
                regions.append((first, last))
            first = -1
        elif depth >= 1 and first < 0:
            first = low
        depth += opens - closes
        last = high
        if not depth:
            break
    if len(regions) != len(nodes):
        raise CannotFixError("the brackets at this place cannot be taken apart")
    return ItemList(tree.text, start + 1, end - 1, tuple(regions), ("#", "\\"))


def _tokens(text: str, start: int, end: int) -> Iterator[tuple[int, str, int, int]]:
    part = text[start:end]
    index = LineIndex(part)
    try:
        for token in tokenize.generate_tokens(io.StringIO(part, newline="").readline):
            low = index.offset(token.start[0], token.start[1] + 1)
            high = index.offset(token.end[0], token.end[1] + 1)
            yield token.type, token.string, start + low, start + high
    except (tokenize.TokenError, SyntaxError):
        raise CannotFixError("the brackets at this place cannot be taken apart") from None
