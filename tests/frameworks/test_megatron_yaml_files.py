"""Runs of Megatron whose settings stand in the file behind ``--yaml-cfg``."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.planning.project_plans import plans_of
from distlint.settings import load_settings

CONFIG = """
language_model:
  num_layers: 24
  hidden_size: 1024
  num_attention_heads: 16
  kv_channels: null
  activation_func: swiglu
  num_moe_experts: null
model_parallel:
  tensor_model_parallel_size: {tensor}
  pipeline_model_parallel_size: {pipeline}
  context_parallel_size: 1
  virtual_pipeline_model_parallel_size: 7
  sequence_parallel: {sequence}
  bf16: true
  fp16: false
micro_batch_size: 2
global_batch_size: {batch}
num_layers_per_virtual_pipeline_stage: null
train_samples: 1000
lr: 1.0e-4
min_lr: 1.0e-5
seq_length: 2048
max_position_embeddings: 2048
"""
LAUNCH = "export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py {options}\n"


def _write(folder: Path, options: str = "--yaml-cfg gpt.yaml", **values: object) -> None:
    (folder / ".git").mkdir()
    given = {"tensor": 2, "pipeline": 2, "sequence": "true", "batch": 16, **values}
    (folder / "gpt.yaml").write_text(CONFIG.format(**given))
    (folder / "run.sh").write_text(LAUNCH.format(options=options))


def _found(folder: Path) -> set[tuple[str, str, int]]:
    findings = analyse(Request(paths=(folder,), settings=load_settings(folder))).findings
    return {(found.code, found.span.file, found.span.line) for found in findings}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, set()),
        ({"tensor": 3}, {("MG101", "gpt.yaml", 10), ("MG104", "gpt.yaml", 10)}),
        ({"batch": 18}, {("MG108", "gpt.yaml", 18)}),
        # lowered to the processes that there are
        ({"tensor": 16, "pipeline": 1}, {("MG148", "gpt.yaml", 10)}),
        ({"tensor": 1, "pipeline": 1}, {("MG112", "gpt.yaml", 14)}),
        ({"batch": "${BATCH}"}, set()),
        ({"tensor": "null"}, set()),
    ],
)
def test_the_file_says_the_settings(tmp_path: Path, values: dict[str, object], expected: set[object]) -> None:
    _write(tmp_path, **values)
    assert _found(tmp_path) == expected


def test_options_beside_the_file_count_for_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "--tensor-model-parallel-size 3 --yaml-cfg gpt.yaml")
    assert _found(tmp_path) == set()


@pytest.mark.parametrize("path", ["/data/gpt.yaml", "${CONFIG}", "run.sh"])
def test_a_file_that_is_not_seen_leaves_the_run_open(tmp_path: Path, path: str) -> None:
    _write(tmp_path, f"--yaml-cfg {path}", tensor=3)
    assert _found(tmp_path) == set()


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", "language_model: 3", "model_parallel: [", "language_model: {a: {b: 1}}\n"]
)
def test_odd_files_do_no_harm(tmp_path: Path, text: str) -> None:
    _write(tmp_path)
    (tmp_path / "gpt.yaml").write_text(text)
    assert not {code for code, *_ in _found(tmp_path)} & {"MG101", "MG104", "MG108"}


def test_the_layout_is_that_of_the_file(tmp_path: Path) -> None:
    _write(tmp_path)
    report = analyse(Request(paths=(tmp_path,), settings=load_settings(tmp_path), use_cache=False, judged=False))
    plans, _ = plans_of(report)
    assert len(plans) == 1
    assert plans[0].layout is not None
    assert {axis.name: axis.size.only for axis in plans[0].layout.axes} == {"TP": 2, "PP": 2, "DP": 2}
