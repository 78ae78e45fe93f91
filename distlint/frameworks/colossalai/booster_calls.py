"""What a program does with a booster: one subject per call of one of its methods and run, with the plugin that the booster got.

The settings of the plugin stand below ``plugin.``, the arguments of the call below ``argument.``; what is known of the model that
is handed over below ``model.``, of the optimizer below ``optimizer.``. ``batch_size`` is how many samples the batches have that
a pipeline gets. Parameters are those of the release in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai import subjects as plugins_of
from distlint.frameworks.colossalai.batches import batch_size, gets_batch
from distlint.frameworks.colossalai.boosted import before_boost, is_boosted, maker_of, unboosted_by_caller
from distlint.frameworks.colossalai.boosted import parameters as parameters_of
from distlint.frameworks.colossalai.models import NAMES as MODEL_NAMES
from distlint.frameworks.colossalai.models import model_facts
from distlint.frameworks.colossalai.optimized import foreign_module
from distlint.frameworks.colossalai.plugins import BOOSTER, FILES, PACKAGE, PARAMETERS
from distlint.frameworks.colossalai.stages import layers_of_stages
from distlint.frameworks.general import argument_settings, moved
from distlint.frameworks.reaching import MAX_LEVELS, comes_to, open_tests, runs_through
from distlint.link.abstract import Instance, node_of, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.stores import MUTATORS, stored_into
from distlint.link.walking import below, bodies_of, contexts_around, guards_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.document import Mapping as Tree
from distlint.model.record import dataclass
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run

METHODS = (
    "backward",
    "boost",
    "enable_lora",
    "execute_pipeline",
    "load_lr_scheduler",
    "load_model",
    "load_optimizer",
    "no_sync",
    "save_lora_as_pretrained",
    "save_lr_scheduler",
    "save_model",
    "save_optimizer",
)
"""The methods of a booster that take what is trained."""

_WORDS = re.compile(
    r"(?i)plugin|booster|strateg|pipe|stage|zero|lora|sync|shard|parallel|gemini|hybrid|(^|_)([dtps]p|ddp|fsdp)(_|$)|isinstance|hasattr"
)
"""Words in a test that may ask for the plugin, or for what it can do."""
_WITHOUT_GRADIENTS = re.compile(r"no_grad|inference_mode")
_SCHEDULER_NAMES = """
CosineAnnealingLR CosineAnnealingWarmupLR ExponentialLR FlatAnnealingLR FlatAnnealingWarmupLR LambdaLR LinearWarmupLR
MultiStepLR MultiStepWarmupLR MultiplicativeLR OneCycleLR PolynomialLR PolynomialWarmupLR StepLR
ConstantLR CosineAnnealingWarmRestarts CyclicLR LinearLR ReduceLROnPlateau
"""
_SCHEDULER_FUNCTIONS = """
get_constant_schedule get_constant_schedule_with_warmup get_cosine_schedule_with_warmup
get_linear_schedule_with_warmup get_polynomial_decay_schedule_with_warmup
"""
_SCHEDULERS = frozenset(
    f"{package}.{name}"
    for package, names in (
        ("colossalai.nn.lr_scheduler", _SCHEDULER_NAMES),
        ("torch.optim.lr_scheduler", _SCHEDULER_NAMES),
        ("transformers", _SCHEDULER_FUNCTIONS),
    )
    for name in names.split()
)
"""What makes a scheduler of the optimizer that it gets as its first argument, and wants one of torch's
(``torch/optim/lr_scheduler.py``: ``is not an Optimizer``)."""
NO_PLUGIN = "none"
_ADAPTING = ("get_peft_model", "PeftModel", "AutoPeft", "add_adapter", "inject_adapter")
"""What else makes a model with adapters."""
_LOADING = ("load_model", "load_optimizer")
_SAVING = ("save_model", "save_optimizer")
_WHOLE = frozenset({"pytorch_model.bin", "model.safetensors"})
"""Files that are found in a folder without an index (``checkpoint_io/checkpoint_io_base.py``, ``load_model``)."""
_OF_PLUGINS = frozenset(
    {
        *("amp_config", "ddp_config", "ddp_kwargs", "fsdp_kwargs", "gemini_config", "optim_kwargs", "shard_config"),
        *("zero_config", "zero_optim_config", "zero_optim_kwargs"),
    }
)
"""What the plugins keep their arguments in (``booster/plugin/*.py``, 0.3.0 to 0.5.0)."""
_NAMES = frozenset(
    {
        "method",
        "plugin",
        "world_size",
        "data_parallel_size",
        "batch_size",
        "checkpointed_stages",
        "checkpoints_too_many",
        "stage_layers",
        "accumulates",
        "feeds_scheduler",
        "foreign_argument",
        "gets_batch",
        "has_adapters",
        "has_precision",
        "keeps_gradients",
        "loads_folder",
        "loads_folder_of_file",
        "shares_folder",
        "uses_checkpointing",
        "lora_is_mapping",
        "model.boosted",
        "optimizer.boosted",
        "optimizer.kind",
        "optimizer.foreign_module",
        *MODEL_NAMES,
    }
)


def known_path(path: str) -> bool:
    """Whether a condition over a call of the booster may use a path."""
    head, _, tail = path.partition(".")
    if head == "plugin" and tail:
        return tail in PARAMETERS
    return path in _NAMES or (head == "argument" and tail.isidentifier())


def build(project: Project) -> Iterator[Subject]:
    """The subjects of a project; none where nothing makes a booster."""
    if not any(True for _ in project.calls_to({BOOSTER})):
        return
    plugins: dict[tuple[object, object], list[Subject]] = {}
    for subject in plugins_of.build(project):
        plugins.setdefault((subject.span, _key(subject.run)), []).append(subject)
    subjects: list[Subject] = []
    changed = {"plugin"} if _changes_plugins(project) else set()
    for method in METHODS:
        for found in (*project.sites(method), *_prepared(project, method)):
            for run in runs_through(project, found):
                booster = _booster(project, found, run)
                if booster is not None and not _is_asked_for(project, found, run):
                    subjects.append(_Call(project, found, run, booster).subject(method, plugins))
    folders = {folder for one in subjects if (folder := _folder(one, "save_model"))}
    loaded = {path for one in subjects if one.names["method"].only in _LOADING and (path := _path(one))}
    saved = [one for one in subjects if one.names["method"].only in _SAVING]
    for subject in subjects:
        own = _folder(subject, "save_optimizer")
        more = {"shares_folder": known(own in folders), "loads_folder": known(own is not None and own[1] in loaded)}
        if subject.names["method"].only in _LOADING:
            more["loads_folder_of_file"] = _is_folder_of_file(subject, saved)
        yield replace(subject, names={**subject.names, **more}, open_blocks=subject.open_blocks | changed)


def _changes_plugins(project: Project) -> bool:
    """Whether a program changes what a plugin has made of its arguments (``plugin.gemini_config["..."] = True``)."""
    for file in project.python_files:
        module = project.module(file)
        if not module.attributes.isdisjoint(_OF_PLUGINS):
            for _, body in bodies_of(module):
                for statement in statements(body):
                    if any(isinstance(part, ir.Attribute) and part.name in _OF_PLUGINS for part in _changed(statement)):
                        return True
    return False


def _changed(statement: ir.Stmt) -> Iterator[ir.Expr]:
    """The parts of what a statement stores into, or changes by a method of dictionaries."""
    for target in stored_into(statement):
        yield from below(target)
    call = statement.value if isinstance(statement, ir.Evaluate) else None
    if isinstance(call, ir.Call) and isinstance(call.func, ir.Attribute) and call.func.name in MUTATORS:
        yield from below(call.func.base)


def _prepared(project: Project, method: str) -> Iterator[CallSite]:
    """The calls that ``partial(booster.method, ...)`` prepares, with an end that is not seen."""
    for found in project.sites("partial"):
        call = found.site.call
        func = call.args[0] if call.args else None
        if type(func) is ir.Attribute and func.name == method:
            rest = ir.Keyword(None, ir.Name("_", call.at), call.at)
            prepared = ir.Call(func, call.args[1:], (*call.keywords, rest), call.at)
            yield found._replace(site=ir.Site(prepared, found.site.function))


def _is_folder_of_file(subject: Subject, saved: list[Subject]) -> Value:
    """Whether a checkpoint is loaded from the folder into which the same run writes it as one file under another name, and no shards."""
    path, kind = _path(subject), str(subject.names["method"].only).removeprefix("load_")
    if not path:
        return unknown("where it is loaded from is not known")
    written = [one for one in saved if one.run is subject.run and one.names["method"].only == f"save_{kind}"]
    if any(not _path(one) or _path(one) == path for one in written):
        return known(False)
    for one in written:
        shard, (folder, _, name) = one.settings.get("argument.shard"), _path(one).rpartition("/")
        is_file = shard is None or (shard.certain and shard.value.only is False)
        if folder == path and is_file and name not in _WHOLE and "argument" not in one.open_blocks:
            return known(True, one.span)
    return known(False)


def _folder(subject: Subject, method: str) -> tuple[object, str] | None:
    """The run and the folder into which a call of a method writes shards; ``None`` where it does not, or the folder is not known."""
    shard = subject.settings.get("argument.shard")
    if subject.names["method"].only != method or shard is None or shard.value.only is not True:
        return None
    path = _path(subject)
    return (_key(subject.run), path) if path else None


def _path(subject: Subject) -> str:
    """Where a call writes or reads a checkpoint; ``""`` where that is not known."""
    place = subject.settings.get("argument.checkpoint")
    path = place.value.only if place is not None and place.certain and place.value.is_known else None
    return path.rstrip("/") if isinstance(path, str) and not path.startswith("<") else ""


def _key(run: Run | None) -> object:
    return None if run is None else id(run)


def _is_asked_for(project: Project, found: CallSite, run: Run | None) -> bool:
    """Whether a test on the way that is not known may ask for the plugin, or for what it can do: by the names in it."""
    parts = [part for test in open_tests(project, found, run) for part in below(test)]
    names = [part.id for part in parts if isinstance(part, ir.Name)]
    names += [part.name for part in parts if isinstance(part, ir.Attribute)]
    return any(_WORDS.search(name) for name in names)


def _keeps_gradients(project: Project, file: str, function: int, at: ir.Position, levels: int = MAX_LEVELS) -> Value:
    """Whether gradients are on at a place; unknown where a context, a decorator or a caller that is not seen may switch them off."""
    for context in contexts_around(project.body(file, function), at):
        if not isinstance(context, ir.Call) or not project.modules.dotted(context.func, file):
            return unknown("a context is around it that is not known")
        if _WITHOUT_GRADIENTS.search(project.modules.dotted(context.func, file)):
            return known(False)
    if project.sites("set_grad_enabled"):
        return unknown("gradients are switched by calls")
    if function < 0:
        return known(True)
    ref = FunctionRef(file, function)
    callers = project.callers(ref)
    if not callers or not levels or project.function(ref).decorators:
        return unknown("the function may be called without gradients")
    ways = [_keeps_gradients(project, one.file, one.site.function, one.site.call.at, levels - 1) for one in callers]
    return known(True) if all(way.only is True for way in ways) else unknown("gradients may be off")


def _booster(project: Project, found: CallSite, run: Run | None) -> Instance | None:
    """The call that made the booster whose method is called; ``None`` where it is not one, or one of several."""
    func = found.site.call.func
    base = getattr(func, "base", None)
    if base is None:
        return None
    evaluator = project.evaluator(run)
    options = options_of(evaluator.ask(base, found.file, found.site.function))
    if len(options) != 1 or not isinstance(options[0], Instance):
        return None
    return options[0] if evaluator.modules.canonical(evaluator.instance_name(options[0])) == f"{BOOSTER}()" else None


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a method of a booster in one run."""

    project: Project
    found: CallSite
    run: Run | None
    booster: Instance

    @property
    def evaluator(self) -> Evaluator:
        return self.project.evaluator(self.run)

    def subject(self, method: str, plugins: Mapping[tuple[object, object], list[Subject]]) -> Subject:
        versions = self.project.environments.for_file(self.found.file)
        release = versions.newest(PACKAGE)
        parameters = parameters_of(method, release)
        given, is_open = argument_settings(self.project, self.found, parameters, self.run)
        settings = {
            f"argument.{name}": moved(one, f"argument.{name}")
            for name, one in given.items()
            if not (one.value.is_known and one.value.only is None)
        }
        names: dict[str, Value] = {"method": known(method, self.found.span)}
        plugin = self._plugin(plugins)
        if isinstance(plugin, Subject):
            settings |= {f"plugin.{name}": moved(one, f"plugin.{name}") for name, one in plugin.settings.items()}
            names["plugin"] = known(plugin.label, plugin.span)
            for name in ("world_size", "data_parallel_size"):
                names[name] = plugin.names[name]
            layers = plugin.settings.get("num_layers_per_stage")
            if layers is not None and layers.certain:
                names["stage_layers"] = layers.value.map(sum)
        else:
            names["plugin"] = plugin
        open_blocks = {"argument"} if is_open else set()
        if not isinstance(plugin, Subject) or plugin.open_blocks:
            open_blocks.add("plugin")
        names["keeps_gradients"] = _keeps_gradients(
            self.project, self.found.file, self.found.site.function, self.found.site.call.at
        )
        if method == "boost":
            names["feeds_scheduler"] = self._feeds_scheduler()
        names["uses_checkpointing"] = known(bool(self.project.sites("gradient_checkpointing_enable")))
        names["foreign_argument"] = self._foreign(given, parameters)
        names["has_precision"] = self._has_precision()
        if method == "save_lora_as_pretrained":
            names["has_adapters"] = self._has_adapters()
        if method == "backward":
            names["accumulates"] = self._accumulates()
        names |= self._things(parameters, release)
        if isinstance(plugin, Subject) and method == "boost":
            names |= self._checkpointed(plugin, names.get("model.layers", unknown("not known")))
        for name in sorted(_NAMES - names.keys()):
            names[name] = unknown("not known")
        return Subject(
            kind="colossalai-booster",
            label=f"{BOOSTER}.{method}",
            span=self.found.span,
            settings=settings,
            versions=versions,
            names=names,
            open_blocks=frozenset(open_blocks),
            default=lambda path: _default(plugin, path),
            run=self.run,
            extra={"call": self.found, **({"made-by": self.found.span} if method == "boost" else {})},
        )

    def _plugin(self, plugins: Mapping[tuple[object, object], list[Subject]]) -> Subject | Value:
        """The subject of the plugin that the booster got, ``NO_PLUGIN``, or unknown."""
        given = self._of_booster("plugin", 2)
        if given is None:
            return known(NO_PLUGIN, self.booster.span())
        options = options_of(given)
        if len(options) == 1 and isinstance(options[0], Leaf) and options[0].value.only is None:
            return known(NO_PLUGIN, self.booster.span()) if options[0].value.is_known else unknown("not known")
        if len(options) == 1 and isinstance(options[0], Instance):
            name = self.evaluator.modules.canonical(self.evaluator.instance_name(options[0])).removesuffix("()")
            found = plugins.get((options[0].span(), _key(self.run)), [])
            if name in FILES and len(found) == 1:
                return found[0]
        return unknown("which plugin it is, is not known")

    def _has_precision(self) -> Value:
        """Whether the booster got a mixed precision of its own."""
        given = self._of_booster("mixed_precision", 1)
        if given is None:
            return known(False, self.booster.span())
        value = given.value if isinstance(given, Leaf) else unknown("an object")
        return known(value.only is not None) if value.is_known else unknown("not known")

    def _feeds_scheduler(self) -> Value:
        """Whether a scheduler is made of the optimizer that this call gives back, where that is wrapped; with the place."""
        for scheduler in self.project.calls_to(_SCHEDULERS):
            expr, _ = find_argument(scheduler.site.call, "optimizer", 0)
            if expr is None:
                continue
            made = maker_of(self.evaluator.ask(expr, scheduler.file, scheduler.site.function))
            if made is not None and made.call is self.found.site.call and made.part == (1,):
                return known(True, ir.unpack(expr.at, scheduler.file))
        return known(False)

    def _checkpointed(self, plugin: Subject, layers: Value) -> dict[str, Value]:
        """For how many stages the numbers of layers to compute again are given, and whether a stage has fewer layers than that."""
        made = maker_of(self._of_booster("plugin", 2))
        config = maker_of(self._argument_of(made, "gradient_checkpoint_config", None))
        given = self._argument_of(config, "num_ckpt_layers_per_stage", 1)
        asked = node_value(node_of(given, self.found.span)).only if given is not None else None
        if not isinstance(asked, list | tuple) or not all(type(one) is int for one in asked):
            return {}
        held = layers_of_stages(plugin, layers.only)
        excess = [number > most for number, most in zip(asked, held, strict=False)]
        expr = find_argument(config.call, "num_ckpt_layers_per_stage", 1)[0] if config is not None else None
        places = [ir.unpack(expr.at, config.frame.file)] if config is not None and expr is not None else []
        names = {"checkpointed_stages": known(len(asked), *places)}
        return {**names, "checkpoints_too_many": known(any(excess), *places)} if held else names

    def _argument_of(self, made: Instance | None, name: str, position: int | None) -> Abstract | None:
        if made is None:
            return None
        return self.evaluator.argument(made.call, name, position, made.frame, made.state)

    def _foreign(self, given: Mapping[str, Setting], parameters: tuple[str, ...]) -> Value:
        """The first argument that the method does not take in this release; absent where there is none.

        Only of boosters that another file makes: what others are is seen by the rules about released calls.
        """
        if self.booster.frame.file == self.found.file:
            return absent()
        for name, setting in given.items():
            if setting.certain and name not in parameters:
                return known(name, setting.key_span)
        return absent()

    def _has_adapters(self) -> Value:
        """False where the run comes here for sure, and puts no adapters into any model; else unknown."""
        if self.run is None or any(self.project.mentions(word) for word in _ADAPTING):
            return unknown("another library may put adapters in")
        if any(True for _ in open_tests(self.project, self.found, self.run)):
            return unknown("a test decides whether they are saved")
        if any(comes_to(self.project, one, self.run) for one in self.project.sites("enable_lora")):
            return unknown("they may be put in")
        return known(False, self.found.span)

    def _accumulates(self) -> Value:
        """Whether only some of the backward passes of this function are followed by a step: it stands under ``n % several == 0``."""
        file, function = self.found.file, self.found.site.function
        body = self.project.body(file, function)
        own = {guard.at for guard in guards_of(body, self.found.site.call.at) or ()}
        for site in self.project.sites("step"):
            if (site.file, site.site.function) != (file, function) or not isinstance(site.site.call.func, ir.Attribute):
                continue
            stepped = self.evaluator.ask(site.site.call.func.base, file, function)
            if is_boosted(self.evaluator, stepped, "optimizer").only is not True:
                continue
            guards = [guard for guard in guards_of(body, site.site.call.at) or () if guard.at not in own]
            tests = [guard.test for guard in guards if guard.kind == "if" and guard.holds and guard.test is not None]
            if any(self._counts_several(test) for test in tests):
                return known(True, site.span)
            return unknown("a test decides about the step") if tests else known(False)
        return unknown("no step is seen beside it")

    def _counts_several(self, test: ir.Expr) -> bool:
        """Whether a test is ``counter % several == rest``, with more than one for several."""
        for part in below(test):
            if type(part) is ir.Operation and part.operators == ("%",):
                number = self.evaluator.value(part.operands[1], self.found.file, self.found.site.function)
                if number.is_known and type(number.only) is int and number.only > 1:
                    return True
        return False

    def _of_booster(self, name: str, position: int) -> Abstract | None:
        booster = self.booster
        return self.evaluator.argument(booster.call, name, position, booster.frame, booster.state)

    def _things(self, parameters: tuple[str, ...], release: str) -> dict[str, Value]:
        """What is known of the model, the optimizer and the batches that the call gets."""
        names: dict[str, Value] = {}
        model, optimizer = self._argument("model", parameters), self._argument("optimizer", parameters)
        if model is not None:
            names["model.boosted"] = self._is_boosted(model, "model", parameters)
            names |= model_facts(self.project, self.evaluator, before_boost(self.evaluator, model, "model"), release)
        if optimizer is not None:
            names["optimizer.boosted"] = self._is_boosted(optimizer, "optimizer", parameters)
            made = before_boost(self.evaluator, optimizer, "optimizer")
            names["optimizer.kind"] = self._class(made)
            names["optimizer.foreign_module"] = foreign_module(self.project, self.evaluator, self.found, maker_of(made))
        elif "optimizer" in parameters:
            names["optimizer.kind"] = absent()
        lora = self._argument("lora_config", parameters)
        if lora is not None:
            names["lora_is_mapping"] = known(all(isinstance(option, Tree) for option in options_of(lora)))
        batches = self._argument("data_iter", parameters)
        if batches is not None:
            expr, _ = find_argument(self.found.site.call, "data_iter", parameters.index("data_iter"))
            names["gets_batch"] = gets_batch(self.evaluator, batches)
            names["batch_size"] = batch_size(self.evaluator, self.run, self.found, expr, batches)
        return names

    def _is_boosted(self, given: Abstract, name: str, parameters: tuple[str, ...]) -> Value:
        """Whether an argument came out of ``boost``: not so where one of the callers surely hands over something else in this run."""
        found = is_boosted(self.evaluator, given, name)
        if not found.is_unknown or self.run is None:
            return found
        expr, _ = find_argument(self.found.site.call, name, parameters.index(name))
        stranger = unboosted_by_caller(self.project, self.found, self.run, expr, name)
        return known(False, stranger) if stranger is not None else found

    def _argument(self, name: str, parameters: tuple[str, ...]) -> Abstract | None:
        if name not in parameters:
            return None
        call, function = self.found.site.call, self.found.site.function
        frame = self.evaluator.frame(self.found.file, function)
        given = self.evaluator.argument(call, name, parameters.index(name), frame)
        is_none = isinstance(given, Leaf) and given.value.is_known and given.value.only is None
        return None if is_none else given

    def _class(self, value: Abstract) -> Value:
        """The class of an object by the library name of what made it, or the bare name of a class of optimizers of the project."""
        options = options_of(value)
        if len(options) != 1 or not isinstance(options[0], Instance) or options[0].part:
            return unknown("what made it is not known")
        made = options[0]
        if isinstance(made.callee, ClassRef):
            own = self.evaluator.project.class_(made.callee)
            is_own = self._is_optimizer(made.callee) and not own.decorators
            return known(own.name, made.span()) if is_own else unknown("a class of the project")
        name = self.evaluator.modules.canonical(self.evaluator.instance_name(made)).removesuffix("()")
        return known(name, made.span()) if "." in name and "()" not in name else unknown("a class of the project")

    def _is_optimizer(self, ref: ClassRef) -> bool:
        """Whether a class is derived from optimizers alone, and its objects are its own."""
        modules = self.evaluator.modules
        bases = {modules.canonical(one) for one in modules.external_bases(ref)}
        made_otherwise = any(modules.method(ref, one) is not None for one in ("__new__", "__class__"))
        return (
            bool(bases)
            and not modules.has_unknown_base(ref)
            and not made_otherwise
            and all(map(_names_optimizer, bases))
        )


def _names_optimizer(name: str) -> bool:
    return name.startswith(("torch.optim.", "colossalai.nn.optimizer."))


def _default(plugin: Subject | Value, path: str) -> Value:
    head, _, tail = path.partition(".")
    return plugin.default(tail) if head == "plugin" and isinstance(plugin, Subject) else absent()
