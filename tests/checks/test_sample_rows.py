"""Results of helpers that have a row for each sample, and are collected with the samples that only fill up (HF219), and others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

ROOT = Path(__file__).parents[2]
CODE = (ROOT / "fixtures/HF219/bad-ranked-by-helper/train.py").read_text().replace("  # expect: HF219", "")
RETURNED = "1 + (scores > given).sum(dim=1)"
GIVEN = 'places(scores, batch["answer"])'
CUT = "    def cut(self, found):\n        return found[: len(self.loader.dataset)]\n\n    def collect"
WRONG = {
    "as it is": {},
    "a variable": {
        RETURNED: "hits",
        "    given = ": "    hits = (scores.argmax(dim=1) == answers).float()\n    given = ",
    },
    "a method": {
        GIVEN: "self.of(scores, batch)",
        "    def collect": "    def of(self, scores, batch):\n        return places(scores, batch['answer'])\n\n    def collect",
    },
    "a column": {RETURNED: "torch.softmax(scores, dim=1)[:, 0]"},
    "called by name": {GIVEN: "places(answers=batch['answer'], scores=scores)"},
}
RIGHT = {
    "a number": {RETURNED: "(scores > given).sum()"},
    "a mean": {RETURNED: "torch.nn.functional.cross_entropy(scores, answers)"},
    "one sample": {RETURNED: "scores[0]"},
    "a number for each kind": {RETURNED: "(scores > given).sum(dim=0)"},
    "the samples are few": {"Questions(10)": "Questions(12)"},
    "cut by the object": {
        "ranks = self.collect(model)": "ranks = self.cut(self.collect(model))",
        "    def collect": CUT,
    },
    "for metrics": {".gather(places": ".gather_for_metrics(places"},
}


def _is_found(changes: dict[str, str], folder: Path, patch: pytest.MonkeyPatch) -> bool:
    code = CODE
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    patch.chdir(folder)
    (folder / "train.py").write_text(code)
    return any(finding["code"] == "HF219" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_rows_of_samples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_no_rows_of_samples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)
