"""Commands that set variables without an assignment: ``read``, ``printf -v``, ``let`` and ``((...))``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_conditions import TRUE, UNDECIDED, Decision
from distlint.link.shell_expand import Expander
from distlint.link.shell_output import Surroundings, output_of
from distlint.link.shell_state import Content, State, Variable, scalar
from distlint.link.shell_values import Hole, Text, assigned, literal, places_of, plain
from distlint.link.shell_variables import evaluated_words
from distlint.model.shell import Arithmetic, Command
from distlint.model.span import Span
from distlint.model.value import Confidence

# ``A=1``, ``A+=B``, ``A++``, ``--A``; no comparisons.
_SET = re.compile(r"([A-Za-z_]\w*)\s*(?:([-+*/%]?)=(?!=)|(\+\+|--))|(\+\+|--)\s*([A-Za-z_]\w*)", re.ASCII)
_READ_WITH_VALUE = frozenset({"-d", "-i", "-n", "-N", "-p", "-t", "-u"})


def names_set_by(command: Command) -> Iterator[str]:
    """The variables that a command of this kind sets, as far as they are written down."""
    texts = [word.literal or "" for word in command.words]
    program = texts[0] if texts else ""
    if program == "((":
        parts = [part for word in command.words[1:] for part in word.parts]
        texts = [part.expression for part in parts if isinstance(part, Arithmetic)]
    if program in ("((", "let"):
        yield from (match[1] or match[5] for text in texts for match in _SET.finditer(text))
    elif program in ("read", "mapfile", "readarray"):
        yield from (text for text in texts[1:] if text.isidentifier())
    elif program == "printf" and texts[1:2] == ["-v"]:
        yield from texts[2:3]


def counted(expression: str, state: State, expander: Expander, span: Span) -> Decision:
    """Carries out an arithmetic command; gives whether its value is not zero."""
    span = expander.locate(span)
    found = list(_SET.finditer(expression))
    if not found:
        whole = plain(expander.arithmetic(expression, state, span))
        return Decision(int(whole) != 0) if whole is not None else UNDECIDED
    simple = len(found) == 1 and _is_alone(found[0], expression)
    for match in found:
        name = match[1] or match[5]
        text: Text = (Hole(name, f"${name} is set by arithmetic"),)
        if simple:
            text = expander.arithmetic(_new_value(match, expression), state, span)
        previous = state.variables.get(name)
        exported = previous is not None and previous.exported
        state.variables[name] = scalar(assigned(text, span), exported=exported, span=span)
    return UNDECIDED


def _is_alone(match: re.Match[str], expression: str) -> bool:
    """Whether the command is nothing but this assignment."""
    if expression[: match.start()].strip():
        return False
    rest = expression[match.end() :]
    return "," not in rest if match[2] is not None else not rest.strip()


def _new_value(match: re.Match[str], expression: str) -> str:
    name = match[1] or match[5]
    if match[2] is None:
        return f"{name} {(match[3] or match[4])[0]} 1"
    value = expression[match.end() :]
    return f"{name} {match[2]} ({value})" if match[2] else value


def read_into(
    command: Command, words: Sequence[EvaluatedWord], state: State, local: State, expander: Expander
) -> Decision:
    """``read A B``; its input is known where it is a here-string. ``local`` has what stands in front of the command."""
    names: list[EvaluatedWord] = []
    array = whole = False
    at = 1
    while at < len(words):
        text = words[at].literal or ""
        if text.startswith("-"):
            array = array or "a" in text
            whole = whole or (text.endswith("d") and at + 1 < len(words) and words[at + 1].literal == "")
            at += text[:1] + text[-1:] in _READ_WITH_VALUE
        elif text.isidentifier():
            names.append(words[at])
        at += 1
    given = _here_string(command, state, expander)
    if whole and len(names) == 1 and not array:
        return _read_whole(command, names[0], given, state, expander)
    separators = plain(local.variables["IFS"].texts[0]) if "IFS" in local.variables else " \t\n"
    items = _split(given, separators) if given is not None and separators is not None else None
    if array and names:
        name, span = names[0].literal or "", names[0].span
        hole: Text = (Hole(name, f"${name} is read from input", sets=(span,), many=True),)
        elements = tuple(assigned(item, span) for item in items) if items is not None else (hole,)
        state.variables[name] = Variable((Content(elements, True),), span=span)
        return UNDECIDED
    for number, word in enumerate(names):
        name = word.literal or ""
        text_read: Text = (Hole(name, f"${name} is read from input", sets=(word.span,)),)
        if items is not None and (number + 1 < len(names) or len(items) <= len(names)):
            text_read = assigned(items[number], word.span) if number < len(items) else ()
        state.variables[name] = scalar(text_read, span=word.span)
    return UNDECIDED


def _read_whole(
    command: Command, name: EvaluatedWord, given: Text | None, state: State, expander: Expander
) -> Decision:
    """``read -r -d '' NAME <<EOF``: a whole here-document, without the blanks around it."""
    body = next((redirect for redirect in command.redirects if redirect.body is not None), None)
    if given is None and body is not None:
        texts = expander.texts(body.body_word, state) if body.body_word is not None else (literal(body.body or ""),)
        given = texts[0] if len(texts) == 1 else None
    text = name.literal or ""
    if given is None:
        state.variables[text] = scalar((Hole(text, f"${text} is read from input", sets=(name.span,)),), span=name.span)
    else:
        state.variables[text] = scalar(assigned(given, name.span), span=name.span)
    return UNDECIDED


def lines_into(
    command: Command,
    words: Sequence[EvaluatedWord],
    state: State,
    expander: Expander,
    read: Callable[[Text], str | None],
) -> Decision:
    """``mapfile NAME`` and ``readarray NAME``: the lines of the input as an array, known for a here-string.

    ``read`` gives the text of a file of the project.
    """
    name = words[-1].literal or ""
    if not name.isidentifier():
        return UNDECIDED
    span = words[-1].span
    given = _here_string(command, state, expander)
    file = next((item for item in command.redirects if item.operator == "<" and item.target is not None), None)
    if given is None and file is not None and file.target is not None:
        paths = expander.texts(file.target, state)
        content = read(paths[0]) if len(paths) == 1 else None
        given = literal(content.rstrip("\n"), span, sure=Confidence.LIKELY) if content else None
    whole = plain(given) if given is not None else None
    elements: tuple[Text, ...] = ((Hole(name, f"${name} is read from input", sets=(span,), many=True),),)
    if whole is not None and given is not None and all((word.literal or "") in ("-t", name) for word in words[1:]):
        elements = tuple(assigned(literal(line, *places_of(given)), span) for line in whole.split("\n"))
    state.variables[name] = Variable((Content(elements, True),), span=span)
    return UNDECIDED


def _here_string(command: Command, state: State, expander: Expander) -> Text | None:
    here = next((redirect for redirect in command.redirects if redirect.operator == "<<<"), None)
    texts = expander.texts(here.target, state) if here is not None and here.target is not None else ()
    return texts[0] if len(texts) == 1 else None


def _split(text: Text, separators: str) -> list[Text] | None:
    """The fields of a known line; ``None`` if it is not known."""
    whole = plain(text)
    if whole is None or "\\" in whole:
        return None
    line = whole.partition("\n")[0]
    blank = not separators.strip()
    fields = line.split() if blank else re.split(f"[{re.escape(separators)}]", line) if separators else [line]
    return [literal(field, *places_of(text)) for field in fields]


def printed_into(command: Command, state: State, expander: Expander) -> Decision:
    """``printf -v NAME format ...``."""
    words = evaluated_words(command, state, expander)
    name = words[2].literal if len(words) > 2 else None
    if name is not None and name.isidentifier():
        span = words[2].span
        printed = None
        if all(len(word.texts) == 1 for word in words):
            printed = output_of(
                [words[0].texts[0], *(word.texts[0] for word in words[3:])], Surroundings(state.directory)
            )
        text = printed if printed is not None else (Hole(name, f"${name} is printed by `printf`"),)
        state.variables[name] = scalar(assigned(text, span), span=span)
    return TRUE
