"""The parts of Megatron's oracle that need no Megatron: the cases, the repositories, what counts as a disagreement."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ORACLE = Path(__file__).parents[2] / "tools" / "oracle"
KNOWN = frozenset(
    [
        "--num-layers",
        "--hidden-size",
        "--num-attention-heads",
        "--seq-length",
        "--micro-batch-size",
        "--bf16",
        "--lr",
        "--train-iters",
    ]
)


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ORACLE))
    __import__(name)
    return sys.modules[name]


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("megatron_oracle", monkeypatch)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("megatron_source", monkeypatch)


def verdict(stage: str, **more: Any) -> dict[str, Any]:
    return {"stage": stage, "error": "", "message": "", "at": [], "became": {}, "said": "", "unjudged": [], **more}


def case(*argv: str, ranks: int = 8, **more: Any) -> dict[str, Any]:
    words = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128"
    words += " --micro-batch-size 1 --train-iters 10 --lr 1e-4 --eval-interval 10 --eval-iters 1 --mock-data"
    words += " --tokenizer-type NullTokenizer --vocab-size 1000"
    environment = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    return {"argv": [*words.split(), *argv], "ranks": ranks, "environment": environment, "touched": [], **more}


def test_the_same_seed_gives_the_same_cases_with_options_of_the_release_only(oracle: ModuleType) -> None:
    first = oracle.generated(KNOWN, 24, 3)
    assert first == oracle.generated(KNOWN, 24, 3)
    lines = [row for row in first if "argv" in row]
    assert len(first) == 24
    assert len(lines) == 18
    plain = [row for row in lines if not any(change.startswith("?") for change in row["touched"])]
    assert {word for row in plain for word in row["argv"] if word.startswith("--")} <= KNOWN


def test_only_python_is_asked_about_where_no_option_is_known(oracle: ModuleType) -> None:
    assert not any("argv" in row for row in oracle.generated(frozenset(), 10, 0))


def test_every_change_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = load("megatron_case_moves", monkeypatch)
    changes = [change for table in moves.AREAS.values() for change in moves.changes_of(table)]
    assert all(change and not change.startswith(" ") for change in changes)
    assert all(change.count("{") == change.count("}") for change in changes)


def test_a_change_replaces_removes_and_sets_variables_and_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = load("megatron_cases", monkeypatch)
    options, environment = {"--lr": ["1"], "--bf16": []}, {"A": "1"}
    words = ["~--bf16", "--lr", "2", "--data-path", "0.3", "a", "0.7", "b", "~A", "NCCL_ALGO=Ring", "@16"]
    assert cases._change(words, options, environment) == 16
    assert options == {"--lr": ["2"], "--data-path": ["0.3", "a", "0.7", "b"]}
    assert environment == {"NCCL_ALGO": "Ring"}


@pytest.mark.parametrize("number", [0, 1])
def test_a_case_becomes_a_repository_whose_parts_are_read_together(oracle: ModuleType, number: int) -> None:
    bad = case("--tensor-model-parallel-size", "3", id=number)
    errors = [finding for finding in oracle.our_findings(bad, "0.16.1") if finding.severity.name == "ERROR"]
    assert any("tensor" in finding.message for finding in errors)
    good = case("--tensor-model-parallel-size", "2", id=number)
    assert not [finding for finding in oracle.our_findings(good, "0.16.1") if finding.severity.name == "ERROR"]


def test_words_are_quoted_for_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    project = load("megatron_project", monkeypatch)
    layout = "Et*3|(tt|)*2tL"
    for number in (0, 1):
        text = project.launch_script(case("--pipeline-model-parallel-layout", layout, id=number))
        program = text.replace("torchrun", "printf '%s\\n'")
        said = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout
        assert layout in said.splitlines()


@pytest.mark.parametrize(
    ("ranks", "flags"),
    [(4, "--nproc_per_node 4"), (24, "--nnodes 3 --nproc_per_node 8"), (12, "--nnodes 2 --nproc_per_node 6")],
)
def test_ranks_are_spread_over_nodes(monkeypatch: pytest.MonkeyPatch, ranks: int, flags: str) -> None:
    assert flags in load("megatron_project", monkeypatch).launch_script(case(ranks=ranks))


def test_python_objects_become_a_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = load("megatron_project", monkeypatch)
    config = {"class": "TransformerConfig", "arguments": {"num_layers": 4, "pipeline_dtype": "torch.bfloat16"}}
    project.write_project(tmp_path, {"config": config, "groups": {"order": "tp-pp-dp"}, "ranks": 2}, "0.16.1")
    text = (tmp_path / "train.py").read_text()
    assert "initialize_model_parallel(order='tp-pp-dp')\n" in text
    assert "TransformerConfig(num_layers=4, pipeline_dtype=torch.bfloat16)\n" in text
    compile(text, "train.py", "exec")


def test_what_counts_as_a_disagreement(oracle: ModuleType) -> None:
    asked = case("--tensor-model-parallel-size", "3", touched=["--tensor-model-parallel-size 3"], id=0)
    errors = oracle.our_findings(asked, "0.16.1")
    nothing: list[Any] = []
    refused = verdict("validate", message="world size (8) is not divisible by total_model_size")
    assert oracle.disagreement(asked, refused, errors) == ""
    assert oracle.disagreement(asked, refused, nothing) == "missed"
    assert oracle.disagreement(asked, verdict("done"), errors) == "false alarm"
    assert oracle.disagreement(asked, verdict("done"), nothing) == ""
    assert oracle.disagreement(asked, verdict("lost"), nothing) == ""
    changed = verdict("done", became={"async_save": ["True", "False"]})
    assert oracle.disagreement(asked, changed, nothing) == "silent about async_save"
    dropped = verdict("done", said="--use-dist-ckpt is deprecated and has no effect.")
    assert oracle.disagreement(asked, dropped, nothing) == "silent about use_dist_ckpt"


def test_an_error_that_names_another_option_is_told_apart(oracle: ModuleType) -> None:
    asked = case("--tensor-model-parallel-size", "3", touched=["--optimizer lion"], id=0)
    errors = [finding for finding in oracle.our_findings(asked, "0.16.1") if "tensor" in finding.message]
    elsewhere = verdict("parse", message="argument --optimizer: invalid choice: 'lion'")
    assert oracle.responsible(asked, elsewhere) >= {"optimizer", "lion"}
    assert not oracle.responsible(asked, elsewhere) & {"tensor_model_parallel_size"}
    assert errors


def test_nothing_is_concluded_from_what_could_not_be_judged(oracle: ModuleType) -> None:
    asked = case("--tensor-model-parallel-size", "3", id=0)
    errors = oracle.our_findings(asked, "0.16.1")
    assert oracle.disagreement(asked, verdict("done", unjudged=["validate: ImportError"]), errors) == ""
    assert oracle.disagreement(asked, verdict("done", unjudged=["build: RuntimeError"]), errors) == "false alarm"


def row(how: str, **more: Any) -> dict[str, Any]:
    stage = "validate" if how in ("missed", "error elsewhere") else "done"
    return {"release": "core_v0.16.1", "how": how, "case": case(), "findings": [], "verdict": verdict(stage, **more)}


def test_the_exit_code_is_of_what_is_promised(oracle: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {**row(""), "verdict": verdict("parse")}
    assert oracle.report([row("")]) == 0
    assert oracle.report([row("false alarm")]) == 1
    assert oracle.report([refused] * 19 + [row("missed")]) == 0
    assert oracle.report([refused] * 18 + [row("missed"), row("error elsewhere")]) == 1
    assert oracle.report([row("silent about async_save", became={"async_save": ["True", "False"]})]) == 1
    assert "async_save True becomes False" in capsys.readouterr().out


def test_a_folder_of_checkouts_comes_first(source: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "checkouts" / "core_v1" / "megatron").mkdir(parents=True)
    home = tmp_path / "home"
    assert source.provide("core_v1", home, tmp_path / "checkouts") == "linked"
    assert (home / "megatron" / "core_v1" / "megatron").is_dir()
    assert source.provide("core_v1", home, None) == "there"


def test_a_release_is_cloned_by_its_tag_and_left_out_where_nothing_has_it(source: ModuleType, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    git = ["git", "-C", str(origin), "-c", "user.name=a", "-c", "user.email=a@b"]
    origin.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["tag", "core_v1"]):
        subprocess.run([*git, *words], check=True)
    address = origin.as_uri()
    assert source.provide("core_v1", tmp_path / "home", None, address) == "cloned"
    assert source.provide("core_v2", tmp_path / "home", None, address) == ""
    assert sorted(path.name for path in (tmp_path / "home" / "megatron").iterdir()) == ["core_v1"]


def test_options_are_found_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import argparse

    stages = load("megatron_stages", monkeypatch)
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    parser.add_argument("--no-fusion", dest="fusion", action="store_false")
    parser.add_argument("--data-path", nargs="*")
    words = ["--no-fusion", "--lr=1", "--data", "a", "--what"]
    assert stages.written(parser, words) == {"fusion": "--no-fusion", "lr": "--lr", "data_path": "--data"}


@pytest.mark.parametrize(
    ("given", "made", "same"),
    [
        ("p2p", ["p2p"], True),
        (["a", "b"], ["a"], False),
        ("bf16", "torch.bfloat16", True),
        (2, 4, False),
        (1, 1.0, True),
    ],
)
def test_values_of_other_kinds_can_mean_the_same(
    monkeypatch: pytest.MonkeyPatch, given: Any, made: Any, same: bool
) -> None:
    assert load("megatron_stages", monkeypatch)._same(given, made) is same


def test_cases_are_plain_json(oracle: ModuleType) -> None:
    rows = oracle.generated(KNOWN, 8, 1)
    assert json.loads(json.dumps(rows)) == rows
