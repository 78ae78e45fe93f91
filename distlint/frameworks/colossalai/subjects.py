"""What rules about Colossal-AI see: the plugins that scripts make, with the number of processes that run them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.plugins import (
    FILES,
    GEMINI,
    HYBRID,
    LOW_LEVEL_ZERO,
    MODULES,
    MOE,
    PACKAGE,
    PARAMETERS,
    Constructor,
    constructor,
    is_known_argument,
)
from distlint.frameworks.copies import copied_calls
from distlint.frameworks.general import argument_settings, called_name
from distlint.frameworks.reaching import comes_to, runs_through
from distlint.frameworks.witnessed import witnessed_calls, witnessed_settings
from distlint.link.abstract import options_of
from distlint.link.arguments import find_argument
from distlint.link.process_counts import product, quotient
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.launch import Run
from distlint.model.subject import Setting, Subject, SubjectKind
from distlint.model.value import Value, absent, known, unknown
from distlint.rehearsal.witness import SeenCall

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.sketch import Sketch
    from distlint.model.span import Span

NAMES = frozenset(
    {
        "plugin",
        "world_size",
        "parallel_product",
        "data_parallel_size",
        "is_boosted",
        "is_trained",
        "foreign_argument",
        "missing_argument",
    }
)

_SHARED = frozenset({"split_gather", "ring"})
"""Modes in which sequence parallelism uses the tensor-parallel ranks."""


def build(project: Project) -> Iterator[Subject]:
    """One subject per construction of a plugin and run that reaches it."""
    boosts = project.sites("boost")

    @cache
    def uses(run: Run | None) -> dict[str, Value]:
        reached = [found for found in boosts if run is None or comes_to(project, found, run)]
        return {
            "is_boosted": known(bool(reached)),
            "is_trained": _any_of([_has_optimizer(project, found, run) for found in reached]),
        }

    named = [*project.calls_to(FILES.keys()), *copied_calls(project, FILES)]
    places = {found.span for found in named}
    for found in named:
        for run in runs_through(project, found):
            yield _subject(project, found, run, uses(run))
    chosen = set()
    for found, run in _chosen(project):
        if found.span not in places:
            chosen.add((found.span, found.name))
            yield _subject(project, found, run, uses(run))
    for found, run, seen in witnessed_calls(project, FILES.keys(), places):
        if (found.span, found.name) not in chosen:
            yield _subject(project, found, run, uses(run), seen)


def _chosen(project: Project) -> Iterator[tuple[CallSite, Run | None]]:
    """The calls of a plugin that a table, a variable or the module holds (``PLUGINS[args.plugin](...)``), by the runs that decide which."""
    for found in _looked_up(project):
        for run in runs_through(project, found):
            name = called_name(project, found, run)
            if name in FILES:
                yield found._replace(name=name), run


def _looked_up(project: Project) -> Iterator[CallSite]:
    """The calls that name nothing in files that import a plugin, and those of what is asked of the plugins' module by its name."""
    seen: set[Span] = set()
    for file in project.python_files:
        module = project.module(file)
        if not any(item.name in MODULES for item in module.imports):
            continue
        for site in (site for sites in module.calls.values() for site in sites):
            if not project.modules.dotted(site.call.func, file) and not isinstance(site.call.func, ir.Attribute):
                found = CallSite(file, site)
                seen.add(found.span)
                yield found
    for found in (found for name in FILES for found in project.table_calls.of_library(name)):
        if found.span not in seen:
            seen.add(found.span)
            yield found


def _foreign(project: Project, found: CallSite, made_as: Constructor, settings: Mapping[str, Setting]) -> Value:
    """The first argument that a plugin does not take; absent where there is none, or the rules about released calls see it.

    Those see what another release takes, where a call has it in every run and names the plugin.
    """
    seen: set[str] = set()
    plugin = found.name.rpartition(".")[2]
    if project.modules.dotted(found.site.call.func, found.file):
        entries = project.evaluator(None).keywords(found.site.call, found.file, found.site.function).entries
        seen = {str(entry.key) for entry in entries if entry.certain and is_known_argument(plugin, str(entry.key))}
    for name, setting in settings.items():
        if setting.certain and name not in seen and name not in made_as.parameters and made_as.parameters:
            return known(name, setting.key_span)
    return absent()


def _missing(found: CallSite, made_as: Constructor, given: Mapping[str, Setting]) -> Value:
    """The first parameter without a default that a call does not give; absent where there is none."""
    wanting = [name for name in made_as.required if name not in given]
    return known(wanting[0], found.span) if wanting else absent()


def _has_optimizer(project: Project, found: CallSite, run: Run | None) -> Value:
    """Whether a call of ``boost`` hands over an optimizer: unknown where a test decides about that which is not known itself."""
    expr, certain = find_argument(found.site.call, "optimizer", 1)
    if expr is None:
        return known(not certain)
    given = options_of(project.evaluator(run).ask(expr, found.file, found.site.function))
    is_none = [isinstance(one, Leaf) and one.value.is_known and one.value.only is None for one in given]
    return (
        unknown("a test decides about the optimizer")
        if True in is_none and False in is_none
        else known(not any(is_none))
    )


def _any_of(answers: list[Value]) -> Value:
    if any(one.only is True for one in answers):
        return known(True)
    return next((one for one in answers if one.is_unknown), known(False))


def _subject(
    project: Project, found: CallSite, run: Run | None, uses: Mapping[str, Value], seen: SeenCall | None = None
) -> Subject:
    plugin = found.name.rpartition(".")[2]
    versions = project.environments.for_file(found.file)
    made_as = constructor(plugin, versions.newest(PACKAGE))
    given, is_open = (
        argument_settings(project, found, made_as.parameters, run)
        if seen is None or run is None
        else witnessed_settings(project, found, run, seen, made_as.parameters)
    )
    # None asks for what stands behind a parameter, which is not always its default
    settings = {name: one for name, one in given.items() if not (one.value.is_known and one.value.only is None)}
    world = run.world_size if run is not None else unknown("no launch is known")
    layout = _product(plugin, made_as, settings, is_open=is_open)
    return Subject(
        kind="colossalai-plugin",
        label=plugin,
        span=found.span,
        settings=settings,
        versions=versions,
        names={
            "plugin": known(plugin, found.span),
            "world_size": world,
            "parallel_product": layout,
            "data_parallel_size": quotient(world, layout),
            "foreign_argument": _foreign(project, found, made_as, settings),
            "missing_argument": absent() if is_open else _missing(found, made_as, given),
            **uses,
        },
        open_blocks=frozenset({""}) if is_open else frozenset(),
        default=partial(_default, made_as, given.keys() - settings.keys()),
        run=run,
        extra={"root": found.span},
        sketch=_sketch,
    )


def _sketch(subject: Subject) -> Sketch | None:
    from distlint.frameworks.colossalai.layout import sketch_of

    return sketch_of(subject)


def _default(made_as: Constructor, cleared: Collection[str], path: str) -> Value:
    """The default of a parameter; absent for those that a call sets to ``None``."""
    value = made_as.defaults.get(path)
    return known(value) if value is not None and path not in cleared else absent()


def _product(plugin: str, made_as: Constructor, settings: dict[str, Setting], *, is_open: bool) -> Value:
    """The product of the sizes that the number of processes has to be a multiple of; unknown where one is."""

    def size(name: str) -> Value:
        setting = settings.get(name)
        if setting is None:
            return unknown("may be given where we can't see") if is_open else _default(made_as, (), name)
        value = setting.value if setting.certain else unknown("given on some paths only")
        return value.at(setting.key_span)

    if plugin in (HYBRID, MOE):
        sizes = [size("tp_size"), size("pp_size"), _sequence_size(size)]
    elif plugin in (GEMINI, LOW_LEVEL_ZERO):
        # releases without such a parameter do as if it were 1
        sizes = [one for one in (size("tp_size"), size("extra_dp_size")) if not one.is_absent]
    else:
        return known(1)
    total = known(1)
    # The largest one is named first: it is the likeliest to be wrong.
    for one in sorted(sizes, key=lambda value: max(value.options) if _are_sizes(value) else 0, reverse=True):
        if not _are_sizes(one):
            return unknown(one.reason or "a size is not known", *one.spans)
        total = product(total, one)
    return total


def _are_sizes(value: Value) -> bool:
    return bool(value.options) and all(type(option) is int and option > 0 for option in value.options)


def _sequence_size(size: Callable[[str], Value]) -> Value:
    """What sequence parallelism adds to the product: its size, where it has ranks of its own."""
    enabled, mode, own = size("enable_sequence_parallelism"), size("sequence_parallelism_mode"), size("sp_size")
    if enabled.only is False or mode.only in _SHARED or own.is_absent:
        return known(1)
    if enabled.only is True and (mode.is_absent or mode.is_known):
        return own
    return unknown("whether sequence parallelism has ranks of its own is not known", *mode.spans)


def known_path(path: str) -> bool:
    """Whether a condition over a plugin may use a path."""
    return path in NAMES or path in PARAMETERS


def _known_in_calls(path: str) -> bool:
    from distlint.frameworks.colossalai.booster_calls import known_path as known_in_calls

    return known_in_calls(path)


def _build_calls(project: Project) -> Iterator[Subject]:
    from distlint.frameworks.colossalai.booster_calls import build as calls

    return calls(project)


def _known_in_files(path: str) -> bool:
    from distlint.frameworks.colossalai.config_files import known_path as known_in_files

    return known_in_files(path)


def _build_files(project: Project) -> Iterator[Subject]:
    from distlint.frameworks.colossalai.config_files import build as files

    return files(project)


def _known_in_engines(path: str) -> bool:
    from distlint.frameworks.colossalai.engines import known_path as known_in_engines

    return known_in_engines(path)


def _build_engines(project: Project) -> Iterator[Subject]:
    from distlint.frameworks.colossalai.engines import build as engines

    return engines(project)


def _known_in_sharding(path: str) -> bool:
    from distlint.frameworks.colossalai.sharding import known_path as known_in_sharding

    return known_in_sharding(path)


def _build_sharding(project: Project) -> Iterator[Subject]:
    from distlint.frameworks.colossalai.sharding import build as sharding

    return sharding(project)


KINDS: tuple[SubjectKind, ...] = (
    SubjectKind("colossalai-plugin", "colossalai", known_path, build),
    SubjectKind("colossalai-booster", "colossalai", _known_in_calls, _build_calls),
    SubjectKind("colossalai-engine", "colossalai", _known_in_engines, _build_engines),
    SubjectKind("colossalai-sharding", "colossalai", _known_in_sharding, _build_sharding),
    SubjectKind("colossalai-config", "colossalai", _known_in_files, _build_files),
)
