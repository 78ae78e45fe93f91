"""What is wrong with the mentions of covered libraries in a project, by the table of released APIs.

Found once for a project, whatever rules ask: a rule then takes those of its packages and of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distlint.checks.released_versions import Allowed, AllowedReleases, Candidate
from distlint.frameworks.general import called_name
from distlint.frameworks.reaching import runs_through
from distlint.frameworks.witnessed import witnessed_calls, witnessed_names
from distlint.knowledge.api import Api, Found, Symbol, api
from distlint.link.library_mentions import Mention
from distlint.link.library_scopes import Meaning
from distlint.link.library_uses import is_below
from distlint.link.project import CallSite
from distlint.link.stored_keywords import handed_keywords
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Run
    from distlint.model.span import Span
    from distlint.rehearsal.witness import SeenCall

MAX_RUNS = 5
"""Runs that are asked for what a call gets by ``**``."""

_NO_MODULE = frozenset({"ImportError", "ModuleNotFoundError"})
_NO_NAME = frozenset({"ImportError"})
_NO_ATTRIBUTE = frozenset({"AttributeError"})
_REFUSED = frozenset({"TypeError"})
_NOTHING_RAISED: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Fault:
    """One mention that a release in use does not serve.

    ``kind`` is ``name`` (absent), ``module`` (called, and only a module of that name is left), ``argument`` (not taken),
    ``missing`` (an argument that has to be given), ``crowded`` (too many positional arguments), ``deprecated`` or
    ``deprecated-argument``. Where no release serves the call, so that it is no matter of versions, these are ``foreign`` (an argument),
    ``wanting`` and ``surplus``. ``subject`` is the absent prefix of ``name``, the callable or the deprecated name; ``argument``
    the parameter. ``text`` is a deprecation message, or says what is with the releases in ``others`` where that is not the usual.
    """

    kind: str
    mention: Mention
    allowed: Allowed
    candidate: Candidate
    name: str
    subject: str
    argument: str = ""
    place: Span | None = None
    others: tuple[tuple[str, str], ...] = ()
    text: str = ""
    since: str = ""

    @property
    def package(self) -> str:
        """The package whose release it is about."""
        return self.allowed.package

    @property
    def release(self) -> str:
        """The release of the table that stands for the one in use."""
        return self.candidate.stands[-1]

    @property
    def span(self) -> Span:
        """Where the user should look."""
        return self.place or self.mention.span


def faults_of(project: Project) -> Faults:
    """The faults of a project; the same object for all rules."""
    if Faults not in project.kept:
        project.kept[Faults] = Faults(project, api())
    found: Faults = project.kept[Faults]
    return found


class Faults:
    """The mentions of a project, judged release by release."""

    def __init__(self, project: Project, table: Api) -> None:
        self.project = project
        self.table = table
        self.packages = {top: package for package in table.packages for top in table.tops(package)}
        self.mentions = project.library_mentions
        self.releases = AllowedReleases(project, table)
        self._found: dict[tuple[str, str, str], Found] = {}
        self._faults: tuple[Fault, ...] | None = None

    def all(self) -> tuple[Fault, ...]:
        """Every fault, by file and place."""
        if self._faults is None:
            told = [*self.mentions.all(), *self._chosen()]
            found = (fault for mention in (*told, *self._seen(told)) for fault in self._of(mention))
            self._faults = tuple(fault for fault in found if self._holds(fault))
        return self._faults

    def _chosen(self) -> Iterator[Mention]:
        """The calls of what a table or a module holds under a name (``SCHEDULES[name](...)``), in the runs that decide which it is."""
        for found in self.project.table_calls.of_libraries():
            runs: list[Run | None] = list(self.project.runs_reaching(found.file)) or [None]
            for run in runs:
                name = called_name(self.project, found, run)
                if name.partition(".")[0] in self.packages:
                    site, meaning = found.site, Meaning(name, found.file, found.site.call.at)
                    yield Mention(
                        "call",
                        (meaning,),
                        found.file,
                        site.call.at,
                        site.function,
                        call=site.call,
                        indirect=True,
                        looked_up=True,
                        run=run,
                    )

    def _seen(self, told: list[Mention]) -> Iterator[Mention]:
        """What runs were seen to call, to ask for and to import where the text does not say what that is."""
        places = {(mention.file, mention.at) for mention in told}
        for asked, run in witnessed_names(self.project):
            place = (asked.file, asked.at)
            if place not in places and asked.name.partition(".")[0] in self.packages:
                kind, module = ("import", asked.name) if asked.is_import else ("name", "")
                meaning = Meaning(asked.name, *place)
                yield Mention(kind, (meaning,), *place, asked.function, module=module, indirect=True, run=run)
        for found, run, seen in witnessed_calls(self.project, None, ()):
            place = (found.file, found.site.call.at)
            if place in places or not _is_as_written(seen) or seen.name.partition(".")[0] not in self.packages:
                continue
            made, _, method = seen.name.partition("().")
            func = seen.call.func
            # a method that is called by its name is judged by who knows the object: here only whether there is such a one
            is_named = bool(method) and type(func) is ir.Attribute and func.name == method
            written = {one.name for one in seen.call.keywords}
            yield Mention(
                "name" if is_named else "call",
                (Meaning(f"{made}.{method}" if method else made, *place),),
                *place,
                found.site.function,
                call=None if is_named else seen.call,
                member=bool(method),
                indirect=True,
                looked_up=True,
                run=run,
                spread=tuple(one for one, _ in seen.keywords if one not in written),
            )

    def _holds(self, fault: Fault) -> bool:
        """Whether nothing of the project, and no class below a declared one, brings what is missing."""
        if self.mentions.scopes.is_replaced(fault.name):
            return False
        if not fault.mention.declared or fault.kind in ("deprecated", "deprecated-argument"):
            return True
        owner, _, member = fault.mention.name.rpartition(".")
        return not self.table.derived_with(owner, member, fault.release, fault.argument or None)

    def calls(self) -> Iterator[Mention]:
        """Every call of something of a covered library."""
        yield from (mention for mention in self.mentions.all() if mention.kind == "call")

    @cached_property
    def used_packages(self) -> frozenset[str]:
        """The packages that some file of the project mentions."""
        tops = {mention.name.partition(".")[0] for mention in self.mentions.all()}
        return frozenset(self.packages[top] for top in tops if top in self.packages)

    def _of(self, mention: Mention) -> Iterator[Fault]:
        package = self.packages.get(mention.name.partition(".")[0])
        allowed = self.releases.of(package, mention.file) if package else None
        if allowed is None or not allowed.candidates:
            return
        if mention.kind == "call":
            yield from self._call(mention, allowed)
            if mention.looked_up:
                yield from self._name(mention, allowed)
        elif len(mention.meanings) == 1:
            yield from self._name(mention, allowed)
            yield from self._deprecated_name(mention, allowed)

    # Releases ----------------------------------------------------------------------------------------------------

    def reached(self, mention: Mention, package: str, version: str, errors: frozenset[str]) -> bool:
        """Whether a release surely gets to a place, and a failure there is not caught."""
        return self.project.reach(package).reached(mention.file, mention.at, version, errors) is True

    def find(self, mention: Mention, version: str, name: str = "") -> Found:
        """What the table says of a mention, or of another name at its place, in a release."""
        name = name or mention.name
        module = mention.module if mention.kind == "import" and name == mention.name else ""
        key = (name, module, version)
        if key not in self._found:
            if not module:
                self._found[key] = self.table.find(name, version)
            elif name == module:
                self._found[key] = self.table.find_import(module, None, version)
            else:
                self._found[key] = self.table.find_import(module, name[len(module) + 1 :], version)
        return self._found[key]

    def first(
        self, mention: Mention, allowed: Allowed, lacks: Callable[[str], Any], errors: Callable[[Any], frozenset[str]]
    ) -> tuple[Candidate, Any] | None:
        """The newest allowed release for which ``lacks`` says what is wrong and which reaches the place.

        Most names are in both the newest and the oldest release that is allowed, and so in all.
        """
        if not any(self._wrong(candidate, lacks) for candidate in allowed.ends):
            return None
        for candidate in allowed.candidates:
            wrong = self._wrong(candidate, lacks)
            if wrong and self.reached(mention, allowed.package, candidate.version, errors(wrong)):
                return candidate, wrong
        return None

    def _wrong(self, candidate: Candidate, lacks: Callable[[str], Any]) -> Any:
        found = [lacks(version) for version in candidate.stands]
        return found[-1] if all(found) else None

    # Names -------------------------------------------------------------------------------------------------------

    def _name(self, mention: Mention, allowed: Allowed) -> Iterator[Fault]:
        def lacks(version: str) -> Found | None:
            found = self.find(mention, version)
            # Where the import fails already, it is to blame, and of an object whose class is absent nothing is known.
            by_import = mention.kind == "name" and is_below(mention.meanings[0].root, found.missing)
            by_import = by_import or (mention.declared and found.missing != mention.name)
            return found if found.state == "absent" and not by_import else None

        def errors(found: Found) -> frozenset[str]:
            if mention.kind != "import":
                return _NO_ATTRIBUTE
            is_module = mention.module == found.missing or mention.module.startswith(found.missing + ".")
            return _NO_MODULE if is_module else _NO_NAME

        if mention.meanings[0].star and not self._is_exported(mention, allowed):
            return
        first = self.first(mention, allowed, lacks, errors)
        if first is not None:
            candidate, found = first
            yield Fault("name", mention, allowed, candidate, mention.name, found.missing, others=found.others)

    def _is_exported(self, mention: Mention, allowed: Allowed) -> bool:
        """Whether a name that may come by ``from module import *`` is known of that module at all."""
        return bool(self.table.history(mention.name))

    def _deprecated_name(self, mention: Mention, allowed: Allowed) -> Iterator[Fault]:
        newest = allowed.candidates[0]
        if not newest.is_newest:
            return
        symbols = [self.find(mention, version).symbol for version in newest.stands]
        if not all(symbol is not None and symbol.deprecated for symbol in symbols):
            return
        if not self.reached(mention, allowed.package, newest.version, _NOTHING_RAISED):
            return
        symbol = symbols[-1]
        assert symbol is not None  # noqa: S101 - tested above
        since = self.table.deprecated_since(mention.name, newest.stands[-1])
        yield Fault(
            "deprecated", mention, allowed, newest, mention.name, mention.name, text=symbol.deprecated, since=since
        )

    # Calls -------------------------------------------------------------------------------------------------------

    def callee(self, mention: Mention, version: str) -> Symbol | None:
        """The function or class that a call reaches in a release, where that is one thing.

        Of alternatives (an import in a ``try`` and in its handler) those count that the release has.
        """
        found = [self.find(mention, version, meaning.name) for meaning in mention.meanings]
        if any(one.state == "unknown" for one in found):
            return None
        present = [one.symbol for one in found if one.state == "present"]
        return present[0] if len(present) == 1 else None

    def _call(self, mention: Mention, allowed: Allowed) -> Iterator[Fault]:
        assert mention.call is not None  # noqa: S101 - a call has one
        yield from self._called_module(mention, allowed)
        given, runs = self._keywords(mention)
        for keyword, place in given.items():
            yield from self._keyword(mention._replace(run=runs.get(keyword, mention.run)), allowed, keyword, place)
        if any(self._looks_wrong(mention, candidate, given) for candidate in allowed.ends):
            yield from self._arity(mention, allowed, given)

    def _called_module(self, mention: Mention, allowed: Allowed) -> Iterator[Fault]:
        """A call of what is a module in a release, where another release has a function or class of that name."""

        def lacks(version: str) -> Symbol | None:
            symbol = self.callee(mention, version)
            return symbol if symbol is not None and symbol.kind == "module" else None

        first = self.first(mention, allowed, lacks, lambda _: _REFUSED)
        if first is None:
            return
        candidate, _ = first
        name = self._name_in(mention, candidate.stands[-1])
        others = self._stretches(allowed.package, name, lambda version: self._is_callable(name, version))
        if others:
            yield Fault("module", mention, allowed, candidate, name, name, others=others, text="have one to call")

    def _is_callable(self, name: str, version: str) -> bool:
        symbol = self.table.find(name, version).symbol
        return symbol is not None and symbol.kind in ("function", "class")

    def _keywords(self, mention: Mention) -> tuple[dict[str, Span], dict[str, Run]]:
        """The keywords that a call surely gives, with their places, and the runs that spread some of them out."""
        call = mention.call
        assert call is not None  # noqa: S101 - a call has one
        given = {
            keyword.name: ir.unpack(keyword.at, mention.file)
            for keyword in call.keywords
            if keyword.name is not None and keyword.name not in mention.own_fields
        }
        handed = None
        runs: dict[str, Run] = {}
        if not mention.looked_up:
            handed = handed_keywords(self.project.module(mention.file), mention.function, call)
        if handed is None and any(keyword.name is None for keyword in call.keywords):
            for run in self._runs(mention, call):
                known = self.project.evaluator(run).keywords(call, mention.file, mention.function)
                for entry in known.entries:
                    if entry.certain and isinstance(entry.key, str) and entry.key not in {*mention.own_fields, *given}:
                        given[entry.key] = entry.key_span
                        runs |= {entry.key: run} if run is not None else {}
        for name, place in (handed or {}).items():
            given.setdefault(name, ir.unpack(place, mention.file))
        for name in mention.spread:
            given.setdefault(name, mention.span)
        return given, runs

    def _runs(self, mention: Mention, call: ir.Call) -> list[Run | None]:
        """The run that a mention is about, or what holds for all, and the runs that come to a call."""
        if mention.run is not None:
            return [mention.run]
        found = CallSite(mention.file, ir.Site(call, mention.function), mention.name)
        return [None, *(run for run in runs_through(self.project, found) if run is not None)][:MAX_RUNS]

    def _keyword(self, mention: Mention, allowed: Allowed, keyword: str, place: Span) -> Iterator[Fault]:
        def lacks(version: str) -> Symbol | None:
            symbol = self.callee(mention, version)
            return symbol if symbol is not None and symbol.accepts(keyword) is False else None

        first = self.first(mention, allowed, lacks, lambda _: _REFUSED)
        if first is not None:
            candidate, _ = first
            name = self._name_in(mention, candidate.stands[-1])
            others = self.table.history(name, keyword)
            kind = "argument" if others else "foreign"
            yield Fault(kind, mention, allowed, candidate, name, name, keyword, place, others)
            return
        yield from self._lent(mention, allowed, keyword, place)
        newest = allowed.candidates[0]
        if not newest.is_newest:
            return
        symbols = [self.callee(mention, version) for version in newest.stands]
        texts = [symbol.deprecated_parameters.get(keyword, "") if symbol is not None else "" for symbol in symbols]
        if all(texts) and self.reached(mention, allowed.package, newest.version, _NOTHING_RAISED):
            name = self._name_in(mention, newest.stands[-1])
            since = self.table.deprecated_since(name, newest.stands[-1], keyword)
            yield Fault(
                "deprecated-argument", mention, allowed, newest, name, name, keyword, place, text=texts[-1], since=since
            )

    def _lent(self, mention: Mention, allowed: Allowed, keyword: str, place: Span) -> Iterator[Fault]:
        """A field that a dataclass has of a base from another package, whose pinned releases decide."""
        release = allowed.candidates[0].stands[-1]
        lender = self.table.lender(self._name_in(mention, release), keyword, release)
        package = self.packages.get(lender.partition(".")[0])
        if package is not None:
            theirs = self.releases.of(package, mention.file)
            if theirs.is_pinned and theirs.candidates:
                meaning = mention.meanings[0]._replace(name=lender)
                lent = mention._replace(meanings=(meaning,), indirect=True, lent=True)
                yield from self._keyword(lent, theirs, keyword, place)

    def _name_in(self, mention: Mention, version: str) -> str:
        """The name of the callee among the alternatives."""
        for meaning in mention.meanings:
            if self.find(mention, version, meaning.name).state == "present":
                return meaning.name
        return mention.name

    # Number of arguments -----------------------------------------------------------------------------------------

    def _looks_wrong(self, mention: Mention, candidate: Candidate, given: dict[str, Span]) -> bool:
        return any(
            self._surplus(mention, version) or self._wanting(mention, version, given) for version in candidate.stands
        )

    def _positional(self, mention: Mention, version: str) -> int | None:
        """How many arguments a call gives by position; ``None`` where ``*`` may bring more or fewer."""
        call = mention.call
        assert call is not None  # noqa: S101 - a call has one
        if mention.loose or any(type(argument) is ir.Starred for argument in call.args):
            return None
        if not mention.member and not mention.skip and self._is_member(mention, version):
            return None
        return len(call.args) - mention.skip + mention.shift

    def _is_member(self, mention: Mention, version: str) -> bool:
        """Whether a function is reached through its class, so that its object may be among the arguments."""
        symbol = self.find(mention, version, mention.name.rpartition(".")[0]).symbol
        return symbol is not None and symbol.kind == "class"

    def _surplus(self, mention: Mention, version: str) -> bool:
        """Whether a release takes fewer arguments by position than are given."""
        count = self._positional(mention, version)
        most = _most_positional(self.callee(mention, version))
        return count is not None and most is not None and count > most

    def _wanting(self, mention: Mention, version: str, given: dict[str, Span]) -> str:
        """The first parameter that a release wants and the call does not give, or ``""``."""
        count = self._positional(mention, version)
        call = mention.call
        symbol = self.callee(mention, version)
        if not mention.whole or count is None or call is None or symbol is None:
            return ""
        if any(keyword.name is None for keyword in call.keywords):
            return ""
        wanted = [_wanted(one, count, given) for one in symbol.alternatives or (symbol,)]
        return wanted[0] if all(wanted) else ""

    def _arity(self, mention: Mention, allowed: Allowed, given: dict[str, Span]) -> Iterator[Fault]:
        crowded = self.first(mention, allowed, lambda version: self._surplus(mention, version), lambda _: _REFUSED)
        if crowded is not None:
            name = self._name_in(mention, crowded[0].stands[-1])
            others = self._releases_where(mention, name, lambda version: not self._surplus(mention, version))
            yield Fault("crowded" if others else "surplus", mention, allowed, crowded[0], name, name, others=others)
        missing = self.first(
            mention, allowed, lambda version: self._wanting(mention, version, given), lambda _: _REFUSED
        )
        if missing is not None:
            candidate, wanted = missing
            name = self._name_in(mention, candidate.stands[-1])
            others = self._releases_where(mention, name, lambda version: not self._wanting(mention, version, given))
            # Where no release takes the call as it is, what it lacks here may be what others do without.
            how = "" if others else "do without"
            others = others or self._releases_without(mention, name, wanted)
            kind = "missing" if others else "wanting"
            yield Fault(kind, mention, allowed, candidate, name, name, wanted, others=others, text=how)

    def _releases_without(self, mention: Mention, name: str, wanted: str) -> tuple[tuple[str, str], ...]:
        """The stretches of releases in which an argument need not be given, or there is none of that name."""
        package = self.packages[name.partition(".")[0]]

        def does_without(version: str) -> bool:
            symbol = self.table.find(name, version).symbol
            found = symbol.parameter(wanted) if symbol is not None else None
            return found is None or found.default is not None

        return self._stretches(package, name, does_without)

    def _releases_where(self, mention: Mention, name: str, holds: Callable[[str], bool]) -> tuple[tuple[str, str], ...]:
        """The stretches of releases that take the call as it is: only then is it a matter of versions."""
        return self._stretches(self.packages[name.partition(".")[0]], name, holds)

    def _stretches(self, package: str, name: str, holds: Callable[[str], bool]) -> tuple[tuple[str, str], ...]:
        stretches: list[tuple[str, str]] = []
        open_since = last = ""
        for version in self.table.releases(package):
            symbol = self.table.find(name, version).symbol
            fits = symbol is not None and symbol.parameters is not None and holds(version)
            if fits:
                open_since, last = open_since or version, version
            elif open_since:
                stretches.append((open_since, last))
                open_since = ""
        if open_since:
            stretches.append((open_since, last))
        return tuple(stretches)


def _most_positional(symbol: Symbol | None) -> int | None:
    """The largest number of positional arguments that any definition takes; ``None`` if that is not known."""
    if symbol is None:
        return None
    counts = []
    for one in symbol.alternatives or (symbol,):
        if one.parameters is None or any(parameter.kind == "var-positional" for parameter in one.parameters):
            return None
        counts.append(sum(parameter.kind in ("positional", "normal") for parameter in one.parameters))
    return max(counts)


def _wanted(symbol: Symbol, count: int, given: dict[str, Span]) -> str:
    if symbol.parameters is None:
        return ""
    position = 0
    for parameter in symbol.parameters:
        if parameter.kind in ("positional", "normal"):
            position += 1
            if position <= count:
                continue
        if parameter.kind in ("var-positional", "var-keyword") or parameter.default is not None:
            continue
        if parameter.name not in given:
            return parameter.name
    return ""


def _is_as_written(seen: SeenCall) -> bool:
    """Whether a call got no other arguments than those that stand in it (those of a ``partial`` stand elsewhere)."""
    spread = any(type(one) is ir.Starred for one in seen.call.args)
    return not seen.places and (spread or len(seen.positional) == len(seen.call.args))
