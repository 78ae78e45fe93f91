"""Several ways in which the settings of one block contradict each other, under one rule.

Parameters: ``subject``; ``cases``, each with ``when`` (a condition), ``at`` (paths, of which the first that is written
counts), ``message`` and, where they differ from the rule's, ``help`` and ``severity``; ``when`` (a condition that all of
them presuppose); ``blocks`` (paths of blocks that the cases are judged for one by one, ``*`` for every key at that
place): the cases then call each of them ``block``. A case may have ``blocks`` of its own.

The rule's versions, and those that a condition names, are asked of the newest releases that the pins allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import Verdict, compile_condition
from distlint.judge.versions import satisfies
from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.model.finding import Finding, Related, Severity
from distlint.model.span import Span
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value

BLOCK = "block"
"""What the cases call the block that they are judged for."""
MAX_BLOCKS = 64


@check("conflicting-settings")
def conflicting_settings(context: CheckContext) -> Iterator[Finding]:
    """A finding for each case that holds, at most one for each place."""
    parameters = context.parameters
    guard = compile_condition(parameters.get("when", "True"))
    versions = context.rule.versions.items()
    for subject in context.subjects(parameters["subject"]):
        if not all(satisfies(subject.versions, package, specifier) for package, specifier in versions):
            continue
        if not guard.judge(View.of(subject)).holds:
            continue
        places: set[Span] = set()
        views: dict[tuple[str, ...], list[tuple[str, View]]] = {}
        for case in parameters["cases"]:
            patterns = tuple(case.get("blocks", parameters.get("blocks", ())))
            if patterns not in views:
                views[patterns] = list(_views(subject, patterns))
            for path, view in views[patterns]:
                found = _judge(context, case, view, path)
                if found is not None and found.span not in places:
                    places.add(found.span)
                    yield found


def _views(subject: Subject, patterns: tuple[str, ...]) -> Iterator[tuple[str, View]]:
    """The subject as the cases see it, once for each block that is written."""
    if not patterns:
        yield "", View.of(subject)
        return
    paths = dict.fromkeys(path for pattern in patterns for path in _matching(subject, pattern))
    for path in list(paths)[:MAX_BLOCKS]:
        yield path, View.of(_with_block(subject, path))


def _matching(subject: Subject, pattern: str) -> list[str]:
    wanted = pattern.split(".")
    return [
        path
        for path in subject.settings
        if path.count(".") == len(wanted) - 1
        and all(name in ("*", part) for name, part in zip(wanted, path.split("."), strict=True))
    ]


def _with_block(subject: Subject, path: str) -> Subject:
    """The subject with the settings of one block also under ``block``."""
    settings: dict[str, Setting] = dict(subject.settings)
    names: dict[str, Value] = dict(subject.names)
    below = path + "."
    for own, setting in subject.settings.items():
        if own == path or own.startswith(below):
            other = BLOCK + own[len(path) :]
            settings[other] = replace(setting, path=other, written=setting.written or own)
    hidden = {BLOCK + own[len(path) :] for own in subject.open_blocks if own == path or own.startswith(below)}
    if any(not own or path.startswith(own + ".") for own in subject.open_blocks):
        hidden.add(BLOCK)

    def default(asked: str) -> Value:
        inside = asked == BLOCK or asked.startswith(BLOCK + ".")
        return subject.default(path + asked[len(BLOCK) :] if inside else asked)

    return replace(subject, settings=settings, names=names, open_blocks=subject.open_blocks | hidden, default=default)


def _judge(context: CheckContext, case: Mapping[str, Any], view: View, block: str) -> Finding | None:
    verdict = compile_condition(case["when"]).judge(view)
    if not verdict.holds:
        return None
    span, symbol = _place(case, view, verdict)
    if block and (symbol == BLOCK or symbol.startswith(BLOCK + ".")):
        symbol = block + symbol[len(BLOCK) :]
    severity = Severity[case["severity"].upper()] if "severity" in case else None
    subject = view.subject
    return context.finding(
        compile_template(case["message"]).render(view),
        span,
        related=_related(subject, verdict, block),
        confidence=verdict.confidence,
        severity=severity,
        help=compile_template(case.get("help", context.rule.help)).render(view),
        symbol=symbol,
        runs=(subject.label,) if subject.run is not None else (),
    )


def _place(case: Mapping[str, Any], view: View, verdict: Verdict) -> tuple[Span, str]:
    for path in case.get("at", ()):
        place = view.place(path)
        if place is not None:
            return place, path
    for used in verdict.used:
        if used.key_span is not None:
            return used.key_span, used.path
    return view.subject.span, view.subject.label


def _related(subject: Subject, verdict: Verdict, block: str) -> Iterator[Related]:
    for used in verdict.used:
        if used.key_span is not None:
            shown = used.path
            if block and (shown == BLOCK or shown.startswith(BLOCK + ".")):
                shown = block + shown[len(BLOCK) :]
            setting = subject.settings.get(used.path)
            if setting is None and used.path in subject.names:
                # a name of ours for what follows from the place
                yield Related(used.key_span, f"this decides the {used.path.rpartition('.')[2].replace('_', ' ')}")
            else:
                written = setting.written if setting is not None and not block else ""
                yield Related(used.key_span, f"`{written or shown}` is set here")
