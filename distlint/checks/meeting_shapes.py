"""Shapes and types of the tensors that processes bring to calls that they make together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from distlint.checks.meetings import Met, Suspicion, listed, meetings, others
from distlint.model.finding import Related
from distlint.rehearsal.bounds import is_limited
from distlint.rehearsal.merging import alike
from distlint.rehearsal.notes import ROWS, WEIGHTS, WHOLE_DIVIDED
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event
from distlint.rehearsal.sums import added
from distlint.rehearsal.unknowns import Opaque, Sent, Source
from distlint.rehearsal.values import Items, signature, source_of

_BROUGHT = {
    "all_reduce": "tensor",
    "broadcast": "tensor",
    "reduce": "tensor",
    "gather": "tensor",
    "scatter": "tensor",
    "all_gather": "tensor",
    "all_gather_into_tensor": "input_tensor",
    "reduce_scatter_tensor": "input",
}
_WIDTH = {
    "float64": 8,
    "int64": 8,
    "complex64": 8,
    "complex128": 16,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
}


def _looks(met: Any) -> list[tuple[int, dict[str, Any]]]:
    found = []
    for rank, event in met:
        look = event.seen.get(_BROUGHT.get(event.name, ROWS))
        if not isinstance(look, dict) or "shape" not in look:
            return []
        found.append((rank, look))
    return found


def _made(looks: list[tuple[int, dict[str, Any]]]) -> tuple[Related, ...]:
    spans = dict.fromkeys(look["at"] for _, look in looks if look["at"] is not None)
    return tuple(Related(span, "the tensor is made here") for span in list(spans)[:2])


def different_sizes(performance: Performance) -> Iterator[Suspicion]:
    """The processes bring tensors with different numbers of elements."""
    for met in meetings(performance):
        looks = _looks(met)
        shapes = [(rank, look["shape"]) for rank, look in looks]
        if not shapes or any(shape is None for _, shape in shapes) or any(event.agreed for _, event in met):
            continue
        known = all(isinstance(size, int) for _, shape in shapes for size in shape)
        if (
            len({math.prod(shape) for _, shape in shapes}) > 1
            if known
            else _one_differs([shape for _, shape in shapes])
        ):
            event = met[0].event
            told = f": {listed(shapes)}" if known else ""
            yield Suspicion(
                event.span,
                f"the tensors of `{event.name}` differ in shape between ranks{told}",
                (*_made(looks), *others(met, "and here on another rank")),
                event.name,
            )


def different_models(performance: Performance) -> Iterator[Suspicion]:
    """The processes wrap models with other parameters."""
    for met in meetings(performance):
        models = [event.seen[WEIGHTS] for _, event in met if WEIGHTS in event.seen]
        if not models or len(models) < len(met):
            continue
        event = met[0].event
        own = next((source for model in models for shape in model if (source := _own_size(shape))), None)
        if own is not None:
            message = f"how large the parameters of this model are depends on what each rank has ({own.why})"
            related = (Related(own.span, "the ranks part here"),) if own.span is not None else ()
            yield Suspicion(event.span, message, related, event.name)
            continue
        counts = [(rank, len(model)) for (rank, _), model in zip(met, models, strict=True)]
        if len({count for _, count in counts}) > 1:
            message = f"the ranks wrap models with other numbers of parameters: {listed(counts)}"
        elif any(_are_unlike(shapes) for shapes in zip(*models, strict=True)):
            message = "the ranks wrap models with other shapes of parameters"
        else:
            continue
        yield Suspicion(event.span, message, others(met, "and here on another rank"), event.name)


def _are_unlike(shapes: tuple[Any, ...]) -> bool:
    """Whether shapes of one parameter are known to differ."""
    known = [shape for shape in shapes if shape is not None and all(isinstance(size, int) for size in shape)]
    return any(one != other for one, other in itertools.pairwise(known))


def _own_size(shape: Any) -> Source | None:
    """Why one of the sizes of a parameter is each rank's own."""
    sizes = (size for size in shape or () if isinstance(size, Opaque) and not is_limited(size))
    return next((size.source for size in sizes if size.source is not None), None)


def _one_differs(shapes: list[Any]) -> bool:
    """Whether shapes that are not all known are alike but for one dimension, in which they certainly differ."""
    if len({len(shape) for shape in shapes}) > 1:
        return False
    apart = 0
    for sizes in zip(*shapes, strict=True):
        pairs = [(sizes[0], other) for other in sizes[1:] if not alike(sizes[0], other)]
        gaps = [added(one, other, minus=True) for one, other in pairs]
        if not all(isinstance(gap, int) for gap in gaps):
            return False
        apart += bool(pairs)
    return apart == 1


def different_types(performance: Performance) -> Iterator[Suspicion]:
    """The processes bring tensors of different types."""
    for met in meetings(performance):
        looks = _looks(met)
        kinds = [(rank, look["dtype"]) for rank, look in looks]
        typed = next((look["typed"] for _, look in looks if look["typed"] is not None), None)
        if typed is not None and typed.source is not None and not any(kind for _, kind in kinds):
            event, source = met[0].event, typed.source
            yield Suspicion(
                event.span,
                f"of which type the tensor of `{event.name}` is depends on what each rank has ({source.why})",
                (*_made(looks), Related(source.span, "the ranks part here"))
                if source.span is not None
                else _made(looks),
                event.name,
            )
        elif kinds and "" not in {kind for _, kind in kinds} and len({kind for _, kind in kinds}) > 1:
            event = met[0].event
            yield Suspicion(
                event.span,
                f"the tensors of `{event.name}` differ in type between ranks: {listed(kinds)}",
                (*_made(looks), *others(met, "and here on another rank")),
                event.name,
            )


def local_sizes(performance: Performance) -> Iterator[Suspicion]:
    """The size of what each process brings depends on data of its own."""
    for met in meetings(performance):
        yield from _local_lengths(met)
        looks = _looks(met)
        shapes = [look["shape"] for _, look in looks]
        if not shapes or len({len(shape) for shape in shapes if shape is not None}) > 1:
            continue
        ragged = [look["ragged"] for _, look in looks]
        picked = None not in ragged
        for sizes in (tuple(ragged),) if picked else () if None in shapes else zip(*shapes, strict=True):
            if not all(isinstance(size, Opaque) for size in sizes):
                continue
            if any(isinstance(size.sign, Sent) and size.source is None for size in sizes):
                continue  # who receives was told how large it is
            signs = {size.sign for size in sizes}
            source = next((size.source for size in sizes if size.source is not None), None)
            if source is None or (None in signs and not picked) or (len(signs) == 1 and None not in signs):
                continue
            event = met[0].event
            related = (Related(source.span, "the ranks part here"),) if source.span is not None else ()
            yield Suspicion(
                event.span,
                f"how large the tensor of `{event.seen.get('what', event.name)}` is depends on each rank's own data ({source.why})",
                (*_made(looks), *related),
                event.name,
            )
            break


def _local_lengths(met: tuple[Met, ...]) -> Iterator[Suspicion]:
    """How many tensors each process brings in one list depends on data of its own."""
    event = met[0].event
    looks = [one.event.seen.get("tensors") for one in met] if event.name.endswith("_coalesced") else []
    lengths = [look["length"] for look in looks if isinstance(look, dict)]
    sources = [one.source for one in lengths if isinstance(one, Opaque) and not is_limited(one)]
    source = next((one for one in sources if one is not None), None)
    if source is not None and len(sources) == len(looks) and None not in sources:
        yield Suspicion(
            event.span,
            f"how many tensors are in the list of `{event.name}` depends on each rank's own data ({source.why})",
            (Related(source.span, "the ranks part here"),) if source.span is not None else (),
            event.name,
        )


def wrong_slots(performance: Performance) -> Iterator[Suspicion]:
    """What a gather is to fill has not the shape or type of what it gathers."""
    for stage in performance.stages:
        for event in stage.events:
            if event.group is None or event.group.ranks is None or stage.rank not in event.group.ranks:
                continue
            message, at = _slots(event, len(event.group.ranks))
            if message:
                related = (Related(at, "the places are made here"),) if at is not None else ()
                yield Suspicion(event.span, message, related, event.name)


def _slots(event: Event, count: int) -> tuple[str, Any]:
    lists = {"all_gather": "tensor_list", "gather": "gather_list", "scatter": "scatter_list"}
    if event.name in lists:
        brought, slots = event.seen.get("tensor"), event.seen.get(lists[event.name])
        if not isinstance(brought, dict) or not isinstance(slots, dict) or not slots.get("items"):
            return "", None
        for place in slots["items"]:
            what = _unlike(brought, place)
            if what:
                return f"`{event.name}` is given {what[0]}, but the places in its list are {what[1]}", slots["at"]
    if event.name in ("all_gather_into_tensor", "reduce_scatter_tensor"):
        names = ("input_tensor", "output_tensor") if event.name == "all_gather_into_tensor" else ("output", "input")
        small, large = event.seen.get(names[0]), event.seen.get(names[1])
        if not isinstance(small, dict) or not isinstance(large, dict):
            return "", None
        sizes = [_elements(small), _elements(large)]
        if None not in sizes and sizes[0] * count != sizes[1]:
            return (
                f"`{event.name}` needs {count} times {sizes[0]} elements in `{names[1]}`, which has {sizes[1]}",
                large["at"],
            )
        if small["dtype"] and large["dtype"] and small["dtype"] != large["dtype"]:
            return f"`{event.name}` is given tensors of {small['dtype']} and {large['dtype']}", large["at"]
    return "", None


def _elements(look: dict[str, Any]) -> Any:
    shape = look["shape"]
    known = shape is not None and all(isinstance(size, int) for size in shape)
    return math.prod(shape) if known else None


def _unlike(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, str] | None:
    shapes = (one["shape"], other["shape"])
    known = all(shape is not None and all(isinstance(size, int) for size in shape) for shape in shapes)
    if known and shapes[0] != shapes[1]:
        return f"a tensor of shape {shapes[0]}", f"of shape {shapes[1]}"
    if one["dtype"] and other["dtype"] and one["dtype"] != other["dtype"]:
        return f"a tensor of {one['dtype']}", f"of {other['dtype']}"
    return None


def wrong_splits(performance: Performance) -> Iterator[Suspicion]:
    """The parts of ``all_to_all_single`` do not fit their tensor, or what the other rank takes."""
    for met in meetings(performance):
        if met[0].event.name == "all_to_all":
            yield from _own_rows(met)
        if met[0].event.name != "all_to_all_single":
            continue
        yield from _own_splits(met)
        for _, event in met:
            for tensor, splits in (("input", "input_split_sizes"), ("output", "output_split_sizes")):
                sizes, look = _numbers(event.values.get(splits)), event.seen.get(tensor)
                first = look["shape"][0] if isinstance(look, dict) and look.get("shape") else None
                if sizes is not None and len(sizes) != performance.world and not performance.told:
                    yield Suspicion(event.span, "", (), event.name, weak=True)
                if sizes is not None and isinstance(first, int) and sum(sizes) != first:
                    yield Suspicion(
                        event.span,
                        f"`{splits}` {sizes} add up to {sum(sizes)}, but the tensor has {first} rows",
                        (),
                        event.name,
                    )
        table = {rank: _rows(event, len(met)) for rank, event in met}
        if len(met) != performance.world or any(None in rows for rows in table.values()):
            continue
        for rank, (sends, _) in table.items():
            for other, (_, takes) in table.items():
                if sends is None or takes is None or len(sends) != performance.world or len(takes) != performance.world:
                    continue
                if sends[other] != takes[rank]:
                    event = met[0].event
                    yield Suspicion(
                        event.span,
                        f"rank {rank} sends {sends[other]} rows to rank {other}, which takes {takes[rank]} from it",
                        (),
                        event.name,
                    )
                    break


def _own_splits(met: tuple[Met, ...]) -> Iterator[Suspicion]:
    """What each process sends is also what it expects to get, though they send different amounts."""
    for _, event in met:
        sends, takes = event.values.get("input_split_sizes"), event.values.get("output_split_sizes")
        sign, source = signature(takes), source_of([takes])
        if sign is None or source is None or sign != signature(sends):
            continue
        related = (Related(source.span, "the ranks part here"),) if source.span is not None else ()
        yield Suspicion(
            event.span,
            f"the same splits are given for what is sent and for what is taken, but each rank has its own ({source.why})",
            related,
            event.name,
        )
        return


def _own_rows(met: tuple[Met, ...]) -> Iterator[Suspicion]:
    """The places of ``all_to_all`` are as large as what the process itself sends, though each sends other amounts."""
    for rank, event in met:
        takes, sends = (event.seen.get(one) for one in ("output_tensor_list", "input_tensor_list"))
        if not isinstance(takes, dict) or not isinstance(sends, dict):
            continue
        for place, (one, other) in enumerate(zip(takes["items"] or (), sends["items"] or (), strict=False)):
            if place == rank or not one["shape"] or not other["shape"]:
                continue
            size = one["shape"][0]
            if isinstance(size, Opaque) and size.source is not None and alike(size, other["shape"][0]):
                yield Suspicion(
                    event.span,
                    f"the places for what is taken are as long as what is sent, but each rank sends its own ({size.source.why})",
                    (Related(size.source.span, "the ranks part here"),) if size.source.span is not None else (),
                    event.name,
                )
                return


def _rows(event: Event, world: int) -> tuple[list[int] | None, list[int] | None]:
    found = []
    for tensor, splits in (("input", "input_split_sizes"), ("output", "output_split_sizes")):
        given = event.values.get(splits)
        look = event.seen.get(tensor)
        first = look["shape"][0] if isinstance(look, dict) and look.get("shape") else None
        if given is None:
            even = isinstance(first, int) and first % world == 0
            found.append([first // world] * world if even and isinstance(first, int) else None)
        else:
            found.append(_numbers(given))
    return found[0], found[1]


def _numbers(value: Any) -> list[int] | None:
    items = value.items if isinstance(value, Items) else value if type(value) is tuple else None
    return list(items) if items and all(isinstance(item, int) for item in items) else None


def not_contiguous(performance: Performance) -> Iterator[Suspicion]:
    """A tensor is sent or received that does not lie in one piece."""
    for stage in performance.stages:
        for event in stage.events:
            look = event.seen.get("tensor")
            if (
                event.name in ("send", "recv", "isend", "irecv")
                and isinstance(look, dict)
                and look.get("packed") is False
            ):
                yield Suspicion(event.span, f"`{event.name}` is given a tensor that is not contiguous", (), event.name)


def whole_divided(performance: Performance) -> Iterator[Suspicion]:
    """A tensor of whole numbers is added up, and divided in place behind it."""
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == WHOLE_DIVIDED:
                yield Suspicion(
                    fault.span,
                    f"this tensor of {fault.words['dtype']} is divided in place, and holds no fractions",
                    (Related(fault.event.span, "it is added up over the ranks here"),),
                    fault.event.name,
                )
