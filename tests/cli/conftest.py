from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))


@pytest.fixture
def sample_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of the sample report instead of distlint's own."""
    from report_sample import RULES

    from distlint.judge.rulebook import Rulebook

    monkeypatch.setattr(Rulebook, "load", lambda *folders, **options: Rulebook.of(RULES.values()))
