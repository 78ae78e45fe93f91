"""Shell arithmetic: integers, C's operators, variables by name."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]{1,16}|\d{1,19})|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>!~&^|?:,=]))",
    re.ASCII,
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
MAX_TOKENS = 400
MAX_DEPTH = 30


class UnknownNumberError(ValueError):
    """The expression has no value that we can know: bad syntax, division by zero, an operator with effects."""


def evaluate(expression: str, lookup: Callable[[str], int]) -> int:
    """The value of an arithmetic expression, wrapped to 64 bits as the shell does.

    ``lookup`` gives a variable's integer value and may raise ``UnknownNumberError``, as this function does for what it
    can't compute.
    """
    tokens = _tokens(expression)
    if not tokens:
        return 0
    parser = _Parser(tokens, lookup)
    value = parser.ternary(0)
    if parser.at != len(tokens):
        raise UnknownNumberError("not understood")
    return value


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    text = expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or len(tokens) >= MAX_TOKENS:
            raise UnknownNumberError("not understood")
        tokens.append(match.group().strip())
        at = match.end()
    return tokens


def _wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


class _Parser:
    def __init__(self, tokens: list[str], lookup: Callable[[str], int]) -> None:
        self.tokens = tokens
        self.lookup = lookup
        self.at = 0

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, token: str) -> None:
        if self._peek() != token:
            raise UnknownNumberError("not understood")
        self.at += 1

    def ternary(self, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise UnknownNumberError("nested too deep")
        condition = self._binary(0, depth)
        if self._peek() != "?":
            return condition
        self.at += 1
        yes = self.ternary(depth + 1)
        self._take(":")
        no = self.ternary(depth + 1)
        return yes if condition else no

    def _binary(self, level: int, depth: int) -> int:
        if level == len(_LEVELS):
            return self._power(depth)
        left = self._binary(level + 1, depth)
        while (operator := self._peek()) in _LEVELS[level]:
            self.at += 1
            left = _wrap(_apply(operator, left, self._binary(level + 1, depth)))
        return left

    def _power(self, depth: int) -> int:
        base = self._unary(depth)
        if self._peek() != "**":
            return base
        self.at += 1
        if depth > MAX_DEPTH:
            raise UnknownNumberError("nested too deep")
        exponent = self._power(depth + 1)
        if not 0 <= exponent <= 64:
            raise UnknownNumberError("exponent out of range")
        return _wrap(base**exponent)

    def _unary(self, depth: int) -> int:
        symbol = self._peek()
        if depth > MAX_DEPTH or not symbol:
            raise UnknownNumberError("not understood")
        self.at += 1
        if symbol in ("-", "+", "!", "~"):
            if self._peek() == symbol and symbol in "+-":
                raise UnknownNumberError("has an effect")
            value = self._unary(depth + 1)
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[symbol]
        if symbol == "(":
            value = self.ternary(depth + 1)
            self._take(")")
            return value
        if symbol[0].isdigit():
            return _number(symbol)
        if symbol[0].isalpha() or symbol[0] == "_":
            return self.lookup(symbol)
        raise UnknownNumberError("not understood")


def integer(text: str) -> int:
    """The number that a variable holds: octal behind a zero, as in an expression."""
    sign = -1 if text.startswith("-") else 1
    return sign * _number(text.lstrip("+-"))


def _number(token: str) -> int:
    try:
        if token[:2].lower() == "0x":
            return _wrap(int(token, 16))
        return _wrap(int(token, 8 if token.startswith("0") else 10))
    except ValueError:
        raise UnknownNumberError("not a number") from None


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise UnknownNumberError("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - right * quotient
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise UnknownNumberError("shift out of range")
        return left << right if operator == "<<" else left >> right
    return int(_SIMPLE[operator](left, right))


_SIMPLE: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
