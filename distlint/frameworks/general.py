"""Subjects that belong to no framework: calls, launches, and sets of pins.

``call``: the calls of a library function or method that the rule names; its settings are the arguments by parameter name.
``launch``: a command line with what it starts. ``pins``: the versions that one environment of the project asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Row
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distlint.frameworks.reaching import comes_to, runs_through
from distlint.frameworks.witnessed import witnessed_calls, witnessed_settings
from distlint.link.abstract import Abstract, Instance, Reference, lifted, node_of, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import given_arguments
from distlint.link.modules import External
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.document import Entry, Mapping, Sequence, node_value
from distlint.model.launch import Launch, Run
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.subject import Setting, Subject, SubjectKind
from distlint.model.value import Value, known, one_of, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import Project

_DTYPE = re.compile(r"torch\.(b?float\d*|half|double|u?int\d+|short|long|bool|complex\d+)")
_CLASS = re.compile(r"[A-Z]+[a-z]\w*")


def argument_settings(
    project: Project, found: CallSite, signature: Row[str], run: Run | None
) -> tuple[dict[str, Setting], bool]:
    """The arguments of a call as settings by parameter name, and whether there may be others that we can't see."""
    call, file = found.site.call, found.file
    given = project.evaluator(run).keywords(call, file, found.site.function)
    written = {keyword.name: keyword.value for keyword in call.keywords if keyword.name is not None}
    settings: dict[str, Setting] = {}
    for entry in given.entries:
        value = node_value(entry.node)
        value = value if value.spans else value.at(entry.node.span)
        if value.is_unknown and entry.key in written:
            value = argument_value(project, written[entry.key], found, run)
        elif value.is_unknown:
            # an object that a dictionary holds which the call spreads out
            value = _of_object(project.evaluator(run), lifted(entry.node), entry.node.span) or value
        kind = _kind(lifted(entry.node))
        place = _key_place(project, entry, found)
        settings[entry.key] = Setting(entry.key, value, place, entry.node.span, certain=entry.certain, kind=kind)
    for position, name in enumerate(signature):
        expr, _ = find_argument(call, name, position)
        if expr is not None and name not in settings:
            span = ir.unpack(expr.at, file)
            kind = _kind(project.evaluator(run).ask(expr, file, found.site.function))
            settings[name] = Setting(name, argument_value(project, expr, found, run), span, span, kind=kind)
    if not any(isinstance(argument, ir.Starred) for argument in call.args):
        return settings, given.open
    spread = _spread(project, found, run)
    if spread is None:
        return settings, True
    for name, value in zip(signature, spread, strict=False):
        span = value.spans[0] if value.spans else found.span
        settings.setdefault(name, Setting(name, value, span, span))
    return settings, given.open


def _key_place(project: Project, entry: Entry, found: CallSite) -> Span:
    """Where a key is written; the call that spreads it out where the program works it out (``f"{name}_size"``)."""
    span = entry.key_span
    if not span.file.endswith(".py") or span.line != span.end_line:
        return span
    lines = project.text_of(span.file).splitlines()
    written = lines[span.line - 1][span.column - 1 : span.end_column - 1] if span.line <= len(lines) else ""
    if str(entry.key) in written:
        return span
    spreads = (ir.unpack(one.value.at, found.file) for one in found.site.call.keywords if one.name is None)
    places = set(node_value(entry.node).spans)
    return next((spread for spread in spreads if spread in places), span)


def _kind(given: Abstract) -> str:
    """What a row of values is, or ``dtype`` for a data type of a tensor library."""
    if isinstance(given, Sequence):
        return given.kind
    target = given.target if isinstance(given, Reference) else None
    return "dtype" if isinstance(target, External) and _DTYPE.fullmatch(target.name) else ""


def _spread(project: Project, found: CallSite, run: Run | None) -> list[Value] | None:
    """The positional arguments of a call with a ``*`` among them; ``None`` where what it spreads is not known."""
    evaluator = project.evaluator(run)
    frame = evaluator.frame(found.file, found.site.function)
    given = given_arguments(evaluator, found.site.call, frame, evaluator.state(frame, found.site.call.at))
    if given.open_positional:
        return None
    return [node_value(node_of(evaluator.force(one), found.span)) for one in given.positional]


def moved(setting: Setting, path: str) -> Setting:
    """A setting under another path, in the words of the place where it is written."""
    return replace(setting, path=path, written=setting.path, overrides=None)


def _of_object(evaluator: Evaluator, given: Abstract, span: Span) -> Value | None:
    """The names of objects by what made them, or of classes of a library; ``None`` for other values."""
    options = options_of(given)
    objects = [option for option in options if isinstance(option, Instance)]
    if len(objects) == len(options):
        places = (span, *(option.span() for option in objects))
        return one_of([f"<{evaluator.instance_name(option)}>" for option in objects], places)
    classes = [_class_name(option) for option in options]
    return one_of([f"<{name}>" for name in classes], (span,)) if all(classes) else None


def argument_value(project: Project, expr: ir.Expr, found: CallSite, run: Run | None) -> Value:
    """What is known of an argument.

    An object that some call made is *known* by the name of what made it, as ``<name()>``, a class of a library as ``<name>``.
    """
    evaluator = project.evaluator(run)
    span = ir.unpack(expr.at, found.file)
    given = evaluator.ask(expr, found.file, found.site.function)
    made = _of_object(evaluator, given, span)
    if made is not None:
        return made
    value = node_value(node_of(given, span)).at(span)
    return _inferred(project, expr, found.file, value) if value.is_unknown else value


def _class_name(value: Abstract) -> str:
    """The name of a class of a library that is named but not called, told by its spelling (``torch.optim.Adam``); else nothing."""
    name = value.target.name if isinstance(value, Reference) and isinstance(value.target, External) else ""
    return name if _CLASS.fullmatch(name.rpartition(".")[2]) else ""


def _inferred(project: Project, expr: ir.Expr, file: str, value: Value) -> Value:
    """The value after asking astroid as well, where that may help."""
    from distlint.link.inference import worth_asking

    if value.is_known or not worth_asking(expr):
        return value
    answer = project.inference.value(ir.unpack(expr.at, file))
    return value if answer.is_unknown else answer


def call_subjects(project: Project, rule: Rule) -> Iterator[Subject]:
    """One subject per call of the functions in the rule's ``callee`` parameter.

    ``signature`` gives the names of the positional parameters; ``from-dictionary`` are functions that get the arguments as one dictionary.
    ``beside`` names another call (``callee``, ``signature``) of which the run has to make exactly one: its settings are there as well, with
    a ``prefix``.
    """
    parameters = rule.check.parameters
    dictionaries = frozenset(parameters.get("from-dictionary", ()))
    callees = frozenset(parameters.get("callee", ()))
    signature = list(parameters.get("signature", ()))
    sites = [(found, False) for found in project.calls_to(callees | dictionaries)]
    sites += [(found, True) for callee in sorted(callees) for found in project.table_calls.of_library(callee)]
    for found, is_looked_up in sites:
        for run in runs_through(project, found):
            if is_looked_up and called_name(project, found, run) != found.name:
                continue
            given = (
                _dictionary_settings(project, found, run)
                if found.name in dictionaries
                else argument_settings(project, found, signature, run)
            )
            other = _beside(project, parameters.get("beside"), run)
            if other is not None:
                yield _of_call(project, found, run, ({**other[0], **given[0]}, given[1] or other[1]), signature)
    for found, run, seen in witnessed_calls(project, callees, {found.span for found, _ in sites}):
        own, is_open = witnessed_settings(project, found, run, seen, signature)
        other = _beside(project, parameters.get("beside"), run)
        if other is not None:
            yield _of_call(project, found, run, ({**other[0], **own}, is_open or other[1]), signature)


def _beside(project: Project, asked: dict[str, Any] | None, run: Run | None) -> tuple[dict[str, Setting], bool] | None:
    """The settings of the only call of something else in a run, by their names with a prefix; ``None`` where there is not exactly one."""
    if asked is None:
        return {}, False
    calls = project.calls_to(frozenset(asked["callee"]))
    found = [one for one in calls if run is None or comes_to(project, one, run)]
    if len(found) != 1:
        return None
    given, is_open = argument_settings(project, found[0], asked["signature"], run)
    prefix = asked["prefix"]
    return {f"{prefix}_{name}": moved(one, f"{prefix}_{name}") for name, one in given.items()}, is_open


def _of_call(
    project: Project, found: CallSite, run: Run | None, given: tuple[dict[str, Setting], bool], signature: Row[str]
) -> Subject:
    """The subject of a call with what it is given."""
    settings, is_open = given
    return Subject(
        kind="call",
        label=found.name,
        span=found.span,
        settings=settings,
        versions=project.environments.for_file(found.file),
        # A parameter of that name is what is asked for, where the function has one.
        names={name: value for name, value in _call_names(found, run).items() if name not in signature},
        open_blocks=frozenset({""}) if is_open else frozenset(),
        run=run,
        extra={"call": found},
    )


def _dictionary_settings(project: Project, found: CallSite, run: Run | None) -> tuple[dict[str, Setting], bool]:
    """The entries of the dictionary that a call gets, and whether there may be others that we can't see."""
    expr, _ = find_argument(found.site.call, "config_dict", 0)
    if expr is None:
        return {}, True
    evaluator = project.evaluator(run)
    given = node_of(evaluator.ask(expr, found.file, found.site.function), ir.unpack(expr.at, found.file))
    if not isinstance(given, Mapping):
        return {}, True
    settings = {
        entry.key: Setting(entry.key, node_value(entry.node), entry.key_span, entry.node.span, certain=entry.certain)
        for entry in given.entries
        if isinstance(entry.key, str)
    }
    return settings, given.open


def called_name(project: Project, found: CallSite, run: Run | None) -> str:
    """The canonical name of what a call that names nothing comes to in a run; ``""`` where that is not one thing of a library."""
    options = options_of(project.evaluator(run).ask(found.site.call.func, found.file, found.site.function))
    if len(options) != 1 or not isinstance(options[0], Reference) or not isinstance(options[0].target, External):
        return ""
    return project.modules.canonical(options[0].target.name)


def _call_names(found: CallSite, run: Run | None) -> dict[str, Value]:
    """What a condition over a call may ask for besides its arguments: the last name of what is called, and the number of processes."""
    return {
        "callee": known(found.name.rpartition(".")[2]),
        "world_size": run.world_size if run is not None else unknown("no launch is known"),
    }


def _launch_names(project: Project, launch: Launch) -> dict[str, Value]:
    here = launch.span
    alike = (one for one in project.launches if one.file == launch.file and one.launcher == launch.launcher)
    ranks = {one.option("node-rank").only for one in alike if one.option("node-rank").is_known}
    names: dict[str, Value] = {
        "launcher": known(launch.launcher, here),
        "scheduler": known(launch.outer.launcher, launch.outer.span) if launch.outer is not None else known("", here),
        "nodes": launch.nodes,
        "processes_per_node": launch.processes_per_node,
        "world_size": launch.world_size,
        "background": known(launch.background, here),
        "is_module": known(launch.is_module, here),
        "script": known(launch.script_file, *launch.script.spans)
        if launch.script_file
        else unknown("the script is not known", here),
        "nodes_of_scheduler": launch.outer.nodes if launch.outer is not None else known(1, here),
        "tasks_per_node": launch.outer.processes_per_node if launch.outer is not None else known(1, here),
        "processes_given": launch.option("processes").map(int),
        "node_ranks_in_file": known(len(ranks), here),
    }
    return names


def launch_settings(launch: Launch) -> dict[str, Setting]:
    """The launcher's options as ``option.<name>`` (their flags as ``flag.<name>``), the exported variables as ``env.<NAME>``."""
    settings: dict[str, Setting] = {}
    for dest, option in launch.options.items():
        given = option.value
        if any(isinstance(text, str) and "$" in text for text in given.options):
            given = unknown("another shell puts in what the variable is", option.span)
        for path, value in ((f"option.{dest}", given), (f"flag.{dest}", known(option.flag, option.span))):
            settings[path] = Setting(path, value, option.span, option.span)
    for name, value in launch.environment.items():
        if not value.is_absent:
            span = value.spans[0] if value.spans else launch.span
            settings[f"env.{name}"] = Setting(f"env.{name}", value, span, span)
    return settings


def launch_subjects(project: Project) -> Iterator[Subject]:
    """One subject per launch of the project."""
    runs = {id(run.launch): run for run in project.runs if run.launch is not None}
    for launch in project.launches:
        yield Subject(
            kind="launch",
            label=f"{launch.launcher} {launch.script_file}".strip(),
            span=launch.span,
            settings=launch_settings(launch),
            versions=project.environments.for_file(launch.script_file or launch.span.file),
            names=_launch_names(project, launch),
            open_blocks=frozenset({"option", "flag"}) if _is_open(project, launch) else frozenset(),
            run=runs.get(id(launch)),
            functions={"provides": lambda name, launch=launch: known(str(name.only) in launch.provides)},
            extra={"launch": launch},
        )


def _is_open(project: Project, launch: Launch) -> bool:
    """Whether the launcher may have options that we can't see: on its line, or in a configuration file of its own."""
    specs = (launcher for spec in project.specs for launcher in spec.launchers if launcher.name == launch.launcher)
    from_file = any(spec.config_keys for spec in specs) and "config" in launch.options and launch.config is None
    return launch.open_options or from_file


_LAUNCH_NAMES = frozenset(
    {
        "launcher",
        "scheduler",
        "nodes",
        "processes_per_node",
        "world_size",
        "background",
        "is_module",
        "script",
        "nodes_of_scheduler",
        "tasks_per_node",
        "processes_given",
        "node_ranks_in_file",
    }
)


def pin_subjects(project: Project) -> Iterator[Subject]:
    """One subject per environment of the project that pins anything: each package is a setting whose value is its specifier."""
    for view in project.environments.views():
        settings: dict[str, Setting] = {}
        span: Span | None = None
        for name in view.packages():
            place = view.span(name)
            if place is None:
                continue
            span = span or place
            specifier = " or ".join(sorted({pin.specifier for pin in view.pins(name)}))
            path = name.replace("-", "_")
            settings[path] = Setting(path, known(specifier, place), place, place)
        if span is not None:
            yield Subject("pins", f"the pins of {span.file}", span, settings, view)


def _is_option_or_variable(path: str) -> bool:
    return path in _LAUNCH_NAMES or path.startswith(("option.", "flag.", "env."))


def _nothing(project: Project) -> Iterable[Subject]:
    return ()


KINDS = (
    SubjectKind("call", "", lambda path: path.isidentifier(), _nothing, build_for=call_subjects),
    SubjectKind("launch", "", _is_option_or_variable, launch_subjects, frozenset({"provides"})),
    SubjectKind("pins", "", lambda path: path.isidentifier(), pin_subjects),
)
