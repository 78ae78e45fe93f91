"""Runs scripts with one real Colossal-AI release: the ground truth behind the rules.

Usage: ``python colossalai_worker.py < cases.jsonl > verdicts.jsonl``, with torch, transformers and a release of Colossal-AI
importable. It needs no distlint, no GPU and no network: ``colossalai_stand_ins`` says what is acted.

A case is ``{"id", "script" (a text), "ranks"}``; the script runs as rank 0 of so many processes. A verdict is ``{"id",
"stage", "error", "message", "line", "at", "said"}``: ``stage`` is ``done``, ``refused`` (an exception), ``exit`` or ``lost`` (the
process died or took too long), ``line`` the line of the script that it came from, ``at`` the innermost places, ``said`` the warnings.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import colossalai_stand_ins
from apart import apart

PER_NODE = 8


def judge(case: dict[str, Any]) -> dict[str, Any]:
    """What the release says of one case; changes the process, so it is one of its own."""
    verdict: dict[str, Any] = {
        "id": case["id"],
        "stage": "done",
        "error": "",
        "message": "",
        "line": 0,
        "at": [],
        "said": [],
    }
    ranks = case["ranks"]
    os.environ.update(
        RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(min(ranks, PER_NODE)),
        MASTER_ADDR="localhost", MASTER_PORT="29500",
    )  # fmt: skip
    colossalai_stand_ins.processes(ranks, 0)
    colossalai_stand_ins.devices()
    colossalai_stand_ins.accelerator()
    colossalai_stand_ins.kernels()
    colossalai_stand_ins.gradients()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        os.chdir(folder)
        Path("train.py").write_text(case["script"])
        sys.argv = ["train.py"]
        warnings.simplefilter("always")
        try:
            runpy.run_path("train.py", run_name="__main__")
        except SystemExit as end:
            verdict |= {"stage": "exit", "message": str(end.code)}
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame.lineno for frame in frames if frame.filename == "train.py"]
            verdict |= {"stage": "refused", "error": type(error).__name__, "message": str(error)[:600]}
            verdict |= {
                "line": own[-1] if own else 0,
                "at": [f"{Path(one.filename).name}:{one.name}" for one in frames[-3:]],
            }
        os.chdir("/")
    verdict["said"] = sorted({str(warning.message)[:200] for warning in warned})[:20]
    return verdict


def main() -> int:
    """One verdict line for each case line."""
    verdicts = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    import colossalai.booster.plugin
    import torch
    import transformers.models.llama.modeling_llama  # noqa: F401 - imported once for all cases

    torch.set_num_threads(1)
    print(f"{colossalai.booster.plugin.__file__}, torch {torch.__version__}", file=sys.stderr)
    for line in sys.stdin:
        if line.strip():
            print(
                json.dumps({"line": 0, "at": [], "said": [], **apart(judge, json.loads(line))}),
                file=verdicts,
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
