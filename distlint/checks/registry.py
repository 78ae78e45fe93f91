"""Checks in Python: how they are registered, and what they are given.

A rule file names a check (``python = "name"``) and gives its parameters. A check is a pure function from the linked
project to findings; it is imported when a rule that names it is judged.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from distlint.model.finding import Finding, FixPlan, Operation, Related, Safety, Severity
from distlint.model.record import dataclass
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.subject import Subject
from distlint.model.value import Confidence


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check works on: its rule, the linked project, and the subjects of each kind."""

    rule: Rule
    project: Any
    subjects: Callable[[str], tuple[Subject, ...]]
    """The subjects of a kind by its name; none where the kind is unknown or its framework does not occur."""
    rules: tuple[Rule, ...] = ()
    """All rules about frameworks that occur, selected or not: what one of them says, another need not say again."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The ``[check.parameters]`` table of the rule file."""
        return self.rule.check.parameters

    def finding(
        self,
        message: str,
        span: Span,
        *,
        related: Iterable[Related] = (),
        confidence: Confidence = Confidence.CERTAIN,
        severity: Severity | None = None,
        plan: FixPlan | None = None,
        help: str | None = None,  # noqa: A002  the field of a finding that it fills
        symbol: str = "",
        runs: tuple[str, ...] = (),
        flow: bool = False,
    ) -> Finding:
        """A finding of the rule, held no more firmly than the rule allows and ``confidence`` says."""
        places = dict.fromkeys(item for item in related if item.span != span)
        return Finding(
            code=self.rule.code,
            message=message,
            span=span,
            severity=self.rule.severity if severity is None else severity,
            confidence=min(self.rule.confidence, confidence),
            related=tuple(places),
            help=self.rule.help if help is None else help,
            plan=plan,
            symbol=symbol,
            runs=runs,
            flow=flow,
        )

    def plan(self, *operations: Operation, title: str = "", safety: Safety | None = None) -> FixPlan | None:
        """A fix plan with the title and safety of the rule's ``[fix]`` table, unless others are given."""
        declared = self.rule.fix
        title = title or (declared.title if declared is not None else "")
        safety = safety if safety is not None else declared.safety if declared is not None else None
        if not title or safety is None or not operations:
            return None
        return FixPlan(title, safety, operations)


Check = Callable[[CheckContext], Iterable[Finding]]

_Registered = TypeVar("_Registered", bound=Check)
_CHECKS: dict[str, Check] = {}
_PACKAGE = "distlint.checks"


def check(name: str) -> Callable[[_Registered], _Registered]:
    """Registers a function as the check that rule files call ``name``. Raises ``ValueError`` if the name is taken."""

    def register(function: _Registered) -> _Registered:
        known = _CHECKS.get(name)
        if known is not None and known.__qualname__ != function.__qualname__:
            raise ValueError(f"the check {name!r} is registered twice: {known.__qualname__}, {function.__qualname__}")
        _CHECKS[name] = function
        return function

    return register


def find_check(name: str) -> Check | None:
    """The check with a name, or ``None``.

    It stands in the module of that name (``rank-divergence`` in ``checks/rank_divergence.py``), so that a run imports only what it needs.
    """
    if name not in _CHECKS:
        module = f"{_PACKAGE}.{name.replace('-', '_')}"
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    return _CHECKS.get(name)


def check_names() -> frozenset[str]:
    """The names of all checks; imports every module of ``distlint.checks``."""
    import pkgutil

    package = importlib.import_module(_PACKAGE)
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{_PACKAGE}.{info.name}")
    return frozenset(_CHECKS)
