"""What a declared condition is judged over: a set of settings with its context.

A framework turns a run (or a lone configuration file, a call, a set of pins) into subjects; the condition language sees only
this. Paths are dotted; what a subject does not know is absent, unknown or the framework's default for the version in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from distlint.model.launch import Run
from distlint.model.record import dataclass
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.value import Value, absent

if TYPE_CHECKING:
    from distlint.model.sketch import Sketch


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: canonical path, value, and where key and value stand. ``overrides`` is the setting that it wins over.

    ``call`` is the span of the call whose argument it is, where the carrier is a call (fixes need it).
    """

    path: str
    value: Value
    key_span: Span
    span: Span
    overrides: Setting | None = None
    certain: bool = True
    written: str = ""
    """The path as the carrier spells it, where it is another one: an alias, a deprecated name, a host's own name."""
    kind: str = ""
    """Of several values in a row what the program has them as (``document.Sequence``), ``dtype`` for a data type of tensors."""


class Versions(Protocol):
    """What the pins of a run allow."""

    def test(self, package: str, specifier: str) -> bool | None:
        """Whether the version in use satisfies the specifier: for every allowed version, for none, or for some (``None``)."""
        ...

    def newest(self, package: str) -> str:
        """The newest release that the pins allow (what a fresh install picks); ``""`` if the package is unknown."""
        ...

    def span(self, package: str) -> Span | None:
        """Where the pin stands, if there is one."""
        ...


@dataclass(slots=True)
class Subject:
    """One thing that rules are judged over.

    ``settings`` maps canonical dotted paths to settings. ``open_blocks`` are the paths of blocks that may hold settings we can't
    see (``""`` for all). ``names`` are further values that conditions may use (``world_size``, ``launch.nodes``). ``default`` gives
    the framework's default for a path, in the version in use, or absent. ``functions`` are predicates that conditions may call
    beside the built-in ones. ``taken`` gives what the framework makes of a written value before anything acts on it.
    ``span`` is where to point when nothing better is known.
    """

    kind: str
    label: str
    span: Span
    settings: Mapping[str, Setting]
    versions: Versions
    names: Mapping[str, Value] = field(default_factory=dict)
    open_blocks: frozenset[str] = frozenset()
    default: Callable[[str], Value] = field(default=lambda path: absent())
    functions: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    taken: Callable[[Setting], Value] = field(default=lambda setting: setting.value)
    run: Run | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    sketch: Callable[[Subject], Sketch | None] | None = None
    """What the framework knows of the run's layout, batch and memory, where it can say; made when somebody asks."""


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """A kind of subject that a framework offers to rules.

    ``known`` tells whether a dotted path may be used in a condition over this kind (a misspelt path is an error when the rule is
    loaded); ``functions`` are the extra predicates' names; ``build`` makes the subjects of a linked project.
    """

    name: str
    framework: str
    known: Callable[[str], bool]
    build: Callable[[Any], Iterable[Subject]]
    functions: frozenset[str] = frozenset()
    build_for: Callable[[Any, Rule], Iterable[Subject]] | None = None
    """For kinds whose subjects depend on the rule (the calls of the function that its parameters name): used instead of ``build``."""
