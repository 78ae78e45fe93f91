"""Modules and their parameters in the rehearsal of a program: layers, what comes out of them, their gradients.

A module is an object of a class of the project, a ``Layer`` of the library, or a ``Wrapped`` one (``rehearsed_wrappers``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from distlint.frameworks.torch import rehearsed_buffers as buffering
from distlint.frameworks.torch import rehearsed_chosen as chosen
from distlint.frameworks.torch import rehearsed_converted as converting
from distlint.frameworks.torch import rehearsed_copies as copies
from distlint.frameworks.torch import rehearsed_empty as empty
from distlint.frameworks.torch import rehearsed_frozen as freezing
from distlint.frameworks.torch import rehearsed_loads as loads
from distlint.frameworks.torch import rehearsed_modes as modes
from distlint.frameworks.torch import rehearsed_needs as needs
from distlint.frameworks.torch import rehearsed_overflows as overflows
from distlint.frameworks.torch import rehearsed_passes as passes
from distlint.frameworks.torch import rehearsed_plain as plain
from distlint.frameworks.torch import rehearsed_redrawn as redrawn
from distlint.frameworks.torch import rehearsed_sharding as sharding
from distlint.frameworks.torch import rehearsed_statistics as statistics
from distlint.frameworks.torch import rehearsed_thawed as thawed
from distlint.frameworks.torch import rehearsed_unheard as unheard
from distlint.frameworks.torch import rehearsed_visible as visible
from distlint.frameworks.torch import rehearsed_written as writing
from distlint.frameworks.torch.rehearsed_layers import SAME_SHAPES, out_shape, parameter_shapes, with_more
from distlint.frameworks.torch.rehearsed_members import Members, all_modules, members, replaced, submodule
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_one_of import one_of
from distlint.frameworks.torch.rehearsed_outputs import IN_PLACE, came_out, note, passed
from distlint.frameworks.torch.rehearsed_recording import computed
from distlint.frameworks.torch.rehearsed_shapes import figured, fresh
from distlint.frameworks.torch.rehearsed_weights import Stated, Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.names import families_differ, not_found
from distlint.rehearsal.notes import LEFT_ON_RANK
from distlint.rehearsal.unknowns import UNKNOWN, Named, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing, combined, is_known, source_of

LIGHTNING = frozenset(
    f"{package}.LightningModule" for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
)
SEQUENCES = frozenset({"torch.nn.Sequential", "torch.nn.modules.container.Sequential", "torch.nn.modules.Sequential"})
MODULES = (
    frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "torch.nn.modules.Module"}) | LIGHTNING | SEQUENCES
)
_CHAINED_NAMES = """
to cuda cpu half float double bfloat16 train eval requires_grad_ apply type share_memory xpu compile to_empty
gradient_checkpointing_enable
"""
_CHAINED = frozenset(_CHAINED_NAMES.split())
_OTHER_NAMES = """
parameters named_parameters buffers named_buffers modules named_modules children named_children state_dict load_state_dict zero_grad
register_buffer register_parameter add_module register_forward_hook register_forward_pre_hook register_full_backward_hook get_parameter
get_submodule save_pretrained generate config unshard set_reshard_after_backward set_reshard_after_forward set_requires_gradient_sync
set_is_last_backward
"""
_METHODS = _CHAINED | frozenset(_OTHER_NAMES.split())
_WITH_PARAMETERS = (
    "Linear",
    "Bilinear",
    "Conv",
    "Embedding",
    "LSTM",
    "GRU",
    "LayerNorm",
    "Transformer",
    "MultiheadAttention",
)
_STATE = "state"
BARE, WRAPPED = "names of parameters", "names of parameters of the wrapped model"
MAX_WEIGHTS = 96
"""Parameters of a model that are known one by one."""
MAX_PARTS = 200
"""Parts of a model that are looked at."""


class Layer(Made):
    """A module of the library. ``synced`` and ``sharded`` are as a parameter has them."""

    __slots__ = ("children", "copies", "kind", "manager", "names", "place", "sharded", "synced", "training")

    def __init__(self, kind: str, call: ir.Call, given: Given) -> None:
        super().__init__(f"torch.nn.{kind}()", call, given)
        self.kind = kind
        self.children: list[Any] | None = None
        self.synced = False
        self.sharded = False
        self.training = True
        self.names: list[str] | None = None
        """The names of its children, where they are no numbers."""
        self.manager: Any = None
        """The call that sharded its parameters in place."""
        self.place: tuple[Any, ...] = ()
        """What tells it from others: where it was made, on which way, and which copy of it this is; the same on all processes."""
        self.copies = 0

    def copied(self, duplicated: Callable[[Any], Any]) -> Layer:
        """A copy with weights of its own."""
        assert self.call is not None  # noqa: S101 - layers are made by calls
        found = Layer(
            self.kind, self.call, self.arguments if self.arguments is not None else Given([], {}, is_open=True)
        )
        if self.arguments is None:
            found.arguments = None
        self.copies += 1
        found.place = (*self.place, self.copies)
        found.file, found.function, found.names, found.training = self.file, self.function, self.names, self.training
        found.sign, found.source, found.stored = self.sign, self.source, dict(self.stored)
        found.sharded = self.sharded
        found.children = None if self.children is None else [duplicated(one) for one in self.children]
        return found

    @property
    def has_parameters(self) -> bool:
        """Whether a layer certainly has parameters of its own."""
        return self.kind.startswith(_WITH_PARAMETERS)

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """Its parameters, and what it was made of."""
        if name in ("weight", "bias"):
            passes.read(player, [self])
            return self.weight(name)
        if name in statistics.BUFFERS:
            statistics.evened(player)
        known = {"Linear": ("in_features", "out_features"), "Embedding": ("num_embeddings", "embedding_dim")}
        names = known.get(self.kind, ())
        if name in names and self.arguments is not None:
            return self.arguments.get(name, names.index(name), UNKNOWN)
        return NotImplemented

    def weight(self, name: str) -> Weight:
        """A parameter."""
        known = parameter_shapes(self.kind, self.arguments) if self.arguments is not None else None
        found = Weight((known or {}).get(name), None, combined(name, [self]), self.source)
        found.synced, found.sharded = self.synced, self.sharded
        found.owners, found.name = [self], name
        return found

    def own_weights(self) -> list[tuple[str, Weight]] | None:
        """Its parameters without those of layers in it, with their names; ``None`` where they are not known."""
        if self.stored or self.arguments is None:
            return None  # tied to another's, perhaps
        if self.kind in ("Sequential", "ModuleList", "ModuleDict"):
            return None if self.children is None else []
        names = parameter_shapes(self.kind, self.arguments)
        return None if names is None else [(name, self.weight(name)) for name in names]

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What every module has."""
        if name == "forward":
            return self.called(player, given, call, scope)
        if self.kind == "ModuleDict" and self.children is not None and name in ("keys", "values", "items"):
            names = self.names or []
            rows = {"keys": names, "values": self.children, "items": list(zip(names, self.children, strict=False))}
            return Items(list(rows[name]))
        if self.children is not None and name in ("append", "extend"):
            self.children += [given.get("module", 0)] if name == "append" else player.items_of(given.get("", 0)) or []
            return self
        return module_method(player, self, name, given, call, scope)

    def items(self, player: Any) -> list[Any] | None:
        """The modules of a list of them."""
        return self.children

    def length(self, player: Any) -> Any:
        """How many there are."""
        return len(self.children) if self.children is not None else UNKNOWN

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """One of them."""
        if self.children is not None and isinstance(index, int) and -len(self.children) <= index < len(self.children):
            passes.names_one(player, self.children)
            return self.children[index]
        if self.children is not None and isinstance(index, slice) and self.arguments is not None:
            return self._cut(index)
        if self.children is not None and index in (self.names or ()):
            passes.names_one(player, self.children)
            return self.children[(self.names or []).index(index)]
        chosen.picked(player, self.children, index)
        return one_of(player, self.children, index)

    def put(self, player: Any, index: Any, value: Any) -> None:
        """A module takes the place of another; which one may not be known."""
        self.children = replaced(self.children, index, value, sure=not player.stage.unsure)
        super().put(player, index, value)

    def _cut(self, index: slice) -> Any:
        """Some of its modules, in one of the same kind."""
        bounds = (index.start, index.stop, index.step)
        if self.call is None or not all(one is None or isinstance(one, int) for one in bounds) or index.step == 0:
            return UNKNOWN
        found = Layer(self.kind, self.call, Given([], {}))
        found.children = (self.children or [])[index]
        found.sign, found.training = combined(self.kind, found.children), self.training
        return found

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What comes out of it."""
        span = ir.unpack(call.at, scope.file)
        for value in given.values():
            player.stage.use(value, span)
        chosen.used(player, self)
        passes.used(player, [self], span)
        passes.computed(player, [self], span)
        copies.used(player, self, span)
        sharding.used(player, self, call, scope)
        through = passed(player, self, given, call, scope)
        return passes.past(player, self, span, lambda past: self._passed(player, given, call, scope, through, past))

    def _passed(
        self, player: Any, given: Given, call: ir.Call, scope: Any, through: tuple[Any, ...], past: tuple[Any, ...]
    ) -> Any:
        """What comes out of it, and leads back to wrappers."""
        span = ir.unpack(call.at, scope.file)
        if self.kind == "Sequential" and self.children is not None:
            value = sharding.during(player, through, lambda: self._in_turn(player, given, call, scope))
            return came_out(player, value, (*through, *past), given, span)
        sharding.during(player, through, lambda: None)
        if self.kind == "SyncBatchNorm" and self.training:
            note(player, "SyncBatchNorm", call, scope)
        found = self._out(player, given, span)
        statistics.passed(player, self, given.values(), found)
        overflows.typed(player, self.kind, found)
        copies.computed(player, self, found, span)
        return came_out(
            player, computed(player, with_more(self.kind, self.arguments, found)), (*through, *past), given, span
        )

    def _in_turn(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        value = given.positional[0] if given.positional else UNKNOWN
        for child in self.children or ():
            value = player.apply(child, Given([value], {}), call, scope)
        return value

    def _out(self, player: Any, given: Given, span: Span) -> Tensor:
        first = given.positional[0] if given.positional else UNKNOWN
        shape: Any = None
        if isinstance(first, Tensor) and first.shape is not None and self.arguments is not None:
            shape = out_shape(self.kind, self.arguments, first.shape)
        if self.kind.endswith("Loss") and self.arguments is not None:
            shape = () if self.arguments.get("reduction", None, "mean") in ("mean", "sum") else None
        made = fresh(self.kind, shape, "float32" if isinstance(first, Tensor) else "", [self, *given.values()], span)
        made.gradient, made.pointed = not self._passes_none(player, given), True
        figured(made)
        return made

    def _passes_none(self, player: Any, given: Given) -> bool:
        """Whether what comes out certainly needs no gradient: neither does what goes in, nor any parameter."""
        values = given.values()
        if given.open or not all(is_known(one) or (isinstance(one, Tensor) and needs.has_none(one)) for one in values):
            return False
        return needs.all_frozen(player, self, self.own_weights())


class Parameters(Made):
    """The parameters of a module, one after the other; one stands for all where they are not known one by one."""

    __slots__ = ("asked", "family", "module", "named", "what")
    lazy = True

    def __init__(self, what: str, module: Any, *, named: bool, asked: Span | None = None) -> None:
        super().__init__(f"parameters of {what}")
        self.asked = asked
        self.module = module
        self.named = named
        self.what = what
        self.family = "" if hasattr(module, "attributes") and "module" in module.attributes else BARE
        """That of the names (``values.Named``)."""
        self.sign = combined(what, [signed(module)])
        self.source = None

    def item(self, player: Any) -> Any:
        """One of them, with its name where they are named; of a state its name."""
        passes.read(player, list(parts_of_model(self.module)))
        return Named(self.family) if self.what == _STATE else self._one(player)

    def items(self, player: Any) -> list[Any] | None:
        """All of them, where they are known and few."""
        if self.what != "parameters":
            return None
        passes.read(player, list(parts_of_model(self.module)))
        found = named_weights(player, self.module)
        if found is None or len(found) > MAX_WEIGHTS:
            return None
        for _, one in found:
            one.taken = None if player.stage.ahead else self.asked
        if not self.named:
            return [one for _, one in found]
        return [(Named(self.family, place, name), one) for place, (name, one) in enumerate(found)]

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """``state[name]``."""
        return self._one(player) if self.what == _STATE else NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """A state is a dictionary."""
        if self.what == _STATE and name == "get" and given.positional and families_differ(self, given.positional[0]):
            not_found(player.stage, self, call, scope)
            return given.get("default", 1, None)
        if self.what != _STATE or name not in ("keys", "values", "items"):
            return NotImplemented
        if name == "keys":
            return self
        buffering.told(player)
        found = Parameters(name, self.module, named=name == "items")
        found.family = self.family
        return found

    def _one(self, player: Any) -> Any:
        layers = list(parts_of_model(self.module))
        source = source_of(layers)
        kind = Stated if self.what == _STATE else Weight
        found = kind(None, None, combined("parameter", [self]), source)
        found.owners, found.began = layers, player.stage.steps
        found.taken = None if player.stage.ahead else self.asked
        found.synced = any(one.synced for one in layers)
        found.sharded = any(one.sharded for one in layers)
        return (Named(self.family), found) if self.named else found

    def length(self, player: Any) -> Any:
        """The same number everywhere."""
        return Opaque(("number of", self.what, self.sign))


def weights_of(player: Any, module: Any) -> list[Any] | None:
    """The parameters of a module, its own first; ``None`` where some may be unknown."""
    found = named_weights(player, module)
    return None if found is None else [one for _, one in found]


def named_weights(player: Any, module: Any, depth: int = 0) -> list[tuple[str, Any]] | None:
    """The parameters of a module with their names, its own first; ``None`` where some may be unknown."""
    if depth > 6:
        return None
    own: list[tuple[str, Any]] | None
    inner: list[tuple[str, Any]] = []
    if isinstance(module, Layer):
        own, children = module.own_weights(), list(module.children or ())
        names = module.names if module.names and len(module.names) == len(children) else map(str, range(len(children)))
        inner = list(zip(names, children, strict=True))
    elif isinstance(module, Thing) and not module.open and module.content is None and is_module(player, module):
        own = [(name, value) for name, value in module.attributes.items() if isinstance(value, Weight)]
        for name, value in module.attributes.items():
            if isinstance(value, Weight):
                continue
            if isinstance(value, Thing | Made):
                inner.append((name, value))
            elif not _is_plain(value):
                return None
    elif type(getattr(module, "inner", None)) in (Layer, Thing) and not getattr(module, "sharded", True):
        within = named_weights(player, module.inner, depth + 1)
        return None if within is None else [(f"module.{name}", one) for name, one in within]
    else:
        return [] if isinstance(module, Thing) and not is_module(player, module) else None
    if own is None:
        return None
    found = list(own)
    seen: set[int] = set()
    for prefix, child in inner:
        if id(child) in seen:
            continue
        seen.add(id(child))
        more = named_weights(player, child, depth + 1)
        if more is None:
            return None
        found += [(f"{prefix}.{name}", one) for name, one in more]
    return None if len({id(one) for _, one in found}) < len(found) else found


def _is_plain(value: Any) -> bool:
    """Whether a value certainly is no module and holds none."""
    if isinstance(value, Items):
        return value.items is not None and all(map(_is_plain, value.items))
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return is_known(value) or isinstance(value, Tensor)


def signed(module: Any) -> Opaque:
    """What tells a module's parameters."""
    layers = list(parts_of_model(module))
    return Opaque(combined("module", layers) if layers else None, source_of(layers))


def with_parts(module: Any) -> Iterator[Any]:
    """A module, and the layers and parameters in it."""
    yield module
    yield from parts_of_model(module)


def parts_of_model(module: Any, depth: int = 0) -> Iterator[Layer | Weight]:
    """The layers and parameters in a module."""
    if depth > 6:
        return
    if isinstance(module, Weight):
        yield module
    elif isinstance(module, Layer):
        yield module
        for child in (module.children or ())[:MAX_PARTS]:
            yield from parts_of_model(child, depth + 1)
    elif isinstance(module, Thing):
        for value in list(module.attributes.values())[:MAX_PARTS]:
            yield from parts_of_model(value, depth + 1)
    elif isinstance(module, Items):
        for value in (module.items or ())[:MAX_PARTS]:
            yield from parts_of_model(value, depth + 1)
    elif isinstance(module, Made):
        yield from parts_of_model(getattr(module, "inner", None), depth + 1)


def is_module(player: Any, value: Any) -> bool:
    """Whether a value is certainly a module."""
    if isinstance(value, Thing):
        return bool(player.stage.project.modules.external_bases(value.cls) & MODULES)
    return isinstance(value, Layer)


def layer(player: Any, kind: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """``torch.nn.Kind(...)``."""
    span = ir.unpack(call.at, scope.file)
    if kind in ("Parameter", "Buffer"):
        data = given.get("data", 0, UNKNOWN)
        own = data if isinstance(data, Tensor) else Tensor(None, "float32", None)
        made = Weight(own.shape, span, own.sign, own.source)
        made.dtype = own.dtype
        if kind == "Parameter" and given.get("requires_grad", 1, True) is not True:
            trained(player, made, given.get("requires_grad", 1, True), span)
        return made if kind == "Parameter" or own is not data else data
    found = Layer(kind, call, given)
    found.file, found.function = scope.file, scope.function
    found.place = (scope.file, call.at, player.stage.chain)
    if kind == "Sequential":
        found.children = list(given.positional) if not given.open else None
    elif kind == "ModuleList":
        found.children = player.items_of(given.get("modules", 0, Items([])))
    elif kind == "ModuleDict":
        table = given.get("modules", 0, None)
        known = isinstance(table, Table) and not table.open
        found.children = list(table.items.values()) if known else None
        found.names = [str(name) for name in table.items] if known else None
    if kind in ("Sequential", "ModuleList", "ModuleDict"):
        found.sign = combined(kind, found.children or ())
    elif kind.startswith(SAME_SHAPES) or kind.endswith("Loss"):
        found.sign = combined(kind, given.values())
    else:
        sign, source = player.stage.drawn(span, kind)
        found.sign, found.source = (None if sign is None else hash((kind, sign))), source
    return found


def module_method(player: Any, module: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a method gives that every module has; ``NotImplemented`` for others."""
    empty.asked(player, name)
    if name.startswith("register_forward"):
        unheard.hooked(player)
    if name in visible.MOVING:
        visible.chosen(player, given, call, scope)
    if name in _CHAINED:
        converting.converted(player, parts_of_model(module), name, given, call, scope)
        if name == "to_empty":
            empty.emptied(player, module, call, scope)
        if name == "requires_grad_":
            trained(player, module, given.get("requires_grad", 0, True), ir.unpack(call.at, scope.file))
        if name in ("train", "eval"):
            modes.told(player, module, given.get("mode", 0, True) if name == "train" else False)
        if name == "apply" and given.positional and not isinstance(given.positional[0], Opaque):
            for part in all_modules(module):
                player.apply(given.positional[0], Given([part], {}), call, scope)
        return module
    if name == "reset_parameters" and isinstance(module, Layer):
        redrawn.of_layers(player, [module], ir.unpack(call.at, scope.file))
        return None
    if name in ("modules", "named_modules", "children", "named_children") and not given.values():
        listed = members(module, "", deep="modules" in name)
        statistics.evened(player)
        if listed is not None:
            return Members(listed if name.startswith("named") else [one for _, one in listed])
    if name == "get_submodule" and isinstance(given.get("target", 0), str):
        return submodule(module, given.get("target", 0)) or UNKNOWN
    if name in ("unshard", "set_reshard_after_backward", "set_reshard_after_forward"):
        wrapper = player.stage.kept.get(IN_PLACE, {}).get(id(module))
        if wrapper is not None:
            wrapper.inside += 1  # the program says itself when parameters are whole
        return UNKNOWN
    if name == "zero_grad":
        player.stage.kept.pop(LEFT_ON_RANK, None)
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        buffering.listed(player, name)
        asked = ir.unpack(call.at, scope.file)
        return Parameters(name.removeprefix("named_"), module, named=name.startswith("named_"), asked=asked)
    if name == "state_dict":
        return state_of(module)
    if name == "load_state_dict":
        state = given.get("state_dict", 0, UNKNOWN)
        _loaded(module, state)
        statistics.evened(player)
        copies.evened(player, parts_of_model(module))
        for part in parts_of_model(state.module) if isinstance(state, Parameters) else ():
            if isinstance(part, Layer):
                copies.used(player, part, ir.unpack(call.at, scope.file), trained=True)
        loads.loaded(player, module, call, scope)
        writing.written(player.stage)
        return UNKNOWN
    if name in ("register_buffer", "register_parameter", "add_module") and isinstance(module, Thing):
        key, value = given.get("name", 0), given.get("tensor", 1, UNKNOWN)
        if isinstance(key, str):
            player.put(module.attributes, key, value)
            if name == "register_buffer":
                plain.registered(player, module, given)
                empty.registered(player, module, given, ir.unpack(call.at, scope.file))
            if name == "register_buffer" and not isinstance(module.attributes.get("_buffers"), Table):
                player.put(module.attributes, "_buffers", Table(is_open=True))
        return None
    return None if name in ("zero_grad", "set_requires_gradient_sync") else NotImplemented


def trained(player: Any, what: Any, wanted: Any, span: Span) -> None:
    """Whether a module or parameter needs a gradient is set; where it is not known to what, it may not be trained."""
    if wanted is not True:
        frozen(player, what)
    if wanted is True and isinstance(what, Weight) and needs.needs_gradient(player, what) is True:
        thawed.as_before(player, span)
        return
    parts = what.owners if isinstance(what, Weight) else list(parts_of_model(what))
    needs.said(player, what, parts, wanted)
    if wanted is False:
        freezing.frozen(player, parts, span)
        thawed.frozen(player, parts, span)
    else:
        freezing.thawed(player, parts)
        thawed.trained(player, parts, span, certainly=wanted is True)


def frozen(player: Any, what: Any) -> None:
    """A module or parameter is not trained, at some time."""
    parts = [what, *what.owners] if isinstance(what, Weight) else list(parts_of_model(what))
    player.stage.kept.setdefault(FROZEN, {}).update((id(one), one) for one in parts)


def state_of(module: Any) -> Made:
    """``module.state_dict()``."""
    state = Parameters(_STATE, module, named=False)
    state.source = source_of(list(parts_of_model(module)))
    return state


def _loaded(module: Any, state: Any) -> None:
    """New parameters come from somewhere."""
    source = source_of([state])
    for position, part in enumerate(parts_of_model(module)):
        part.sign = combined("loaded", [state, position])
        part.source = source


def inherited(player: Any, thing: Thing, name: str) -> Any:
    """What a module of the project's own has from the library."""
    from distlint.rehearsal.entities import MethodOf

    if not is_module(player, thing):
        return NotImplemented
    if name == "training":
        return modes.mode_of(player, thing)
    return MethodOf(thing, name) if name in _METHODS else NotImplemented


def holds_buffers(module: Any, depth: int = 0) -> bool:
    """Whether a module certainly holds buffers."""
    if isinstance(module, Thing):
        values = list(module.attributes.values())[:MAX_PARTS]
        if isinstance(module.attributes.get("_buffers"), Table):
            return True
        return depth < 5 and any(holds_buffers(one, depth + 1) for one in values)
    if isinstance(module, Layer):
        if module.kind.startswith(("BatchNorm", "SyncBatchNorm")):
            return module.arguments is None or module.arguments.get("track_running_stats", 4, True) is True
        return any(holds_buffers(one, depth + 1) for one in module.children or ()) if depth < 5 else False
    inner = getattr(module, "inner", None)
    return inner is not None and depth < 5 and holds_buffers(inner, depth + 1)


def evened(player: Any, tensor: Tensor) -> None:
    """All processes have the same in a tensor now: in a parameter, and so in its model, or in a gradient."""
    whole = tensor.whole
    buffering.evened(player, tensor, of_state=isinstance(whole, Stated))
    if isinstance(whole, Weight):
        copies.evened(player, whole.owners)
        for position, part in enumerate(whole.owners):
            part.sign = None if whole.sign is None else hash(("evened", position, whole.sign))
            part.source = None
    # what is averaged between a backward pass and a step are gradients, however they are packed
    player.stage.kept["gradient"] = None
