"""What torch.distributed's functions do to what they are given, for the rehearsal of a program.

Signatures are those of torch 2.13, ``torch/distributed/distributed_c10d.py``; earlier releases lack some of the last parameters.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from distlint.frameworks.torch import rehearsed_futures as futures
from distlint.frameworks.torch import rehearsed_lives as lives
from distlint.frameworks.torch import rehearsed_rounds as rounds
from distlint.frameworks.torch import rehearsed_rows as row_orders
from distlint.frameworks.torch import rehearsed_taken as takes
from distlint.frameworks.torch import rehearsed_under_way as under_way
from distlint.frameworks.torch.rehearsed_modules import evened
from distlint.frameworks.torch.rehearsed_optimizers import UNSCALED
from distlint.frameworks.torch.rehearsed_weights import Gradient, Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Group, Library, MethodOf, Nothing, Outside, Work
from distlint.rehearsal.listings import told
from distlint.rehearsal.notes import GRADIENTS_BY_HAND, OWN_ROWS, WEIGHTS_BY_HAND
from distlint.rehearsal.paths import path_of
from distlint.rehearsal.stage import LENT, Event, Fault, Stage
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Perhaps, Sent, Source
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, escape, signature

PREFIXES = ("torch.distributed.distributed_c10d.", "torch.distributed.", "deepspeed.comm.")

SIGNATURES: dict[str, tuple[str, ...]] = {
    "all_reduce": ("tensor", "op", "group", "async_op"),
    "all_reduce_coalesced": ("tensors", "op", "group", "async_op"),
    "broadcast": ("tensor", "src", "group", "async_op", "group_src"),
    "reduce": ("tensor", "dst", "op", "group", "async_op", "group_dst"),
    "all_gather": ("tensor_list", "tensor", "group", "async_op"),
    "all_gather_into_tensor": ("output_tensor", "input_tensor", "group", "async_op"),
    "gather": ("tensor", "gather_list", "dst", "group", "async_op", "group_dst"),
    "scatter": ("tensor", "scatter_list", "src", "group", "async_op", "group_src"),
    "reduce_scatter": ("output", "input_list", "op", "group", "async_op"),
    "reduce_scatter_tensor": ("output", "input", "op", "group", "async_op"),
    "all_to_all_single": ("output", "input", "output_split_sizes", "input_split_sizes", "group", "async_op"),
    "all_to_all": ("output_tensor_list", "input_tensor_list", "group", "async_op"),
    "all_gather_object": ("object_list", "obj", "group"),
    "gather_object": ("obj", "object_gather_list", "dst", "group", "group_dst"),
    "scatter_object_list": (
        "scatter_object_output_list",
        "scatter_object_input_list",
        "src",
        "group",
        "group_src",
    ),
    "broadcast_object_list": ("object_list", "src", "group", "device", "group_src"),
    "barrier": ("group", "async_op", "device_ids"),
    "monitored_barrier": ("group", "timeout", "wait_all_ranks"),
    "send": ("tensor", "dst", "group", "tag", "group_dst"),
    "recv": ("tensor", "src", "group", "tag", "group_src"),
    "isend": ("tensor", "dst", "group", "tag", "group_dst"),
    "irecv": ("tensor", "src", "group", "tag", "group_src"),
    "send_object_list": ("object_list", "dst", "group", "device", "group_dst", "use_batch"),
    "recv_object_list": ("object_list", "src", "group", "device", "group_src", "use_batch"),
    "new_group": ("ranks", "timeout", "backend", "pg_options", "use_local_synchronization", "group_desc"),
    "init_process_group": ("backend", "init_method", "timeout", "world_size", "rank", "store", "group_name"),
    "destroy_process_group": ("group",),
}

_OTHER_NAMES = {
    "_all_gather_base": "all_gather_into_tensor",
    "all_gather_single": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_scatter_single": "reduce_scatter_tensor",
}
"""Earlier and later names of operations."""

DEFAULT_ROOTS = {
    "gather": ("dst", 0),
    "gather_object": ("dst", 0),
    "scatter": ("src", 0),
    "scatter_object_list": ("src", 0),
    "broadcast_object_list": ("src", 0),
}

_PASSING = ("send", "recv", "isend", "irecv")
_TELLING_SENDER = ("recv", "recv_object_list")
"""Synchronous operations that give the rank of the sender (torch 2.13, distributed_c10d.py)."""
_OUTPUTS = ("tensor", "output", "output_tensor", "tensor_list", "output_tensor_list", "gather_list")
_FILLING = {
    "all_reduce": ("tensor",),
    "all_reduce_coalesced": ("tensors",),
    "broadcast": ("tensor",),
    "reduce": (),
    "all_gather": ("tensor_list",),
    "all_gather_into_tensor": ("output_tensor",),
    "gather": ("gather_list",),
    "scatter": ("tensor",),
    "reduce_scatter": ("output",),
    "reduce_scatter_tensor": ("output",),
    "all_to_all_single": ("output",),
    "all_to_all": ("output_tensor_list",),
    "recv": ("tensor",),
    "irecv": ("tensor",),
}
_READING = {
    "all_gather": ("tensor",),
    "all_gather_into_tensor": ("input_tensor",),
    "gather": ("tensor",),
    "reduce": ("tensor",),
    "scatter": ("scatter_list",),
    "reduce_scatter": ("input_list",),
    "reduce_scatter_tensor": ("input",),
    "all_to_all_single": ("input",),
    "all_to_all": ("input_tensor_list",),
}
"""What an operation under way reads, besides what it fills."""

FUNCTIONAL = "torch.distributed.nn.functional."
"""Operations through which gradients flow back, as functions of the tensor that a process brings (torch 2.13: nn/functional.py)."""
_SENDS = ("send", "send_object_list")
_OWN = {
    "scatter": "`scatter` gives each rank its own part",
    "scatter_object_list": "`scatter_object_list` gives each rank its own part",
    "reduce_scatter": "`reduce_scatter` gives each rank its own part",
    "reduce_scatter_tensor": "`reduce_scatter_tensor` gives each rank its own part",
    "all_to_all_single": "`all_to_all_single` gives each rank its own part",
    "all_to_all": "`all_to_all` gives each rank its own part",
    "gather": "`gather` gives the result to one rank only",
    "gather_object": "`gather_object` gives the result to one rank only",
}
_SUMMING = ("all_reduce", "all_reduce_coalesced")
_SAME_EVERYWHERE = (*_SUMMING, "broadcast", "all_gather", "all_gather_into_tensor")


def operation_of(name: str) -> str:
    """The operation that a dotted name means; ``""`` for others."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            last = name[len(prefix) :]
            last = _OTHER_NAMES.get(last, last)
            return last if last in SIGNATURES else ""
    return ""


def arguments(operation: str, given: Given) -> dict[str, Any]:
    """The arguments by name; what is not given has its default, or is unknown behind ``*``."""
    names = SIGNATURES[operation]
    values = {name: given.get(name, position, None) for position, name in enumerate(names)}
    root = DEFAULT_ROOTS.get(operation)
    absent = root is not None and values[root[0]] is None and values.get(f"group_{root[0]}") is None
    if root is not None and absent and not given.open:
        values[root[0]] = root[1]
    values["async_op"] = given.get("async_op", names.index("async_op") if "async_op" in names else None, False)
    values["tag"] = given.get("tag", 3 if operation in _PASSING else None, 0)
    return values


def perform(player: Any, operation: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """Records an operation, and gives what it returns."""
    stage = player.stage
    span = ir.unpack(call.at, scope.file)
    values = arguments(operation, given)
    event = Event(operation, call, scope.file, scope.function, values)
    if given.open:
        event.seen["open"] = True
    group = stage.group_of(values.get("group"))
    event.group = group
    if operation == "init_process_group":
        return _init(player, event)
    if operation == "new_group":
        lives.used(player, operation, None, call, scope)
        return _new_group(player, event, span)
    if not given.open:
        lives.used(player, operation, values.get("group"), call, scope)
    stage.record(event)
    if operation == "destroy_process_group":
        lives.ended(stage, values["group"], span)
        return None
    remember(event)
    takes.met(player, values)
    _read_inputs(player, event, span)
    return _result(player, event, span)


def _init(player: Any, event: Event) -> Any:
    stage = player.stage
    size = event.values["world_size"]
    if isinstance(size, int) and not isinstance(size, bool) and size > 0 and size != stage.world:
        stage.declared = size
    if isinstance(size, int) and size == -1:
        event.values["world_size"] = None
    event.seen["environment"] = dict(stage.environment)
    event.seen["before"] = stage.initialized is True
    stage.record(event)
    lives.started(stage)
    if not stage.unsure:
        stage.initialized = True
    return None


def _new_group(player: Any, event: Event, span: Span) -> Group:
    stage = player.stage
    stage.record(event)
    items = player.items_of(event.values["ranks"]) if event.values["ranks"] is not None else list(range(stage.world))
    known = items is not None and all(isinstance(item, int) for item in items)
    ranks = tuple(items) if known and items is not None else None
    made = Group(ranks, span, sum(1 for one in stage.events if one.seen.get("ranks") == ranks and "ranks" in one.seen))
    event.seen["ranks"] = made.ranks
    event.group = stage.everyone
    lives.made(stage, made)
    return made


def remember(event: Event) -> None:
    """Keeps what arguments look like when the operation is called: shapes, types, lengths of lists."""
    for name, value in event.values.items():
        if isinstance(value, Tensor):
            event.seen[name] = look(value)
        elif isinstance(value, Items):
            items = value.items
            tensors = [item for item in items or () if isinstance(item, Tensor)]
            event.seen[name] = {
                "length": value.length(),
                "items": [look(item) for item in tensors] if items is not None and len(tensors) == len(items) else None,
                "shared": len({id(item.whole) for item in tensors}) < len(tensors)
                and len({id(item) for item in tensors}) < len(tensors),
                "at": value.at,
            }


def brought(player: Any, given: Given, call: ir.Call) -> None:
    """Remembers the tensor that a function brings to an operation which gives its result instead of filling something."""
    tensor = given.get("tensor", 0, None)
    takes.met(player, {"tensor": tensor})
    events = player.stage.events
    if isinstance(tensor, Tensor) and events and events[-1].call is call:
        events[-1].seen["tensor"] = look(tensor)


def look(tensor: Tensor) -> dict[str, Any]:
    """What is remembered of a tensor that a process brings to an operation (``Event.seen``)."""
    return {
        "shape": tensor.shape,
        "ragged": tensor.ragged,
        "dtype": tensor.dtype,
        "named": tensor.named or tensor.whole.named,
        "at": tensor.at,
        "packed": tensor.packed,
        "copied": tensor.copied,
        "sign": tensor.sign,
        "source": tensor.source,
        "gradient": tensor.gradient,
        "typed": tensor.typed,
        "of gradient": isinstance(tensor, Gradient),
    }


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Items):
        return [item for item in value.items or () if isinstance(item, Tensor)]
    return []


def _unseen(values: list[Any]) -> list[Opaque]:
    """What stands for tensors that an operation fills and of which nothing is known but what tells them."""
    held = [item for value in values for item in ((value.items or ()) if isinstance(value, Items) else (value,))]
    return [one for one in held if isinstance(one, Opaque) and one is not UNKNOWN]


def _read_inputs(player: Any, event: Event, span: Span) -> None:
    for name, value in event.values.items():
        if name in ("group", "op", "async_op", "tag"):
            continue
        if isinstance(value, Nothing):
            player.misused(value, span)
        for tensor in _tensors(value):
            player.stage.use(tensor, span)


def _result(player: Any, event: Event, span: Span) -> Any:
    stage = player.stage
    operation = event.name
    group = event.group
    is_member = group is None or group.ranks is None or stage.rank in group.ranks
    key = ("together", stage.shared.twins.get(event.place, event.place), event.turn)
    outputs = [value for name in _FILLING.get(operation, ()) for value in [event.values.get(name)]]
    outputs = [value.value if isinstance(value, Perhaps) else value for value in outputs]
    tensors = [tensor for value in outputs for tensor in _tensors(value)]
    ranks = group.ranks if group is not None and group is not stage.everyone else None
    own = Source(_OWN[operation], span) if operation in _OWN and group is stage.everyone else None
    _lined_up(stage, event)
    if operation in _SUMMING:
        samples = [value.sample for value in outputs if isinstance(value, Items) and value.items is None]
        _averaged(stage, event, [*tensors, *(one for one in samples if isinstance(one, Tensor))], span)
    for position, tensor in enumerate(tensors):
        whole = tensor.whole
        same = operation in _SAME_EVERYWHERE and is_member and not stage.parted
        sign = Sent(hash((key, ranks, position))) if same else None
        whole.sign = sign if sign is None or ranks is None else _passed_on(stage, event, tensor.sign, sign)
        whole.source = own
        whole.level, whole.placed = False, None
        tensor.sign, tensor.source = whole.sign, own
        whole.summed = event if operation in _SUMMING else None
        if operation in _SAME_EVERYWHERE and group is not None and group.ranks == stage.everyone.ranks:
            evened(player, tensor)
    for position, unseen in enumerate(_unseen(outputs)):
        same = operation in _SAME_EVERYWHERE and is_member and not stage.parted
        unseen.sign, unseen.source = Sent(hash((key, ranks, "unseen", position))) if same else None, own
    _fill_objects(player, event, key, own)
    _in_order(player, event, span)
    if operation == "reduce":
        _reduced(player, event, is_member)
    if operation in ("isend", "irecv"):
        return _under_way(event, _tensors(event.values["tensor"]), stage)
    async_op = event.values.get("async_op")
    if async_op is False or async_op is None:
        if operation not in _SENDS:
            stage.arrived()
        return _sender(event) if operation in _TELLING_SENDER else Nothing(event)
    if async_op is True:
        return _under_way(event, tensors, stage)
    return UNKNOWN


_BROUGHT = {
    "all_gather": ("tensor", "tensor_list"),
    "gather": ("tensor", "gather_list"),
    "all_gather_into_tensor": ("input_tensor", "output_tensor"),
    "all_gather_object": ("obj", "object_list"),
    "gather_object": ("obj", "object_gather_list"),
}
"""Operations that put what each process brings in the places of the ranks: what is brought, and what is filled."""


def _in_order(player: Any, event: Event, span: Span) -> None:
    """Says in which order the rows stand that an operation has filled something with."""
    names = _BROUGHT.get(event.name)
    if names is None:
        for value in event.values.values():
            if isinstance(value, Tensor) and event.name in _FILLING:
                player.stage.rows.forget(value)
        return
    brought, filled = (event.values.get(name) for name in names)
    if event.group is player.stage.everyone and filled is not None:
        shape = brought.shape if isinstance(brought, Tensor) else None
        row_orders.gathered(player, brought, filled, span, inputs=None if shape is None else len(shape))


def _sender(event: Event) -> Any:
    """Who has sent what was received: the rank that was asked for, any where none was."""
    asked = event.values.get("src")
    return asked if isinstance(asked, int) else Opaque(None)


def _lined_up(stage: Any, event: Event) -> None:
    """Rows that are summed up place by place stand in another order on each process."""
    if event.name not in ("all_reduce", "reduce"):
        return
    for tensor in _tensors(event.values.get("tensor")):
        order = tensor.whole.lined
        if order is not None:
            stage.faults.append(Fault(OWN_ROWS, order.span or event.span, event, {"why": order.why}))
            return


def _averaged(stage: Any, event: Event, tensors: list[Tensor], span: Span) -> None:
    """Gradients that are each process' own are summed up: too late where each has looked for overflows in its own already."""
    if any(isinstance(tensor.whole, Gradient) for tensor in tensors):
        stage.kept[GRADIENTS_BY_HAND] = True
        rounds.averaged(stage, [tensor.whole for tensor in tensors if isinstance(tensor.whole, Gradient)], event)
    if stage.kept.get("backward") and any(isinstance(tensor.whole, Weight) for tensor in tensors):
        stage.kept[WEIGHTS_BY_HAND] = True
    unscaled = stage.kept.get(UNSCALED)
    if unscaled is None or stage.unsure:
        return
    if any(isinstance(tensor.whole, Gradient) and tensor.whole.sign is None for tensor in tensors):
        stage.faults.append(Fault("gradients averaged late", span, event, {"unscaled": unscaled}))
    stage.kept.pop(UNSCALED)  # what else is summed up may be whether there was one


def _under_way(event: Event, tensors: list[Tensor], stage: Any) -> Work:
    if event.name == "isend" or (event.name == "broadcast" and event.values.get("src") == stage.rank):
        tensors, lent = [], tensors  # its own values do not change
    else:
        lent = [tensor for name in _READING.get(event.name, ()) for tensor in _tensors(event.values.get(name))]
    work = Work(event, tensors, lent, stage.way)
    event.seen["work"] = work
    for tensor in lent:
        tensor.whole.lent = work
    if event.name == "isend":
        stage.kept.setdefault(LENT, []).append(work)
    else:
        for tensor in tensors:
            tensor.whole.pending = work
        under_way.begun(stage, work, tensors)
    return work


def _reduced(player: Any, event: Event, is_member: bool) -> None:
    root = event.values["dst"]
    tensor = event.values["tensor"]
    if isinstance(tensor, Tensor):
        tensor.whole.sign = tensor.sign = None
        tensor.whole.level, tensor.whole.placed = False, None
        if event.group is player.stage.everyone:
            tensor.whole.source = tensor.source = Source("`reduce` leaves the result on one rank only", event.span)
        if isinstance(root, int) and root != player.stage.rank and is_member and not player.stage.unsure:
            tensor.whole.partial = event


def _passed_on(stage: Stage, event: Event, held: Hashable, sign: Sent) -> Hashable:
    """What tells a tensor that went round in a group of some processes, ``sign`` in most cases.

    What all processes had made together stays that where one of them passes it on to its group.
    """
    if event.name != "broadcast":
        return sign
    if event.values["src"] != stage.rank:
        return stage.shared.receive(stage.rank, sign)
    sent = held if isinstance(held, Sent) else sign
    stage.shared.send(sign, sent)
    return sent


def _fill_objects(player: Any, event: Event, key: Any, own: Source | None) -> None:
    names = {
        "all_gather_object": "object_list",
        "broadcast_object_list": "object_list",
        "recv_object_list": "object_list",
        "gather_object": "object_gather_list",
        "scatter_object_list": "scatter_object_output_list",
    }
    items = event.values.get(names.get(event.name, ""))
    if isinstance(items, Items) and items.items is not None:
        same = event.name in ("all_gather_object", "broadcast_object_list")
        signs: list[Hashable] = [
            Sent(hash((key, event.group.ranks if event.group is not None else None, position))) if same else None
            for position in range(len(items.items))
        ]
        if event.name == "broadcast_object_list" and not player.stage.parted:
            shared = player.stage.shared
            if event.values["src"] == player.stage.rank:
                paths = [path_of(player.stage, item) for item in items.items]
                sent = [_known_to_all(player, item, sign) for sign, item in zip(signs, items.items, strict=True)]
                for path, sign in zip(paths, sent, strict=True):
                    told(player.stage, path, sign)
                for place, sign in zip(signs, sent, strict=True):
                    shared.send(place, sign)
                signs = sent
            else:
                signs = [shared.receive(player.stage.rank, sign) for sign in signs]
        items.items = [_told(sign, own) for sign in signs]


def _told(sign: Hashable, own: Source | None) -> Any:
    """What is received, by what tells it: a plain value that its sender knows is that value for all."""
    if own is None and type(sign) is tuple and len(sign) == 2 and type(sign[1]).__name__ == sign[0]:
        return sign[1]
    return Opaque(sign, own)


def _known_to_all(player: Any, item: Any, sign: Hashable) -> Hashable:
    """What tells an object that its process sends to all others: each holder of it has the same one from now on."""
    if isinstance(item, Table) and not item.open and any(_is_own(one) for one in item.items.values()):
        for key, one in item.items.items():
            if _is_own(one):
                # the others take it out of what they get
                one.sign, one.source = signature(player.item(Opaque(sign), key)), None
        return sign
    if _is_own(item):
        item.sign, item.source = sign, None
    own = signature(item)
    return own if own is not None else sign


def _is_own(item: Any) -> bool:
    return isinstance(item, Opaque) and item is not UNKNOWN and (item.sign is None or item.source is not None)


def batch(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``batch_isend_irecv``: posts several operations at once."""
    stage = player.stage
    operations = player.items_of(given.get("p2p_op_list", 0, UNKNOWN))
    if operations is None:
        for value in given.values():
            escape(value)
        return UNKNOWN
    works = []
    for one in operations:
        if not isinstance(one, Made) or one.arguments is None:
            return UNKNOWN
        what = one.arguments.get("op", 0, UNKNOWN)
        kind = operation_of(what.name) if isinstance(what, Library) else ""
        peer = one.arguments.get("peer", 2, None)
        values = {
            "tensor": one.arguments.get("tensor", 1, UNKNOWN),
            "dst" if kind == "isend" else "src": peer,
            "group": one.arguments.get("group", 3, None),
            "tag": one.arguments.get("tag", 4, 0),
        }
        event = Event(kind or "isend", call, scope.file, scope.function, values)
        event.seen["batch"] = one.call
        event.group = stage.group_of(values["group"])
        stage.record(event)
        remember(event)
        works.append(_under_way(event, _tensors(values["tensor"]), stage))
    return Items(works)


def work_method(player: Any, work: Work, name: str, span: Span) -> Any:
    """A method of what an asynchronous operation gave."""
    if name in ("wait", "synchronize"):
        player.stage.wait(work, span)
        return True
    if name == "get_future":
        return futures.of_work(work)
    escape(work)
    return UNKNOWN


def about_groups(player: Any, name: str, given: Given) -> Any:
    """Ranks and sizes within groups; ``NotImplemented`` for other functions."""
    stage = player.stage
    last = name.rpartition(".")[2]
    if last in ("get_rank", "get_world_size"):
        group = stage.group_of(given.get("group", 0))
        if group is None or group.ranks is None:
            return UNKNOWN
        return place_in(group, stage.rank, last)
    group = stage.group_of(given.get("group", 0))
    if group is None or group.ranks is None:
        return UNKNOWN
    if last == "get_process_group_ranks":
        return Items(list(group.ranks))
    number = given.get("group_rank", 1) if last == "get_global_rank" else given.get("global_rank", 1)
    if last == "get_global_rank":
        return group.ranks[number] if isinstance(number, int) and 0 <= number < len(group.ranks) else UNKNOWN
    if last == "get_group_rank":
        return group.ranks.index(number) if number in group.ranks else UNKNOWN
    return NotImplemented


def place_in(group: Group, rank: int, name: str) -> Any:
    """The size of a group whose ranks are known, or the place of a rank in it."""
    ranks = group.ranks or ()
    if rank not in ranks:
        return Outside.of(group)
    return ranks.index(rank) if name.endswith("rank") else len(ranks)


def group_method(player: Any, group: Group, name: str, call: ir.Call, scope: Any) -> Any:
    """``group.size()`` and ``group.rank()``; a process that is not in it has a number instead of the group."""
    if group.ranks is None or name not in ("size", "rank"):
        return NotImplemented
    if player.stage.rank not in group.ranks:
        player.stage.outside(group, call, scope, f"`{name}()` is asked of it")
        return UNKNOWN
    return place_in(group, player.stage.rank, name)


__all__ = ["MethodOf", "about_groups", "batch", "operation_of", "perform", "work_method"]
