"""Arguments that are left out although what that means differs between the releases that the pins allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distlint.link.walking import bodies_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related, Severity
from distlint.model.record import dataclass
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.checks.released_faults import Faults
    from distlint.checks.released_versions import Allowed, Candidate
    from distlint.link.library_mentions import Mention


MAX_PLACES = 8
"""Further calls in a file that are shown with the first."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row of ``changes``.

    ``names`` are the spellings of the callable; ``parameter`` meant ``before`` where it was left out, and means
    ``after`` since the release ``since``. ``why`` says what hangs on it. ``always`` says that a pin to a release with
    the new meaning alone is worth a word; else only pins that allow both are. Where the result goes straight into a
    call of one of ``into``, either meaning does; ``mild`` says that it does so as a rule: then it is a note at most.
    ``supply`` is what says the old meaning.
    """

    names: tuple[str, ...]
    parameter: str
    since: str
    before: str
    after: str
    why: str
    always: bool = False
    mild: bool = False
    into: tuple[str, ...] = ()
    supply: str = ""

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Change:
        """The change that a row states. Raises ``TypeError`` for fields that don't exist."""
        fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        return cls(**fields)


def changed_defaults(context: CheckContext, faults: Faults) -> Iterator[Finding]:
    """Calls that leave a parameter to a default that the releases in question do not agree on."""
    by_name: dict[str, list[Change]] = {}
    for row in context.parameters["changes"]:
        change = Change.parse(row)
        for name in change.names:
            by_name.setdefault(name, []).append(change)
    groups: dict[tuple[str, str, str], list[_Left]] = {}
    for mention in faults.calls():
        for change in by_name.get(mention.name, ()) if len(mention.meanings) == 1 else ():
            left = _left_out(faults, mention, change)
            if left is not None:
                groups.setdefault((mention.file, mention.name, change.parameter), []).append(left)
    for group in groups.values():
        yield _finding(context, max(group, key=lambda left: left.severity(context)), group)


@dataclass(frozen=True, slots=True)
class _Left:
    """A call that leaves a parameter to its default; ``old`` says that releases with the old meaning are allowed."""

    mention: Mention
    change: Change
    allowed: Allowed
    old: bool
    mild: bool

    def severity(self, context: CheckContext) -> Severity:
        severity: Severity = context.rule.severity
        return severity if self.old and not self.mild else min(severity, Severity.NOTE)


def _left_out(faults: Faults, mention: Mention, change: Change) -> _Left | None:
    package = faults.packages.get(mention.name.partition(".")[0])
    if package is None:
        return None
    allowed = faults.releases.of(package, mention.file)
    if not allowed.candidates or not allowed.is_pinned or _is_given(faults, mention, change, allowed):
        return None
    newest = allowed.candidates[0]
    if not _has(newest, change):
        return None
    old = [candidate for candidate in allowed.candidates if not _has(candidate, change)]
    mild = change.mild or _goes_into(faults, mention, change.into)
    if not old and (not change.always or mild):
        return None
    if not all(faults.reached(mention, package, one.version, frozenset()) for one in (newest, *old[:1])):
        return None
    return _Left(mention, change, allowed, bool(old), mild)


def _finding(context: CheckContext, left: _Left, group: list[_Left]) -> Finding:
    mention, change, allowed = left.mention, left.change, left.allowed
    package, newest, oldest = allowed.package, allowed.candidates[0], allowed.candidates[-1]
    related = [
        Related(other.mention.span, "and here") for other in group[: MAX_PLACES + 1] if other.mention is not mention
    ]
    if allowed.pin is not None:
        related.append(Related(allowed.pin, f"`{package}` is required here"))
    pins = (
        f"the pins allow {package} {oldest.version} to {newest.version}" if left.old else f"{package} {newest.version}"
    )
    message = (
        f"`{change.parameter}` of `{mention.name}` is left out: it means `{change.after}` since {package} "
        f"{change.since}, `{change.before}` before; {pins}"
    )
    plan = None
    if change.supply:
        arguments = {"name": change.parameter, "text": change.supply}
        plan = context.plan(*(Operation("set-argument", one.mention.span, arguments) for one in group))
    return context.finding(
        message,
        mention.span,
        related=related,
        confidence=Confidence.LIKELY,
        severity=left.severity(context),
        plan=plan,
        help="; ".join(word for word in (change.why, context.rule.help) if word),
        symbol=f"{mention.name}({change.parameter})",
    )


def _goes_into(faults: Faults, mention: Mention, names: tuple[str, ...]) -> bool:
    """Whether the result of a call is an argument of a call of these names, directly or by a variable."""
    module = faults.project.module(mention.file)
    variables = {
        target.id
        for function, body in bodies_of(module)
        if function == mention.function
        for statement in statements(body)
        if type(statement) is ir.Assign and statement.value is mention.call
        for target in statement.targets
        if type(target) is ir.Name
    }
    return any(
        argument is mention.call or (type(argument) is ir.Name and argument.id in variables)
        for name in names
        for site in module.calls.get(name, ())
        if site.function == mention.function
        for argument in site.call.args
    )


def _has(candidate: Candidate, change: Change) -> bool:
    from packaging.version import Version

    return Version(candidate.version) >= Version(change.since)


def _is_given(faults: Faults, mention: Mention, change: Change, allowed: Allowed) -> bool:
    """Whether the parameter is given, or may be."""
    call = mention.call
    assert call is not None  # noqa: S101 - a call has one
    if not mention.whole or change.parameter in mention.own_fields:
        return True
    if any(type(argument) is ir.Starred for argument in call.args):
        return True
    if any(keyword.name in (None, change.parameter) for keyword in call.keywords):
        return True
    symbol = faults.callee(mention, allowed.candidates[0].stands[-1])
    if symbol is None or symbol.parameters is None:
        return False
    names = [one.name for one in symbol.parameters if one.kind in ("positional", "normal")]
    given = len(call.args) - mention.skip + mention.shift
    return change.parameter in names[:given]
