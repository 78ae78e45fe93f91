"""Shapes and types of tensors in the rehearsal of a program: those of torch 2.13."""

from __future__ import annotations

import math
import re
from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.entities import Library
from distlint.rehearsal.merging import alike
from distlint.rehearsal.some_ways import alone
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque
from distlint.rehearsal.values import Array, Given, Items, Tensor, combined, derived, is_known, source_of

DTYPES = {
    "float": "float32",
    "float32": "float32",
    "double": "float64",
    "float64": "float64",
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "int32": "int32",
    "long": "int64",
    "int64": "int64",
    "short": "int16",
    "int16": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
    "complex64": "complex64",
    "cfloat": "complex64",
    "complex128": "complex128",
    "cdouble": "complex128",
}
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_ORDER = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
SOUND = ("isnan", "isinf", "isfinite")
"""Tests whether something has gone wrong with numbers."""
TESTS = ("isnan", "isinf", "isfinite", "logical_not", "eq", "ne", "lt", "le", "gt", "ge")


def dtype_of(value: Any) -> str | None:
    """The type that an argument names; ``""`` where it is not known, ``None`` where none is given."""
    if value is None:
        return None
    if isinstance(value, Library):
        if value.name.startswith("torch."):
            return DTYPES.get(value.name[len("torch.") :], "")
        return {"builtins.float": "float32", "builtins.int": "int64", "builtins.bool": "bool"}.get(value.name, "")
    if isinstance(value, Tensor):
        return value.dtype
    return ""


KINDS = {"is_floating_point": ("float", "bfloat"), "is_complex": ("complex",)}
"""Questions for the kind of a tensor's numbers, with how the names of the types begin for which the answer is yes."""


def kind_said(name: str) -> Any:
    """The answer to such a question, asked of a type by its dotted name; ``NotImplemented`` for other names."""
    library, _, rest = name.partition(".")
    kind, _, asked = rest.partition(".")
    dtype = DTYPES.get(kind) if library == "torch" else None
    if dtype is not None and asked == "itemsize":
        return item_size(dtype)
    return NotImplemented if dtype is None or asked not in KINDS else dtype.startswith(KINDS[asked])


def item_size(dtype: str) -> Any:
    """Bytes that one number of a type takes; unknown for a type that is not known."""
    if not dtype:
        return UNKNOWN
    bits = re.sub("[a-z]+", "", dtype)
    return int(bits) // 8 if bits else 1  # `bool` has no number in its name


def dimension(where: Any, rank: int) -> int | None:
    """The number of a dimension, counted from the front; ``None`` where there is none, or it is not known."""
    if isinstance(where, bool) or not isinstance(where, int) or not -rank <= where < rank:
        return None
    return where % rank


def product(shape: tuple[Any, ...]) -> Any:
    """The number of elements."""
    return math.prod(shape) if all(isinstance(size, int) for size in shape) else derived("numel", shape)


def sizes_of(values: list[Any]) -> tuple[Any, ...] | None:
    """A shape given as one sequence or as several numbers."""
    if len(values) == 1:
        first = values[0]
        if isinstance(first, Items):
            if first.items is None:
                return None
            values = first.items
        elif type(first) is tuple:
            values = list(first)
        elif not isinstance(first, int | Opaque):
            return None
    return tuple(
        value if isinstance(value, int) else value if isinstance(value, Opaque) else UNKNOWN for value in values
    )


def view(tensor: Tensor, shape: Any, *, packed: bool | None = True) -> Tensor:
    """A tensor that shares the memory of another."""
    kind = Array if isinstance(tensor, Array) else Tensor
    made = kind(shape, tensor.dtype, tensor.at, combined("view", [tensor]), tensor.source)
    made.whole = tensor.whole
    made.packed = packed if tensor.packed else tensor.packed if packed else packed
    made.gradient = tensor.gradient
    made.partial = tensor.partial
    made.through = tensor.through
    made.typed, made.pointed = tensor.typed, tensor.pointed
    return made


def fresh(name: str, shape: Any, dtype: str, inputs: list[Any], span: Span | None) -> Tensor:
    """A new tensor computed from others."""
    kind = Array if inputs and isinstance(inputs[0], Array) else Tensor
    made = kind(shape, dtype, span, combined(name, inputs), source_of(inputs))
    gradients = [one.gradient if isinstance(one, Tensor) else None for one in inputs if not _is_plain(one)]
    made.gradient = True if True in gradients else None if None in gradients else False
    made.copied = True
    made.sharded = any(isinstance(one, Tensor) and one.whole.sharded for one in inputs)
    if not dtype:
        made.typed = next((one.typed for one in inputs if isinstance(one, Tensor) and one.typed is not None), None)
    for one in inputs:
        if isinstance(one, Tensor) and one.through:
            made.through = (*made.through, *(other for other in one.through if other not in made.through))
    return alone(made, inputs)


def _is_plain(value: Any) -> bool:
    """Whether a value is certainly no tensor, and holds none."""
    return is_known(value) or isinstance(value, Number | Library | slice | range)


def figured(found: Any) -> Any:
    """The same tensor, whose numbers a model works out: which ones they are, the data alone do not say."""
    if isinstance(found, Tensor) and found.source is not None:
        found.source = found.source._replace(indirect=True)
    return found


def told_by_place(made: Tensor, base: Tensor) -> Tensor:
    """The same tensor, which says where something stands in another: on each process somewhere else, where that is so."""
    made.source = made.source or base.whole.placed
    return made


def kept_size(made: Tensor, inputs: list[Any]) -> Tensor:
    """The same tensor, as long as an input: if the data picked what that holds, or each process its place or order, so it is here."""
    places = (one.whole.placed for one in inputs if isinstance(one, Tensor))
    made.placed = made.placed or next((one for one in places if one is not None), None)
    orders = (one.whole.lined for one in inputs if isinstance(one, Tensor))
    made.lined = made.lined or next((one for one in orders if one is not None), None)
    sizes = (one.ragged for one in inputs if isinstance(one, Tensor))
    made.ragged = made.ragged or next((one for one in sizes if one is not None), None)
    return made


def picked_by(made: Tensor, size: Opaque) -> Tensor:
    """The same tensor, one size of which the data of each process decides."""
    made.ragged = size if size.source is not None else None
    return made


def elementwise(player: Any, symbol: str, values: list[Any]) -> Any:
    """The result of an operation on each element, shapes broadcast."""
    shape: Any = ()
    for value in values:
        other = value.shape if isinstance(value, Tensor) else () if _is_number(value) else None
        shape = broadcast_shapes(shape, other)
    if symbol in ("==", "!=", "<", "<=", ">", ">=") or symbol in TESTS:
        dtype = "bool"
    else:
        dtype = _joined_dtype(symbol, values)
    at = next((value.at for value in values if isinstance(value, Tensor)), None)
    if dtype == "float32" and any(isinstance(value, Array) for value in values):
        dtype = ""  # numpy's floats are longer, as a rule
    if symbol == "@":
        from distlint.frameworks.torch.rehearsed_computing import product_shape

        shapes = [value.shape if isinstance(value, Tensor) else None for value in values]
        shape = product_shape(*shapes)
    made = fresh(symbol, shape, dtype, values, at)
    kept_size(made, values)
    made.chance = all(value.chance for value in values if isinstance(value, Tensor))
    made.pointed = not dtype and any(isinstance(value, Tensor) and value.floating for value in values)
    return made


def _is_number(value: Any) -> bool:
    """Whether a value is a number for certain: known or not, or what an option is."""
    if isinstance(value, Opaque):
        return isinstance(value, Number) or (type(value.sign) is tuple and value.sign[:1] == ("option",))
    return isinstance(value, int | float)


def _joined_dtype(symbol: str, values: list[Any]) -> str:
    kinds = [value.dtype for value in values if isinstance(value, Tensor)]
    if "" in kinds:
        return ""
    if not kinds:  # `torch.where(test, 0.0, 1.0)`
        plain = all(isinstance(value, int | float) for value in values)
        return "" if not plain else "float32" if any(isinstance(value, float) for value in values) else "int64"
    best = max(kinds, key=lambda kind: _ORDER.index(kind) if kind in _ORDER else 0)
    whole = best in INTEGERS or best == "bool"
    if symbol in ("/", "div", "true_divide") and whole:
        return "float32"
    if whole and any(isinstance(value, float) for value in values):
        return "float32"
    if any(not isinstance(value, Tensor | int | float) for value in values) and whole:
        return ""
    return best if len(set(kinds)) == 1 or "bfloat16" not in kinds else ""


def broadcast_shapes(one: Any, two: Any) -> Any:
    """The shape of an operation on each element of two shapes; ``None`` where one is not known."""
    if one is None or two is None:
        return None
    length = max(len(one), len(two))
    first = (1,) * (length - len(one)) + one
    second = (1,) * (length - len(two)) + two
    shape = []
    for left, right in zip(first, second, strict=True):
        if isinstance(left, int) and left == 1:
            shape.append(right)
        elif (isinstance(right, int) and right == 1) or alike(left, right):
            shape.append(left)
        else:
            shape.append(left if isinstance(left, int) else right)
    return tuple(shape)


def turned(base: Tensor) -> bool | None:
    """Whether a transposed tensor is contiguous; only where no size is 1 do we know that it is not."""
    if base.shape is None or not all(isinstance(size, int) for size in base.shape):
        return None
    return not (len(base.shape) >= 2 and sum(size > 1 for size in base.shape) >= 2)


def reshaped(name: str, base: Tensor, values: list[Any], given: Given, first: int) -> Tensor:
    """``view`` and its kin: the same memory in another shape."""
    shape = base.shape
    found: Any = None
    if name in ("view", "reshape"):
        if values and isinstance(values[0], Library):
            return view(base, None)
        sizes = sizes_of([given.get("shape", None)] if "shape" in given.keywords else values)
        found = _with_rest(sizes, shape)
    elif name in ("flatten", "ravel") and shape is not None:
        found = _flat(shape, [given.get("start_dim", first, 0), given.get("end_dim", first + 1, -1)])
    elif name == "unflatten" and shape is not None and len(values) == 2:
        place, inner = dimension(values[0], len(shape)), sizes_of([values[1]])
        if place is not None and inner is not None:
            found = (*shape[:place], *(_with_rest(inner, (shape[place],)) or ()), *shape[place + 1 :])
    elif name in ("expand", "broadcast_to"):
        found = _expanded(sizes_of(values), shape)
    elif name == "unsqueeze" and shape is not None:
        where = given.get("dim", first)
        if isinstance(where, int) and -len(shape) - 1 <= where <= len(shape):
            where = where if where >= 0 else where + len(shape) + 1
            found = (*shape[:where], 1, *shape[where:])
    elif name == "squeeze" and shape is not None:
        found = _squeezed(shape, given.get("dim", first))
    elif name in ("view_as", "reshape_as", "expand_as") and values and isinstance(values[0], Tensor):
        found = values[0].shape
    return view(base, found, packed=None if name.startswith(("expand", "broadcast")) else True)


def _squeezed(shape: tuple[Any, ...], where: Any) -> Any:
    """A shape without a dimension of one element, or without all of them; ``None`` where it is not known which these are."""
    places = [dimension(where, len(shape))] if where is not None else list(range(len(shape)))
    if None in places or not all(isinstance(size, int) for place, size in enumerate(shape) if place in places):
        return None
    return tuple(size for place, size in enumerate(shape) if place not in places or size != 1)


def _flat(shape: tuple[Any, ...], ends: list[Any]) -> Any:
    if not shape:
        return (1,)
    first, last = (dimension(one, len(shape)) for one in ends)
    if first is None or last is None or first > last:
        return None
    return (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :])


def _expanded(sizes: Any, shape: Any) -> Any:
    """The shape of a tensor made larger along dimensions of one element."""
    if sizes is None or shape is None or len(sizes) < len(shape):
        return None
    earlier = (1,) * (len(sizes) - len(shape)) + shape
    return tuple(old if isinstance(new, int) and new == -1 else new for new, old in zip(sizes, earlier, strict=True))


def _with_rest(sizes: Any, shape: Any) -> Any:
    """A shape in which ``-1`` stands for what is left."""
    if sizes is None:
        return None
    rest = [position for position, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if not rest:
        return sizes
    others = [size for size in sizes if not (isinstance(size, int) and size == -1)]
    whole = product(shape) if shape is not None else UNKNOWN
    if isinstance(whole, int) and all(isinstance(size, int) for size in others):
        left = whole // math.prod(others) if math.prod(others) else 0
    else:
        left = whole if not others else derived("//", [whole, *others])
    return tuple(left if position in rest else size for position, size in enumerate(sizes))


def transposed(name: str, base: Tensor, values: list[Any]) -> Tensor:
    """A tensor whose dimensions stand in another order."""
    shape = base.shape
    if shape is None:
        return view(base, None, packed=None)
    order = list(range(len(shape)))
    if name == "t":
        order.reverse()
    elif name in ("transpose", "swapaxes", "swapdims") and len(values) == 2:
        one, two = (dimension(value, len(shape)) for value in values)
        if one is None or two is None:
            return view(base, None, packed=None)
        order[one], order[two] = order[two], order[one]
    elif name == "permute":
        asked = sizes_of(values)
        places = [dimension(one, len(shape)) for one in asked or ()]
        if sorted(one for one in places if one is not None) != order:
            return view(base, None, packed=None)
        order = [one for one in places if one is not None]
    elif name in ("movedim", "moveaxis") and len(values) == 2:
        one, two = (dimension(value, len(shape)) for value in values)
        if one is None or two is None:
            return view(base, None, packed=None)
        order.insert(two, order.pop(one))
    else:
        return view(base, None, packed=None)
    packed = True if order == sorted(order) else turned(base)
    return view(base, tuple(shape[position] for position in order), packed=packed)


def repeated(shape: Any, values: list[Any]) -> Any:
    """The shape that ``repeat`` gives."""
    counts = sizes_of(values)
    if shape is None or counts is None or len(counts) < len(shape):
        return None
    sizes = (1,) * (len(counts) - len(shape)) + shape
    return tuple(
        size * count if isinstance(size, int) and isinstance(count, int) else derived("*", [size, count])
        for size, count in zip(sizes, counts, strict=True)
    )
