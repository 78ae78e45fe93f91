"""What PyTorch's functions give in the rehearsal of a program that cut tensors, or join them: those of torch 2.13."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import dimension, fresh, kept_size, picked_by, product, view
from distlint.frameworks.torch.rehearsed_weights import Gradient
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Outside
from distlint.rehearsal.failing import length_of, more_of
from distlint.rehearsal.notes import PIECES, SHORT
from distlint.rehearsal.pieces import note_pieces
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.sums import added
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, RowSize
from distlint.rehearsal.values import Given, Items, Made, Tensor, combined, derived, source_of

CUTTING = ("chunk", "split", "unbind", "tensor_split", "split_with_sizes")
PICKING = ("narrow", "select", "index_select", "unfold")
JOINING = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")
MAX_PARTS = 64
"""Parts of a tensor that are told apart."""


def refuses(player: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """Notes that a tensor can't be cut in -1 parts."""
    for value in given.values():
        if isinstance(value, Outside):
            player.stage.outside(value, call, scope, "a tensor can't be cut in -1 parts")


def total(sizes: list[Any]) -> Any:
    """The sum of sizes."""
    found: Any = 0
    for size in sizes:
        found = added(found, size)
    return found


def _note_pieces(player: Any, pieces: Hashable, size: Any, step: Any) -> None:
    """Remembers how many pieces there are of a batch that may be shorter than the others.

    Sizes that whoever starts the program chooses are chosen so that nothing is left over.
    """
    whole, rest = combined("range", [derived("//", [size, step])]), combined("%", [size, step])
    short = isinstance(size, Opaque) and size.sign in player.stage.kept.get(SHORT, ())
    if short and pieces is not None and whole is not None:
        player.stage.kept.setdefault(PIECES, {})["loop", pieces] = (("loop", whole), rest)


def cut(player: Any, name: str, base: Tensor, values: list[Any], given: Given) -> Any:
    """``chunk`` and its kin: the parts of a tensor; in a list of unknown length where they can't be told apart."""
    shape = base.shape
    words = {"chunk": "chunks", "split": "split_size_or_sections", "tensor_split": "indices_or_sections"}
    first = 0 if name == "unbind" else 1
    where = given.keywords.get("dim", values[first] if len(values) > first else 0)
    asked = values[0] if values and first else None
    for word in (words.get(name, ""), "split_size", "split_sizes", "sections", "indices"):
        asked = given.keywords.get(word, asked)
    place = dimension(where, len(shape)) if shape is not None else None
    if given.open or (shape is not None and place is None):
        return UNKNOWN
    if shape is None or place is None:
        row = view(base, None)
        row.sign, row.cut = None, True
        made = Items(None)
        made.whole, made.sample = derived(name, [base, asked]), row
        if name == "split" and isinstance(asked, int) and base.ragged is not None:
            made.size = derived("pieces", [base.ragged, asked])
        return made
    if name == "unbind":
        sizes = [None] * shape[place] if isinstance(shape[place], int) and shape[place] <= MAX_PARTS else None
    else:
        sizes = _sizes(player, name, shape[place], asked)
    rest = (shape[:place], shape[place + 1 :])
    if sizes is None or len(sizes) > MAX_PARTS:
        row = view(base, (*rest[0], *(() if name == "unbind" else (UNKNOWN,)), *rest[1]))
        row.sign, row.cut = None, True
        made = Items(None)
        made.whole, made.sample = derived(name, [base, asked]), row
        if name == "split" and shape[place] is not None:
            made.size = derived("pieces", [shape[place], asked])
            _note_pieces(player, made.size.sign, shape[place], asked)
            note_pieces(player.stage, shape[place], asked, made.size)
        return made
    parts = []
    for number, size in enumerate(sizes):
        part = view(base, (*rest[0], *(() if size is None else (size,)), *rest[1]), packed=True if not place else None)
        part.sign, part.cut = combined("part", [base, name, asked, number]), True
        parts.append(part)
    return tuple(parts)


def _sizes(player: Any, name: str, size: Any, asked: Any) -> list[Any] | None:
    """How long the parts are."""
    whole = isinstance(size, int)
    if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0:
        if not whole:
            return None
        if name == "tensor_split":
            return [size // asked + (1 if place < size % asked else 0) for place in range(min(asked, MAX_PARTS + 1))]
        step = asked if name == "split" else max(-(-size // asked), 1)
        return [min(step, size - start) for start in range(0, min(size, step * (MAX_PARTS + 1)), step)] or [0]
    items = player.items_of(asked) if isinstance(asked, Items | Tensor | range) or type(asked) is tuple else None
    if items is None:
        return None
    if name != "tensor_split":
        return list(items)
    ends = [*items, size]
    return [added(end, start, minus=True) for start, end in zip([0, *items], ends, strict=True)]


def picked(name: str, base: Tensor, values: list[Any], given: Given) -> Any:
    """``narrow`` and its kin: a part along one dimension."""
    shape = base.shape
    where = given.keywords.get("dim", values[0] if values else None)
    place = dimension(where, len(shape)) if shape is not None else None
    rest = [*values[1:], UNKNOWN, UNKNOWN]
    if shape is None or place is None:
        return view(base, None, packed=None)
    if name == "narrow":
        made = view(base, (*shape[:place], given.keywords.get("length", rest[1]), *shape[place + 1 :]), packed=None)
    elif name == "select":
        made = view(base, (*shape[:place], *shape[place + 1 :]), packed=None)
    elif name == "index_select":
        index = given.keywords.get("index", rest[0])
        size = product(index.shape) if isinstance(index, Tensor) and index.shape is not None else UNKNOWN
        found = (*shape[:place], size, *shape[place + 1 :])
        return fresh(name, found, base.dtype, [base, where, index], base.at)
    else:
        return view(base, None, packed=None)
    made.sign = combined(name, [base, *values, *given.keywords.values()])
    return made


def joined(player: Any, name: str, given: Given, span: Span) -> Tensor | Opaque:
    """``torch.cat`` and its kin: gradients that are packed are one."""
    listed = given.get("tensors", 0, UNKNOWN)
    items = player.items_of(listed)
    own = _of_own_files(player, name, given, listed, span)
    if own is not None:
        return own
    rows = items or [listed.sample if isinstance(listed, Items) else None]
    found = _joined(player, name, given, span)
    if all(isinstance(row, Tensor) and isinstance(row.whole, Gradient) and row.whole.sign is None for row in rows):
        made = Gradient(found.shape, found.dtype, span, None, found.source)
        made.ragged = found.ragged
        return made
    return found


def _of_own_files(player: Any, name: str, given: Given, listed: Any, span: Span) -> Opaque | None:
    """What is joined, row by row, of files of each process's own: it has its own length on each, or where some have more files."""
    part = (listed.items[:1] or [None])[0] if isinstance(listed, Items) and listed.items is not None else None
    part = listed.sample if part is None and isinstance(listed, Items) else part
    if name not in ("cat", "concat", "concatenate", "vstack") or given.get("dim", 1, 0) != 0:
        return None
    if not isinstance(part, Opaque | Made):
        return None
    more = more_of(player.stage, player.length(listed), part, span)
    if length_of(part).source is None:
        return more
    return Opaque(combined(name, [listed.whole]), source_of([part]))


def _joined(player: Any, name: str, given: Given, span: Span) -> Tensor:
    given_items = given.get("tensors", 0, UNKNOWN)
    made = _joined_rows(player, name, given_items, given, span)
    made.lined = order_of(given_items) or made.lined
    return made


def _joined_rows(player: Any, name: str, given_items: Any, given: Given, span: Span) -> Tensor:
    items = player.items_of(given_items)
    where = given.get("dim", 1, 0)
    if name == "hstack":
        where = 1 if items and all(isinstance(one, Tensor) and one.shape and len(one.shape) > 1 for one in items) else 0
    if items is None and isinstance(given_items, Items) and isinstance(given_items.sample, Tensor):
        return _of_unknown_number(player, name, given_items, where, span)
    if not items or not any(isinstance(item, Tensor) for item in items):
        made = fresh(name, None, "", items or [given_items], span)
        # tensors that are stacked are all alike, whatever they are
        count = player.length(given_items) if items is None and name == "stack" else None
        return picked_by(made, count) if isinstance(count, Opaque) else made
    items = [one if isinstance(one, Tensor) else fresh("row", None, "", [one], span) for one in items]
    for item in items:
        player.stage.use(item, span)
    items = [one for one in items if one.shape != (0,)] or items  # empty rows count for nothing
    kind = items[0].dtype if len({item.dtype for item in items}) == 1 else ""
    made = fresh(name, _joined_shape(name, [item.shape for item in items], where), kind, items, span)
    # rows behind those that were picked may make up for their number
    evened = where == 0 and name != "stack" and any(one.ragged is None for one in items)
    return made if evened else kept_size(made, items)


def _joined_shape(name: str, shapes: list[Any], where: Any) -> Any:
    known = [shape for shape in shapes if shape is not None]
    if not known or len({len(shape) for shape in known}) != 1:
        return None
    first = known[0]
    if len(known) < len(shapes):
        # tensors that are joined have the same sizes but for the one that they are joined along
        place = dimension(where, len(first)) if name in ("cat", "concat", "concatenate") else None
        return None if place is None else (*first[:place], UNKNOWN, *first[place + 1 :])
    if name == "stack":
        place = dimension(where, len(first) + 1)
        return None if place is None else (*first[:place], len(shapes), *first[place:])
    if name == "vstack" and len(first) < 2:
        return (len(shapes), *first)
    place = dimension(0 if name == "vstack" else where, len(first))
    if place is None:
        return None
    return (*first[:place], total([shape[place] for shape in shapes]), *first[place + 1 :])


def _of_unknown_number(player: Any, name: str, items: Items, where: Any, span: Span) -> Tensor:
    """As many tensors like one as a list holds of which the items are not known."""
    row = items.sample
    count = player.length(items)
    shape: Any = None
    if row.shape is not None:
        rank = len(row.shape) + (name == "stack")
        place = dimension(where, rank) if name in ("cat", "concat", "concatenate", "stack") else None
        if place is not None:
            # what is in the rows does not tell how many there are
            size = count if name == "stack" else derived("rows", [count, row.shape[place]])
            sizes = [_of_one_length(one) for one in row.shape] if name == "stack" else row.shape
            rest = sizes[place + (name != "stack") :]
            shape = (*sizes[:place], size if isinstance(size, int | Opaque) else UNKNOWN, *rest)
    made = fresh(name, shape, row.dtype, [items, row], span)
    made.sign = combined(name, [items.whole])
    if isinstance(count, Opaque):
        picked_by(made, count)  # of each process's own number of rows
    return kept_size(made, [row])


def _of_one_length(size: Any) -> Any:
    """A size of rows that are stacked as they are: it is the same for all of them, or that would fail."""
    return Opaque(size.sign) if isinstance(size, RowSize) else size


def padded(player: Any, base: Tensor, given: Given, first: int) -> Tensor:
    """``torch.nn.functional.pad``: pairs of lengths for the last dimensions, the very last first."""
    pads = player.items_of(given.get("pad", first, UNKNOWN))
    shape = list(base.shape) if base.shape is not None else None
    if shape is None or pads is None or len(pads) % 2 or len(pads) > 2 * len(shape):
        shape = None
    else:
        for number in range(len(pads) // 2):
            place = len(shape) - 1 - number
            shape[place] = total([shape[place], pads[2 * number], pads[2 * number + 1]])
    found = None if shape is None else tuple(shape)
    return fresh("pad", found, base.dtype, [base, *given.positional[first:], *given.keywords.values()], base.at)
