"""Where the page of a rule is published."""

from __future__ import annotations

RULE_PAGES = "https://distlint.readthedocs.io/en/latest/rules"
"""The folder of the rule pages; the only place where the address is written."""


def rule_url(code: str) -> str:
    """The address of a rule's page."""
    return f"{RULE_PAGES}/{code}/"
