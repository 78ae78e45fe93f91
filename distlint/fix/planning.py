"""From a plan to a fix: each operation in turn becomes patches, and the whole becomes edits of the analysed text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from distlint.fix.edits import Draft, Patch, whole_lines
from distlint.fix.operations import CannotFixError, operation_problem
from distlint.fix.place import Place, place_of
from distlint.fix.validation import broken_by
from distlint.model.finding import Fix, FixPlan, Operation
from distlint.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """A plan that cannot be carried out on the text; ``reason`` is meant for users."""

    reason: str


Step = Callable[[Place], list[Patch]]

_STEPS = {
    "set-argument": ("python_calls", "set_argument"),
    "remove-argument": ("python_calls", "remove_argument"),
    "rename-argument": ("python_calls", "rename_argument"),
    "replace-callee": ("python_calls", "replace_callee"),
    "replace-import": ("python_imports", "replace_import"),
    "add-import": ("python_imports", "add_import"),
    "insert-statement": ("python_statements", "insert_statement"),
    "remove-statement": ("python_statements", "remove_statement"),
    "move-statement": ("python_statements", "move_statement"),
    "set-option": ("shell_edits", "set_option"),
    "remove-option": ("shell_edits", "remove_option"),
    "rename-option": ("shell_edits", "rename_option"),
    "set-environment": ("shell_edits", "set_environment"),
    "remove-assignment": ("shell_edits", "remove_assignment"),
    "set-specifier": ("requirement_edits", "set_specifier"),
}
"""Module and function of each kind; they are imported when a fix needs them."""


def build_fix(plan: FixPlan, text: Callable[[str], str]) -> Fix | Refusal:
    """Works a plan out on the analysed texts; ``text`` gives that of a file.

    The edits of a fix are sorted, don't overlap, and leave files that read as well as before. A plan that cannot be
    carried out, or has nothing to change, is refused.
    """
    drafts: dict[str, Draft] = {}
    try:
        for operation in plan.operations:
            file = operation.span.file
            if file not in drafts:
                drafts[file] = Draft(file, text(file))
            _carry_out(operation, drafts[file])
    except (CannotFixError, OSError, KeyError) as error:
        return Refusal(str(error))
    for draft in drafts.values():
        if draft.text != draft.original and (problem := broken_by(draft.file, draft.original, draft.text)):
            return Refusal(f"{draft.file}: {problem}")
    edits = tuple(edit for file in sorted(drafts) for edit in drafts[file].edits())
    return Fix(plan.title, plan.safety, edits) if edits else Refusal("there is nothing to change")


def _carry_out(operation: Operation, draft: Draft) -> None:
    if problem := operation_problem(operation):
        raise CannotFixError(problem)
    place = place_of(draft.file, draft.text, operation.span, operation.arguments, draft.region)
    draft.apply(_step(operation.kind, place)(place))


def _step(kind: str, place: Place) -> Step:
    if kind == "replace":
        return _replace
    if kind == "delete-lines":
        return _delete_lines
    if kind in _STEPS:
        module, name = _STEPS[kind]
    else:
        module, name = _settings_module(kind, place), kind.replace("-", "_")
    return cast("Step", getattr(import_module(f"distlint.fix.{module}"), name))


def _settings_module(kind: str, place: Place) -> str:
    """The module that edits settings where the place lies: Python, a configuration document, or plain words."""
    if place.language == "python":
        return "python_settings"
    if place.language == "shell" and kind == "set-value":
        from distlint.fix.config_tree import tree_at

        return "config_edits" if tree_at(place.file, place.text, place.start) is not None else "shell_edits"
    return "config_edits"


def _replace(place: Place) -> list[Patch]:
    text = place.word("text")
    return [Patch(place.start, place.end, text)] if place.covered != text else []


def _delete_lines(place: Place) -> list[Patch]:
    return [Patch(*whole_lines(place.text, place.start, place.end), "")]
