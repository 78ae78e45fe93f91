"""From the syntax tree of a script to statements.

The tree says where commands, lists and blocks begin and end. Inside words the text itself is read (``shell_words``), so that a word which
the grammar misreads is still right as long as its ends are.
"""

from __future__ import annotations

import re
from array import array
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
from distlint.read.shell_words import WordReader

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 60
"""Blocks nested deeper than this are left unread."""

MAX_CHAIN = 30
"""Longer chains of ``&&`` and ``||`` are read as a plain sequence."""

_TARGET = re.compile(r"([A-Za-z_]\w*)(?:\[([^]]*)\])?(\+?=)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DECLARERS = {"export", "declare", "typeset", "local", "readonly"}
_CONTINUATIONS = re.compile(r"(?:[ \t]|\\\n)*")


class TreeReader:
    """Reads statements out of one text; ``words`` reads the words of the same text."""

    def __init__(self, text: str, index: LineIndex, file: str) -> None:
        self.text = text
        self.words = WordReader(text, index, file, self.statements)
        self._parser = _parser()
        self._depth = 0
        self._offsets: array[int] | None = None if text.isascii() else _byte_offsets(text)
        self._base = 0
        self._suspect = False

    def statements(self, start: int, end: int) -> tuple[Statement, ...]:
        """The statements between two offsets; empty when they are nested too deep."""
        if self._depth > MAX_DEPTH or start >= end:
            return ()
        data = self.text[start:end].encode("utf-8", "replace")
        before, self._base = self._base, start if self._offsets is None else self._byte_of(start)
        self._depth += 1
        try:
            tree = self._parser.parse(data)
            if tree.root_node.has_error:
                self._suspect = True
            return tuple(self._sequence(tree.root_node.children))
        finally:
            self._depth -= 1
            self._base = before

    def refusal(self) -> ReadError | None:
        """The first place that a shell would refuse; only a text that the grammar did not understand is examined."""
        if not self._suspect:
            return None
        from distlint.read.shell_refusal import refusal

        found = refusal(self.text)
        return ReadError(self.words.span(found.start, found.end), found.message) if found is not None else None

    def _byte_of(self, offset: int) -> int:
        from bisect import bisect_left

        assert self._offsets is not None
        return bisect_left(self._offsets, offset)

    def _start(self, node: Node) -> int:
        at = node.start_byte + self._base
        return at if self._offsets is None else self._offsets[at]

    def _end(self, node: Node) -> int:
        at = node.end_byte + self._base
        return at if self._offsets is None else self._offsets[at]

    def _span(self, node: Node) -> Span:
        return self.words.span(self._start(node), self._end(node))

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
        pieces: list[tuple[int, int]] = []
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment" and not pieces:
                environment.append(self._assignment(child))
            elif kind.endswith("_redirect"):
                redirects.append(self._redirect(child))
            elif kind != "comment":
                start, end = self._start(child), self._end(child)
                if pieces and pieces[-1][1] == start:
                    pieces[-1] = (pieces[-1][0], end)
                else:
                    pieces.append((start, end))
        words = [word for start, end in pieces for word in self.words.words(start, end)]
        if not words and environment and not redirects:
            return Assignments(tuple(environment), self._span(node))
        if words and words[0].literal in _DECLARERS:
            return self._declared(words, self._span(node))
        return Command(tuple(words), self._span(node), tuple(environment), tuple(redirects))

    def _test(self, node: Node) -> Statement:
        words = self.words.words(self._start(node), self._end(node))
        return Command(tuple(words), self._span(node))

    def _arithmetic(self, node: Node) -> Statement:
        start, end = self._start(node), self._end(node)
        inner = self.words.span(start + 2, end - 2)
        words = (
            Word((Literal("((", True),), self.words.span(start, start + 2)),
            Word((Arithmetic(self.text[start + 2 : end - 2], inner),), inner, True),
        )
        return Command(words, self._span(node))

    def _negated(self, node: Node) -> Statement:
        span = self._span(node)
        no, yes = (Command((Word((Literal(name, True),), span),), span) for name in ("false", "true"))
        return If(((self._block(node), (no,)),), (yes,), span)

    # Assignments

    def _assignment(self, node: Node) -> Assignment:
        return self._assigned(self._start(node), self._end(node), self._span(node), node)

    def _assigned(self, start: int, end: int, span: Span, node: Node | None = None) -> Assignment:
        match = _TARGET.match(self.text, start, end)
        if match is None:
            return Assignment("", None, span)
        name, subscript, operator = match.groups()
        at = match.end()
        value: Word | tuple[Word, ...]
        if self.text.startswith("(", at):
            value = self._array(at, end, node)
        else:
            value = self.words.word(at, end)
        return Assignment(name, value, span, append=operator == "+=", index=subscript)

    def _array(self, at: int, end: int, node: Node | None) -> tuple[Word, ...]:
        """The elements of ``( ... )``; comments between them are left out."""
        holes: list[tuple[int, int]] = []
        if node is not None:
            array_node = node.child_by_field_name("value")
            if array_node is not None:
                holes = [(self._start(c), self._end(c)) for c in array_node.children if c.type == "comment"]
        words: list[Word] = []
        position = at + 1
        for start, stop in [*holes, (end - 1, end)]:
            words += self.words.words(position, start)
            position = stop
        return tuple(words)

    def _assignment_statement(self, node: Node) -> Statement:
        return Assignments((self._assignment(node),), self._span(node))

    def _assignments(self, node: Node) -> Statement:
        items = tuple(self._assignment(child) for child in node.children if child.type == "variable_assignment")
        return Assignments(items, self._span(node))

    def _declaration(self, node: Node) -> Statement:
        keyword = node.children[0].type
        items: list[Assignment] = []
        exported = keyword == "export"
        for child in node.children[1:]:
            text = self.text[self._start(child) : self._end(child)]
            if child.type == "variable_assignment":
                items.append(self._assignment(child))
            elif text.startswith(("-", "+")):
                exported = (exported or "x" in text) and not (keyword == "export" and "n" in text)
            elif _NAME.fullmatch(text):
                items.append(Assignment(text, None, self._span(child)))
        return Assignments(tuple(replace(item, exported=exported) for item in items), self._span(node))

    def _declared(self, words: Sequence[Word], span: Span) -> Statement:
        """A declaration that the grammar took for a command (``export "A=1"``)."""
        items = []
        for word in words[1:]:
            if word.literal is not None and _NAME.fullmatch(word.literal):
                items.append(Assignment(word.literal, None, word.span, exported=words[0].literal == "export"))
            elif (split := split_assignment(word)) is not None:
                items.append(replace(split, exported=words[0].literal == "export"))
        return Assignments(tuple(items), span)

    def _unset(self, node: Node) -> Statement:
        items = []
        for child in node.children[1:]:
            name = self.text[self._start(child) : self._end(child)]
            if _NAME.fullmatch(name):
                items.append(Assignment(name, None, self._span(child), unset=True))
        return Assignments(tuple(items), self._span(node))

    # Redirections

    def _redirect(self, node: Node) -> Redirect:
        if node.type == "heredoc_redirect":
            return self._here_document(node)
        operator, target = "", None
        for child in node.children:
            if not child.is_named:
                operator += child.type
            elif child.type != "file_descriptor" and target is None:
                target = self.words.word(self._start(child), self._end(child))
            elif child.type == "file_descriptor":
                operator = self.text[self._start(child) : self._end(child)] + operator
        return Redirect(operator, target)

    def _here_document(self, node: Node) -> Redirect:
        """Its body is all lines between the one that announces it and the one that ends it."""
        start_node = body_node = end_node = None
        for child in node.children:
            if child.type == "heredoc_start":
                start_node = child
            elif child.type == "heredoc_body":
                body_node = child
            elif child.type == "heredoc_end":
                end_node = child
        operator = node.children[0].type
        if start_node is None or end_node is None:
            return Redirect(operator, None)
        expands = not any(mark in self.text[self._start(start_node) : self._end(start_node)] for mark in "'\"\\")
        end = self.text.rfind("\n", 0, self._end(end_node)) + 1
        start = self.text.rfind("\n", 0, self._start(body_node)) + 1 if body_node is not None else end
        end = max(start, end)
        return Redirect(
            operator,
            None,
            self.text[start:end],
            self.words.span(start, end),
            self.words.body(start, end) if expands else None,
            expands,
        )

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
            redirects.append(self._redirect(child))
            if child.type != "heredoc_redirect":
                continue
            operator = ""
            for inner in child.children:
                if inner.type in ("&&", "||"):
                    operator = inner.type
                elif inner.type == "pipeline":
                    piped += self._block(inner)
                elif inner.type == "file_redirect":
                    redirects.append(self._redirect(inner))
                elif operator and inner.is_named and not inner.type.startswith("heredoc"):
                    rest = list(self._statement(inner))
                    after, operator = ((operator, rest[0]) if rest else after), ""
                elif inner.is_named and not inner.type.startswith("heredoc") and inner.type != "file_descriptor":
                    more.append((self._start(inner), self._end(inner)))
        statement = _redirected(body, tuple(redirects), self._span(node))
        if isinstance(statement, Command) and more:
            extra = [word for start, end in more for word in self.words.words(start, end)]
            statement = replace(statement, words=(*statement.words, *extra))
        if piped:
            statement = Pipeline((statement, *piped), self._span(node))
        if after is not None:
            statement = _chain([("", statement), after], self._span(node))
        return statement

    # Lists and blocks

    def _list(self, node: Node) -> Statement | None:
        links: list[tuple[str, Node]] = []
        current = node
        while current.type == "list":
            named = [child for child in current.children if child.is_named and child.type != "comment"]
            operator = next((child.type for child in current.children if child.type in ("&&", "||")), "")
            if len(named) != 2 or not operator:
                return Group(self._block(current), self._span(node))
            links.append((operator, named[1]))
            current = named[0]
        links.append(("", current))
        statements: list[tuple[str, Statement]] = []
        for operator, part in reversed(links):
            statements += [(operator, statement) for statement in self._statement(part)]
        return _chain(statements, self._span(node)) if statements else None

    def _pipeline(self, node: Node) -> Statement:
        commands = tuple(statement for child in node.children if child.is_named for statement in self._statement(child))
        return Pipeline(commands, self._span(node))

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
        return If((self._arm(own), *branches), orelse, self._span(node))

    def _arm(self, nodes: Sequence[Node]) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        then = next((at for at, child in enumerate(nodes) if child.type == "then"), len(nodes))
        return tuple(self._sequence(nodes[:then])), tuple(self._sequence(nodes[then:]))

    def _for(self, node: Node) -> Statement:
        name, words, pieces = "", [], list[tuple[int, int]]()
        has_in = False
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        if variable is not None:
            name = self.text[self._start(variable) : self._end(variable)]
        for child in node.children:
            if child.type == "in":
                has_in = True
            elif has_in and child != body and child.is_named and child.type != "comment":
                start, end = self._start(child), self._end(child)
                if pieces and pieces[-1][1] == start:
                    pieces[-1] = (pieces[-1][0], end)
                else:
                    pieces.append((start, end))
        words = [word for start, end in pieces for word in self.words.words(start, end)]
        return For(name, tuple(words) if has_in else None, self._block(body), self._span(node))

    def _c_for(self, node: Node) -> Statement:
        return For("", None, self._block(node.child_by_field_name("body")), self._span(node))

    def _while(self, node: Node) -> Statement:
        body = node.child_by_field_name("body")
        condition = tuple(self._sequence([child for child in node.children if child != body]))
        return While(condition, self._block(body), self._span(node))

    def _case(self, node: Node) -> Statement | None:
        subject = node.child_by_field_name("value")
        if subject is None:
            return None
        branches = []
        for item in node.children:
            if item.type != "case_item":
                continue
            close = next((at for at, child in enumerate(item.children) if child.type == ")"), 0)
            start = self._start(item)
            end = self._start(item.children[close])
            text = self.text[start:end]
            start += len(text) - len(text.lstrip().removeprefix("("))
            body = tuple(self._sequence(item.children[close + 1 :]))
            branches.append((tuple(self._patterns(start, end)), body))
        return Case(self.words.word(self._start(subject), self._end(subject)), tuple(branches), self._span(node))

    def _patterns(self, start: int, end: int) -> Iterator[Word]:
        at = start
        while at < end:
            bar = self.text.find("|", at, end)
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
        return Function(self.text[self._start(name) : self._end(name)], statements, self._span(node))

    def _compound(self, node: Node) -> Statement:
        if self.text.startswith("((", self._start(node)):
            return self._arithmetic(node)
        return Group(self._block(node), self._span(node))

    def _subshell(self, node: Node) -> Statement:
        return Group(self._block(node), self._span(node), subshell=True)


_READERS = {
    "command": TreeReader._command,
    "test_command": TreeReader._test,
    "negated_command": TreeReader._negated,
    "variable_assignment": TreeReader._assignment_statement,
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

_PARSER: list[Parser] = []


def _parser() -> Parser:
    """One parser per process: making the language object costs more than parsing a script."""
    if not _PARSER:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        _PARSER.append(Parser(Language(tree_sitter_bash.language())))
    return _PARSER[0]


def _byte_offsets(text: str) -> array[int]:
    """For every byte of the UTF-8 text, and for its end, the offset of the character that it belongs to."""
    offsets = array("I")
    for offset, char in enumerate(text):
        code = ord(char)
        size = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        if 0xD800 <= code < 0xE000:
            size = 1
        offsets.extend([offset] * size)
    offsets.append(len(text))
    return offsets


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


def _redirected(body: Statement | None, redirects: tuple[Redirect, ...], span: Span) -> Statement:
    if body is None:
        return Command((), span, (), redirects)
    if isinstance(body, Command):
        return replace(body, redirects=body.redirects + redirects, span=span)
    if isinstance(body, Group):
        return replace(body, redirects=body.redirects + redirects)
    if isinstance(body, Pipeline):
        *first, last = body.commands
        return replace(body, commands=(*first, _redirected(last, redirects, span)))
    if isinstance(body, (Assignments, Function)):
        return body
    return Group((body,), span, redirects=redirects)


def _in_background(statement: Statement) -> Statement:
    if isinstance(statement, (Command, Pipeline, Group)):
        return replace(statement, background=True)
    return Group((statement,), statement.span, background=True, subshell=True)


def split_assignment(word: Word) -> Assignment | None:
    """``NAME=value`` in one word as an assignment (``env A=1``, ``export "A=1"``), or ``None``."""
    first = word.parts[0] if word.parts else None
    if not isinstance(first, Literal) or (match := _TARGET.match(first.text)) is None or match.group(2) is not None:
        return None
    rest = replace(first, text=first.text[match.end() :], column=first.column + match.end())
    return Assignment(match.group(1), Word((rest, *word.parts[1:]), word.span, True), word.span)
