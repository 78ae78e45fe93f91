"""How many processes hold a copy of a model, and what follows from that for the batch.

As ``validate_args`` (``megatron/training/arguments.py``) and ``initialize_model_parallel``
(``megatron/core/parallel_state.py``) compute it, from core 0.4 to 0.19, and Megatron-DeepSpeed's ``validate_args``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod

from distlint.frameworks.megatron.settings import PARALLEL_SIZES, UNCOUNTED, default
from distlint.model.record import dataclass
from distlint.model.subject import Setting, Versions
from distlint.model.value import State, Value, absent, known, one_of, unknown

PACKAGE = "megatron-core"
TENSOR, PIPELINE = "tensor_model_parallel_size", "pipeline_model_parallel_size"
_ENCODER = ("encoder_tensor_model_parallel_size", "encoder_pipeline_model_parallel_size")
_MAX_COMBINATIONS = 64


@dataclass(frozen=True, slots=True)
class Given:
    """The settings of one run as the derived names need them.

    ``taken`` holds values that the framework makes of others before anything uses them. ``deepspeed`` says that it is
    Megatron-DeepSpeed, which has no releases of its own and counts as an old one; ``yaml`` that a file of its own says them all
    (``validate_yaml``, which lowers sizes in every release).
    """

    settings: Mapping[str, Setting]
    open: bool = False
    versions: Versions | None = None
    deepspeed: bool = False
    taken: Mapping[str, Value] | None = None
    default: Callable[[str], Value] = default
    yaml: bool = False

    def read(self, path: str) -> Value:
        """The value of a setting, its default or absent; unknown where it may be set out of our sight."""
        setting = self.settings.get(path)
        if setting is None or setting.value.is_absent:
            return unknown(f"`{path}` may be set where we can't see") if self.open else self.default(path)
        if not setting.certain:
            return unknown("set on some paths only", setting.key_span)
        if self.taken is not None and path in self.taken:
            return self.taken[path].at(setting.key_span)
        return setting.value.at(setting.key_span)

    def release(self, specifier: str) -> bool:
        """Whether Megatron Core is of such a release; never for Megatron-DeepSpeed."""
        if self.versions is None or self.deepspeed:
            return False
        answer = self.versions.test(PACKAGE, specifier)
        return _contains(specifier, self.versions.newest(PACKAGE)) if answer is None else answer

    @property
    def shrinks(self) -> bool:
        """Whether sizes that are larger than the number of processes are made smaller."""
        return self.deepspeed or self.yaml or self.release("<0.9")


def _contains(specifier: str, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return bool(version) and SpecifierSet(specifier).contains(version, prereleases=True)


def computed(function: Callable[..., object], *values: Value) -> Value:
    """What a function makes of several values: unknown where one of them is, or where it raises ``ValueError``.

    An absent value is handed over as ``None``, and a ``None`` that comes back means absent.
    """
    spans = tuple(dict.fromkeys(span for value in values for span in value.spans[:1]))
    sets: list[tuple[object, ...]] = []
    for value in values:
        if value.is_absent:
            sets.append((None,))
        elif value.state in (State.KNOWN, State.ONE_OF):
            sets.append(value.options)
        else:
            return unknown(value.reason or "is not given", *spans)
    if prod(map(len, sets)) > _MAX_COMBINATIONS:
        return unknown("too many possibilities", *spans)
    try:
        results = [function(*one) for one in product(*sets)]
    except (ArithmeticError, TypeError, ValueError) as error:
        return unknown(str(error), *spans)
    if None in results:
        return absent() if all(result is None for result in results) else unknown("may be off", *spans)
    return one_of(results, spans, min((value.confidence for value in values), default=known(0).confidence))


def size(number: object) -> int:
    """A positive whole number; raises ``ValueError`` for everything else."""
    if type(number) is not int or number <= 0:
        raise ValueError("is no positive number")
    return number


def shrunk(given: Given, world: Value) -> dict[str, Value]:
    """Sizes that are lowered because there are too few processes, by path (before core 0.9, and Megatron-DeepSpeed)."""
    if not given.shrinks or not (world.is_known or world.state is State.ONE_OF):
        return {}
    tensor, pipeline = (_parallel_size(given, path) for path in (TENSOR, PIPELINE))
    lowered = {
        TENSOR: computed(lambda world, tensor: min(size(world), size(tensor)), world, tensor),
        PIPELINE: computed(
            lambda world, tensor, pipeline: min(size(pipeline), max(1, world // min(world, size(tensor)))),
            world,
            tensor,
            pipeline,
        ),
    }
    return {
        path: value
        for path, value in lowered.items()
        if value.is_known and path in given.settings and value.only != given.read(path).only
    }


def derived_names(given: Given, world_size: Value) -> dict[str, Value]:
    """The products of parallel sizes, and how many copies of the model the processes hold.

    Unknown where a size is, or where other settings change how processes are counted.
    """
    settings = given.settings
    uncounted = [settings[path] for path in UNCOUNTED if path in settings]
    names = ("model_parallel_product", "expert_parallel_product", "data_parallel_size", "decoder_world_size")
    if uncounted:
        return dict.fromkeys(names, unknown("the parallel layout is not known", uncounted[0].key_span))
    sizes = {path: _parallel_size(given, path) for path in PARALLEL_SIZES}
    decoder = _combined(list(sizes.values()), prod)
    whole = _combined([decoder, *_further(given, sizes)], sum)
    tensor = "expert_tensor_parallel_size" if "expert_tensor_parallel_size" in settings else TENSOR
    experts = (tensor, "expert_model_parallel_size", PIPELINE)
    data = _combined([world_size, whole], _copies)
    types = given.read("cp_comm_type")
    return {
        "hierarchical_product": computed(_product, given.read("hierarchical_context_parallel_sizes")),
        "cp_comm_types": computed(lambda types: None if types is None else len(_listed(types)), types),
        "model_parallel_product": whole,
        "expert_parallel_product": _combined([_parallel_size(given, path) for path in experts], prod),
        "data_parallel_size": data,
        "decoder_world_size": _combined([data, decoder], prod),
    }


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _product(sizes: object) -> int | None:
    return None if sizes is None else prod(size(number) for number in _listed(sizes))


def _further(given: Given, sizes: Mapping[str, Value]) -> list[Value]:
    """Processes of one copy beside those of the decoder: an encoder of its own, or a weight that is divided further."""
    if any(path in given.settings for path in _ENCODER):
        if not given.release(">=0.9,<0.14"):
            return [unknown("only core 0.9 to 0.13 has an encoder of its own")]
        written = [given.read(path) for path in _ENCODER]
        return [
            computed(
                lambda own, stages, tensor, context: (own or tensor) * (stages or 0) * context,
                *written,
                sizes[TENSOR],
                sizes["context_parallel_size"],
            )
        ]
    if "tensor_parallel_num_weight_shards" in given.settings and given.release(">=0.19"):
        shards = given.read("tensor_parallel_num_weight_shards")
        return [
            computed(
                lambda shards, *own: prod(own) * (shards // own[0] - 1) if shards % own[0] == 0 else size(None),
                shards,
                *sizes.values(),
            )
        ]
    return []


def _copies(sizes: Sequence[int]) -> int:
    world, needed = sizes
    if world % needed:
        raise ValueError("the processes do not hold a whole number of copies")
    return world // needed


def _parallel_size(given: Given, path: str) -> Value:
    # GPT-NeoX writes 0 where there is no pipeline.
    value = given.read(path)
    return value.map(lambda number: 1 if number == 0 else number) if path == PIPELINE else value


def _largest(value: Value) -> int:
    sizes = [option for option in value.options if type(option) is int]
    return max(sizes, default=0)


def _combined(values: list[Value], function: Callable[[Sequence[int]], int]) -> Value:
    """A number computed from several sizes; the largest one is named first: it is the likeliest to be wrong."""
    result = computed(lambda *numbers: function([_size_or_none(number) for number in numbers]), *values)
    ordered = sorted(values, key=_largest, reverse=True)
    spans = tuple(dict.fromkeys(span for value in ordered for span in value.spans[:1]))
    return result.at(*spans) if spans else result


def _size_or_none(number: object) -> int:
    # An encoder takes no processes of its own where it has no size.
    return 0 if number == 0 and type(number) is int else size(number)
