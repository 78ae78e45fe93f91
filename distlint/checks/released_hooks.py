"""Methods that a project overrides and a library calls with more arguments than they take.

What a release hands to a method is in its code, not in its signature, so a rule lists it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distlint.link.modules import ClassRef
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.record import dataclass
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.checks.released_faults import Faults
    from distlint.link.library_objects import Derived


@dataclass(frozen=True, slots=True)
class Hook:
    """One row of ``hooks``.

    Objects of classes below one of ``classes`` get ``parameter`` handed to ``method`` since the release ``since`` of
    ``package``: as a keyword, or as the argument number ``position`` (1 for the first behind ``self``). ``unless`` are
    methods from which the call comes: where the class has its own, nothing is known.
    """

    classes: tuple[str, ...]
    package: str
    method: str
    parameter: str
    since: str
    position: int = 0
    unless: tuple[str, ...] = ()

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Hook:
        """The hook that a row states. Raises ``TypeError`` for fields that don't exist."""
        fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        return cls(**fields)

    def is_taken_by(self, definition: ir.Function) -> bool:
        """Whether a method takes the argument."""
        kinds = [one.kind for one in definition.parameters]
        if self.position:
            return "var-positional" in kinds or sum(kind in ("positional", "normal") for kind in kinds) > self.position
        return "var-keyword" in kinds or any(
            one.name == self.parameter and one.kind in ("normal", "keyword") for one in definition.parameters
        )


def narrow_hooks(context: CheckContext, faults: Faults) -> Iterator[Finding]:
    """Overridden methods that the newest release in use calls with an argument that they refuse."""
    hooks = [Hook.parse(row) for row in context.parameters.get("hooks", ())]
    methods = {hook.method for hook in hooks}
    for file in faults.mentions.files if hooks else ():
        module = faults.project.module(file)
        for index, definition in enumerate(module.functions):
            if definition.name not in methods or definition.owner < 0 or definition.decorators:
                continue
            derived = faults.mentions.objects.derived(ClassRef(file, definition.owner))
            if derived is None:
                continue
            for hook in hooks:
                if hook.method == definition.name and _is_called(faults, hook, derived):
                    yield from _judged(context, faults, hook, file, index)


def _is_called(faults: Faults, hook: Hook, derived: Derived) -> bool:
    if not any(meaning.name in hook.classes for meaning in derived.base):
        return False
    return not any(faults.mentions.objects.defines(derived, name) for name in hook.unless)


def _judged(context: CheckContext, faults: Faults, hook: Hook, file: str, index: int) -> Iterator[Finding]:
    from packaging.version import Version

    definition = faults.project.module(file).functions[index]
    allowed = faults.releases.of(hook.package, file)
    if hook.is_taken_by(definition) or not allowed.candidates:
        return
    newest = allowed.candidates[0]
    if not newest.is_newest or Version(newest.version) < Version(hook.since):
        return
    reach = faults.project.reach(hook.package)
    if reach.reached(file, definition.at, newest.version, frozenset()) is not True:
        return
    where = "" if allowed.is_pinned else ", the newest release"
    yield context.finding(
        f"`{definition.qualname}` takes no `{hook.parameter}`, which {hook.package} {newest.version}{where} hands to it "
        f"(since {hook.since})",
        ir.unpack(definition.name_at, file),
        related=[Related(allowed.pin, f"`{hook.package}` is required here")] if allowed.pin is not None else [],
        confidence=Confidence.CERTAIN if allowed.is_pinned else Confidence.LIKELY,
        help=f"give the method a parameter `{hook.parameter}=None`, or take `**kwargs`",
        symbol=f"{hook.classes[0]}.{hook.method}({hook.parameter})",
    )
