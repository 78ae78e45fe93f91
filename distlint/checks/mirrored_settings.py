"""Settings that a host compares with its own arguments, and that differ from them.

Parameters: ``subject``, ``host`` (which host compares), ``pairs`` (settings, each with a ``value`` over the host's arguments,
its ``name`` there, and ``unless``: a condition under which it is not compared).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import Condition, compile_condition
from distlint.judge.view import Used, View
from distlint.judge.wording import show
from distlint.model.finding import Finding, Operation, Related, Safety
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value


@check("mirrored-settings")
def mirrored_settings(context: CheckContext) -> Iterator[Finding]:
    """A finding for each setting that is fixed to another value than the host's argument."""
    pairs = [(pair, compile_condition(pair["value"])) for pair in context.parameters["pairs"]]
    for subject in context.subjects(context.parameters["subject"]):
        host = subject.names.get("host")
        if host is None or not host.is_known or host.only != context.parameters["host"]:
            continue
        view = View.of(subject)
        for pair, expected in pairs:
            setting = view.setting(pair["setting"])
            if setting is None or not setting.certain or not _plain(setting.value):
                continue
            if "unless" in pair and compile_condition(pair["unless"]).judge(view).holds is not False:
                continue
            wanted = expected.compute(view)
            if _plain(wanted) and not _equal(setting.value.only, wanted.only):
                yield _finding(context, subject, view, setting, pair, expected, wanted)


def _plain(value: Value) -> bool:
    """Whether a value is a number or a boolean, in text or not; a null is not compared."""
    return value.is_known and isinstance(value.only, (bool, int, float, str)) and value.only != "auto"


def _equal(written: Any, wanted: Any) -> bool:
    """Whether Python's own comparison finds them equal; numbers that differ by rounding only count as equal."""
    if isinstance(written, str) is not isinstance(wanted, str):
        return False
    if isinstance(written, (int, float)) and isinstance(wanted, (int, float)):
        return abs(written - wanted) <= 1e-9 * max(abs(written), abs(wanted))
    return bool(written == wanted)


def _finding(
    context: CheckContext,
    subject: Subject,
    view: View,
    setting: Setting,
    pair: Any,
    expected: Condition,
    wanted: Value,
) -> Finding:
    used = expected.judge(view).used
    places = [Related(place, _said(item)) for item in used if (place := item.key_span) is not None]
    operation = Operation("set-value", setting.span, {"value": "auto"})
    message = f"`{setting.written or setting.path}` is {show(setting.value)}, but {pair['name']} is {show(wanted)}"
    return context.finding(
        message,
        setting.key_span,
        related=places,
        confidence=min((item.value.confidence for item in used), default=context.rule.confidence),
        plan=context.plan(operation, title='write "auto"', safety=Safety.UNSAFE),
        symbol=setting.path,
        runs=(subject.label,) if subject.run is not None else (),
    )


def _said(item: Used) -> str:
    return f"`{item.path.rpartition('.')[2]}` is {show(item.value)} here"
