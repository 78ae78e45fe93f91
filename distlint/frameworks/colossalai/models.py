"""What is known of a model that a program hands to the booster: its class, its sizes, and what Colossal-AI can do with it.

A plugin that parts a model looks its class up in a list of policies (``shardformer/policies/auto_policy.py``), which the table
``knowledge/colossalai_models.json.gz`` has by release. A class that is not in it is refused, also one that a program derives from
one that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from distlint.frameworks.colossalai.model_configs import configuration
from distlint.knowledge.release_tables import ReleaseTable, section
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef, External
from distlint.link.own_stores import is_stored_outside
from distlint.link.walking import contexts_around
from distlint.model import python as ir
from distlint.model.document import Mapping as Tree
from distlint.model.document import node_value
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import Project

NAMES = frozenset(
    {
        "model.kind",
        "model.family",
        "model.heads",
        "model.kv_heads",
        "model.layers",
        "model.decoder_layers",
        "model.ffn",
        "model.labels",
        "model.experts",
        "model.is_lazy",
        "model.has_adapters",
        "model.has_policy",
        "model.has_stages",
        "model.asserts_heads",
        "model.asserts_kv_heads",
        "model.asserts_labels",
        "model.asserts_no_all_to_all",
        "model.asserts_no_sequence",
    }
)

_SAME = frozenset(
    {"to", "cuda", "cpu", "half", "bfloat16", "float", "train", "eval", "requires_grad_", "merge_and_unload"}
)
"""Methods that give the model back."""
_HANDED_ON = {
    "colossalai.booster.Booster().enable_lora": "model",
    "peft.get_peft_model": "model",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": "module",
}
"""Functions that give a model with the class of the one that they get (a policy is looked up by that of the model inside)."""
_ADAPTING = frozenset({"colossalai.booster.Booster().enable_lora", "peft.get_peft_model"})
"""Those of them that put adapters into the model, and so wrap it."""
_NO_POLICIES = ("torch.nn.", "torchvision.models.", "timm.")
_MAX_STEPS = 8

_SIZES: Mapping[str, tuple[str, ...]] = {
    "heads": ("num_attention_heads", "n_head", "num_heads", "encoder_attention_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers"),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim"),
    "labels": ("num_labels",),
    "experts": ("num_local_experts",),
}
"""The names that configurations of transformers give to sizes."""

_DEFAULTS: Mapping[str, tuple[int, int, int]] = {
    "bert": (12, 0, 12),
    "bloom": (8, 0, 2),
    "cohere": (64, 64, 40),
    "falcon": (71, 0, 32),
    "gpt2": (12, 0, 12),
    "gptj": (16, 0, 28),
    "llama": (32, 32, 32),
    "mistral": (32, 8, 32),
    "mixtral": (32, 8, 32),
    "opt": (12, 0, 12),
    "qwen2": (32, 32, 32),
    "t5": (8, 0, 6),
    "vit": (12, 0, 12),
    "whisper": (0, 0, 4),
}
"""Heads, heads of keys and values (0: none of their own, or not one number), and layers that a configuration has by default, by family:
``transformers/models/*/configuration_*.py`` of 4.36.2, 4.39.3 and 4.51.3, in which they are the same."""

_LABELS = 2
"""The labels that a configuration has by default (``transformers/configuration_utils.py``)."""

_EXPERTS = {"mixtral": 8}
"""The experts that a configuration has by default (``transformers/models/mixtral/configuration_mixtral.py``)."""

_DECODERS: Mapping[str, tuple[str, int]] = {"t5": ("num_decoder_layers", 0), "whisper": ("decoder_layers", 4)}
"""Families with an encoder and a decoder: the name of the number of layers of the latter, and its default (0: that of the encoder)."""

_ENCODERS = frozenset({"T5EncoderModel", "T5ForTokenClassification", "WhisperForAudioClassification"})
"""Models of these families that have no decoder."""

_KV_AS_HEADS = frozenset({"llama", "cohere"})
"""Families in which the heads of keys and values are as many as the others where they are not given (same places)."""


@cache
def _table() -> ReleaseTable:
    return ReleaseTable(section("colossalai_models", 0))


@cache
def _by_class() -> dict[str, str]:
    """The full name of a class of transformers by the name that it is exported under."""
    return {name.rpartition(".")[2]: name for name in _table().names if name.startswith("transformers.")}


def model_facts(project: Project, evaluator: Evaluator, value: Abstract, release: str) -> dict[str, Value]:
    """What is known of a model, under the names of ``NAMES``; nothing where not even its class is known.

    ``release`` is that of Colossal-AI (``""``: the newest).
    """
    made, is_adapted = _made(evaluator, value)
    if made is None:
        return {}
    name, config = _class_and_config(project, evaluator, made)
    if not name:
        return {}
    place = made.span()
    facts = {"model.kind": known(name, place), "model.is_lazy": _is_lazy(project, evaluator, made)}
    if is_adapted:
        facts["model.has_adapters"] = known(True, place)
    # a class of the project is found under no name of transformers, even if it has one
    full = _by_class().get(name) if isinstance(made.callee, External) else None
    if full is None:
        facts["model.has_policy"] = known(False, place)
        return facts
    table = _table()
    entry = table.entry(full, table.indexes(release)[0])
    facts["model.has_policy"] = known(entry is not None, place)
    if entry is None:
        return facts
    facts["model.has_stages"] = known(bool(entry.get("pipeline")), place)
    for word in ("heads", "kv_heads", "labels", "no_all_to_all", "no_sequence"):
        facts[f"model.asserts_{word}"] = known(word in entry.get("asserts", ()), place)
    family = full.split(".")[2]
    facts["model.family"] = known(family, place)
    facts.update(_sizes(project, evaluator, config, family))
    if name in _ENCODERS:
        facts["model.decoder_layers"] = known(0, place)
    return facts


def _made(evaluator: Evaluator, value: Abstract) -> tuple[Instance | None, bool]:
    """The call that made a model, behind those that give it back; nothing where several may be meant.

    With it comes whether one of these calls puts adapters into the model.
    """
    is_adapted = False
    for _ in range(_MAX_STEPS):
        options = options_of(value)
        if len(options) != 1 or not isinstance(options[0], Instance):
            return None, False
        made = options[0]
        name = evaluator.modules.canonical(evaluator.instance_name(made))
        handed = _HANDED_ON.get(name.removesuffix("()"))
        func = made.call.func
        if handed is not None:
            given = evaluator.argument(made.call, handed, 0, made.frame, made.state)
            if given is None:
                return None, False
            is_adapted = is_adapted or name.removesuffix("()") in _ADAPTING
            value = given
        elif type(func) is ir.Attribute and func.name in _SAME and not made.part:
            value = evaluator.evaluate(func.base, made.frame, made.state)
        else:
            return (made if not made.part else None), is_adapted
    return None, False


def _class_and_config(project: Project, evaluator: Evaluator, made: Instance) -> tuple[str, Abstract | None]:
    """The name of a model's class, as transformers exports it or dotted, and its configuration; ``""`` for a class that is not known."""
    callee = made.callee
    if isinstance(callee, ClassRef):
        bases = project.modules.external_bases(callee)
        is_module = any(base.startswith(("torch.nn.", "transformers.")) for base in bases)
        return (project.class_(callee).name, None) if is_module else ("", None)
    if not isinstance(callee, External):
        return "", None
    if callee.name.startswith(_NO_POLICIES):
        return callee.name, None
    parts = callee.name.split(".")
    if parts[0] != "transformers":
        return "", None
    classes = [part for part in parts if part[:1].isupper()]
    method = parts[-1] if not parts[-1][:1].isupper() else ""
    if len(classes) != 1 or method not in ("", "from_config", "_from_config", "from_pretrained"):
        return "", None
    position = None if method == "from_pretrained" else 0
    config = evaluator.argument(made.call, "config", position, made.frame, made.state)
    name = classes[0]
    if name.startswith("Auto"):
        return _of_auto(evaluator, name, config), config
    return (name, config) if _is_model(name) else ("", None)


def _is_model(name: str) -> bool:
    return name in _by_class() or name.endswith(("Model", "Classification", "CausalLM", "MaskedLM", "Generation"))


def _of_auto(evaluator: Evaluator, auto: str, config: Abstract | None) -> str:
    """The class that an auto class makes of a configuration; ``""`` where that is not known to be one with a policy."""
    family = _family_of(evaluator, config)
    if not family:
        return ""
    ending = auto.removeprefix("AutoModel").replace("ForCausalLM", "ForCausalLM|LMHeadModel") or "Model"
    endings = [one.lower() for one in ending.split("|")]
    found = [
        name
        for name, full in _by_class().items()
        if full.split(".")[2] == family and any(name.lower() == f"{family}{one}" for one in endings)
    ]
    return found[0] if len(found) == 1 else ""


def _family_of(evaluator: Evaluator, config: Abstract | None) -> str:
    found = configuration(evaluator, config)
    return found.family if found is not None and found.family in _DEFAULTS else ""


def _sizes(project: Project, evaluator: Evaluator, config: Abstract | None, family: str) -> Iterator[tuple[str, Value]]:
    """Heads and layers from what makes the configuration, with transformers' defaults for what that leaves out."""
    found = configuration(evaluator, config)
    if found is None or found.family != family or family not in _DEFAULTS:
        return
    given, place = found.given, found.place
    values: dict[str, Value] = {}
    for (size, names), default in zip(_SIZES.items(), _order(family), strict=True):
        entries = [entry for entry in given.entries if entry.key in names]
        value = _given(evaluator, given, names, known(default, place) if default else None)
        if value is not None:
            values[size] = value
        if size == "kv_heads" and not entries and not given.open and family in _KV_AS_HEADS:
            heads, default = _SIZES["heads"], known(_DEFAULTS[family][0], place)
            values[size] = _given(evaluator, found.first, heads, default) or unknown("not known")
    if family in _DECODERS:
        name, count = _DECODERS[family]
        default_value = known(count, place) if count else values.get("layers")
        value = _given(evaluator, given, (name,), default_value)
        values["decoder_layers"] = value if value is not None else unknown("not known")
    if family == "falcon" and not _parts_heads(evaluator, given):
        values = {size: value for size, value in values.items() if size in ("layers", "labels")}
    yield from ((f"model.{size}", value) for size, value in values.items())


def _given(evaluator: Evaluator, given: Tree, names: tuple[str, ...], default: Value | None) -> Value | None:
    """What a configuration is given under one of some names, or its default; ``None`` where there is neither."""
    entries = [entry for entry in given.entries if entry.key in names]
    if any(is_stored_outside(evaluator, name) for name in names):
        return unknown("the program sets it elsewhere")
    if entries:
        last = entries[-1]
        return node_value(last.node).at(last.key_span) if last.certain else unknown("given on some paths only")
    return unknown("may be given where we can't see") if given.open else default


def _parts_heads(evaluator: Evaluator, given: Tree) -> bool:
    """Whether the policy of Falcon parts its heads for sure.

    Of the old architecture with one head of keys and values, which is the default, it drops tensor parallelism
    (``shardformer/policies/falcon.py``, ``module_policy``, 0.3.6 to 0.5.0).
    """
    new = _given(evaluator, given, ("new_decoder_architecture",), known(False))
    single = _given(evaluator, given, ("multi_query",), known(True))
    return (new is not None and new.only is True) or (single is not None and single.only is False)


def _order(family: str) -> tuple[Any, ...]:
    return (*_DEFAULTS[family], 0, _LABELS, _EXPERTS.get(family, 0))


def _is_lazy(project: Project, evaluator: Evaluator, made: Instance) -> Value:
    """Whether a model is made inside ``LazyInitContext``; unknown where another context may stand in its place."""
    found = set()
    for context in contexts_around(project.body(made.frame.file, made.frame.function), made.call.at):
        options = options_of(evaluator.evaluate(context, made.frame, evaluator.state(made.frame, context.at)))
        names = [evaluator.instance_name(one) if isinstance(one, Instance) else "" for one in options]
        kinds = {name.endswith("LazyInitContext()") if name else None for name in names}
        found.add(kinds.pop() if len(kinds) == 1 else None)
    if None in found or (True in found and project.sites("materialize")):
        return unknown("whether it is made lazily is not known")
    return known(True in found, made.span())
