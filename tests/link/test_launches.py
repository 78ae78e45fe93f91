"""Launch lines: which script, how many processes, with what arguments."""

from __future__ import annotations

import pytest

from distlint.frameworks.colossalai.launchers import LAUNCHERS as COLOSSALAI
from distlint.frameworks.deepspeed.launchers import LAUNCHERS as DEEPSPEED
from distlint.frameworks.huggingface.launchers import LAUNCHERS as HUGGINGFACE
from distlint.frameworks.megatron.launchers import LAUNCHERS as MEGATRON
from distlint.frameworks.schedulers import LAUNCHERS as SCHEDULERS
from distlint.frameworks.torch.launchers import LAUNCHERS as TORCH
from distlint.link.launches import LaunchIndex, find_launches, launch_from_words
from distlint.model.facts import FileFacts
from distlint.model.launch import Launch, exclusive
from distlint.model.source import SourceKind
from distlint.model.span import Span
from distlint.model.value import Confidence
from distlint.read.shell import read_shell
from distlint.read.yaml import read_yaml

SPECS = (*TORCH, *DEEPSPEED, *HUGGINGFACE, *COLOSSALAI, *MEGATRON, *SCHEDULERS)
FILES = {"train.py", "pkg/mod.py", "deepy.py", "ds.json"}


def index(text: str, hosts: str | None = None, **others: str) -> LaunchIndex:
    scripts = {"run.sh": text, **{f"{name}.sh": body for name, body in others.items()}}
    facts = {path: FileFacts(path, SourceKind.SHELL, shell=read_shell(body, path)[0]) for path, body in scripts.items()}
    return find_launches(facts, SPECS, {*FILES, *scripts, "hosts"}, lambda path: hosts if path == "hosts" else None)


def launch(text: str, hosts: str | None = None) -> Launch:
    (found,) = index(text, hosts).launches
    return found


@pytest.mark.parametrize(
    ("line", "launcher", "world"),
    [
        ("torchrun train.py", "torchrun", 1),
        ("torchrun --nproc_per_node=4 --nnodes 2 train.py", "torchrun", 8),
        ("torchrun --nproc-per-node 4 --nnodes=2:2 train.py", "torchrun", 8),
        ("torchrun --nproc_per_node=gpu train.py", "torchrun", None),
        ("torchrun --nnodes=1:4 --nproc_per_node 8 train.py", "torchrun", None),
        ("torchrun $ARGS train.py", "torchrun", None),
        ("python3 -u -m torch.distributed.run --nproc_per_node 2 train.py", "torchrun", 2),
        ("python -m torch.distributed.launch --nproc_per_node=2 train.py", "torch.distributed.launch", 2),
        ("deepspeed train.py", "deepspeed", None),
        ("deepspeed --num_gpus 4 train.py", "deepspeed", 4),
        ("deepspeed --num_gpus=4 --num_nodes=2 train.py", "deepspeed", 8),
        ("deepspeed --include localhost:0,1 train.py", "deepspeed", 2),
        ("deepspeed -i a:0,1@b:0,1,2 train.py", "deepspeed", 5),
        ("CUDA_VISIBLE_DEVICES=0,3 deepspeed train.py", "deepspeed", 2),
        ("deepspeed --hostfile elsewhere --num_gpus 8 train.py", "deepspeed", None),
        ("accelerate launch --num_processes 8 --num_machines 2 train.py", "accelerate", 8),
        ("accelerate launch train.py", "accelerate", None),
        ("colossalai run --nproc_per_node 4 --host a,b train.py", "colossalai", 8),
        ("python deepy.py train.py -d configs a.yml", "deepy", None),
        ("srun -N2 -n 16 python train.py", "python", 16),
        ("mpirun -np 4 -x A=1 python train.py", "python", 4),
        ("nohup env A=1 numactl -N 0 torchrun --nproc_per_node=2 train.py", "torchrun", 2),
        ("$PYTHON -u train.py", "python", 1),
        ("srun -k -l --overlap -N2 --ntasks-per-node 4 --signal TERM@60 python train.py", "python", 8),
        ("srun -s -n3 --exclusive=user --x11 -K1 --profile all python train.py", "python", 3),
        ("mpirun -np 4 --xterm -1 -merge-stderr-to-stdout --mca btl ^tcp python train.py", "python", 4),
        ("mpiexec -ppn 2 -n 6 -genv A 1 -print-all-exitcodes -iface eth0 python train.py", "python", 6),
    ],
)
def test_world_size(line: str, launcher: str, world: int | None) -> None:
    found = launch(line + "\n")
    assert (found.launcher, found.world_size.only, found.script_file) == (launcher, world, "train.py")


def test_a_host_file_of_the_project_is_read() -> None:
    found = launch("deepspeed --hostfile=hosts train.py\n", "a slots=4\nb slots=4\n")
    assert (found.nodes.only, found.processes_per_node.only, found.world_size.only) == (2, 4, 8)


@pytest.mark.parametrize(("option", "world"), [("", 1), ("--multi_gpu ", 4), ("--use_deepspeed ", 4)])
def test_a_configuration_for_one_process_wins_over_counts(option: str, world: int) -> None:
    text = "distributed_type: 'NO'\nnum_processes: 2\n"
    script = f"accelerate launch --config_file one.yaml --num_processes 4 {option}train.py\n"
    facts = {
        "run.sh": FileFacts("run.sh", SourceKind.SHELL, shell=read_shell(script, "run.sh")[0]),
        "one.yaml": FileFacts("one.yaml", SourceKind.YAML, documents=read_yaml(text, "one.yaml").documents),
    }
    (found,) = find_launches(facts, SPECS, {*FILES, *facts}).launches
    assert found.world_size.only == world


def test_world_size_rests_on_both_counts() -> None:
    found = launch("NODES=2\ntorchrun --nnodes $NODES --nproc_per_node 4 train.py\n")
    assert {span.line for span in found.world_size.spans} == {1, 2}


def test_slurm_header_feeds_srun_and_the_launcher_inside_counts_its_own() -> None:
    text = (
        "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
        "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 train.py\n"
    )
    found = launch(text)
    assert (found.world_size.only, found.outer is not None and found.outer.world_size.only) == (16, 2)


def test_a_string_given_to_bash_by_srun_is_read() -> None:
    found = launch(
        "export CMD='torchrun --nproc_per_node 4 train.py --lr 1'\nsrun --jobid $J bash -c '$CMD --x $SLURM_PROCID'\n"
    )
    assert found.launcher == "torchrun"
    assert [argument.text for argument in found.arguments] == ["--lr", "1", "--x", "${SLURM_PROCID}"]
    assert found.outer is not None
    assert found.outer.launcher == "srun"


@pytest.mark.parametrize(
    ("line", "is_open"),
    [
        ("train.py --lr $LR", False),
        ("train.py $EXTRA", True),
        ("train.py --fp16 $EXTRA_ARGS", True),
        ('train.py "$@"', True),
        ('train.py "$X"', False),
    ],
)
def test_open_arguments(line: str, is_open: bool) -> None:
    assert launch(f"torchrun {line}\n").open_arguments is is_open


def test_a_flag_with_an_unknown_value_is_still_a_flag() -> None:
    found = launch("torchrun train.py --a=$A --deepspeed=ds.json\n")
    assert [argument.text for argument in found.arguments] == ["--a", "${A}", "--deepspeed=ds.json"]
    assert found.arguments[-1].file == "ds.json"


def test_local_rank_is_appended_unless_told_not_to() -> None:
    assert launch("deepspeed train.py\n").appends == ("--local_rank",)
    assert launch("deepspeed --no_local_rank train.py\n").appends == ()
    assert launch("python -m torch.distributed.launch --use_env train.py\n").appends == ()


def test_modules_and_unknown_commands() -> None:
    assert launch("torchrun -m pkg.mod --x\n").script_file == "pkg/mod.py"
    assert index("python -m pip install torch\necho torchrun train.py\npython -c 'x'\n").launches == ()


def test_exclusive_branches_are_told_apart() -> None:
    first, second = index("if [ $X = 1 ]; then torchrun train.py --a; else torchrun train.py --b; fi\n").launches
    assert exclusive(first, second)
    assert (first.guards, second.guards) == (1, 1)


def test_a_called_script_is_only_seen_as_it_is_called() -> None:
    found = index("bash one.sh 4\n", one="torchrun --nproc_per_node $1 train.py\n")
    assert [item.world_size.only for item in found.launches] == [4]
    assert [(call.caller, call.callee) for call in found.calls] == [("run.sh", "one.sh")]


def test_here_documents_that_write_configurations() -> None:
    (written,) = index('B=4\ncat <<EOT > ./ds.$ID.json\n{"a": $B, "b": $C}\nEOT\n').written
    assert (written.path.text, written.text) == ("./ds.${ID}.json", '{"a": 4, "b": ${C}}\n')
    assert (written.span.line, written.original) == (3, '{"a": $B, "b": $C}\n')


def test_launch_from_words() -> None:
    span = Span("Dockerfile", 1, 1, 1, 9)
    found = launch_from_words(["torchrun", "--nproc_per_node", "2", "train.py", "--x"], span, SPECS, FILES)
    assert found is not None
    assert (found.world_size.only, found.script_file, len(found.arguments)) == (2, "train.py", 1)
    assert launch_from_words(["ls"], span, SPECS, FILES) is None


@pytest.mark.parametrize("option", ["--master_port $((29500 + i))", "--nnodes 2 --node_rank $i --master_addr a"])
def test_turns_of_a_loop_that_differ_in_the_launchers_options_are_launches_of_their_own(option: str) -> None:
    found = index(f"for i in 0 1; do torchrun {option} train.py & done").launches
    assert len(found) == 2


def test_what_is_typed_into_a_terminal_ends_with_its_enter_key() -> None:
    for key in (r"\r", r"\n", r"\015", "^M"):
        found = launch(f'screen -S one -X stuff "cd /data; torchrun train.py --lr 1 {key}"')
        assert [argument.text for argument in found.arguments] == ["--lr", "1"]


def test_options_that_a_text_may_hold_stay_possible_when_the_text_is_run() -> None:
    text = 'A=(--one 1 --two)\nif [ "$1" = big ]; then A+=(--three 3); B=(--four 4); fi\n'
    found = launch(f'{text}command="torchrun train.py ${{A[@]}} ${{B[@]}}"\neval $command')
    assert found.open_arguments or any(argument.text == "--three" for argument in found.arguments)


def test_lines_of_a_windows_checkout_go_on_behind_a_backslash() -> None:
    found = launch("torchrun \\\r\n  --nproc_per_node 2 train.py \\\r\n  --lr 1\r\n")
    assert found.world_size.only == 2
    assert [argument.text for argument in found.arguments] == ["--lr", "1"]


def test_a_parameter_of_the_caller_stays_unknown_in_a_text_that_is_run() -> None:
    found = launch('CMD="train.py --heads $1 --lr $2 --layers 4"\nbash -c "torchrun --nproc_per_node 2 $CMD"\n')
    heads, value, rate, other, layers, number = found.arguments
    assert (heads.value.only, rate.value.only, layers.value.only, number.value.only) == (
        "--heads",
        "--lr",
        "--layers",
        "4",
    )
    assert value.value.is_unknown
    assert other.value.is_unknown


@pytest.mark.parametrize("run", ['bash -c "$LAUNCHER train.py"', 'eval "$LAUNCHER train.py"'])
def test_what_is_not_sure_stays_so_in_a_text_that_is_run(run: str) -> None:
    found = launch(
        f'#!/bin/bash\n#SBATCH --nodes=4\nN=$SLURM_NNODES\nLAUNCHER="torchrun --nproc_per_node 8 --nnodes $N"\n{run}\n'
    )
    assert found.nodes.only == 4
    assert found.nodes.confidence is Confidence.LIKELY
    assert 2 in {span.line for span in found.nodes.spans}
