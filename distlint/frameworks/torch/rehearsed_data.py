"""Datasets, samplers and loaders in the rehearsal of a program: how many batches there are, of which shape, and who gets which.

Lengths are those of torch 2.13: ``utils/data/dataset.py``, ``sampler.py``, ``dataloader.py``, ``distributed.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distlint.frameworks.torch import rehearsed_epochs as epochs
from distlint.frameworks.torch import rehearsed_exclusive as exclusive
from distlint.frameworks.torch import rehearsed_inner_orders as inner_orders
from distlint.frameworks.torch import rehearsed_own_orders as own_orders
from distlint.frameworks.torch import rehearsed_rows as rows_of
from distlint.frameworks.torch.rehearsed_collating import collated
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import FunctionValue, Outside
from distlint.rehearsal.epochs import Shuffled, opened
from distlint.rehearsal.failing import SHARE, drawn_apart, length_of, more_of
from distlint.rehearsal.libraries import LOADED, PADDED
from distlint.rehearsal.notes import DEALT_TO_ALL, OWN_SEEDED, SHORT
from distlint.rehearsal.randomness import Generator, drawn
from distlint.rehearsal.row_orders import Dealt
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Source
from distlint.rehearsal.values import (
    Given,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    is_known,
    signature,
    source_of,
)

PREFIX = "torch.utils.data."
_DISTRIBUTED = ("DistributedSampler", "distributed.DistributedSampler")
_SAMPLERS = ("RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler", "BatchSampler")
_WORKERS = "workers of the loader that asks"
_SAMPLED = {"SubsetRandomSampler": "indices"}


class Rows(Made):
    """A dataset of the library: some rows of tensors, or of another dataset."""

    __slots__ = ("inner", "parts", "size")

    def __init__(self, name: str, call: ir.Call, given: Given, size: Any) -> None:
        super().__init__(f"{PREFIX}{name}()", call, given)
        self.size = size
        self.inner: Any = None
        self.parts: list[Any] | None = None

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What it was made of."""
        if name == "dataset" and self.inner is not None:
            return self.inner
        if name == "tensors" and self.parts is not None:
            return tuple(self.parts)
        return NotImplemented

    def length(self, player: Any) -> Any:
        """The number of rows."""
        return self.size

    def items(self, player: Any) -> list[Any] | None:
        """All rows, where there are few."""
        if not isinstance(self.size, int) or self.size > player.stage.turns:
            return None
        return [self.part(player, index, None) for index in range(self.size)]

    def item(self, player: Any) -> Any:
        """Some row."""
        return self.part(player, Opaque(None, self.source), None)

    def part(self, player: Any, index: Any, span: Any) -> Any:
        """A row."""
        if self.parts is not None:
            return tuple(
                player.models.indexed(player, one, index) if isinstance(one, Tensor) else derived("row", [one, index])
                for one in self.parts
            )
        index = derived("row", [Opaque(self.sign, self.source), index])
        return row_of(player, self.inner, index) if self.inner is not None else index


class Sampler(Made):
    """What says which rows of a dataset a process gets."""

    __slots__ = ("deals", "order", "size")

    def __init__(self, name: str, call: ir.Call, given: Given, size: Any) -> None:
        super().__init__(f"{PREFIX}{name}()", call, given)
        self.size = size
        self.order: Shuffled | None = None
        self.deals: Dealt | None = None
        """How it deals out rows to all processes in turn, where it does."""

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What is known of its share."""
        if name == "sampler" and self.arguments is not None and self.name.endswith("BatchSampler()"):
            return self.arguments.get("sampler", 0, UNKNOWN)
        known = {"num_samples": self.size, "num_replicas": player.stage.world, "rank": player.stage.rank}
        return known.get(name, NotImplemented)

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """``set_epoch`` changes no number of rows, but their order."""
        if name != "set_epoch":
            return NotImplemented
        if self.order is not None:
            epochs.told(player.stage, self.order, given.get("epoch", 0, UNKNOWN), ir.unpack(call.at, scope.file))
        return None

    def has(self, name: str) -> bool | None:
        """Of the library's samplers one alone is told epochs (torch 2.13, sampler.py and distributed.py)."""
        return "DistributedSampler" in self.name if name == "set_epoch" else None

    def begins(self, player: Any, span: Span) -> None:
        """An order is drawn: by itself, or by the sampler whose rows are put together."""
        inner = self.attribute(player, "sampler", ir.Name("", 0), None)
        if isinstance(inner, Sampler):
            inner.begins(player, span)
        own_orders.begun(player, inner, span, "sampler")
        if self.order is not None and not isinstance(inner, Sampler):
            self.order.changed = self.order.changed or bool(self.stored)
            epochs.begun(player.stage, self.order, span)

    def length(self, player: Any) -> Any:
        """The number of rows of this process."""
        return self.size

    def item(self, player: Any) -> Any:
        """Some index."""
        return Opaque(None, self.source)


class Loader(Made):
    """A loader of batches; ``source`` says why each process gets others, where that is so."""

    __slots__ = ("_row", "_rows", "batch", "dataset", "drops", "sampler", "span", "turn")

    def __init__(self, call: ir.Call | None, given: Given, span: Span) -> None:
        super().__init__(f"{PREFIX}DataLoader()", call, given)
        self.dataset: Any = given.get("dataset", 0, UNKNOWN)
        self.batch: Any = given.get("batch_size", 1, 1)
        self.sampler: Any = given.get("sampler", 3, None)
        self.drops: Any = given.get("drop_last", 8, False)
        self.span = span
        self.turn = 0
        self._row: Any = NotImplemented
        self._rows: Any = NotImplemented
        batches = given.get("batch_sampler", 4, None)
        if batches is not None:
            self.sampler, self.batch = batches, UNKNOWN

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What it was made of."""
        if name == "batch_sampler" and self.call is not None and self.batch is not None:
            return self.sampler if self.batch is UNKNOWN else _batches_of(self, self.call)
        if name == "sampler" and self.batch is UNKNOWN and self.call is not None:
            # torch 2.13, dataloader.py: what gives whole batches stands beside a sampler that nobody asks
            return Sampler("SequentialSampler", self.call, Given([self.dataset], {}), size_of(player, self.dataset))
        known = {"dataset": self.dataset, "sampler": self.sampler, "batch_size": self.batch, "drop_last": self.drops}
        return known.get(name, NotImplemented)

    def begins(self, player: Any, span: Span) -> None:
        """The sampler is asked for the rows of a pass."""
        if not player.stage.asked_again:
            opened(player.stage, None)
        for one in (self.sampler, *inner_orders.behind(player, self.sampler)):
            if isinstance(one, Sampler):
                one.begins(player, span)
        own_orders.begun(player, self.sampler, span, "sampler")
        own_orders.begun(player, self.dataset, span, "dataset")

    def rows(self, player: Any) -> Any:
        """How many rows this process gets; worked out once, because a data set of the project's own may be long."""
        if isinstance(self.sampler, Sampler):
            return self.sampler.size
        if self._rows is NotImplemented:
            with self._workers(player):
                self._rows = size_of(player, self.dataset) if self.sampler is None else player.length(self.sampler)
            if self.sampler is None:
                player.stage.kept.setdefault(LOADED, {})[self.span] = (self._rows, self.batch)
        return self._rows

    def is_stream(self, player: Any) -> bool:
        """Whether it goes through a data set of the program that gives its rows in turn."""
        return exclusive.is_stream(player.stage, self.dataset)

    def deal(self, rows: Any) -> None:
        """A library gives it a sampler that leaves so many rows to this process."""
        self.sampler, self._rows = None, rows

    def length(self, player: Any) -> Any:
        """The number of batches of this process."""
        rows = self.rows(player)
        if self.batch is None:
            return rows
        if isinstance(rows, int) and isinstance(self.batch, int) and self.batch > 0 and isinstance(self.drops, bool):
            return rows // self.batch if self.drops else -(-rows // self.batch)
        return derived("batches", [rows, self.batch, self.drops])

    def items(self, player: Any) -> list[Any] | None:
        """All batches, where there are few."""
        if isinstance(self.sampler, Thing):
            player.items_of(self.sampler)  # what it does when it is asked for the rows of this pass
        length = self.length(player)
        if not isinstance(length, int) or length > player.stage.turns:
            player.stage.lists(length)
            return None
        rows, batch = self.rows(player), self.batch
        told = isinstance(rows, int) and isinstance(batch, int) and self.drops is not True
        sizes = [min(batch, rows - turn * batch) if told else NotImplemented for turn in range(length)]
        return [self.item(player, size) for size in sizes]

    def item(self, player: Any, size: Any = NotImplemented) -> Any:
        """One batch: it is another in every turn, and another for each process where the rows are shared out."""
        self.turn += 1
        size = self._size(player) if size is NotImplemented else size
        if self._row is NotImplemented:
            with self._workers(player):
                self._row = row_of(player, self.dataset, UNKNOWN)
        row = self._row
        reason = self._reason(player)
        source = source_of([row]) if reason is None else reason._replace(indirect=True)
        seed: Any = (player.stage.rank if source is not None else "", self._content(player))
        sign = None if seed[1] is None else hash(("batch", self.turn, seed))
        collate = self.arguments.get("collate_fn", 6, None) if self.arguments is not None else None
        if collate is not None and self.call is not None:
            batch = collated(player, collate, row, size, sign, source, self.call)
        else:
            batch = together_as_batch(row, size, sign, source, self.span)
        how = self._deals()
        if how is not None:
            rows_of.dealt(player, batch, how)
        return batch

    def _deals(self) -> Dealt | None:
        """How its sampler deals out the rows of its data set."""
        sampler: Any = self.sampler
        batch = self.batch
        if isinstance(sampler, Sampler) and sampler.name.endswith("BatchSampler()") and sampler.arguments is not None:
            batch = sampler.arguments.get("batch_size", 1, UNKNOWN)
            sampler = sampler.arguments.get("sampler", 0, UNKNOWN)
        how = sampler.deals if isinstance(sampler, Sampler) else None
        return how._replace(batch=batch) if how is not None and how.data is self.dataset else None

    @contextmanager
    def _workers(self, player: Any) -> Iterator[None]:
        """The data set is asked by the processes that work for the loader, as many as it says."""
        kept = player.stage.kept
        outer = kept.get(_WORKERS, 0)
        kept[_WORKERS] = self.arguments.get("num_workers", 5, 0) if self.arguments is not None else UNKNOWN
        try:
            yield
        finally:
            kept[_WORKERS] = outer

    def _reason(self, player: Any) -> Source | None:
        """Why the batches of each process are others."""
        for value in (self, self.sampler, self.dataset):
            if isinstance(value, Made | Opaque) and value.source is not None:
                return value.source
        if self.arguments is None or self.sampler is not None:
            return self.source
        generator = self.arguments.get("generator", 11, None)
        if self.arguments.get("shuffle", 2, False) is True and generator is None:
            source: Source | None = player.stage.drawn(self.span)[1]
            return source
        return _reason_of(player, generator, self.span) or self.source

    def _content(self, player: Any) -> Any:
        """What tells the rows, the order of which a common seed decides."""
        return signature(self.dataset) if not isinstance(self.dataset, Thing) else ("rows of", self.dataset.cls)

    def _size(self, player: Any) -> Any:
        if self.batch is None:
            return None
        rows = self.rows(player)
        exact = isinstance(rows, int) and isinstance(self.batch, int) and self.batch > 0 and rows % self.batch == 0
        if exact or self.drops is True:
            return self.batch
        size = derived("size of a batch", [rows, self.batch])
        if self.drops is False and size.sign is not None:
            player.stage.kept.setdefault(SHORT, set()).add(size.sign)
        return size


def _batches_of(loader: Loader, call: ir.Call) -> Sampler:
    """The sampler of batches that a loader makes for itself."""
    return Sampler("BatchSampler", call, Given([loader.sampler], {}), UNKNOWN)


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a function of ``torch.utils.data`` gives; ``NotImplemented`` for others."""
    span = ir.unpack(call.at, scope.file)
    if name == "TensorDataset":
        return _of_tensors(player, name, given, call)
    if name in ("Subset", "ConcatDataset", "StackDataset", "ChainDataset"):
        return _of_others(player, name, given, call, scope)
    if name == "random_split":
        return _split(player, given, call, span)
    if name in _DISTRIBUTED:
        return _shares(player, given, call, span, scope)
    if name in _SAMPLERS:
        return _sampler(player, name, given, call, span)
    if name == "DataLoader":
        exclusive.tested(player, given, call, scope)
        loader = Loader(call, given, span)
        if loader.sampler is None and not isinstance(loader.dataset, Thing):
            loader.rows(player)  # a data set of the program's own is asked when somebody wants to know
        return loader
    if name == "get_worker_info":
        # torch 2.13, _utils/worker.py: a process that works for no loader has none
        return None if player.stage.kept.get(_WORKERS, 0) == 0 else UNKNOWN
    return NotImplemented


def _of_tensors(player: Any, name: str, given: Given, call: ir.Call) -> Rows:
    # tensors that stand behind a star are parts of something that is not known, as long as each other
    every = [*given.positional, *given.rest]
    sizes = [player.length(one) for one in given.positional]
    size = next((one for one in sizes if isinstance(one, int)), sizes[0] if sizes else UNKNOWN)
    if not sizes and given.rest:
        size = Opaque(combined("rows", given.rest), length_of(given.rest[0]).source)
    made_of = Rows(name, call, given, size)
    # how many tensors stand behind a star nobody knows
    made_of.parts = None if given.rest else list(given.positional)
    for one in given.positional:
        player.stage.rows.stands(one, made_of)
    made_of.source = source_of(every)
    made_of.sign = combined(name, every)
    return made_of


def _of_others(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Rows:
    if name != "Subset":
        listed = given.get("datasets", 0, UNKNOWN)
        parts = player.items_of(listed)
        if parts is None:
            return _of_many(player, name, given, listed, call, scope)
        sizes = [size_of(player, one) for one in parts]
        known = bool(sizes) and all(isinstance(size, int) for size in sizes)
        span = ir.unpack(call.at, scope.file)
        more = None if known or not parts else more_of(player.stage, len(parts), parts[0], span)
        rest = drawn_apart(player.stage, derived("+", sizes), span) if sizes and more is None else more or UNKNOWN
        found = Rows(name, call, given, sum(sizes) if known else rest)
        found.inner = parts[0] if parts else None
        found.source = source_of(parts)
        return found
    indices = given.get("indices", 1, UNKNOWN)
    found = Rows(name, call, given, player.length(indices))
    found.inner = given.get("dataset", 0, UNKNOWN)
    found.source = source_of([found.inner, indices])
    content = repr(indices) if isinstance(indices, range) else signature(indices)
    found.sign = None if content is None else hash((name, content, signature(found.inner)))
    if content is not None and player.stage.differs(call, scope.file, str(content)):
        found.source = Source(SHARE, ir.unpack(call.at, scope.file))
    return found


def _of_many(player: Any, name: str, given: Given, listed: Any, call: ir.Call, scope: Any) -> Rows:
    """Datasets of which there are too many, or not all known: like one of them."""
    part = player.item_of(listed)
    more = more_of(player.stage, player.length(listed), part, ir.unpack(call.at, scope.file))
    size = size_of(player, part) if more is None and isinstance(part, Rows) else None
    if isinstance(size, Opaque) and size.source is not None:
        more = Opaque(combined(name, [size]), size.source)  # of parts that each have their own length
    found = Rows(name, call, given, UNKNOWN if more is None else more)
    found.inner = part if isinstance(part, Made | Thing) else None
    found.source = source_of([part])
    return found


def _split(player: Any, given: Given, call: ir.Call, span: Span) -> Any:
    whole = given.get("dataset", 0, UNKNOWN)
    sizes = player.items_of(given.get("lengths", 1, UNKNOWN))
    if sizes is None:
        return UNKNOWN
    size = size_of(player, whole)
    if sizes and all(isinstance(one, float) for one in sizes):
        sizes = _fractions(size, sizes)
    sign, source = player.stage.drawn(span)
    generator = given.get("generator", 2, None)
    if generator is not None:
        sign, source = signature(generator), source_of([generator])
        if isinstance(generator, Generator):
            sign, source = drawn(player, generator.state, span)
    found = []
    for position, one in enumerate(sizes):
        part = Rows("Subset", call, given, one)
        part.inner = whole
        part.source = source_of([whole]) or source
        part.sign = None if sign is None else hash(("split", sign, position, signature(whole)))
        found.append(part)
    return Items(list(found))


def _fractions(size: Any, parts: list[float]) -> list[Any]:
    if not isinstance(size, int) or not math.isclose(sum(parts), 1):
        return [derived("part", [size, part]) for part in parts]
    counts = [math.floor(size * part) for part in parts]
    for position in range(size - sum(counts)):
        counts[position % len(counts)] += 1
    return list(counts)


def _shares(player: Any, given: Given, call: ir.Call, span: Span, scope: Any) -> Sampler:
    """``DistributedSampler``: as many rows for each process, which are padded or dropped."""
    stage = player.stage
    rows = size_of(player, given.get("dataset", 0, UNKNOWN))
    count = given.get("num_replicas", 1, None)
    for one in (count, given.get("rank", 2, None)):
        if isinstance(one, Outside):
            stage.outside(one, call, scope, "a sampler refuses -1")
    count = stage.world if count is None else count
    drops = given.get("drop_last", 5, False)
    if isinstance(rows, int) and isinstance(count, int) and count > 0 and isinstance(drops, bool):
        size: Any = rows // count if drops else -(-rows // count)
        if drops and rows % count:
            size = math.ceil((rows - count) / count)
        if not drops and rows % count and count == stage.world:
            stage.kept.setdefault(PADDED, {})[span] = rows
    else:
        size = derived("share", [rows, count, drops])
    found = Sampler("DistributedSampler", call, given, size)
    if count == stage.world:
        _seeded(player, given, call, scope)
    if count != 1:
        found.source = Source(SHARE, span)
    found.order = epochs.shuffled(stage, given, span)
    if not given.open and count == stage.world and given.get("rank", 2, stage.rank) in (None, stage.rank):
        shuffles = given.get("shuffle", 3, True)
        shuffled = shuffles if isinstance(shuffles, bool) else None
        found.deals = Dealt(given.get("dataset", 0, UNKNOWN), span, shuffled, UNKNOWN, rows)
        stage.kept.setdefault(DEALT_TO_ALL, set()).add(span)
    return found


def _seeded(player: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """A sampler that deals out to all processes shuffles by a seed, which is to be the same for each of them."""
    stage = player.stage
    seed = given.get("seed", 4, None)
    if given.open or seed is None or given.get("shuffle", 3, True) is not True:
        return
    if stage.differs(call, scope.file, seed):
        event = Event("DistributedSampler", call, scope.file, scope.function, {})
        event.chain = stage.chain
        stage.faults.append(Fault(OWN_SEEDED, event.span, event, {}))


def _sampler(player: Any, name: str, given: Given, call: ir.Call, span: Span) -> Sampler:
    first = given.get(_SAMPLED.get(name, "data_source"), 0, UNKNOWN)
    size = size_of(player, first)
    counted = given.get("num_samples", 1 if name == "WeightedRandomSampler" else None, None)
    if counted is not None:
        size = counted
    if name == "BatchSampler":
        inner = given.get("sampler", 0, UNKNOWN)
        size = Loader(
            call, Given([first], {"batch_size": given.get("batch_size", 1, 1), "sampler": inner}), span
        ).length(player)
        first = inner
    found = Sampler(name, call, given, size)
    found.source = source_of([first])
    generator = given.get("generator", None, None)
    if name not in ("SequentialSampler", "BatchSampler"):
        found.source = found.source or (
            player.stage.drawn(span)[1] if generator is None else _reason_of(player, generator, span)
        )
    return found


def _reason_of(player: Any, generator: Any, span: Span) -> Source | None:
    return drawn(player, generator.state, span)[1] if isinstance(generator, Generator) else source_of([generator])


def size_of(player: Any, dataset: Any) -> Any:
    """``len(dataset)``."""
    if isinstance(dataset, Thing):
        method = player.stage.project.modules.method(dataset.cls, "__len__")
        if method is None:
            rows = player.items_of(dataset)
            return dataset.count if rows is None else len(rows)
        found = player.call_function(
            FunctionValue(method, None, dataset), Given([], {}), None, _own_scope(player, method)
        )
        return found if is_known(found) or isinstance(found, Opaque) else UNKNOWN
    return player.length(dataset)


def row_of(player: Any, dataset: Any, index: Any) -> Any:
    """``dataset[index]`` for an index that is not known."""
    if isinstance(dataset, Thing):
        method = player.stage.project.modules.method(dataset.cls, "__getitem__")
        if method is None:
            return player.item_of(dataset)
        stage = player.stage
        index = Opaque(index.sign, index.source) if type(index) is Opaque else index
        stage.rows.asks(index, dataset)
        stage.unsure += 1
        try:
            return player.call_function(
                FunctionValue(method, None, dataset), Given([index], {}), None, _own_scope(player, method)
            )
        finally:
            stage.unsure -= 1
    if isinstance(dataset, Rows):
        return dataset.part(player, index, None)
    return player.item_of(dataset)


def _own_scope(player: Any, method: Any) -> Any:
    return player.module_scope(method.file)


def together_as_batch(row: Any, size: Any, sign: Any, source: Source | None, span: Span, depth: int = 0) -> Any:
    """A batch of rows like one, as the loader's own collation makes it; ``size`` is ``None`` where it makes none."""
    inner = None if sign is None else hash((sign, depth))
    if type(row) is tuple and depth < 3:
        parts = [
            together_as_batch(one, size, None if inner is None else hash((inner, position)), source, span, depth + 1)
            for position, one in enumerate(row)
        ]
        return tuple(parts) if depth == 0 and size is None else Items(parts) if depth == 0 else tuple(parts)
    if isinstance(row, Table) and depth < 3:
        table = Table(is_open=row.open)
        for key, one in row.items.items():
            sub = None if inner is None else hash((inner, key))
            table.items[key] = together_as_batch(one, size, sub, source, span, depth + 1)
        return table
    if isinstance(row, str):
        return Items(None, size)
    if isinstance(row, bool | int | float):
        kind = "bool" if isinstance(row, bool) else "int64" if isinstance(row, int) else "float64"
        return _without_gradient(Tensor((size,) if size is not None else (), kind, span, inner, source))
    if isinstance(row, Tensor):
        rest = None if row.shape is None else row.shape if size is None else (size, *row.shape)
        return _without_gradient(Tensor(rest, row.dtype, span, inner, source or row.source), row)
    if isinstance(row, Opaque) and depth and size is not None:
        # a number of which no more is known, as a rule
        return _without_gradient(Tensor(None, "", span, inner, source or row.source))
    return Opaque(inner, source or source_of([row]))


def _without_gradient(batch: Tensor, row: Tensor | None = None) -> Tensor:
    """The same batch, which needs no gradient unless a row does: what is read has none, and workers could not hand it over."""
    batch.gradient = None if row is not None and row.gradient else False
    return batch


__all__ = ["SHARE", "Loader", "Rows", "Sampler", "made", "row_of", "size_of", "together_as_batch"]
