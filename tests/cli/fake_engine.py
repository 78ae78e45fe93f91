"""An engine that finds the word BAD in files, so that commands can be tested without rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
from report_sample import RULES

from distlint.model.finding import Finding, FixPlan, Note, Operation, ProjectError, Safety, Severity
from distlint.model.report import Report
from distlint.model.source import SourceKind
from distlint.model.span import LineIndex, whole_line
from distlint.model.value import Confidence
from distlint.settings import Settings

WORDS = {
    "BAD": ("DS103", Severity.ERROR, Safety.SAFE),
    "SLOW": ("DS201", Severity.WARNING, Safety.UNSAFE),
    "HM": ("RUN101", Severity.NOTE, Safety.SUGGESTION),
}


@dataclass(frozen=True)
class Request:
    paths: tuple[Path, ...]
    settings: Settings
    jobs: int | None = None
    use_cache: bool = True
    overlays: Mapping[str, str] = field(default_factory=dict)
    progress: Callable[[str, int, int], None] | None = None


def analyse(request: Request) -> Report:
    root = request.settings.root
    texts = _texts(request) | dict(request.overlays)
    findings = [
        finding
        for file in sorted(texts)
        for finding in _findings(file, texts[file])
        if finding.confidence >= request.settings.min_confidence
    ]
    errors = [ProjectError(file, "rule DS999 failed", internal=True) for file in texts if "CRASH" in texts[file]]
    errors += [ProjectError(file, "is not UTF-8 text") for file in texts if "MOJIBAKE" in texts[file]]
    graph = nx.DiGraph()
    for file in sorted(texts):
        graph.add_node(file, kind="source", label=file, file=file, line=1)
    return Report(
        root=str(root),
        findings=tuple(findings),
        rules=RULES,
        text=texts.__getitem__,
        errors=tuple(errors),
        notes=tuple(Note(whole_line(file), "looks irrelevant") for file in texts if not texts[file]),
        statistics={"files": 9, "files_read": len(texts)},
        project=SimpleNamespace(graph=graph),
    )


def discover_files(request: Request) -> list[tuple[str, SourceKind | None, str]]:
    return [(file, SourceKind.PYTHON if file.endswith(".py") else None, "because") for file in _texts(request)]


def _texts(request: Request) -> dict[str, str]:
    root = request.settings.root
    files = [file for path in request.paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return {
        file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
        for file in files
        if file.is_file() and file.suffix in (".py", ".sh")
    }


def _findings(file: str, text: str) -> Iterator[Finding]:
    for word, (code, severity, safety) in WORDS.items():
        start = text.find(word)
        if start >= 0:
            span = LineIndex(text).span(file, start, start + len(word))
            plan = FixPlan("replace it", safety, (Operation("replace", span, {"text": "good"}),))
            yield Finding(code, f"`{word}` is here", span, severity, Confidence.LIKELY, plan=plan)
