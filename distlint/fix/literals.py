"""Writing a plain Python value in the syntax of the place where it goes."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from distlint.fix.operations import CannotFixError
from distlint.model.record import dataclass

_BARE_TOML_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_PLAIN_YAML = re.compile(r"[A-Za-z_./][\w./+ -]*\Z")
_PLAIN_SHELL = re.compile(r"[\w@%+=:,./-]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A value given by its source text, which is written as it is."""

    text: str


def json_literal(value: Any) -> str:
    """A value as JSON on one line; raises ``CannotFixError`` for what JSON cannot say."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json_literal(str(key))}: {json_literal(item)}" for key, item in value.items()) + "}"
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise CannotFixError(f"cannot write {value!r} as JSON") from None


def json_block(value: Any, indent: str, step: str, newline: str) -> str:
    """A value as JSON with each entry of a mapping on its own line; ``indent`` is that of the line it begins on."""
    if not isinstance(value, dict) or not value:
        return json_literal(value)
    inner = indent + step
    lines = [f"{json_literal(str(key))}: {json_block(item, inner, step, newline)}" for key, item in value.items()]
    return "{" + newline + inner + f",{newline}{inner}".join(lines) + newline + indent + "}"


def python_literal(value: Any, quote: str = '"') -> str:
    """A value as a Python expression; strings in ``quote`` where that needs no escapes."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        pairs = (f"{python_literal(key, quote)}: {python_literal(item, quote)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(python_literal(item, quote) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, str):
        plain = value.isprintable() and quote not in value and "\\" not in value
        return f"{quote}{value}{quote}" if plain else repr(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({quote}{value}{quote})"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    raise CannotFixError(f"cannot write {value!r} as Python")


def yaml_flow(value: Any) -> str:
    """A value as YAML on one line, such that PyYAML (YAML 1.1) and YAML 1.2 loaders read the same."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_flow(key)}: {yaml_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(yaml_flow(item) for item in value) + "]"
    if isinstance(value, str):
        return value if _reads_as_itself(value) else json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, float):
        return _yaml_float(value)
    return json_literal(value)


def yaml_block(value: Any, indent: str, step: str, newline: str) -> str:
    """What follows the colon of a key: a scalar on its line, or an indented block. ``indent`` is that of the key."""
    if not isinstance(value, dict) or not value:
        return " " + yaml_flow(value)
    inner = indent + step
    lines = (f"{inner}{yaml_flow(key)}:{yaml_block(item, inner, step, newline)}" for key, item in value.items())
    return newline + newline.join(lines)


def toml_literal(value: Any) -> str:
    """A value as TOML on one line; raises ``CannotFixError`` for ``None``, which TOML has not."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_literal(item) for item in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None:
        raise CannotFixError("cannot write None as TOML")
    return json.dumps(value, ensure_ascii=not value.isprintable()) if isinstance(value, str) else json_literal(value)


def toml_key(key: Any) -> str:
    """A key as TOML, bare where it may be."""
    return str(key) if _BARE_TOML_KEY.match(str(key)) else json.dumps(str(key))


def shell_word(value: Any) -> str:
    """A string or number as one word of a shell command, quoted where it must be."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise CannotFixError(f"cannot write {value!r} as a word of a command")
    text = str(value)
    if _PLAIN_SHELL.match(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _yaml_float(value: float) -> str:
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    # YAML 1.1 takes ``1e-05`` for a string: it wants the point.
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else text


def _reads_as_itself(text: str) -> bool:
    if not _PLAIN_YAML.match(text) or text != text.strip():
        return False
    import yaml

    try:
        return bool(yaml.safe_load(text) == text)
    except (yaml.YAMLError, ValueError):
        return False
