"""Compares distlint's verdicts on Megatron-LM's command lines and configurations with those of the real Megatron.

Usage: ``python tools/oracle/megatron_oracle.py --home .oracle [--cases 60] [--seed 1] [--releases core_v0.16.1]``; ``make oracle``
prepares the home: an environment with torch, and below ``megatron`` a folder for each release, a checkout of Megatron-LM or, where that
can not be had, the package megatron-core, which is asked about Python only. Every disagreement is printed with its case. The exit code is
1 where there is a false alarm, or where more than 5 % of what is refused is missed or blamed on another option, or more than 15 % of the
cases with an overridden option have one that nothing is said about.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hypothesis
import megatron_cases
import megatron_object_cases
from hypothesis import strategies as st
from megatron_project import launch_script, write_project

HERE = Path(__file__).resolve().parent
OBJECTS = 4
"""One of so many cases is of Python objects."""
MISSED = 0.05
SILENT = 0.15
"""The shares of refused cases and of cases with overridden options that may go unnoticed."""


class Home:
    """Where the environment and the releases are; or a command that takes a release and stands for the worker."""

    def __init__(self, folder: Path, worker: list[str]) -> None:
        self.folder = folder.resolve()
        self.worker = worker

    def releases(self) -> list[str]:
        """The folders of releases."""
        return sorted(path.name for path in (self.folder / "megatron").glob("core_*") if path.is_dir())

    def ask(self, release: str, lines: str, *more: str) -> str:
        """The worker's output."""
        if self.worker:
            return subprocess.run([*self.worker, release, *more], input=lines, stdout=-1, text=True, check=True).stdout
        variables = {**os.environ, "PYTHONPATH": str(self.folder / "megatron" / release)}
        command = [str(self.folder / "venv" / "bin" / "python"), str(HERE / "megatron_worker.py"), *more]
        # releases leave compiled kernels and logs where they run
        with (
            (self.folder / f"log-megatron-{release}.txt").open("w", encoding="utf-8") as log,
            tempfile.TemporaryDirectory() as there,
        ):
            done = subprocess.run(
                command, input=lines, stdout=-1, stderr=log, text=True, check=True, env=variables, cwd=there
            )
        return done.stdout


def generated(known: frozenset[str], count: int, seed: int) -> list[dict[str, Any]]:
    """That many different cases, the same ones for the same seed; of Python only where no option is known."""
    objects = count // OBJECTS if known else count
    cases = _distinct(megatron_cases.cases(known), count - objects, seed) if known else []
    cases += _distinct(megatron_object_cases.cases(), objects, seed)
    return [{"id": number, **case} for number, case in enumerate(cases)]


def _distinct(strategy: st.SearchStrategy[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count * 4 + 1,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(case: dict[str, Any]) -> None:
        if len(found) < count:
            # many examples differ in nothing but the base
            key = json.dumps(case["touched"]) if case["touched"] else json.dumps(case, sort_keys=True)
            found.setdefault(key, json.loads(json.dumps(case)))

    collect()
    return list(found.values())


def our_findings(case: dict[str, Any], version: str) -> list[Any]:
    """What distlint finds in the case's repository."""
    from distlint.engine import Request, analyse
    from distlint.settings import load_settings

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_project(folder, case, version)
        report = analyse(Request((folder,), load_settings(folder), jobs=1, use_cache=False))
    return list(report.findings)


NOT_OF_THE_OPTIONS = (
    # processes and files that the worker lacks
    "unable to open file",
    "Persistent checkpoint worker",
    # classes of packages that the worker lacks
    "requires FusedAdam from TransformerEngine",
    "name 'TEColumnParallelGroupedLinear' is not defined",
    # files of tokenizers
    "tokenizer_path: tokenizer.model is invalid",
)
"""Refusals that no reader of the repository can know."""


NOTICED_LATE = {
    "tokenizer": "",
    "schedule": r"either train-iters or train-samples|float\(max_lr\)|eval_interval",
}
"""Stage → refusals for the lack of an option. Nothing on the command line is wrong then, and a script or a checkpoint may bring
what lacks, so that a warning is enough."""


def disagreement(case: dict[str, Any], verdict: dict[str, Any], findings: Iterable[Any]) -> str:
    """How the two differ, in a word or two; ``""`` where they agree."""
    findings = list(findings)
    errors = [finding for finding in findings if finding.severity.name == "ERROR"]
    if verdict["stage"] == "lost" or any(text in verdict.get("message", "") for text in NOT_OF_THE_OPTIONS):
        return ""
    if verdict["stage"] != "done":
        wanted = responsible(case, verdict)
        if not errors and _is_late(verdict):
            return "" if any(_names(finding) & wanted for finding in findings) else "missed"
        if not errors:
            return "missed"
        return "" if not wanted or any(_names(finding) & wanted for finding in errors) else "error elsewhere"
    if verdict["unjudged"] and not all(text.startswith(("build", "tokenizer")) for text in verdict["unjudged"]):
        return ""
    if errors:
        return "false alarm"
    named = set().union(*map(_names, findings)) if findings else set()
    silent = sorted(set(overridden(verdict)) - named)
    return f"silent about {', '.join(silent)}" if silent else ""


def _is_late(verdict: dict[str, Any]) -> bool:
    pattern = NOTICED_LATE.get(verdict["stage"])
    text = " ".join([verdict["message"], *verdict["at"]])
    return pattern is not None and re.search(pattern, text) is not None


def responsible(case: dict[str, Any], verdict: dict[str, Any]) -> set[str]:
    """The options that can be meant: those that were changed, and those that the real thing speaks of or looks at."""
    text = " ".join([*case.get("touched", ()), verdict["message"], *verdict["at"]])
    return _words(text) | {"world_size", "nproc_per_node", "model_parallel_product"}


def overridden(verdict: dict[str, Any]) -> list[str]:
    """The options that were given and became something else, or that the real thing says have no effect."""
    # a number that is spelled out as a list of layers stays what it is
    became = [(name, given, made) for name, (given, made) in verdict["became"].items() if made != "<gone>"]
    found = [name for name, given, made in became if not (given.isdigit() and made.startswith("["))]
    for line in verdict["said"].splitlines():
        if re.search(r"no effect|ignored|deprecated|disabl", line, re.IGNORECASE):
            found += [word.replace("-", "_") for word in re.findall(r"^(?:WARNING: )?--([a-z][a-z0-9-]+)", line)]
    return found


def _names(finding: Any) -> set[str]:
    # the product of the sizes stands for each of them
    sizes = "tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size"
    also = sizes if finding.symbol == "model_parallel_product" else ""
    related = " ".join(str(getattr(place, "message", "")) for place in finding.related)
    return _words(f"{finding.symbol} {finding.message} {finding.help} {related} {also}")


def _words(text: str) -> set[str]:
    words = re.findall(r"[A-Za-z][A-Za-z0-9_-]+", text)
    return {word.strip("-_").replace("-", "_").lower() for word in words}


def compare(release: str, asked: list[dict[str, Any]], verdicts: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """All cases of one release with both verdicts."""
    version = release.removeprefix("core_v").removeprefix("core_r")
    rows = []
    for case in asked:
        findings = our_findings(case, version)
        verdict = verdicts[case["id"]]
        shown = [f"{f.severity.name.lower()} {f.code} {f.symbol}: {f.message}" for f in findings]
        how = disagreement(case, verdict, findings)
        rows.append({"release": release, "how": how, "case": case, "verdict": verdict, "findings": shown})
    return rows


def main() -> int:
    """Compares and reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--home", type=Path, default=Path(".oracle"), help="where torch and the releases are")
    parser.add_argument("--releases", nargs="+", default=[], help="those to ask, instead of all that are there")
    parser.add_argument("--cases", type=int, default=100, help="for each release")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--worker", nargs="+", default=[], help="a command that takes a release and stands for the worker"
    )
    parser.add_argument("--rows", type=Path, help="write every case with both verdicts there, as JSON lines")
    arguments = parser.parse_args()
    home = Home(arguments.home, arguments.worker)
    there = home.releases()
    releases = [name for name in arguments.releases if home.worker or name in there] or there

    def asked_and_said(release: str) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
        table = json.loads(home.ask(release, "", "--options"))
        if not table:
            print(f"{release}: no megatron.training here, only configurations in Python are asked about")
        known = frozenset(name for row in table for name in row["names"])
        asked = cases[release] = generated(known, arguments.cases, arguments.seed)
        lines = "".join(json.dumps(case) + "\n" for case in asked)
        return asked, {verdict["id"]: verdict for verdict in map(json.loads, home.ask(release, lines).splitlines())}

    cases: dict[str, list[dict[str, Any]]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(asked_and_said, releases))
    rows = []
    for release, (asked, verdicts) in zip(releases, answers, strict=True):
        rows += compare(release, asked, verdicts)
    if arguments.rows:
        arguments.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return report(rows)


def report(rows: list[dict[str, Any]]) -> int:
    """Prints the disagreements and the numbers; 1 where they are more than is promised."""
    for row in rows:
        if row["how"]:
            _print(row)
    kinds = Counter(row["how"].partition(" about")[0] for row in rows)
    refused = sum(row["verdict"]["stage"] not in ("done", "lost") for row in rows)
    lost = sum(row["verdict"]["stage"] == "lost" for row in rows)
    changed = sum(row["verdict"]["stage"] == "done" and bool(overridden(row["verdict"])) for row in rows)
    missed = kinds["missed"] + kinds["error elsewhere"]
    print(f"{len(rows)} cases, {lost} lost, {kinds['false alarm']} false alarms")
    print(f"{refused} refused: {kinds['missed']} missed, {kinds['error elsewhere']} blamed on another option")
    print(f"{changed} accepted with overridden options: {kinds['silent']} with one that nothing is said about")
    return int(bool(kinds["false alarm"]) or missed > MISSED * refused or kinds["silent"] > SILENT * changed)


def _print(row: dict[str, Any]) -> None:
    case, verdict = row["case"], row["verdict"]
    print(f"--- {row['release']}: {row['how']} (changes: {'; '.join(case['touched']) or 'none'})")
    at = verdict["at"][-1] if verdict["at"] else ""
    print(f"    real: {verdict['stage']} {verdict['error']} {verdict['message'][:300]!r} {at}")
    for name, (given, made) in verdict["became"].items():
        print(f"    real: {name} {given} becomes {made}")
    for shown in row["findings"]:
        print(f"    ours: {shown}")
    if "argv" in case:
        print("    " + launch_script({**case, "id": 0}).replace("\\\n   ", "").replace("\n", "\n    ").strip())
    else:
        print("    " + json.dumps({name: case[name] for name in ("config", "groups", "ranks") if name in case}))


if __name__ == "__main__":
    sys.exit(main())
