"""How the layers of a model are divided among pipeline stages, and what is wrong with a written-out division.

As ``validate_args`` (``megatron/training/arguments.py``), ``TransformerConfig.__post_init__`` and
``PipelineParallelLayerLayout`` (``megatron/core/transformer/``) of core 0.8 to 0.19 compute it.
"""

from __future__ import annotations

import re

from distlint.frameworks.megatron.sizes import PIPELINE, Given, computed, size
from distlint.model.value import Value, absent, known

LAYOUT = "pipeline_model_parallel_layout"
PER_STAGE = "num_layers_per_virtual_pipeline_stage"
PER_RANK = "num_virtual_stages_per_pipeline_rank"
FIRST, LAST = "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"

_EMBEDDING, _LOSS, _DECODER, _MTP = "E", "L", "t", "m"
_NAMES = {"embedding": _EMBEDDING, "loss": _LOSS, "decoder": _DECODER, "mtp": _MTP, "encoder": "e"}
_REPEATED = (re.compile(r"\(([^)]+)\)\*([0-9]{1,4})"), re.compile(r"(.)\*([0-9]{1,4})"))
_MAX_LAYOUT = 20_000


def stage_names(given: Given, *, is_config: bool = False) -> dict[str, Value]:
    """The derived names about pipeline stages; ``is_config`` for a configuration object, which states virtual stages."""
    layers, stages = given.read("num_layers"), given.read(PIPELINE)
    if given.settings.get("num_layers") is None and "encoder_num_layers" in given.settings:
        layers = given.read("encoder_num_layers")
    split = computed(
        lambda layers, embedding, loss: size(layers) + bool(embedding) + bool(loss),
        layers,
        given.read("account_for_embedding_in_pipeline_split"),
        given.read("account_for_loss_in_pipeline_split"),
    )
    first, last = given.read(FIRST), given.read(LAST)
    layout = given.read(LAYOUT)
    pattern = given.read("hybrid_layer_pattern")
    return {
        "split_layers": split,
        "middle_layers": computed(
            lambda layers, first, last: size(layers) - (first or 0) - (last or 0), layers, first, last
        ),
        "middle_stages": computed(
            lambda stages, first, last: size(stages) - (first is not None) - (last is not None), stages, first, last
        ),
        "layout_stages": computed(_stage_count, layout),
        "layout_fault": computed(
            _fault, layout, stages, layers, given.read("mtp_num_layers"), known(given.release(">=0.14"))
        ),
        "virtual_stages": _virtual_stages(given, split, stages, is_config=is_config),
        "moe_layers": computed(_listed_layers, given.read("moe_layer_freq")),
        "moe_layer_odd": computed(_odd_kind, given.read("moe_layer_freq")),
        "no_rope_layers": computed(_listed_layers, given.read("no_rope_freq")),
        "hybrid_layers": computed(_hybrid_layers, pattern),
        "hybrid_segments": computed(_hybrid_segments, pattern),
    }


def _listed_layers(pattern: object) -> int | None:
    """How many layers a list of them has; ``None`` where every so many are meant."""
    return len(pattern) if isinstance(pattern, (list, tuple)) else None


def _odd_kind(pattern: object) -> object:
    """The first entry of a list of layers that is neither 0 nor 1."""
    kinds = pattern if isinstance(pattern, (list, tuple)) else ()
    return next((kind for kind in kinds if kind not in (0, 1)), None)


def _hybrid_layers(pattern: object) -> int | None:
    """How many layers of the decoder a hybrid pattern has (what stands behind a slash is for multi-token prediction)."""
    return None if pattern is None else len(str(pattern).partition("/")[0].replace("|", ""))


def _hybrid_segments(pattern: object) -> int | None:
    return None if pattern is None else str(pattern).partition("/")[0].count("|") + 1


def _virtual_stages(given: Given, split: Value, stages: Value, *, is_config: bool) -> Value:
    """How many pieces of the model every rank holds; absent where the schedule is not interleaved."""
    layout = given.read(LAYOUT)
    if layout.is_unknown or LAYOUT in given.settings:
        found = computed(lambda layout, stages: _quotient(_stage_count(layout), stages), layout, stages)
        return found.map(lambda number: number) if not found.is_known or found.only != 1 else absent()
    if "hybrid_layer_pattern" in given.settings and given.release(">=0.17"):
        found = computed(_hybrid_pieces, given.read("hybrid_layer_pattern"), stages)
        return absent() if found.is_known and found.only == 1 else found
    if is_config:
        return given.read("virtual_pipeline_model_parallel_size")
    if PER_RANK in given.settings:
        found = given.read(PER_RANK)
    else:
        found = computed(
            lambda layers, stages, each: None if each is None else _quotient(_quotient(layers, stages), each),
            split,
            stages,
            given.read(PER_STAGE),
        )
    # One piece is the same as none; releases before 0.14 go on with the interleaved schedule all the same.
    return absent() if found.is_known and found.only == 1 and given.release(">=0.14") else found


def _hybrid_pieces(pattern: object, stages: object) -> int:
    segments = _hybrid_segments(pattern)
    # A pattern without marks is divided later, evenly.
    return 1 if segments == 1 else _quotient(segments, stages)


def _quotient(number: object, divisor: object) -> int:
    whole, part = size(number), size(divisor)
    if whole % part:
        raise ValueError("doesn't come out even")
    return whole // part


def _rows(layout: object) -> list[str] | None:
    """The stages of a layout, each a text of one letter per layer; ``None`` where none is given.

    Raises ``ValueError`` with what is wrong for a layout that Megatron can't read, and for one that is too long.
    """
    if layout is None:
        return None
    if isinstance(layout, (list, tuple)):
        return ["".join(_letter(layer) for layer in stage) for stage in layout]
    text = str(layout).replace(",", "")
    if len(text) > _MAX_LAYOUT:
        raise ValueError("the layout is very long")
    for pattern in _REPEATED:
        text = _unrolled(pattern, text)
    return text.split("|")


def _unrolled(pattern: re.Pattern[str], text: str) -> str:
    total = sum(len(found[1]) * int(found[2]) for found in pattern.finditer(text))
    if total > _MAX_LAYOUT:
        raise ValueError("the layout is very long")
    return pattern.sub(lambda found: found[1] * int(found[2]), text)


def _letter(layer: object) -> str:
    if not isinstance(layer, str):
        raise ValueError("a layer is no text")
    return _NAMES.get(layer.strip().lower(), "?")


def _stage_count(layout: object) -> int | None:
    rows = _rows(layout)
    return None if rows is None else len(rows)


def _fault(layout: object, stages: object, layers: object, mtp: object, takes_mtp: object) -> str | None:
    """What is wrong with a layout beside the number of its stages; ``None`` where it is right or not given."""
    rows = _rows(layout)
    if rows is None:
        return None
    letters = "".join(rows)
    odd = [letter for letter in letters if letter not in (_EMBEDDING, _LOSS, _DECODER, _MTP)]
    if odd:
        return f"`{odd[0]}` is no kind of layer (E, t, m and L are)"
    if not letters.startswith(_EMBEDDING):
        return "the first layer has to be the embedding, E"
    if not letters.endswith(_LOSS):
        return "the last layer has to be the loss, L"
    for letter, word in ((_EMBEDDING, "embedding"), (_LOSS, "loss")):
        if letters.count(letter) != 1:
            return f"there is more than one {word} ({letter})"
    if letters.count(_DECODER) != size(layers):
        return f"it holds {letters.count(_DECODER)} transformer layers (t), but the model has {layers}"
    return _prediction_fault(rows, size(stages), mtp, takes_mtp=bool(takes_mtp))


def _prediction_fault(rows: list[str], stages: int, mtp: object, *, takes_mtp: bool) -> str | None:
    """What is wrong with the place of layers for multi-token prediction."""
    letters = "".join(rows)
    count = letters.count(_MTP)
    if not takes_mtp:
        return "layers for multi-token prediction (m) can't be placed before core 0.14" if count else None
    if count != (mtp or 0):
        return f"it holds {count} layers for multi-token prediction (m), but the model has {mtp or 0}"
    if not count:
        return None
    if _DECODER in letters[letters.index(_MTP) :]:
        return "layers for multi-token prediction (m) have to stand behind all transformer layers"
    if any(_MTP in row for row in rows[:-stages]):
        return "layers for multi-token prediction (m) have to be in the last piece of their rank"
    if any(_MTP in row and row.count(_MTP) != count for row in rows):
        return "layers for multi-token prediction (m) have to be in one stage"
    return None
