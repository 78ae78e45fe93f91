from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from report_sample import STAGE_FIX

from distlint.model.finding import Finding, Fix
from distlint.model.report import Report


@pytest.fixture(autouse=True)
def worked_out_fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renderers get the edits of the sample without the fixing machinery, which has tests of its own."""
    import distlint.report.json
    import distlint.report.sarif

    def fake(report: Report, finding: Finding) -> Fix | None:
        return STAGE_FIX if finding.code == "DS103" else None

    monkeypatch.setattr(distlint.report.json, "worked_out", fake)
    monkeypatch.setattr(distlint.report.sarif, "worked_out", fake)


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with a file under ``golden/``; ``DISTLINT_UPDATE_GOLDEN=1`` writes the file instead."""

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if os.environ.get("DISTLINT_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8")

    return compare
