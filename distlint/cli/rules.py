"""``distlint rules``: the list of rules."""

from __future__ import annotations

import click

from distlint.cli.rule import rule_object
from distlint.cli.rulebook import all_rules
from distlint.cli.screen import say, write_out
from distlint.cli.words import Word
from distlint.judge.suggestion import did_you_mean
from distlint.model.rule import Rule


@click.command("rules")
@click.argument("prefixes", nargs=-1, metavar="[PREFIX]...")
@click.option("--framework", "frameworks", multiple=True, metavar="NAME", help="Only rules of this framework.")
@click.option("--severity", type=Word(("error", "warning", "note")), help="Only rules of this severity.")
@click.option("--root-cause", "root_causes", multiple=True, metavar="WORD", help="Only rules with this root cause.")
@click.option("--output-format", type=Word(("text", "json")), default="text", show_default=True)
def command(
    prefixes: tuple[str, ...],
    frameworks: tuple[str, ...],
    severity: str | None,
    root_causes: tuple[str, ...],
    output_format: str,
) -> None:
    """List the rules, or those whose codes start with one of the PREFIXes (such as DS or PT5)."""
    rules = list(all_rules().values())
    _check_words("framework", frameworks, {rule.framework for rule in rules})
    _check_words("root cause", root_causes, {rule.root_cause for rule in rules})
    starts = tuple(prefix.upper() for prefix in prefixes)
    chosen = [
        rule
        for rule in rules
        if (not starts or rule.code.startswith(starts))
        and (not frameworks or rule.framework in frameworks)
        and (severity is None or rule.severity.word == severity)
        and (not root_causes or rule.root_cause in root_causes)
    ]
    if output_format == "json":
        import json

        write_out(json.dumps([rule_object(rule) for rule in chosen], indent=2) + "\n")
    else:
        write_out("".join(_line(rule) for rule in chosen))
        say(f"{len(chosen)} of {len(rules)} rules; `distlint rule CODE` explains one")


def _line(rule: Rule) -> str:
    fixable = rule.fix.safety.word if rule.fix is not None else "-"
    return f"{rule.code:8} {rule.severity.word:8} {fixable:11} {rule.name}: {rule.summary}\n"


def _check_words(what: str, words: tuple[str, ...], known: set[str]) -> None:
    for word in words:
        if word not in known:
            raise click.UsageError(
                f"no {what} `{word}`{did_you_mean(word, known)} (there are: {', '.join(sorted(known))})"
            )
