"""Whether a condition on the way to a place holds for a release of a package.

Answers are ``True``, ``False``, ``PROBE`` (it asks for a version or a feature, and can't be decided) or ``OTHER`` (it
is about something else). A program that supports several releases asks in many ways; what they compute with is in
``version_evaluation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distlint.knowledge.distributions import has_local_builds, version_objects_since
from distlint.knowledge.releases import releases
from distlint.link.caught import exceptions_of, handles
from distlint.link.library_uses import written_name
from distlint.link.version_evaluation import Evaluation, Scope, Variant
from distlint.link.version_features import Features, distribution_of
from distlint.link.version_names import NameReader
from distlint.link.version_paths import Case, Condition, Handler, Refuses, Test, Unless, Worked, last_name
from distlint.link.version_values import OTHER, PROBE, combined, compared, is_known, joined, parsed
from distlint.link.walking import below, blocks_of, expressions_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_FILES = 4
"""Imports of project modules inside a ``try`` are followed so far."""

_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError"})
_FLAGS = (ir.Import, ir.Define, ir.Jump)


class VersionTests:
    """Evaluates conditions for releases of one package; ``package`` is the distribution's name."""

    def __init__(self, project: Project, package: str) -> None:
        self.project = project
        self.package = package
        self.features = Features(package)
        self.names = NameReader(package)
        self.touched = 0
        """Grows whenever an answer depends on the release: what leaves it as it is holds for all of them."""
        self._always: dict[Any, Any] = {}
        self._known: dict[Any, Any] = {}
        self.members: dict[Any, Any] = {}
        """The attributes of project classes that were evaluated, for all releases or for one form of one."""
        self.endings: dict[Any, Any] = {}
        """How calls of project functions ended that were evaluated for themselves, with what they asked."""
        self._variants: dict[str, tuple[Variant, ...]] = {}
        since = version_objects_since(package)
        self._objects_since = parsed(since) if since else None

    def has_version_object(self, version: str) -> bool:
        """Whether ``__version__`` of a release compares as a version."""
        return self._objects_since is not None and parsed(version) >= self._objects_since

    def answer(self, condition: Condition, file: str, function: int, version: str) -> Any:
        """Whether a condition holds that is posed in a function of a file (-1: at module level)."""
        key = (file, function, _identity(condition))
        if key in self._always:
            return self._always[key]
        full = (version, key)
        if full in self._known:
            self.touched += 1
            return self._known[full]
        before = self.touched
        found = self._over_variants(condition, Scope(file, function), version)
        if self.touched == before:
            self._always[key] = found
        else:
            self._known[full] = found
        return found

    def _over_variants(self, condition: Condition, scope: Scope, version: str) -> Any:
        plain, *builds = self._variants_of(version)
        run = Evaluation(self, plain)
        found = self.holds(run, condition, scope)
        if run.asked_text:
            for build in builds:
                other = self.holds(Evaluation(self, build), condition, scope)
                found = other if found is PROBE else found if other is PROBE else joined([found, other])
                found = PROBE if not is_known(found) and is_known(other) else found
        if run.asked_others and is_known(found):
            found = joined([found, self.holds(Evaluation(self, plain._replace(newest=False)), condition, scope)])
        return found

    def _variants_of(self, version: str) -> tuple[Variant, ...]:
        """The texts that a release's ``__version__`` may be: its own, and that of a build for some device."""
        if version not in self._variants:
            wanted = parsed(version)
            text = next((known for known in releases(self.package) if parsed(known) == wanted), version)
            local = has_local_builds(self.package) and "+" not in text
            self._variants[version] = tuple(
                Variant(version, one, True) for one in ([text, f"{text}+cu121"] if local else [text])
            )
        return self._variants[version]

    # Conditions --------------------------------------------------------------------------------------------------

    def holds(self, run: Evaluation, condition: Condition, scope: Scope) -> Any:
        """Whether a condition holds, as a part of an evaluation."""
        kind = type(condition)
        if kind is Test:
            value = combined([run.value(condition.expr, scope)], bool)  # type: ignore[union-attr]
            return value is condition.holds if is_known(value) else value  # type: ignore[union-attr]
        if kind is Unless:
            return _inverted(self.all_hold(run, condition.parts, scope))  # type: ignore[union-attr]
        if kind is Worked:
            return _inverted(self._fails(run, _before(condition), scope, 0))  # type: ignore[arg-type]
        if kind is Handler:
            return self._handled(run, condition, scope)  # type: ignore[arg-type]
        if kind is Refuses:
            return self.refuses(run, condition.call, scope)  # type: ignore[union-attr]
        return self._case(run, condition, scope)  # type: ignore[arg-type]

    def all_hold(self, run: Evaluation, conditions: Sequence[Condition], scope: Scope) -> Any:
        """Whether all of several conditions hold."""
        found: Any = True
        for condition in conditions:
            answer = self.holds(run, condition, scope)
            if answer is False:
                return False
            if answer is PROBE or (answer is OTHER and found is True):
                found = answer
        return found

    def _case(self, run: Evaluation, condition: Case, scope: Scope) -> Any:
        subject = run.value(condition.statement.subject, scope)
        for index, (pattern, guard, _) in enumerate(condition.statement.cases[: condition.number + 1]):
            answer = self._matches(run, pattern, subject, scope)
            if guard is not None and answer is not False:
                asked = combined([run.value(guard, scope)], bool)
                answer = asked if answer is True or asked is False else answer
            if index == condition.number:
                return answer
            if answer is True:
                return False
            if not is_known(answer):
                return answer
        return PROBE

    def _matches(self, run: Evaluation, pattern: ir.Expr, subject: Any, scope: Scope) -> Any:
        if type(pattern) is ir.Name and pattern.id == "_":
            return True
        if not is_known(subject):
            return subject
        options = pattern.items if type(pattern) is ir.ListDisplay else (pattern,)
        answers = [combined([run.value(one, scope)], lambda value: compared("==", subject, value)) for one in options]
        return True if True in answers else PROBE if PROBE in answers else False

    # Errors ------------------------------------------------------------------------------------------------------

    def _handled(self, run: Evaluation, condition: Handler, scope: Scope) -> Any:
        """Whether a handler is entered: the body fails, and no handler before takes it."""
        handlers = condition.statement.handlers
        caught = exceptions_of(self.project, handlers[condition.number][0], scope.file)
        if not handles(caught, _MISSING):
            return OTHER
        fails = self._fails(run, condition.statement.body, scope, 0)
        earlier = [exceptions_of(self.project, kind, scope.file) for kind, _, _ in handlers[: condition.number]]
        if fails is True and any(handles(one, frozenset({"ImportError"})) for one in earlier):
            return False
        return fails

    def _fails(self, run: Evaluation, body: Sequence[ir.Stmt], scope: Scope, files: int) -> Any:
        """Whether statements raise because of the release: ``OTHER`` if they may for another reason."""
        found: Any = False
        for statement in body:
            answer = self._statement_fails(run, statement, scope, files)
            if answer is True and found is not PROBE:
                return True
            if answer is not False and found is not PROBE:
                found = PROBE if answer is True else answer
        return found

    def _statement_fails(self, run: Evaluation, statement: ir.Stmt, scope: Scope, files: int) -> Any:
        if type(statement) is ir.Import:
            return self._import_fails(run, statement, scope, files)
        if type(statement) is ir.Jump and statement.kind == "raise":
            return True
        if type(statement) is ir.Assert:
            return _inverted(combined([run.value(statement.test, scope)], bool))
        if type(statement) is ir.If:
            test = combined([run.value(statement.test, scope)], bool)
            if is_known(test):
                return self._fails(run, statement.body if test else statement.orelse, scope, files)
            either = [self._fails(run, block, scope, files) for block in (statement.body, statement.orelse)]
            return False if either == [False, False] else PROBE if PROBE in (test, *either) else OTHER
        if type(statement) in _FLAGS:
            return False
        answers = [self._expression_fails(run, expr, scope) for expr in expressions_of(statement)]
        for block in blocks_of(statement):
            inner = self._fails(run, block, scope, files)
            answers.append(OTHER if inner is True and type(statement) is ir.Try else inner)
        return True if True in answers else PROBE if PROBE in answers else OTHER if OTHER in answers else False

    def _expression_fails(self, run: Evaluation, expr: ir.Expr, scope: Scope) -> Any:
        found: Any = False
        stack = [expr]
        while stack:
            part = stack.pop()
            if type(part) is ir.Attribute:
                name = written_name(self.project, part, scope.file, scope.function)
                if name and run.features.owns(name):
                    if not name.endswith("__version__"):
                        there = run.features.has(name, run.version)
                        if there is False:
                            return True
                        found = PROBE if there is None else found
                    continue
            if type(part) is ir.Call and not is_known(run.value(part, scope)):
                found = found or OTHER if found is False else found
                if last_name(part) in ("import_module", "find_spec", "signature", "__import__"):
                    found = PROBE
            stack.extend(one for one in below(part) if one is not part and type(one) in (ir.Attribute, ir.Call))
            if len(stack) > 200:
                return PROBE
        return found

    def _import_fails(self, run: Evaluation, item: ir.Import, scope: Scope, files: int) -> Any:
        if not item.level and self.project.modules.find(item.module, scope.file) is None:
            if not run.features.owns(item.module):
                return OTHER
            works = None if item.name == "*" else run.features.imports(item.module, item.name, run.version)
            return PROBE if works is None else not works
        inner = f"{item.module}.{item.name}".strip(".")
        for dotted in (inner, item.module):
            file = self.project.modules.find(dotted, scope.file, item.level)
            if file is not None and files < MAX_FILES and file != scope.file:
                answer = self._fails(run, _top_level(self.project.module(file)), Scope(file, -1), files + 1)
                if answer is not False:
                    return answer
        return False

    def refuses(self, run: Evaluation, expr: ir.Expr, scope: Scope) -> Any:
        """Whether a call raises for a release: a check of the project, or a known one of a library."""
        if type(expr) is not ir.Call:
            return False
        from distlint.link.version_bodies import arguments_for, ending_of
        from distlint.link.version_calls import meets, own_function

        own = own_function(run, expr.func, scope)
        if own is not None:
            end = ending_of(run, own, arguments_for(run, own, expr, scope), scope)
            return True if end.kind == "raise" else False if end.kind == "return" else end.value
        name = last_name(expr)
        given = {k.name: run.value(k.value, scope) for k in expr.keywords}
        first = run.value(expr.args[0], scope) if expr.args else next(iter(given.values()), OTHER)
        if name in ("require_version", "require_version_core") or (name == "require" and isinstance(first, str)):
            return combined([first], lambda text: _inverted(meets(run, text, scope.file)))
        if name == "importorskip" and isinstance(first, str):
            wanted = given.get(
                "minversion", expr.args[1] and run.value(expr.args[1], scope) if len(expr.args) > 1 else None
            )
            if not run.features.owns(first):
                return OTHER
            return False if wanted is None else combined([wanted], lambda text: parsed(run.version) < parsed(text))
        if name == "check_min_version":
            owner = distribution_of(
                written_name(self.project, expr.func, scope.file, scope.function) or "?", self.package
            )
            found = run.version_of(owner, scope.file) if owner != "?" else OTHER
            return combined([found, first], lambda is_, wanted: parsed(is_) < parsed(wanted))
        return self._checker(run, name, first)

    def _checker(self, run: Evaluation, name: str, first: Any) -> Any:
        """``check_peft_version(min_version="0.5")`` and others whose name says which package they look at."""
        asked = self.names.asks(name.removeprefix("check_").removeprefix("require_").removeprefix("ensure_"))
        if asked is None or name == name.removeprefix("check_").removeprefix("require_").removeprefix("ensure_"):
            return OTHER
        if not isinstance(first, str) or not first[:1].isdigit():
            return PROBE
        return combined([first], lambda wanted: parsed(run.version) < parsed(wanted))


def _top_level(module: ir.Module) -> list[ir.Stmt]:
    """The imports that a module makes whenever it is imported, and what raises there."""
    return [one for one in module.body if type(one) in (ir.Import, ir.If, ir.Assert, ir.Jump)]


def _before(condition: Worked) -> Sequence[ir.Stmt]:
    body = condition.statement.body
    if not condition.end:
        return body
    start = condition.end >> 44
    return [one for one in body if one.at & 0xFFFFFFFFFFF <= start]


def _inverted(answer: Any) -> Any:
    return not answer if is_known(answer) else answer


def _identity(condition: Condition) -> Any:
    """What tells a condition apart from the others of its file."""
    kind = type(condition)
    if kind is Test:
        return condition.expr.at, condition.holds  # type: ignore[union-attr]
    if kind is Unless:
        return tuple(_identity(part) for part in condition.parts)  # type: ignore[union-attr]
    if kind is Refuses:
        return "refuses", condition.call.at  # type: ignore[union-attr]
    if kind is Worked:
        return "worked", condition.statement.at, condition.end  # type: ignore[union-attr]
    return kind is Handler, condition.statement.at, condition.number  # type: ignore[union-attr]
