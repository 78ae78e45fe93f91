"""Judging a declared rule over a subject: the condition, the versions, the places and the words of the finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distlint.judge.conditions import Condition, Verdict, compile_condition
from distlint.judge.plans import plan_fix
from distlint.judge.versions import other_versions, satisfies
from distlint.judge.view import Used, View
from distlint.judge.wording import Template, compile_template, show
from distlint.model.finding import Finding, Related, Severity
from distlint.model.record import dataclass
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.subject import Subject, SubjectKind

COUNTED = {"world_size": "ranks", "batch_ranks": "ranks"}
"""Names of counts that come from several numbers of a launch, and what a reader calls that which they count."""
MAX_PLACES = 4
"""So many of those numbers are marked."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The versions that a rule is judged for: empty for the newest ones, else those that an older pin allows."""

    versions: Mapping[str, str]

    @property
    def suffix(self) -> str:
        """What the message says where the claim holds for older versions only."""
        if not self.versions:
            return ""
        named = " and ".join(f"{package} {version}" for package, version in sorted(self.versions.items()))
        return f" (with {named}, which the pins allow)"


def check_rule_names(rule: Rule, kind: SubjectKind) -> None:
    """Raises ``ConditionError`` where a declared rule names settings or functions that its subject doesn't have."""
    for expression in _expressions(rule):
        expression.check_names(kind)


def _expressions(rule: Rule) -> Iterator[Condition]:
    yield compile_condition(rule.check.when)
    for text in (rule.check.message, rule.help):
        yield from compile_template(text).expressions
    for path in (*rule.check.at, *rule.check.related):
        yield compile_condition(f"setting({path!r})")


def judge_declared(rule: Rule, subject: Subject | View) -> Finding | None:
    """The finding of a declared rule over one subject, or ``None`` where its condition is false or not known."""
    return judge_with_reason(rule, View.of(subject))[0]


def judge_with_reason(rule: Rule, view: View) -> tuple[Finding | None, Verdict]:
    """As ``judge_declared``, with the verdict, which tells why the rule was silent."""
    condition = compile_condition(rule.check.when)
    verdict = Verdict(False)
    if not condition.packages:
        # Which versions are allowed costs far more to find out than a condition that does not ask for them.
        verdict = condition.judge(view, {})
        if not verdict.holds:
            return None, verdict
    for scenario in _scenarios(rule, view):
        verdict = condition.judge(view, scenario.versions)
        if verdict.holds:
            return _finding(rule, view, condition, verdict, scenario), verdict
    return None, verdict


def _scenarios(rule: Rule, view: View) -> Iterator[Scenario]:
    """The newest versions if the rule is about them, else others that the pins allow and the rule is about."""
    versions = view.subject.versions
    if all(satisfies(versions, package, specifier) for package, specifier in rule.versions.items()):
        yield Scenario({})
        return
    others = other_versions(versions, rule.versions)
    if others:
        yield Scenario(others)


def _finding(rule: Rule, view: View, condition: Condition, verdict: Verdict, scenario: Scenario) -> Finding:
    span, symbol = _primary(rule, view, condition, verdict)
    message: Template = compile_template(rule.check.message)
    packages = condition.packages | scenario.versions.keys()
    related = dict.fromkeys(_related(rule, view, verdict, packages))
    subject = view.subject
    return Finding(
        code=rule.code,
        message=message.render(view, scenario.versions) + scenario.suffix,
        span=span,
        severity=min(rule.severity, Severity.WARNING) if scenario.versions else rule.severity,
        confidence=min(rule.confidence, verdict.confidence),
        related=tuple(item for item in related if item.span != span),
        help=compile_template(rule.help).render(view, scenario.versions),
        plan=plan_fix(rule, view, scenario.versions, span),
        symbol=symbol,
        runs=(subject.label,) if subject.run is not None else (),
    )


def _primary(rule: Rule, view: View, condition: Condition, verdict: Verdict) -> tuple[Span, str]:
    """Where to point, and the path that stands there: the first of ``at`` that is written, or a place that the verdict rests on.

    What the condition asks for, and what did not decide it, comes last.
    """
    decided = {used.path for used in verdict.used}
    idle = condition.paths - decided
    for path in sorted(rule.check.at, key=idle.__contains__):
        place = view.place(path)
        if place is not None:
            return place, path
    for used in verdict.used:
        if used.key_span is not None:
            return used.key_span, used.path
    return view.subject.span, rule.check.at[0] if rule.check.at else view.subject.label


def _related(rule: Rule, view: View, verdict: Verdict, packages: frozenset[str]) -> Iterator[Related]:
    named = [Used(path, view.read(path).value, view.place(path), view.setting(path)) for path in rule.check.related]
    seen: set[Span] = set()
    for used in (*named, *verdict.used):
        if used.key_span is None or used.key_span in seen:
            continue
        seen.add(used.key_span)
        if used.setting is None and used.path in COUNTED:
            yield from counted(used, view.subject)
            continue
        # In the words of the place: a carrier may call the setting by another name.
        written = used.setting.written if used.setting is not None else ""
        # A name of ours for what follows from the place is no word that stands there.
        is_ours = used.setting is None and used.path in view.subject.names
        name = f"the {used.path.rpartition('.')[2].replace('_', ' ')}" if is_ours else f"`{written or used.path}`"
        yield Related(used.key_span, f"{name} {_stands(used)} here")
        if used.setting is not None and used.setting.overrides is not None:
            lower = used.setting.overrides
            yield Related(lower.key_span, f"this `{lower.path}` is overridden")
    for package in sorted(packages):
        pin = view.subject.versions.span(package)
        if pin is not None:
            yield Related(pin, f"`{package}` is required here")


def counted(used: Used, subject: Subject) -> Iterator[Related]:
    """Every number that a count of ``COUNTED`` is made of: the nodes, and the processes on each."""
    count = subject.names.get(used.path)
    places = count.spans if count is not None else ()
    # A whole command stands for what it does not say; it adds nothing where its words are marked.
    own = [one for one in places if not any(one != other and one.contains(other) for other in places)]
    for place in own[:MAX_PLACES]:
        yield Related(place, f"{show(used.value)} {COUNTED[used.path]}, counted from this")


def _stands(used: Used) -> str:
    plain = used.value.options
    if not plain or any(isinstance(option, (dict, list)) for option in plain):
        return f"is {show(used.value)}" if used.value.is_unknown and show(used.value) != "?" else "is set"
    return f"is {show(used.value)}"
