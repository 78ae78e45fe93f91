"""Arrays of numpy in the rehearsal of a program: they become tensors, and say which rows each process takes.

Sources: numpy 2.3, ``numpy/_core/fromnumeric.py``, ``numpy/lib/_shape_base_impl.py``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_parts as parts
from distlint.frameworks.torch.rehearsed_computing import PLACES
from distlint.frameworks.torch.rehearsed_making import created
from distlint.frameworks.torch.rehearsed_shapes import (
    DTYPES,
    dimension,
    dtype_of,
    fresh,
    kept_size,
    reshaped,
    sizes_of,
    told_by_place,
)
from distlint.frameworks.torch.rehearsed_tensors import listed
from distlint.model.span import Span
from distlint.rehearsal.entities import Library
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Array, Given, Items, Tensor, derived

PREFIX = "numpy."
_MADE = (
    "zeros",
    "ones",
    "empty",
    "full",
    "arange",
    "linspace",
    "eye",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
)
_SAME = ("abs", "exp", "log", "sqrt", "sin", "cos", "clip", "square", "round", "negative", "flip", "copy", "astype")
_SIZES = {
    **dict.fromkeys(("random", "random_sample", "standard_normal", "standard_exponential"), 0),
    **dict.fromkeys(("exponential", "poisson", "rayleigh"), 1),
    **dict.fromkeys(("normal", "uniform", "beta", "binomial", "gamma", "laplace", "lognormal", "logistic"), 2),
    **dict.fromkeys(("integers", "randint"), 2),
}
"""Where the generators of random numbers are told how many to give."""
_DRAWN_WHOLE = ("integers", "randint", "binomial", "poisson")
_REDUCED = ("sum", "mean", "max", "min", "prod", "std", "var", "argmax", "argmin", "any", "all")


def made(player: Any, name: str, given: Given, span: Span) -> Any:
    """What a function of numpy gives; ``NotImplemented`` for those that are not known."""
    if name in _MADE:
        return _as_array(created(player, name, _with_sizes(name, given), span), given)
    if name in ("array", "asarray", "ascontiguousarray"):
        first = given.get("object", 0, given.get("a", 0, UNKNOWN))
        if isinstance(first, Tensor | Items) or type(first) is tuple or isinstance(first, int | float):
            return _as_array(created(player, "tensor", Given([first], {}), span), given)
        return NotImplemented
    if name in ("array_split", "split"):
        return _split(player, name, given, span)
    if name in ("concatenate", "stack", "vstack", "hstack"):
        items = player.items_of(given.get("arrays", 0, UNKNOWN))
        if not items or not all(isinstance(one, Array) for one in items):
            return NotImplemented
        where = given.get("axis", 1, 0)
        return parts.joined(player, name, Given([Items(items)], {"dim": where}), span)
    first = given.positional[0] if given.positional else None
    if name in PLACES and isinstance(first, Items):
        first = _as_array(created(player, "tensor", Given([first], {}), span), Given([], {}))
    rest = Given(given.positional[1:], given.keywords, is_open=given.open)
    return method(player, first, name, rest) if isinstance(first, Array) else NotImplemented


def method(player: Any, base: Array, name: str, given: Given) -> Any:
    """A method of an array; ``NotImplemented`` for those that are not known."""
    everything = [base, *given.values()]
    if name in _SAME:
        kept = name in ("copy", "flip", "clip", "abs", "square", "round", "negative") or base.dtype == "float64"
        dtype = _asked_kind(given.get("dtype", 0)) if name == "astype" else base.dtype if kept else ""
        return kept_size(fresh(name, base.shape, dtype or "", everything, base.at), [base])
    if name == "tolist" and base.shape is not None and len(base.shape) == 1:
        return listed(base, base.shape[0])
    if name in ("reshape", "ravel", "flatten"):
        return reshaped(name, base, given.positional, given, 0)
    if name in _REDUCED:
        where = given.get("axis", 0, None)
        place = dimension(where, len(base.shape)) if base.shape is not None else None
        shape: Any = () if where is None else None
        if place is not None and base.shape is not None:
            shape = (*base.shape[:place], *base.shape[place + 1 :])
        shape = None if "keepdims" in given.keywords or given.open else shape
        kept = base.dtype == "float64" and name not in ("argmax", "argmin", "any", "all")
        made = fresh(name, shape, base.dtype if kept else "", everything, base.at)
        return told_by_place(made, base) if name in PLACES else made
    return NotImplemented


def drawn(name: str, given: Given, value: Any, span: Span) -> Any:
    """What a generator of random numbers gives where it is asked for several; ``NotImplemented`` for one, and where that is open.

    ``value`` says what tells the numbers, and why they differ between processes.
    """
    last = name.rpartition(".")[2]
    if last in ("rand", "randn"):
        asked: Any = tuple(given.positional) or None
    else:
        asked = given.get("size", _SIZES.get(last), UNKNOWN if last not in _SIZES else None)
    if given.open or not isinstance(value, Opaque) or not (isinstance(asked, int | Items) or type(asked) is tuple):
        return NotImplemented
    kind = _asked_kind(given.get("dtype", None, None))
    kind = ("int64" if last in _DRAWN_WHOLE else "float64") if kind is None else kind
    made = Array(sizes_of([asked]), kind, span, value.sign, value.source)
    made.drawn = True
    return made


def _asked_kind(asked: Any) -> str | None:
    """The type that numpy is asked for: its own names, and those of Python for its longest ones."""
    if isinstance(asked, str):
        return DTYPES.get(asked, "") if asked not in ("float", "int") else f"{asked}64"
    if isinstance(asked, Library) and asked.name.startswith(("numpy.", "builtins.")):
        last = asked.name.rpartition(".")[2]
        return {"float": "float64", "int": "int64"}.get(last, DTYPES.get(last, ""))
    return dtype_of(asked)


def _with_sizes(name: str, given: Given) -> Given:
    """The same in the words of torch."""
    keywords = {word: value for word, value in given.keywords.items() if word not in ("shape", "dtype", "num", "order")}
    if "shape" in given.keywords:
        keywords["size"] = given.keywords["shape"]
    if "num" in given.keywords:
        keywords["steps"] = given.keywords["num"]
    few = given.positional[: 2 if name.startswith("full") else 3 if name in ("arange", "linspace") else 1]
    return Given(list(few), keywords, is_open=given.open)


def _as_array(found: Any, given: Given) -> Any:
    if not isinstance(found, Tensor):
        return found
    array = Array(found.shape, found.dtype, found.at, found.sign, found.source)
    array.copied = False
    kind = _asked_kind(given.keywords.get("dtype"))
    array.dtype = ("float64" if found.dtype == "float32" else found.dtype) if kind is None else kind
    array.gradient = False
    array.typed, array.pointed = found.typed, found.pointed
    array.level, array.placed = found.level, found.placed
    if found.numbers is not None:
        array.holds(found.numbers)
    return array


def _split(player: Any, name: str, given: Given, span: Span) -> Any:
    """``array_split``: parts of which the first ones are one longer; of a list its items in arrays."""
    base, count = given.get("ary", 0, UNKNOWN), given.get("indices_or_sections", 1, UNKNOWN)
    if isinstance(base, Items | range) or type(base) is tuple:
        size = player.length(base)
        base = Array((size,), "", span, derived("array", [base]).sign, derived("array", [base]).source)
    if not isinstance(base, Array):
        return NotImplemented
    where = given.get("axis", 2, 0)
    found = parts.cut(player, "tensor_split", base, [count, where], Given([], {}))
    return Items(list(found)) if type(found) is tuple else found
