"""Lists of layers that are written as an expression on Megatron's command line: ``([0]*3+[1])*2``.

As ``_eval_pattern`` of ``megatron/training/arguments.py`` (core 0.9 to 0.19) reads them: nothing but digits, commas,
brackets, ``+`` and ``*`` may stand there, no spaces, and Python's ``eval`` does the rest. Nothing is evaluated here but
whole numbers and lists of them, and these are bounded.
"""

from __future__ import annotations

import ast
import re

_FOREIGN = re.compile(r"[^,\d\[\]()+*]")
_MAX_TEXT, _MAX_DEPTH, _MAX_ITEMS, _MAX_NUMBER, _MAX_POWER = 2_000, 30, 10_000, 10**12, 40


class TooLargeError(Exception):
    """An expression that is not worked out because it is too long, too deep, or makes too much."""


def pattern_value(text: str) -> object:
    """What an expression makes; the text itself where it is too large to say.

    Raises ``ValueError`` for one that Megatron stops at.
    """
    if found := _FOREIGN.search(text):
        raise ValueError(f"`{found[0]}` may not stand in a pattern")
    depth = most = 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        most = max(most, depth)
    if len(text) > _MAX_TEXT or most > _MAX_DEPTH or "+" * _MAX_DEPTH in text:
        return text
    try:
        return _evaluated(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError("is no expression") from error
    except (TooLargeError, RecursionError):
        return text


def _evaluated(node: ast.expr) -> object:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _bounded(node.value)
    if isinstance(node, ast.List):
        return _bounded([_evaluated(item) for item in node.elts])
    if isinstance(node, ast.Tuple):
        return _bounded(tuple(_evaluated(item) for item in node.elts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        value = _evaluated(node.operand)
        if isinstance(value, int):
            return value
    elif isinstance(node, ast.BinOp):
        return _bounded(_operation(node.op, _evaluated(node.left), _evaluated(node.right)))
    elif isinstance(node, ast.Subscript):
        return _item(_evaluated(node.value), _evaluated(node.slice))
    # what is left is a call of a number or a list, an item of a number, an unpacked number
    raise ValueError("can't be worked out")


def _operation(operator: ast.operator, left: object, right: object) -> object:
    if isinstance(operator, ast.Add):
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if isinstance(left, list) and isinstance(right, list):
            return left + right
        if isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
    elif isinstance(operator, ast.Mult):
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        for items, times in ((left, right), (right, left)):
            if isinstance(items, (list, tuple)) and isinstance(times, int):
                if len(items) * times > _MAX_ITEMS:
                    raise TooLargeError
                return items * times
    elif isinstance(operator, ast.Pow) and isinstance(left, int) and isinstance(right, int):
        if right > _MAX_POWER:
            raise TooLargeError
        return left**right
    raise ValueError("is no sum or product of lists")


def _item(value: object, index: object) -> object:
    if isinstance(value, (list, tuple)) and isinstance(index, int) and index < len(value):
        found: object = value[index]
        return found
    raise ValueError("has no such item")


def _bounded(value: object) -> object:
    if isinstance(value, int) and value > _MAX_NUMBER:
        raise TooLargeError
    if isinstance(value, (list, tuple)) and len(value) > _MAX_ITEMS:
        raise TooLargeError
    return value
