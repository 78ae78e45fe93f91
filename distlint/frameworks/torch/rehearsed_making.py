"""What PyTorch's functions that make tensors give in the rehearsal of a program."""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import dtype_of, picked_by, sizes_of
from distlint.frameworks.torch.values import TYPED
from distlint.model.span import Span
from distlint.rehearsal.bounds import same_bounds
from distlint.rehearsal.entities import MethodOf
from distlint.rehearsal.failing import SHARE
from distlint.rehearsal.randomness import Generator
from distlint.rehearsal.randomness import drawn as drawn_from
from distlint.rehearsal.samples import order_of
from distlint.rehearsal.sums import is_extreme
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source, kinds_of
from distlint.rehearsal.values import Given, Items, Made, Tensor, combined, derived, source_of

_FILLED = {"zeros": 0, "ones": 1, "empty": None, "rand": None, "randn": None}
_LEVEL = ("zeros", "ones", "empty", "full")
"""What all numbers are the same one of, or nobody reads."""
_RANDOM = ("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "bernoulli")
_ASIDE = ("device", "generator", "requires_grad", "pin_memory", "out", "dtype", "layout")
_LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like")
MAX_DATA = 64
MAX_DEPTH = 3


MAX_NUMBERS = 64
"""Rows of integers of at most this length are followed number by number."""


def created(player: Any, name: str, given: Given, span: Span) -> Any:
    """What a function that makes a tensor gives; ``NotImplemented`` for other functions."""
    keyword = given.get("dtype", None)
    dtype = dtype_of(keyword)
    shape: tuple[Any, ...] | None
    if name in _FILLED:
        sizes = [given.keywords["size"]] if "size" in given.keywords else given.positional
        shape = None if given.open else sizes_of(sizes)
        dtype = "float32" if dtype is None else dtype
        return _content(player, name, shape, dtype, given, span)
    if name == "full":
        shape = sizes_of([given.get("size", 0)])
        fill = given.get("fill_value", 1, UNKNOWN)
        made = _content(
            player, name, shape, _shape_of_data(player.stage, fill, 0)[1] if dtype is None else dtype, given, span
        )
        made.typed = None if made.dtype else _typed_by(fill)
        return made
    if name == "from_numpy":
        return _from_data(player, given.get("ndarray", 0, UNKNOWN), None, span)
    if name in ("tensor", "as_tensor", "asarray"):
        return _from_data(player, given.get("data", 0, UNKNOWN), dtype, span)
    if name in TYPED:
        if given.positional and all(isinstance(one, int) for one in given.positional) and not given.open:
            return _content(player, name, sizes_of(given.positional), TYPED[name], given, span)
        return _from_data(player, given.get("data", 0, UNKNOWN), TYPED[name], span)
    if name == "arange":
        return _counted(player, given, dtype, span)
    if name == "linspace":
        return _content(player, name, (given.get("steps", 2, UNKNOWN),), dtype or "float32", given, span)
    if name == "eye":
        rows = given.get("n", 0, UNKNOWN)
        return _content(
            player, name, (rows, given.get("m", 1, rows)), "float32" if dtype is None else dtype, given, span
        )
    if name == "randint":
        sizes = given.get("size", 2 if len(given.positional) > 2 else 1, UNKNOWN)
        return _content(player, name, sizes_of([sizes]), "int64" if dtype is None else dtype, given, span)
    if name == "randperm":
        return _content(player, name, (given.get("n", 0, UNKNOWN),), "int64", given, span)
    if name in _LIKE:
        like = given.get("input", 0, UNKNOWN)
        if not isinstance(like, Tensor):
            return _content(player, name, None, dtype or "", given, span)
        return _content(
            player, name.removesuffix("_like"), like.shape, like.dtype if dtype is None else dtype, given, span
        )
    return NotImplemented


def _counted(player: Any, given: Given, dtype: str | None, span: Span) -> Tensor:
    """``arange``: its numbers are known where it is short and its bounds are."""
    integers = _integers(given)
    if dtype is None:
        numeric = all(isinstance(one, int | float) for one in given.positional)
        dtype = "int64" if integers else "float32" if numeric else ""
    made = _content(player, "arange", (_arange(given),), dtype, given, span)
    if integers and made.shape is not None and isinstance(made.shape[0], int) and made.shape[0] <= MAX_NUMBERS:
        made.holds(tuple(range(*[int(one) for one in given.positional])))
    return made


def _content(player: Any, name: str, shape: Any, dtype: str, given: Given, span: Span) -> Tensor:
    if shape is not None and any(isinstance(size, int) and size < 0 for size in shape):
        shape = None
    # where it is, and how it is used, does not tell what is in it
    told = [*given.positional, *(value for word, value in given.keywords.items() if word not in _ASIDE)]
    source: Source | None = source_of(told)
    sign: Any
    generator = given.get("generator", None)
    if name in _RANDOM and generator is not None and not isinstance(generator, Generator):
        sign = None
    elif name in _RANDOM:
        drawn, reason = player.stage.drawn(span) if generator is None else drawn_from(player, generator.state, span)
        sign, source = (None if drawn is None else combined(name, [shape, *told])), source or reason
        sign = None if sign is None else hash((sign, drawn))
    else:
        sign = combined(name, told)
    made = Tensor(shape, dtype, span, sign, source)
    asked = given.get("requires_grad", None, False)
    made.gradient = asked if isinstance(asked, bool) else None
    made.copied = True
    made.chance = name in _RANDOM and shape in ((), (1,))
    made.drawn = name in _RANDOM
    made.level = name in _LEVEL
    return made


def _of_number(value: Any) -> str:
    return (
        "bool"
        if isinstance(value, bool)
        else "int64"
        if isinstance(value, int)
        else "float32"
        if isinstance(value, float)
        else ""
    )


def _integers(given: Given) -> bool:
    return all(isinstance(value, (int, Opaque)) for value in given.positional)


def _arange(given: Given) -> Any:
    values = given.positional
    numbers = [
        int(value) for value in values if isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    ]
    if given.open or len(numbers) != len(values) or not values:
        return same_bounds(derived("arange", values), values[0]) if len(values) == 1 else UNKNOWN
    try:
        return len(range(*numbers))
    except (TypeError, ValueError):
        return UNKNOWN


def _from_data(player: Any, data: Any, dtype: str | None, span: Span) -> Tensor:
    """``torch.tensor(data)``."""
    shape, kind = _shape_of_data(player.stage, data, 0)
    made = Tensor(shape, kind if dtype is None else dtype, span, combined("tensor", [data]), source_of([data]))
    made.gradient = False
    made.copied = True
    made.level = isinstance(data, int | float)
    if not made.dtype:
        made.typed = _typed_by(data)
    items = data.items if isinstance(data, Items) else data if type(data) is tuple else None
    made.lined = order_of(data) if not isinstance(data, Tensor) else data.whole.lined
    own = _own_length(player.stage, data) if shape is None else None
    if own is not None:
        picked_by(made, own)
    if items is not None:
        made.placed = player.stage.own_places(span, items)
    elif isinstance(data, Tensor):
        made.typed, made.pointed = data.typed, data.pointed
        made.level, made.placed = data.whole.level, data.whole.placed
    return made


def _own_length(stage: Any, data: Any) -> Opaque | None:
    """How many rows there are in a list, or numbers in each, where that is another number on each process."""
    for depth in range(MAX_DEPTH):
        if not isinstance(data, Items):
            break
        length = data.length()
        if isinstance(length, Opaque) and length.source is not None and (depth == 0 or is_extreme(stage, length)):
            return length
        data = data.items[0] if data.items else data.sample
    return None


def _typed_by(data: Any) -> Opaque | None:
    """What tells which type numbers have that have a point only if something came.

    A process to whose share of the data nothing belongs keeps the whole number that it began with.
    """
    items = data.items if isinstance(data, Items) else data if type(data) is tuple else [data]
    kinds = [kinds_of(one) for one in items or ()]
    if not kinds or not all(kinds) or any(each == {float} for each in kinds):
        return None
    told = [one.told for one, each in zip(items or (), kinds, strict=True) if len(each) > 1]
    own = (one for one in told if one is not None and one.source is not None)
    return next((one for one in own if one.source.why == SHARE and not one.source.indirect), None)


def _shape_of_data(stage: Any, data: Any, depth: int) -> tuple[tuple[Any, ...] | None, str]:
    if isinstance(data, bool | int | float):
        return (), _of_number(data)
    if isinstance(data, Items) or type(data) is tuple:
        items = data.items if isinstance(data, Items) else data
        if isinstance(data, Items) and items is None:
            inner_shape, kind = _shape_of_data(stage, data.sample, depth + 1) if depth <= MAX_DEPTH else (None, "")
            length = data.length()
            if depth and isinstance(length, Opaque) and not is_extreme(stage, length):
                # how long the rows in a list are does not differ: all are of one form, unless they are filled up to the longest
                length = Opaque(length.sign)
            return ((length, *inner_shape) if inner_shape is not None else None), kind
        if not items or depth > MAX_DEPTH or len(items) > MAX_DATA:
            return ((len(items),) if items and all(isinstance(item, int | float) for item in items) else None), ""
        inner = [_shape_of_data(stage, item, depth + 1) for item in items]
        shapes = {shape if shape is None else tuple(map(repr, shape)) for shape, _ in inner}
        kinds = {kind for _, kind in inner}
        kind = next(iter(kinds)) if len(kinds) == 1 else "float32" if kinds == {"int64", "float32"} else ""
        first = inner[0][0]
        return ((len(items), *first) if len(shapes) == 1 and first is not None else None), kind
    if isinstance(data, Tensor):
        return data.shape, data.dtype
    numbers = kinds_of(data)
    if numbers:
        return (), _of_number(min(numbers, key=str)()) if len(numbers) == 1 else ""
    if isinstance(data, Opaque | Made | MethodOf):
        return None, ""
    return None, ""
