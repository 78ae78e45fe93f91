"""Writes the rule pages: ``docs/rules/<CODE>.md``, ``index.md`` and ``advisories.md``, from the rule files and their fixtures.

Run it after changing a rule; ``--check`` writes nothing and exits with 1 when a page is missing, stale or left over.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from distlint.cli.rulebook import all_rules  # noqa: E402
from distlint.judge.advisories import all_advisories  # noqa: E402
from distlint.judge.rulebook import rules_folder  # noqa: E402
from distlint.model.rule import Rule  # noqa: E402
from distlint.report.advisory_page import list_markdown  # noqa: E402
from distlint.report.page import page_markdown  # noqa: E402

INDEX_HEAD = """# Rules

The letters of a code say the framework, its first digit the root cause: 1 configuration error, 2 API misuse, 3 missing
precondition, 4 version incompatibility, 5 communication and concurrency, 6 memory, 7 tensor, 8 performance.

| Code | Name | Severity | Fix | What it finds |
| --- | --- | --- | --- | --- |
"""


def pages(rules: Mapping[str, Rule], fixtures: Path) -> dict[str, str]:
    """File name → text of every page that belongs into the folder."""
    written = {f"{code}.md": page_markdown(rule, fixtures=fixtures) for code, rule in rules.items()}
    index = INDEX_HEAD + "".join(_row(rule) for rule in rules.values())
    return {**written, "index.md": index, "advisories.md": list_markdown(all_advisories(rules_folder()))}


def stale(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Names of pages that are missing, differ, or belong to no rule any more, sorted."""
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in {*present, *wanted} if present.get(name) != wanted.get(name))


def write(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Brings the folder up to date and returns the names of the pages that changed."""
    changed = stale(folder, wanted)
    folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (folder / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            (folder / name).unlink()
    return changed


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks the pages; the exit code is 1 if a check found stale ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a page is stale")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "rules", help="where the pages are")
    given = parser.parse_args(arguments)
    wanted = pages(all_rules(installed=False), ROOT / "fixtures")
    changed = stale(given.folder, wanted) if given.check else write(given.folder, wanted)
    for name in changed:
        print(f"{'stale' if given.check else 'written'}: {given.folder / name}")
    return 1 if given.check and changed else 0


def _row(rule: Rule) -> str:
    fix = rule.fix.safety.word if rule.fix is not None else "-"
    summary = " ".join(rule.summary.split()).replace("|", "\\|")
    return f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.word} | {fix} | {summary} |\n"


if __name__ == "__main__":
    sys.exit(main())
