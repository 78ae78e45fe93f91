"""Marks of deprecation: on a function by decorator or by a warning that every call gives, on a parameter by one that depends on it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from signatures import dotted, walk

LONGEST = 160

_CATEGORIES = re.compile(r"(Pending)?DeprecationWarning")
_SAYS = re.compile(r"deprecat|will be removed|no longer supported|going to be removed|is removed", re.IGNORECASE)
_ADVISES = re.compile(r"\buse\b|instead|replaced|renamed|moved|obsolete|no longer|legacy", re.IGNORECASE)
_WARNERS = re.compile(r"warn|warning|warning_once|warn_once|.*deprecat.*|rank_zero_warn|log_once")
_ASIDE = re.compile(r"(?<!support )\b(for|of|in|to|by|when)( the)?( argument| parameter)? [`'\"]*\w+", re.IGNORECASE)
"""What stands beside the deprecated thing: ``using A for B is deprecated`` says nothing against B."""
_WORD = re.compile(r"[A-Za-z_]\w*")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def by_decorator(decorators: Iterable[ast.expr]) -> str:
    """The message of a decorator that marks its function or class; ``""`` without one."""
    for one in decorators:
        name = dotted(one.func if isinstance(one, ast.Call) else one).rpartition(".")[2]
        if name.lower() in ("deprecated", "deprecate", "deprecated_func", "deprecated_api"):
            text = message(one.args[0]) if isinstance(one, ast.Call) and one.args else ""
            for keyword in one.keywords if isinstance(one, ast.Call) else ():
                text = text or (message(keyword.value) if keyword.arg in ("reason", "msg", "message") else "")
            return text or "deprecated"
    return ""


def by_warning(node: Function) -> str:
    """The message of a warning that every call of a function gives; ``""`` without one."""
    for statement in node.body:
        if isinstance(statement, (ast.Return, ast.Raise)):
            break
        inner = statement.body if isinstance(statement, (ast.With, ast.AsyncWith)) else [statement]
        for one in inner:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and (text := _warning(one.value)):
                return text
    return ""


def of_parameters(node: Function, names: Iterable[str]) -> dict[str, str]:
    """Which parameters, or fields in ``__post_init__``, a function warns about when they are given, with the messages.

    The message must name the parameter before it says what to use instead, and the warning must stand under a test of it.
    """
    known = frozenset(names)
    out: dict[str, str] = {}
    for tested, call in _tested_calls(node.body, frozenset()):
        text = _warning(call)
        for name in _blamed(text) if text else ():
            if name in known and name in tested:
                out.setdefault(name, text)
    return dict(sorted(out.items()))


def by_default(arguments: ast.arguments) -> dict[str, str]:
    """The parameters whose default says that they are deprecated."""
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return {
        one.arg: "deprecated"
        for one, value in pairs
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.lower() == "deprecated"
    }


def _tested_calls(body: list[ast.stmt], tested: frozenset[str]) -> Iterator[tuple[frozenset[str], ast.Call]]:
    for statement in body:
        if isinstance(statement, ast.If):
            words = frozenset(
                one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else str(one.value)
                for one in walk(statement.test)
                if isinstance(one, (ast.Name, ast.Attribute))
                or (isinstance(one, ast.Constant) and isinstance(one.value, str))
            )
            yield from _tested_calls(statement.body, tested | words)
            yield from _tested_calls(statement.orelse, tested | words)
        elif isinstance(statement, ast.Try):
            yield from _tested_calls([*statement.body, *statement.orelse, *statement.finalbody], tested)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _tested_calls(statement.body, tested)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield tested, statement.value


def _blamed(text: str) -> list[str]:
    """The words before the first advice in each sentence that speaks of deprecation."""
    out: list[str] = []
    for sentence in re.split(r"(?<=[.!;])\s", text):
        if _SAYS.search(sentence):
            said = _SAYS.search(sentence)
            end = said.start() if said else len(sentence)
            out += _WORD.findall(_ASIDE.sub(" ", sentence[:end].replace("-", " ")))
    return out


def _warning(call: ast.Call) -> str:
    """The message of a call that warns of a deprecation; ``""`` for any other call."""
    name = dotted(call.func).rpartition(".")[2]
    if not _WARNERS.fullmatch(name) or not call.args:
        return ""
    text = message(call.args[0])
    category = any(
        _CATEGORIES.fullmatch(dotted(one).rpartition(".")[2])
        for one in [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    )
    return text if _SAYS.search(text) or (category and _ADVISES.search(text)) else ""


def message(node: ast.AST) -> str:
    """The constant text of an expression, one line, shortened; what is filled in at run time is ``…``."""
    return " ".join(_text(node).split())[:LONGEST].strip()


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + (_text(node.right) if isinstance(node.op, ast.Add) else "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "join"):
        return _text(node.func.value)
    return ""
