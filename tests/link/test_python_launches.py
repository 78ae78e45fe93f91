"""Launches that Python programs make."""

from __future__ import annotations

import pytest

from tests.conftest import MakeProject

SPAWN = """\
import argparse
import torch, torch.multiprocessing as mp
def worker(rank, args): pass
if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--gpus", type=int, default=2)
    args = p.parse_args()
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
"""


def sizes(make_project: MakeProject, text: str, **more: str) -> list[int | None]:
    files = {name.replace("_DOT_", "."): body for name, body in more.items()}
    project = make_project({"train.py": "import torch.distributed\n", "start.py": text, **files})
    return [launch.world_size.only for launch in project.launches]


@pytest.mark.parametrize(
    ("statement", "size"),
    [
        ('subprocess.run(["torchrun", f"--nproc_per_node={N}", "train.py", str(args.x)])', 4),
        ('subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py"])', 2),
        ('os.system(f"deepspeed --num_gpus 3 train.py --lr {args.lr}")', 3),
        ('cmd = f"accelerate launch --num_processes {args.n} train.py"\n    subprocess.call(cmd, shell=True)', None),
        ('cmd = ["torchrun", "--nproc_per_node=5"]\n    cmd += ["train.py"]\n    subprocess.Popen(cmd)', 5),
        ('subprocess.check_call(shlex.split("torchrun --nproc_per_node=6 train.py --a " + args.a))', 6),
        ('os.system("cd x && torchrun --nproc_per_node=7 train.py")', 7),
        ('os.execvp("torchrun", ["torchrun", "--nproc_per_node", "8", "train.py"])', 8),
        ('subprocess.run("torchrun --nproc_per_node=9 train.py".split())', 9),
        ('subprocess.run(["bash", "-c", "torchrun --nproc_per_node=10 train.py"])', 10),
        ('subprocess.run(" ".join(["torchrun", "--nproc_per_node=11", "train.py", args.z]), shell=True)', 11),
        ('torch.distributed.run.main(["--nproc_per_node=4", "train.py"])', 4),
    ],
)
def test_commands(make_project: MakeProject, statement: str, size: int | None) -> None:
    text = f"import os, shlex, subprocess, sys\nimport torch.distributed.run\nN = 4\ndef main(args):\n    {statement}\n"
    assert sizes(make_project, text) == [size]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("from torch.multiprocessing import spawn\ndef f(i): pass\nspawn(f, nprocs=4)\n", 4),
        ("import torch\nimport torch.multiprocessing as mp\nmp.spawn(print, nprocs=torch.cuda.device_count())\n", None),
        ("from accelerate import notebook_launcher\nnotebook_launcher(print, (), num_processes=8, num_nodes=2)\n", 16),
        ("from accelerate import debug_launcher\ndebug_launcher(print)\n", 2),
        ("from torch.distributed.launcher.api import LaunchConfig\nc = LaunchConfig(2, 2, 4)\n", 8),
        ("from torch.distributed.launcher.api import LaunchConfig\nc = LaunchConfig(1, 2, 4)\n", None),
        ("import lightning as L\nt = L.Trainer(devices=4, num_nodes=2)\n", 8),
        ("import pytorch_lightning as pl\nt = pl.Trainer(devices=[0, 1])\n", 2),
        ("import lightning as L\nt = L.Trainer(devices=-1)\n", None),
        ("from ray.train import ScalingConfig\ns = ScalingConfig(num_workers=16, use_gpu=True)\n", 16),
    ],
)
def test_processes_that_a_program_starts_itself(make_project: MakeProject, text: str, size: int | None) -> None:
    assert sizes(make_project, text) == [size]


def test_a_plain_launch_has_the_processes_that_its_script_spawns(make_project: MakeProject) -> None:
    assert sizes(make_project, SPAWN, run_DOT_sh="python start.py --gpus 6\npython start.py\n") == [6, 2]


def test_a_program_that_nobody_starts_by_a_script_is_a_run_of_its_own(make_project: MakeProject) -> None:
    project = make_project({"start.py": SPAWN})
    (run,) = project.runs
    assert run.launch is not None
    assert (run.script_file, run.launch.launcher) == ("start.py", "torch.multiprocessing.spawn")


def test_other_commands_are_no_launches(make_project: MakeProject) -> None:
    text = 'import subprocess\nimport torch.distributed\nsubprocess.run(["git", "status"])\nsubprocess.run(cmd)\n'
    assert sizes(make_project, text) == []


def test_a_module_variable_that_is_read_before_it_is_set(make_project: MakeProject) -> None:
    text = 'import os\nimport torch.distributed\nfor i, m in enumerate(models):\n    os.popen(f"torchrun {i} {m}")\n'
    assert sizes(make_project, text) in ([], [None])


WORKER = """\
import torch.distributed as dist
def setup(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)
def work(rank, size):
    setup(rank, size)
def load(rank, size): pass
"""


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("n = 4\nfor r in range(n):\n    mp.Process(target=work, args=(r, n)).start()\n", 4),
        ("ps = [mp.Process(target=work, args=(r, 3)) for r in range(3)]\nfor p in ps:\n    p.start()\n", 3),
        ("for r in range(4):\n    mp.Process(target=load, args=(r, 4)).start()\n", 1),
        ("import os\nfor r in range(int(os.environ['N'])):\n    mp.Process(target=work, args=(r, 4)).start()\n", None),
        ("for h in range(2):\n    for r in range(4):\n        mp.Process(target=work, args=(r, 4)).start()\n", 1),
    ],
)
@pytest.mark.parametrize("module", ["torch.multiprocessing", "multiprocessing"])
def test_processes_of_a_loop(make_project: MakeProject, module: str, text: str, size: int | None) -> None:
    start = f"import {module} as mp\nfrom worker import load, work\n{text}"
    assert sizes(make_project, start, worker_DOT_py=WORKER, run_DOT_sh="python start.py\n") == [size]
