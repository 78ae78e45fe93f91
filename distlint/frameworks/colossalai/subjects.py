"""What rules about Colossal-AI see: the plugins that scripts make, with the number of processes that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.plugins import (
    DEFAULTS,
    FILES,
    GEMINI,
    HYBRID,
    LOW_LEVEL_ZERO,
    MOE,
    PARAMETERS,
    SIGNATURES,
)
from distlint.frameworks.copies import copied_calls
from distlint.frameworks.general import argument_settings
from distlint.frameworks.reaching import runs_through
from distlint.link.process_counts import product, quotient
from distlint.link.project import CallSite
from distlint.model.launch import Run
from distlint.model.subject import Setting, Subject, SubjectKind
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.sketch import Sketch

NAMES = frozenset({"plugin", "world_size", "parallel_product", "data_parallel_size"})

_SHARED = frozenset({"split_gather", "ring"})
"""Modes in which sequence parallelism uses the tensor-parallel ranks."""


def build(project: Project) -> Iterator[Subject]:
    """One subject per construction of a plugin and run that reaches it."""
    for found in (*project.calls_to(FILES.keys()), *copied_calls(project, FILES)):
        for run in runs_through(project, found):
            yield _subject(project, found, run)


def _subject(project: Project, found: CallSite, run: Run | None) -> Subject:
    plugin = found.name.rpartition(".")[2]
    given, is_open = argument_settings(project, found, list(SIGNATURES.get(plugin, ())), run)
    settings = {name: one for name, one in given.items() if not (one.value.is_known and one.value.only is None)}
    world = run.world_size if run is not None else unknown("no launch is known")
    layout = _product(plugin, settings, is_open=is_open)
    return Subject(
        kind="colossalai-plugin",
        label=plugin,
        span=found.span,
        settings=settings,
        versions=project.environments.for_file(found.file),
        names={
            "plugin": known(plugin, found.span),
            "world_size": world,
            "parallel_product": layout,
            "data_parallel_size": quotient(world, layout),
        },
        open_blocks=frozenset({""}) if is_open else frozenset(),
        default=partial(_default, plugin),
        run=run,
        extra={"root": found.span},
        sketch=_sketch,
    )


def _sketch(subject: Subject) -> Sketch | None:
    from distlint.frameworks.colossalai.layout import sketch_of

    return sketch_of(subject)


def _default(plugin: str, path: str) -> Value:
    defaults = DEFAULTS[plugin]
    return known(defaults[path]) if path in defaults else absent()


def _product(plugin: str, settings: dict[str, Setting], *, is_open: bool) -> Value:
    """The product of the sizes that the number of processes has to be a multiple of; unknown where one is."""

    def size(name: str) -> Value:
        setting = settings.get(name)
        if setting is None:
            return unknown("may be given where we can't see") if is_open else _default(plugin, name)
        value = setting.value if setting.certain else unknown("given on some paths only")
        return value.at(setting.key_span)

    if plugin in (HYBRID, MOE):
        sizes = [size("tp_size"), size("pp_size"), _sequence_size(size)]
    elif plugin == GEMINI:
        sizes = [size("tp_size"), size("extra_dp_size")]
    elif plugin == LOW_LEVEL_ZERO:
        sizes = [size("extra_dp_size")]
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


KINDS: tuple[SubjectKind, ...] = (SubjectKind("colossalai-plugin", "colossalai", known_path, build),)
