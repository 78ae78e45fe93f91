"""The comments that speak to distlint: ``# distlint: ignore[DS101] reason`` and its kin, in every format with comments.

What a comment covers is a range of lines: the statement or command that it ends, or where it stands alone the
statement, configuration entry or command below it.
"""

from __future__ import annotations

import re

from distlint.model.facts import Suppression
from distlint.model.source import SourceKind
from distlint.model.span import Span
from distlint.read.commentlines import Comment, comments_of

MARK = "distlint:"
FORMS = ("ignore", "ignore-file", "disable", "enable")

_BODY = re.compile(r"\s*(?P<form>[A-Za-z][\w-]*)?\s*(?P<open>\[(?P<codes>[^\[\]]*)(?P<close>\])?)?(?P<rest>.*)$")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def read_suppressions(path: str, text: str, kind: SourceKind) -> tuple[Suppression, ...]:
    """The ``distlint:`` comments of a file, in order; malformed ones with their problem in words."""
    if MARK not in text:
        return ()
    line_count, comments = comments_of(text, kind, MARK)
    found = (_suppression(path, comment, line_count) for comment in comments)
    return tuple(suppression for suppression in found if suppression is not None)


def _suppression(path: str, comment: Comment, line_count: int) -> Suppression | None:
    mark = _mark(comment.text)
    if mark < 0:
        return None
    body = _BODY.match(comment.text.rstrip(), mark + len(MARK))
    form, codes, reason, problem = _parse(body)
    marker = _marker(comment.text, mark)
    column = comment.column + marker
    span = Span(path, comment.line, column, comment.line, comment.column + len(comment.text))
    covers = {
        "ignore-file": (1, line_count),
        "disable": (comment.line, comment.line),
        "enable": (comment.line, comment.line),
    }.get(form, comment.covers)
    alone = comment.alone and marker == 0
    margin = comment.margin if marker == 0 else 0
    return Suppression(form, codes, reason, span, covers, problem, alone, margin, _codes_span(span, comment, body))


def _codes_span(span: Span, comment: Comment, body: re.Match[str] | None) -> Span | None:
    if body is None or body["codes"] is None:
        return None
    return span._replace(column=comment.column + body.start("codes"), end_column=comment.column + body.end("codes"))


def _mark(text: str) -> int:
    """Where ``distlint:`` stands right behind a comment sign; -1 where a comment merely speaks of it."""
    at = text.find(MARK)
    while at >= 0:
        before = text[:at].rstrip()
        if not before or before.endswith(("#", "//", "*")):
            return at
        at = text.find(MARK, at + 1)
    return -1


def _marker(text: str, mark: int) -> int:
    """Where the comment sign in front of ``distlint:`` begins: an earlier comment on the same line is left alone."""
    return max(text.rfind("#", 0, mark), text.rfind("//", 0, mark), text.rfind("/*", 0, mark), 0)


def _parse(body: re.Match[str] | None) -> tuple[str, tuple[str, ...], str, str]:
    """Form, codes, reason and problem of what follows ``distlint:``."""
    if body is None or not body["form"]:
        return "", (), "", f"says nothing: write one of {', '.join(f'`{form}[CODE]`' for form in FORMS)}"
    form = body["form"].lower()
    if form not in FORMS:
        return "", (), "", f"`{body['form']}` is none of {', '.join(f'`{form}`' for form in FORMS)}"
    if body["open"] is None:
        return form, (), "", f"names no codes: write `{form}[CODE]`"
    if body["close"] is None:
        return form, (), "", "lacks the closing bracket behind the codes"
    codes = tuple(code.strip() for code in body["codes"].split(","))
    if not any(codes):
        return form, (), "", f"names no codes: write `{form}[CODE]`"
    wrong = [code for code in codes if not _CODE.fullmatch(code)]
    if wrong:
        return form, (), "", f"`{wrong[0]}` is no code: codes are separated by commas"
    reason = body["rest"].removesuffix("*/").strip(" \t-:")
    return form, tuple(dict.fromkeys(codes)), reason, ""
