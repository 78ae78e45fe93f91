"""The functions that conditions may call, beside those that a subject brings along.

Three kinds: over *paths* (what is written), over *versions* (what the pins allow) and over *values*.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from distlint.judge import kleene
from distlint.judge.frame import Evaluator, Frame, Outcome
from distlint.judge.versions import is_pinned, is_required, is_specifier, satisfies
from distlint.judge.view import Used
from distlint.model.value import State, Value, ends, known, starts, unknown

MAX_TEXT = 1000
"""Longer strings are not searched."""
MAX_REPEATS = 2


class PredicateError(ValueError):
    """A call with the wrong arguments."""


def _present(path: str) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        used = frame.view.read(path)
        written = frame.view.written(path)
        if written.only is True and used.value.state is State.AUTO:
            written = unknown(used.value.reason)
        return Outcome(written, (_at_place(frame, used),))

    return evaluate


def _absent(path: str) -> Evaluator:
    present = _present(path)

    def evaluate(frame: Frame) -> Outcome:
        outcome = present(frame)
        answer = kleene.truth(outcome.value)
        return Outcome(kleene.boolean(None if answer is None else not answer, outcome.value.reason), outcome.used)

    return evaluate


def _given(path: str) -> Evaluator:
    return lambda frame: Outcome(frame.view.written(path), (_at_place(frame, frame.view.read(path)),))


def _is_kind(wanted: str) -> Callable[[str], Evaluator]:
    """Whether a setting is of a kind; unknown where nothing is known of that."""

    def predicate(path: str) -> Evaluator:
        def evaluate(frame: Frame) -> Outcome:
            setting = frame.view.setting(path)
            kind = setting.kind if setting is not None and setting.certain else ""
            return Outcome(known(kind == wanted) if kind else unknown("not known"), frame.read(path).used)

        return evaluate

    return predicate


def _known(path: str) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        outcome = frame.read(path)
        return Outcome(known(outcome.value.is_known), outcome.used)

    return evaluate


def _default(path: str) -> Evaluator:
    return lambda frame: Outcome(frame.choose(f"default:{path}", frame.view.default(path)))


def _auto(path: str) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        used = frame.view.read(path)
        if used.value.state is State.UNKNOWN:
            return Outcome(unknown(used.value.reason), (used,))
        return Outcome(known(used.value.state is State.AUTO), (used,))

    return evaluate


def _enabled(path: str) -> Evaluator:
    switch = f"{path}.enabled"

    def evaluate(frame: Frame) -> Outcome:
        block = _at_place(frame, frame.view.read(path))
        inner = frame.read(switch)
        if not inner.value.is_absent and frame.view.written(switch).only is not False:
            return Outcome(_as_boolean(inner.value), inner.used)
        written = kleene.truth(frame.view.written(path))
        if written is None:
            return Outcome(unknown("the block may be there or not"), (block,))
        if written is False:
            own = inner.value if not inner.value.is_absent else frame.read(path).value
            return Outcome(kleene.FALSE if own.is_absent else _as_boolean(own), (block,))
        value = frame.choose(path, block.value)
        if value.is_known and not isinstance(value.only, dict):
            return Outcome(kleene.FALSE if value.only is None else _as_boolean(value), (block,))
        if block.setting is not None and value.is_unknown and not frame.view.is_block(path):
            return Outcome(unknown(value.reason), (block,))
        return Outcome(kleene.TRUE if inner.value.is_absent else _as_boolean(inner.value), (block,))

    return evaluate


def _as_boolean(value: Value) -> Value:
    return kleene.boolean(kleene.truth(value), value.reason or "not known")


def _at_place(frame: Frame, used: Used) -> Used:
    return used if used.key_span is not None else used._replace(key_span=frame.view.place(used.path))


def _version(words: Sequence[str]) -> Evaluator:
    if len(words) != 2:
        raise PredicateError('`version` takes a package and a specifier: version("torch", ">=2.6")')
    package, specifier = words
    if not is_specifier(specifier):
        raise PredicateError(f"`{specifier}` is no version specifier")

    def evaluate(frame: Frame) -> Outcome:
        answer = satisfies(frame.view.subject.versions, package, specifier, frame.versions.get(package, ""))
        return Outcome(kleene.boolean(answer, f"the version of {package} is not known"))

    return evaluate


def _pinned(words: Sequence[str]) -> Evaluator:
    if len(words) != 1:
        raise PredicateError('`pinned` takes a package: pinned("torch")')
    return lambda frame: Outcome(known(is_pinned(frame.view.subject.versions, words[0])))


def _required(words: Sequence[str]) -> Evaluator:
    if len(words) != 1:
        raise PredicateError('`required` takes a package: required("torch")')
    return lambda frame: Outcome(known(is_required(frame.view.subject.versions, words[0])))


def _on_values(name: str, count: tuple[int, int], function: Callable[[list[Value]], Value]) -> Any:
    """A function of values: ``count`` is the least and the greatest number of arguments."""

    def build(_: Sequence[ast.expr], arguments: Sequence[Evaluator]) -> Evaluator:
        if not count[0] <= len(arguments) <= count[1]:
            wanted = str(count[0]) if count[0] == count[1] else f"{count[0]} or more"
            raise PredicateError(f"`{name}` takes {wanted} argument{'s' if wanted != '1' else ''}")

        def evaluate(frame: Frame) -> Outcome:
            outcomes = [argument(frame) for argument in arguments]
            used = tuple(item for outcome in outcomes for item in outcome.used)
            return Outcome(function([outcome.value for outcome in outcomes]), used)

        return evaluate

    return build


def _matches(nodes: Sequence[ast.expr], arguments: Sequence[Evaluator]) -> Evaluator:
    if len(nodes) != 2 or not (isinstance(nodes[1], ast.Constant) and isinstance(nodes[1].value, str)):
        raise PredicateError('`matches` takes a value and a pattern in quotes: matches(name, "llama.*")')
    pattern = compile_pattern(nodes[1].value)
    build = _on_values("matches", (2, 2), lambda v: _of_text(v[0], lambda text: pattern.fullmatch(text) is not None))
    evaluate: Evaluator = build(nodes, arguments)
    return evaluate


def compile_pattern(text: str) -> re.Pattern[str]:
    """A regular expression that cannot take long: no repeated groups, no look-around, two open-ended repeats at most.

    Raises ``PredicateError`` for any other.
    """
    bare = re.sub(r"\[\^?\]?(?:\\.|[^\]\\])*\]", "x", re.sub(r"\\[^\d]", "x", text))
    if re.search(r"\)\s*[*+?{]", bare) or re.search(r"\(\?(?!:|i\))", bare) or re.search(r"\\\d", bare):
        raise PredicateError(f"the pattern `{text}` repeats a group, looks around or refers back: too slow to be safe")
    if len(re.findall(r"[*+]|\{\d*,\d*\}", bare)) > MAX_REPEATS:
        raise PredicateError(f"the pattern `{text}` has more than {MAX_REPEATS} repeats: too slow to be safe")
    try:
        return re.compile(text)
    except (re.error, OverflowError) as error:
        raise PredicateError(f"`{text}` is no regular expression: {error}") from None


def _of_text(value: Value, function: Callable[[str], Any]) -> Value:
    if not value.is_known:
        return unknown(value.reason or "is absent")
    if not isinstance(value.only, str) or len(value.only) > MAX_TEXT:
        return unknown("is no text")
    return known(function(value.only))


def _affix(values: list[Value], test: Callable[[Value, str], bool | None]) -> Value:
    affix = values[1].only
    if not isinstance(affix, str):
        return unknown("is no text")
    found = test(values[0], affix)
    return known(found) if found is not None else unknown(values[0].reason or "is no text")


def _length(values: list[Value]) -> Value:
    plain = values[0].only
    return known(len(plain)) if isinstance(plain, (str, list, tuple, dict)) else unknown("has no length")


def _is_float(values: list[Value]) -> Value:
    value = values[0]
    return known(type(value.only) is float) if value.is_known else unknown(value.reason or "is absent")


def _integer(values: list[Value]) -> Value:
    value = values[0]
    return value.map(int) if kleene.is_number(value) else unknown("is no number")


def _extreme(values: list[Value], choose: Callable[[list[Any]], Any]) -> Value:
    numbers = values
    if len(values) == 1 and isinstance(values[0].only, (list, tuple)):
        numbers = [known(item) for item in values[0].only]
    if not numbers or not all(kleene.is_number(value) for value in numbers):
        return unknown("not all are known numbers")
    return known(choose([value.only for value in numbers]))


def call_of_subject(name: str, arguments: Sequence[Evaluator]) -> Evaluator:
    """A call of one of the subject's own functions: unknown unless all arguments are known."""

    def evaluate(frame: Frame) -> Outcome:
        outcomes = [argument(frame) for argument in arguments]
        used = tuple(item for outcome in outcomes for item in outcome.used)
        function = frame.view.subject.functions.get(name)
        if function is None:
            return Outcome(unknown(f"{name} is not known here"), used)
        if not all(outcome.value.is_known for outcome in outcomes):
            return Outcome(unknown(next((o.value.reason for o in outcomes if o.value.reason), "is absent")), used)
        plain = [outcome.value.only for outcome in outcomes]
        value = function(*plain)
        call = f"{name}({', '.join(map(repr, plain))})"
        place = value.spans[0] if value.spans else None
        return Outcome(frame.choose(call, value), (*used, Used(call, value, place)))

    return evaluate


PATH_PREDICATES: dict[str, Callable[[str], Evaluator]] = {
    "present": _present,
    "absent": _absent,
    "given": _given,
    "known": _known,
    "is_tuple": _is_kind("tuple"),
    "is_dtype": _is_kind("dtype"),
    "default": _default,
    "auto": _auto,
    "enabled": _enabled,
}

VERSION_PREDICATES: dict[str, Callable[[Sequence[str]], Evaluator]] = {
    "version": _version,
    "pinned": _pinned,
    "required": _required,
}

PREDICATES: dict[str, Callable[[Sequence[ast.expr], Sequence[Evaluator]], Evaluator]] = {
    "divides": _on_values("divides", (2, 2), lambda v: kleene.divides(v[0], v[1])),
    "lower": _on_values("lower", (1, 1), lambda v: _of_text(v[0], str.lower)),
    "startswith": _on_values("startswith", (2, 2), lambda v: _affix(v, starts)),
    "endswith": _on_values("endswith", (2, 2), lambda v: _affix(v, ends)),
    "matches": _matches,
    "is_float": _on_values("is_float", (1, 1), _is_float),
    "len": _on_values("len", (1, 1), _length),
    "int": _on_values("int", (1, 1), _integer),
    "min": _on_values("min", (1, 16), lambda v: _extreme(v, min)),
    "max": _on_values("max", (1, 16), lambda v: _extreme(v, max)),
}
