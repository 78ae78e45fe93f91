"""Models of transformers in the rehearsal of a program: modules whose parts are known by the names that a program uses.

Source: transformers 5.23.0, ``modeling_utils.py`` (``PreTrainedModel``), ``models/auto/auto_factory.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from distlint.frameworks.torch import rehearsed_copies as copies
from distlint.frameworks.torch import rehearsed_modes as modes
from distlint.frameworks.torch import rehearsed_needs as needs
from distlint.frameworks.torch import rehearsed_sharding as sharding
from distlint.frameworks.torch import rehearsed_thawed as thawed
from distlint.frameworks.torch.rehearsed_modules import Layer
from distlint.frameworks.torch.rehearsed_outputs import Output
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, combined, source_of

_PACKAGE = "transformers."
_MAKERS = ("from_pretrained", "from_config", "_from_config")
_MODEL = re.compile(r"(?!DataCollator|TF|Flax)[A-Z]\w*(?:Model|For[A-Z][A-Za-z]+)")
_KIND = "PreTrainedModel"
_GIVING_PARTS = ("get_input_embeddings", "get_output_embeddings", "get_encoder", "get_decoder", "get_base_model")
_LISTING = ("modules", "named_modules", "children", "named_children", "get_submodule")
_NO_PARTS_NAMES = """
config device dtype num_labels name_or_path loss_type main_input_name base_model_prefix hf_device_map framework model_parallel
dummy_inputs warnings_issued quantization_method peft_config tp_plan pp_plan tp_size keep_in_fp32_modules forward dump_patches
add_module apply bfloat16 buffers children compile cpu cuda double eval extra_repr float generate half ipu load_state_dict modules
mtia named_buffers named_children named_modules named_parameters parameters requires_grad_ share_memory state_dict to to_empty
train type xpu zero_grad post_init retrieve_modules_from_names dequantize print_trainable_parameters merge_and_unload unload
"""
_NO_PARTS = frozenset(_NO_PARTS_NAMES.split())
"""Attributes that are no modules: settings, and methods that every module has."""
_METHOD_NAMES = """
get_ set_ add_ is_ can_ has_ supports_ num_ use_ enable_ disable_ load_ save_ init_ initialize_ prepare_ push_ tie_ resize_
register_ gradient_ activation_ generation_ generate_ compute_ from_ loss_function delete_ active_ heal_ mark_ maybe_ adjust_
reset_ freeze unfreeze
"""
_METHODS = tuple(_METHOD_NAMES.split())
"""What other attributes that are no modules begin with: mostly methods."""
_MOST_PARTS = 200


class Pretrained(Layer):
    """A model of the library, or a part of one. A part comes into being when the program names it, and is then what the whole was."""

    __slots__ = ("numbered",)

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(_KIND, call, given)
        self.name = name
        self.children: list[Any] = []
        self.names: list[str] = []
        self.numbered = False
        """Whether it is one of a row, or some of them: others may be the same ones."""

    @property
    def has_parameters(self) -> bool:
        """A model has some, and so has what a program takes out of it by name."""
        return True

    def own_weights(self) -> None:
        """Which ones is not known."""
        return

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """A part of it, unless it is known to be something else."""
        if name in ("weight", "bias"):
            return super().attribute(player, name, expr, scope)
        if name == "training":
            return modes.mode_of(player, self)
        if name.startswith(("_", *_METHODS)) or name in _NO_PARTS or not name.islower():
            return NotImplemented
        return self.named(player, name)

    def named(self, player: Any, name: str, *, numbered: bool = False) -> Any:
        """The part of a name."""
        if name in self.names:
            return self.children[self.names.index(name)]
        if len(self.children) >= _MOST_PARTS:
            return UNKNOWN
        assert self.call is not None  # noqa: S101 - made by a call
        found = Pretrained(f"{self.name}.{name}", self.call, Given([], {}, is_open=True))
        found.file, found.function, found.numbered = self.file, self.function, numbered
        found.place = (*self.place[:1], (*self.place[1:2], name), *self.place[2:])
        found.sign, found.source = None if self.sign is None else combined(name, [self]), self.source
        found.synced, found.sharded, found.manager = self.synced, self.sharded, self.manager
        found.training = self.training
        alike = not numbered or not any(one.numbered for one in self.children)
        self.children.append(found)
        self.names.append(name)
        needs.parted(player, self, found)
        thawed.parted(player, self, found, alike=alike)
        modes.parted(player, self, found)
        return found

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What every module has; which modules are in it is not known."""
        if name in _GIVING_PARTS:
            return self.named(player, name)
        if name == "get_submodule":
            return self._below(player, given.get("target", 0, UNKNOWN))
        if name in _LISTING:
            return NotImplemented
        return super().method(player, name, given, call, scope)

    def _below(self, player: Any, path: Any) -> Any:
        found: Any = self
        for name in path.split(".") if isinstance(path, str) and path else ():
            found = found.named(player, name, numbered=name.isdecimal()) if isinstance(found, Pretrained) else UNKNOWN
        return found if isinstance(path, str) else UNKNOWN

    def items(self, player: Any) -> list[Any] | None:
        """Of a row of modules it is not known how many there are."""
        return None

    def item(self, player: Any) -> Any:
        """One of a row of modules: what is said of it is said of each."""
        return self

    def length(self, player: Any) -> Any:
        """As many everywhere."""
        return Opaque(("number of parts", self.place))

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """One of a row of modules, or some of them."""
        bounds = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
        if not all(one is None or type(one) is int for one in bounds):
            return UNKNOWN
        if isinstance(index, slice) and bounds == (None, None, None):
            return self
        return self.named(player, ":".join("" if one is None else str(one) for one in bounds), numbered=True)

    def put(self, player: Any, index: Any, value: Any) -> None:
        """A module takes the place of another, which is not known."""

    def copied(self, duplicated: Callable[[Any], Any]) -> Layer:
        """A copy with weights of its own."""
        assert self.call is not None  # noqa: S101 - made by a call
        found = Pretrained(self.name, self.call, self.arguments or Given([], {}, is_open=True))
        self.copies += 1
        found.place = (*self.place, self.copies)
        found.file, found.function, found.names, found.training = self.file, self.function, [*self.names], self.training
        found.sign, found.source, found.stored = self.sign, self.source, dict(self.stored)
        found.children = [duplicated(one) for one in self.children]
        return found

    def _passed(
        self, player: Any, given: Given, call: ir.Call, scope: Any, through: tuple[Any, ...], past: tuple[Any, ...]
    ) -> Any:
        """What comes out of it: a record with a loss, perhaps, and other tensors."""
        span = ir.unpack(call.at, scope.file)
        values = [self, *given.values(), *given.rest]
        sign = None if given.open and not given.rest else combined("output", values)
        sharding.during(player, through, lambda: None)
        found = Output(span, sign, source_of(values), (*through, *past))
        copies.computed(player, self, found, span)
        return found


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """A model that a class, or one of its makers, gives; ``NotImplemented`` for other functions."""
    parts = name.removeprefix(_PACKAGE).split(".")
    if not name.startswith(_PACKAGE) or len(parts) > 2 or (len(parts) == 2 and parts[1] not in _MAKERS):
        return NotImplemented
    if _MODEL.fullmatch(parts[0]) is None:
        return NotImplemented
    found = Pretrained(f"{name}()", call, given)
    found.file, found.function = scope.file, scope.function
    found.place = (scope.file, call.at, player.stage.chain)
    found.source = source_of(given.values())
    return found
