"""TOML files with exact spans: values come from ``tomli``, places from a scan of our own."""

from __future__ import annotations

import re
from typing import Any

import tomli

from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence
from distlint.model.facts import ReadError
from distlint.model.record import dataclass
from distlint.model.value import known, unknown
from distlint.read.config import HOLE, MAX_NODES, TOO_DEEP, ConfigReading, Places, Refusal, has_hole, is_open_key
from distlint.read.markup import Masked, mask
from distlint.read.toml_scan import Array, Place, Table, TomlScanner

_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_TRIES = 4
"""Statements before the error that are given up, one after the other, until the rest is TOML."""


def read_toml(text: str, file: str, *, line_offset: int = 0, carrier: str = "file") -> ConfigReading:
    """The document of a TOML text; ``loaders`` is ``("toml",)`` if ``tomli`` takes it as it is.

    ``line_offset`` is the number of lines of ``file`` above the text, for a text that is embedded (``carrier`` says
    in what). A broken text gives the statements before the error, in tables marked open. Never raises.
    """
    places = Places(text, file, line_offset)
    masked: Masked | None = None
    outcome = _load(text)
    first = outcome.error
    if first is not None and (masked := mask(text, "1")) is not None:
        outcome = _load(masked.text)
    root = _Joiner(places, outcome, masked).join()
    document = places.document(root, carrier, "toml")
    if first is None:
        return ConfigReading((document,), (), ("toml",))
    refusal = Refusal("toml", places.span(first[0], first[0]), first[1])
    errors: tuple[ReadError, ...] = ()
    if outcome.error is not None and not (masked is not None and masked.hides):
        at, message = outcome.error
        errors = (ReadError(places.span(at, at), message),)
    return ConfigReading((document,), errors, (), (refusal,), masked is not None)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The values of a text and their places; of the part before the error, if there is one."""

    values: dict[str, Any]
    table: Table
    error: tuple[int, str] | None = None


def _load(text: str) -> _Outcome:
    scanner = TomlScanner(text, _decode_key)
    lost = scanner.scan()
    if lost is not None and lost.deep:
        error = lost.offset, TOO_DEEP
    else:
        try:
            return _Outcome(tomli.loads(text), scanner.root)
        except (ValueError, RecursionError) as failure:
            error = _place(str(failure), text)
    starts = [start for start in scanner.statements if start <= error[0]]
    for start in reversed(starts[-_TRIES:]):
        scanner = TomlScanner(text[:start], _decode_key)
        if scanner.scan() is None:
            try:
                return _Outcome(tomli.loads(text[:start]), scanner.root, error)
            except (ValueError, RecursionError):
                continue
    return _Outcome({}, Table(0, len(text)), error)


def _decode_key(raw: str) -> str:
    try:
        return str(tomli.loads(f"key = {raw}")["key"])
    except ValueError:
        return raw


def _place(message: str, text: str) -> tuple[int, str]:
    """The offset and the reason in a message of ``tomli``, which counts lines by their line feeds."""
    match = _POSITION.search(message)
    if match is None or match[1] is None:
        reason = message[: match.start()] if match else message
        return len(text), _lower(reason)
    start = 0
    for _ in range(int(match[1]) - 1):
        start = text.find("\n", start) + 1
    return min(start + int(match[2]) - 1, len(text)), _lower(message[: match.start()])


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


class _Joiner:
    """Puts values and places together."""

    def __init__(self, places: Places, outcome: _Outcome, masked: Masked | None) -> None:
        self._places = places
        self._outcome = outcome
        self._masked = masked
        self._open = outcome.error is not None or (masked is not None and masked.hides)
        self._left = MAX_NODES

    def join(self) -> Node:
        return self._node(self._outcome.table, self._outcome.values)

    def _node(self, place: Place, value: Any) -> Node:
        span = self._places.span(place.start, place.end)
        if isinstance(value, dict) and isinstance(place, Table):
            return self._mapping(place, value)
        if isinstance(value, list) and isinstance(place, Array):
            pairs = list(zip(place.items, value, strict=False))[: self._left]
            self._left -= len(pairs)
            items = tuple(self._node(*pair) for pair in pairs)
            return Sequence(items, span, self._open or len(items) < len(value))
        if isinstance(value, str) and has_hole(value):
            return Leaf(unknown(HOLE, span), span)
        if self._masked is not None and self._masked.touches(place.start, place.end):
            return Leaf(unknown(HOLE, span), span)
        return Leaf(known(value, span), span)

    def _mapping(self, table: Table, values: dict[str, Any]) -> Mapping:
        hidden = self._open
        entries = []
        for key, value in values.items():
            if key not in table.keys or self._left < 1:
                hidden = True
                continue
            self._left -= 1
            start, end, place = table.keys[key]
            certain = self._masked is None or self._masked.is_certain(start)
            hidden |= is_open_key(key)
            if self._masked is not None and self._masked.touches(start, end):
                hidden = True
                key = self._places.index.text[start:end]
            entries.append(Entry(key, self._places.span(start, end), self._node(place, value), certain))
        return Mapping(tuple(entries), self._places.span(table.start, table.end), hidden)
