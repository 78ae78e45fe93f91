"""Launch lines in makefiles, Dockerfiles, workflows, Compose files, and descriptions of cluster jobs."""

from __future__ import annotations

import pytest

from distlint.model.launch import Launch
from tests.conftest import MakeProject

MAKEFILE = """\
NPROC ?= 8
GPUS = $(NPROC)
PY = python -m torch.distributed.run
ifeq ($(CI),1)
MODE = a
endif

train: deps
	@torchrun --nnodes=2 \\
	--nproc_per_node=$(GPUS) train.py $(ARGS)

small: NPROC = 2
small:
	cd sub && torchrun --nproc_per_node=${NPROC} train.py
	N=4; torchrun --nproc_per_node=$$N train.py
	bash -c 'torchrun --nproc_per_node=$(NPROC) train.py'
	$(PY) --nproc_per_node=5 train.py

inline: ; torchrun --nproc_per_node 3 train.py
"""

DOCKERFILE = """\
FROM pytorch/pytorch AS base
ENV NPROC=8 NN=2
RUN python setup.py install
ENTRYPOINT ["torchrun"]
CMD ["--nproc_per_node=4", "train.py"]
FROM base
CMD torchrun --nnodes $NN \\
    --nproc_per_node=$NPROC train.py
FROM other
CMD ["bash", "-c", "torchrun --nproc_per_node=${NPROC:-3} train.py"]
"""

WORKFLOW = """\
env:
  NPROC: 2
jobs:
  a:
    strategy:
      matrix:
        n: [2, 4]
    steps:
      - run: |
          echo hi
          torchrun --nproc_per_node=${{ matrix.n }} train.py
      - run: torchrun --nproc_per_node=${{ env.NPROC }} train.py
  b:
    env: {NN: "3"}
    steps:
      - run: >-
          accelerate launch
          --num_processes $NN
          train.py
      - run: "torchrun --nproc_per_node=${{ inputs.n }} train.py"
"""

GITLAB = """\
variables:
  NPROC: "8"
train:
  variables: {NN: 2}
  before_script: [export Z=3]
  script:
    - torchrun --nnodes=$NN --nproc_per_node=$NPROC train.py
    - torchrun --nproc_per_node=$Z train.py
"""

COMPOSE = """\
services:
  a:
    environment: [CUDA_VISIBLE_DEVICES=0,1, N=3]
    command: bash -c "torchrun --nproc_per_node=$$N train.py"
  b:
    entrypoint: ["torchrun"]
    command: ["--nproc_per_node=7", "train.py"]
"""

PYTORCH_JOB = """\
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master:
      template: &pod
        spec:
          containers:
            - env: [{name: NPROC, value: "4"}]
              command: ["torchrun", "--nproc_per_node=$(NPROC)", "train.py"]
    Worker:
      replicas: 3
      template: *pod
---
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          containers:
            - command: [python, train.py]
---
kind: TrainJob
spec:
  trainer: {numNodes: 4, numProcPerNode: 2, command: [torchrun, train.py]}
---
kind: RayJob
spec:
  entrypoint: torchrun --nproc_per_node=9 train.py
"""

SKY = """\
resources: {accelerators: "A100:8"}
num_nodes: 2
run: torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE train.py
"""


def launches(make_project: MakeProject, path: str, text: str) -> tuple[Launch, ...]:
    return make_project({"train.py": "import torch.distributed\n", path: text}).launches


@pytest.mark.parametrize(
    ("path", "text", "sizes"),
    [
        ("Makefile", MAKEFILE, [16, 2, 4, 2, 5, 3]),
        ("Dockerfile", DOCKERFILE, [4, 16, 3]),
        (".github/workflows/t.yml", WORKFLOW, [2, 4, 2, 3, None]),
        (".gitlab-ci.yml", GITLAB, [16, 3]),
        ("docker-compose.yml", COMPOSE, [3, 7]),
        ("job.yaml", PYTORCH_JOB, [16, 4, 8, 9]),
        ("sky.yaml", SKY, [16]),
    ],
)
def test_world_sizes(make_project: MakeProject, path: str, text: str, sizes: list[int | None]) -> None:
    assert [launch.world_size.only for launch in launches(make_project, path, text)] == sizes


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Makefile", MAKEFILE),
        ("Dockerfile", DOCKERFILE),
        (".github/workflows/t.yml", WORKFLOW),
        ("job.yaml", PYTORCH_JOB),
    ],
)
def test_places_are_those_of_the_file(make_project: MakeProject, path: str, text: str) -> None:
    lines = text.split("\n")
    for launch in launches(make_project, path, text):
        script = launch.script.spans[0]
        assert lines[script.line - 1][script.column - 1 :].lstrip("\"'").startswith(("train.py", "torchrun"))


def test_what_an_image_installs_is_no_job(make_project: MakeProject) -> None:
    assert not [one for one in launches(make_project, "Dockerfile", DOCKERFILE) if one.script.only == "setup.py"]


def test_the_pods_of_a_training_job_are_its_scheduler(make_project: MakeProject) -> None:
    found = launches(make_project, "job.yaml", PYTORCH_JOB)
    assert [one.outer.launcher if one.outer else "" for one in found] == ["PyTorchJob", "PyTorchJob", "TrainJob", ""]


@pytest.mark.parametrize(
    "text", ["a:\n\t$(", "a:\n\t$", "x = $(call f,$(y)\nb:\n\techo '", "ifeq (\na:\n\ttorchrun $(N", "\t\n:\n", "a: ;"]
)
def test_broken_makefiles_do_not_stop_anything(make_project: MakeProject, text: str) -> None:
    launches(make_project, "Makefile", text)


@pytest.mark.parametrize(
    "text",
    [
        "run: {run: {run: [torchrun]}}",
        "command: [[torchrun]]",
        "run: |\n",
        "kind: PyTorchJob\nspec: 1\n",
        "env: 1\nrun: torchrun",
    ],
)
def test_odd_yaml_does_not_stop_anything(make_project: MakeProject, text: str) -> None:
    launches(make_project, "a.yaml", text)


MPI_JOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - command: [LINE]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - image: x
"""


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("mpirun, -np, '8', python, train.py", 8),
        ("mpirun, -np, '6', python, train.py", 6),
        ("mpirun, python, train.py", 8),
        ("bash, -c, 'mpirun --allow-run-as-root python train.py'", 8),
    ],
)
def test_mpi_jobs(make_project: MakeProject, line: str, size: int) -> None:
    project = make_project({"train.py": "import torch.distributed\n", "job.yaml": MPI_JOB.replace("LINE", line)})
    assert [launch.world_size.only for launch in project.launches] == [size]
