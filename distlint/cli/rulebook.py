"""Looking rules up for commands: distlint's own, and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from distlint.judge.suggestion import did_you_mean
from distlint.model.rule import Rule

if TYPE_CHECKING:
    from distlint.judge.rulebook import Rulebook


def all_rules(*, installed: bool = True) -> Mapping[str, Rule]:
    """Every rule by code, in the order of the codes. ``installed=False`` leaves out those of other packages."""
    return {rule.code: rule for rule in _rulebook(installed).all()}


def find_rule(word: str) -> Rule:
    """The rule with this code or name in any case; ends with a usage error and a suggestion if there is none."""
    rulebook = _rulebook(installed=True)
    rule = rulebook.rule(word.strip().upper()) or rulebook.rule(word.strip().lower())
    if rule is None:
        raise click.UsageError(f"no rule `{word}`{did_you_mean(word, {*rulebook.heads, *rulebook.codes_by_name})}")
    return rule


def _rulebook(installed: bool) -> Rulebook:
    from distlint.judge.errors import RuleFileError
    from distlint.judge.rulebook import Rulebook

    try:
        return Rulebook.load(installed=installed)
    except RuleFileError as error:
        raise click.ClickException(f"rule file {error}") from None
