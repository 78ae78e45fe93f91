"""Compares the harvested table of Megatron's options with the parser that a release really builds.

Usage: ``python tools/oracle/megatron_parsers.py 0.16.1``, with torch and that checkout of Megatron-LM on PYTHONPATH. Prints
every difference, and ends with status 1 if there is one.
"""

from __future__ import annotations

import argparse
import enum
import gzip
import json
import sys
import typing
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

TABLE = Path(__file__).parent.parent.parent / "distlint" / "knowledge" / "megatron_arguments.json.gz"
SWITCHES = {argparse._StoreTrueAction: "true", argparse._StoreFalseAction: "false"}
FORMS = ("frequency", "integers", "word", "any")
"""Types that are functions of the program."""


class _BuiltError(Exception):
    """Carries the finished parser out of ``parse_args``."""


def real_parser() -> argparse.ArgumentParser:
    """The parser that the ``parse_args`` of the Megatron on the path builds."""
    try:
        arguments = import_module("megatron.training.arguments")
    except ModuleNotFoundError:
        arguments = import_module("megatron.arguments")
    built: list[argparse.ArgumentParser] = []

    def stop(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        built.append(parser)
        raise _BuiltError

    with mock.patch.object(argparse.ArgumentParser, "parse_args", stop):
        try:
            arguments.parse_args()
        except _BuiltError:
            return built[0]
    raise SystemExit("parse_args did not come to the parser")


def real_flags(parser: argparse.ArgumentParser) -> dict[str, dict[str, Any]]:
    """What the parser says of each flag, as far as the table says it too."""
    table: dict[str, dict[str, Any]] = {}
    defaults: dict[str, Any] = {}
    for action in parser._actions:
        # of options that share a destination, the first one's default holds, be it None
        defaults.setdefault(action.dest, action.default)
        for flag in action.option_strings:
            if flag in ("-h", "--help"):
                continue
            kind = SWITCHES.get(type(action), "boolean" if "Boolean" in type(action).__name__ else "store")
            table[flag] = {
                "dest": action.dest,
                "action": kind,
                "default": _plain(defaults[action.dest]),
                "nargs": action.nargs if kind == "store" else None,
                "type": _type(action) if kind == "store" else None,
                "choices": _choices(action) if kind == "store" else None,
                "required": action.required,
            }
    return table


def _choices(action: argparse.Action) -> Any:
    return sorted(str(_plain(choice)) for choice in action.choices) if action.choices is not None else None


def _type(action: argparse.Action) -> str:
    if action.type is None:
        return "str"
    return action.type.__name__ if isinstance(action.type, type) else "function"


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def told_flags(release: str, flavour: str) -> dict[str, dict[str, Any]]:
    """The same of the table."""
    flags = json.loads(gzip.decompress(TABLE.read_bytes()).split(b"\n")[0])[flavour]
    at = [order for _, order in flags["releases"]].index(release)
    told = {}
    for flag, spans in flags["names"].items():
        rows = [[0, None, spans]] if isinstance(spans, int) else spans
        for first, end, number in rows:
            if first <= at and (end is None or at < end):
                told[flag] = _told(flag, flags["entries"][number])
    return told


def _told(flag: str, entry: dict[str, Any]) -> dict[str, Any]:
    action = entry.get("action", "store")
    store = action == "store"
    kind = entry.get("type", "str")
    word = kind == "word"
    choices = entry.get("choices")
    return {
        "dest": entry.get("dest", flag.lstrip("-").replace("-", "_")),
        "action": action,
        "default": entry.get("default", {"true": False, "false": True}.get(action)),
        "nargs": entry.get("nargs") if store else None,
        "type": ("function" if kind in FORMS else kind) if store else None,
        "choices": sorted(map(str, choices)) if store and choices is not None and not word else None,
        "words": choices if word else None,
        "computed": entry.get("computed", False),
        "required": entry.get("required", False),
        "perhaps": entry.get("perhaps", False),
    }


def differences(real: dict[str, dict[str, Any]], told: dict[str, dict[str, Any]]) -> list[str]:
    """What the two say differently, as lines."""
    lines = [f"{flag}: only the parser has it" for flag in sorted(real.keys() - told.keys())]
    lines += [
        f"{flag}: only the table has it" for flag in sorted(told) if flag not in real and not told[flag]["perhaps"]
    ]
    for flag in sorted(real.keys() & told.keys()):
        ours = dict(told[flag])
        words, computed, _ = ours.pop("words"), ours.pop("computed"), ours.pop("perhaps")
        for name, value in ours.items():
            other = real[flag][name]
            if name == "choices" and words is not None and other is not None:
                value = sorted(words)
            if (name == "default" and computed) or value == other:
                continue
            lines.append(f"{flag}: {name} is {other!r}, the table says {value!r}")
    return lines


def _stand_in_for_transformer_engine() -> None:
    """Makes imports of Transformer Engine succeed, which early releases can't do without."""
    for name in ("", ".pytorch", ".pytorch.module", ".pytorch.distributed", ".common", ".common.recipe"):
        module = mock.MagicMock(__version__="1.9.0", __spec__=None, __path__=[])
        sys.modules.setdefault("transformer_engine" + name, module)


def main() -> int:
    """Compares one release; see the module."""
    if not hasattr(typing, "override"):  # Python 3.11 lacks it, and nothing of what is asked here needs it
        typing.override = lambda function: function  # type: ignore[attr-defined]
    release, flavour = sys.argv[1], (sys.argv[2:] or ["megatron-lm"])[0]
    sys.argv = sys.argv[:1]
    real = real_flags(real_parser())
    found = differences(real, told_flags(release, flavour))
    print(f"{release}: {len(real)} flags, {len(found)} differences")
    for line in found:
        print(" ", line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
