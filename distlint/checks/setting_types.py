"""Values of a kind that the reader of a configuration does not take.

Parameters: ``subject``, ``package`` (whose version decides), ``strict-since`` (the version from which a whole number may
not be written as a fraction), ``numbers`` (keys that nobody checks but that must be numbers) with ``wholes`` (those of
them that must be whole), ``elsewhere`` (keys of these that a host overwrites, with the hosts).
A string in a boolean that nobody checks counts as true unless it is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.registry import CheckContext, check
from distlint.knowledge.config_schema import KeyInfo, SchemaView
from distlint.model.finding import Finding, Operation, Safety, Severity
from distlint.model.subject import Setting, Subject

TRUE_WORDS = frozenset({"true", "t", "yes", "y", "on", "1"})
FALSE_WORDS = frozenset({"false", "f", "no", "n", "off", "0"})
"""The words that pydantic takes for booleans, in any case (pydantic/types: bool parsing)."""


@check("setting-types")
def setting_types(context: CheckContext) -> Iterator[Finding]:
    """A finding for each written value that is refused, or that means something else than it says."""
    package = context.parameters["package"]
    for subject in context.subjects(context.parameters["subject"]):
        version = subject.versions.newest(package)
        view: SchemaView = subject.extra["vocabulary"].at(version)
        modern = subject.versions.test(package, context.parameters["strict-since"]) is not False
        for setting in subject.settings.values():
            if not _is_own(subject, setting):
                continue
            found = _judge(context, subject, view, setting, modern)
            if found is not None:
                message, severity, value = found
                yield _finding(context, subject, setting, message, severity, value)


def _is_own(subject: Subject, setting: Setting) -> bool:
    """Whether a setting is one of the document's own leaves, known, under one of its own names."""
    return (
        bool(subject.extra.get("documents"))
        and setting.value.is_known
        and setting.certain
        and not setting.written.startswith("accelerate.")
        and setting.span.file == subject.extra["documents"][0].file
        and not isinstance(setting.value.only, dict)
    )


def _judge(
    context: CheckContext, subject: Subject, view: SchemaView, setting: Setting, modern: bool
) -> tuple[str, Severity, Any] | None:
    """What is wrong with a value, how bad that is, and what was meant (``None`` where that is not clear)."""
    value = setting.value.only
    if value == "auto" or value is None:
        return None
    path = setting.path
    if path in context.parameters["numbers"]:
        return _number(context, subject, path, value)
    info = view.entry(setting.written or path) or view.entry(path)
    if info is None or info.refused or info.deprecated:
        return None
    if info.typed:
        return _typed(info, path, value, modern)
    if info.type == "bool" and isinstance(value, str) and value and value.lower() in TRUE_WORDS | FALSE_WORDS:
        meant = value.lower() in TRUE_WORDS
        if not meant:
            return f"`{path}` is the string {_quoted(value)}, which counts as true", Severity.ERROR, False
        return f"`{path}` is the string {_quoted(value)}, not a boolean", Severity.WARNING, True
    return None


def _number(context: CheckContext, subject: Subject, path: str, value: Any) -> tuple[str, Severity, Any] | None:
    host = subject.names.get("host")
    overwritten = context.parameters.get("elsewhere", {}).get(path, ())
    if overwritten and (host is None or not host.is_known or host.only in overwritten):
        return None
    if isinstance(value, (str, list)):
        return f"`{path}` is {_shown(value)}, not a number", Severity.ERROR, _as_number(value)
    if path in context.parameters["wholes"] and isinstance(value, float) and not value.is_integer():
        return f"`{path}` is {value}, not a whole number", Severity.ERROR, None
    return None


def _typed(info: KeyInfo, path: str, value: Any, modern: bool) -> tuple[str, Severity, Any] | None:
    """What pydantic says of a value of a field with a type."""
    kinds = info.type.split("|")
    if len(kinds) > 1:
        return None
    kind = kinds[0]
    problem = _PROBLEMS[kind](value, modern) if kind in _PROBLEMS else ""
    if kind == "enum":
        problem = _choice(info, value)
    if not problem and kind in ("int", "float") and isinstance(value, (int, float)) and not isinstance(value, bool):
        problem = _range(info, value)
    if not problem:
        return None
    number = _as_number(value) if isinstance(value, str) else value
    meant = int(number) if kind == "int" and isinstance(number, float) and abs(number) < 1e18 else None
    return f"`{path}` is {_shown(value)}, {problem}", Severity.ERROR, meant


def _whole(value: Any, modern: bool) -> str:
    if isinstance(value, float) and not value.is_integer():
        return "but takes no fraction" if modern else ""
    if isinstance(value, str):
        return "" if _is_whole_word(value) else "which is no whole number"
    return "" if isinstance(value, (int, float)) else "which is no whole number"


def _is_whole_word(text: str) -> bool:
    return text.strip().lstrip("+-").replace("_", "").isdigit() or (
        text.strip().endswith(".0") and text.strip()[:-2].lstrip("+-").isdigit()
    )


def _real(value: Any, modern: bool) -> str:
    if isinstance(value, str):
        return "" if _as_number(value) is not None else "which is no number"
    return "" if isinstance(value, (int, float)) else "which is no number"


def _boolean(value: Any, modern: bool) -> str:
    if isinstance(value, bool) or value in (0, 1):
        return ""
    if isinstance(value, str):
        return "" if value.lower() in TRUE_WORDS | FALSE_WORDS else "which is no boolean"
    return "which is no boolean"


def _text(value: Any, modern: bool) -> str:
    return "" if isinstance(value, str) or not modern else "which is no string"


_PROBLEMS = {"int": _whole, "float": _real, "bool": _boolean, "str": _text}


def _choice(info: KeyInfo, value: Any) -> str:
    if not info.choices or value in info.choices or any(str(choice) == str(value) for choice in info.choices):
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer() and int(value) in info.choices):
        return ""
    shown = ", ".join(_shown(choice) for choice in info.choices)
    return f"but has to be one of {shown}"


def _range(info: KeyInfo, value: float) -> str:
    if info.minimum is not None and value < info.minimum:
        return f"but may not be below {_shown(info.minimum)}"
    if info.above is not None and value <= info.above:
        return f"but has to be above {_shown(info.above)}"
    if info.maximum is not None and value > info.maximum:
        return f"but may not be above {_shown(info.maximum)}"
    if info.below is not None and value >= info.below:
        return f"but has to be below {_shown(info.below)}"
    return ""


def _as_number(value: Any) -> int | float | None:
    if not isinstance(value, str) or len(value) > 40:
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(value: str) -> str:
    short = value if len(value) <= 40 else value[:37] + "..."
    return f'"{short}"'


def _finding(
    context: CheckContext, subject: Subject, setting: Setting, message: str, severity: Severity, value: Any
) -> Finding:
    plan = None
    if value is not None:
        word = _shown(value)
        operation = Operation("set-value", setting.span, {"value": value})
        plan = context.plan(operation, title=f"write {word}", safety=Safety.UNSAFE)
    return context.finding(
        message,
        setting.span,
        severity=severity,
        plan=plan,
        symbol=setting.path,
        runs=(subject.label,) if subject.run is not None else (),
    )
