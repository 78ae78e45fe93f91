"""Source files: what kind of file each one is, and its text."""

from __future__ import annotations

import codecs
import re
from enum import Enum

from distlint.model.record import dataclass

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are not read: no configuration or script that people write is so long, and parsing must stay bounded."""


class SourceKind(Enum):
    """The formats that we read."""

    PYTHON = "python"
    JSON = "json"
    YAML = "yaml"
    TOML = "toml"
    SHELL = "shell"
    REQUIREMENTS = "requirements"
    INI = "ini"
    SETUP_CFG = "setup-cfg"
    LOCK = "lock"
    DOCKERFILE = "dockerfile"
    MAKEFILE = "makefile"
    HOSTFILE = "hostfile"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the project: its path relative to the root (forward slashes), its kind and its bytes."""

    path: str
    kind: SourceKind
    data: bytes


_NAME_CODECS = frozenset({"idna", "punycode", "undefined"})
"""Codecs for host names, made for a few characters: a long text takes them for ever."""


class DecodingError(ValueError):
    """The bytes of a file are not text in any encoding that it may have."""


_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def decode(data: bytes, kind: SourceKind) -> str:
    """The text of a file: UTF-8 (a byte order mark is dropped), UTF-16 with a mark, or what a Python file declares.

    Raises ``DecodingError`` with a reason for people. Only Python's own text codecs are honoured in a declaration.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
        if kind is SourceKind.PYTHON:
            for line in data.split(b"\n", 2)[:2]:
                if match := _CODING.match(line):
                    encoding = _text_codec(match.group(1).decode("ascii"))
                    break
    try:
        text = data.decode(encoding)
    except UnicodeError as error:  # some codecs raise no more than that
        place = f": byte {error.start} does not decode" if isinstance(error, UnicodeDecodeError) else ""
        raise DecodingError(f"is not {encoding.removesuffix('-sig')} text{place}") from None
    if "\0" in text:
        raise DecodingError("is binary: it holds NUL characters")
    return text


def _text_codec(name: str) -> str:
    try:
        info = codecs.lookup(name)
    except LookupError:
        raise DecodingError(f"declares the unknown encoding {name!r}") from None
    if not getattr(info, "_is_text_encoding", True) or info.name in _NAME_CODECS:
        raise DecodingError(f"declares {name!r}, which is no text encoding")
    return "utf-8-sig" if info.name == "utf-8" else info.name
