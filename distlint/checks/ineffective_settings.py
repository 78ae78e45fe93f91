"""Settings that have no effect together with another one.

Parameters: ``subject``, ``keys`` (what has no effect), ``when`` (the condition for that), ``because`` (a message template
that says so).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.judge.view import Used, View
from distlint.judge.wording import compile_template
from distlint.model.finding import Finding, Related
from distlint.model.value import State

SHOWN = 3
"""Keys that a message names; the others are counted."""


@check("ineffective-settings")
def ineffective_settings(context: CheckContext) -> Iterator[Finding]:
    """One finding for all such settings of a subject, at the first of them."""
    condition = compile_condition(context.parameters["when"])
    because = compile_template(context.parameters["because"])
    for subject in context.subjects(context.parameters["subject"]):
        written = [
            setting
            for path in context.parameters["keys"]
            if (setting := subject.settings.get(path)) is not None
            and setting.certain
            and setting.value.state is not State.AUTO
            and not (setting.value.is_known and setting.value.only in ("auto", None, False, "none"))
        ]
        if not written:
            continue
        view = View.of(subject)
        verdict = condition.judge(view)
        if not verdict.holds or any(_is_chosen_elsewhere(used) for used in verdict.used):
            continue
        written.sort(key=lambda setting: setting.key_span)
        names = ", ".join(f"`{setting.path.rpartition('.')[2]}`" for setting in written[:SHOWN])
        more = len(written) - SHOWN
        message = f"no effect of {names}{f' and {more} more' if more > 0 else ''} {because.render(view)}"
        places = [Related(used.key_span, f"`{used.path}` is set here") for used in verdict.used if used.key_span]
        yield context.finding(
            message,
            written[0].key_span,
            related=[*places, *(Related(setting.key_span, "so has this") for setting in written[1:])],
            confidence=verdict.confidence,
            symbol=written[0].path,
            runs=(subject.label,) if subject.run is not None else (),
        )


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
