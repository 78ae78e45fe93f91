"""How Hugging Face transformers, Accelerate and TRL is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.huggingface.collectives import COLLECTIVES, MAIN_ONLY, UNEVEN
from distlint.frameworks.huggingface.launchers import LAUNCHERS
from distlint.frameworks.huggingface.values import DEALT, EVENED, HANDED, RANK_SEEDS, RANK_SOURCES, VARYING
from distlint.model.framework import FrameworkSpec, ParserSpec, StarterSpec

_DASHED = ("transformers", ">=4.46")
"""hf_argparser.py: 4.45.2 makes one spelling of each field, 4.46.1 two."""

_MODELS = (
    *("AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSequenceClassification"),
    *("AutoModelForTokenClassification", "AutoModelForQuestionAnswering", "AutoModelForMaskedLM"),
    *(
        "AutoModelForImageClassification",
        "AutoModelForVision2Seq",
        "AutoModelForSpeechSeq2Seq",
        "AutoModelForPreTraining",
    ),
)

SPEC = FrameworkSpec(
    name="huggingface",
    prefix="HF",
    packages=("transformers", "accelerate", "trl", "peft", "datasets", "bitsandbytes"),
    modules=("transformers", "accelerate", "trl", "peft", "bitsandbytes"),
    literals=(
        b"accelerat",
        # whatever imports these may use what only some releases have
        *(b"import transformers", b"from transformers", b"import peft", b"from peft", b"import trl", b"from trl"),
        *(
            b'import_module("transformers',
            b"import_module('transformers",
            b'import_module("peft',
            b"import_module('peft",
        ),
        *(b'import_module("trl', b"import_module('trl"),
        b"bitsandbytes",
        b"TrainingArguments",
        b"HfArgumentParser",
        b"HfDeepSpeedConfig",
        b"device_map",
        b"import Trainer",
        b"Trainer(",
    ),
    config_keys=(b"distributed_type", b"fsdp", b"per_device_train_batch_size", b"deepspeed_config"),
    launchers=LAUNCHERS,
    parsers=(
        ParserSpec("transformers.HfArgumentParser", dataclasses=True, dashed_since=_DASHED),
        ParserSpec("transformers.hf_argparser.HfArgumentParser", dataclasses=True, dashed_since=_DASHED),
        ParserSpec("trl.TrlParser", dataclasses=True, dashed_since=_DASHED, defaults_from="--config"),
    ),
    open_dataclasses=("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"),
    dataclass_table="training_arguments",
    lazily_exported=(
        ("transformers.training_args.TrainingArguments", "transformers.TrainingArguments"),
        ("transformers.trainer.Trainer", "transformers.Trainer"),
        ("transformers.integrations.HfDeepSpeedConfig", "transformers.integrations.deepspeed.HfDeepSpeedConfig"),
        ("transformers.deepspeed.HfDeepSpeedConfig", "transformers.integrations.deepspeed.HfDeepSpeedConfig"),
        ("accelerate.accelerator.Accelerator", "accelerate.Accelerator"),
        ("accelerate.utils.DeepSpeedPlugin", "accelerate.DeepSpeedPlugin"),
        ("accelerate.utils.dataclasses.DeepSpeedPlugin", "accelerate.DeepSpeedPlugin"),
        ("accelerate.launchers.notebook_launcher", "accelerate.notebook_launcher"),
        ("accelerate.launchers.debug_launcher", "accelerate.debug_launcher"),
    ),
    results=(
        *(
            (f"transformers.{model}.{maker}", (), "transformers.PreTrainedModel")
            for model in _MODELS
            for maker in ("from_pretrained", "from_config")
        ),
        ("peft.get_peft_model", (), "peft.PeftModel"),
        ("peft.PeftModel.from_pretrained", (), "peft.PeftModel"),
    ),
    starters=(
        StarterSpec("accelerate.notebook_launcher", ("num_processes", 2), nodes=("num_nodes", None)),
        StarterSpec("accelerate.debug_launcher", ("num_processes", 2), default=2),
    ),
    collectives=COLLECTIVES,
    class_makers=("from_pretrained", "from_config"),
    file_calls=(
        ("from_pretrained", "reads", None),
        ("load_from_disk", "reads", None),
        ("hf_hub_download", "makes", 1),
        ("snapshot_download", "fills", 1),
        ("save_pretrained", "fills", None),
        ("save_to_disk", "fills", None),
        ("save_model", "fills", None),
    ),
    rehearsed="distlint.frameworks.huggingface.rehearsed",
    rehearsed_calls=(
        "Accelerator",
        "wait_for_everyone",
        "gather_for_metrics",
        "main_process_first",
        "gather_object",
        "broadcast_object_list",
        "Trainer",
        "Seq2SeqTrainer",
        "TrainingArguments",
        "Seq2SeqTrainingArguments",
    ),
    uneven=UNEVEN,
    main_only=MAIN_ONLY,
    rank_sources=RANK_SOURCES,
    evened=EVENED,
    rank_seeds=RANK_SEEDS,
    dealt=DEALT,
    handed=HANDED,
    varying=VARYING,
)
