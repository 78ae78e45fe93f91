"""The many ways in which a launch is written: what each means in processes."""

from __future__ import annotations

import pytest

from tests.conftest import MakeProject

HOSTS = "a slots=4\nb slots=2\n"


def worlds(make_project: MakeProject, **files: str) -> list[int | None]:
    """The world sizes of all launches but plain ones, in the order of files and lines."""
    texts = {path.replace("__", "/").replace("_DOT_", "."): text for path, text in files.items()}
    project = make_project({"train.py": "import torch.distributed\n", "hosts_a": HOSTS, "names": "x\ny\nz\n", **texts})
    return [launch.world_size.only for launch in project.launches]


def world(make_project: MakeProject, text: str) -> int | None:
    (found,) = worlds(make_project, run_DOT_sh=text)
    return found


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("ssh h1 'cd /x && torchrun --nproc_per_node 3 train.py'", 3),
        ("ssh -p 22 me@h1 torchrun --nnodes 2 --nproc_per_node 5 train.py", 10),
        ("pdsh -w a,b 'torchrun --nproc_per_node=4 train.py'", 4),
        ("docker run --gpus all -e N=2 image bash -c 'torchrun --nproc_per_node=6 train.py'", 6),
        ("docker run --rm image torchrun --nproc_per_node=7 train.py", 7),
        ("apptainer exec --nv img.sif bash -c 'torchrun --nproc_per_node=8 train.py'", 8),
        ("kubectl exec pod -- torchrun --nproc_per_node=9 train.py", 9),
        ("tmux new-session -d -s x 'torchrun --nproc_per_node=2 train.py'", 2),
        ("python submit.py --gpus 8 -- accelerate launch --num_processes 8 train.py", 8),
        ("uv run --no-sync python -m torch.distributed.run --nproc_per_node=2 train.py", 2),
        ("ray job submit --address x -- torchrun --nproc_per_node=2 train.py", 2),
        ("alias t='torchrun --nproc_per_node=3'\nt train.py", 3),
        (
            "if [ -x /opt/python ]; then P=/opt/python; else P=python; fi\n$P -m torch.distributed.run --nproc_per_node 2 train.py",
            2,
        ),
        ("torchrun --no-python --nproc_per_node=2 python -u train.py", 2),
        ("torchrun --nproc_per_node cpu train.py", None),
    ],
)
def test_wrapped_commands(make_project: MakeProject, text: str, size: int | None) -> None:
    assert world(make_project, text + "\n") == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("swift sft --model x", 1),
        ("NPROC_PER_NODE=4 swift sft --model x", 4),
        ("export NNODES=2 NPROC_PER_NODE=8\nmegatron pt --load x", 16),
        ("NPROC_PER_NODE=8 megatron rlhf --use_ray true --config x.yaml", None),
        ("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=4 llamafactory-cli train a.yaml", 8),
        ("CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train a.yaml", 2),
        ("llamafactory-cli train a.yaml", None),
        ("axolotl train a.yml --launcher torchrun -- --nproc_per_node=8", 8),
        ("axolotl train a.yml --launcher python", 1),
        ("composer -n 8 train.py", 8),
        ("composer --world_size 16 --node_rank 0 -n 8 train.py", 16),
    ],
)
def test_front_ends(make_project: MakeProject, text: str, size: int | None) -> None:
    assert world(make_project, text + "\n") == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("#SBATCH --nodes=2 --ntasks-per-node=4\nsrun python train.py", 8),
        (
            "#SBATCH -N 2\n#SBATCH --gpus=8\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE train.py",
            8,
        ),
        ("#SBATCH -N 2\nset -x\n#SBATCH -n 64\nsrun python train.py", 2),
        ("#SBATCH -N 2 -n 4\n#SBATCH hetjob\n#SBATCH -N 1 -n 1\nsrun python train.py", None),
        ("#PBS -l select=2:ncpus=8:mpiprocs=4\nmpirun python train.py", 8),
        ("#BSUB -n 6\nmpirun python train.py", 6),
        ("mpirun -H a:4,b:4 python train.py", 8),
        ("mpirun --hostfile hosts_a python train.py", 6),
        ("colossalai run --nproc_per_node 2 --hostfile names --exclude x train.py", 4),
        ("deepspeed --hostfile hosts_a --exclude a:0 train.py", 5),
        ("deepspeed --hostfile missing train.py", None),
        ('srun -N 2 --ntasks-per-node=1 bash -c "torchrun --nnodes=\\$SLURM_NNODES --nproc_per_node=8 train.py"', 16),
        ("sbatch --nodes=2 --wrap='srun --ntasks-per-node=3 python train.py'", 6),
        ("sbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=3 --ntasks-per-node=2\nsrun python train.py\nEOF", 6),
        (
            "cat > job.sh <<EOF\n#!/bin/bash\n#SBATCH --nodes=5 --ntasks-per-node=2\nsrun python train.py\nEOF\nsbatch job.sh",
            10,
        ),
    ],
)
def test_schedulers(make_project: MakeProject, text: str, size: int | None) -> None:
    assert world(make_project, f"#!/bin/bash\n{text}\n") == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("G=(0 1 2)\nN=${#G[@]}", 3),
        ("export CUDA_VISIBLE_DEVICES=0,1,2\nIFS=, read -ra G <<< $CUDA_VISIBLE_DEVICES\nN=${#G[@]}", 3),
        ("V=0,1,2\nN=$(echo $V | awk -F ',' '{ print NF }')", 3),
        ("V=0,1,2\nN=$(echo $V | tr ',' '\\n' | wc -l)", 3),
        ("V=0,1,2\nN=$(($(echo $V | grep -o , | wc -l)+1))", 3),
        ("printf -v N '%d' 6", 6),
        ("readarray -t H <<< $'a\\nb'\nN=${#H[@]}", 2),
        ("N=$(cat names | wc -l)", 3),
        ("N=$(wc -l < names)", 3),
        ("N=$(nvidia-smi -L | wc -l)", None),
        ("set -- 4\nN=$1", 4),
        ("N=$(expr 2 \\* 4)", 8),
        ("read -r -d '' N <<EOF\n5\nEOF", 5),
        ("export CUDA_VISIBLE_DEVICES=$(seq -s, 0 3)\nN=gpu", 4),
        ("export CUDA_VISIBLE_DEVICES=0,1\nN=$(python -c 'import torch; print(torch.cuda.device_count())')", 2),
    ],
)
def test_numbers_from_the_shell(make_project: MakeProject, text: str, size: int | None) -> None:
    assert world(make_project, f"#!/bin/bash\n{text}\ntorchrun --nproc_per_node=$N train.py\n") == size


def test_the_hosts_of_a_slurm_job_are_counted(make_project: MakeProject) -> None:
    text = """#!/bin/bash
#SBATCH --nodes=3
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
N=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | wc -l)
torchrun --nnodes ${#nodes[@]} --nproc_per_node 4 --master_addr ${nodes[0]} train.py
torchrun --nnodes $N --nproc_per_node 4 train.py
"""
    assert worlds(make_project, run_DOT_sh=text) == [12, 12]


def test_placeholders_do_not_hide_what_follows(make_project: MakeProject) -> None:
    text = "DATA=<path to the data (e.g. /data)>\ntorchrun --nproc_per_node=2 train.py --data $DATA\n"
    assert world(make_project, text) == 2


def test_remote_commands_have_an_environment_of_their_own(make_project: MakeProject) -> None:
    project = make_project(
        {"run.sh": "export A=1\nssh h torchrun train.py\nssh h 'torchrun train.py'\n", "train.py": ""}
    )
    assert [(dict(launch.environment), launch.apart) for launch in project.launches] == [({}, True), ({}, True)]


def test_arithmetic_over_a_few_values(make_project: MakeProject) -> None:
    text = "case $1 in a) N=1;; *) N=2;; esac\ntorchrun --nproc_per_node=$((N * 4)) train.py\n"
    (launch,) = make_project({"run.sh": text, "train.py": ""}).launches
    assert set(launch.world_size.options) == {4, 8}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("declare -A C=([small]=2 [big]=8)\nS=big\nN=${C[$S]}", 8),
        ("cpus() { local n=${1:-1}; echo $n; }\nN=$(cpus 6)", 6),
        ("N=$(( $(echo 0,1,2 | tr -cd , | wc -c) + 1 ))", 3),
        ("mapfile -t H < names\nN=${#H[@]}", 3),
        ("let N=2*3", 6),
    ],
)
def test_odd_numbers_from_the_shell(make_project: MakeProject, text: str, size: int) -> None:
    assert world(make_project, f"#!/bin/bash\n{text}\ntorchrun --nproc_per_node=$N train.py\n") == size


def test_a_function_that_prints_the_launcher(make_project: MakeProject) -> None:
    text = 'launcher() {\n  local n="$1"\n  echo "torchrun --nproc_per_node $n"\n}\n$(launcher 6) train.py\n'
    assert world(make_project, text) == 6


JOB = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=4\n#SBATCH --gres=gpu:4\nsrun python train.py\n"


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("sbatch job.sbatch", 16),
        ("sbatch --nodes=2 --ntasks-per-node=8 job.sbatch", 16),
        ("sbatch -N2 job.sbatch", 8),
        ("N=3; sbatch -N $N --gres=gpu:a100:8 --dependency=singleton job.sbatch x y", 12),
        ("sbatch -N $1 job.sbatch", None),
        ("sbatch --nodes=$1 job.sbatch", None),
        ("sbatch --ntasks 6 job.sbatch", 6),
        ('OPTIONS=(-N 3)\nsbatch "${OPTIONS[@]}" --array=0-3 job.sbatch', 12),
        ("JOB=$(sbatch --parsable -N 5 job.sbatch)\necho $JOB", 20),
        ("JOB=$(sbatch -N 5 job.sbatch | awk '{print $4}')", 20),
        ('submit() { sbatch --nodes "$1" job.sbatch; }\nsubmit 8', 32),
        ('ssh login "cd /x && sbatch -N 7 job.sbatch"', 28),
        ("export SLURM_NTASKS=3\nsbatch -N 1 job.sbatch", 4),
    ],
)
def test_options_of_a_submission_win_over_the_header(make_project: MakeProject, line: str, size: int | None) -> None:
    assert worlds(make_project, job_DOT_sbatch=JOB, submit_DOT_sh=f"#!/bin/bash\n{line}\n") == [size]


@pytest.mark.parametrize(
    ("variable", "option", "size"),
    [
        ("SBATCH_GRES=gpu:2", "", 8),
        ("SBATCH_GPUS_PER_NODE=8", "", 32),
        ("SBATCH_GRES=gpu:2", "--gres=gpu:8", 32),
        ("export SBATCH_GRES=gpu:$1;", "", None),
    ],
)
def test_variables_of_a_submission(make_project: MakeProject, variable: str, option: str, size: int | None) -> None:
    job = JOB.replace("srun python", "torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE")
    submit = f"#!/bin/bash\n{variable} sbatch {option} job.sbatch\n"
    assert worlds(make_project, job_DOT_sbatch=job, submit_DOT_sh=submit) == [size]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Makefile", "go:\n\tsbatch --nodes=2 job.sbatch\n"),
        ("submit_DOT_py", 'import subprocess\nsubprocess.run(["sbatch", "--nodes=2", "job.sbatch"])\n'),
        ("submit_DOT_py", 'import os\nn = 2\nos.system(f"sbatch -N {n} job.sbatch")\n'),
    ],
)
def test_files_that_are_no_scripts_submit_too(make_project: MakeProject, path: str, text: str) -> None:
    assert worlds(make_project, job_DOT_sbatch=JOB, **{path: text}) == [8]


def test_a_submission_to_pbs(make_project: MakeProject) -> None:
    job = "#!/bin/bash\n#PBS -l select=2:ncpus=8:mpiprocs=4\nmpirun -n $PBS_NP python train.py\n"
    submit = "#!/bin/bash\nqsub -l select=4:mpiprocs=8 job.pbs\n"
    assert worlds(make_project, job_DOT_pbs=job, submit_DOT_sh=submit) == [32]


def test_arguments_that_a_program_gives_to_a_script(make_project: MakeProject) -> None:
    run, start = "torchrun --nproc_per_node $1 train.py\n", 'import os\nos.system("bash run.sh 4 srun")\n'
    assert worlds(make_project, run_DOT_sh=run, start_DOT_py=start) == [4]
