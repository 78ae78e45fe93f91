"""Settings that have no effect together with another one.

Parameters: ``subject``, ``keys`` (what has no effect), ``when`` (the condition for that), ``because`` (a message template
that says so); or ``groups``, a list of tables with these three, and a ``when`` that all of them presuppose. ``default``
in a group keeps quiet about a value that is the default anyway; ``severity`` replaces the rule's. Groups that have the
same ``because`` and severity make one finding. A subject may say of its settings that the framework alone reads them
(``only_framework_reads``): others are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import Verdict, compile_condition
from distlint.judge.view import Used, View
from distlint.judge.wording import compile_template
from distlint.model.finding import Finding, Related, Severity
from distlint.model.record import dataclass
from distlint.model.subject import Setting, Subject
from distlint.model.value import State

SHOWN = 8
"""Keys that a message names; the others are counted."""


@check("ineffective-settings")
def ineffective_settings(context: CheckContext) -> Iterator[Finding]:
    """One finding for all such settings of a subject and group, at the first of them."""
    parameters = context.parameters
    groups = parameters.get("groups") or [parameters]
    guard = compile_condition(parameters.get("when", "True") if "groups" in parameters else "True")
    for subject in context.subjects(parameters["subject"]):
        view = View.of(subject)
        if not guard.judge(view).holds:
            continue
        together: dict[tuple[str, Severity], list[_Idle]] = {}
        for group in groups:
            idle = _judge(context, subject, view, group)
            if idle is not None:
                severity = Severity.parse(group["severity"]) if "severity" in group else context.rule.severity
                together.setdefault((compile_template(group["because"]).render(view), severity), []).append(idle)
        for (because, severity), found in together.items():
            yield _finding(context, subject, found, because, severity)


@dataclass(frozen=True, slots=True)
class _Idle:
    """Settings without effect, and the verdict that says so."""

    settings: list[Setting]
    verdict: Verdict


def _judge(context: CheckContext, subject: Subject, view: View, group: Mapping[str, Any]) -> _Idle | None:
    written = [setting for path in group["keys"] if (setting := _stands(context, view, path, group)) is not None]
    if not written:
        return None
    verdict = compile_condition(group["when"]).judge(view)
    if not verdict.holds or any(_is_chosen_elsewhere(used) for used in verdict.used):
        return None
    is_idle = subject.extra.get("only_framework_reads")
    written = [setting for setting in written if is_idle is None or is_idle(setting)]
    return _Idle(written, verdict) if written else None


def _finding(context: CheckContext, subject: Subject, found: list[_Idle], because: str, severity: Severity) -> Finding:
    written = sorted((setting for one in found for setting in one.settings), key=lambda setting: setting.key_span)
    last = [setting.path.rpartition(".")[2] for setting in written]
    # two blocks may have the same key
    paths = [one.path if last.count(name) > 1 else name for name, one in zip(last, written, strict=True)]
    names = ", ".join(f"`{path}`" for path in paths[:SHOWN])
    more = len(written) - SHOWN
    used = [used for one in found for used in one.verdict.used]
    places = [Related(one.key_span, f"`{one.path}` is set here") for one in used if one.key_span]
    return context.finding(
        f"no effect of {names}{f' and {more} more' if more > 0 else ''} {because}",
        written[0].key_span,
        related=[*places, *(Related(setting.key_span, "so has this") for setting in written[1:])],
        confidence=min(one.verdict.confidence for one in found),
        severity=severity,
        symbol=written[0].path,
        runs=(subject.label,) if subject.run is not None else (),
    )


def _stands(context: CheckContext, view: View, path: str, group: Mapping[str, Any]) -> Setting | None:
    """The setting at a path, unless it says nothing.

    That is: off, filled in by others, the default where that is to be ignored, or a key that the release does not know at
    all, which other rules say.
    """
    setting = view.subject.settings.get(path)
    if setting is None or not setting.certain or setting.value.state is State.AUTO:
        return None
    vocabulary = view.subject.extra.get("vocabulary")
    if vocabulary is not None:
        known = vocabulary.at(view.subject.versions.newest(context.rule.framework))
        if not setting.written.startswith(view.subject.extra.get("foreign", ())) and not known.known(
            setting.written or path
        ):
            return None
    value = setting.value
    default = view.default(path)
    if group.get("default"):
        same = value.is_known and default.is_known and value.only == default.only
        return None if same or (value.is_known and value.only in ("auto", None)) else setting
    return None if value.is_known and value.only in ("auto", None, False, "none") else setting


def _is_chosen_elsewhere(used: Used) -> bool:
    """Whether a value comes from outside the place where it is set: such a block is made for other values too."""
    setting = used.setting
    if setting is None:
        return False
    inside = setting.span
    return any(
        (span.file, span.line) < (inside.file, inside.line) or (span.file, span.line) > (inside.file, inside.end_line)
        for span in setting.value.spans
    )
