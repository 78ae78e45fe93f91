"""What PyTorch's functions and methods give for tensors of which shape and type are known, in part or whole.

Shapes are those of torch 2.13; what is not listed gives a tensor of unknown shape, or nothing that is known.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_chosen as chosen
from distlint.frameworks.torch import rehearsed_computing as computing
from distlint.frameworks.torch import rehearsed_parts as parts
from distlint.frameworks.torch import rehearsed_recording as recording
from distlint.frameworks.torch.rehearsed_gradients import gradient_of
from distlint.frameworks.torch.rehearsed_making import created
from distlint.frameworks.torch.rehearsed_needs import FROZEN, needs_gradient
from distlint.frameworks.torch.rehearsed_shapes import (
    DTYPES,
    INTEGERS,
    KINDS,
    SOUND,
    TESTS,
    dtype_of,
    elementwise,
    figured,
    fresh,
    item_size,
    kept_size,
    picked_by,
    product,
    repeated,
    reshaped,
    transposed,
    turned,
    view,
)
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.bounds import of_part
from distlint.rehearsal.entities import Library, MethodOf
from distlint.rehearsal.figures import whole
from distlint.rehearsal.merging import alike
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque, Source
from distlint.rehearsal.values import Array, Given, Items, Tensor, combined, derived, source_of

_CASTS = frozenset(DTYPES) - {"float32", "float64", "int32", "int64", "float16", "int16", "int8", "uint8"}
_SAME_NAMES = """
sin cos tan exp log log2 log10 log1p sqrt rsqrt sigmoid tanh softmax log_softmax gelu silu reciprocal erf leaky_relu
normalize cumsum cumprod elu selu softplus mish hardtanh logsigmoid layer_norm batch_norm atan asin acos expm1 logit
hardswish hardsigmoid softmin celu group_norm rms_norm instance_norm
"""
_SAME_KIND_NAMES = """
abs neg floor ceil round sign clamp clip clamp_min clamp_max fill masked_fill flip roll nan_to_num square tril triu relu
dropout trunc fmod logical_and logical_or lerp addcmul addcdiv fliplr flipud contiguous detach renorm masked_scatter
"""
_SAME = frozenset(_SAME_NAMES.split())
_SAME_KIND = frozenset(_SAME_KIND_NAMES.split()) - {"logical_and", "logical_or", "contiguous", "detach"}
_RESHAPING_NAMES = """
view reshape flatten ravel unflatten unsqueeze squeeze expand expand_as broadcast_to view_as reshape_as
"""
_RESHAPING = frozenset(_RESHAPING_NAMES.split())
_TURNING = ("t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis")
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
LOSSES = (
    "cross_entropy",
    "mse_loss",
    "nll_loss",
    "l1_loss",
    "binary_cross_entropy",
    "smooth_l1_loss",
    "kl_div",
    "binary_cross_entropy_with_logits",
)


def indexed(player: Any, base: Tensor, index: Any) -> Any:
    """``tensor[index]``."""
    if isinstance(index, (Tensor, Items)):
        return recording.computed(player, _picked(base, index), base)
    every = list(index) if type(index) is tuple else [index]
    found = recording.computed(player, _cut_out(base, index, every), base)
    if found.whole is base.whole:
        content = [base, *(_index_sign(part) for part in every)]
        found.sign = combined("index", content)
        found.source = base.source or source_of(every)
    return found


def _index_sign(part: Any) -> Any:
    """What tells an index: a slice by its bounds."""
    if isinstance(part, slice):
        return derived("slice", [part.start, part.stop, part.step])
    return "..." if part is Ellipsis else part


def _cut_out(base: Tensor, index: Any, every: list[Any]) -> Tensor:
    """The part of a tensor that plain indices and slices name."""
    if base.shape is None:
        return view(base, None, packed=None)
    sizes = list(base.shape)
    result: list[Any] = []
    position = 0
    packed: bool | None = True
    if any(part is Ellipsis for part in every):
        return view(base, None, packed=None)
    for part in every:
        if part is None:
            result.append(1)
            continue
        if position >= len(sizes):
            return view(base, None, packed=None)
        if isinstance(part, Tensor | Items):
            return _picked_part(base, part, sizes, result, every)
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


def _picked_part(base: Tensor, part: Any, sizes: list[Any], before: list[Any], every: list[Any]) -> Tensor:
    """``tensor[mask, None]``: of the first dimension those that a mask says, the rest as plain indices say."""
    made = fresh("index", None, base.dtype, [base, part], base.at)
    if isinstance(part, Items) or part.dtype != "bool":
        return made
    size = Opaque(combined("count", [part]), part.source)
    picked_by(made, size)
    behind = every[1:]
    plain = all(one is None or one == slice(None) for one in behind)
    if not before and part is every[0] and plain and part.shape is not None and len(part.shape) == 1:
        rest = iter(sizes[1:])
        made.shape = (size, *(1 if one is None else next(rest, UNKNOWN) for one in behind), *rest)
    return made


def _picked(base: Tensor, index: Any) -> Tensor:
    if isinstance(index, Items):
        shape = (index.length(), *base.shape[1:]) if base.shape else None
        return fresh("index", shape, base.dtype, [base, index], base.at)
    if index.dtype == "bool":
        size = Opaque(combined("count", [index]), index.source)
        rank = len(index.shape) if index.shape is not None else 1
        shape = (size, *base.shape[rank:]) if base.shape is not None else (size,) if index.shape is None else None
        return picked_by(fresh("mask", shape, base.dtype, [base, index], base.at), size)
    known = index.dtype in INTEGERS and index.shape is not None and base.shape is not None and len(base.shape) > 0
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
    found = derived("slice", [size, *bounds])
    if part.stop is not None and not (isinstance(part.stop, int) and part.stop < 0):
        # an end makes it as many everywhere, as a rule
        found = Opaque(found.sign, source_of(bounds), measured=found.measured)
    return of_part(found, part)


def tensor_attribute(player: Any, base: Tensor, name: str, expr: ir.Expr, scope: Any) -> Any:
    """``tensor.name``."""
    if name == "shape":
        return base.shape if base.shape is not None else _measured(base, name, Given([], {}))
    if isinstance(base, Array):
        return product(base.shape) if name == "size" and base.shape is not None else MethodOf(base, name)
    if name == "dtype":
        return Library(f"torch.{base.dtype}") if base.dtype else UNKNOWN
    if name == "data":
        made = view(base, base.shape)
        made.gradient = False
        return made
    if name == "grad":
        if not isinstance(base, Weight) and recording.has_none(player, base):
            return None
        found = gradient_of(player, base)
        return chosen.gradient(player, base.owners, found) if isinstance(base, Weight) else found
    if name in ("T", "mT"):
        return view(base, base.shape[::-1] if base.shape is not None else None, packed=turned(base))
    if name == "ndim":
        return len(base.shape) if base.shape is not None else UNKNOWN
    if name == "itemsize":
        return item_size(base.dtype)
    if name == "nbytes":
        return product((item_size(base.dtype), _measured(base, "numel", Given([], {}))))
    if name == "requires_grad" and isinstance(base, Weight):
        return needs_gradient(player, base)
    if name == "requires_grad":
        return recording.needs_one(player, base, all_trained=not player.stage.kept.get(FROZEN))
    if name in ("device", "is_cuda", "grad_fn"):
        return UNKNOWN
    return MethodOf(base, name)


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
        found = _measured(base, name, given)
        return whole(found) if name in ("size", "numel", "nelement") else found
    if (
        name in ("detach", "requires_grad_", "cpu", "cuda", "to", "type", "type_as", "contiguous", "pin_memory")
        or name in _CASTS
    ):
        return _converted(base, name, given, span)
    changes = name.endswith("_") and not name.endswith("__")
    if name not in ("set_", "resize_", "share_memory_"):
        if changes:
            player.stage.overwrite(base, span)
        else:
            player.stage.use(base, span)
        for value in values:
            player.stage.use(value, span)
    if name in ("item", "tolist", "numpy"):
        if name == "tolist" and shape is not None and len(shape) == 1:
            return listed(base, shape[0])
        found = Opaque(combined("item", [base]), _counted(base), measured=True)
        found.chance = base.chance
        if name == "item" and base.dtype in INTEGERS:
            return whole(found)
        return Number(float, found) if name == "item" and base.floating else found
    if name.startswith("new_"):
        return _new(player, base, name, given, span)
    if changes:
        player.changed(base, name, list(given.values()), span)
        return base
    return computed(player, name, base, given, 0, span)


def listed(base: Tensor, size: Any) -> Items:
    """The numbers of a row as a list."""
    found = Items(None if base.numbers is None else list(base.numbers), size)
    if found.items is None:
        found.whole = Opaque(combined("list", [base]), base.source)
        some = Opaque(combined("some number", [base]), _counted(base))
        some.chance = base.drawn
        found.sample = Number(int, some) if base.dtype in INTEGERS else some
    return found


def _counted(base: Tensor) -> Source | None:
    """Why numbers read out of a tensor differ."""
    return None if base.source is None else base.source._replace(counted=True)


def _measured(base: Tensor, name: str, given: Given) -> Any:
    if name == "element_size":
        return item_size(base.dtype)
    shape = base.shape
    if shape is None and name in ("numel", "nelement") and base.ragged is not None:
        return derived("numel", [base.ragged])
    if shape is None:
        # what is in it differs between processes perhaps, and its shape does not
        return Opaque(combined(name, [base, *given.values()]) if base.source is None else None)
    if name == "size":
        where = given.get("dim", 0, None)
        if where is None:
            return shape
        return shape[where] if isinstance(where, int) and -len(shape) <= where < len(shape) else UNKNOWN
    if name in ("numel", "nelement"):
        return product(shape)
    return len(shape) if name in ("dim", "ndimension") else UNKNOWN


def _converted(base: Tensor, name: str, given: Given, span: Span) -> Tensor:
    made = _as_asked(base, name, given, span)
    return made if made is base else kept_size(made, [base])


def _as_asked(base: Tensor, name: str, given: Given, span: Span) -> Tensor:
    if name in ("detach", "requires_grad_", "cpu", "cuda", "pin_memory"):
        made = view(base, base.shape, packed=base.packed)
        made.sign = base.sign
        if name == "detach":
            made.gradient = False
        if name == "requires_grad_":
            recording.said(base, given.get("requires_grad", 0, True))
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


def operated(player: Any, symbol: str, values: list[Any]) -> Any:
    """What an operator gives of tensors."""
    beside.used_alone(player, values)
    return recording.computed(player, elementwise(player, symbol, values), *values)


def computed(player: Any, name: str, base: Tensor, given: Given, first: int, span: Span) -> Any:
    """A method, or a function of which the tensor is the first argument (``first`` positional ones come before the others)."""
    values = given.positional[first:]
    everything = [base, *values, *given.keywords.values()]
    shape = base.shape
    beside.used_alone(player, everything, span)
    if name == "clone":
        made = kept_size(fresh(name, shape, base.dtype, [base], base.at), [base])
        made.sign = base.sign  # the same numbers
        return made
    if name in KINDS:
        return base.dtype.startswith(KINDS[name]) if base.dtype else UNKNOWN
    if name in computing.NAMES:
        return computing.computed(player, name, base, values, given, everything)
    if name in _SAME or name in _SAME_KIND:
        floating = base.dtype.startswith(("float", "bfloat", "complex"))
        kind = base.dtype if floating or name in _SAME_KIND else "float32" if base.dtype in INTEGERS else ""
        if name in ("cumsum", "cumprod") and base.dtype in (*INTEGERS, "bool"):
            kind = "int64"
        return kept_size(fresh(name, shape, kind, everything, base.at), [base])
    if name in _ARITHMETIC or name in TESTS:
        symbol = "==" if name in TESTS else name
        found = elementwise(player, symbol, [base, *values[:1]])
        return figured(found) if name in SOUND else found
    if name in _RESHAPING:
        return reshaped(name, base, values, given, first)
    if name in _TURNING:
        return transposed(name, base, values)
    if name in parts.CUTTING:
        return parts.cut(player, name, base, values, given)
    if name in parts.PICKING:
        return parts.picked(name, base, values, given)
    if name == "pad":
        return parts.padded(player, base, given, first)
    if name == "repeat":
        return fresh(name, repeated(shape, values), base.dtype, everything, base.at)
    if name in ("backward", "register_hook"):
        return None
    return NotImplemented
