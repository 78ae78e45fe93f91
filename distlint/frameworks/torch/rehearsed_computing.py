"""What PyTorch's functions give in the rehearsal of a program that compute with whole tensors: sums, products, orders, counts.

Shapes and types are those of torch 2.13.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import (
    INTEGERS,
    broadcast_shapes,
    dimension,
    dtype_of,
    elementwise,
    fresh,
    picked_by,
    product,
    told_by_place,
)
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Perhaps
from distlint.rehearsal.values import Given, Tensor, combined, derived, is_known, source_of

_REDUCING_NAMES = """
sum mean max min prod std var norm amax amin argmax argmin any all median logsumexp nansum nanmean count_nonzero
mode kthvalue quantile
"""
REDUCING = frozenset(_REDUCING_NAMES.split())
PLACES = ("argmax", "argmin")
"""What says where something stands."""
_FLOATING = ("mean", "std", "var", "norm", "logsumexp", "nanmean")
"""What gives numbers with a point, and takes no others."""
_PAIRED = ("max", "min", "median", "mode", "kthvalue")
PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot", "outer", "ger", "linear", "addmm", "baddbmm", "cdist", "einsum")
ORDERS = ("sort", "topk", "argsort", "cummax", "cummin")
COUNTS = ("bincount", "histc", "one_hot", "nonzero", "masked_select", "unique", "unique_consecutive", "argwhere")
PLACED = ("gather", "take", "take_along_dim", "scatter", "scatter_add", "index_add", "index_copy", "index_fill")
OTHERS = ("where", "repeat_interleave", "diagonal", "diag", "trace", "cosine_similarity", "embedding", "tile")
NAMES = REDUCING | {*PRODUCTS, *ORDERS, *COUNTS, *PLACED, *OTHERS}


def computed(player: Any, name: str, base: Tensor, values: list[Any], given: Given, everything: list[Any]) -> Any:
    """What a function or method of ``NAMES`` gives; ``values`` are the arguments behind the tensor."""
    if name in REDUCING:
        return _reduced(player, name, base, values, given, everything)
    if name in PRODUCTS:
        return _multiplied(name, base, values, everything)
    if name in ORDERS:
        return _ordered(name, base, values, given, everything)
    if name in COUNTS:
        return _counted(name, base, values, given, everything)
    if name in PLACED:
        index = given.get("index", None, next((one for one in reversed(values) if isinstance(one, Tensor)), None))
        shape = base.shape if name not in ("gather", "take", "take_along_dim") else None
        if shape is None and isinstance(index, Tensor) and name != "take_along_dim":
            shape = index.shape
        return fresh(name, shape, base.dtype, everything, base.at)
    return _other(player, name, base, values, given, everything)


def _reduced(player: Any, name: str, base: Tensor, values: list[Any], given: Given, everything: list[Any]) -> Any:
    dtype = base.dtype
    if name in ("sum", "prod", "nansum") and (dtype in INTEGERS or dtype == "bool"):
        dtype = "int64"
    if name in ("any", "all"):
        dtype = "bool"
    if name in ("argmax", "argmin", "count_nonzero"):
        dtype = "int64"
    if given.get("dtype", None) is not None:
        dtype = dtype_of(given.get("dtype", None)) or ""
    first = 1 if name in ("norm", "kthvalue", "quantile") else 0
    where = given.keywords.get("dim", given.keywords.get("axis", values[first] if len(values) > first else None))
    if name in ("max", "min") and isinstance(where, Tensor):
        return elementwise(player, name, everything)
    if isinstance(where, bool):  # `std(unbiased)`
        where = None
    keep = given.keywords.get("keepdim", given.keywords.get("keepdims", _behind(values, first + 1)))
    paired = name in _PAIRED and (where is not None or name in ("mode", "kthvalue"))
    if where is None and paired:
        where = -1
    shape = _without(player, base.shape, where, keep) if not given.open and name != "quantile" else None
    if paired:
        one = fresh(name, shape, dtype, everything, base.at)
        return (one, told_by_place(fresh(f"{name} index", shape, "int64", everything, base.at), base))
    made = fresh(name, shape, dtype, everything, base.at)
    made.pointed = not dtype and (name in _FLOATING or (name in ("sum", "max", "min") and base.floating))
    return told_by_place(made, base) if name in PLACES else made


def row_attribute(row: tuple[Any, ...], name: str) -> Any:
    """A tensor of those that a function gives with names (``x.max(1).indices``, ``x.topk(5).values``)."""
    place = {"values": 0, "indices": 1}.get(name)
    named = place is not None and len(row) == 2 and all(isinstance(one, Tensor) for one in row)
    return row[place] if named and place is not None else NotImplemented


def _behind(values: list[Any], position: int) -> Any:
    """Whether a dimension is kept: no argument in this place means no, and what is no truth value is something else."""
    found = values[position] if len(values) > position else False
    return found if isinstance(found, bool | Opaque) else False


def _without(player: Any, shape: Any, where: Any, keep: Any) -> Any:
    """A shape without some of its dimensions, or with 1 there."""
    if where is None:
        return () if keep is False else None if shape is None or keep is not True else (1,) * len(shape)
    asked = [where] if isinstance(where, int) else player.items_of(where) if not isinstance(where, Opaque) else None
    if shape is None or not asked or not isinstance(keep, bool):
        return None
    places = [dimension(one, len(shape)) for one in asked]
    if None in places:
        return None
    if keep:
        return tuple(1 if place in places else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in places)


def product_shape(one: Any, two: Any) -> Any:
    """The shape of a matrix product."""
    if one is None or two is None or not one or not two:
        return None
    if len(one) == 1 and len(two) == 1:
        return ()
    if len(one) == 1:
        return (*two[:-2], two[-1])
    if len(two) == 1:
        return one[:-1]
    around = broadcast_shapes(one[:-2], two[:-2])
    return None if around is None else (*around, one[-2], two[-1])


def _multiplied(name: str, base: Tensor, values: list[Any], everything: list[Any]) -> Tensor:
    other = values[0] if values and isinstance(values[0], Tensor) else None
    one, two = base.shape, other.shape if other is not None else None
    shape: Any = None
    if name in ("matmul", "mm", "bmm", "mv", "dot"):
        shape = product_shape(one, two)
    elif name in ("outer", "ger") and one is not None and two is not None:
        shape = (product(one), product(two))
    elif name == "linear" and one and two:
        shape = (*one[:-1], *two[:-1])
    elif name == "cdist" and one and two and len(one) >= 2 and len(two) >= 2:
        shape = (*one[:-1], two[-2])
    elif name in ("addmm", "baddbmm") and len(values) > 1 and isinstance(values[1], Tensor):
        shape = product_shape(two, values[1].shape)
    same = other is None or other.dtype == base.dtype
    return fresh(name, shape, base.dtype if same else "", everything, base.at)


def _ordered(name: str, base: Tensor, values: list[Any], given: Given, everything: list[Any]) -> Any:
    if name == "argsort":
        return told_by_place(fresh(name, base.shape, "int64", everything, base.at), base)
    shape = base.shape
    if name == "topk" and shape is not None:
        count = given.get("k", None, values[0] if values else UNKNOWN)
        where = given.keywords.get("dim", values[1] if len(values) > 1 else -1)
        place = dimension(where, len(shape))
        shape = None if place is None else (*shape[:place], count, *shape[place + 1 :])
    one = fresh(name, shape, base.dtype, everything, base.at)
    return (one, told_by_place(fresh(f"{name} index", shape, "int64", everything, base.at), base))


def _counted(name: str, base: Tensor, values: list[Any], given: Given, everything: list[Any]) -> Any:
    if name == "bincount":
        return _bins(base, values, given, everything)
    if name == "histc":
        bins = given.get("bins", None, values[0] if values else 100)
        return fresh(name, (bins,), base.dtype, everything, base.at)
    if name == "one_hot":
        classes = given.get("num_classes", None, values[0] if values else -1)
        size = derived("classes", everything) if classes == -1 else classes
        shape = None if base.shape is None else (*base.shape, size)
        return fresh(name, shape, "int64", everything, base.at)
    size = Opaque(combined(f"size of {name}", everything), source_of(everything))
    if name == "nonzero" and given.get("as_tuple", None, False) is True:
        return _places(name, base, size, everything)
    indices = name in ("nonzero", "argwhere")
    shape = (size, len(base.shape)) if indices and base.shape is not None else None if indices else (size,)
    made = picked_by(fresh(name, shape, "int64" if indices else base.dtype, everything, base.at), size)
    made = told_by_place(made, base) if indices else made
    words = ("return_inverse", "return_counts", "return_index")
    asked = [one for one in words if given.get(one, None, False) is not False]
    if name in ("unique", "unique_consecutive") and (asked or given.get("dim", None, None) is not None):
        if given.get("dim", None, None) is not None:
            made.shape = None
        more = [
            fresh(f"{name} {one}", (size,) if one == words[1] else None, "int64", everything, base.at) for one in asked
        ]
        return (made, *more) if more else made
    return made


def _places(name: str, base: Tensor, size: Opaque, everything: list[Any]) -> Any:
    """Where a tensor is not zero: the numbers of its places along each dimension."""
    rows = [
        told_by_place(fresh(f"{name} {place}", (size,), "int64", everything, base.at), base)
        for place in range(len(base.shape) if base.shape is not None else 0)
    ]
    return tuple(rows) if rows else UNKNOWN


def _bins(base: Tensor, values: list[Any], given: Given, everything: list[Any]) -> Tensor:
    """``bincount``: of whole numbers, or as floats with weights, which some processes may not have."""
    least = given.get("minlength", None, values[1] if len(values) > 1 else 0)
    weights = given.get("weights", None, values[0] if values else None)
    size = least if least != 0 else Opaque(combined("bins", everything), source_of(everything))
    dtype = "int64" if weights is None else ""
    if isinstance(weights, Tensor):
        dtype = "float64" if weights.dtype not in ("float32", "") else weights.dtype
    made = fresh("bincount", (size,), dtype, everything, base.at)
    if isinstance(weights, Perhaps) and isinstance(weights.value, Tensor):
        made.typed = Opaque(weights.sign, weights.source)
    return made


def _other(player: Any, name: str, base: Tensor, values: list[Any], given: Given, everything: list[Any]) -> Any:
    shape = base.shape
    if name == "where":
        if not values:
            size = Opaque(combined(f"size of {name}", everything), source_of(everything))
            return _places(name, base, size, everything)
        if base.dtype == "bool":
            parts = elementwise(
                player, "where", [one for one in values if isinstance(one, Tensor | int | float)] or [base]
            )
            sizes: Any = base.shape
            for one in values:
                sizes = broadcast_shapes(sizes, one.shape if isinstance(one, Tensor) else () if is_known(one) else None)
            return fresh(name, sizes, parts.dtype, everything, base.at)
        return elementwise(player, "where", [base, *values[1:]])
    found: Any = None
    dtype = base.dtype
    where = given.keywords.get("dim", values[-1] if values and name != "repeat_interleave" else None)
    if name == "repeat_interleave":
        count = given.get("repeats", None, values[0] if values else UNKNOWN)
        where = given.keywords.get("dim", values[1] if len(values) > 1 else None)
        if shape is not None and isinstance(count, int):
            place = dimension(where, len(shape)) if where is not None else None
            grown = [player.operate("*", size, count, 0, None) for size in shape]
            if where is None:
                found = (player.operate("*", product(shape), count, 0, None),)
            elif place is not None:
                found = (*shape[:place], grown[place], *shape[place + 1 :])
    elif name in ("diag", "diagonal") and shape is not None and not given.keywords and not values:
        found = (
            (shape[0], shape[0])
            if len(shape) == 1
            else (shape[0],)
            if len(shape) == 2 and shape[0] == shape[1]
            else None
        )
    elif name == "trace":
        found = ()
    elif name == "cosine_similarity" and values and isinstance(values[0], Tensor):
        where = given.keywords.get("dim", values[1] if len(values) > 1 else 1)
        found = _without(player, broadcast_shapes(shape, values[0].shape), where, False)
    elif name == "embedding" and values and isinstance(values[0], Tensor):
        found = (*shape, values[0].shape[-1]) if shape is not None and values[0].shape else None
        dtype = values[0].dtype
    return fresh(name, found, dtype, everything, base.at)
