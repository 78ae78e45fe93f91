"""``distlint plan``: the words, the data and the pictures, from projects on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from distlint.cli import main

SLURM = """#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --gres=gpu:a100:8
GPUS=8
srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $GPUS --rdzv_endpoint head:29500 pretrain_gpt.py \\
    --tensor-model-parallel-size {tensor} --pipeline-model-parallel-size {pipeline} --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 \\
    --global-batch-size 512 --bf16 --use-distributed-optimizer --train-iters 1000 --vocab-size 50257 --lr 1e-4
"""


def write(root: Path, files: dict[str, str]) -> None:
    (root / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(main.commands, ["plan", *(str(word) for word in words)])
    assert result.exit_code == 0, result.output
    assert "error" not in result.stderr
    return result


def data(root: Path, *words: str) -> list[dict[str, Any]]:
    answer = json.loads(run(root, "--output-format", "json", *words).stdout)
    assert answer["schema_version"] == 1
    runs: list[dict[str, Any]] = answer["runs"]
    return runs


def megatron(root: Path, nodes: int = 4, tensor: int = 4, pipeline: int = 2) -> None:
    write(root, {"run.slurm": SLURM.format(nodes=nodes, tensor=tensor, pipeline=pipeline)})


def test_the_words_say_where_the_world_size_is_from(tmp_path: Path) -> None:
    megatron(tmp_path)
    text = run(tmp_path).stdout
    assert "run.slurm:5  srun torchrun pretrain_gpt.py" in text
    assert "32 = 4 nodes × 8 (likely)" in text
    assert "`#SBATCH --nodes=4` (line 2)" in text
    assert "processes 8:" in text
    assert "`GPUS=8` (line 4)" in text
    assert "TP 4 × DP 4 × PP 2  (rank order tp-cp-ep-dp-pp)" in text
    assert "tensor parallel groups: 8 of 4, the first ranks 0-3, on one node" in text
    assert "1 micro × 4 replicas × 128 accumulation = 512 global" in text
    assert "a device has 80.0 GiB (A100)" in text


def test_data_holds_values_with_places(tmp_path: Path) -> None:
    megatron(tmp_path)
    (plan,) = data(tmp_path)
    assert (plan["title"], plan["file"], plan["line"]) == ("srun torchrun pretrain_gpt.py", "run.slurm", 5)
    assert plan["launch"]["scheduler"] == "srun"
    assert plan["world_size"]["value"] == 32
    assert {"file": "run.slurm", "line": 2, "column": 9, "text": "#SBATCH --nodes=4"} in plan["nodes"]["from"]
    assert {axis["name"]: axis["size"]["value"] for axis in plan["layout"]["axes"]} == {"TP": 4, "DP": 4, "PP": 2}
    assert plan["layout"]["groups"]["PP"][0] == [0, 16]
    assert plan["batch"]["accumulation"]["value"] == 128
    assert plan["batch"]["computed"] == ["accumulation"]
    assert plan["batch"]["fits"] is True
    assert plan["sharding"]["stage"]["value"] == 1
    memory = plan["memory"]
    assert memory["least_bytes"]["total"] <= memory["states_bytes"]["total"] < memory["estimate_bytes"]
    assert plan["device"] == {"bytes": 80 << 30, "name": "A100"}


def test_what_is_not_known_says_why(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "torchrun --nnodes $N --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
                     "--micro-batch-size 4 --global-batch-size 64 --num-layers 2\n"})  # fmt: skip
    (plan,) = data(tmp_path)
    assert plan["world_size"]["value"] is None
    assert plan["world_size"]["reason"]
    assert plan["layout"]["groups"] is None
    assert {item["what"] for item in plan["unknown"]} >= {"world size", "nodes", "model size"}
    text = run(tmp_path).stdout
    assert "? nodes × 8" in text
    assert "4 micro × <data-parallel size> replicas × <accumulation> accumulation = 64 global" in text


def test_a_world_size_can_be_given(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "torchrun --nnodes $N --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
                     "--micro-batch-size 4 --global-batch-size 64 --num-layers 2\n"})  # fmt: skip
    (plan,) = data(tmp_path, "--world-size", "16")
    assert plan["world_size"]["value"] == 16
    assert plan["batch"]["accumulation"]["value"] == 2


def test_groups_across_nodes_are_named(tmp_path: Path) -> None:
    megatron(tmp_path, tensor=16, pipeline=1)
    assert "2 of 2 tensor parallel groups lie on several nodes" in run(tmp_path).stdout
    (plan,) = data(tmp_path)
    assert plan["split_groups"][0] == {"axis": "TP", "split": 2, "groups": 2}


def test_only_runs_that_touch_the_paths_are_shown(tmp_path: Path) -> None:
    write(tmp_path, {"a/run.slurm": SLURM.format(nodes=1, tensor=1, pipeline=1),
                     "b/run.slurm": SLURM.format(nodes=2, tensor=1, pipeline=1)})  # fmt: skip
    assert len(data(tmp_path)) == 2
    assert [plan["file"] for plan in data(tmp_path / "b")] == ["b/run.slurm"]


CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "tie_word_embeddings": False, "vocab_size": 32000,
}  # fmt: skip
TRAIN = """
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("./model")
Trainer(model=model, args=arguments).train()
"""


def hugging_face(root: Path, stage: int, precision: str = "fp16") -> None:
    settings = {precision: {"enabled": True}, "zero_optimization": {"stage": stage},
                "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 4}  # fmt: skip
    write(root, {
        "train.py": TRAIN, "model/config.json": json.dumps(CONFIG), "ds.json": json.dumps(settings),
        "run.sh": f"deepspeed --num_gpus 8 train.py --output_dir o --{precision} true --per_device_train_batch_size 2 "
        "--gradient_accumulation_steps 4 --deepspeed ds.json\n",
    })  # fmt: skip


@pytest.mark.parametrize(("stage", "total"), [(0, 16), (1, 4 + 12 / 8), (2, 2 + 14 / 8), (3, 16 / 8)])
def test_a_model_of_the_project_is_measured(tmp_path: Path, stage: int, total: float) -> None:
    hugging_face(tmp_path, stage)
    (plan,) = data(tmp_path)
    assert plan["batch"]["global"]["value"] == 64
    assert plan["precision"]["value"] == "fp16"
    assert plan["memory"]["parameters"] == 6_738_415_616
    assert plan["memory"]["least_bytes"]["total"] == pytest.approx(6_738_415_616 * total)


def test_the_settings_may_say_how_much_memory_there_is(tmp_path: Path) -> None:
    hugging_face(tmp_path, 2)
    write(tmp_path, {"distlint.toml": 'gpu-memory = "24GB"\n'})
    (plan,) = data(tmp_path)
    assert plan["device"]["bytes"] == 24 << 30
    assert "the estimate is more than" not in run(tmp_path).stdout
    assert "the model states alone do not fit" in run(tmp_path, "--gpu-memory", "16GB").stdout
    wrong = CliRunner().invoke(main.commands, ["plan", str(tmp_path), "--gpu-memory", "lots"])
    assert (wrong.exit_code, "amount of memory" in wrong.output) == (2, True)


PLUGIN = """
import colossalai
from colossalai.booster import Booster
from colossalai.booster.plugin import HybridParallelPlugin

colossalai.launch_from_torch()
booster = Booster(plugin=HybridParallelPlugin(tp_size=2, pp_size=2, zero_stage=1, precision="bf16", microbatch_size=4))
"""


def test_the_mesh_of_a_plugin_has_neighbours_in_tensor_groups(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": PLUGIN, "run.sh": "torchrun --standalone --nproc_per_node 8 train.py\n"})
    (plan,) = data(tmp_path)
    assert [axis["name"] for axis in plan["layout"]["axes"]] == ["TP", "PP", "DP"]
    assert plan["layout"]["groups"]["TP"][:2] == [[0, 1], [2, 3]]
    assert plan["layout"]["groups"]["PP"][0] == [0, 2]
    assert plan["layout"]["groups"]["DP"][0] == [0, 4]


def test_nothing_to_show_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "print(1)\n"})
    assert run(tmp_path).stdout.startswith("no runs")
    for name in ("svg", "html", "json"):
        assert "no runs" in run(tmp_path, "--output-format", name).stdout.lower() or data(tmp_path) == []


# Pictures ------------------------------------------------------------------------------------------------------------

HOSTILE = """torchrun --nnodes 1 --nproc_per_node 8 '<script>alert(1)</script>&"\\x1b[31m.py' \\
    --tensor-model-parallel-size 2 --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 \\
    --micro-batch-size 1 --max-position-embeddings 8 --optimizer '</style><img src=x onerror=y>' --bf16
"""


@pytest.mark.parametrize("name", ["svg", "html"])
@pytest.mark.parametrize("world", [8, 64, 512, 4096])
def test_pictures_are_well_formed_at_any_size(tmp_path: Path, name: str, world: int) -> None:
    megatron(tmp_path, nodes=world // 8, tensor=4)
    text = run(tmp_path, "--output-format", name).stdout
    assert len(text) < 600_000
    picture = text[text.index("<svg") : text.index("</svg>") + len("</svg>")]
    tree = ElementTree.fromstring(picture)  # noqa: S314 - our own
    words = " ".join("".join(element.itertext()) for element in tree.iter())
    assert f"rank {world - 1}:" in words
    assert ("go on in the same way" in words) == (world > 512)


@pytest.mark.parametrize("name", ["svg", "html"])
def test_names_stay_text_in_pictures(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"<b>run.sh": HOSTILE})
    text = run(tmp_path, "--output-format", name).stdout
    for bad in ("<script", "<img", "<b>", "</style><", "\x1b"):
        assert bad not in text
    assert "&lt;" in text


def test_words_are_harmless_for_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": HOSTILE.replace("\\x1b", "\x1b")})
    text = run(tmp_path).stdout
    assert "\x1b" not in text
    assert json.loads(run(tmp_path, "--output-format", "json").stdout)["runs"]


def test_the_same_project_gives_the_same_plan(tmp_path: Path) -> None:
    megatron(tmp_path)
    for name in ("text", "json", "svg", "html"):
        first, second = (run(tmp_path, "--output-format", name).stdout for _ in range(2))
        assert first == second
        file = tmp_path.parent / f"{tmp_path.name}.{name}"
        assert run(tmp_path, "--output-format", name, "--output-file", file).stdout == ""
        assert file.read_text(encoding="utf-8") == first


ODD = ["[0, 1, 2]", '{"a": [1]}', "null", "-1", "1e400", '"x"', "true", "99999999999999999999999", '"auto"']


@pytest.mark.parametrize("odd", ODD)
def test_odd_values_do_not_end_it(tmp_path: Path, odd: str) -> None:
    keys = ["stage", "device"]
    settings = (
        f'{{"fp16": {{"enabled": {odd}}}, "bf16": {odd}, "zero_optimization": {{"{keys[0]}": {odd}, "offload_optimizer": {odd},'
        f' "offload_param": {{"{keys[1]}": {odd}}}}}, "train_micro_batch_size_per_gpu": {odd}, "train_batch_size": {odd},'
        f' "gradient_accumulation_steps": {odd}, "optimizer": {{"type": {odd}}}, "sequence_parallel_size": {odd},'
        f' "tensor_parallel": {{"autotp_size": {odd}}}}}'
    )
    model = (
        json.dumps(CONFIG)[:-1] + f', "head_dim": {odd}, "num_local_experts": {odd}, "moe_intermediate_size": {odd}}}'
    )
    neox = "".join(
        f'"{key}": {odd},\n'
        for key in ("pipe_parallel_size", "model_parallel_size", "num_layers", "hidden_size", "num_attention_heads",
                    "train_micro_batch_size_per_gpu", "train_iters", "optimizer", "zero_optimization", "precision", "seq_length")
    )  # fmt: skip
    write(tmp_path, {
        "train.py": TRAIN, "model/config.json": model, "ds.json": settings, "configs/a.yml": "{" + neox + "}\n",
        "run.sh": "deepspeed --num_gpus 8 train.py --output_dir o --fp16 true --deepspeed ds.json\n"
        f"deepspeed --num_gpus 8 pretrain_gpt.py --num-layers '{odd}' --hidden-size '{odd}' --num-attention-heads '{odd}'"
        f" --tensor-model-parallel-size '{odd}' --micro-batch-size '{odd}' --seq-length '{odd}' --moe-layer-freq '{odd}'"
        f" --num-experts '{odd}' --recompute-granularity '{odd}' --deepspeed --deepspeed_config ds.json\n",
    })  # fmt: skip
    for name in ("text", "json", "svg"):
        run(tmp_path, "--output-format", name)


def test_ranks_are_laid_out_on_nodes_of_so_many_devices(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "torchrun --nproc_per_node $N train.py\n", "train.py": "import torch.distributed\n"})
    text = run(tmp_path, "--world-size", "16", "--gpus-per-node", "4").stdout
    assert "world size   16 = 4 nodes × 4" in text
    assert "`gpus-per-node` of the settings" in text
    assert "nodes ×" not in run(tmp_path, "--world-size", "16", "--gpus-per-node", "5").stdout
