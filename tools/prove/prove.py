"""Runs the cases of rules for real and compares what they show with what the rules say.

Usage: ``python tools/prove/prove.py --python PYTHON [--rules PT501,PT7] [--changed]``; ``make prove`` installs torch and the
frameworks first. It prints a line for each case, brings the record and ``docs/proof.md`` up to date, and ends with 1 if
a case does not show what its rule says. ``--page`` only writes the page.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import records  # noqa: E402
from page import page  # noqa: E402
from running import Environment, Outcome  # noqa: E402
from verdicts import BY_SIGNAL, Verdict, judge  # noqa: E402

from distlint.cli.rulebook import all_rules  # noqa: E402
from distlint.model.rule import Rule  # noqa: E402

PAGE = ROOT / "docs" / "proof.md"
PACKAGES = ("torch", "accelerate", "transformers", "deepspeed", "lightning")


MAX_AGAIN = 4
"""How often a case is run again that a signal has ended."""


def prove(rule: Rule, environment: Environment, pool: ThreadPoolExecutor) -> dict[str, Verdict]:
    """The verdicts on all cases of a rule; what does not fit is run again, with more patience, before it counts."""
    proof = rule.proof
    assert proof is not None  # noqa: S101
    folders = {case.name: case for case in records.cases_of(rule)}

    def run(names: Iterable[str], patience: float) -> dict[str, Outcome]:
        def one(name: str) -> Outcome:
            script = records.script_of(rule, folders[name])
            return environment.run(folders[name], proof.run, script, proof.arguments, patience)

        chosen = [*names]
        return dict(zip(chosen, pool.map(one, chosen), strict=True))

    outcomes = run(folders, 1)
    verdicts = judge(proof, outcomes)
    for again in range(MAX_AGAIN):
        # gloo now and then aborts a process that closes its connections a moment after another
        doubtful = [name for name, one in verdicts.items() if not one.fits and (not again or BY_SIGNAL in one.seen)]
        if not doubtful:
            break
        outcomes |= run(doubtful, 3)
        verdicts = judge(proof, outcomes)
    return verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where a case does not show what it should."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch and the frameworks")
    parser.add_argument("--path", default="", help="further folders of packages for it")
    parser.add_argument("--rules", default="", help="codes or beginnings of codes, with commas; all by default")
    parser.add_argument("--changed", action="store_true", help="only rules that are not in the record as they are now")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--no-record", action="store_true", help="write neither the record nor the page")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page")
    given = parser.parse_args(arguments)
    # runs end what they started: a termination waits for those that are under way
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    record = records.read()
    rules = all_rules(installed=False)
    proven = {code: rule for code, rule in rules.items() if rule.proof is not None and not rule.proof.unless}
    record["rules"] = {code: noted for code, noted in record["rules"].items() if code in proven}
    failed = 0 if given.page else _run(_chosen(proven, record, given), record, given)
    if not given.no_record:
        records.write(record)
        PAGE.write_text(page(rules.values(), record), encoding="utf-8", newline="\n")
    return 1 if failed else 0


def _chosen(proven: dict[str, Rule], record: dict[str, Any], given: argparse.Namespace) -> list[Rule]:
    starts = tuple(given.rules.replace(",", " ").split()) or ("",)
    chosen = [rule for code, rule in proven.items() if code.startswith(starts)]
    return [rule for rule in chosen if not records.is_current(rule, record)] if given.changed else chosen


def _run(rules: Sequence[Rule], record: dict[str, Any], given: argparse.Namespace) -> int:
    """Runs rules and notes what they show; returns how many cases did not show what they should."""
    environment = Environment(given.python, given.path)
    if rules:
        record["versions"] = environment.versions(PACKAGES)
    if any(records.mentions(rule, "deepspeed") for rule in rules):
        environment.build_kernels()
    failed = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for rule in rules:
            verdicts = prove(rule, environment, pool)
            folders = {case.name: case for case in records.cases_of(rule)}
            for name, verdict in verdicts.items():
                print(f"{'ok  ' if verdict.fits else 'FAIL'} {rule.code} {name}: {verdict.seen}", flush=True)
            wrong = sum(not verdict.fits for verdict in verdicts.values())
            failed += wrong
            record["rules"].pop(rule.code, None)
            if not wrong:
                cases = {
                    name: {"hash": records.hash_of(rule, folders[name]), "seen": verdict.seen}
                    for name, verdict in verdicts.items()
                }
                record["rules"][rule.code] = {"symptom": rule.proof.symptom if rule.proof else "", "cases": cases}
            if not given.no_record:
                records.write(record)
    print(f"{len(rules)} rules, {failed} cases that do not show what they should")
    return failed


if __name__ == "__main__":
    sys.exit(main())
