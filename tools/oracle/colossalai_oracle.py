"""Compares distlint's verdicts on scripts that use Colossal-AI with those of the real Colossal-AI.

Usage: ``python tools/oracle/colossalai_oracle.py --home .oracle [--cases 60] [--seed 1] [--releases 0.5.0]``; ``make oracle`` prepares
the home: an environment with torch, and a folder ``colossalai-<release>`` for each release. Every disagreement is printed with its
script. The exit code is 1 where there is a false alarm, or where more than 5 % of what is refused is missed or blamed on another
argument.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hypothesis
from colossalai_cases import cases, script

HERE = Path(__file__).resolve().parent
SIZES = {"tp_size", "pp_size", "sp_size", "ep_size", "extra_dp_size"}
"""Arguments that the number of processes has to fit."""
MISSED = 0.05
"""The share of refused cases that may be missed, or blamed on another argument."""
WITHOUT_CONFIG = (0, 3, 8)
"""The first release whose launch functions take no configuration."""

NOT_OF_THE_SCRIPT = (
    # what the fake group or the CPU can't do
    "Backend.HCCL",
    "INTERNAL ASSERT FAILED",
    "No usable kernel found",
    "CUDA driver version",
    "Cannot re-initialize CUDA",
    "MoE requires to enable CUDA first",
)
"""Refusals that no reader of the script can know."""


def generated(count: int, seed: int) -> list[dict[str, Any]]:
    """That many different cases, the same ones for the same seed."""
    found: dict[str, dict[str, Any]] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count * 6 + 1,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(cases())
    def collect(case: dict[str, Any]) -> None:
        if len(found) < count:
            found.setdefault(json.dumps(case, sort_keys=True), json.loads(json.dumps(case)))

    collect()
    return [{"id": number, **case} for number, case in enumerate(found.values())]


def text_of(case: dict[str, Any], release: str) -> str:
    """The script of a case for a release; every third one spreads its arguments."""
    config = tuple(map(int, release.split("."))) < WITHOUT_CONFIG
    return script(case, config=config, spread=case["id"] % 3 == 0)


def our_findings(case: dict[str, Any], release: str) -> list[Any]:
    """What distlint finds in the repository that a user would have."""
    from distlint.engine import Request, analyse
    from distlint.settings import load_settings

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / ".git").mkdir()
        (folder / "requirements.txt").write_text(f"colossalai=={release}\n")
        (folder / "train.py").write_text(text_of(case, release))
        (folder / "run.sh").write_text(f"#!/bin/bash\ntorchrun --nproc_per_node {case['ranks']} train.py\n")
        report = analyse(Request((folder,), load_settings(folder), jobs=1, use_cache=False))
    return list(report.findings)


def disagreement(case: dict[str, Any], verdict: dict[str, Any], findings: Iterable[Any]) -> str:
    """How the two differ, in a word or two; ``""`` where they agree."""
    errors = [finding for finding in findings if finding.severity.name == "ERROR"]
    if verdict["stage"] == "lost" or any(text in verdict["message"] for text in NOT_OF_THE_SCRIPT):
        return ""
    if verdict["stage"] == "done":
        return "false alarm" if errors else ""
    if not errors:
        return "missed"
    wanted = responsible(case)
    return "" if any(_named(one) & wanted for one in errors) else "error elsewhere"


def responsible(case: dict[str, Any]) -> set[str]:
    """The arguments and calls that can be meant: those that were changed, the optimizer and the call behind the boost.

    Any size may be the one that does not fit the number of processes.
    """
    changes = [word for change in case["touched"] for word in change.split()]
    named = {re.split(r"[=({]", word.lstrip("~"))[0] for word in changes}
    if named & SIZES or not changes or any(word.startswith("@") for word in changes):
        named |= {*SIZES, "parallel_product"}
    if "step" in case:
        named |= set(re.findall(r"\b\w+\.(\w+)\(", case["step"]))
    return named | ({"optimizer"} if "optimizer" in case else set())


def _named(finding: Any) -> set[str]:
    """What an error is about: the last step of its symbol, and the names of arguments and calls in its message."""
    symbol = {finding.symbol.rpartition(".")[2], finding.symbol.partition("(")[2].rstrip(")")}
    quoted = set(re.findall(r"`(\w+)`", finding.message))
    return symbol | quoted | {word for word in re.findall(r"\w+", finding.message) if "_" in word}


def verdicts_of(home: Path, release: str, asked: list[dict[str, Any]], worker: list[str]) -> dict[int, dict[str, Any]]:
    """What the real release says of the cases."""
    lines = "".join(
        json.dumps({"id": case["id"], "ranks": case["ranks"], "script": text_of(case, release)}) + "\n"
        for case in asked
    )
    folder = (home / f"colossalai-{release}").resolve()
    python = (home / "colossalai" / "venv" / "bin" / "python").absolute()
    command = [*worker, release] if worker else [str(python), str(HERE / "colossalai_worker.py")]
    variables = {**os.environ, "PYTHONPATH": str(folder)} if not worker else dict(os.environ)
    with tempfile.TemporaryDirectory() as there, Path(there, "log.txt").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            command, input=lines, stdout=-1, stderr=log, text=True, check=True, env=variables, cwd=there
        )
    return {verdict["id"]: verdict for verdict in map(json.loads, done.stdout.splitlines())}


def main() -> int:
    """Compares and reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--home", type=Path, default=Path(".oracle"), help="where torch and the releases are")
    parser.add_argument("--releases", nargs="+", default=["0.5.0"])
    parser.add_argument("--cases", type=int, default=100, help="for each release")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--worker", nargs="+", default=[], help="a command that takes a release and stands for the worker"
    )
    parser.add_argument("--rows", type=Path, help="write every case with both verdicts there, as JSON lines")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for release in arguments.releases:
        asked = generated(arguments.cases, arguments.seed)
        verdicts = verdicts_of(arguments.home, release, asked, arguments.worker)
        for case in asked:
            findings = our_findings(case, release)
            shown = [f"{one.severity.name.lower()} {one.code} {one.symbol}: {one.message}" for one in findings]
            how = disagreement(case, verdicts[case["id"]], findings)
            rows.append(
                {"release": release, "how": how, "case": case, "verdict": verdicts[case["id"]], "findings": shown}
            )
    if arguments.rows:
        arguments.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return report(rows)


def report(rows: list[dict[str, Any]]) -> int:
    """Prints the disagreements and the numbers; 1 where they are more than is promised."""
    for row in rows:
        if row["how"]:
            _print(row)
    kinds = Counter(row["how"] for row in rows)
    refused = sum(row["verdict"]["stage"] in ("refused", "exit") for row in rows)
    lost = sum(row["verdict"]["stage"] == "lost" for row in rows)
    wrong = kinds["missed"] + kinds["error elsewhere"]
    print(f"{len(rows)} cases, {lost} lost, {kinds['false alarm']} false alarms")
    print(f"{refused} refused: {kinds['missed']} missed, {kinds['error elsewhere']} blamed on another argument")
    return int(bool(kinds["false alarm"]) or wrong > MISSED * refused)


def _print(row: dict[str, Any]) -> None:
    case, verdict = row["case"], row["verdict"]
    print(f"--- colossalai {row['release']}, {case['ranks']} processes: {row['how']}")
    print(f"    real: {verdict['stage']} {verdict['error']} {verdict['message'][:200]!r}")
    for shown in row["findings"]:
        print(f"    ours: {shown}")
    print("    " + text_of(case, row["release"]).strip().replace("\n", "\n    "))


if __name__ == "__main__":
    sys.exit(main())
