"""Environment variables whose value their reader refuses, or does not take for what it says.

Parameters: ``variables``, a list of tables with ``names`` and the form of the value: ``words`` (those that are taken, in
any case), ``whole`` (lowest and highest whole number), ``counts`` (true: whole numbers above zero, with commas),
``leading`` (true: whatever begins with a number, as C reads it), ``devices`` (true: a list of device numbers), or
``settings`` (a table: key to kind, for a list ``key:value,key:value``; kinds are ``boolean``, ``whole``, ``megabytes``,
``fraction``, ``divisions``, ``any``, and a list of words). ``help`` may differ from the rule's; ``lead`` says how the
message goes on behind the name. ``replaced-by-launchers`` lists names whose value in a launch script is not seen by
processes that a launcher starts. Values come from the launches and from what the program itself stores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distlint.checks.environment_stores import environment_stores
from distlint.checks.registry import CheckContext, check
from distlint.judge.suggestion import did_you_mean, listing
from distlint.judge.versions import satisfies
from distlint.link.project import Project
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.value import Value

_NUMBER_IN_C = re.compile(r"\s*[+-]?(?:0[xX])?[0-9]")
MAX_LENGTH = 2000
"""Characters of a value that is taken apart; longer ones are left alone."""


@check("environment-values")
def environment_values(context: CheckContext) -> Iterator[Finding]:
    """A finding for each variable whose every possible value is refused, at the place where it is set."""
    forms = {name: form for form in context.parameters["variables"] for name in form["names"]}
    seen: set[Span] = set()
    for name, value, span, related in _given(context, frozenset(forms)):
        if span in seen:
            continue
        problem = _problem(forms[name], value)
        if problem:
            seen.add(span)
            lead = forms[name].get("lead", "can't be")
            yield context.finding(
                f"`{name}` {lead} `{value.options[0]}`: {problem}",
                span,
                related=related,
                confidence=value.confidence,
                symbol=name,
                help=forms[name].get("help"),
            )


def _given(context: CheckContext, names: frozenset[str]) -> Iterator[tuple[str, Value, Span, list[Related]]]:
    """The variables that launches export and that the program sets: name, value, place, who starts what."""
    project: Project = context.project
    versions = context.rule.versions.items()
    taken = frozenset(context.parameters.get("replaced-by-launchers", ()))
    for launch in project.launches:
        view = project.environments.for_file(launch.script_file or launch.file)
        if not all(satisfies(view, package, specifier) for package, specifier in versions):
            continue
        for name in sorted(names & launch.environment.keys()):
            if name in launch.provides and name in taken:
                continue
            value = launch.environment[name]
            span = value.spans[0] if value.spans else launch.span
            yield name, value, span, [Related(launch.span, "given to this launch")]
    for store in environment_stores(project, names):
        view = project.environments.for_file(store.file)
        if store.literal and all(satisfies(view, package, specifier) for package, specifier in versions):
            yield store.name, store.value, store.span, []


def _problem(form: Mapping[str, Any], value: Value) -> str:
    """Why every possible value is refused; ``""`` if one may be taken."""
    if value.is_unknown or not value.options or not all(isinstance(text, str) for text in value.options):
        return ""
    problems = [value_problem(form, text) for text in value.options]
    return problems[0] if all(problems) else ""


def value_problem(form: Mapping[str, Any], text: str) -> str:
    """Why the reader of a variable refuses a text, or takes it for something else; ``""`` where it may be right.

    ``form`` is one table of the rule's ``variables``. A ``$`` in the text is for another shell to replace.
    """
    if "$" in text or len(text) > MAX_LENGTH:
        return ""
    return next((problem for kind in _FORMS if kind in form and (problem := _FORMS[kind](form[kind], text))), "")


def _word(words: list[str], text: str) -> str:
    return "" if text.casefold() in {word.casefold() for word in words} else f"it is one of {listing(words)}"


def _whole(bounds: list[int], text: str) -> str:
    try:
        number = int(text)
    except ValueError:
        return "it is read as a whole number"
    low, high = bounds
    return "" if low <= number <= high else f"it is a number from {low} to {high}"


def _counts(_: bool, text: str) -> str:
    numbers = [part.strip() for part in text.split(",")]
    return "" if all(part.isdecimal() and int(part) > 0 for part in numbers) else "it is a whole number above 0"


def _leading(_: bool, text: str) -> str:
    return "" if not text or _NUMBER_IN_C.match(text) else "it is read as a number, which makes it 0"


def _devices(_: bool, text: str) -> str:
    """What hides devices that the list seems to name: it is read up to the first entry that is none."""
    names = [name.strip() for name in text.split(",")]
    if not text.strip() or names[0] == "-1" or text.strip() in ("NoDevFiles", "none", "void"):
        return ""
    if any(name.startswith(("GPU-", "MIG-")) for name in names):
        return ""
    while names and not names[-1]:
        names.pop()
    wrong = next((name for name in names if not name.isdecimal()), None)
    if wrong is not None:
        return f"`{wrong}` is no number of a device, and the list ends there"
    twice = next((name for name in names if names.count(name) > 1), None)
    return f"device {twice} is in it twice, which hides all of them" if twice is not None else ""


def _settings(kinds: Mapping[str, Any], text: str) -> str:
    """The first fault of a list of settings, read as the allocator of PyTorch takes it apart: blanks don't count."""
    text = "".join(text.split())
    for part in _parts(text):
        key, colon, value = part.partition(":")
        if key not in kinds:
            if "=" in key and key.partition("=")[0] in kinds:
                return f"key and value are separated by a colon, as in `{key.partition('=')[0]}:...`"
            return f"there is no setting `{key}`{did_you_mean(key, list(kinds))}"
        if not colon or not value:
            return f"`{key}` has no value"
        problem = _setting(kinds[key], key, value)
        if problem:
            return problem
    return ""


def _parts(text: str) -> Iterator[str]:
    """The pieces between commas, those inside brackets kept together; a comma at the end is let go."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    if start < len(text):
        yield text[start:]


def _setting(kind: Any, key: str, value: str) -> str:
    if isinstance(kind, list):
        return "" if value in kind else f"`{key}` is one of {listing(kind)}"
    if kind == "any":
        return ""
    if ":" in value and kind != "divisions":
        return f"settings are separated by commas, not as behind `{key}`"
    if kind == "boolean":
        return "" if value in ("True", "False") else f"`{key}` is True or False, written like this"
    if kind == "fraction":
        try:
            return "" if 0 < float(value) < 1 else f"`{key}` lies between 0 and 1"
        except ValueError:
            return f"`{key}` is a number between 0 and 1"
    if kind == "divisions":
        plain = value.isdecimal() and int(value) & (int(value) - 1)
        return f"`{key}` is a power of 2" if plain else ""
    digits = value[: next((at for at, letter in enumerate(value) if not letter.isdecimal()), len(value))]
    if not digits:
        return "" if value.startswith(("-", "+")) else f"`{key}` is a whole number"
    return f"`{key}` is at least 20" if kind == "megabytes" and int(digits) < 20 else ""


_FORMS: dict[str, Callable[[Any, str], str]] = {
    "words": _word,
    "whole": _whole,
    "counts": _counts,
    "leading": _leading,
    "devices": _devices,
    "settings": _settings,
}
