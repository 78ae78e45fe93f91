"""What a Python file says, as data: symbolic expressions, statements with their control flow, functions and classes.

This is ``ast`` lowered to what analysis needs: slots instead of dictionaries, one packed integer instead of four position
attributes. The syntax tree can be dropped as soon as a file was read.

The classes are plain rather than frozen, and equal only to themselves: a large project makes millions, a frozen instance costs
three times as much to make, and nobody changes or compares them.

Positions are packed with ``pack`` because a file has ten expressions a line; ``unpack`` gives them back.
"""

from __future__ import annotations

from typing import Any

from distlint.model.record import dataclass
from distlint.model.span import Span

Position = int
"""A packed start and end position; see ``pack``."""


def pack(line: int, column: int, end_line: int, end_column: int) -> Position:
    """Packs a region into one integer: 24 bits for a line, 20 for a column (larger ones are clamped)."""
    return (
        (min(line, 0xFFFFFF) << 64)
        | (min(column, 0xFFFFF) << 44)
        | (min(end_line, 0xFFFFFF) << 20)
        | min(end_column, 0xFFFFF)
    )


def unpack(at: Position, file: str) -> Span:
    """The span of a packed position."""
    return Span(file, at >> 64, (at >> 44) & 0xFFFFF, (at >> 20) & 0xFFFFFF, at & 0xFFFFF)


def encloses(outer: Position, inner: Position) -> bool:
    """Whether the second region lies in the first, or is the same."""
    return outer >> 44 <= inner >> 44 and inner & 0xFFFFFFFFFFF <= outer & 0xFFFFFFFFFFF


def line_of(at: Position) -> int:
    """The first line of a packed position."""
    return at >> 64


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Name:
    """A bare name that is read."""

    id: str
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Constant:
    """A number, string, bytes, bool, ``None`` or ``...``; adjacent strings are one constant."""

    value: Any
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Attribute:
    """``base.name``."""

    base: Expr
    name: str
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Keyword:
    """``name=value`` in a call; ``name`` is ``None`` for ``**value``. ``at`` covers the whole argument."""

    name: str | None
    value: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Call:
    """A call; a ``Starred`` among ``args`` is ``*value``."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class DictDisplay:
    """``{key: value}``; a key of ``None`` is ``**value``."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class ListDisplay:
    """A list, tuple or set display; ``kind`` is ``list``, ``tuple`` or ``set``."""

    kind: str
    items: tuple[Expr, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Subscript:
    """``base[index]``."""

    base: Expr
    index: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Slice:
    """``lower:upper:step`` in a subscript."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Operation:
    """A unary, binary or boolean operation or a comparison chain: ``operators`` between ``operands``.

    Operators are their source text (``+``, ``not``, ``and``, ``is not`` …); a unary one has a single operand.
    """

    operators: tuple[str, ...]
    operands: tuple[Expr, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Conditional:
    """``body if test else orelse``."""

    test: Expr
    body: Expr
    orelse: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Formatted:
    """An f-string: constants and expressions in order.

    ``forms`` holds the conversion and form of each part, as it is written (``"!r:>5"``); a form that holds expressions is ``None``.
    It is empty where no part has one.
    """

    parts: tuple[Expr, ...]
    at: Position
    forms: tuple[str | None, ...] = ()


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Starred:
    """``*value``."""

    value: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Comprehension:
    """A comprehension or generator expression.

    ``kind`` is ``list``, ``set``, ``dict`` or ``generator``; (target, iterable, conditions) per ``for``.
    """

    kind: str
    element: Expr
    generators: tuple[tuple[Expr, Expr, tuple[Expr, ...]], ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Lambda:
    """A lambda: its parameters and its body."""

    parameters: tuple[Parameter, ...]
    body: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Wrapped:
    """``await x``, ``yield x``, ``yield from x`` and ``name := x``; ``kind`` says which, ``target`` is the walrus name."""

    kind: str
    value: Expr | None
    target: str
    at: Position


Expr = (
    Name
    | Constant
    | Attribute
    | Call
    | DictDisplay
    | ListDisplay
    | Subscript
    | Slice
    | Operation
    | Conditional
    | Formatted
    | Starred
    | Comprehension
    | Lambda
    | Wrapped
)


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Parameter:
    """A parameter: ``kind`` is ``positional``, ``normal``, ``var-positional``, ``keyword`` or ``var-keyword``."""

    name: str
    kind: str
    default: Expr | None
    annotation: Expr | None
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Assign:
    """``targets = value``; an annotated assignment has one target, and a value of ``None`` if it only declares."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class AugAssign:
    """``target operator= value``; the operator without the equals sign."""

    target: Expr
    operator: str
    value: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Evaluate:
    """An expression that stands as a statement."""

    value: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Return:
    """``return value``."""

    value: Expr | None
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class If:
    """``if``; an ``elif`` is an ``If`` in ``orelse``. ``match`` is lowered to these with unknown tests (see ``Match``)."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Match:
    """``match``: subject and (pattern, guard, body) per case.

    A pattern is an expression: a plain value, a tuple for several of them (``1 | 2``), or the name ``_`` for the wildcard. A ``match``
    with others is read as the tests that it stands for (``distlint/read/patterns.py``).
    """

    subject: Expr
    cases: tuple[tuple[Expr, Expr | None, tuple[Stmt, ...]], ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class For:
    """``for`` with its ``else``."""

    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class While:
    """``while`` with its ``else``."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class With:
    """``with``: (context expression, target or ``None``) per item."""

    items: tuple[tuple[Expr, Expr | None], ...]
    body: tuple[Stmt, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Try:
    """``try``: (exception type or ``None``, bound name, body) per handler."""

    body: tuple[Stmt, ...]
    handlers: tuple[tuple[Expr | None, str, tuple[Stmt, ...]], ...]
    orelse: tuple[Stmt, ...]
    final: tuple[Stmt, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Jump:
    """``break``, ``continue``, ``pass``, ``raise`` (with its value), ``global``/``nonlocal`` (with names) or ``del`` (with its targets)."""

    kind: str
    values: tuple[Expr, ...]
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Assert:
    """``assert test``."""

    test: Expr
    at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Import:
    """One name that an import binds.

    ``import a.b`` binds ``a`` to ``a`` and has ``module="a.b"``; ``import a.b as c`` binds ``c`` to ``a.b``; ``from m import n as k``
    binds ``k`` to ``m.n``. ``module`` is the module as written, ``name`` what is taken from it (``""`` for a plain import, ``*`` for
    all), ``level`` the number of leading dots. ``at`` covers the alias, ``statement_at`` the statement.
    """

    alias: str
    module: str
    name: str
    level: int
    at: Position
    statement_at: Position


def imported_name(name: str, alias: str | None) -> tuple[str, str, str]:
    """The alias, the module and the name out of it that an ``import`` binds.

    ``import a.b as a`` stands as ``from a import b as a``: as a module with the alias ``a`` it would be what ``import a.b`` binds.
    """
    first, _, rest = name.partition(".")
    if alias == first and rest:
        return (alias, *name.rpartition(".")[::2])
    return alias or first, name, ""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Define:
    """A ``def`` or ``class`` statement; the definition itself is ``Module.functions[index]`` or ``Module.classes[index]``."""

    kind: str
    index: int
    at: Position


Stmt = Assign | AugAssign | Evaluate | Return | If | Match | For | While | With | Try | Jump | Assert | Import | Define


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Function:
    """A function or method. ``qualname`` is dotted within the module (``Trainer.step``, ``main.inner``).

    ``owner`` is the index of the class whose body holds it, or -1; ``parent`` the index of the enclosing function, or -1.
    """

    name: str
    qualname: str
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    owner: int
    parent: int
    is_async: bool
    at: Position
    name_at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Class:
    """A class: its bases and the keywords of its header; methods are functions whose ``owner`` is this class."""

    name: str
    qualname: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    decorators: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    parent: int
    at: Position
    name_at: Position


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Site:
    """Where a call stands: the call and the index of the function around it (-1: module or class level)."""

    call: Call
    function: int


@dataclass(frozen=True, slots=True)
class Module:
    """A whole file. ``calls`` maps the last name of a callee (``initialize`` of ``deepspeed.initialize``) to its call sites."""

    body: tuple[Stmt, ...]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    imports: tuple[Import, ...]
    calls: dict[str, tuple[Site, ...]]
    attributes: frozenset[str]
    """Every name that appears behind a dot: a cheap test before a search."""
    is_script: bool
    """Whether the file has an ``if __name__ == "__main__"`` block."""
