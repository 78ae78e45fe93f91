"""Spells the fixtures otherwise, and tells which findings are lost or come up by that.

    python tools/respell/respell.py [--spellings a,b] [--rules PT5,HF2] [--every N] [--first K]

Meaning the same, a program should be judged the same: a finding that is lost shows a check that knows one spelling only, and one that
comes up in a good case is a false alarm. Each line names the spelling, the case, and the codes that were lost (``-``) and found (``+``); a
table at the end counts them. Nothing of the cases is run.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from spellings import SPELLINGS, respelled

import distlint

FIXTURES = Path(__file__).parents[2] / "fixtures"


def codes(folder: Path) -> set[str]:
    """The codes of what is found in a folder."""
    return {finding.code for finding in distlint.check(folder, use_cache=False).findings}


def plainly_written(folder: Path) -> None:
    """Writes the programs of a folder as ``ast`` does, so that a spelling changes nothing but what it is about."""
    for path in folder.rglob("*.py"):
        path.write_text(ast.unparse(ast.parse(path.read_text())) + "\n")


def compare(case: Path, spellings: list[str], tally: Counter[tuple[str, str]]) -> None:
    """Prints what each spelling of a case makes other than it was, and counts it."""
    with tempfile.TemporaryDirectory() as place:
        plain = Path(place, "plain")
        shutil.copytree(case, plain)
        try:
            plainly_written(plain)
        except SyntaxError:
            return
        expected = codes(plain)
        for spelling in spellings:
            other = Path(place, spelling)
            shutil.copytree(plain, other)
            changed = False
            for path in other.rglob("*.py"):
                text = respelled(path.read_text(), spelling)
                if text is not None:
                    path.write_text(text)
                    changed = True
            if not changed:
                continue
            found = codes(other)
            tally[spelling, "cases"] += 1
            tally[spelling, "lost"] += bool(expected - found)
            tally[spelling, "found"] += bool(found - expected)
            if found != expected:
                words = [f"-{code}" for code in sorted(expected - found)]
                words += [f"+{code}" for code in sorted(found - expected)]
                print(f"{spelling}  {case.parent.name}/{case.name}  {' '.join(words)}", flush=True)


def main() -> int:
    """Compares the chosen cases; exits with 0, as what is lost is for people to read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--spellings", default=",".join(SPELLINGS), help="names, with commas")
    parser.add_argument("--rules", default="PT,HF2,DS2", help="how the codes of the rules begin, with commas")
    parser.add_argument("--every", type=int, default=1, help="take every Nth case")
    parser.add_argument("--first", type=int, default=0, help="leave out the first K cases")
    options = parser.parse_args()
    rules = tuple(options.rules.split(","))
    cases = [
        case
        for rule in sorted(FIXTURES.iterdir())
        if rule.name.startswith(rules)
        for case in sorted(rule.iterdir())
        if case.is_dir() and any(case.rglob("*.py"))
    ]
    tally: Counter[tuple[str, str]] = Counter()
    for case in cases[options.first :: options.every]:
        compare(case, options.spellings.split(","), tally)
    print(f"\n{'spelling':28}{'cases':>7}{'lost':>7}{'found':>7}")
    for spelling in options.spellings.split(","):
        print(f"{spelling:28}" + "".join(f"{tally[spelling, what]:7}" for what in ("cases", "lost", "found")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
