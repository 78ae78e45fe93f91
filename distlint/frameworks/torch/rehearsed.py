"""What PyTorch does in the rehearsal of a program (``FrameworkSpec.rehearsed``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.frameworks.torch import rehearsed_accumulated as accumulated
from distlint.frameworks.torch import rehearsed_arrays as arrays
from distlint.frameworks.torch import rehearsed_averages as averages
from distlint.frameworks.torch import rehearsed_beside as beside
from distlint.frameworks.torch import rehearsed_buffers as buffers
from distlint.frameworks.torch import rehearsed_changes as changes
from distlint.frameworks.torch import rehearsed_checkpoints as checkpoints
from distlint.frameworks.torch import rehearsed_collating as collating
from distlint.frameworks.torch import rehearsed_communication as communication
from distlint.frameworks.torch import rehearsed_copies as copies
from distlint.frameworks.torch import rehearsed_data as data
from distlint.frameworks.torch import rehearsed_distributions as distributions
from distlint.frameworks.torch import rehearsed_divided as divided
from distlint.frameworks.torch import rehearsed_empty as empty
from distlint.frameworks.torch import rehearsed_epochs as epochs
from distlint.frameworks.torch import rehearsed_foreach as foreach
from distlint.frameworks.torch import rehearsed_functions as functions
from distlint.frameworks.torch import rehearsed_futures as futures
from distlint.frameworks.torch import rehearsed_hooks as hooks
from distlint.frameworks.torch import rehearsed_lightning as lightning
from distlint.frameworks.torch import rehearsed_lives as lives
from distlint.frameworks.torch import rehearsed_making as making
from distlint.frameworks.torch import rehearsed_mesh as meshes
from distlint.frameworks.torch import rehearsed_metrics as metrics
from distlint.frameworks.torch import rehearsed_modules as modules
from distlint.frameworks.torch import rehearsed_older_methods as older_methods
from distlint.frameworks.torch import rehearsed_optimizers as optimizers
from distlint.frameworks.torch import rehearsed_overflows as overflows
from distlint.frameworks.torch import rehearsed_partly as partly
from distlint.frameworks.torch import rehearsed_parts as parts
from distlint.frameworks.torch import rehearsed_pieces as pieces
from distlint.frameworks.torch import rehearsed_recording as recording
from distlint.frameworks.torch import rehearsed_redrawn as redrawn
from distlint.frameworks.torch import rehearsed_reentrant as reentrant
from distlint.frameworks.torch import rehearsed_rows as row_orders
from distlint.frameworks.torch import rehearsed_saves as saves
from distlint.frameworks.torch import rehearsed_scaling as scaling
from distlint.frameworks.torch import rehearsed_sequences as sequences
from distlint.frameworks.torch import rehearsed_shapes as shapes
from distlint.frameworks.torch import rehearsed_shards as shards
from distlint.frameworks.torch import rehearsed_shares as shares
from distlint.frameworks.torch import rehearsed_spread as spreading
from distlint.frameworks.torch import rehearsed_starts as starts
from distlint.frameworks.torch import rehearsed_statistics as statistics
from distlint.frameworks.torch import rehearsed_tables as tables
from distlint.frameworks.torch import rehearsed_taken as takes
from distlint.frameworks.torch import rehearsed_tensors as tensors
from distlint.frameworks.torch import rehearsed_under_way as under_way
from distlint.frameworks.torch import rehearsed_unfilled as unfilled
from distlint.frameworks.torch import rehearsed_visible as visible
from distlint.frameworks.torch import rehearsed_waits as waits
from distlint.frameworks.torch import rehearsed_wrappers as wrappers
from distlint.frameworks.torch import rehearsed_written as writing
from distlint.frameworks.torch.rehearsed_computing import COUNTS, row_attribute
from distlint.frameworks.torch.rehearsed_shapes import fresh
from distlint.frameworks.torch.rehearsed_weights import Gradient, Weight
from distlint.frameworks.torch.values import TYPED
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.absent import used
from distlint.rehearsal.entities import Group, Library, Nothing, Promise, Work
from distlint.rehearsal.held import held_in
from distlint.rehearsal.models import Models
from distlint.rehearsal.notes import GRADIENTS_BY_HAND
from distlint.rehearsal.randomness import Generator, seeded
from distlint.rehearsal.some_ways import alone
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Array, Given, Items, Made, Tensor, derived, source_of

_SPAWN = ("torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn", "torch.multiprocessing.start_processes")
_PROCESS = ("torch.multiprocessing.Process", "multiprocessing.Process")
_SEEDS = ("torch.manual_seed", "torch.random.manual_seed")
_NN = "torch.nn."
_GROUPS = ("get_rank", "get_world_size", "get_process_group_ranks", "get_global_rank", "get_group_rank")


class Torch(Models):
    """The functions by which the rehearsal asks for what PyTorch does."""

    elementwise = staticmethod(tensors.operated)
    indexed = staticmethod(tensors.indexed)
    tensor_attribute = staticmethod(tensors.tensor_attribute)
    row_attribute = staticmethod(row_attribute)
    follows_rows = staticmethod(row_orders.is_followed)
    rows = staticmethod(row_orders.followed)
    attribute_rows = staticmethod(row_orders.attribute)
    is_data = staticmethod(row_orders.is_data)
    is_table = staticmethod(row_orders.is_table)

    def owns(self, name: str) -> bool:
        """Whether a function is followed here with all that it does, though descriptions name it as well."""
        return bool(communication.operation_of(name)) or name in _SEEDS

    def inherited(self, player: Any, thing: Any, name: str) -> Any:
        """What an object of a class of the project has from a library's class."""
        if name == "forward":
            return sequences.sequence_of(player, thing) or NotImplemented
        return modules.inherited(player, thing, name)

    def built(self, player: Any, thing: Any, given: Given) -> None:
        """An object of the project is made by the constructor of a library's class."""
        sequences.built(player, thing, given)

    def called_thing(self, player: Any, thing: Any, method: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What calling an object of the project gives."""
        return wrappers.called_thing(player, thing, method, given, call, scope)

    def holds_buffers(self, made: Made) -> bool:
        """Whether the module that an object wraps certainly holds buffers."""
        return modules.holds_buffers(made)

    def stored(self, player: Any, base: Any, name: str, value: Any, span: Span) -> None:
        """A value becomes an attribute of an object."""
        changes.stored(player, base, name, value, span)
        takes.stored(player, base, name, value, span)
        buffers.stored(player, base, name, value, span)
        lightning.stored(player, base, name, value, span)

    def encloses(self, name: str) -> bool:
        """Whether a decorator executes a function inside the context that calling it makes."""
        return name in recording.CONTEXTS

    def handed(self, player: Any, values: Iterable[Any]) -> None:
        """Values go where nobody sees what is done with them."""
        values = tuple(values)
        waits.handed(player, values)
        writing.handed(player.stage, values)
        for value in held_in(values):
            unfilled.touch(value)
            buffers.handed(player, value)
            statistics.handed(player, modules.parts_of_model(value))
            saves.handed(value)
            scaling.handed(value)
            hooks.handed(value)
            takes.handed(player, value)

    def unfollowed(self, player: Any, items: Iterable[Any]) -> None:
        """The turns of a loop that goes through these items are not followed: modules among them may be called in these."""
        waits.unfollowed(player, items)

    def missed(self, player: Any, callee: Any) -> None:
        """Something is called that nobody sees."""
        waits.missed(player, callee)
        hooks.missed(player, callee)

    def changed(self, player: Any, tensor: Tensor, how: str, others: list[Any], span: Span | None = None) -> None:
        """A tensor was changed in place."""
        buffers.changed(player, tensor, how, others, span)
        divided.changed(player, tensor, how, others, span)
        alone(tensor, others)
        recording.changed(tensor, others)
        takes.changed(player, tensor, how, others, span)
        if isinstance(tensor.whole, Gradient):
            scaling.changed(player, how, others)
            shares.scaled(player, tensor, how, others)
        if isinstance(tensor.whole, Weight):
            writing.written(player.stage)
        if how in ("/", "div_", "mul_", "*", "//"):
            tensor.whole.summed = None

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a library function gives; ``NotImplemented`` where that is not known."""
        operation = communication.operation_of(name)
        saved = checkpoints.met(player, name, given, call, scope)
        if saved is not NotImplemented:
            return saved
        if operation:
            return communication.perform(player, operation, given, call, scope)
        if name.startswith(communication.FUNCTIONAL):
            communication.brought(player, given, call)
        spread = spreading.distributed(player, name, given, ir.unpack(call.at, scope.file))
        if spread is not NotImplemented:
            return spread
        if name.startswith(lightning.PACKAGES):
            return lightning.made(player, name, given, call, scope)
        if name.startswith(metrics.PREFIX):
            return metrics.made(player, name, given, call)
        if name.startswith(arrays.PREFIX):
            return arrays.made(player, name[len(arrays.PREFIX) :], given, ir.unpack(call.at, scope.file))
        if not name.startswith(("torch.", "multiprocessing.", "deepspeed.comm.")):
            return NotImplemented
        visible.asked(player, name, given, call, scope)
        span = ir.unpack(call.at, scope.file)
        last = name.rpartition(".")[2]
        if name == "torch.save":
            shards.saved(player, given, call, scope)
        wrapped = wrappers.wrapped(player, name, given, call, scope)
        if wrapped is not NotImplemented:
            return wrapped
        meshed = meshes.made(player, name, given, call, scope)
        if meshed is not NotImplemented:
            return meshed
        if name.startswith("torch.distributed.algorithms.model_averaging."):
            player.stage.kept[GRADIENTS_BY_HAND] = True  # the library averages the weights instead
        if name.startswith(communication.PREFIXES):
            if last in _GROUPS and name.count(".") == 2:
                lives.used(player, last, UNKNOWN if given.open else given.get("group", 0), call, scope)
                return communication.about_groups(player, name, given)
            if last == "batch_isend_irecv":
                return communication.batch(player, given, call, scope)
            if last == "is_initialized":
                return self._is_started(player)
            if last == "P2POp":
                return Made("torch.distributed.P2POp()", call, given)
            return NotImplemented
        recorded = recording.made(player, name, given, call)
        if recorded is not NotImplemented:
            return recorded
        if name in overflows.CONTEXTS:
            return overflows.Autocast(name, call, given)
        if name.startswith(distributions.PREFIX):
            return distributions.made(name, given, call)
        if name.startswith(data.PREFIX):
            return data.made(player, name[len(data.PREFIX) :], given, call, scope)
        again = reentrant.made(player, name, given, call, scope)
        if again is not NotImplemented:
            return again
        if name in _SPAWN:
            return starts.spawned(player, given, call, scope)
        if name in _PROCESS:
            return starts.process_made(player, given, call, scope)
        if name in _SEEDS:
            player.stage.seed = seeded(player, given.get("seed", 0, UNKNOWN), call, scope)
            player.stage.random = 0
            return UNKNOWN
        several = foreach.made(player, name, given, call, scope)
        if several is not NotImplemented:
            return several
        if name.startswith(_NN):
            return recording.computed(
                player, self._of_modules(player, name[len(_NN) :], given, call, scope), *given.values()
            )
        if name == takes.NAME:
            return takes.taken(player, given, call, scope)
        if name == averages.NAME:
            return averages.averaged(given, call)
        made = optimizers.made(player, name, given, call, scope)
        if made is not NotImplemented:
            return made
        if name == "torch._utils._flatten_dense_tensors":
            return parts.joined(player, "flat", given, span)
        if name == "torch.Generator":
            return Generator(name, call, given, "the default seed")
        if name == "torch.compile":
            return given.get("model", 0, UNKNOWN)
        if last in parts.CUTTING:
            parts.refuses(player, given, call, scope)
        if last in parts.JOINING and given.positional and call.args:
            used(player.stage, given.positional[0], call.args[0], scope)
        if last in TYPED and name == f"torch.cuda.{last}":
            return making.created(player, last, given, span)
        if name.count(".") != 1:
            return NotImplemented
        return recording.created(player, self._plain(player, name, last, given, span), given)

    @staticmethod
    def _is_started(player: Any) -> Any:
        if lives.now(player.stage) in (lives.NONE, lives.ENDED):
            return False
        return True if player.stage.initialized or player.stage.alone else UNKNOWN

    def constant(self, player: Any, name: str) -> Any:
        """What a type of tensors says of itself (``dtype.is_floating_point``)."""
        return shapes.kind_said(name)

    def told(self, player: Any, name: str, call: ir.Call, scope: Any) -> Any:
        """What tells a process its place is asked for."""
        if not name.startswith(communication.PREFIXES):
            return NotImplemented
        last = name.rpartition(".")[2]
        if last == "is_initialized" and lives.now(player.stage) in (lives.NONE, lives.ENDED):
            return False
        if last in ("get_rank", "get_world_size"):
            lives.used(player, last, None, call, scope)
        return NotImplemented

    def drawn(self, name: str, given: Given, value: Any, span: Span) -> Any:
        """What numpy's generators of random numbers give."""
        return arrays.drawn(name, given, value, span) if name.startswith(arrays.PREFIX) else NotImplemented

    def harmless(self, name: str) -> bool:
        """Whether a function that is not followed certainly leaves groups of processes alone."""
        return lives.harmless(name)

    def _of_modules(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        span = ir.unpack(call.at, scope.file)
        if name.startswith("functional."):
            return self._functional(player, name.rpartition(".")[2], given, span)
        if name.startswith("utils.") and "clip_grad_" in name:
            clipped = given.get("parameters", 0)
            left = partly.left(player, clipped)
            scaling.used(player, name.rpartition(".")[2], clipped, call, scope, left)
            under_way.read(player, given.get("parameters", 0, UNKNOWN), span)
        if name.startswith("utils.") and "clip_grad_norm" in name:
            return foreach.clipped(player, given, span)
        if name == "utils.rnn.pad_sequence":
            return collating.padded_rows(player, given, span)
        if name == "utils.parameters_to_vector":
            return fresh(name, None, "", list(given.values()), span)
        if name == "utils.vector_to_parameters":
            writing.written(player.stage)
            takes.filled(player, given, span)
        if name.startswith("init."):
            if name.rpartition(".")[2] in redrawn.DRAWING and given.get("generator", None, None) is None:
                redrawn.filled(player, given.get("tensor", 0), span)
            return given.get("tensor", 0, UNKNOWN)
        if name[:1].isupper() and "." not in name:
            return modules.layer(player, name, given, call, scope)
        return tables.made(player, name, given, call, scope)

    def _plain(self, player: Any, name: str, last: str, given: Given, span: Span) -> Any:
        made = making.created(player, last, given, span)
        if made is not NotImplemented:
            return made
        if last in parts.JOINING:
            return parts.joined(player, last, given, span)
        first = given.get("input", 0, None)
        if isinstance(first, Tensor):
            for value in given.values():
                player.stage.use(value, span)
            return tensors.computed(player, last, first, given, 1, span)
        if last in COUNTS and isinstance(first, Opaque | Made) and first.source is not None:
            # what nothing is known of but whose it is: a tensor, or the call would fail
            own = Tensor(None, "", None, first.sign, first.source)
            return tensors.computed(player, last, own, given, 1, span)
        if last == "Size" and given.positional:
            items = player.items_of(given.positional[0])
            return tuple(items) if items is not None else UNKNOWN
        if last == "device":
            return derived("device", given.values())
        for value in given.values():
            player.stage.use(value, span)
        return NotImplemented

    def _functional(self, player: Any, last: str, given: Given, span: Span) -> Any:
        for value in given.values():
            player.stage.use(value, span)
        beside.used_alone(player, given.values(), span)
        first = given.get("input", 0, None)
        if last in tensors.LOSSES:
            shape = () if given.get("reduction", None, "mean") in ("mean", "sum") else None
            made = fresh(last, shape, first.dtype if isinstance(first, Tensor) else "", list(given.values()), span)
            made.copied, made.pointed = False, True
            return shapes.figured(made)
        if isinstance(first, Tensor):
            found = tensors.computed(player, last, first, given, 1, span)
            if found is not NotImplemented:
                return found
        return shapes.figured(fresh(last, None, "", list(given.values()), span))

    def method(self, player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a method gives; ``NotImplemented`` where that is not known."""
        span = ir.unpack(call.at, scope.file)
        if name == "set_epoch":
            epochs.unseen(player.stage)
        if name in visible.MOVING and isinstance(receiver, Tensor | Opaque):
            visible.chosen(player, given, call, scope)
        if isinstance(receiver, Promise):
            return futures.method(player, receiver, name, given, call, scope)
        if isinstance(receiver, Work):
            return communication.work_method(player, receiver, name, span)
        if isinstance(receiver, Array):
            found = arrays.method(player, receiver, name, given)
            if found is not NotImplemented:
                return found
            return derived(name, [receiver, *given.values()])
        if isinstance(receiver, Group):
            return communication.group_method(player, receiver, name, call, scope)
        if isinstance(receiver, Tensor):
            if name in parts.CUTTING:
                parts.refuses(player, given, call, scope)
            if name == "backward":
                player.stage.use(receiver, span)
                return wrappers.backward(player, receiver, call, scope)
            if name in redrawn.DRAWING and given.get("generator", None, None) is None:
                redrawn.filled(player, receiver, span)
            if name == "requires_grad_" and isinstance(receiver, Weight):
                modules.trained(player, receiver, given.get("requires_grad", 0, True), span)
            if name.endswith("_"):
                empty.filled(player, receiver)
                pieces.joined(player, receiver, name, given.values(), call, scope)
            if name.endswith("_") and isinstance(receiver.whole, Weight):
                copies.changed(player, receiver, span, scope)
                if name == "copy_" and source_of(given.values()) is None:
                    copies.replaced(receiver)
            if name in hooks.HOOKS:
                return hooks.hooked(player, receiver, name, given)
            if name == "to_local":
                return shares.local(player, receiver, call, scope)
            if name == "full_tensor" or (name == "redistribute" and receiver.whole.sharded):
                return wrappers.gathered_whole(player, receiver, call, scope)
            found = tensors.tensor_method(player, receiver, name, given, span)
            if found is NotImplemented:
                found = fresh(name, None, "", [receiver, *given.values()], span)
            return recording.computed(player, found, receiver, *given.values())
        if name in ("log", "log_dict") and lightning.is_lightning(player, receiver):
            return lightning.logged(player, given, call, scope)
        if name == "forward" and sequences.sequence_of(player, receiver) is not None:
            return player.apply(sequences.sequence_of(player, receiver), given, call, scope)
        if name == "set_requires_gradient_sync":
            accumulated.told(player, receiver, given, span)
        if modules.is_module(player, receiver):
            older_methods.asked(player, receiver, name, call, scope)
            takes.asked(player, receiver, name)
            return modules.module_method(player, receiver, name, given, call, scope)
        if isinstance(receiver, Made) and name == "manual_seed":
            return receiver
        return functions.applied(player, receiver, given, call, scope) if name == "apply" else NotImplemented

    def called_object(self, player: Any, callee: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What calling an object gives: that of a module of layers is a tensor."""
        if isinstance(callee, Made) and callee.name.startswith("torch.nn."):
            return shapes.figured(fresh("call", None, "", list(given.values()), ir.unpack(call.at, scope.file)))
        return NotImplemented


MODELS = Torch()

__all__ = ["MODELS", "Items", "Library", "Nothing"]
