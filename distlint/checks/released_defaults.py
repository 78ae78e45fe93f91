"""Arguments that are left out although what that means differs between the releases that the pins allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distlint.link.library_scopes import bodies_of
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related, Severity
from distlint.model.record import dataclass
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.checks.released_faults import Faults
    from distlint.checks.released_versions import Allowed, Candidate
    from distlint.link.library_mentions import Mention


@dataclass(frozen=True, slots=True)
class Change:
    """One row of ``changes``.

    ``names`` are the spellings of the callable; ``parameter`` meant ``before`` where it was left out, and means
    ``after`` since the release ``since``. ``why`` says what hangs on it. ``always`` says that a pin to a release with
    the new meaning alone is worth a word; else only pins that allow both are. Where the result goes straight into a
    call of one of ``into``, the new meaning is right, and it is not. ``supply`` is what says the old meaning.
    """

    names: tuple[str, ...]
    parameter: str
    since: str
    before: str
    after: str
    why: str
    always: bool = False
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
    for mention in faults.calls():
        for change in by_name.get(mention.name, ()) if len(mention.meanings) == 1 else ():
            found = _judged(context, faults, mention, change)
            if found is not None:
                yield found


def _judged(context: CheckContext, faults: Faults, mention: Mention, change: Change) -> Finding | None:
    package = faults.packages[mention.name.partition(".")[0]]
    allowed = faults.releases.of(package, mention.file)
    if not allowed.candidates or not allowed.is_pinned or _is_given(faults, mention, change, allowed):
        return None
    newest, oldest = allowed.candidates[0], allowed.candidates[-1]
    if not _has(newest, change):
        return None
    old = [candidate for candidate in allowed.candidates if not _has(candidate, change)]
    if not old and (not change.always or _goes_into(faults, mention, change.into)):
        return None
    sides = [newest, *old[:1]]
    if not all(faults.reached(mention, package, side.version, frozenset()) for side in sides):
        return None
    related = [Related(allowed.pin, f"`{package}` is required here")] if allowed.pin is not None else []
    span = f"the pins allow {package} {oldest.version} to {newest.version}" if old else f"{package} {newest.version}"
    message = (
        f"`{change.parameter}` of `{mention.name}` is left out: it means `{change.after}` since {package} "
        f"{change.since}, `{change.before}` before; {span}"
    )
    plan = None
    if change.supply:
        arguments = {"name": change.parameter, "text": change.supply}
        plan = context.plan(Operation("set-argument", mention.span, arguments))
    severity = context.rule.severity if old else min(context.rule.severity, Severity.NOTE)
    words = [word for word in (change.why, context.rule.help) if word]
    return context.finding(
        message,
        mention.span,
        related=related,
        confidence=Confidence.LIKELY,
        severity=severity,
        plan=plan,
        help="; ".join(words),
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
