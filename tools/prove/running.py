"""Runs a script of a case for real, with two processes on the CPU, and says what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

INSIDE = Path(__file__).resolve().parent / "inside"
TIMEOUT = 10
"""Seconds that a collective waits in a run."""
LIMIT = 90
"""Seconds after which a run is ended."""
MAX_OUTPUT = 400_000


class Result(NamedTuple):
    """A line ``result NAME=VALUE`` and the rank that printed it (-1: not known)."""

    rank: int
    name: str
    value: str


class Outcome(NamedTuple):
    """How a run ended: ``code`` is ``None`` where the time was up."""

    code: int | None
    output: str
    results: tuple[Result, ...]


class Environment:
    """The Python in which cases run. ``path`` holds further folders of packages."""

    def __init__(self, python: str, path: str = "", extensions: Path | None = None) -> None:
        # Not resolved: an environment's python is a link to the one that it was made from.
        self.python = str(Path(python).absolute())
        self.path = path
        self.extensions = extensions or Path(tempfile.gettempdir()) / f"prove-extensions-{os.getuid()}"

    def versions(self, names: Sequence[str]) -> dict[str, str]:
        """The installed versions of distributions; those that are not there are left out."""
        program = (
            "import importlib.metadata as m, json, sys\n"
            "d = {x.metadata['Name'].lower(): x.version for x in m.distributions()}\n"
            "print(json.dumps({n: d[n].split('+')[0] for n in sys.argv[1:] if n in d}))"
        )
        variables = {**os.environ, "PYTHONPATH": self.path}
        run = subprocess.run(
            [self.python, "-c", program, *names], env=variables, stdout=subprocess.PIPE, text=True, check=True
        )
        found: dict[str, str] = json.loads(run.stdout)
        return found

    def build_kernels(self) -> None:
        """Builds what DeepSpeed compiles at its first use, which takes longer than a case may."""
        program = (
            "from deepspeed.accelerator import get_accelerator as a\n"
            "for name in ('ShareMemCommBuilder', 'CPUAdamBuilder', 'FusedAdamBuilder'): a().create_op_builder(name).load()"
        )
        with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
            variables = self._variables(Path(scratch), Path(scratch) / "notes", "", 1, spawned=False)
            (Path(scratch) / "home").mkdir()
            subprocess.run(
                [self.python, "-c", program], env=variables, cwd=scratch, check=True, stdout=subprocess.DEVNULL
            )

    def command(self, run: Sequence[str], script: str, arguments: Sequence[str]) -> list[str]:
        """The command line for a launcher with its options; raises ``ValueError`` for an unknown launcher."""
        python, (launcher, *options) = self.python, run
        words = {
            "torchrun": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
            "spawn": [],
            "accelerate": [
                *("-m", "accelerate.commands.launch", "--num_processes", "2", "--num_machines", "1"),
                # a configuration of Accelerate says itself what starts the processes
                *(() if "--config_file" in options else ("--cpu",)),
                *("--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", str(_free_port())),
            ],
            "deepspeed": ["-m", "deepspeed.launcher.runner", "--num_gpus", "2", "--master_port", str(_free_port())],
        }.get(launcher)
        if words is None:
            raise ValueError(f"unknown launcher {launcher}")
        return [python, *words, *options, script, *arguments]

    def run(
        self, folder: Path, run: Sequence[str], script: str, arguments: Sequence[str] = (), patience: float = 1
    ) -> Outcome:
        """Runs a script of a folder in a copy of it. ``patience`` multiplies all limits of time."""
        with tempfile.TemporaryDirectory(prefix="prove-", ignore_cleanup_errors=True) as scratch:
            place = Path(scratch) / "case"
            shutil.copytree(folder, place)
            (place / "expect.txt").unlink(missing_ok=True)
            (Path(scratch) / "home").mkdir()
            notes = Path(scratch) / "notes"
            token = uuid.uuid4().hex
            variables = self._variables(Path(scratch), notes, token, patience, spawned=run[0] == "spawn")
            output = Path(scratch) / "output"
            with output.open("wb") as stream:
                process = subprocess.Popen(
                    self.command(run, script, arguments),
                    cwd=place,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                code = _ended(process, LIMIT * patience, token)
            text = output.read_bytes()[-MAX_OUTPUT:].decode("utf-8", "replace").replace(f"{place}{os.sep}", "")
            return Outcome(code, text, _results(notes))

    def _variables(self, scratch: Path, notes: Path, token: str, patience: float, *, spawned: bool) -> dict[str, str]:
        self.extensions.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": f"{Path(self.python).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(part for part in (str(INSIDE), self.path) if part),
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "GLOO_SOCKET_IFNAME": "lo",
            "DS_ACCELERATOR": "cpu",
            "TORCH_EXTENSIONS_DIR": str(self.extensions),
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "PROVE_NOTES": str(notes),
            "PROVE_TOKEN": token,
            "PROVE_TIMEOUT": str(TIMEOUT * patience),
            **({"PROVE_PORT": str(_free_port())} if spawned else {}),
        }


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _ended(process: subprocess.Popen[bytes], seconds: float, token: str) -> int | None:
    """The exit code; ``None`` where the time was up. Whatever the run left behind is gone afterwards."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        for one in _processes(token):
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGUSR1)
        time.sleep(1)
        return None
    finally:
        # Launchers put their processes into sessions of their own: they are told by the variable that they inherit.
        for one in (process.pid, *_processes(token)):
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGKILL)
        process.wait()


def _processes(token: str) -> list[int]:
    """The processes of a run, by their environment."""
    mark = f"PROVE_TOKEN={token}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _results(notes: Path) -> tuple[Result, ...]:
    if not notes.exists():
        return ()
    lines = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    return tuple(Result(int(rank), str(name), str(value)) for rank, name, value in lines)


PREFIX = re.compile(r"^(?:\[(?:rank|default)\d+\]: ?)+", re.MULTILINE)
"""What launchers put in front of the lines of a rank."""
