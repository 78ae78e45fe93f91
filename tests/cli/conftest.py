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


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project as the working directory, analysed by the fake engine."""
    import fake_engine

    monkeypatch.setitem(sys.modules, "distlint.engine", fake_engine)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path
