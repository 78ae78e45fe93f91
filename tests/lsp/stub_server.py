"""A language server over a toy engine: every word ``bad`` is a finding, related to the first line of ``other.json``."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from distlint.lsp.actions import Remedies
from distlint.lsp.handlers import Engine
from distlint.lsp.server import serve
from distlint.model.finding import Edit, Finding, Fix, FixPlan, ProjectError, Related, Safety, Severity
from distlint.model.report import Report
from distlint.model.span import LineIndex, Span
from distlint.model.value import Confidence

WORDS = {"bad": Safety.SAFE, "worse": Safety.UNSAFE}


def analyse(root: Path, overlays: Mapping[Path, str]) -> Report:
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}
    texts.update({path.relative_to(root).as_posix(): text for path, text in overlays.items()})
    print("the engine prints something")  # noqa: T201 - to see that it does not reach the editor
    if any("crash" in text for text in texts.values()):
        raise RuntimeError("the engine broke")
    if any("sleep" in text for text in texts.values()):
        time.sleep(1)
    findings = []
    for file, text in sorted(texts.items()):
        index = LineIndex(text)
        matches = re.finditer(r"\b(bad|worse)\b", text)
        findings += [finding(match.group(), index.span(file, *match.span())) for match in matches]
    errors = tuple(ProjectError(file, "is odd") for file, text in sorted(texts.items()) if "odd" in text)
    return Report(str(root), tuple(findings), {}, texts.__getitem__, errors=errors)


def finding(word: str, span: Span) -> Finding:
    related = (Related(Span("other.json", 1, 1, 1, 4), "because of this"),)
    plan = FixPlan(f"Replace {word}", WORDS[word], ())
    return Finding(
        "XX101",
        f"`{word}` is wrong",
        span,
        Severity.ERROR,
        Confidence.CERTAIN,
        related,
        "it crashes",
        plan,
        symbol=word,
    )


def fix(report: Report, finding: Finding) -> Fix:
    return Fix(finding.plan.title, finding.plan.safety, (Edit(finding.span, "good"),))


def silence(report: Report, finding: Finding) -> Edit | None:
    if finding.span.file.endswith(".json"):
        return None
    end = len(LineIndex(report.text(finding.span.file)).line_text(finding.span.line)) + 1
    line = finding.span.line
    return Edit(Span(finding.span.file, line, end, line, end), f"  # distlint: ignore[{finding.code}] reason")


def fix_all(report: Report, findings: Sequence[Finding]) -> dict[str, str]:
    return {item.span.file: re.sub(r"\bbad\b", "good", report.text(item.span.file)) for item in findings}


def page(code: str, report: Report | None) -> str | None:
    return f"# {code}\n\nWords." if code == "XX101" else None


if __name__ == "__main__":
    sys.stdout.write("")
    serve(Engine(analyse, Remedies(fix, silence, fix_all), page))
