"""Writes the tables of ``docs/usage.md``: the options of ``distlint check`` and the keys of settings files.

Each stands between the comments ``<!-- NAME -->`` and ``<!-- end of NAME -->``; the rest is written by hand.
``--check`` writes nothing and exits with 1 when a table is stale.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from distlint.cli.check import command  # noqa: E402
from distlint.settings_schema import OPTIONS  # noqa: E402

_RANGE = re.compile(r"\[[a-z0-9<>=]+\]$")
"""How click shows the range of a number."""

PAGE = ROOT / "docs" / "usage.md"


def filled(page: str) -> str:
    """The page with all tables up to date; raises ``ValueError`` if one of them has no place there."""
    for name, rows in (("options", _options()), ("settings", _settings())):
        table = "".join(["\n", *(f"{row}\n" for row in rows), "\n"])
        place = re.search(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)", page, re.DOTALL)
        if place is None:
            raise ValueError(f"the page has no place for the table of {name}")
        page = page[: place.start()] + table + page[place.end() :]
    return page


def _options() -> Iterator[str]:
    yield "| option | meaning |"
    yield "| --- | --- |"
    context = click.Context(command)
    for parameter in command.params:
        names, meaning = parameter.get_help_record(context) or ("", "")
        if meaning:
            yield f"| `{_cell(names.partition(' [')[0])}` | {_cell(_RANGE.sub('', meaning))} |"


def _settings() -> Iterator[str]:
    yield "| key | default | meaning |"
    yield "| --- | --- | --- |"
    for key, option in OPTIONS.items():
        default = "" if option.default in (None, "") else f"`{_toml(option.default)}`"
        yield f"| `{key}` | {default} | {_cell(option.help)} |"


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks the tables; the exit code is 1 if a check found them stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a table is stale")
    given = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    wanted = filled(page)
    if wanted == page:
        return 0
    print(f"{'stale' if given.check else 'written'}: {PAGE.relative_to(ROOT)}")
    if given.check:
        return 1
    PAGE.write_text(wanted, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
