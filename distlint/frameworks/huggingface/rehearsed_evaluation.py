"""What the Trainer of transformers hands to classes derived from it, and what it decides by what they work out.

Source: transformers 5.23.0, ``trainer.py``: ``get_eval_dataloader``, ``_evaluate``, ``_determine_best_metric``, ``_load_best_model``;
``training_args.py``; ``trainer_callback.py``, ``EarlyStoppingCallback``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.huggingface.rehearsed_arguments import said
from distlint.frameworks.huggingface.rehearsed_optimizer import made
from distlint.frameworks.huggingface.rehearsed_steps import is_under_way
from distlint.frameworks.torch.rehearsed_data import Loader
from distlint.frameworks.torch.rehearsed_dealt import Dealing, Dealt
from distlint.frameworks.torch.rehearsed_outputs import note
from distlint.frameworks.torch.rehearsed_prepared import met
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import FunctionValue, LambdaOf, Partial
from distlint.rehearsal.failing import COMPUTING, may_fail
from distlint.rehearsal.libraries import together
from distlint.rehearsal.notes import OWN_FIGURE_DECIDES
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, Table, Thing, combined, source_of

TAKEN = ("model", "args", "data_collator", "train_dataset", "eval_dataset")
"""What the constructor takes by position."""
_SHARE = "the part of the data that the trainer gives each rank"
_LOADERS = {"get_train_dataloader": "train_dataset", "get_eval_dataloader": "eval_dataset", "get_test_dataloader": ""}
_GATHERING = ("_nested_gather", "gather_function")
_SAME = ("_prepare_inputs", "_prepare_input", "_wrap_model")
_STEPS = ("compute_loss", "prediction_step", "training_step")
"""What these give is computed of the batch that they are given."""
_CONTEXTS = ("compute_loss_context_manager", "autocast_smart_context_manager")
_QUIET_NAMES = """
log log_metrics save_metrics save_state save_model store_flos floating_point_ops num_examples _get_learning_rate create_scheduler
get_decay_parameter_names get_learning_rates get_num_trainable_parameters _save_checkpoint _save _get_output_dir end
"""
_QUIET = frozenset(_QUIET_NAMES.split())
"""Methods that leave the model as it is, and what is under way with it."""
_CALLED = (FunctionValue, LambdaOf, Partial, Thing)
_PREFIX = "eval_"
_STOPPING = "EarlyStoppingCallback()"


def own_method(player: Any, thing: Thing, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a trainer's class has from the library's; ``NotImplemented`` where that is not known."""
    first = given.positional[0] if given.positional else next(iter(given.keywords.values()), None)
    if name in _LOADERS:
        dataset = first or thing.attributes.get(_LOADERS[name], UNKNOWN)
        return _loader(thing.attributes, dataset, call, ir.unpack(call.at, scope.file))
    if name in _SAME:
        return first
    if name in _CONTEXTS:
        return Made(f"{name}()", call, given)
    if name in _QUIET:
        return Opaque(combined(name, given.values()), source_of(given.values()))
    if name == "create_optimizer":
        return made(player, thing, call)
    course = is_under_way(player, thing)
    if name == "training_step":
        may_fail(player.stage, COMPUTING, given.values(), call, scope)
        note(player, "backward", call, scope)  # it ends with the backward pass, in which all processes meet
        if course is not None:
            course.passed_back(course.loss(given.get("inputs", 1, UNKNOWN)))
    if name == "compute_loss" and course is not None:
        whole = given.get("return_outputs", 2, False)
        if isinstance(whole, bool):
            return course.loss_of_model(given.get("model", 0, UNKNOWN), given.get("inputs", 1, UNKNOWN), whole=whole)
    if name in _STEPS:
        return Opaque(combined(name, given.values()), source_of(given.values()))
    if name in _GATHERING:
        return met(player, "gather", first, together(player, call, scope), ir.unpack(call.at, scope.file))
    return NotImplemented


def loader_of(player: Any, thing: Thing | None, parts: dict[str, Any], kind: str, call: ir.Call, scope: Any) -> Any:
    """The loader that a trainer goes through to train, or to evaluate: ``None`` where nothing is known of its batches."""
    name = f"get_{kind}_dataloader"
    method = player.stage.project.modules.method(thing.cls, name) if thing is not None else None
    if method is not None:
        return player.call_function(FunctionValue(method, None, thing), Given([], {}), call, scope)
    dataset = parts.get(f"{kind}_dataset")
    if dataset is None or not isinstance(parts.get("data_collator"), _CALLED):
        return None
    return _loader(parts, dataset, call, ir.unpack(call.at, scope.file))


def _loader(parts: dict[str, Any], dataset: Any, call: ir.Call, span: Span) -> Dealt:
    """A loader over a data set, as the trainer makes and prepares it, with the function that it was given to put batches together.

    It may leave columns of the rows out before that function gets them, so that without one of the program's own nothing is known of
    what is in a batch.
    """
    own = parts.get("data_collator", UNKNOWN)
    collate = own if isinstance(own, _CALLED) else UNKNOWN
    made_of = Given([dataset], {"batch_size": UNKNOWN, "collate_fn": collate, "drop_last": UNKNOWN})
    return Dealt(Loader(call, made_of, span), span, _SHARE, Dealing(None, None, None))


def evaluated(player: Any, parts: dict[str, Any], thing: Thing, call: ir.Call, scope: Any) -> None:
    """While it trains the trainer evaluates, by the method of its class; what that gives may decide what becomes of the job."""
    stage = player.stage
    method = stage.project.modules.method(thing.cls, "evaluate")
    if method is None or not evaluates(parts.get("args")):
        return
    found = player.call_function(FunctionValue(method, None, thing), Given([], {}), call, scope)
    decided = _decided(player, parts)
    if decided is None or not isinstance(found, Table) or stage.unsure or stage.world < 2:
        return
    name, what, place = decided
    source = source_of([found.items.get(name, UNKNOWN)])
    if source is None:
        return
    event = Event("evaluate", call, scope.file, scope.function, {})
    event.chain = stage.chain
    words = {"figure": name, "what": what, "source": source, "decides": place, "method": method}
    stage.faults.append(Fault(OWN_FIGURE_DECIDES, _given_back(stage.project, method), event, words))


def _given_back(project: Any, method: Any) -> Span:
    """Where a method gives its result."""
    function = project.function(method)
    given = [one for one in statements(function.body) if type(one) is ir.Return and one.value is not None]
    return ir.unpack(given[-1].at if given else function.at, method.file)


def evaluates(arguments: Any) -> bool:
    """Whether the trainer is told to evaluate while it trains."""
    return any(said(arguments, name, "no") in ("steps", "epoch") for name in ("eval_strategy", "evaluation_strategy"))


def _decided(player: Any, parts: dict[str, Any]) -> tuple[str, str, Span | None] | None:
    """The figure by which the trainer decides something, what that is, and where it is told to."""
    arguments = parts["args"]
    if said(arguments, "load_best_model_at_end", False) is True:
        word, what = "load_best_model_at_end", "which checkpoint each rank loads at the end"
    elif said(arguments, "save_strategy", "") == "best":
        word, what = "save_strategy", "when each rank saves"
    elif said(arguments, "lr_scheduler_type", "") == "reduce_lr_on_plateau":
        word, what = "lr_scheduler_type", "each rank's learning rate"
    elif any(
        isinstance(one, Made) and one.name.endswith(_STOPPING)
        for one in player.items_of(parts.get("callbacks", ())) or ()
    ):
        word, what = "metric_for_best_model", "when each rank stops"
    else:
        return None
    name = said(arguments, "metric_for_best_model")
    name = "loss" if name is None else name
    if not isinstance(name, str):
        return None
    written = arguments.call if isinstance(arguments, Made) and arguments.file else None
    words = {one.name: one for one in written.keywords} if written is not None else {}
    place = words.get("metric_for_best_model", words.get(word))
    span = ir.unpack(place.at, arguments.file) if place is not None else None
    return name if name.startswith(_PREFIX) else _PREFIX + name, what, span
