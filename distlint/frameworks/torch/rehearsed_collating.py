"""Batches that a program puts together itself (``collate_fn``), in the rehearsal of a program: their sizes follow the rows in them.

Source: torch 2.13, ``utils/data/_utils/fetch.py``: the function gets the rows of a batch as a list; ``nn/utils/rnn.py`` for what pads them.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import fresh, picked_by
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.bounds import of_any, same_bounds
from distlint.rehearsal.unknowns import UNKNOWN, Absent, Opaque, Perhaps, RowSize, Source
from distlint.rehearsal.values import Given, Items, Table, Tensor, combined, is_known, source_of

_MAX_DEPTH = 3


def collated(player: Any, collate: Any, row: Any, size: Any, sign: Any, source: Source | None, call: ir.Call) -> Any:
    """What the program's own function makes of the rows of a batch, by a row that is like each of them."""
    stage = player.stage
    if sign is None and source is not None:
        # it is not known which rows these are, but each process has others
        sign = hash(("own", stage.rank, stage.steps))
    listed = Items(None, size)
    listed.whole = Opaque(sign, source)
    listed.sample = _like(row, sign, source)
    anywhere = player.module_scope(stage.entry)
    stage.unsure += 1
    try:
        found = player.apply(collate, Given([listed], {}), call, anywhere)
    finally:
        stage.unsure -= 1
    return _of_batch(found, sign, source)


def _like(row: Any, sign: Any, source: Source | None, depth: int = 0, known: dict[int, Any] | None = None) -> Any:
    """Any row: where it is not known how long one is, each batch has others.

    ``known`` are the lengths of other parts of it, by those in the row: parts that are as long as each other stay so.
    """
    of: dict[int, Any] = {} if known is None else known
    inner = None if sign is None else hash((sign, depth))
    if depth > _MAX_DEPTH:
        return Opaque(inner, source)
    if type(row) is tuple:
        return tuple(_like(one, _inside(sign, place), source, depth + 1, of) for place, one in enumerate(row))
    if isinstance(row, Table):
        parts = {key: _like(one, _inside(sign, key), source, depth + 1, of) for key, one in row.items.items()}
        found = Table(parts, is_open=row.open)
        if row.perhaps is not None:
            found.perhaps = {
                key: _like(one, _inside(sign, key), source, depth + 1, of) for key, one in row.perhaps.items()
            }
        return found
    if isinstance(row, Perhaps):
        missing = Opaque(None if inner is None else hash((inner, "missing")), source or row.missing.source)
        # where something else than what is the same for all rows decides whether it is there, each batch has other rows
        missing.chance = row.missing.chance or row.missing.sign is None or row.missing.source is not None
        held = _like(row.value, _inside(sign, "perhaps"), source, depth + 1, of)
        return (Absent if isinstance(row, Absent) else Perhaps)(held, inner, source, missing)
    if isinstance(row, Tensor):
        sizes = (
            None
            if row.shape is None
            else tuple(_own(one, of, _inside(inner, place), source) for place, one in enumerate(row.shape))
        )
        return Tensor(sizes, row.dtype, row.at, inner, source or row.source)
    if isinstance(row, Items):
        made = Items(None, _own(row.length(), of, _inside(inner, "length"), source))
        made.whole, made.sample = Opaque(inner, source), row.sample or (row.items[0] if row.items else None)
        return made
    return Opaque(inner, source) if not is_known(row) or isinstance(row, int | float | str) else row


def _inside(sign: Any, place: Any) -> Any:
    """What tells a part of something: nothing where nothing tells that."""
    return None if sign is None else (sign, place)


def _own(size: Any, known: dict[int, Any], sign: Any, source: Source | None) -> Any:
    if isinstance(size, int):
        return size
    if size is UNKNOWN or id(size) not in known:
        known[id(size)] = same_bounds(RowSize(None if sign is None else hash(sign), source), size)
    return known[id(size)]


def _of_batch(value: Any, sign: Any, source: Source | None, depth: int = 0) -> Any:
    """What a function gave, with what tells this batch from others."""
    inner = None if sign is None else hash((sign, "part", depth))
    if isinstance(value, Tensor):
        found = value.seen_as(source) if source is not None else value
        found.sign = inner
        return found
    if type(value) is tuple and depth < _MAX_DEPTH:
        return tuple(_of_batch(one, _inside(sign, place), source, depth + 1) for place, one in enumerate(value))
    if isinstance(value, Table) and depth < _MAX_DEPTH:
        value.items = {key: _of_batch(one, _inside(sign, key), source, depth + 1) for key, one in value.items.items()}
        if value.perhaps:
            value.perhaps = {
                key: _of_batch(one, _inside(sign, key), source, depth + 1) for key, one in value.perhaps.items()
            }
        return value
    if isinstance(value, Perhaps) and isinstance(value.value, Tensor):
        value.value = _of_batch(value.value, _inside(sign, "perhaps"), source, depth + 1)
        return value
    if isinstance(value, Items) and value.items is not None and depth < _MAX_DEPTH:
        value.items = [_of_batch(one, _inside(sign, place), source, depth + 1) for place, one in enumerate(value.items)]
        return value
    return Opaque(inner, source or source_of([value]))


def padded_rows(player: Any, given: Given, span: Span) -> Tensor:
    """``pad_sequence``: rows as long as the longest of them."""
    rows = given.get("sequences", 0, UNKNOWN)
    first = given.get("batch_first", 1, False)
    items = player.items_of(rows)
    row = items[0] if items else rows.sample if isinstance(rows, Items) else None
    if not isinstance(row, Tensor) or not row.shape or not isinstance(first, bool):
        return fresh("pad_sequence", None, row.dtype if isinstance(row, Tensor) else "", [rows], span)
    count, longest = player.length(rows), row.shape[0]
    every = items if items is not None else [rows, row]
    if items is not None or not isinstance(longest, int):
        # of a row that is one of several kinds it is not known whether the longest of them is each process's own
        told = [*every, longest] if items is not None or longest.sign is not None else []
        longest = Opaque(combined("longest", every), source_of(told))
        longest = of_any(longest, row.shape[0]) if items is None else longest
    sizes = (count, longest) if first else (longest, count)
    made = fresh("pad_sequence", (*sizes, *row.shape[1:]), row.dtype, every, span)
    return picked_by(made, longest) if isinstance(longest, Opaque) else made
