"""Connects the language server to the rest of distlint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from distlint.lsp.actions import Remedies
from distlint.lsp.handlers import Engine
from distlint.model.finding import Edit, Finding
from distlint.model.report import Report


def project_engine() -> Engine:
    """The engine that judges real projects, with the settings that it finds there."""
    from distlint.report.fixes import worked_out

    return Engine(analyse_project, Remedies(worked_out, silence, fix_all), rule_page)


def analyse_project(folder: Path, texts: Mapping[Path, str]) -> Report:
    """Judges the project in a folder; raises what is wrong with its settings or rule files.

    In one process: the server has threads, and processes that fork from threads may hang.
    """
    from distlint.engine import Request, analyse
    from distlint.settings import load_settings

    settings = load_settings(folder)
    inside = {path.relative_to(settings.root).as_posix(): text for path, text in texts.items()}
    return analyse(Request((folder,), settings, jobs=1, overlays=inside))


def silence(report: Report, finding: Finding) -> Edit | None:
    """The comment that silences a finding, where there can be one."""
    from distlint.lsp.silence import silencing_comment

    return silencing_comment(finding, report.text(finding.span.file))


def fix_all(report: Report, findings: Sequence[Finding]) -> Mapping[str, str]:
    """The texts after one pass of safe fixes, by file."""
    from distlint.fix.apply import apply_fixes

    return apply_fixes(findings, report.text, unsafe=False).changed


def rule_page(word: str, report: Report | None) -> str | None:
    """The page of a rule by code or name: one that the report knows, or any that comes with distlint."""
    from distlint.judge.rulebook import Rulebook
    from distlint.report.page import page_markdown

    known = report.rules.values() if report is not None else ()
    rule = next((rule for rule in known if word in (rule.code, rule.name)), None) or Rulebook.load().rule(word)
    return page_markdown(rule, examples=False) if rule is not None else None
