"""Names and arguments that only some releases of a library have, judged for the releases that the project's pins allow.

The rule file lists them; see ``Entry`` for the fields. A use counts where it is reached with a release that lacks the
name (``link.version_guards``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distlint.checks.registry import CheckContext, check
from distlint.frameworks.reaching import is_passed_by
from distlint.frameworks.witnessed import witnessed_calls, witnessed_names
from distlint.link.arguments import find_argument
from distlint.link.library_mentions import Mention
from distlint.link.library_uses import Use, is_below
from distlint.link.parsers import parsers_of
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.document import Mapping as Tree
from distlint.model.finding import Finding, Operation, Related, Safety, Severity
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.environments import VersionView
    from distlint.link.project import Project
    from distlint.link.version_guards import Reach

MAX_PLACES = 8
"""Further uses of the same name in a file that are shown with the first."""


@dataclass(frozen=True)
class Entry:
    """One row of the rule's ``symbols`` parameter.

    ``names`` are dotted names: modules, functions, classes, or with ``keywords`` the callables that take these.
    ``package`` is the distribution; the name exists from ``since`` up to, but not in, ``removed`` (releases, ``""`` for
    always), or ``never``; releases in ``broken`` have it, but can't import it. ``position`` is that of the argument where it may
    be given by position, and ``mapping`` says that only a dict there is surely meant; ``alone`` says that by position it
    does no harm unless a text comes behind it, which then stands where a number is wanted.
    ``required`` says that where the argument exists it has to be given.
    ``instead`` is the name that replaces it (there since ``instead-since``), ``drop`` says that it can just go,
    ``supply`` is the code to give for a missing one.
    ``derived`` includes project classes that derive from the callable. ``subject`` is a kind of subject whose settings
    carry the same keywords (command lines, configuration files). ``note`` says what to do.
    """

    names: tuple[str, ...]
    package: str
    since: str = ""
    removed: str = ""
    keywords: tuple[str, ...] = ()
    position: int | None = None
    mapping: bool = False
    alone: bool = False
    required: bool = False
    never: bool = False
    broken: tuple[str, ...] = ()
    instead: str = ""
    instead_since: str = ""
    drop: bool = False
    supply: str = ""
    derived: bool = False
    subject: str = ""
    note: str = ""

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Entry:
        """The entry that a row states. Raises ``TypeError`` for fields that don't exist."""
        fields: dict[str, Any] = {
            key.replace("-", "_"): tuple(value) if isinstance(value, list) else value for key, value in row.items()
        }
        return cls(**fields)

    def lacks(self, version: str) -> bool:
        """Whether a release has no such name (or, for a required argument, does not ask for it)."""
        if self.never or version in self.broken:
            return True
        order = _order(version)
        return bool((self.removed and order >= _order(self.removed)) or (self.since and order < _order(self.since)))


def _order(version: str) -> Any:
    from packaging.version import Version

    return Version(version)


@dataclass(frozen=True)
class Fault:
    """The release for which something is wrong, how it comes to be in use, and whether it shows on import."""

    version: str
    is_newest: bool
    is_pinned: bool
    pin: Span | None
    is_at_import: bool = True
    where: str = ""
    """What the message says behind the version."""


@check("api-by-version")
def api_by_version(context: CheckContext) -> Iterator[Finding]:
    """Imports, expressions and arguments that the library lacks in a release that the pins allow."""
    entries = [Entry.parse(row) for row in context.parameters["symbols"]]
    yield from _Judge(context, entries).findings()


@dataclass
class _Judge:
    context: CheckContext
    entries: list[Entry]

    @cached_property
    def project(self) -> Project:
        project: Project = self.context.project
        return project

    def findings(self) -> Iterator[Finding]:
        symbols = [entry for entry in self.entries if not entry.keywords]
        if symbols:
            yield from self._symbols(symbols)
        for entry in self.entries:
            if entry.keywords:
                yield from self._calls(entry)
                yield from self._seen(entry)
                if entry.subject:
                    yield from self._settings(entry)

    # Versions ----------------------------------------------------------------------------------------------------

    def fault(self, entry: Entry, use: Use, errors: frozenset[str], *, given: bool = True) -> Fault | None:
        """The newest release that the pins allow and for which the use fails; the newest of all without a pin."""
        versions: VersionView = self.project.environments.for_file(use.file)
        pinned = versions.is_pinned(entry.package)
        allowed = versions.allowed(entry.package)
        bounded = versions.has_lower_bound(entry.package)
        for index, version in enumerate(reversed(allowed)):
            # Where nobody said that old releases do, what counts is what an installer picks.
            if _order(version).is_prerelease or (index and not bounded):
                continue
            if entry.lacks(version) is not given or self._is_beyond(entry, version):
                continue
            if self._reach(entry).reached(use.file, use.at, version, _shown_as(use, version, errors)):
                where = versions.standing(entry.package, is_newest=index == 0)
                return Fault(version, index == 0, pinned, versions.span(entry.package), use.function < 0, where)
        return None

    def _is_beyond(self, entry: Entry, version: str) -> bool:
        """Whether a pin names a release that is newer than all that are known: what it has, nobody can tell."""
        from distlint.link.version_sets import known_versions

        known = known_versions(entry.package)
        return bool(known) and _order(version) > known[-1]

    def _reach(self, entry: Entry) -> Reach:
        return self.project.reach(entry.package)

    def finding(
        self, entry: Entry, fault: Fault, message: str, span: Span, related: list[Related], operations: list[Operation]
    ) -> Finding:
        """The finding, graded by how the release comes to be in use."""
        if fault.pin is not None:
            related = [*related, Related(fault.pin, f"`{entry.package}` is required here")]
        severity = self.context.rule.severity if fault.is_newest else min(self.context.rule.severity, Severity.WARNING)
        confidence = _confidence(fault)
        plan = self.context.plan(*operations, safety=self._safety(entry, span.file)) if operations else None
        words = [word for word in (self.context.rule.help, entry.note) if word]
        return self.context.finding(
            message,
            span,
            related=related,
            confidence=confidence,
            severity=severity,
            plan=plan,
            help="; ".join(words),
            symbol=entry.names[0],
        )

    def _safety(self, entry: Entry, file: str) -> Safety | None:
        """A replacement that some allowed release lacks changes more than it mends."""
        versions: VersionView = self.project.environments.for_file(file)
        if not entry.instead_since or not versions.is_pinned(entry.package):
            return None
        oldest = versions.oldest(entry.package)
        return Safety.UNSAFE if oldest and _order(oldest) < _order(entry.instead_since) else None

    # Names -------------------------------------------------------------------------------------------------------

    def _symbols(self, entries: list[Entry]) -> Iterator[Finding]:
        groups: dict[tuple[str, int], list[tuple[Use, Fault]]] = {}
        for use in self._uses({name for entry in entries for name in entry.names}):
            number = _most_specific(entries, use.name)
            fault = self.fault(entries[number], use, _errors(use))
            if fault is not None and not self.project.library_mentions.scopes.is_replaced(use.name):
                group = number if use.item is not None and use.item.name else _least_specific(entries, use.name)
                groups.setdefault((use.file, group), []).append((use, fault))
        for (_, number), found in groups.items():
            # What a launch comes to tells more than what none does.
            yield self._symbol(entries[number], sorted(found, key=lambda one: self._is_passed_by(one[0])))

    def _is_passed_by(self, use: Use) -> bool:
        return is_passed_by(self.project, use.file, use.function, use.at)

    def _uses(self, names: Collection[str]) -> Iterator[Use]:
        for mention in self.project.library_mentions.index.uses(names):
            root = mention.meanings[0].root
            # What is reached through an import of the name itself counts by that import.
            if any(is_below(mention.name, name) and not (root and is_below(root, name)) for name in names):
                yield Use(mention.name, mention.file, mention.function, mention.at, mention.item)
        for seen, _ in witnessed_names(self.project):
            if seen.is_import and any(is_below(seen.name, name) for name in names):
                yield Use(seen.name, seen.file, seen.function, seen.at)

    def _symbol(self, entry: Entry, found: list[tuple[Use, Fault]]) -> Finding:
        use, fault = found[0]
        message = f"`{use.name}` {_absence(entry, fault)}"
        related = [Related(other.span, f"`{other.name}` is used here too") for other, _ in found[1 : MAX_PLACES + 1]]
        operations = [operation for other, _ in found for operation in _moved(entry, other)]
        complete = len(operations) == len(found)
        return self.finding(entry, fault, message, use.span, related, operations if complete else [])

    # Arguments ---------------------------------------------------------------------------------------------------

    def _calls(self, entry: Entry) -> Iterator[Finding]:
        names = {name.replace("()", "") for name in entry.names}
        for mention in self.project.library_mentions.index.calls(names):
            if mention.call is None:
                continue
            if self.project.library_mentions.scopes.is_replaced(mention.name):
                continue
            found = CallSite(mention.file, ir.Site(mention.call, mention.function), mention.name)
            use = Use(found.name, found.file, found.site.function, found.site.call.at)
            given = {key: at for key, at in self._given(entry, found, mention) if key not in mention.own_fields}
            if given:
                fault = self.fault(entry, use, frozenset({"TypeError"}))
                if fault is not None:
                    yield self._refused(entry, found, fault, given)
            if entry.required and not given and mention.whole and self._surely_missing(entry, found):
                fault = self.fault(entry, use, frozenset({"TypeError"}), given=False)
                if fault is not None:
                    yield self._lacking(entry, found, fault, _supplied(entry, found))

    def _seen(self, entry: Entry) -> Iterator[Finding]:
        """Calls that a run was seen to make where the text names none (``LAUNCHERS[name]()``)."""
        names = {name.replace("()", "") for name in entry.names}
        mentions = self.project.library_mentions.index.calls(names)
        told = {ir.unpack(one.call.at, one.file) for one in mentions if one.call is not None}
        judged = set()
        for found, _, seen in witnessed_calls(self.project, names, told):
            if seen.is_open or found.span in judged:
                continue
            judged.add(found.span)
            use = Use(found.name, found.file, found.site.function, found.site.call.at)
            given = {name: found.span for name, _ in seen.keywords if name in entry.keywords}
            by_position = entry.position is not None and len(seen.positional) > entry.position
            fault = self.fault(entry, use, frozenset({"TypeError"}), given=bool(given))
            if fault is not None and given:
                yield self._refused(entry, found, fault, given)
            elif fault is not None and entry.required and not by_position:
                yield self._lacking(entry, found, fault, [])

    def _lacking(self, entry: Entry, found: CallSite, fault: Fault, operations: list[Operation]) -> Finding:
        place = f"{entry.package} {fault.version}{fault.where}"
        ends = f" ({entry.removed} does without)" if entry.removed else ""
        message = f"`{_short(found.name)}` needs `{entry.keywords[0]}` in {place}{ends}"
        return self.finding(entry, fault, message, found.span, [], operations)

    def _refused(self, entry: Entry, found: CallSite, fault: Fault, given: Mapping[str, Span]) -> Finding:
        first, *others = given.values()
        changes = [_argument_change(entry, found, keyword) for keyword in given]
        return self.finding(
            entry,
            fault,
            f"`{_short(found.name)}` {_refusal(entry, tuple(given), fault)}",
            first,
            [Related(span, "and this one") for span in others],
            [operation for change in changes for operation in change] if all(changes) else [],
        )

    def _given(self, entry: Entry, found: CallSite, mention: Mention) -> Iterator[tuple[str, Span]]:
        arguments = self.project.evaluator(None).keywords(found.site.call, found.file, found.site.function)
        for written in arguments.entries:
            if written.key in entry.keywords and written.certain:
                yield str(written.key), written.key_span
        if (
            entry.position is not None
            and not mention.skip
            and not mention.loose
            and not any(entry.keywords[0] == written.key for written in arguments.entries)
        ):
            expr, _ = find_argument(found.site.call, entry.keywords[0], entry.position)
            is_harmless = entry.alone and not self._has_text_behind(found)
            if expr is not None and not is_harmless and (entry.required or not entry.mapping):
                value = self.project.evaluator(None).ask(expr, found.file, found.site.function)
                if isinstance(value, Tree) or not entry.mapping:
                    yield entry.keywords[0], ir.unpack(expr.at, found.file)

    def _has_text_behind(self, found: CallSite) -> bool:
        behind = found.site.call.args[1:2]
        values = [self.project.evaluator(None).value(expr, found.file, found.site.function) for expr in behind]
        return any(isinstance(value.only, str) for value in values)

    def _surely_missing(self, entry: Entry, found: CallSite) -> bool:
        expr, certain = find_argument(found.site.call, entry.keywords[0], entry.position)
        return expr is None and certain

    def _is_own_option(self, parsed: Span, keyword: str) -> bool:
        """Whether a class of the project gives the parser that is made there an option of that name."""
        return any(
            option.dest == keyword and option.span != parsed
            for parser in parsers_of(self.project).all()
            if parser.span == parsed
            for option in parser.options
        )

    def _settings(self, entry: Entry) -> Iterator[Finding]:
        """The same keywords where a command line or a configuration file gives them."""
        for subject in self.context.subjects(entry.subject):
            for keyword in entry.keywords:
                setting = subject.settings.get(keyword)
                if setting is None or not setting.certain or setting.written or setting.key_span.file.endswith(".py"):
                    continue
                if self._is_own_option(subject.span, keyword):
                    continue
                use = Use(
                    keyword,
                    subject.span.file,
                    -1,
                    ir.pack(subject.span.line, subject.span.column, subject.span.end_line, subject.span.end_column),
                )
                fault = self.fault(entry, use, frozenset())
                if fault is not None:
                    message = f"`{_short(entry.names[0])}` {_refusal(entry, (keyword,), fault)}"
                    related = [Related(subject.span, "the arguments are read here")]
                    yield self.finding(
                        entry, fault, message, setting.key_span, related, _setting_change(entry, setting.key_span)
                    )


def _confidence(fault: Fault) -> Confidence:
    """Inside a function that only some users of an old release reach, a low bound may be meant as it is."""
    is_sure = fault.is_pinned and (fault.is_newest or fault.is_at_import)
    return Confidence.CERTAIN if is_sure else Confidence.LIKELY


def _most_specific(entries: list[Entry], name: str) -> int:
    fitting = [
        (len(known), -index) for index, entry in enumerate(entries) for known in entry.names if is_below(name, known)
    ]
    return -max(fitting)[1]


def _least_specific(entries: list[Entry], name: str) -> int:
    """The entry for the outermost module: one finding for its import and for all that is taken from it."""
    fitting = [
        (len(known), index) for index, entry in enumerate(entries) for known in entry.names if is_below(name, known)
    ]
    return min(fitting)[1]


def _errors(use: Use) -> frozenset[str]:
    """The exceptions by which a missing name shows."""
    return (
        frozenset({"ImportError", "ModuleNotFoundError"})
        if use.item is not None
        else frozenset({"AttributeError", "ImportError"})
    )


def _shown_as(use: Use, version: str, errors: frozenset[str]) -> frozenset[str]:
    """How a failure shows: a module that the release has gives no ``ModuleNotFoundError`` for a name that it lacks."""
    item = use.item
    if "ModuleNotFoundError" not in errors or item is None or not item.name:
        return errors
    from distlint.knowledge.api import api

    there = api().find_import(item.module, None, version).state == "present"
    return errors - {"ModuleNotFoundError"} if there else errors


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _bound(entry: Entry, fault: Fault) -> str:
    """The release that made the difference."""
    if entry.since and _order(fault.version) < _order(entry.since):
        return f"new in {entry.since}"
    return f"removed in {entry.removed}"


def _absence(entry: Entry, fault: Fault) -> str:
    place = f"{entry.package} {fault.version}{fault.where}"
    return (
        f"can't be imported in {place}"
        if fault.version in entry.broken
        else f"is not in {place} ({_bound(entry, fault)})"
    )


def _refusal(entry: Entry, keywords: Sequence[str], fault: Fault) -> str:
    words = ", ".join(f"`{keyword}`" for keyword in keywords)
    if entry.never:
        return f"takes no {words}"
    return f"takes no {words} in {entry.package} {fault.version}{fault.where} ({_bound(entry, fault)})"


def _moved(entry: Entry, use: Use) -> Iterator[Operation]:
    """The import from the new place; nothing for uses that no import statement can mend."""
    if entry.instead and use.item is not None and use.item.name:
        owner = next(name for name in entry.names if is_below(use.name, name))
        yield Operation("replace-import", use.span, {"to": entry.instead + use.name[len(owner) :]})


def _argument_change(entry: Entry, found: CallSite, keyword: str) -> list[Operation]:
    if not any(given.name == keyword for given in found.site.call.keywords):
        return []
    if entry.instead:
        if any(given.name == entry.instead for given in found.site.call.keywords):
            return []
        return [Operation("rename-argument", found.span, {"name": keyword, "to": entry.instead})]
    return [Operation("remove-argument", found.span, {"name": keyword})] if entry.drop else []


def _supplied(entry: Entry, found: CallSite) -> list[Operation]:
    arguments = {"name": entry.keywords[0], "text": entry.supply}
    return [Operation("set-argument", found.span, arguments)] if entry.supply else []


def _setting_change(entry: Entry, key: Span) -> list[Operation]:
    if not entry.instead:
        return []
    if key.file.endswith((".yaml", ".yml", ".json")):
        return [Operation("rename-key", key, {"to": entry.instead})]
    return [Operation("rename-option", key, {"to": f"--{entry.instead}"})]
