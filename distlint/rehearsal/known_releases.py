"""What a program learns of the releases that it runs with, in the rehearsal of a run of which everything is known (``Stage.witness``).

It asks whether a library has a name, which parameters a function takes, and which version is installed. All that is known from the
releases that the pins of the project allow, where these are few and agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distlint.knowledge.distributions import has_local_builds
from distlint.link.version_features import Features, distribution_of
from distlint.model import python as ir
from distlint.rehearsal.entities import ClassValue, FunctionValue, Library
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Given, Items, Made, Table

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Scope, Stage

MAX_RELEASES = 8
"""Releases that are asked one by one; of a package of which more are allowed nothing is known."""

_VERSIONS = frozenset({"importlib.metadata.version", "importlib_metadata.version"})


class Signature(Made):
    """What ``inspect.signature`` gives for a function or class of a library."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...], call: ir.Call, given: Given) -> None:
        super().__init__("inspect.signature()", call, given)
        self.names = names

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """The parameters by name; of one nothing more is known."""
        if name == "parameters":
            return player.stage.made(Table({one: Opaque(("parameter", one)) for one in self.names}))
        return player.stage.made(Items(list(self.names))) if name == "args" else NotImplemented


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function gives that asks for versions or parameters; ``NotImplemented`` for others, and where releases differ."""
    first = given.positional[0] if given.positional and not given.open else None
    if name in _VERSIONS and isinstance(first, str):
        return _version(player.stage, first, scope.file) or NotImplemented
    if name in ("inspect.signature", "inspect.getfullargspec"):
        names = _parameters(player, first, scope.file)
        return NotImplemented if names is None else Signature(names, call, given)
    if name == "dataclasses.fields" and isinstance(first, Library):
        names = _parameters(player, first, scope.file)
        return NotImplemented if names is None else player.stage.made(Items([_field(one, call) for one in names]))
    return NotImplemented


def _field(name: str, call: ir.Call) -> Made:
    """A field of a dataclass of a library."""
    made = Made("dataclasses.Field()", call, Given([], {}))
    made.stored["name"] = name
    return made


def version_of(stage: Stage, dotted: str, file: str) -> str | None:
    """``library.__version__``, where that is known."""
    module, _, last = dotted.rpartition(".")
    is_version = last == "__version__" and "." not in module
    return _version(stage, distribution_of(module), file) if is_version else None


def has(stage: Stage, dotted: str, file: str) -> bool | None:
    """Whether a library has something under a dotted name; ``None`` where that is not known."""
    found: bool | None = _agreed(stage, dotted, file, lambda features, release: features.has(dotted, release))
    return found


def has_method(stage: Stage, made: str, name: str, file: str) -> bool | None:
    """Whether what a library's class made has a method; ``None`` where no release has such a method, or it is not known."""
    if not made.endswith("()") or made.count("()") != 1:
        return None
    dotted = f"{made.removesuffix('()')}.{name}"
    return has(stage, dotted, file) if Features(distribution_of(dotted)).ever(dotted) else None


def holds(stage: Stage, test: ir.Expr, scope: Scope) -> bool | None:
    """Whether a test holds that only the releases of a framework decide; ``None`` for others."""
    if stage.witness is None:
        return None
    for package in sorted({name for spec in stage.project.specs for name in spec.packages}):
        allowed = _allowed(stage, package, scope.file)
        decided = stage.project.reach(package).decided(test, scope.file, scope.function, allowed) if allowed else None
        if decided is not None:
            return decided
    return None


def _parameters(player: Calls, value: Any, file: str) -> tuple[str, ...] | None:
    """The parameters of something as ``inspect`` counts them."""
    if isinstance(value, ClassValue | FunctionValue):
        return _own_parameters(player, value)
    if not isinstance(value, Library):
        return None
    dotted = value.name.removesuffix(".__init__")
    found: tuple[str, ...] | None = _agreed(
        player.stage, dotted, file, lambda features, release: features.parameters(dotted, release)
    )
    if found is None:
        return None
    found = tuple(one for one in found if one != "self")
    return ("self", *found) if dotted != value.name else found


def _own_parameters(player: Calls, value: ClassValue | FunctionValue) -> tuple[str, ...] | None:
    """Those of a function of the project, or of the constructor of a class of it."""
    project = player.stage.project
    if isinstance(value, ClassValue):
        made = project.modules.method(value.ref, "__init__")
        if made is None:
            return tuple(player.fields_of(value.ref)) if player.is_record(value.ref) else None
        return tuple(one.name for one in project.function(made).parameters[1:])
    parameters = project.function(value.ref).parameters
    return tuple(one.name for one in parameters[value.receiver is not None :])


def _agreed(stage: Stage, dotted: str, file: str, asked: Callable[[Features, str], Any]) -> Any:
    """What all releases of a package that the pins allow say; ``None`` where they differ."""
    package = distribution_of(dotted)
    releases = _allowed(stage, package, file)
    features = Features(package)
    found = {asked(features, one) for one in releases}
    return found.pop() if len(found) == 1 else None


def _version(stage: Stage, package: str, file: str) -> str | None:
    """The only release that the pins allow; ``None`` also where the text may go on with what a build is made for (``2.1.2+cu118``)."""
    allowed = _allowed(stage, package, file)
    return allowed[0] if len(allowed) == 1 and not has_local_builds(package) else None


def _allowed(stage: Stage, package: str, file: str) -> tuple[str, ...]:
    """The releases that the pins allow; none where there are too many."""
    environment = stage.project.environments.for_file(file)
    found: tuple[str, ...] = environment.allowed(package) if environment.is_pinned(package) else ()
    return found if len(found) <= MAX_RELEASES else ()
