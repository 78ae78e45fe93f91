"""Makefiles: each target's recipe as a script, with the variables of make in front of it.

What make says of variables, functions and recipes is in the manual of GNU make (4.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from distlint.model.shell import Carried, Group, ShellFacts, Statement
from distlint.model.span import LineIndex, Span
from distlint.read.carried import MAX_CARRIED, MAX_SCRIPT, PiecedText, pieced_script

_VARIABLE = re.compile(r"[ ]*(?:(export|override|private)[ \t]+)*([A-Za-z_][\w.-]*)[ \t]*(\?=|:{1,3}=|\+=|=)[ \t]*")
_TARGETS = re.compile(r"[^\t #:=][^:=#]*:(?!=)")
_DEFINE = re.compile(r"[ ]*define[ ]+([A-Za-z_]\w*)[ ]*[:?]?=?[ ]*$", re.ASCII)
_CONDITION = re.compile(r"[ ]*(ifeq|ifneq|ifdef|ifndef|else|endif)\b")
_EXPORT_ALL = re.compile(r"[ ]*export[ \t]*(?:#.*)?$")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


class _Line(NamedTuple):
    """One logical line: its physical pieces as (text, offset), continued lines joined."""

    pieces: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


def read_makefile(text: str, file: str) -> tuple[Carried, ...]:
    """A script for every rule with a recipe. Each of its lines runs in a shell of its own."""
    index = LineIndex(text)
    scripts: list[Carried] = []
    variables = PiecedText(index)
    later = PiecedText(index)
    recipes: list[tuple[PiecedText, list[PiecedText], Span]] = []
    export_all = False
    defined: str | None = None
    for line in _lines(text):
        whole = line.text
        if defined is not None:
            if whole.strip() == "endef":
                defined = None
            elif defined:
                _add_variable(variables, _plain_variable(defined), _Line((("", line.pieces[0][1]), *line.pieces)))
                defined = ""
            continue
        if (begins := _DEFINE.match(whole)) is not None:
            defined = begins[1]
            continue
        if whole.startswith("\t"):
            if recipes and recipes[-1][1] is not None and len(recipes) <= MAX_CARRIED:
                recipes[-1][1].append(_recipe_line(line, index))
            continue
        if not whole.strip() or whole.lstrip().startswith("#"):
            continue
        condition = _CONDITION.match(whole)
        if condition is not None:
            _add_condition(variables, condition[1], line.pieces[0][1])
        elif _EXPORT_ALL.match(whole):
            export_all = True
        elif (match := _VARIABLE.match(whole)) is not None:
            _add_variable(variables, match, line)
            if match[3] == "=":
                _add_variable(later, match, line)
        elif (target := _TARGETS.match(whole)) is not None:
            _add_target(recipes, target, line, index, file)
    if not any(lines for _, lines, _ in recipes):
        return ()
    before = pieced_script(variables, file).statements if variables.size <= MAX_SCRIPT else ()
    before += pieced_script(later, file).statements if later.size <= MAX_SCRIPT else ()
    if export_all:
        before = (*_exporting(file), *before)
    for own, lines, span in recipes:
        statements: list[Statement] = [*before, *pieced_script(own, file).statements]
        for one in lines:
            if one.size <= MAX_SCRIPT:
                statements.append(Group(pieced_script(one, file).statements, span, subshell=True))
        if lines:
            scripts.append(Carried(ShellFacts(tuple(statements)), "recipe", file.rpartition("/")[0]))
    return tuple(scripts)


def _exporting(file: str) -> tuple[Statement, ...]:
    pieces = PiecedText(LineIndex(""))
    pieces.add("set -a", 0, exact=False)
    return pieced_script(pieces, file).statements


def _lines(text: str) -> Iterator[_Line]:
    pieces: list[tuple[str, int]] = []
    at = 0
    for physical in text.split("\n"):
        line = physical.removesuffix("\r")
        continued = line.endswith("\\")
        begins = 1 if pieces and pieces[0][0].startswith("\t") and line.startswith("\t") else 0
        pieces.append((line[begins:-1] + " " if continued else line[begins:], at + begins))
        if not continued:
            yield _Line(tuple(pieces))
            pieces = []
        at += len(physical) + 1
    if pieces:
        yield _Line(tuple(pieces))


def _add_target(
    recipes: list[tuple[PiecedText, list[PiecedText], Span]],
    target: re.Match[str],
    line: _Line,
    index: LineIndex,
    file: str,
) -> None:
    """A rule: a new recipe; or, for ``target: NAME = value``, a variable of its own for the recipes of that target."""
    start = line.pieces[0][1]
    rest = line.text[target.end() :]
    own = PiecedText(index)
    match = _VARIABLE.match(rest.lstrip(" \t"))
    if match is not None:
        shift = target.end() + len(rest) - len(rest.lstrip(" \t"))
        _add_variable(own, match, _Line(((rest.lstrip(" \t"), start + shift),)))
        recipes.append((own, [], Span(file, *index.position(start), *index.position(start + target.end()))))
        return
    name = target.group().rstrip(":").strip()
    previous = recipes[-1] if recipes else None
    if previous is not None and not previous[1] and previous[0].size:
        # Variables of the target, which stand in front of its rule.
        same = index.slice(previous[2]).rstrip(":").strip() == name
        if same:
            own = recipes.pop()[0]
    recipes.append((own, [], index.span(file, start, start + target.end())))
    inline = rest.partition(";")
    if inline[1]:
        at = start + target.end() + len(inline[0]) + 1
        recipes[-1][1].append(_recipe_line(_Line((("\t" + inline[2], at - 1),)), index))


def _recipe_line(line: _Line, index: LineIndex) -> PiecedText:
    pieces = PiecedText(index)
    quote = ""
    for number, (text, offset) in enumerate(line.pieces):
        start = 0
        if number == 0:
            start = len(text) - len(text.lstrip("\t @-+"))
        quote = _translate(text[start:], offset + start, pieces, quote)
    return pieces


def _add_condition(pieces: PiecedText, word: str, at: int) -> None:
    """What make decides is left open."""
    text = {"else": "else :;\n", "endif": "fi\n"}.get(word, 'if [ "${MAKE_CONDITION}" = yes ]; then :;\n')
    pieces.add(text, at, exact=False)


def _add_variable(pieces: PiecedText, match: re.Match[str], line: _Line) -> None:
    """``NAME := value`` as an assignment of the shell; ``?=`` as a default."""
    name, operator = match[2], match[3]
    if not _NAME.match(name):
        return
    start = line.pieces[0][1]
    exports = "export " if match[1] == "export" or line.text.lstrip().startswith("export ") else ""
    opening = {"?=": f'{exports}{name}="${{{name}:-', "+=": f'{exports}{name}="${{{name}}} '}
    pieces.add(opening.get(operator, f'{exports}{name}="'), start, exact=False)
    skip = match.end() if line.pieces[0][0] else 0
    for text, offset in line.pieces:
        taken = min(skip, len(text))
        skip -= taken
        value = text[taken:].partition(" #")[0]
        escaped = PiecedText(pieces.index)
        _translate(value.rstrip() if len(line.pieces) == 1 else value, offset + taken, escaped, "")
        _quoted_into(pieces, escaped, offset + taken)
    pieces.add('}"\n' if operator == "?=" else '"\n', start, exact=False)


def _plain_variable(name: str) -> re.Match[str]:
    """The head of an assignment to a variable that ``define`` gives its first line to."""
    match = _VARIABLE.match(f"{name} =")
    if match is None:
        raise ValueError(name)
    return match


def _quoted_into(pieces: PiecedText, value: PiecedText, at: int) -> None:
    """A value as it stands in double quotes of the shell."""
    text = value.text
    if '"' in text or "`" in text or "\\" in text:
        for mark in ("\\", '"', "`"):
            text = text.replace(mark, "\\" + mark)
        pieces.add(text, at, exact=False)
        return
    for start in range(len(text)):
        if start == 0 or value.offset(start) != value.offset(start - 1) + 1:
            end = start + 1
            while end < len(text) and value.offset(end) == value.offset(end - 1) + 1:
                end += 1
            pieces.add(text[start:end], value.offset(start))


def _translate(text: str, offset: int, pieces: PiecedText, quote: str) -> str:
    """Adds a text of make with its variables as those of the shell; gives the quote that is open at the end.

    Make expands inside single quotes too: there the variable is put between double quotes of its own.
    """
    at = begun = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 2
            continue
        if char in "'\"":
            quote = "" if quote == char else quote or char
        if char != "$" or at + 1 >= len(text):
            at += 1
            continue
        pieces.add(text[begun:at], offset + begun)
        end, replacement = _reference(text, at)
        if quote == "'" and replacement.startswith("${"):
            replacement = f"'\"{replacement}\"'"
        if len(replacement) == end - at:
            pieces.add(replacement, offset + at)
        else:
            pieces.add(replacement, offset + at, exact=replacement == "$")
        at = begun = end
    pieces.add(text[begun:], offset + begun)
    return quote


def _reference(text: str, at: int) -> tuple[int, str]:
    """The end of a reference of make, and what stands for it in a shell."""
    following = text[at + 1]
    if following == "$":
        return at + 2, "$"
    if following not in "({":
        return at + 2, "${MAKE_AUTOMATIC}"
    closing = ")" if following == "(" else "}"
    depth, end = 1, at + 2
    while end < len(text) and depth:
        depth += (text[end] == following) - (text[end] == closing)
        end += 1
    inside = text[at + 2 : end - 1]
    if _NAME.match(inside):
        return end, f"${{{inside}}}"
    if inside.startswith("shell "):
        return end, f"$({inside[6:].replace('$$', '$')})"
    return end, "${MAKE_FUNCTION}"
