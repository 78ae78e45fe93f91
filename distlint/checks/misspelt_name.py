"""Names that differ from a known one in capital letters only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding, Operation
from distlint.model.subject import Setting


@check("misspelt-name")
def misspelt_name(context: CheckContext) -> Iterator[Finding]:
    """Settings at ``places`` (paths by kind of subject) with a name that is one of ``known`` but for its case.

    A setting may hold several names with commas between them. Names of the project's own classes are never wrong.
    """
    known = {name.lower(): name for name in context.parameters["known"]}
    places: Mapping[str, list[str]] = context.parameters["places"]
    own = {one.name for file in context.project.python_files for one in context.project.module(file).classes}
    for kind, paths in places.items():
        for subject in context.subjects(kind):
            for path in paths:
                setting = subject.settings.get(path)
                if setting is not None:
                    yield from _judged(context, setting, known, own)


def _judged(context: CheckContext, setting: Setting, known: Mapping[str, str], own: set[str]) -> Iterator[Finding]:
    text = setting.value.only
    if not isinstance(text, str):
        return
    names = text.split(",")
    wrong = [
        name for name in names if name.strip() not in own and known.get(name.strip().lower(), name) != name.strip()
    ]
    wrong = [name for name in wrong if name.strip().lower() in known]
    if not wrong:
        return
    right = ",".join(known[name.strip().lower()] if name in wrong else name for name in names)
    yield context.finding(
        f"there is no class `{wrong[0].strip()}`: it is spelt `{known[wrong[0].strip().lower()]}`",
        setting.key_span,
        confidence=setting.value.confidence,
        plan=context.plan(Operation("set-value", setting.span, {"value": right})),
        symbol=setting.path,
    )
