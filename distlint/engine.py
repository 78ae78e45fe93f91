"""The whole way from a folder to a report: discover, read, link, judge.

Every face of distlint (command line, language server, Python) calls ``analyse``; nothing else knows the order of the
steps.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from distlint.discover.reading import read_one
from distlint.discover.triage import Triage
from distlint.discover.walk import Discovery, discover, sources_of
from distlint.facts_cache import FactsCache
from distlint.model.facts import FileFacts
from distlint.model.finding import Finding, Note, ProjectError
from distlint.model.record import dataclass
from distlint.model.report import Report
from distlint.model.source import DecodingError, Source, SourceKind, decode
from distlint.read.reader import read_source

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.settings import Settings

Progress = Callable[[str, int, int], None]
"""Called with the step's name, how much is done, and how much there is."""

MAX_FRAMES = 4000
"""How deep calls may nest: a question about a value of a large program leads through some hundred steps of several calls."""

PARALLEL_FROM = 150
"""With fewer files to read, starting worker processes costs more than it gains."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to analyse and how.

    ``paths`` are files or folders of one project; its root is ``settings.root``. The whole project is read, as faults
    lie between files; findings are those that touch the paths. ``overlays`` are texts that stand for files (an editor's
    buffers), by path from the root. ``jobs`` is the number of processes, ``None`` to choose.
    """

    paths: tuple[Path, ...]
    settings: Settings
    jobs: int | None = None
    use_cache: bool = True
    overlays: Mapping[str, str] = field(default_factory=dict)
    progress: Progress | None = None
    judged: bool = True
    """Whether rules are applied; without them the report holds the linked project only."""


def analyse(request: Request) -> Report:
    """Analyses a project and judges it by all rules that the settings select.

    Raises what is wrong with the settings or the rule files; everything else is in the report.
    """
    # Facts are millions of small objects in no cycles: the collector would walk them again and again for nothing.
    enabled, frames = gc.isenabled(), sys.getrecursionlimit()
    gc.disable()
    sys.setrecursionlimit(max(frames, MAX_FRAMES))
    try:
        return _Analysis(request).run()
    finally:
        sys.setrecursionlimit(frames)
        if enabled:
            gc.enable()


def discover_files(request: Request) -> list[tuple[str, SourceKind | None, str]]:
    """Every file that was looked at, with its kind and why it is read or not."""
    analysis = _Analysis(request)
    return analysis.discover(explain=True).decisions


class _Analysis:
    def __init__(self, request: Request) -> None:
        from distlint.frameworks import specs

        self._request = request
        self._settings = request.settings
        self._root = str(request.settings.root)
        self._specs = specs()
        self._scopes = [_scope(path, self._root) for path in request.paths]
        self._sources: dict[str, Source] = {}
        self._late: dict[str, FileFacts] = {}
        self._texts: dict[str, Source | None] = {}
        self._decoded: dict[str, str] = {}
        self._discovery = Discovery()

    def run(self) -> Report:
        from distlint.link.project import Project
        from distlint.rehearsal.witnesses import second_opinion

        self._discovery = self.discover()
        facts = self._read()
        project = Project(
            facts,
            self._discovery.paths | set(self._request.overlays),
            self._specs,
            self._read_more,
            self._text,
            self._settings.pins,
            self._settings.world_size,
            self._settings.gpu_memory,
            self._settings.gpus_per_node,
            self._installed(),
        )
        project.second_opinion = second_opinion
        self._progress("judging", 0, 1)
        return self._judge(project) if self._request.judged else self._unjudged(project)

    def _installed(self) -> dict[str, str]:
        """The packages of the environment that the settings name; raises ``SettingsError`` if it is none."""
        path = self._settings.installed
        if path is None:
            return {}
        from distlint.read.installed import NoEnvironmentError, read_installed
        from distlint.settings import SettingsError

        try:
            return read_installed(path)
        except NoEnvironmentError as error:
            where = self._settings.origin("installed")
            raise SettingsError("--installed" if where in ("", "command line") else where, str(error)) from None

    def _unjudged(self, project: Project) -> Report:
        """The linked project without any findings."""
        facts = {**self._late, **project.facts}
        errors = {*self._discovery.errors, *_reading_errors(facts)}
        return Report(
            root=self._root,
            findings=(),
            rules={},
            text=self._text,
            errors=tuple(sorted(errors, key=lambda error: (error.file, error.line, error.message))),
            project=project,
            frameworks=self._frameworks_present(),
            scopes=tuple(self._scopes),
        )

    def discover(self, *, explain: bool = False) -> Discovery:
        """The files of the project that matter, with the overlays in place of what is on disk."""
        self._progress("looking for files", 0, 1)
        overlays = dict(self._request.overlays)
        found = discover(
            self._root,
            Triage(self._specs),
            exclude=[(pattern.folder, pattern.pattern) for pattern in self._settings.exclude],
            explain=explain,
            named=self._scopes,
            starts=self._starts(),
        )
        overlaid = list(sources_of(overlays))
        kept = [source for source in found.sources if source.path not in overlays]
        found.sources = sorted([*kept, *overlaid], key=lambda source: source.path)
        found.errors = [error for error in found.errors if error.file not in overlays]
        found.errors += [
            ProjectError(path, "is no kind of file that distlint reads")
            for path in sorted(overlays.keys() - {source.path for source in overlaid})
            if path in self._scopes
        ]
        return found

    def _starts(self) -> tuple[str, ...]:
        """The folders to walk: the root; but each project, where the paths lie in several unrelated ones."""
        if (
            len(self._scopes) < 2
            or self._settings.file is not None
            or os.path.lexists(os.path.join(self._root, ".git"))
        ):
            return ("",)
        from distlint.settings import find_root

        paths = (path if path.is_dir() else path.parent for path in self._request.paths)
        return tuple(sorted({_scope(find_root(path), self._root) for path in paths}))

    # Reading -----------------------------------------------------------------------------------------------------

    def _read(self) -> dict[str, FileFacts]:
        sources = self._discovery.sources
        self._sources = {source.path: source for source in sources}
        cache = FactsCache(self._root) if self._request.use_cache else None
        facts: dict[str, FileFacts] = {}
        missing: list[Source] = []
        for source in sources:
            cached = cache.get(source) if cache is not None else None
            if cached is not None:
                facts[source.path] = cached
            else:
                missing.append(source)
        fresh = self._read_all(missing)
        for source, one in zip(missing, fresh, strict=True):
            facts[source.path] = one
            if cache is not None:
                cache.put(source, one)
        if cache is not None:
            cache.close()
        return dict(sorted(facts.items()))

    def _read_all(self, sources: list[Source]) -> list[FileFacts]:
        jobs = self._request.jobs or (min(os.cpu_count() or 1, 4) if len(sources) >= PARALLEL_FROM else 1)
        if jobs > 1 and len(sources) > 1:
            from distlint.workers import read_in_processes

            return read_in_processes(sources, jobs, self._progress)
        facts = []
        for index, source in enumerate(sources):
            self._progress("reading", index, len(sources))
            facts.append(read_source(source))
        return facts

    def _read_more(self, path: str, kind: SourceKind | None = None) -> FileFacts | None:
        source = read_one(self._root, path, kind)
        if source is None:
            return None
        self._sources[path] = source
        self._late[path] = read_source(source)
        return self._late[path]

    # Judging -----------------------------------------------------------------------------------------------------

    def _judge(self, project: Project) -> Report:
        from distlint.frameworks import subject_kinds
        from distlint.frameworks.unlaunched import is_left_out, tempered
        from distlint.judge.judge import judge
        from distlint.judge.rulebook import Rulebook

        rulebook = Rulebook.load(self._settings.rule_folders, installed=self._settings.installed_rules)
        present = self._frameworks_present()
        judgement = judge(project, rulebook, self._settings, subject_kinds(present).values(), present)
        own: list[ProjectError] = []
        rules = {rule.code: rule for rule in rulebook.for_frameworks(present)}
        packages = {spec.name: spec.packages for spec in self._specs}
        findings = (
            tempered(project, one)
            for one in judgement.findings
            if self._in_scope(one) and not is_left_out(project, one, packages.get(rules[one.code].framework, ()))
        )
        statistics = {
            "files": len(self._discovery.paths),
            "launches": _counted(lambda: project.launches, "launches", own),
            "runs": _counted(lambda: project.runs, "runs", own),
        }
        facts = {**self._late, **project.facts}
        errors = {*self._discovery.errors, *_reading_errors(facts), *judgement.errors, *own}
        return Report(
            root=self._root,
            findings=tuple(findings),
            rules=rules,
            text=self._text,
            suppressed=tuple(one for one in judgement.suppressed if self._in_scope(one.finding)),
            errors=tuple(sorted(errors, key=lambda error: (error.file, error.line, error.message))),
            notes=tuple(sorted([*self._discovery.notes, *project.notes, *judgement.notes], key=_note_key)),
            statistics={**statistics, "files_read": len(facts)},
            project=project,
            frameworks=present,
            scopes=tuple(self._scopes),
        )

    def _frameworks_present(self) -> frozenset[str]:
        """The frameworks that some file of the project names."""
        present = set()
        for spec in self._specs:
            words = [*spec.literals, *spec.config_keys, *(p.encode() for p in spec.packages)]
            words += [
                command[0].encode()
                for launcher in spec.launchers
                for command in launcher.commands
                if command[0] != "python"
            ]
            if any(word in source.data for source in self._sources.values() for word in words):
                present.add(spec.name)
        return frozenset(present)

    def _in_scope(self, finding: Finding) -> bool:
        """Whether a finding touches one of the paths that were asked for."""
        if not self._scopes or "" in self._scopes:
            return True
        places = [finding.span, *(related.span for related in finding.related)]
        return any(
            place.file == scope or place.file.startswith(scope + "/") for place in places for scope in self._scopes
        )

    def _text(self, path: str) -> str:
        """The text of a file as it was analysed."""
        overlay = self._request.overlays.get(path)
        if overlay is not None:
            return overlay
        if path in self._decoded:
            return self._decoded[path]
        text = self._text_anew(path)
        if path in self._sources:
            self._decoded[path] = text
        return text

    def _text_anew(self, path: str) -> str:
        source = self._sources.get(path) or self._texts.get(path)
        if source is None:
            source = read_one(self._root, path, SourceKind.HOSTFILE) if path in self._discovery.paths else None
            self._texts[path] = source
        if source is None:
            return ""
        try:
            return decode(source.data, source.kind)
        except DecodingError:
            return ""

    def _progress(self, step: str, done: int, total: int) -> None:
        if self._request.progress is not None:
            self._request.progress(step, done, total)


def _scope(path: Path, root: str) -> str:
    """A path as it stands in spans: relative to the root, ``""`` for the root or for what holds it.

    A link to a file stays the link, since that is what was named.
    """
    full = os.path.realpath(path)
    if not os.path.isdir(full):
        full = os.path.join(os.path.realpath(path.parent), path.name)
    relative = os.path.relpath(full, os.path.realpath(root)).replace(os.sep, "/")
    return "" if relative in (".", "..") or relative.startswith("../") else relative


def _reading_errors(facts: Mapping[str, FileFacts]) -> Iterator[ProjectError]:
    for path, one in facts.items():
        for error in one.errors:
            yield ProjectError(path, error.message, error.span.line, error.internal)


def _counted(things: Callable[[], Sized], what: str, errors: list[ProjectError]) -> int:
    """How many there are; a failure of ours to find them is one more error, and the findings so far stay."""
    try:
        return len(things())
    except Exception as error:
        message = f"the {what} could not be found: {type(error).__name__}: {error}"
        errors.append(ProjectError("", message, internal=True))
        return 0


def _note_key(note: Note) -> tuple[object, ...]:
    return (*note.span, note.message)
