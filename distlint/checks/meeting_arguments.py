"""Roots, operations and kinds of arguments of calls that processes make together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.meetings import Met, Suspicion, listed, meetings, others
from distlint.model.finding import Related
from distlint.rehearsal.entities import Group, Library
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Made, Table, Tensor, source_of

_ROOTS = ("src", "dst", "group_src", "group_dst")
_BITS = ("BAND", "BOR", "BXOR")
_ORDERED = ("MIN", "MAX", *_BITS)
_TENSORS = ("tensor", "output_tensor", "input_tensor", "output", "input")
_LISTS = (
    "tensor_list",
    "output_tensor_list",
    "input_tensor_list",
    "input_list",
    "object_list",
    "gather_list",
    "scatter_list",
)


def root_of(event: Event) -> tuple[str, Any]:
    """The parameter that says the root, and what it is."""
    for name in _ROOTS:
        value = event.values.get(name)
        if value is not None:
            return name, value
    return "", None


def is_number(value: Any) -> bool:
    """Whether a value is an integer, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def different_roots(performance: Performance) -> Iterator[Suspicion]:
    """The processes of a group name different roots for one call."""
    for met in meetings(performance):
        roots = [(one.rank, root_of(one.event)) for one in met]
        yield from _own_roots(met, [value for _, (_, value) in roots])
        yield from _chosen_roots(met, [(rank, value) for rank, (_, value) in roots])
        values = [(rank, value) for rank, (_, value) in roots if is_number(value)]
        if len({name for _, (name, _) in roots}) != 1 or len({value for _, value in values}) < 2:
            continue
        name, event = roots[0][1][0], met[0].event
        yield Suspicion(
            event.span,
            f"the ranks name different roots for `{event.name}`: `{name}` is {listed(values)}",
            (*_argument(event, name), *others(met, "and here on another rank")),
            event.name,
        )


def _own_roots(met: tuple[Met, ...], roots: list[Any]) -> Iterator[Suspicion]:
    """Each process works out a root from what it alone has."""
    source = source_of(roots)
    if source is None or not all(_is_told(root) for root in roots):
        return
    name, event = root_of(met[0].event)[0], met[0].event
    yield Suspicion(
        event.span,
        f"each rank works out the root of `{event.name}` by itself ({source.why}), so that `{name}` differs between them",
        (*_argument(event, name), *(() if source.span is None else (Related(source.span, "the ranks part here"),))),
        event.name,
    )


def _is_told(root: Any) -> bool:
    """Whether it is known what a root is, or what each process makes it of."""
    return is_number(root) or (isinstance(root, Opaque) and (root.source is not None or root.sign is not None))


def _chosen_roots(met: tuple[Met, ...], roots: list[tuple[int, Any]]) -> Iterator[Suspicion]:
    """Figures that the program works out let a process name a root that another one never names (``rank if best else 0``)."""
    possible = [(rank, _possible(root)) for rank, root in roots]
    if not all(values and all(map(is_number, values)) for _, values in possible):
        return
    for rank, root in roots:
        told = root.told if isinstance(root, Opaque) else None
        if told is None or (told.source is None and not told.measured):
            continue
        for other, values in possible:
            named = next((value for value in _possible(root) if value not in values), None)
            if named is None:
                continue
            name, event = root_of(met[0].event)[0], met[0].event
            yield Suspicion(
                event.span,
                f"`{name}` of `{event.name}` may be {named} on rank {rank}, but on rank {other} it never is: "
                "the ranks name different roots",
                tuple(_argument(event, name)),
                event.name,
            )
            return


def _possible(root: Any) -> tuple[Any, ...]:
    """The roots that a process may name; none where others are possible than those that are known."""
    return root.among if isinstance(root, Opaque) else (root,)


def _argument(event: Event, name: str) -> Iterator[Related]:
    from distlint.model import python as ir

    for keyword in event.call.keywords:
        if keyword.name == name:
            yield Related(ir.unpack(keyword.value.at, event.file), "the root of this rank")


def roots_outside(performance: Performance) -> Iterator[Suspicion]:
    """The root of a call is no member of its group."""
    for stage in performance.stages:
        for event in stage.events:
            name, value = root_of(event)
            group = event.group
            if name not in ("src", "dst") or event.name in ("send", "recv", "isend", "irecv"):
                continue
            if group is None or group.ranks is None or stage.rank not in group.ranks or not is_number(value):
                continue
            if value in group.ranks:
                continue
            known = group is not stage.everyone
            whole = f"the group of ranks {list(group.ranks)}" if known else f"a job of {performance.world} processes"
            related = (Related(group.span, "the group is made here"),) if group.span is not None else ()
            why = " (it is a rank of the job, not one within the group)" if known else ""
            yield Suspicion(
                event.span, f"`{name}` of `{event.name}` is {value}, which is not in {whole}{why}", related, event.name
            )


def refused_operations(performance: Performance) -> Iterator[Suspicion]:
    """An operation that tensors of this type do not take."""
    for stage in performance.stages:
        for event in stage.events:
            op = event.values.get("op")
            look = event.seen.get("tensor") or event.seen.get("input") or {}
            kind = look.get("dtype", "") if isinstance(look, dict) else ""
            if not isinstance(op, Library) or not kind:
                continue
            last = op.name.rpartition(".")[2]
            floating = kind.startswith(("float", "bfloat"))
            if (last in _BITS and floating) or (last in _ORDERED and kind.startswith("complex")):
                related = (Related(look["at"], "the tensor is made here"),) if look.get("at") else ()
                yield Suspicion(
                    event.span, f"`{event.name}` with {last} does not take a tensor of {kind}", related, event.name
                )


def wrong_kinds(performance: Performance) -> Iterator[Suspicion]:
    """An argument that is no tensor, no list, no operation or no group where one is wanted."""
    for stage in performance.stages:
        for event in stage.events:
            found = _wrong_kind(event)
            if found:
                yield Suspicion(event.span, found, (), event.name)


def _wrong_kind(event: Event) -> str:
    if event.seen.get("open") or event.name.endswith(")"):
        return ""  # other libraries' operations take other things
    if event.name in ("init_process_group", "new_group", "monitored_barrier"):
        value = event.values.get("timeout")
        return (
            f"`timeout` is the number {value}, no `timedelta`" if is_number(value) or isinstance(value, float) else ""
        )
    for name in _TENSORS:
        value = event.values.get(name)
        if isinstance(value, int | float | str) or (isinstance(value, Items | Table) and name in event.values):
            return f"`{event.name}` is given {_described(value)} where it wants a tensor"
    if event.name.endswith(("_object", "_object_list")):
        return ""
    for name in _LISTS:
        value = event.values.get(name)
        if isinstance(value, Tensor):
            return f"`{event.name}` is given a tensor as `{name}`, where it wants a list of tensors"
    op = event.values.get("op")
    if isinstance(op, str | int | Group):
        return f"`{event.name}` is given {_described(op)} as `op`"
    group = event.values.get("group")
    if isinstance(group, Items | str) or is_number(group) or type(group) is tuple:
        return f"`{event.name}` is given {_described(group)} as `group`, not what `new_group` gave"
    root = root_of(event)[1]
    if isinstance(root, Group):
        return f"`{event.name}` is given a group as its root"
    return ""


def _described(value: Any) -> str:
    if isinstance(value, Group):
        return "a group"
    if isinstance(value, Items):
        return "a list"
    if isinstance(value, Table):
        return "a dictionary"
    if isinstance(value, Made | tuple):
        return "another object"
    return f"the text {value!r}" if isinstance(value, str) else f"the number {value}"


__all__ = ["Met", "different_roots", "is_number", "refused_operations", "root_of", "roots_outside", "wrong_kinds"]
