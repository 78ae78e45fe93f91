"""The report formats by name, and what all of them may be asked for.

A format is a module with ``render(report, options) -> str``. Only the module of the format in use is imported,
because start-up time is a budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from distlint.model.report import Report


class RenderOptions(NamedTuple):
    """How a report is shown.

    ``color`` and ``links`` allow terminal colours and hyperlinks; ``width`` is the number of terminal columns that
    source lines are clipped to; ``show_fixes`` shows how findings could be mended; ``base`` is the directory that
    shown paths are relative to (the working directory as a rule), ``""`` for the project root.
    """

    color: bool = False
    links: bool = False
    width: int = 120
    show_fixes: bool = True
    base: str = ""


FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text": "distlint.report.text",
        "concise": "distlint.report.concise",
        "json": "distlint.report.json",
        "sarif": "distlint.report.sarif",
        "github": "distlint.report.github",
        "gitlab": "distlint.report.gitlab",
        "junit": "distlint.report.junit",
    }
)
"""Names of the formats and the modules that render them."""


def render(name: str, report: Report, options: RenderOptions) -> str:
    """The report in the format ``name``, ending in a newline; raises ``KeyError`` for a name not in ``FORMATS``."""
    text: str = import_module(FORMATS[name]).render(report, options)
    return text if text.endswith("\n") or not text else text + "\n"
