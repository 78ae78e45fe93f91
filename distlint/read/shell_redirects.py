"""Redirections of a shell script, here-documents among them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.model.shell import Assignments, Command, Function, Group, Pipeline, Redirect, Statement
from distlint.read.shell_parsed import ParsedText

if TYPE_CHECKING:
    from tree_sitter import Node

    from distlint.model.span import Span


def redirect(source: ParsedText, node: Node) -> Redirect:
    """``> file``, ``2>&1``, ``<<EOT`` and their like."""
    if node.type == "heredoc_redirect":
        return _here_document(source, node)
    operator, target = "", None
    for child in node.children:
        if not child.is_named:
            operator += child.type
        elif child.type == "file_descriptor":
            operator = source.text_of(child) + operator
        elif target is None:
            target = source.words.word(source.start(child), source.end(child))
    return Redirect(operator, target)


def _here_document(source: ParsedText, node: Node) -> Redirect:
    """Its body is all lines between the one that announces it and the one that ends it."""
    parts = {child.type: child for child in node.children}
    start_node, body_node, end_node = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
    operator = node.children[0].type
    if start_node is None or end_node is None:
        return Redirect(operator, None)
    expands = not any(mark in source.text_of(start_node) for mark in "'\"\\")
    end = source.text.rfind("\n", 0, source.end(end_node)) + 1
    start = source.text.rfind("\n", 0, source.start(body_node)) + 1 if body_node is not None else end
    end = max(start, end)
    return Redirect(
        operator,
        None,
        source.text[start:end],
        source.words.span(start, end),
        source.words.body(start, end) if expands else None,
        expands,
    )


def redirected(body: Statement | None, redirects: tuple[Redirect, ...], span: Span) -> Statement:
    """A statement with redirections behind it; those of a pipeline belong to its last command."""
    if body is None:
        return Command((), span, (), redirects)
    if isinstance(body, Command):
        return replace(body, redirects=body.redirects + redirects, span=span)
    if isinstance(body, Group):
        return replace(body, redirects=body.redirects + redirects)
    if isinstance(body, Pipeline):
        *first, last = body.commands
        return replace(body, commands=(*first, redirected(last, redirects, span)))
    if isinstance(body, (Assignments, Function)):
        return body
    return Group((body,), span, redirects=redirects)
