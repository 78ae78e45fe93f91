"""What a parser says to the words of an option: how many it takes, and which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distlint.frameworks.megatron.command_line import Given, converted, most_words
from distlint.frameworks.megatron.flags import Flag
from distlint.frameworks.refused import Refused
from distlint.knowledge.config_names import nearest
from distlint.model.finding import Related
from distlint.model.launch import Argument, Launch
from distlint.model.value import Confidence, Value

VALUE, WORDS = "refused-value", "word-count"

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "integers": "whole numbers with commas between them",
    "frequency": "a whole number, or lists of numbers with `+` and `*` between them and no spaces",
}
_MAX_LISTED = 8


def confidence_of(given: Given, sure: bool) -> Confidence:
    """How sure a finding about an option is."""
    return sureness(given.word, sure)


def sureness(word: Argument, sure: bool) -> Confidence:
    """How sure a finding about a word is."""
    return min(word.value.confidence, Confidence.LIKELY if sure else Confidence.POSSIBLE)


def behind_switch(given: Given) -> Iterator[Refused]:
    """A word behind a switch that no release has: for the others another rule speaks."""
    word = next(iter((*given.words, *given.strays)), None)
    if word is not None and word.value.is_known and given.inline is None:
        message = f"`{given.name}` takes no value; `{word.value.only}` is left over"
        yield Refused(WORDS, message, word.span, given.name, confidence=confidence_of(given, sure=True))


def refused_words(launch: Launch, given: Given, infos: Sequence[Flag], *, sure: bool) -> Iterator[Refused]:
    """What the parser says to the words of an option, where everything that it may be in ``infos`` refuses them.

    ``sure`` says that choices count, too.
    """
    # releases that agree share one object; the one that is judged stays the last
    distinct = {id(info): info for info in reversed(infos)}
    problems = [_problem(launch, given, info) for info in reversed(distinct.values())]
    if any(problem is None for problem in problems):
        return
    problem = problems[-1]
    if problem is None:
        return
    kind, message, word, is_choice = problem
    sure = sure or not is_choice
    value = word.value
    span = value.spans[0] if value.spans else word.span
    place = given.word.span if word is given.word and kind == WORDS else span
    yield Refused(
        kind,
        message,
        place,
        given.name,
        related=(Related(given.word.span, "the option"),) if place != given.word.span else (),
        confidence=min(value.confidence, confidence_of(given, sure)),
    )


_Problem = tuple[str, str, Argument, bool]


def _problem(launch: Launch, given: Given, info: Flag) -> _Problem | None:
    """The kind of the fault, what to say, where, and whether it is about choices; ``None`` for a line that is taken."""
    if info.is_switch:
        return None  # words behind a switch are another rule's matter
    if info.nargs == "...":
        return None
    words = list(given.words)[: most_words(info)]
    if given.inline is not None:
        words = [Argument(given.inline, given.word.span, str(given.inline.only))]
    return _count_problem(launch, given, info, words) or _value_problem(given, info, words)


def _count_problem(launch: Launch, given: Given, info: Flag, words: list[Argument]) -> _Problem | None:
    everything = [*given.words, *given.strays]
    # `<some dir>/x` stands in an example for what its reader puts there
    if any(not word.value.is_known or "<" in word.text or ">" in word.text for word in everything):
        return None
    needs = info.nargs if isinstance(info.nargs, int) else {"*": 0, "?": 0}.get(str(info.nargs), 1)
    if len(words) < needs and _stands_alone(launch, given):
        said = "needs a value" if needs == 1 else f"needs {needs} values"
        given_words = "none is given" if not words else f"{len(words)} is given" if len(words) == 1 else ""
        tail = given_words or f"{len(words)} are given"
        return WORDS, f"`{given.name}` {said}, but {tail}", given.word, False
    most = most_words(info)
    if given.inline is None and most is not None and len(everything) > most:
        extra = everything[most]
        takes = "one value" if most == 1 else f"{most} values"
        return WORDS, f"`{given.name}` takes {takes}; `{extra.value.only}` is left over", extra, False
    return None


def _stands_alone(launch: Launch, given: Given) -> bool:
    """Whether all words behind an option are seen.

    More may follow the last one, and a text that is run as a command (its words have one place) may have lost some.
    """
    if launch.open_arguments and launch.arguments[-1] is given.word:
        return False
    return sum(word.span == given.word.span for word in launch.arguments) == 1


def _value_problem(given: Given, info: Flag, words: list[Argument]) -> _Problem | None:
    for word in words:
        problem = _word_problem(info, word.value)
        if problem:
            is_choice, text = problem
            shown = word.value.options[0]
            return VALUE, f"`{given.name}` can't be `{shown}`: {text}", word, is_choice
    return None


def _word_problem(info: Flag, value: Value) -> tuple[bool, str] | None:
    """Why the parser refuses every possible word; ``None`` where it may take one."""
    if not value.options or any(not isinstance(text, str) for text in value.options):
        return None
    read = []
    for text in value.options:
        try:
            read.append(converted(text, info.type))
        except ValueError:
            continue
    if not read:
        return False, f"it has to be {_KINDS.get(info.type, 'a number')}"
    if info.choices is None or any(item in info.choices for item in read):
        return None
    if len(info.choices) > _MAX_LISTED:
        return True, f"it is none of the {len(info.choices)} choices{_near(str(read[0]), info)}"
    return True, "the choices are " + ", ".join(f"`{choice}`" for choice in info.choices)


def _near(text: str, info: Flag) -> str:
    found = nearest(text, map(str, info.choices or ()))
    return f"; did you mean `{found}`?" if found else ""
