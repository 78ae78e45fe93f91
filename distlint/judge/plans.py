"""Fix plans of declared rules: the steps of a ``[fix]`` table as operations on the places of a subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.model.finding import FixPlan, Operation
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.subject import Setting


class NotApplicable(Exception):  # noqa: N818  a signal between the steps and the plan, never an error
    """A step has no place to work on, or a value that it needs is not known: there is no plan then."""


def plan_fix(rule: Rule, view: View, versions: Mapping[str, str], primary: Span) -> FixPlan | None:
    """The plan for a finding of a declared rule, or ``None`` where there are no steps or one can't be made."""
    if rule.fix is None or not rule.fix.steps:
        return None
    operations: list[Operation] = []
    try:
        for step, argument in rule.fix.steps.items():
            operations.extend(STEPS[step](argument, _Site(view, versions, primary)))
    except NotApplicable:
        return None
    return FixPlan(compile_template(rule.fix.title).render(view, versions), rule.fix.safety, tuple(operations))


class _Site:
    """Where the steps of one plan work: the subject, the versions assumed, and the primary place of the finding."""

    def __init__(self, view: View, versions: Mapping[str, str], primary: Span) -> None:
        self.view = view
        self.versions = versions
        self.primary = primary

    def setting(self, path: str) -> Setting:
        setting = self.view.setting(path)
        if setting is None or not setting.certain:
            raise NotApplicable
        return setting

    def value(self, declared: Any) -> Any:
        """A value to write: as declared, or computed where it is a string of the form ``{expression}``."""
        if not (isinstance(declared, str) and declared.startswith("{") and declared.endswith("}")):
            return declared
        expressions = compile_template(declared).expressions
        value = expressions[0].compute(self.view, self.versions) if len(expressions) == 1 else None
        if value is None or not value.is_known:
            raise NotApplicable
        return value.only

    def block_for(self, path: str) -> tuple[Span, tuple[str, ...]]:
        """The innermost mapping around a path that is written, and the keys that lead from there to the path."""
        keys = tuple(path.split("."))
        for size in range(len(keys) - 1, 0, -1):
            block = self.view.setting(".".join(keys[:size]))
            if block is not None and (self.view.is_block(block.path) or isinstance(block.value.only, dict)):
                return block.span, keys[size:]
        root = self.view.subject.extra.get("root", self.view.subject.span)
        if root.file != self.primary.file:
            raise NotApplicable
        return root, keys

    @property
    def command(self) -> Span | None:
        """The command whose options the settings are, where the subject is one."""
        command = self.view.subject.extra.get("command")
        return command if isinstance(command, Span) else None

    @property
    def call(self) -> Span:
        span = self.view.subject.extra.get("call", self.view.subject.span)
        return span if isinstance(span, Span) else self.view.subject.span


def _set(argument: Mapping[str, Any], site: _Site) -> Iterator[Operation]:
    for path, declared in argument.items():
        value = site.value(declared)
        if site.view.setting(path) is not None:
            setting = site.setting(path)
            if _is_chosen_elsewhere(setting):
                raise NotApplicable
            yield Operation("set-value", setting.span, {"value": value})
        elif site.command is not None:
            # A switch is its flag alone.
            arguments = {"flag": f"--{path.replace('_', '-')}"}
            yield Operation("set-option", site.command, arguments if value is True else {**arguments, "value": value})
        else:
            span, keys = site.block_for(path)
            yield Operation("set-key", span, {"path": keys, "value": value})


def _is_chosen_elsewhere(setting: Setting) -> bool:
    """Whether a program computes the value from others: a constant in its place would take the choice away."""
    place = setting.span
    inside = ((place.line, place.column), (place.end_line, place.end_column))
    return place.file.endswith(".py") and any(
        span.file != place.file or (span.line, span.column) < inside[0] or (span.end_line, span.end_column) > inside[1]
        for span in setting.value.spans
    )


def _remove(argument: list[str], site: _Site) -> Iterator[Operation]:
    for path in argument:
        if site.view.setting(path) is None:
            continue
        setting = site.setting(path)
        if site.view.subject.extra.get("whole") == setting.span.file:
            raise NotApplicable  # a file that has to hold every key
        if path.startswith("env."):
            yield Operation("remove-assignment", setting.key_span, {})
        elif site.command is not None and setting.span != setting.key_span:
            yield Operation("remove-option", setting.key_span, {"value": setting.span})
        else:
            yield Operation("remove-key" if site.command is None else "remove-option", setting.key_span, {})


def _rename(argument: Mapping[str, str], site: _Site) -> Iterator[Operation]:
    for path, to in argument.items():
        if site.view.setting(path) is not None:
            yield Operation("rename-key", site.setting(path).key_span, {"to": to})


def _move(argument: Mapping[str, str], site: _Site) -> Iterator[Operation]:
    for path, to in argument.items():
        if site.view.setting(path) is not None:
            yield Operation("move-key", site.setting(path).key_span, {"to_path": tuple(to.split("."))})


def _set_argument(argument: Mapping[str, Any], site: _Site) -> Iterator[Operation]:
    for name, declared in argument.items():
        if isinstance(declared, dict):
            yield Operation("set-argument", site.call, {"name": name, **declared})
        else:
            yield Operation("set-argument", site.call, {"name": name, "value": site.value(declared)})


def _remove_argument(argument: list[str], site: _Site) -> Iterator[Operation]:
    return (Operation("remove-argument", site.call, {"name": name}) for name in argument)


def _rename_argument(argument: Mapping[str, str], site: _Site) -> Iterator[Operation]:
    return (Operation("rename-argument", site.call, {"name": name, "to": to}) for name, to in argument.items())


def _replace_callee(argument: str, site: _Site) -> Iterator[Operation]:
    yield Operation("replace-callee", site.call, {"to": argument})


def _replace_import(argument: str, site: _Site) -> Iterator[Operation]:
    yield Operation("replace-import", site.view.subject.span, {"to": argument})


def _set_environment(argument: Mapping[str, Any], site: _Site) -> Iterator[Operation]:
    run = site.view.subject.run
    if run is None or run.launch is None:
        raise NotApplicable
    for name, declared in argument.items():
        yield Operation("set-environment", run.launch.span, {"name": name, "value": site.value(declared)})


def _set_specifier(argument: Mapping[str, str], site: _Site) -> Iterator[Operation]:
    for package, specifier in argument.items():
        span = site.view.subject.versions.span(package)
        if span is None:
            raise NotApplicable
        yield Operation("set-specifier", span, {"specifier": specifier})


STEPS: dict[str, Callable[[Any, _Site], Iterator[Operation]]] = {
    "set": _set,
    "remove": _remove,
    "rename": _rename,
    "move": _move,
    "set-argument": _set_argument,
    "remove-argument": _remove_argument,
    "rename-argument": _rename_argument,
    "replace-callee": _replace_callee,
    "replace-import": _replace_import,
    "set-environment": _set_environment,
    "set-specifier": _set_specifier,
}
