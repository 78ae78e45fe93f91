"""Shapes of the library's layers in the rehearsal of a program: of their parameters, and of what comes out of them.

Sources: torch 2.13, ``torch/nn/modules``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import dimension, fresh, product
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Tensor, derived

_SAME_SHAPE = ("Dropout", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "BatchNorm", "LayerNorm", "GroupNorm")
SAME_SHAPES = (*_SAME_SHAPE, "Identity", "LeakyReLU", "ELU", "LogSoftmax", "RMSNorm", "SyncBatchNorm", "InstanceNorm")
_ALSO_SAME = (
    "ReLU6",
    "Mish",
    "Hardtanh",
    "Hardswish",
    "Softplus",
    "AlphaDropout",
    "TransformerEncoder",
    "TransformerDecoder",
)
_PLAIN = ("Dropout", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "Identity", "LeakyReLU", "ELU", "LogSoftmax")
WITHOUT_PARAMETERS = (
    *_PLAIN,
    "Flatten",
    "MaxPool",
    "AvgPool",
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "ReLU6",
    "Unflatten",
)
_CONVOLUTIONS = {"Conv1d": 1, "Conv2d": 2, "Conv3d": 3}
_POOLS = {"MaxPool1d": 1, "MaxPool2d": 2, "MaxPool3d": 3, "AvgPool1d": 1, "AvgPool2d": 2, "AvgPool3d": 3}
_ADAPTIVE = {f"Adaptive{kind}Pool{number}d": number for kind in ("Avg", "Max") for number in (1, 2, 3)}


_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""Recurrent layers, with how many rows of weights they have for each of their numbers."""


def parameter_shapes(kind: str, given: Given) -> dict[str, Any] | None:
    """The parameters of a layer and their shapes; ``None`` where it is not known which it has."""
    if given.open:
        return None
    bias = given.get("bias", {"Linear": 2, **dict.fromkeys(_CONVOLUTIONS, 7)}.get(kind, 99), True)
    if kind == "Linear":
        out = given.get("out_features", 1, UNKNOWN)
        return _with_bias({"weight": (out, given.get("in_features", 0, UNKNOWN))}, bias, (out,))
    if kind in _CONVOLUTIONS:
        groups = given.get("groups", 6, 1)
        into, out = given.get("in_channels", 0, UNKNOWN), given.get("out_channels", 1, UNKNOWN)
        size = _each(given.get("kernel_size", 2, UNKNOWN), _CONVOLUTIONS[kind])
        known = isinstance(into, int) and isinstance(groups, int) and groups > 0
        return _with_bias({"weight": (out, into // groups if known else UNKNOWN, *size)}, bias, (out,))
    if kind in ("Embedding", "EmbeddingBag"):
        return {"weight": (given.get("num_embeddings", 0, UNKNOWN), given.get("embedding_dim", 1, UNKNOWN))}
    if kind.startswith(("BatchNorm", "GroupNorm", "LayerNorm", "SyncBatchNorm")):
        affine = given.get("elementwise_affine" if kind == "LayerNorm" else "affine", None, True)
        shape = given.get("normalized_shape", 0, UNKNOWN) if kind == "LayerNorm" else None
        if kind == "LayerNorm":
            items = shape.items if isinstance(shape, Items) else shape if type(shape) is tuple else [shape]
            sizes = tuple(items) if items is not None else None
        else:
            sizes = (given.get("num_channels", 1, UNKNOWN) if kind == "GroupNorm" else given.get("num_features", 0),)
        if affine is False:
            return {}
        return _with_bias({"weight": sizes}, bias, sizes) if affine is True else None
    if kind in _GATES:
        return _recurrent(kind, given)
    if kind == "MultiheadAttention":
        return _attention(given)
    return {} if kind.startswith(WITHOUT_PARAMETERS) or kind.endswith("Loss") else None


def _recurrent(kind: str, given: Given) -> dict[str, Any] | None:
    """The parameters of recurrent layers (torch 2.13, ``nn/modules/rnn.py``)."""
    into, size = given.get("input_size", 0, UNKNOWN), given.get("hidden_size", 1, UNKNOWN)
    layers, both = given.get("num_layers", 2, 1), given.get("bidirectional", None, False)
    plain = given.get("proj_size", None, 0) == 0 and given.get("bias", None, True) is True and len(given.positional) < 4
    if (
        not plain
        or not isinstance(size, int)
        or not isinstance(layers, int)
        or not 0 < layers <= 8
        or both not in (True, False)
    ):
        return None
    rows, ways = _GATES[kind] * size, ("", "_reverse") if both else ("",)
    found: dict[str, Any] = {}
    for layer in range(layers):
        for way in ways:
            found[f"weight_ih_l{layer}{way}"] = (rows, into if layer == 0 else size * len(ways))
            found[f"weight_hh_l{layer}{way}"] = (rows, size)
            found[f"bias_ih_l{layer}{way}"] = found[f"bias_hh_l{layer}{way}"] = (rows,)
    return found


def _width(kind: str, given: Given) -> Any:
    """How many numbers a recurrent layer gives for each step (torch 2.13, ``nn/modules/rnn.py``)."""
    size, both = given.get("hidden_size", 1, UNKNOWN), given.get("bidirectional", 6, False)
    plain = _is_plain(kind, given) and isinstance(both, bool)
    return size * (2 if both else 1) if plain and isinstance(size, int) else UNKNOWN


def _is_plain(kind: str, given: Given) -> bool:
    """Whether a layer is a recurrent one without projections, and its arguments are known (``RNN`` has one more in the middle)."""
    return (
        kind in _GATES
        and not given.open
        and given.get("proj_size", 7, 0) == 0
        and (kind != "RNN" or len(given.positional) < 4)
    )


def with_more(kind: str, given: Given | None, found: Tensor) -> Any:
    """All that a layer gives, with what goes on: the last states of a recurrent one, the weights of attention."""
    if given is None or (kind not in _GATES and kind != "MultiheadAttention"):
        return found
    shape = _state(given, found.shape) if found.shape is not None and _is_plain(kind, given) else None
    more = [
        fresh(f"{kind} {part}", shape, found.dtype, [found], found.at) for part in range(2 if kind == "LSTM" else 1)
    ]
    for one in more:
        one.pointed = True
    return (found, tuple(more) if kind == "LSTM" else more[0])


def _state(given: Given, shape: tuple[Any, ...]) -> Any:
    """The shape of the last states of a recurrent layer: one row for each of its layers and ways."""
    first, layers, both = (
        given.get(*one) for one in (("batch_first", 4, False), ("num_layers", 2, 1), ("bidirectional", 6, False))
    )
    plain = isinstance(layers, int) and isinstance(both, bool) and isinstance(first, bool) and len(shape) == 3
    if not plain:
        return None
    return (layers * (2 if both else 1), shape[0 if first else 1], given.get("hidden_size", 1, UNKNOWN))


def _attention(given: Given) -> dict[str, Any] | None:
    """The parameters of ``MultiheadAttention`` (torch 2.13, ``nn/modules/activation.py``)."""
    size = given.get("embed_dim", 0, UNKNOWN)
    usual = ("bias", True), ("add_bias_kv", False), ("kdim", None), ("vdim", None)
    if (
        not isinstance(size, int)
        or len(given.positional) > 3
        or any(given.get(name, None, one) is not one for name, one in usual)
    ):
        return None
    return {
        "in_proj_weight": (3 * size, size),
        "in_proj_bias": (3 * size,),
        "out_proj.weight": (size, size),
        "out_proj.bias": (size,),
    }


def _with_bias(found: dict[str, Any], bias: Any, shape: Any) -> dict[str, Any] | None:
    if bias is True:
        return {**found, "bias": shape}
    return found if bias is False else None


def _each(value: Any, count: int) -> list[Any]:
    """A length for each dimension, given as one for all or as several."""
    items = value.items if isinstance(value, Items) else value if type(value) is tuple else None
    if items is not None and len(items) == count:
        return list(items)
    return [value if isinstance(value, int) else UNKNOWN] * count


def out_shape(kind: str, given: Given, shape: tuple[Any, ...]) -> Any:
    """What shape comes out of a layer for one that goes in; ``None`` where that is not known."""
    if kind.startswith((*SAME_SHAPES, *_ALSO_SAME)):
        return shape
    if kind == "Linear" and shape:
        return (*shape[:-1], given.get("out_features", 1, UNKNOWN))
    if kind == "Embedding":
        return (*shape, given.get("embedding_dim", 1, UNKNOWN))
    if kind == "EmbeddingBag" and len(shape) == 2:  # of one dimension its bags are told by offsets
        return (shape[0], given.get("embedding_dim", 1, UNKNOWN))
    if kind == "Flatten":
        first, last = (dimension(given.get(*one), len(shape)) for one in (("start_dim", 0, 1), ("end_dim", 1, -1)))
        if first is None or last is None or first > last:
            return None
        return (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :])
    if kind in _CONVOLUTIONS or kind in _POOLS:
        return _slid(kind, given, shape)
    if kind in _GATES and len(shape) in (2, 3):
        return (*shape[:-1], _width(kind, given))
    if kind == "MultiheadAttention":
        return shape
    if kind in _ADAPTIVE and len(shape) > _ADAPTIVE[kind]:
        return (*shape[: -_ADAPTIVE[kind]], *_each(given.get("output_size", 0, UNKNOWN), _ADAPTIVE[kind]))
    return None


def _slid(kind: str, given: Given, shape: tuple[Any, ...]) -> Any:
    """The shape behind a window that slides over the last dimensions (convolutions and pools)."""
    folds = kind in _CONVOLUTIONS
    count = _CONVOLUTIONS[kind] if folds else _POOLS[kind]
    if len(shape) <= count:
        return None
    first = 2 if folds else 0
    kernel = _each(given.get("kernel_size", first, UNKNOWN), count)
    step = given.get("stride", first + 1, 1 if folds else None)
    stride = kernel if step is None else _each(step, count)
    padding = _each(given.get("padding", first + 2, 0), count)
    dilation = _each(given.get("dilation", 5 if folds else None, 1), count)
    upwards = given.get("ceil_mode", None, False) is not False
    sizes = []
    for size, *window in zip(shape[-count:], kernel, stride, padding, dilation, strict=True):
        numbers = [one for one in (size, *window) if isinstance(one, int)]
        if len(numbers) < 5 or upwards or window[1] == 0:
            sizes.append(derived(kind, [size, *window]))
        else:
            width, pace, edge, gap = window
            sizes.append((size + 2 * edge - gap * (width - 1) - 1) // pace + 1)
    before = shape[:-count]
    out: Any = given.get("out_channels", 1, UNKNOWN) if folds else before[-1]
    return (*before[:-1], out if isinstance(out, int | Opaque) else UNKNOWN, *sizes)
