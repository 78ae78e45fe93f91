"""What one real Megatron-LM does with a case between its command line and the first forward pass, one stage after the other."""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

LEAVES = ("tokenizer", "schedule", "data", "build", "step")
"""Stages that no later one builds upon."""
MODULES = ("arguments", "initialize", "global_vars", "training", "checkpointing", "utils")
RAMP_STEPS = 200_000
"""How many updates of a ramp are walked one by one."""
LAYERS = 400
"""Larger models (layers of a stage times experts of a rank) are not built."""

Act = Callable[[], Any]


class ReachedError(Exception):
    """Ends the real function where the next stage begins."""


class Release:
    """The modules of the release that can be imported: those of training are missing beside the package megatron-core."""

    def __init__(self) -> None:
        from megatron import core

        self.core = core
        self.version: str = getattr(core, "__version__", "?")
        self.parallel_state = import_module("megatron.core.parallel_state")
        self.modules: dict[str, Any] = {}
        for folder in ("megatron.training", "megatron"):
            try:
                self.modules = {name: import_module(f"{folder}.{name}") for name in MODULES}
            except ModuleNotFoundError as error:
                if not str(error.name).startswith("megatron"):
                    raise
            else:
                break
        try:
            self.entry: Any = import_module("pretrain_gpt")
        except ImportError as error:
            print(f"pretrain_gpt: {error}", file=sys.stderr)
            self.entry = None

    @property
    def has(self) -> str:
        """What of it is here, for the log."""
        return "arguments" if self.modules else "megatron.core only"

    def options(self) -> list[dict[str, Any]]:
        """Every option of the release's parser; none where the module of arguments is missing."""
        if not self.modules:
            return []
        found: list[dict[str, Any]] = []

        def stop(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
            for action in parser._actions:
                kind = getattr(action.type, "__name__", None)
                row = {"names": action.option_strings, "dest": action.dest, "nargs": action.nargs, "type": kind}
                choices = None if action.choices is None else list(action.choices)
                found.append({**row, "choices": choices, "default": action.default})
            raise ReachedError

        argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = stop
        with contextlib.suppress(ReachedError):
            self.modules["arguments"].parse_args()
        return found

    def replace(self, name: str, function: Any) -> Any:
        """Puts a function in the place of the release's, wherever it was imported to; returns the release's."""
        real = None
        for module in self.modules.values():
            if hasattr(module, name):
                real = real or getattr(module, name)
                setattr(module, name, function)
        return real


def stages(release: Release, case: dict[str, Any], verdict: dict[str, Any]) -> Iterator[tuple[str, Act]]:
    """The stages of a case with what each one does, to be done before the next is asked for."""
    if "argv" not in case:
        yield from _objects(release, case, verdict)
        return
    if not release.modules:
        verdict["unjudged"].append("parse: this is megatron-core without megatron.training")
        return
    run = Run(release, case, verdict)
    yield "parse", run.parse
    yield "validate", run.validate
    yield "config", run.config
    yield "batches", run.batches
    yield "start", run.start
    yield "tokenizer", run.tokenizer
    yield "groups", run.groups
    yield "start", run.seed
    yield "batches", run.ramp
    yield "build", run.build
    yield "schedule", run.schedule
    yield "data", run.data
    yield "step", run.step


def _objects(release: Release, case: dict[str, Any], verdict: dict[str, Any]) -> Iterator[tuple[str, Act]]:
    import torch

    if "groups" in case:
        torch.distributed.init_process_group()
        given = case["groups"].get("arguments", case["groups"])
        yield "groups", lambda: release.parallel_state.initialize_model_parallel(**plain(given))
    if "config" in case:
        kind = config_class(case["config"]["class"])
        given = plain(case["config"].get("arguments", {}))

        def construct() -> None:
            made = kind(**given)
            for name, value in given.items():
                if repr(value) != repr(getattr(made, name, None)) and not _same(value, getattr(made, name, None)):
                    verdict["became"][name] = [repr(value), repr(getattr(made, name, None))]
                    verdict["spelled"][name] = name

        yield "config", construct


CONFIG_MODULES = (
    "transformer.transformer_config",
    "model_parallel_config",
    "optimizer.optimizer_config",
    "distributed.distributed_data_parallel_config",
)


def config_class(name: str) -> Any:
    """The class of that name among those which describe a model, its optimizer or the wrapper around it."""
    for path in CONFIG_MODULES:
        found = getattr(import_module(f"megatron.core.{path}"), name, None)
        if found is not None:
            return found
    raise ValueError(f"no class {name}")


def plain(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with objects in place of their written names."""
    import torch

    known = {f"torch.{name}": getattr(torch, name) for name in ("float16", "bfloat16", "float32", "half", "float")}
    known |= {f"torch.nn.functional.{name}": getattr(torch.nn.functional, name) for name in ("gelu", "silu", "relu")}
    return {name: known.get(value, value) if isinstance(value, str) else value for name, value in arguments.items()}


class Run:
    """One command line on its way."""

    def __init__(self, release: Release, case: dict[str, Any], verdict: dict[str, Any]) -> None:
        self.release, self.case, self.verdict = release, case, verdict
        self.modules = release.modules
        self.args: Any = None
        self.explicit: dict[str, str] = {}
        self.given: dict[str, Any] = {}
        self.before: dict[str, str] = {}
        self.transformer: Any = None
        self.model: list[Any] = []

    def parse(self) -> None:
        """argparse, as the entry script does it."""
        sys.argv = ["pretrain_gpt.py", *self.case["argv"]]
        parsers = []
        real = argparse.ArgumentParser.parse_known_args

        def parsed(parser: Any, *given: Any, **named: Any) -> Any:
            parsers.append(parser)
            return real(parser, *given, **named)

        argparse.ArgumentParser.parse_known_args = parsed
        self.args = self.modules["arguments"].parse_args()
        self.explicit = written(parsers[0], self.case["argv"])
        self.given = {name: copy.copy(getattr(self.args, name, None)) for name in self.explicit}
        self.before = {name: repr(value) for name, value in self.given.items()}

    def validate(self) -> None:
        """What ``initialize_megatron`` does until the arguments are global ones."""
        arguments, initialize = self.modules["arguments"], self.modules["initialize"]
        defaults = self.case.get("defaults", {"tokenizer_type": "GPT2BPETokenizer"})

        def stop(args: Any, *_: Any, **__: Any) -> None:
            raise ReachedError

        self.release.replace("parse_args", lambda *_, **__: self.args)
        self.release.replace("load_args_from_checkpoint", lambda args, *_, **__: (args, None))
        self.release.replace("init_persistent_async_worker", lambda *_, **__: None)
        real = self.release.replace("set_global_variables", stop)
        try:
            if hasattr(arguments, "parse_and_validate_args"):
                arguments.parse_and_validate_args(args_defaults=defaults)
            else:
                initialize.initialize_megatron(args_defaults=defaults)
        except ReachedError:
            pass
        finally:
            self.release.replace("set_global_variables", real)
            self._compare(self.args)

    def _compare(self, made: Any) -> None:
        for name, given in self.before.items():
            if hasattr(made, name) and (now := repr(getattr(made, name))) != given:
                if _same(self.given[name], getattr(made, name)):
                    continue
                self.verdict["became"].setdefault(name, [given, now])
                self.verdict["spelled"][name] = self.explicit[name]

    def config(self) -> None:
        """The configuration objects that are made of the options."""
        from_args = self.modules["arguments"].core_transformer_config_from_args
        self.transformer = from_args(self.args)
        self._compare(self.transformer)
        training = self.modules["training"]
        if hasattr(training, "get_megatron_optimizer_config"):
            training.get_megatron_optimizer_config(self.args)
        elif hasattr(training, "OptimizerConfig"):
            self._made_of_options(training.OptimizerConfig)
        if hasattr(training, "DistributedDataParallelConfig") and not getattr(self.args, "use_torch_fsdp2", False):
            self._made_of_options(training.DistributedDataParallelConfig)

    def _made_of_options(self, kind: Any) -> None:
        names = [field.name for field in dataclasses.fields(kind) if field.init and hasattr(self.args, field.name)]
        kind(**{name: getattr(self.args, name) for name in names})

    def batches(self) -> None:
        """The number of micro-batches."""
        module = self.modules["global_vars"]
        init = module.init_num_microbatches_calculator
        known = inspect.signature(init).parameters
        given = {name: getattr(self.args, name) for name in known if hasattr(self.args, name)}
        given["data_parallel_size"] = self.args.data_parallel_size * getattr(self.args, "gtp_weight_remat_size", 1)
        if "decrease_batch_size_if_needed" in known:
            given["decrease_batch_size_if_needed"] = self.args.decrease_batch_size_if_needed
        init(**given)
        module.init_num_microbatches_calculator = lambda *_, **__: None

    def start(self) -> None:
        """The global variables."""
        self.modules["global_vars"].set_global_variables(self.args, build_tokenizer=False)

    def tokenizer(self) -> None:
        """The tokenizer, as far as it needs no files."""
        if self.args.vocab_size and getattr(self.args, "padded_vocab_size", None) is None:
            size = self.args.vocab_size
        else:
            size = getattr(self.args, "padded_vocab_size", None) or 50257
        try:
            self.modules["global_vars"]._build_tokenizer(self.args)
        finally:
            if getattr(self.args, "padded_vocab_size", None) is None:
                whole = self.args.make_vocab_size_divisible_by * self.args.tensor_model_parallel_size
                self.args.padded_vocab_size = -(-size // whole) * whole

    def groups(self) -> None:
        """``initialize_model_parallel``, called by the release itself."""
        initialize = self.modules["initialize"]
        known = inspect.signature(initialize._initialize_distributed).parameters
        initialize._initialize_distributed(
            *(None for parameter in known.values() if parameter.default is inspect.Parameter.empty)
        )

    def seed(self) -> None:
        """The random seed."""
        initialize = self.modules["initialize"]
        initialize.tensor_parallel.model_parallel_cuda_manual_seed = lambda *_, **__: None
        initialize._set_random_seed(self.args.seed)

    def ramp(self) -> None:
        """Every step of a ramp of the batch size, as training walks it."""
        if not getattr(self.args, "rampup_batch_size", None) and not getattr(
            self.args, "step_batch_size_schedule", None
        ):
            return
        module = import_module("megatron.core.num_microbatches_calculator")
        last = self.args.train_samples or (self.args.train_iters or 0) * self.args.global_batch_size
        consumed = 0
        for _ in range(RAMP_STEPS):
            module.update_num_microbatches(consumed, consistency_check=True)
            size = module.get_current_global_batch_size()
            if consumed >= last or size >= self.args.global_batch_size:
                break
            consumed += size
        module.update_num_microbatches(0, consistency_check=False)

    def schedule(self) -> None:
        """The schedules of learning rate and weight decay, and how many samples are asked for."""
        import torch

        training = self.modules["training"]
        self.args.iteration = 0
        if not getattr(self.args, "skip_train", False):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=self.args.lr or 0.0)
            training.get_optimizer_param_scheduler(optimizer)
        if hasattr(training, "get_train_valid_test_num_samples"):
            training.get_train_valid_test_num_samples()

    def data(self) -> None:
        """The settings of the data set."""
        make = getattr(self.release.entry, "core_gpt_dataset_config_from_args", None)
        if make:
            stand_in = types.SimpleNamespace(eod=0, pad=1, vocab_size=self.args.padded_vocab_size)
            self.release.entry.build_tokenizer = self.release.entry.get_tokenizer = lambda *_, **__: stand_in
            make(self.args)

    def build(self) -> None:
        """The model's part of the first stage; its layers are those that need no Transformer Engine."""
        import torch

        if getattr(self.args, "use_legacy_models", False) or not self._small():
            return
        training = self.modules["training"]
        engine = self.args.transformer_impl
        self.args.use_cpu_initialization, self.args.transformer_impl = True, "local"
        pieces = self.args.virtual_pipeline_model_parallel_size or 1
        try:
            with torch.device("meta"):
                self.model = [self._piece(training, number, pieces) for number in range(pieces)]
        finally:
            self.args.transformer_impl = engine

    def _small(self) -> bool:
        args = self.args
        experts = (getattr(args, "num_experts", None) or 1) // (getattr(args, "expert_model_parallel_size", 1) or 1)
        return bool(args.num_layers and args.num_layers // args.pipeline_model_parallel_size * experts <= LAYERS)

    def _piece(self, training: Any, number: int, pieces: int) -> Any:
        entry, state = self.release.entry, self.release.parallel_state
        if pieces > 1 and hasattr(state, "set_virtual_pipeline_model_parallel_rank"):
            state.set_virtual_pipeline_model_parallel_rank(number)
        ends = {
            "pre_process": number == 0,
            "post_process": number == pieces - 1 and self.args.pipeline_model_parallel_size == 1,
        }
        known = inspect.signature(entry.model_provider).parameters
        if "vp_stage" in known and pieces > 1:
            ends["vp_stage"] = number
        builder = (entry.gpt_builder,) if "model_builder" in known else ()
        return entry.model_provider(*builder, **ends)

    def step(self) -> None:
        """The pipeline's schedule up to the first forward pass."""
        import torch

        class Chunk(torch.nn.Module):
            """Stands for a part of the model: the schedule asks for its settings only."""

            def __init__(self, config: Any) -> None:
                super().__init__()
                self.config, self.model_type = config, None

            def set_input_tensor(self, *_: Any) -> None:
                """Nothing comes from the stage before."""

        def forward(*_: Any) -> None:
            raise ReachedError

        schedules = import_module("megatron.core.pipeline_parallel.schedules")
        batches = import_module("megatron.core.num_microbatches_calculator")
        pieces = self.args.virtual_pipeline_model_parallel_size or 1
        model = [Chunk(self.transformer) for _ in range(pieces)]
        with contextlib.suppress(ReachedError):
            schedules.get_forward_backward_func()(
                forward_step_func=forward,
                data_iterator=[iter(()) for _ in model],
                model=model,
                num_microbatches=batches.get_num_microbatches(),
                seq_length=self.args.seq_length,
                micro_batch_size=self.args.micro_batch_size,
                decoder_seq_length=self.args.decoder_seq_length,
                forward_only=False,
            )


def written(parser: argparse.ArgumentParser, words: list[str]) -> dict[str, str]:
    """The options that a command line gives: where argparse keeps each, and how it was written."""
    known = parser._option_string_actions
    found = {}
    for word in words:
        option = word.partition("=")[0]
        action = known.get(option)
        if action is None and parser.allow_abbrev and option.startswith("--"):
            candidates = {known[name] for name in known if name.startswith(option)}
            action = candidates.pop() if len(candidates) == 1 else None
        if action is not None:
            found[action.dest] = option
    return found


def _same(given: Any, made: Any) -> bool:
    """Whether two values mean the same in other kinds: an enumeration for its name, one item for a list of it."""
    if isinstance(given, (list, tuple)) or isinstance(made, (list, tuple)):
        left, right = ([*value] if isinstance(value, (list, tuple)) else [value] for value in (given, made))
        return len(left) == len(right) and all(_same(*pair) for pair in zip(left, right, strict=True))
    meant = {str(getattr(made, "name", made)), str(getattr(made, "value", made)), str(made)}
    meant |= {word.removeprefix("torch.") for word in meant}
    short = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32", "torch.uint8": "fp8"}
    return given == made or str(given) in {*meant, short.get(str(made), "")}
