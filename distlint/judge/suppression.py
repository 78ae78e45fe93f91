"""Silencing findings by comments, and the findings about such comments: unused, unknown or malformed ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from distlint.judge.ruleindex import RuleHead
from distlint.judge.selection import SelectionError, Selector, resolve_selector
from distlint.model.facts import FileFacts, Suppression
from distlint.model.finding import Finding, FixPlan, Operation, Safety
from distlint.model.record import dataclass
from distlint.model.report import Suppressed
from distlint.model.rule import Rule
from distlint.model.span import Span

OWN_FRAMEWORK = "distlint"
"""The framework word of rules about distlint's comments."""


@dataclass(slots=True)
class _Region:
    """Lines on which one selector of a comment silences findings."""

    first: int
    last: int
    selector: Selector
    comment: Suppression
    used: bool = False


@dataclass(slots=True)
class _Marks:
    """What the comments of a project say, by file, and what is wrong with them."""

    regions: dict[str, list[_Region]] = field(default_factory=dict)
    malformed: list[tuple[Suppression, str]] = field(default_factory=list)
    unknown: list[tuple[Suppression, str, str, str]] = field(default_factory=list)
    """Comment, code, problem, and the code that it should be, if that is known."""
    idle: list[tuple[Suppression, str]] = field(default_factory=list)
    """``enable`` comments (and their code) that end nothing."""


class Suppressions:
    """The ``distlint:`` comments of a project, with a memory of which ones were of use."""

    def __init__(self, facts: Mapping[str, FileFacts], heads: Mapping[str, RuleHead]) -> None:
        self._heads = heads
        self._marks = _Marks()
        commented = [path for path in sorted(facts) if facts[path].suppressions]
        self._comments = [comment for path in commented for comment in facts[path].suppressions]
        for path in commented:
            self._marks.regions[path] = list(self._regions(facts[path].suppressions))

    def _regions(self, comments: Iterable[Suppression]) -> Iterator[_Region]:
        open_regions: dict[str, _Region] = {}
        for comment in comments:
            if comment.problem:
                self._marks.malformed.append((comment, comment.problem))
                continue
            for selector in self._selectors(comment):
                if comment.form == "enable":
                    region = open_regions.pop(selector.word, None)
                    if region is None:
                        self._marks.idle.append((comment, selector.word))
                    else:
                        region.last = comment.span.line
                    continue
                region = _Region(*comment.covers, selector, comment)
                if comment.form == "disable":
                    region.last = _END
                    open_regions.setdefault(selector.word, region)
                yield region

    def _selectors(self, comment: Suppression) -> Iterator[Selector]:
        for code in comment.codes:
            try:
                selector = resolve_selector(code, self._heads)
            except SelectionError as error:
                self._marks.unknown.append((comment, code, str(error), ""))
                continue
            if selector.replaced:
                self._marks.unknown.append((comment, code, f"`{code}` is `{selector.replaced}` now", selector.replaced))
            yield selector

    def silencing(self, finding: Finding) -> Suppression | None:
        """The comment whose lines meet any place of a finding, if there is one. All such comments count as used.

        A finding about a comment is not silenced by that comment.
        """
        found: Suppression | None = None
        for span in (finding.span, *(related.span for related in finding.related)):
            for region in self._marks.regions.get(span.file, ()):
                meets = region.first <= span.end_line and span.line <= region.last
                if meets and finding.code in region.selector.codes and region.comment.span != finding.span:
                    region.used = True
                    found = found or region.comment
        return found

    def apply(self, findings: Iterable[Finding]) -> tuple[list[Finding], list[Suppressed]]:
        """Splits findings into those that stay and those that a comment silences."""
        kept: list[Finding] = []
        suppressed: list[Suppressed] = []
        for finding in findings:
            comment = self.silencing(finding)
            if comment is None:
                kept.append(finding)
            else:
                suppressed.append(Suppressed(finding, comment, comment.reason))
        return kept, suppressed

    def findings(self, rules: Iterable[Rule], enabled: frozenset[str], *, require_reason: bool) -> list[Finding]:
        """The findings about the comments themselves, of those of ``rules`` whose check is about comments."""
        found: list[Finding] = []
        for rule in rules:
            if rule.check.python == "suppression-unused":
                found.extend(self._unused(rule, enabled))
            elif rule.check.python == "suppression-unknown":
                found.extend(self._unknown(rule))
            elif rule.check.python == "suppression-malformed":
                found.extend(_finding(rule, comment, f"the comment {text}") for comment, text in self._marks.malformed)
            elif rule.check.python == "suppression-without-reason" and require_reason:
                found.extend(self._without_reason(rule))
        return found

    def _unused(self, rule: Rule, enabled: frozenset[str]) -> Iterator[Finding]:
        """Comments none of whose findings are there, as far as all the rules that they name were judged."""
        idle: dict[Span, tuple[Suppression, list[str]]] = {}
        for regions in self._marks.regions.values():
            for region in regions:
                judged = region.selector.codes <= enabled and not self._is_own(region.selector)
                if not region.used and judged:
                    idle.setdefault(region.comment.span, (region.comment, []))[1].append(region.selector.word)
        for comment, code in self._marks.idle:
            idle.setdefault(comment.span, (comment, []))[1].append(code)
        for comment, codes in idle.values():
            words = " and ".join(f"`{code}`" for code in codes)
            what = f"no {words} is disabled here" if comment.form == "enable" else f"no finding of {words} is here"
            yield _finding(rule, comment, what, _removal(rule, comment, codes))

    def _is_own(self, selector: Selector) -> bool:
        return all(self._heads[code].framework == OWN_FRAMEWORK for code in selector.codes)

    def _unknown(self, rule: Rule) -> Iterator[Finding]:
        for comment, code, problem, present in self._marks.unknown:
            if present:
                codes = tuple(present if word == code else word for word in comment.codes)
                plan = FixPlan(f"write `{present}`", _safety(rule), (_rewritten(comment, codes),))
            else:
                plan = _removal(rule, comment, [code])
            yield _finding(rule, comment, problem, plan)

    def _without_reason(self, rule: Rule) -> Iterator[Finding]:
        for comment in self._comments:
            if not comment.problem and not comment.reason and comment.form != "enable":
                yield _finding(rule, comment, "the comment gives no reason")


_END = 1 << 40
"""A line behind the end of every file."""


def _finding(rule: Rule, comment: Suppression, message: str, plan: FixPlan | None = None) -> Finding:
    return Finding(rule.code, message, comment.span, rule.severity, rule.confidence, help=rule.help, plan=plan)


def _safety(rule: Rule) -> Safety:
    return rule.fix.safety if rule.fix is not None else Safety.SUGGESTION


def _removal(rule: Rule, comment: Suppression, codes: list[str]) -> FixPlan:
    """Takes codes out of a comment, or the comment away where none is left."""
    left = tuple(code for code in comment.codes if code not in codes)
    if left:
        return FixPlan(
            f"remove {', '.join(f'`{code}`' for code in codes)}", _safety(rule), (_rewritten(comment, left),)
        )
    if comment.alone:
        return FixPlan("remove the comment", _safety(rule), (Operation("delete-lines", comment.span),))
    span = comment.span._replace(column=comment.span.column - comment.margin)
    return FixPlan("remove the comment", _safety(rule), (Operation("replace", span, {"text": ""}),))


def _rewritten(comment: Suppression, codes: tuple[str, ...]) -> Operation:
    """The operation that replaces the codes of a comment; its sign and its reason stay."""
    return Operation("replace", comment.codes_span or comment.span, {"text": ", ".join(codes)})
