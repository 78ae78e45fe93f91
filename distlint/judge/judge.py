"""Judging a linked project: every rule that is on, over every subject, less what settings and comments silence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from distlint.checks.registry import CheckContext, find_check
from distlint.judge.conditions import ConditionError
from distlint.judge.declared import check_rule_names, judge_with_reason
from distlint.judge.policy import Policy
from distlint.judge.registry import SubjectRegistry
from distlint.judge.rulebook import Rulebook
from distlint.judge.suppression import OWN_FRAMEWORK, Suppressions
from distlint.judge.versions import satisfies
from distlint.judge.view import BLOCK
from distlint.model.facts import FileFacts
from distlint.model.finding import Finding, Note, ProjectError, Related
from distlint.model.record import dataclass
from distlint.model.report import Suppressed
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.subject import SubjectKind
from distlint.settings import Settings

MAX_FINDINGS_PER_RULE = 10_000
"""A rule that finds more stops there: a report of that length helps nobody, and memory is bounded."""


class Judged(Protocol):
    """What judging needs of a linked project; checks and frameworks know the rest."""

    facts: dict[str, FileFacts]

    @property
    def environments(self) -> Any:
        """The versions of packages, by file (``for_file``)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What judging a project gave: sorted findings, silenced ones, our own failures, and why we were silent."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    errors: tuple[ProjectError, ...] = ()
    notes: tuple[Note, ...] = ()


def judge(
    project: Judged,
    rulebook: Rulebook,
    settings: Settings,
    kinds: Iterable[SubjectKind],
    frameworks: Iterable[str] | None = None,
) -> Judgement:
    """Judges a project by all rules that are on and whose frameworks occur in it.

    ``frameworks`` are the names of those that occur; without it, those of ``kinds``. Raises ``SettingsError`` for a
    selector that fits no rule. Whatever a single rule raises becomes an internal error that names it.
    """
    kinds = tuple(kinds)
    present = frozenset(frameworks) if frameworks is not None else frozenset(kind.framework for kind in kinds)
    policy = Policy(settings, rulebook)
    all_rules = tuple(rulebook.for_frameworks(present))
    rules = [rule for rule in all_rules if rule.code in policy.enabled]
    dispatch = _Dispatch(project, kinds, all_rules)
    found = [finding for rule in rules if rule.framework != OWN_FRAMEWORK for finding in dispatch.judge(rule)]
    graded = [policy.graded(finding) for finding in merged(found)]
    kept, suppressed = _silence(graded, project.facts, rulebook, policy, rules)
    least = settings.min_confidence
    return Judgement(
        findings=tuple(sorted((f for f in kept if f.confidence >= least), key=_order)),
        suppressed=tuple(
            sorted((s for s in suppressed if s.finding.confidence >= least), key=lambda s: _order(s.finding))
        ),
        errors=tuple(dispatch.errors),
        notes=tuple(dispatch.notes()),
    )


def _silence(
    findings: list[Finding], facts: Mapping[str, FileFacts], rulebook: Rulebook, policy: Policy, rules: list[Rule]
) -> tuple[list[Finding], list[Suppressed]]:
    """Applies comments, then the settings; what comments are wrong themselves is judged by what they silenced."""
    if policy.settings.no_ignores:
        return findings, []
    comments = Suppressions(facts, rulebook.heads)
    kept, suppressed = comments.apply(findings)
    own = [rule for rule in rules if rule.framework == OWN_FRAMEWORK]
    about = comments.findings(own, policy.enabled, require_reason=policy.settings.require_reason)
    more, silenced = comments.apply(policy.graded(finding) for finding in about)
    stay: list[Finding] = []
    for finding in (*kept, *more):
        reason = policy.silenced(finding, facts)
        if reason is None:
            stay.append(finding)
        else:
            suppressed.append(Suppressed(finding, None, reason))
    return stay, [*suppressed, *silenced]


def merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """One finding for all equal ones (same code, place and message), with their runs and related places united."""
    groups: dict[tuple[str, Span, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.span, finding.message), []).append(finding)
    for group in groups.values():
        yield group[0] if len(group) == 1 else _united(group)


def _united(group: list[Finding]) -> Finding:
    best = max(group, key=lambda finding: (finding.severity, finding.confidence))
    runs = tuple(dict.fromkeys(run for finding in group for run in finding.runs))
    related: dict[tuple[Span, str], Related] = {}
    for finding in group if not best.flow else (best,):
        related.update({(item.span, item.message): item for item in finding.related})
    return replace(best, runs=runs, related=tuple(related.values()))


def _order(finding: Finding) -> tuple[Any, ...]:
    return finding.sort_key


class _Dispatch:
    """Judges one rule after the other, and collects what goes wrong and what stays unknown."""

    def __init__(self, project: Judged, kinds: tuple[SubjectKind, ...], rules: tuple[Rule, ...] = ()) -> None:
        self.errors: list[ProjectError] = []
        self._rules = rules
        self._project = project
        self._unknown: dict[tuple[Span, str, str], set[str]] = {}
        self._registry = SubjectRegistry(project, kinds, self._kind_failed)

    def judge(self, rule: Rule) -> list[Finding]:
        found: list[Finding] = []
        try:
            for finding in self._python(rule) if rule.check.python else self._declared(rule):
                found.append(finding)
                if len(found) == MAX_FINDINGS_PER_RULE:
                    self._failed(rule, f"found more than {MAX_FINDINGS_PER_RULE} faults; the rest is left out")
                    break
        except ConditionError as error:
            self._failed(rule, str(error))
        except Exception as error:  # a rule that fails must not end the others
            self._failed(rule, f"{type(error).__name__}: {error}")
        return found

    def _declared(self, rule: Rule) -> Iterator[Finding]:
        views = self._registry.views_for(rule)
        kind = self._registry.kind(rule.check.subject)
        if not views or kind is None:
            return
        check_rule_names(rule, kind)
        for view in views:
            finding, verdict = judge_with_reason(rule, view)
            if finding is not None:
                yield finding
            elif verdict.holds is None:
                for used in verdict.used:
                    if used.value.is_unknown and used.value.reason != BLOCK:
                        key = (used.key_span or view.subject.span, used.path, used.value.reason)
                        self._unknown.setdefault(key, set()).add(rule.code)

    def _python(self, rule: Rule) -> Iterable[Finding]:
        function = find_check(rule.check.python)
        if function is None:
            raise LookupError(f"there is no check `{rule.check.python}`")
        context = CheckContext(rule, self._project, lambda name: self._registry.subjects_for(name, rule), self._rules)
        return (one for one in function(context) if self._is_about(rule, one.span.file))

    def _is_about(self, rule: Rule, file: str) -> bool:
        """Whether a rule is about the newest releases that the pins of a file allow."""
        versions = self._project.environments.for_file(file) if rule.versions else None
        return versions is None or all(satisfies(versions, *one) for one in rule.versions.items())

    def notes(self) -> Iterator[Note]:
        """Why rules were silent: each value that stayed unknown, with the rules that asked for it."""
        for (span, path, reason), codes in sorted(self._unknown.items()):
            why = f" ({reason})" if reason else ""
            yield Note(span, f"`{path}` is not known{why}: {', '.join(sorted(codes))} had to stay silent")

    def _failed(self, rule: Rule, message: str) -> None:
        self.errors.append(ProjectError(rule.source, f"the rule {rule.code} failed: {message}", internal=True))

    def _kind_failed(self, kind: SubjectKind, error: Exception) -> None:
        message = f"the subjects `{kind.name}` could not be built: {type(error).__name__}: {error}"
        self.errors.append(ProjectError("", message, internal=True))
