"""The parts of Colossal-AI's oracle that need no Colossal-AI: the scripts, and what counts as a disagreement."""

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ORACLE = Path(__file__).parents[2] / "tools" / "oracle"


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ORACLE))
    __import__("colossalai_oracle")
    return sys.modules["colossalai_oracle"]


def case(plugin: str, ranks: int = 4, **arguments: Any) -> dict[str, Any]:
    return {"id": 1, "plugin": plugin, "arguments": arguments, "ranks": ranks, "touched": []}


def verdict(stage: str, message: str = "") -> dict[str, Any]:
    return {"stage": stage, "message": message}


def test_the_same_seed_gives_the_same_scripts(oracle: ModuleType) -> None:
    first = oracle.generated(20, 3)
    assert first == oracle.generated(20, 3)
    assert len({oracle.text_of({**one, "id": 1}, "0.5.0") for one in first}) > 10
    for one in first:
        ast.parse(oracle.text_of(one, "0.5.0"))


def test_a_script_suits_its_release(oracle: ModuleType) -> None:
    made = case("GeminiPlugin")
    assert "launch_from_torch(config={})" in oracle.text_of(made, "0.3.7")
    assert "launch_from_torch()" in oracle.text_of(made, "0.3.8")


def test_every_third_script_spreads_its_arguments(oracle: ModuleType) -> None:
    made = case("LowLevelZeroPlugin", stage=2)
    assert "LowLevelZeroPlugin(stage=2)" in oracle.text_of(made, "0.5.0")
    assert "LowLevelZeroPlugin(**settings)" in oracle.text_of({**made, "id": 3}, "0.5.0")


def test_what_both_say_decides_whether_they_agree(oracle: ModuleType) -> None:
    wrong, right = case("LowLevelZeroPlugin", stage=3), case("LowLevelZeroPlugin", stage=2)
    wrong["touched"] = ["stage=3"]
    found = oracle.our_findings(wrong, "0.5.0")
    assert [one.code for one in found] == ["CAI107"]
    assert oracle.disagreement(wrong, verdict("refused", "only supports stage 1/2"), found) == ""
    assert oracle.disagreement(wrong, verdict("done"), found) == "false alarm"
    assert oracle.disagreement(right, verdict("refused", "whatever"), oracle.our_findings(right, "0.5.0")) == "missed"
    assert oracle.disagreement(right, verdict("refused", "No usable kernel found"), []) == ""


def test_an_error_about_another_argument_does_not_count(oracle: ModuleType) -> None:
    made = {**case("GeminiPlugin", precision="fp32"), "touched": ["norm_type=1.0"]}
    found = oracle.our_findings(made, "0.5.0")
    assert [one.code for one in found] == ["CAI106"]
    assert oracle.disagreement(made, verdict("refused", "GeminiPlugin: precision fp32 is not supported"), found) == (
        "error elsewhere"
    )
    assert oracle.disagreement({**made, "touched": ["precision='fp32'"]}, verdict("refused"), found) == ""


@pytest.mark.parametrize("touched", [["@3"], ["tp_size=2"], []])
def test_any_size_may_be_what_the_processes_do_not_fit(oracle: ModuleType, touched: list[str]) -> None:
    made = {**case("HybridParallelPlugin", ranks=3, tp_size=2, pp_size=1), "touched": touched}
    assert oracle.disagreement(made, verdict("refused", "World size"), oracle.our_findings(made, "0.5.0")) == ""


def test_more_missed_than_is_promised_fails(oracle: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"release": "0.5.0", "case": case("TorchDDPPlugin"), "findings": []}
    refused = {**row, "verdict": {"stage": "refused", "error": "TypeError", "message": "no"}}
    assert oracle.report([{**refused, "how": ""}] * 20) == 0
    assert oracle.report([{**refused, "how": "missed"}] * 2 + [{**refused, "how": ""}] * 18) == 1
    assert oracle.report([{**row, "how": "false alarm", "verdict": {"stage": "done", "error": "", "message": ""}}]) == 1
    assert "1 cases, 0 lost, 1 false alarms" in capsys.readouterr().out
