"""What PyTorch's functions and methods give for tensors of which shape and type are known, in part or whole.

Shapes are those of torch 2.13; what is not listed gives a tensor of unknown shape, or nothing that is known.
"""

from __future__ import annotations

import math
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.values import (
    UNKNOWN,
    Given,
    Items,
    Library,
    Made,
    MethodOf,
    Opaque,
    Source,
    Tensor,
    alike,
    combined,
    derived,
    is_known,
    signature,
    source_of,
)

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
_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_ORDER = ("bool", *_INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
_CASTS = frozenset(DTYPES) - {"float32", "float64", "int32", "int64", "float16", "int16", "int8", "uint8"}
_FILLED = {"zeros": 0, "ones": 1, "empty": None, "rand": None, "randn": None}
_RANDOM = ("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "bernoulli")
_LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like")
_SAME_NAMES = """
abs sin cos tan exp log log2 log10 log1p sqrt rsqrt relu sigmoid tanh neg floor ceil round sign clamp clip
softmax log_softmax dropout gelu silu fill masked_fill sort cumsum cumprod flip roll nan_to_num square
reciprocal erf leaky_relu normalize tril triu
"""
_SAME = frozenset(_SAME_NAMES.split())
_TESTS = ("isnan", "isinf", "isfinite", "logical_not", "eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = ("add", "sub", "mul", "div", "true_divide", "floor_divide", "pow", "maximum", "minimum", "remainder")
_SHARING = (
    "contiguous",
    "detach",
    "cpu",
    "cuda",
    "requires_grad_",
    "pin_memory",
    "squeeze_",
    "unsqueeze_",
    "retain_grad",
)
_REDUCING = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "std",
    "var",
    "norm",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "any",
    "all",
    "median",
    "logsumexp",
)
_LOSSES = (
    "cross_entropy",
    "mse_loss",
    "nll_loss",
    "l1_loss",
    "binary_cross_entropy",
    "smooth_l1_loss",
    "kl_div",
    "binary_cross_entropy_with_logits",
)
_LOCAL_SIZES = ("nonzero", "masked_select", "unique", "unique_consecutive", "argwhere")
MAX_DATA = 64


MAX_NUMBERS = 64
"""Rows of integers of at most this length are followed number by number."""


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
        return _content(player, name, shape, _of_number(fill) if dtype is None else dtype, given, span)
    if name in ("tensor", "as_tensor", "asarray"):
        return _from_data(given.get("data", 0, UNKNOWN), dtype, span)
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
    source: Source | None = source_of(given.values())
    if name in _RANDOM and given.get("generator", None) is not None:
        sign: Any = None
    elif name in _RANDOM:
        drawn, reason = player.stage.drawn(span)
        sign, source = (None if drawn is None else combined(name, [shape, *given.values()])), source or reason
        sign = None if sign is None else hash((sign, drawn))
    else:
        sign = combined(name, given.values())
    made = Tensor(shape, dtype, span, sign, source)
    made.gradient = given.get("requires_grad", None, False) is True
    made.copied = True
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
        return derived("arange", values) if len(values) == 1 else UNKNOWN
    try:
        return len(range(*numbers))
    except (TypeError, ValueError):
        return UNKNOWN


def _from_data(data: Any, dtype: str | None, span: Span) -> Tensor:
    """``torch.tensor(data)``."""
    shape, kind = _shape_of_data(data, 0)
    made = Tensor(shape, kind if dtype is None else dtype, span, combined("tensor", [data]), source_of([data]))
    made.gradient = False
    made.copied = True
    return made


def _shape_of_data(data: Any, depth: int) -> tuple[tuple[Any, ...] | None, str]:
    if isinstance(data, bool | int | float):
        return (), _of_number(data)
    if isinstance(data, Items) or type(data) is tuple:
        items = data.items if isinstance(data, Items) else data
        if items is None:
            return None, ""
        if not items or depth > 3 or len(items) > MAX_DATA:
            return ((len(items),) if items and all(isinstance(item, int | float) for item in items) else None), ""
        inner = [_shape_of_data(item, depth + 1) for item in items]
        shapes = {shape if shape is None else tuple(map(repr, shape)) for shape, _ in inner}
        kinds = {kind for _, kind in inner}
        kind = next(iter(kinds)) if len(kinds) == 1 else "float32" if kinds == {"int64", "float32"} else ""
        first = inner[0][0]
        return ((len(items), *first) if len(shapes) == 1 and first is not None else None), kind
    if isinstance(data, Tensor):
        return data.shape, data.dtype
    if isinstance(data, Opaque | Made | MethodOf):
        return None, ""
    return None, ""


def view(tensor: Tensor, shape: Any, *, packed: bool | None = True) -> Tensor:
    """A tensor that shares the memory of another."""
    made = Tensor(shape, tensor.dtype, tensor.at, combined("view", [tensor]), tensor.source)
    made.whole = tensor.whole
    made.packed = packed if tensor.packed else tensor.packed if packed else packed
    made.gradient = tensor.gradient
    made.partial = tensor.partial
    return made


def fresh(name: str, shape: Any, dtype: str, inputs: list[Any], span: Span | None) -> Tensor:
    """A new tensor computed from others."""
    made = Tensor(shape, dtype, span, combined(name, inputs), source_of(inputs))
    gradients = [one.gradient for one in inputs if isinstance(one, Tensor)]
    made.gradient = True if True in gradients else None if None in gradients else False
    made.copied = True
    return made


def elementwise(player: Any, symbol: str, values: list[Any]) -> Any:
    """The result of an operation on each element, shapes broadcast."""
    shape: Any = ()
    for value in values:
        other = value.shape if isinstance(value, Tensor) else () if isinstance(value, int | float) else None
        shape = _broadcast(shape, other)
    if symbol in ("==", "!=", "<", "<=", ">", ">=") or symbol in _TESTS:
        dtype = "bool"
    else:
        dtype = _joined_dtype(symbol, values)
    at = next((value.at for value in values if isinstance(value, Tensor)), None)
    if symbol == "@":
        shape = None
    return fresh(symbol, shape, dtype, values, at)


def _joined_dtype(symbol: str, values: list[Any]) -> str:
    kinds = [value.dtype for value in values if isinstance(value, Tensor)]
    if "" in kinds:
        return ""
    best = max(kinds, key=lambda kind: _ORDER.index(kind) if kind in _ORDER else 0)
    whole = best in _INTEGERS or best == "bool"
    if symbol in ("/", "div", "true_divide") and whole:
        return "float32"
    if whole and any(isinstance(value, float) for value in values):
        return "float32"
    if any(not isinstance(value, Tensor | int | float) for value in values) and whole:
        return ""
    return best if len(set(kinds)) == 1 or "bfloat16" not in kinds else ""


def _broadcast(one: Any, two: Any) -> Any:
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


def indexed(player: Any, base: Tensor, index: Any) -> Tensor:
    """``tensor[index]``."""
    if isinstance(index, (Tensor, Items)):
        return _picked(base, index)
    parts = list(index) if type(index) is tuple else [index]
    if base.shape is None:
        return view(base, None, packed=None)
    sizes = list(base.shape)
    result: list[Any] = []
    position = 0
    packed: bool | None = True
    if any(part is Ellipsis for part in parts):
        return view(base, None, packed=None)
    for part in parts:
        if part is None:
            result.append(1)
            continue
        if position >= len(sizes):
            return view(base, None, packed=None)
        if isinstance(part, Tensor | Items):
            return fresh("index", None, base.dtype, [base, part], base.at)
        if isinstance(part, slice):
            cut = _sliced(sizes[position], part)
            if position and not alike(cut, sizes[position]):
                packed = None if packed else packed
            if part.step not in (None, 1):
                packed = None
            result.append(cut)
        elif position:
            packed = None
        position += 1
    made = view(base, (*result, *sizes[position:]), packed=packed)
    bounds = (index.start, index.stop, index.step) if isinstance(index, slice) else (UNKNOWN,)
    if base.numbers is not None and all(bound is None or isinstance(bound, int) for bound in bounds):
        made.holds(base.numbers[index])
    return made


def _picked(base: Tensor, index: Any) -> Tensor:
    if isinstance(index, Items):
        shape = (index.length(), *base.shape[1:]) if base.shape else None
        return fresh("index", shape, base.dtype, [base, index], base.at)
    if index.dtype == "bool":
        size = Opaque(combined("count", [index]), index.source)
        rank = len(index.shape) if index.shape is not None else 1
        shape = (size, *base.shape[rank:]) if base.shape is not None else (size,) if index.shape is None else None
        return fresh("mask", shape, base.dtype, [base, index], base.at)
    known = index.dtype in _INTEGERS and index.shape is not None and base.shape is not None and len(base.shape) > 0
    shape = (*index.shape, *base.shape[1:]) if known and index.shape is not None and base.shape is not None else None
    return fresh("index", shape, base.dtype, [base, index], base.at)


def _sliced(size: Any, part: slice) -> Any:
    bounds = (part.start, part.stop, part.step)
    if isinstance(size, int) and all(bound is None or isinstance(bound, int) for bound in bounds):
        try:
            return len(range(*part.indices(size)))
        except ValueError:
            return UNKNOWN
    if bounds == (None, None, None):
        return size
    return derived("slice", [size, *bounds])


def tensor_attribute(player: Any, base: Tensor, name: str, expr: ir.Expr, scope: Any) -> Any:
    """``tensor.name``."""
    if name == "shape":
        return base.shape if base.shape is not None else UNKNOWN
    if name == "dtype":
        return Library(f"torch.{base.dtype}") if base.dtype else UNKNOWN
    if name == "data":
        made = view(base, base.shape)
        made.gradient = False
        return made
    if name == "grad":
        return Tensor(base.shape, base.dtype, base.at)
    if name in ("T", "mT"):
        return view(base, base.shape[::-1] if base.shape is not None else None, packed=_turned(base))
    if name == "ndim":
        return len(base.shape) if base.shape is not None else UNKNOWN
    if name in ("device", "requires_grad", "is_cuda", "grad_fn"):
        return UNKNOWN
    return MethodOf(base, name)


def _turned(base: Tensor) -> bool | None:
    """Whether a transposed tensor is contiguous; only where no size is 1 do we know that it is not."""
    if base.shape is None or not all(isinstance(size, int) for size in base.shape):
        return None
    return not (len(base.shape) >= 2 and sum(size > 1 for size in base.shape) >= 2)


def tensor_method(player: Any, base: Tensor, name: str, given: Given, span: Span) -> Any:
    """``tensor.name(...)``; ``NotImplemented`` for methods that are not known."""
    values = given.positional
    shape = base.shape
    if name in (
        "size",
        "numel",
        "nelement",
        "dim",
        "stride",
        "ndimension",
        "is_contiguous",
        "element_size",
        "data_ptr",
    ):
        return _measured(base, name, given)
    if (
        name in ("detach", "requires_grad_", "cpu", "cuda", "to", "type", "type_as", "contiguous", "pin_memory")
        or name in _CASTS
    ):
        return _converted(base, name, given, span)
    if name not in ("set_", "resize_", "share_memory_"):
        player.stage.use(base, span)
        for value in values:
            player.stage.use(value, span)
    if name in ("item", "tolist", "numpy"):
        if name == "tolist" and shape is not None and len(shape) == 1:
            return Items(None if base.numbers is None else list(base.numbers), shape[0])
        return Opaque(combined("item", [base]), base.source)
    if name.startswith("new_"):
        return _new(player, base, name, given, span)
    if name.endswith("_") and not name.endswith("__"):
        player.changed(base, name, list(given.values()))
        if name == "requires_grad_":
            base.gradient = True
        return base
    return computed(player, name, base, given, 0, span)


def _measured(base: Tensor, name: str, given: Given) -> Any:
    shape = base.shape
    if shape is None:
        return UNKNOWN
    if name == "size":
        where = given.get("dim", 0, None)
        if where is None:
            return shape
        return shape[where] if isinstance(where, int) and -len(shape) <= where < len(shape) else UNKNOWN
    if name in ("numel", "nelement"):
        return product(shape)
    return len(shape) if name in ("dim", "ndimension") else UNKNOWN


def _converted(base: Tensor, name: str, given: Given, span: Span) -> Tensor:
    if name in ("detach", "requires_grad_", "cpu", "cuda", "pin_memory"):
        made = view(base, base.shape, packed=base.packed)
        made.sign = base.sign
        if name == "detach":
            made.gradient = False
        if name == "requires_grad_":
            base.gradient = True
            return base
        made.copied = base.copied
        return made
    if name == "contiguous":
        if base.packed is False:
            return fresh("contiguous", base.shape, base.dtype, [base], base.at)
        return view(base, base.shape, packed=True)
    kind: str | None = DTYPES.get(name)
    if kind is None:
        kinds = [dtype_of(value) for value in given.values()]
        named = [one for one in kinds if one]
        kind = named[0] if named else base.dtype
        if given.open:
            kind = ""
    changes = bool(kind and base.dtype and kind != base.dtype)
    if not changes:
        made = view(base, base.shape, packed=base.packed)
        made.sign = base.sign
        made.dtype = kind
        made.copied = base.copied
        return made
    return fresh(f"to {kind}", base.shape, kind, [base], base.at)


def _new(player: Any, base: Tensor, name: str, given: Given, span: Span) -> Any:
    maker = name.removeprefix("new_")
    made = created(player, maker, given, span)
    if isinstance(made, Tensor) and given.get("dtype", None) is None and maker != "tensor":
        made.dtype = base.dtype
    return made if made is not NotImplemented else UNKNOWN


def computed(player: Any, name: str, base: Tensor, given: Given, first: int, span: Span) -> Any:
    """A method, or a function of which the tensor is the first argument (``first`` positional ones come before the others)."""
    values = given.positional[first:]
    everything = [base, *values, *given.keywords.values()]
    shape = base.shape
    if name == "clone":
        return fresh(name, shape, base.dtype, [base], base.at)
    if name in _SAME:
        return fresh(
            name,
            shape,
            base.dtype if base.dtype.startswith(("float", "bfloat", "complex")) else "",
            everything,
            base.at,
        )
    if name in _ARITHMETIC or name in _TESTS:
        symbol = "==" if name in _TESTS else name
        return elementwise(player, symbol, [base, *values[:1]])
    if name in _LOCAL_SIZES:
        return _of_local_size(name, base, everything)
    if name in _REDUCING:
        return _reduced(name, base, given, first, everything)
    if name in ("view", "reshape", "flatten", "unsqueeze", "squeeze", "expand", "narrow", "view_as", "reshape_as"):
        return _reshaped(name, base, values, given, first)
    if name in ("t", "transpose", "permute", "swapaxes"):
        return _transposed(name, base, values)
    if name in ("chunk", "split", "unbind", "tensor_split"):
        return _parts(name, base, values, given)
    if name == "repeat":
        return fresh(name, _repeated(shape, values), base.dtype, everything, base.at)
    if name in ("backward", "register_hook"):
        return None
    return NotImplemented


def _of_local_size(name: str, base: Tensor, everything: list[Any]) -> Tensor:
    size = Opaque(combined(f"size of {name}", everything), source_of(everything))
    made_of: tuple[Any, ...] = (
        (size, len(base.shape)) if name in ("nonzero", "argwhere") and base.shape is not None else (size,)
    )
    dtype = "int64" if name in ("nonzero", "argwhere") else base.dtype
    return fresh(name, made_of, dtype, everything, base.at)


def _reduced(name: str, base: Tensor, given: Given, first: int, everything: list[Any]) -> Any:
    dtype = base.dtype
    if name == "sum" and (dtype in _INTEGERS or dtype == "bool"):
        dtype = "int64"
    if name in ("any", "all"):
        dtype = "bool"
    if name in ("argmax", "argmin"):
        dtype = "int64"
    if given.get("dtype", None) is not None:
        dtype = dtype_of(given.get("dtype", None)) or ""
    where = given.get("dim", first, None)
    if name == "norm" and "dim" not in given.keywords:
        where = None
    shape: Any = None
    if where is None and not given.open and not given.keywords.keys() - {"dtype"}:
        shape = ()
    elif isinstance(where, int) and base.shape is not None and -len(base.shape) <= where < len(base.shape):
        keep = given.get("keepdim", first + 1, False)
        where %= len(base.shape)
        if isinstance(keep, bool):
            shape = (*base.shape[:where], *((1,) if keep else ()), *base.shape[where + 1 :])
        if name in ("max", "min", "median"):
            one = fresh(name, shape, dtype, everything, base.at)
            return (one, fresh(f"{name} index", shape, "int64", everything, base.at))
    if name in ("max", "min") and isinstance(where, Tensor):
        return elementwise(None, name, everything)
    return fresh(name, shape, dtype, everything, base.at)


def _reshaped(name: str, base: Tensor, values: list[Any], given: Given, first: int) -> Tensor:
    shape = base.shape
    found: Any = None
    if name in ("view", "reshape"):
        if values and isinstance(values[0], Library):
            return view(base, None)
        sizes = sizes_of([given.get("shape", None)] if "shape" in given.keywords else values)
        found = _with_rest(sizes, shape)
    elif name == "flatten" and shape is not None and not values and not given.keywords:
        found = (product(shape),)
    elif name == "unsqueeze" and shape is not None:
        where = given.get("dim", first)
        if isinstance(where, int) and -len(shape) - 1 <= where <= len(shape):
            where = where if where >= 0 else where + len(shape) + 1
            found = (*shape[:where], 1, *shape[where:])
    elif name == "squeeze" and shape is not None and all(isinstance(size, int) for size in shape):
        where = given.get("dim", first)
        if where is None:
            found = tuple(size for size in shape if size != 1)
        elif isinstance(where, int) and -len(shape) <= where < len(shape):
            where %= len(shape)
            found = tuple(size for position, size in enumerate(shape) if position != where or size != 1)
    elif name in ("view_as", "reshape_as") and values and isinstance(values[0], Tensor):
        found = values[0].shape
    return view(base, found, packed=None if name in ("expand", "narrow") else True)


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


def _transposed(name: str, base: Tensor, values: list[Any]) -> Tensor:
    shape = base.shape
    if shape is None:
        return view(base, None, packed=None)
    order = list(range(len(shape)))
    if name == "t":
        order.reverse()
    elif name in ("transpose", "swapaxes") and len(values) == 2 and all(isinstance(value, int) for value in values):
        one, two = values
        if not all(-len(shape) <= value < len(shape) for value in values):
            return view(base, None, packed=None)
        order[one], order[two] = order[two], order[one]
    else:
        return view(base, None, packed=None)
    packed = True if order == sorted(order) else _turned(base)
    return view(base, tuple(shape[position] for position in order), packed=packed)


def _parts(name: str, base: Tensor, values: list[Any], given: Given) -> Any:
    shape = base.shape
    if not shape or not isinstance(shape[0], int) or given.keywords or len(values) > 1:
        return UNKNOWN
    size = shape[0]
    count = values[0] if values else None
    if name == "unbind" and size <= 16:
        return tuple(view(base, shape[1:]) for _ in range(size))
    if not isinstance(count, int) or count <= 0 or size > 4096:
        return UNKNOWN
    if name == "tensor_split":
        sizes = [size // count + (1 if position < size % count else 0) for position in range(min(count, 64))]
    else:
        step = count if name == "split" else -(-size // count)
        sizes = [min(step, size - start) for start in range(0, size, step)] if step else []
    if len(sizes) > 64:
        return UNKNOWN
    return tuple(view(base, (one, *shape[1:])) for one in sizes)


def _repeated(shape: Any, values: list[Any]) -> Any:
    counts = sizes_of(values)
    if shape is None or counts is None or len(counts) < len(shape):
        return None
    sizes = (1,) * (len(counts) - len(shape)) + shape
    return tuple(
        size * count if isinstance(size, int) and isinstance(count, int) else derived("*", [size, count])
        for size, count in zip(sizes, counts, strict=True)
    )


def joined(player: Any, name: str, given: Given, span: Span) -> Tensor:
    """``torch.cat`` and ``torch.stack``."""
    items = player.items_of(given.get("tensors", 0, UNKNOWN))
    where = given.get("dim", 1, 0)
    if not items or not all(isinstance(item, Tensor) for item in items):
        return Tensor(None, "", span)
    for item in items:
        player.stage.use(item, span)
    first = items[0]
    kind = first.dtype if len({item.dtype for item in items}) == 1 else ""
    shapes = [item.shape for item in items]
    shape: Any = None
    if None not in shapes and isinstance(where, int):
        if name == "stack" and where == 0:
            shape = (len(items), *first.shape)
        elif name in ("cat", "concat") and first.shape and -len(first.shape) <= where < len(first.shape):
            where %= len(first.shape)
            sizes = [item.shape[where] for item in items if item.shape and len(item.shape) == len(first.shape)]
            total = sum(sizes) if all(isinstance(size, int) for size in sizes) else derived("+", sizes)
            shape = (*first.shape[:where], total, *first.shape[where + 1 :])
    return fresh(name, shape, kind, items, span)


__all__ = [
    "DTYPES",
    "computed",
    "created",
    "dtype_of",
    "elementwise",
    "fresh",
    "indexed",
    "is_known",
    "joined",
    "product",
    "signature",
    "tensor_attribute",
    "tensor_method",
    "view",
]
