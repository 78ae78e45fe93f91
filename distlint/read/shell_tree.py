"""From the syntax tree of a script to statements.

The tree says where commands, lists and blocks begin and end. Inside words the text itself is read (``shell_words``), so
that a word which the grammar misreads is still right as long as its ends are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.model.facts import ReadError
from distlint.model.shell import (
    Arithmetic,
    Assignment,
    Assignments,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Literal,
    Pipeline,
    Redirect,
    Statement,
    While,
    Word,
)
from distlint.model.span import LineIndex, Span
from distlint.read.shell_assignments import DECLARERS, assignment, assignments, declaration, declared, unset
from distlint.read.shell_parsed import ParsedText
from distlint.read.shell_redirects import redirect, redirected

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 60
"""Blocks nested deeper than this are left unread."""

MAX_CHAIN = 30
"""Longer chains of ``&&`` and ``||`` are read as a plain sequence."""


class TreeReader:
    """Reads statements out of one text; ``words`` reads the words of the same text."""

    def __init__(self, text: str, index: LineIndex, file: str) -> None:
        self.source = ParsedText(text, index, file, self.statements)
        self.words = self.source.words
        self._depth = 0

    def statements(self, start: int, end: int) -> tuple[Statement, ...]:
        """The statements between two offsets; empty when they are nested too deep."""
        if self._depth > MAX_DEPTH or start >= end:
            return ()
        self._depth += 1
        with self.source.parsed(start, end) as root:
            found = tuple(self._sequence(root.children))
        self._depth -= 1
        return found

    def refusal(self) -> ReadError | None:
        """The first place that a shell would refuse; only a text that the grammar did not understand is examined."""
        if not self.source.misread:
            return None
        from distlint.read.shell_refusal import refusal

        found = refusal(self.source.text)
        return ReadError(self.words.span(found.start, found.end), found.message) if found is not None else None

    def _sequence(self, nodes: Sequence[Node]) -> Iterator[Statement]:
        """The statements among some sibling nodes, in order; ``&`` behind one puts it into the background."""
        if self._depth > MAX_DEPTH:
            return
        self._depth += 1
        held: Statement | None = None
        for node in nodes:
            kind = node.type
            if kind == "&":
                if held is not None:
                    yield _in_background(held)
                    held = None
                continue
            if not node.is_named or kind == "comment":
                continue
            if held is not None:
                yield held
            found = list(self._statement(node))
            yield from found[:-1]
            held = found[-1] if found else None
        if held is not None:
            yield held
        self._depth -= 1

    def _block(self, node: Node | None) -> tuple[Statement, ...]:
        return tuple(self._sequence(node.children)) if node is not None else ()

    def _statement(self, node: Node) -> Iterator[Statement]:
        """What one node says; nothing for what we don't know, and what is inside for an error."""
        reader = _READERS.get(node.type)
        if reader is not None:
            statement = reader(self, node)
            if statement is not None:
                yield statement
        elif node.type in ("ERROR", "program"):
            yield from self._sequence(node.children)

    # Simple commands

    def _command(self, node: Node) -> Statement | None:
        environment: list[Assignment] = []
        redirects: list[Redirect] = []
        operands: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment" and not operands:
                environment.append(assignment(self.source, child))
            elif kind.endswith("_redirect"):
                redirects.append(redirect(self.source, child))
            elif kind != "comment":
                operands.append(child)
        words = self._words(operands)
        if not words and environment and not redirects:
            return Assignments(tuple(environment), self.source.span(node))
        if words and words[0].literal in DECLARERS:
            return declared(words, self.source.span(node))
        return Command(tuple(words), self.source.span(node), tuple(environment), tuple(redirects))

    def _words(self, nodes: Sequence[Node]) -> list[Word]:
        """The words that some sibling nodes make; nodes that touch are pieces of one word."""
        regions: list[tuple[int, int]] = []
        for node in nodes:
            start, end = self.source.start(node), self.source.end(node)
            if regions and regions[-1][1] == start:
                regions[-1] = (regions[-1][0], end)
            else:
                regions.append((start, end))
        return [word for start, end in regions for word in self.words.words(start, end)]

    def _test(self, node: Node) -> Statement:
        words = self.words.words(self.source.start(node), self.source.end(node))
        return Command(tuple(words), self.source.span(node))

    def _arithmetic(self, node: Node) -> Statement:
        start, end = self.source.start(node), self.source.end(node)
        inner = self.words.span(start + 2, end - 2)
        words = (
            Word((Literal("((", True),), self.words.span(start, start + 2)),
            Word((Arithmetic(self.source.text[start + 2 : end - 2], inner),), inner, True),
        )
        return Command(words, self.source.span(node))

    def _negated(self, node: Node) -> Statement:
        span = self.source.span(node)
        no, yes = (Command((Word((Literal(name, True),), span),), span) for name in ("false", "true"))
        return If(((self._block(node), (no,)),), (yes,), span)

    def _assignment(self, node: Node) -> Statement:
        return Assignments((assignment(self.source, node),), self.source.span(node))

    def _assignments(self, node: Node) -> Statement:
        return assignments(self.source, node)

    def _declaration(self, node: Node) -> Statement:
        return declaration(self.source, node)

    def _unset(self, node: Node) -> Statement:
        return unset(self.source, node)

    # Redirections

    def _redirected(self, node: Node) -> Statement | None:
        body: Statement | None = None
        redirects: list[Redirect] = []
        piped: list[Statement] = []
        more: list[tuple[int, int]] = []
        after: tuple[str, Statement] | None = None
        for child in node.children:
            if not child.type.endswith("_redirect"):
                found = list(self._statement(child))
                body = found[0] if found else body
                continue
            redirects.append(redirect(self.source, child))
            if child.type != "heredoc_redirect":
                continue
            operator = ""
            for inner in child.children:
                if inner.type in ("&&", "||"):
                    operator = inner.type
                elif inner.type == "pipeline":
                    piped += self._block(inner)
                elif inner.type == "file_redirect":
                    redirects.append(redirect(self.source, inner))
                elif operator and inner.is_named and not inner.type.startswith("heredoc"):
                    rest = list(self._statement(inner))
                    after, operator = ((operator, rest[0]) if rest else after), ""
                elif inner.is_named and not inner.type.startswith("heredoc") and inner.type != "file_descriptor":
                    more.append((self.source.start(inner), self.source.end(inner)))
        statement = redirected(body, tuple(redirects), self.source.span(node))
        if isinstance(statement, Command) and more:
            extra = [word for start, end in more for word in self.words.words(start, end)]
            statement = replace(statement, words=(*statement.words, *extra))
        if piped:
            statement = Pipeline((statement, *piped), self.source.span(node))
        if after is not None:
            statement = _chain([("", statement), after], self.source.span(node))
        return statement

    # Lists and blocks

    def _list(self, node: Node) -> Statement | None:
        links: list[tuple[str, Node]] = []
        current = node
        while current.type == "list":
            named = [child for child in current.children if child.is_named and child.type != "comment"]
            operator = next((child.type for child in current.children if child.type in ("&&", "||")), "")
            if len(named) != 2 or not operator:
                return Group(self._block(current), self.source.span(node))
            links.append((operator, named[1]))
            current = named[0]
        links.append(("", current))
        statements: list[tuple[str, Statement]] = []
        for operator, part in reversed(links):
            statements += [(operator, statement) for statement in self._statement(part)]
        return _chain(statements, self.source.span(node)) if statements else None

    def _pipeline(self, node: Node) -> Statement:
        commands = tuple(statement for child in node.children if child.is_named for statement in self._statement(child))
        return Pipeline(commands, self.source.span(node))

    def _if(self, node: Node) -> Statement:
        branches: list[tuple[tuple[Statement, ...], tuple[Statement, ...]]] = []
        orelse: tuple[Statement, ...] = ()
        own: list[Node] = []
        for child in node.children:
            if child.type == "elif_clause":
                branches.append(self._arm(child.children))
            elif child.type == "else_clause":
                orelse = self._block(child)
            else:
                own.append(child)
        return If((self._arm(own), *branches), orelse, self.source.span(node))

    def _arm(self, nodes: Sequence[Node]) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        then = next((at for at, child in enumerate(nodes) if child.type == "then"), len(nodes))
        return tuple(self._sequence(nodes[:then])), tuple(self._sequence(nodes[then:]))

    def _for(self, node: Node) -> Statement:
        name, has_in = "", False
        listed: list[Node] = []
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        if variable is not None:
            name = self.source.text_of(variable)
        for child in node.children:
            if child.type == "in":
                has_in = True
            elif has_in and child != body and child.is_named and child.type != "comment":
                listed.append(child)
        words = self._words(listed)
        return For(name, tuple(words) if has_in else None, self._block(body), self.source.span(node))

    def _c_for(self, node: Node) -> Statement:
        return For("", None, self._block(node.child_by_field_name("body")), self.source.span(node))

    def _while(self, node: Node) -> Statement:
        body = node.child_by_field_name("body")
        condition = tuple(self._sequence([child for child in node.children if child != body]))
        until = any(child.type == "until" for child in node.children)
        return While(condition, self._block(body), self.source.span(node), until)

    def _case(self, node: Node) -> Statement | None:
        subject = node.child_by_field_name("value")
        if subject is None:
            return None
        branches = []
        for item in node.children:
            if item.type != "case_item":
                continue
            close = next((at for at, child in enumerate(item.children) if child.type == ")"), 0)
            start = self.source.start(item)
            end = self.source.start(item.children[close])
            text = self.source.text[start:end]
            start += len(text) - len(text.lstrip().removeprefix("("))
            body = tuple(self._sequence(item.children[close + 1 :]))
            branches.append((tuple(self._patterns(start, end)), body))
        return Case(
            self.words.word(self.source.start(subject), self.source.end(subject)),
            tuple(branches),
            self.source.span(node),
        )

    def _patterns(self, start: int, end: int) -> Iterator[Word]:
        at = start
        while at < end:
            bar = self.source.text.find("|", at, end)
            stop = bar if bar >= 0 else end
            words = self.words.words(at, stop)
            yield from words[:1]
            at = stop + 1

    def _function(self, node: Node) -> Statement | None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return None
        statements = tuple(self._sequence([body]))
        return Function(self.source.text_of(name), statements, self.source.span(node))

    def _compound(self, node: Node) -> Statement:
        if self.source.text.startswith("((", self.source.start(node)):
            return self._arithmetic(node)
        return Group(self._block(node), self.source.span(node))

    def _subshell(self, node: Node) -> Statement:
        return Group(self._block(node), self.source.span(node), subshell=True)


_READERS = {
    "command": TreeReader._command,
    "test_command": TreeReader._test,
    "negated_command": TreeReader._negated,
    "variable_assignment": TreeReader._assignment,
    "variable_assignments": TreeReader._assignments,
    "declaration_command": TreeReader._declaration,
    "unset_command": TreeReader._unset,
    "redirected_statement": TreeReader._redirected,
    "list": TreeReader._list,
    "pipeline": TreeReader._pipeline,
    "if_statement": TreeReader._if,
    "for_statement": TreeReader._for,
    "c_style_for_statement": TreeReader._c_for,
    "while_statement": TreeReader._while,
    "case_statement": TreeReader._case,
    "function_definition": TreeReader._function,
    "compound_statement": TreeReader._compound,
    "subshell": TreeReader._subshell,
}


def _chain(links: list[tuple[str, Statement]], span: Span) -> Statement:
    """``a && b || c`` as nested ``If`` statements, or as a sequence where it is too long for that."""
    if len(links) > MAX_CHAIN:
        return Group(tuple(statement for _, statement in links), span)
    result = links[0][1]
    for operator, statement in links[1:]:
        if operator == "&&":
            result = If((((result,), (statement,)),), (), span)
        else:
            result = If((((result,), ()),), (statement,), span)
    return result


def _in_background(statement: Statement) -> Statement:
    if isinstance(statement, (Command, Pipeline, Group)):
        return replace(statement, background=True)
    return Group((statement,), statement.span, background=True, subshell=True)
