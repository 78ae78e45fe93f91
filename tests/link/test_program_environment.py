"""The environment of commands that Python programs start."""

from __future__ import annotations

import pytest

from tests.conftest import MakeProject


def launched(make_project: MakeProject, text: str) -> list[int | None]:
    project = make_project({"train.py": "import torch.distributed\n", "start.py": text})
    return [launch.world_size.only for launch in project.launches]


HEAD = "import copy\nimport os\nimport subprocess\n"
DEVICES = '"CUDA_VISIBLE_DEVICES": "0,1,2"'


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\nsubprocess.run(["deepspeed", "train.py"])', 2),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\nos.system("deepspeed train.py")', 2),
        ('subprocess.run(["deepspeed", "train.py"])\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', None),
        (f'subprocess.run(["deepspeed", "train.py"], env={{**os.environ, {DEVICES}}})', 3),
        (f'subprocess.run("deepspeed train.py", shell=True, env=os.environ | {{{DEVICES}}})', 3),
        ('subprocess.run(["deepspeed", "train.py"], env=dict(os.environ, CUDA_VISIBLE_DEVICES="0,1"))', 2),
        (
            (
                'env = os.environ.copy()\nenv["CUDA_VISIBLE_DEVICES"] = ",".join(["0", "1"])\n'
                'subprocess.Popen(["deepspeed", "train.py"], env=env)'
            ),
            2,
        ),
        (
            (
                f'env = copy.deepcopy(os.environ)\nenv.update({{{DEVICES}}})\nenv.setdefault("CUDA_VISIBLE_DEVICES", "0")\n'
                'subprocess.check_call(["deepspeed", "train.py"], env=env)'
            ),
            3,
        ),
        (
            (
                'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\nenv = {"PATH": "/bin"}\n'
                'subprocess.run(["deepspeed", "train.py"], env=env)'
            ),
            None,
        ),
        (
            (
                'if os.getenv("X"):\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n'
                'subprocess.run(["deepspeed", "train.py"])'
            ),
            None,
        ),
        (
            (
                'if os.getenv("X"):\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n'
                '    subprocess.run(["deepspeed", "train.py"])'
            ),
            2,
        ),
        (
            (
                'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\nos.environ.pop("CUDA_VISIBLE_DEVICES")\n'
                'subprocess.run(["deepspeed", "train.py"])'
            ),
            None,
        ),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = read()\nsubprocess.run(["deepspeed", "train.py"])', None),
        (
            (
                'def main():\n    subprocess.run(["deepspeed", "train.py"])\n\nif __name__ == "__main__":\n'
                '    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1,2,3"\n    main()'
            ),
            4,
        ),
        (
            'os.execve("/usr/bin/torchrun", ["torchrun", "--nproc_per_node", "2", "train.py"], {"PET_NNODES": "4"})',
            8,
        ),
    ],
)
def test_variables_that_a_program_sets(make_project: MakeProject, text: str, size: int | None) -> None:
    assert launched(make_project, f"{HEAD}{text}\n") == [size]
