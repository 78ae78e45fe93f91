"""In which order the rows stand that functions and methods of libraries give, in the rehearsal of a program.

Sources: torch 2.13, ``utils/data/distributed.py``: ``DistributedSampler.__iter__`` gives process ``r`` of ``n`` the rows ``r``,
``r + n``, ... of an order that is that of the data set, or drawn at random (``shuffle``, the default); ``all_gather`` has the ranks'
tensors in the order of the ranks. Functions of numpy and pandas go by the names that they share with those of torch.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_computing import COUNTS, ORDERS, PLACED, PRODUCTS, REDUCING
from distlint.frameworks.torch.rehearsed_modules import is_module
from distlint.frameworks.torch.rehearsed_outputs import Output
from distlint.frameworks.torch.rehearsed_parts import JOINING
from distlint.frameworks.torch.rehearsed_shapes import DTYPES, TESTS, dimension, sizes_of
from distlint.model.span import Span
from distlint.rehearsal.entities import Library, MethodOf
from distlint.rehearsal.row_orders import IN_TURN, JOINED, OWN, PARTS, TURNED, Column, Dealt, Mark, Share, together
from distlint.rehearsal.rows_followed import mark_of, of_several, paired
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing

_KEEPING_NAMES = """
abs neg negative floor ceil round sign clamp clip clamp_min clamp_max square relu exp log log1p expm1 sqrt rsqrt sigmoid tanh sin cos
logit softmax log_softmax normalize gelu silu detach cpu cuda to type type_as contiguous pin_memory requires_grad_ clone numpy tolist
copy astype as_tensor tensor from_numpy array asarray ascontiguousarray FloatTensor LongTensor IntTensor BoolTensor DoubleTensor where
to_numpy to_list Series nan_to_num fillna item logical_not masked_fill dropout one_hot squeeze unsqueeze values force forward generate
predict batch_decode isnan isinf isfinite float_power
"""
KEEPING = (frozenset(_KEEPING_NAMES.split()) | DTYPES.keys() | set(PRODUCTS) | set(TESTS)) - {
    "dot",
    "einsum",
    "mv",
    "cdist",
}
"""What gives for each row of its first argument one row, in the same order."""
_PAIRING_NAMES = """
add sub subtract mul multiply div divide true_divide eq ne lt le gt ge equal not_equal less less_equal greater greater_equal maximum minimum
logical_and logical_or isclose
"""
PAIRING = frozenset(_PAIRING_NAMES.split())
"""Functions and methods that put the rows of two arguments together, and give one for each pair."""
_COMPARING_NAMES = """
allclose array_equal dist cosine_similarity pairwise_distance column_stack corrcoef pearsonr spearmanr kendalltau linregress
"""
_COMPARING = frozenset(_COMPARING_NAMES.split())
"""Those that give something else."""
_PAIRING_MODULES = ("sklearn.metrics.", "torch.nn.functional.", "torchmetrics.")
_UPDATING = frozenset({"update", "add_batch", "compute"})
_TABLES = ("pandas.", "polars.", "pyarrow.", "datasets.")
_DATA = (
    *(f"torch.utils.data.{name}()" for name in ("TensorDataset", "Subset", "ConcatDataset", "StackDataset")),
    "datasets.",
)
"""Names of data sets of libraries, or how these begin."""
_SETS = "torchvision.datasets."
_TURNING = frozenset({"t", "T", "mT", "transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis"})
_RESHAPING = frozenset({"view", "reshape", "flatten", "ravel", "view_as", "reshape_as"})
_LEAVING = frozenset({"requires_grad_", "detach_", "clamp_", "abs_", "sigmoid_", "mul_", "div_", "add_", "sub_"})
"""Methods that change a tensor where it lies, row by row."""
_COLUMNS = frozenset({"targets", "labels", "samples", "imgs", "data"})
"""What the data sets of ``torchvision.datasets`` look up by the number of a row (mnist.py, cifar.py, folder.py, svhn.py)."""
_BRINGING = frozenset(
    f"{package}.{name}"
    for package in ("torch.distributed", "deepspeed.comm")
    for name in (
        *("all_gather", "all_gather_into_tensor", "all_gather_object", "gather", "gather_object"),
        *("_all_gather_base", "nn.functional.all_gather", "nn.all_gather"),
        "_functional_collectives.all_gather_tensor",
    )
)
_GATHERING = ("torch.distributed.nn.functional.all_gather", "torch.distributed.nn.all_gather")
_GATHERING_TENSORS = ("torch.distributed._functional_collectives.all_gather_tensor",)


def is_followed(project: Any) -> bool:
    """Whether a program has a sampler that deals rows out to the processes, and brings together what these have."""
    deals = next(project.calls_to({"torch.utils.data.DistributedSampler"}), None) is not None
    return deals and next(project.calls_to(_BRINGING), None) is not None


def dealt(player: Any, batch: Any, how: Dealt) -> None:
    """A loader gives a batch of the rows that a sampler deals out to its process."""
    stage = player.stage
    stage.rows.deals(how)
    stage.rows.give(batch, Mark(Share(how, (stage.rank,))))
    if isinstance(batch, Items) and batch.items is not None:
        for one in batch.items:
            stage.rows.give(one, Mark(Share(how, (stage.rank,))))


def gathered(player: Any, brought: Any, found: Any, span: Span, *, inputs: int | None = None) -> None:
    """What each process brings is put in the places of the ranks: in a list, or one after the other in a tensor."""
    stage = player.stage
    mark = stage.rows.within(brought)
    if isinstance(found, Items):
        for one in found.items or ():
            stage.rows.forget(one)
    stage.rows.forget(found)
    share = mark.order if mark is not None and mark.at is None else None
    if not isinstance(share, Share) or share.how != OWN or share.ranks != (stage.rank,):
        return
    share = share._replace(gathered=span, stepped=share.piece)
    ranks = tuple(range(stage.world))
    if isinstance(found, Items):
        if found.items is None or len(found.items) != stage.world:
            return
        for rank, one in enumerate(found.items):
            stage.rows.give(one, Mark(share._replace(ranks=(rank,))))
        stage.rows.give(found, Mark(share._replace(how=PARTS, ranks=ranks)))
        return
    stacked = isinstance(found, Tensor) and found.shape is not None and inputs is not None and len(found.shape) > inputs
    stage.rows.give(found, Mark(share._replace(how=PARTS if stacked else JOINED, ranks=ranks, joined=span)))


def attribute(player: Any, base: Any, name: str) -> Mark | None:
    """The order of the rows of ``base.name``."""
    mark: Mark | None = player.stage.rows.of(base)
    if name in ("T", "mT"):
        return _turned(mark or mark_of(player, base), name, [])
    if name in ("data", "values", "real") and isinstance(base, Tensor | Made):
        return mark
    if isinstance(base, Output) and name != "loss" and mark is not None and isinstance(mark.order, Share):
        return mark if mark.order.how == OWN else None
    own = mark is not None and isinstance(mark.order, Column) and any(one is base for one in mark.order.data)
    return mark if own and name in _COLUMNS else None


def is_table(value: Any) -> bool:
    """Whether something is a table whose columns are as long as it is."""
    return isinstance(value, Made) and value.name.startswith(_TABLES)


def is_data(value: Any) -> bool:
    """Whether something is a data set of a library, whose rows are asked for by their numbers."""
    return isinstance(value, Made) and value.name.startswith(_DATA)


def followed(player: Any, callee: Any, given: Given, found: Any, span: Span) -> None:
    """Says in which order the rows of a result stand, and notes where rows are put together."""
    rows = player.stage.rows
    name = callee.name if isinstance(callee, Library | MethodOf) else ""
    last = name.rpartition(".")[2]
    receiver = callee.receiver if isinstance(callee, MethodOf) else None
    everything = [*([receiver] if receiver is not None else []), *given.values()]
    if _pairs(callee, name, last):
        paired(player, everything, span)
    if isinstance(callee, Library):
        if last == "shuffle":
            for value in given.values():
                rows.forget(value)
        if name.startswith("operator."):
            return  # what lists are to it is not known
        _of_function(player, name, last, given, found, span)
        return
    if receiver is None:
        _of_object(player, callee, given, found)
        return
    if (last.endswith("_") and last not in _LEAVING) or (last == "sort" and type(receiver) is not Tensor):
        rows.forget(receiver)
        return
    mark = mark_of(player, receiver)
    if mark is None and last in ("generate", "predict", "batch_decode", "forward", "decode"):
        mark = _first_own(player, given)
    elif last in ("assign", "with_columns", "insert"):
        paired(player, everything, span)
    rows.hand(found, _kept(player, last, mark, receiver, given, given.positional, found, span))


def _pairs(callee: Any, name: str, last: str) -> bool:
    if isinstance(callee, Made):
        return callee.name.startswith(("torch.nn.", "torchmetrics."))
    named = last in PAIRING or last in _COMPARING or name.startswith(_PAIRING_MODULES)
    return named or (isinstance(callee, MethodOf) and last in _UPDATING)


def _of_object(player: Any, callee: Any, given: Given, found: Any) -> None:
    """What a model gives: a row for each that it gets, where its shape does not say something else."""
    if isinstance(callee, Thing) and not is_module(player, callee):
        return
    mark = _first_own(player, given)
    share = mark.order if mark is not None else None
    if not isinstance(share, Share) or share.how != OWN:
        return
    base = next((one for one in given.values() if player.stage.rows.of(one) is not None), None)
    if mark is not None and _fits(found, base):
        player.stage.rows.hand(found, mark)


def _first_own(player: Any, given: Given) -> Mark | None:
    marks = [mark_of(player, value) for value in [*given.values(), *given.rest]]
    shares = [mark for mark in marks if mark is not None and isinstance(mark.order, Share)]
    return shares[0] if shares else None


def _fits(found: Any, base: Any) -> bool:
    """Whether a tensor may have a row for each of another."""
    if not isinstance(found, Tensor) or found.shape is None:
        return True
    if not found.shape:
        return False
    first = base.shape[0] if isinstance(base, Tensor) and base.shape else None
    return not (isinstance(found.shape[0], int) and isinstance(first, int) and found.shape[0] != first)


def _of_function(player: Any, name: str, last: str, given: Given, found: Any, span: Span) -> None:
    rows = player.stage.rows
    if name.startswith(_SETS):
        rows.hand(found, rows.whole(found))
        return
    first = given.positional[0] if given.positional else given.get("input", None, given.get("tensors", None, None))
    if name in _GATHERING:
        mark = rows.of(first)
        share = mark.order if mark is not None and mark.at is None else None
        if isinstance(share, Share) and share.how == OWN:
            ranks = tuple(range(player.stage.world))
            rows.hand(found, Mark(share._replace(how=PARTS, ranks=ranks, gathered=span, stepped=share.piece)))
        return
    if name in _GATHERING_TENSORS:
        gathered(player, first, found, span)
        return
    if last in JOINING:
        rows.hand(found, _joined(player, last, first, given, found, span))
        return
    if last == "DataFrame":
        columns = first.items.values() if isinstance(first, Table) else ()
        paired(player, columns, span)
        marks = [mark for one in columns if (mark := rows.of(one)) is not None and mark.at is None]
        rows.hand(found, next((mark for mark in marks if isinstance(mark.order, Column)), marks[0] if marks else None))
        return
    if last in ("tensor", "as_tensor", "array", "asarray", "from_numpy", "Series") and rows.of(first) is None:
        _named(player, first, span)
    rows.hand(found, _kept(player, last, mark_of(player, first), first, given, given.positional[1:], found, span))


def _named(player: Any, first: Any, span: Span) -> None:
    """The rows of a list that becomes a tensor stand in the order of the list."""
    items = first.items if isinstance(first, Items) else None
    order = together([player.stage.rows.of(one) for one in items], span) if items else None
    if order is not None:
        player.stage.rows.hand(first, Mark(order))
    else:
        player.stage.rows.column(first)


def _joined(player: Any, name: str, listed: Any, given: Given, found: Any, span: Span) -> Mark | None:
    """``torch.cat`` and its kin."""
    rows = player.stage.rows
    where = given.get("dim", 1, given.get("axis", None, 0))
    items = listed.items if isinstance(listed, Items) else list(listed) if type(listed) is tuple else None
    known: Mark | None = rows.of(listed)
    if name == "hstack":
        ranks = {len(one.shape) for one in items or () if isinstance(one, Tensor) and one.shape is not None}
        where = 0 if ranks == {1} else 1 if ranks else None
    if where != 0:
        if where is not None and items:
            paired(player, items, span)
        if name == "stack" and where == 1 and known is not None and isinstance(known.order, Share):
            return Mark(known.order._replace(how=TURNED, joined=span)) if known.order.how == PARTS else None
        marks: list[Mark | None] = [rows.of(one) for one in items or ()]
        same = bool(marks) and all(mark is not None and mark == marks[0] for mark in marks)
        return marks[0] if same and where is not None else None
    if name == "stack" and known is not None and isinstance(known.order, Share) and known.order.how == PARTS:
        return known
    if items:
        order = together([rows.of(one) for one in items], span)
        if order is None:
            return known if known is not None and isinstance(known.order, Column) else None
        if name == "stack" and order.how == JOINED and len(items) == len(order.ranks):
            return Mark(order._replace(how=PARTS))
        return Mark(order)
    if known is None or known.at is not None:
        return None
    if isinstance(known.order, Share) and known.order.how == PARTS:
        return Mark(known.order._replace(how=JOINED, joined=span))
    return None if isinstance(known.order, Share) and known.order.how == TURNED else known


def _kept(
    player: Any, name: str, mark: Mark | None, base: Any, given: Given, rest: list[Any], found: Any, span: Span
) -> Mark | None:
    """The order of the rows of what a function or method gives for ``base``; ``rest`` are the arguments behind it."""
    if mark is None or found is base:
        return None
    if name in _TURNING:
        return _turned(mark, name, rest)
    if name in _RESHAPING:
        return _reshaped(player, mark, name, rest, given, span)
    share = mark.order if isinstance(mark.order, Share) else None
    if name in ("squeeze", "unsqueeze"):
        where = given.get("dim", None, rest[0] if rest else None)
        gathered_yet = share is None or share.how != OWN  # a row more may meet each row of something else
        return None if where == 0 or (gathered_yet and name == "unsqueeze") or _is_spread(share) else mark
    if name in REDUCING or name in ORDERS or name in PLACED:
        within = _is_within_rows(base, _dimension(name, rest, given), reduces=name in REDUCING)
        return mark if within and not _is_spread(share) else None
    if (name in COUNTS and name != "one_hot") or (name == "where" and len(rest) < 2):
        return None
    if name in KEEPING or name in PAIRING:
        mark = of_several([mark, *(mark_of(player, one) for one in rest)])
        return mark if _fits(found, base) else None
    return None


def _is_spread(share: Share | None) -> bool:
    """Whether the shares of several ranks are still apart."""
    return share is not None and share.how in (PARTS, TURNED)


def _dimension(name: str, rest: list[Any], given: Given) -> Any:
    """The dimension along which something is reduced, or put in order; ``None`` where none is given."""
    where = given.keywords.get("dim", given.keywords.get("axis"))
    if where is not None:
        return where
    numbers = [one for one in rest if isinstance(one, int) and not isinstance(one, bool)]
    if name in ("topk", "kthvalue"):
        return numbers[1] if len(numbers) > 1 else -1
    return numbers[0] if numbers else None


def _is_within_rows(base: Any, place: Any, *, reduces: bool) -> bool:
    """Whether a dimension is one behind the first. Of a single one nothing is left that has rows, where that ``reduces``."""
    if not isinstance(place, int):
        return False
    if isinstance(base, Tensor) and base.shape is not None:
        found = dimension(place, len(base.shape))
        return found is not None and found > 0
    return place > 0 or (place < 0 and reduces)


def _turned(mark: Mark | None, name: str, rest: list[Any]) -> Mark | None:
    """The first two dimensions change places."""
    share = mark.order if mark is not None else None
    if mark is None or not isinstance(share, Share) or share.how not in (PARTS, TURNED):
        return None
    if name == "permute":
        order = sizes_of(rest) or ()
        swaps = order[:2] == (1, 0)
    elif name in ("t", "T", "mT"):
        swaps = True
    else:
        swaps = not rest and name == "transpose"
        swaps = swaps or (len(rest) == 2 and {one if isinstance(one, int) else -9 for one in rest} in ({0, 1}, {0, -1}))
    if not swaps:
        return None
    return mark._replace(order=share._replace(how=TURNED if share.how == PARTS else PARTS))


def _reshaped(player: Any, mark: Mark, name: str, rest: list[Any], given: Given, span: Span) -> Mark | None:
    """Rows in another shape."""
    share = mark.order
    if not isinstance(share, Share):
        return mark
    world = player.stage.world
    sizes = sizes_of(rest) or ()
    by_columns = "F" in (*[one for one in rest if isinstance(one, str)], given.keywords.get("order"))
    in_ranks = name in ("view", "reshape") and len(sizes) > 1 and sizes[0] == world
    if share.how == JOINED:
        return mark._replace(order=share._replace(how=PARTS)) if in_ranks else mark if not by_columns else None
    if share.how == OWN:
        return mark
    if share.how == IN_TURN:
        return mark if not in_ranks else None
    flat = (name == "flatten" and rest[:1] in ([], [0])) or name == "ravel" or by_columns
    flat = flat or (name in ("view", "reshape") and not in_ranks)
    if in_ranks:
        return mark if share.how == PARTS else None
    if not flat:
        return mark
    how = JOINED if (share.how == PARTS) is not by_columns else IN_TURN
    return mark._replace(order=share._replace(how=how, joined=span))


__all__ = ["attribute", "dealt", "followed", "gathered", "is_data", "is_table"]
