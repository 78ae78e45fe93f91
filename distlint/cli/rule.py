"""``distlint rule CODE``: the page of a rule."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from distlint.cli.rulebook import find_rule
from distlint.cli.screen import wants_color, write_out
from distlint.cli.words import Word
from distlint.model.rule import Rule


@click.command("rule")
@click.argument("code")
@click.option("--output-format", type=Word(("text", "json", "markdown")), default="text", show_default=True)
def command(code: str, output_format: str) -> None:
    """Explain a rule: what it finds, why it matters, when it stays silent, and how it is mended.

    CODE is a rule's code (DS103) or its name, or the id of an advisory (DLA-2026-0001).
    """
    if code.count("-") == 2 and _explained(code, output_format):
        return
    rule = find_rule(code)
    if output_format == "json":
        import json

        write_out(json.dumps(rule_object(rule), indent=2) + "\n")
        return
    from distlint.report.page import page_markdown, page_text

    bold = wants_color(sys.stdout, os.environ)
    write_out(page_markdown(rule) if output_format == "markdown" else page_text(rule, bold=bold))


def _explained(word: str, output_format: str) -> bool:
    """Shows the advisory with an id, if there is one."""
    from distlint.judge.advisories import find_advisory
    from distlint.judge.rulebook import rules_folder

    advisory = find_advisory(rules_folder(), word)
    if advisory is None:
        return False
    if output_format == "json":
        write_out((rules_folder() / advisory.source).read_text(encoding="utf-8"))
        return True
    from distlint.report.advisory_page import advisory_markdown, advisory_text

    write_out(advisory_markdown(advisory) if output_format == "markdown" else advisory_text(advisory))
    return True


def rule_object(rule: Rule) -> dict[str, Any]:
    """What a rule file says, under the names that it uses there."""
    from distlint.report.links import rule_url

    return {
        "code": rule.code,
        "name": rule.name,
        "framework": rule.framework,
        "summary": rule.summary,
        "explanation": rule.explanation,
        "silence": rule.silence,
        "severity": rule.severity.word,
        "confidence": rule.confidence.word,
        "bites": rule.bites,
        "root_cause": rule.root_cause,
        "symptom": rule.symptom,
        "stage": rule.stage,
        "fix_pattern": rule.fix_pattern,
        "fix": None if rule.fix is None else {"safety": rule.fix.safety.word, "title": rule.fix.title},
        "status": rule.status,
        "since": rule.since,
        "replaced_by": rule.replaced_by,
        "versions": dict(rule.versions),
        "evidence": list(rule.evidence),
        "url": rule_url(rule.code),
    }
