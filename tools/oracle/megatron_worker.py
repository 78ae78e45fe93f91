"""Asks one real Megatron-LM what it makes of command lines and configurations: the ground truth behind the rules.

Usage: ``python megatron_worker.py < cases.jsonl > verdicts.jsonl``, with torch and one checkout of Megatron-LM (or only the package
megatron-core, for the second and third kind of case) importable. It needs no distlint, no GPU and no
network. With ``--options`` it prints instead what the parser of the release knows.

A case is ``{"id", ...}`` and one of

* ``"argv"`` (the words after the script), ``"ranks"`` (1), ``"environment"`` (``CUDA_DEVICE_MAX_CONNECTIONS=1``), ``"capability"`` of the
  GPU (``[9, 0]``), the ``"engine"`` (version of Transformer Engine, ``"2.9.0"``; ``""`` for none), ``"defaults"`` (what the script gives as
  ``args_defaults``);
* ``"config"``: ``{"class": "TransformerConfig", "arguments": {...}}``, with values like ``torch.bfloat16`` as strings;
* ``"groups"``: arguments of ``initialize_model_parallel``, with ``"ranks"``; alone or with a ``"config"``.

A verdict is ``{"id", "stage", "error", "message", "at", "became", "spelled", "said", "unjudged"}``. ``stage`` is where it was refused, or
``done``:

=========  ============================================================================================
parse      argparse, and options that end the program while they are read (also with status 0)
validate   ``validate_args``, and what ``initialize_megatron`` asserts before it
config     ``TransformerConfig`` and the settings of optimizer and data parallelism made of the options
start      global variables, random seed
tokenizer  the tokenizer is made; a file that is not here is no refusal
batches    the number of micro-batches, now and at each step of a ramp
groups     ``initialize_model_parallel``
schedule   lengths of training, learning rate and weight decay
data       the settings of the data set
build      the model, on the meta device, with the layers that need no Transformer Engine
step       the pipeline's schedule up to the first forward pass
lost       the process died or took too long
=========  ============================================================================================

``became`` maps options that were given to [what was written, what it was made], also where the model's configuration gets something
else; ``spelled`` says how such an option was written; ``said`` are the warnings. A fault that comes of what is absent here (a package, a
file, a GPU) is no refusal: it stands in ``unjudged``, with its stage.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import megatron_stand_ins
from apart import apart
from megatron_stages import LEAVES, Release, stages

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29598")

ABSENT = (
    *("transformer engine", "transformer_engine", "transformer-engine", "no module named", "not installed", "apex"),
    *("cuda", "nvidia driver", "nvshmem", "no such file", "not found", "does not exist", "huggingface.co"),
)
"""Words of complaints about packages, files and hardware that are not here."""
UNAVAILABLE = ("no module named", "not installed", "please install", "pip install", "nvidia_resiliency_ext")
"""The same for stages that speak of packages because options name them."""
OPTIONS = ("parse", "validate", "config", "batches")
"""Stages that do nothing but read options: whatever ends them is a refusal."""
REFUSALS = (
    AssertionError,
    ValueError,
    TypeError,
    ZeroDivisionError,
    NotImplementedError,
    SystemExit,
    RuntimeError,
    NameError,
)
"""What a refusal can be at the other stages, which need things that are acted here."""

PLACES = {
    "build": (
        *(
            "ensure_divisibility",
            "get_num_layers_to_build",
            "gpt_layer_specs.py",
            "gpt_model.py",
            "moe_layer.py",
            "router.py",
        ),
        *("get_transformer_layer_offset", "pipeline_parallel_layer_layout.py", "multi_token_prediction.py"),
    ),
    "step": ("schedules.py",),
}
"""Files and functions whose complaints count at stages where other parts are stood in for."""


def judge(case: dict[str, Any], release: Release) -> dict[str, Any]:
    """One case, as far as it goes. Run it in a process of its own."""
    verdict: dict[str, Any] = {"id": case["id"], "stage": "parse", "error": "", "message": "", "at": []}
    verdict |= {"became": {}, "spelled": {}, "said": "", "unjudged": []}
    ranks = case.get("ranks", 1)
    os.environ.update(WORLD_SIZE=str(ranks), RANK="0", LOCAL_RANK="0", LOCAL_WORLD_SIZE=str(min(ranks, 8)))
    os.environ.update(case.get("environment", {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}))
    megatron_stand_ins.hardware(case.get("capability", [9, 0]), 8)
    megatron_stand_ins.ranks(ranks)
    megatron_stand_ins.engine(case.get("engine", "2.9.0"))
    megatron_stand_ins.layers()
    with _listening(verdict):
        for stage, act in stages(release, case, verdict):
            verdict["stage"] = stage
            try:
                act()
            except BaseException as fault:  # whatever ends the user's program is the verdict
                if _of_the_options(fault, stage):
                    _note(verdict, fault)
                    return verdict
                verdict["unjudged"].append(f"{stage}: {type(fault).__name__} {str(fault)[:200]} {_frames(fault)[-1:]}")
                if stage not in LEAVES:
                    break
    verdict["stage"] = "done"
    return verdict


def _of_the_options(fault: BaseException, stage: str) -> bool:
    text = str(fault).lower()
    if stage in OPTIONS:
        return not isinstance(fault, (ImportError, OSError)) and not any(word in text for word in UNAVAILABLE)
    if stage in PLACES:
        file, function, *_ = (_frames(fault) or ["::"])[-1].split(":")
        if not {file, function} & {*PLACES[stage]}:
            return False
    refusal = isinstance(fault, REFUSALS) or type(fault) is Exception
    return refusal and not any(word in text for word in ABSENT)


def _note(verdict: dict[str, Any], fault: BaseException) -> None:
    verdict["error"] = type(fault).__name__
    verdict["message"] = str(fault)[:600]
    verdict["at"] = _frames(fault)[-3:]


def _frames(fault: BaseException) -> list[str]:
    frames = traceback.extract_tb(fault.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}: {frame.line}" for frame in frames]


@contextlib.contextmanager
def _listening(verdict: dict[str, Any]) -> Iterator[None]:
    """Keeps the lines that warn, however they are said."""
    printed = io.StringIO()
    logged = logging.StreamHandler(printed)
    logged.setLevel(logging.WARNING)
    logged.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logging.getLogger().addHandler(logged)
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        yield
    lines = [line for line in printed.getvalue().splitlines() if not line.startswith("  ") and _warns(line)]
    lines += [f"WARNING: {warning.message}" for warning in warned if "megatron" in warning.filename]
    complaint = [line for line in printed.getvalue().splitlines() if ": error: " in line]
    if verdict["error"] == "SystemExit" and complaint:
        verdict["message"] = complaint[-1].partition(": error: ")[2]
    verdict["said"] = "\n".join(dict.fromkeys(lines))[:1200]


def _warns(line: str) -> bool:
    lower = line.lower()
    return any(word in lower for word in ("warn", "error:", "deprecat", "unrecognized", "overrid", "ignor", "instead"))


def main() -> int:
    """One verdict line for each case line."""
    # what packages print on the way is not for the reader of the verdicts
    verdicts = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    megatron_stand_ins.packages()
    import torch

    torch.set_num_threads(1)
    release = Release()
    print(f"megatron-core {release.version}, torch {torch.__version__}, {release.has}", file=sys.stderr)
    if "--options" in sys.argv[1:]:
        print(json.dumps(release.options(), default=str), file=verdicts, flush=True)
        return 0
    for line in sys.stdin:
        if line.strip():
            verdict = apart(lambda case: judge(case, release), json.loads(line))
            # one that was lost lacks most of it
            verdict = {
                "became": {},
                "spelled": {},
                "said": "",
                "at": [],
                **verdict,
                "unjudged": verdict.get("unjudged", []),
            }
            print(json.dumps(verdict, default=str), file=verdicts, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
