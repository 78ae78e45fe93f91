"""Colossal-AI's inference engines: one subject per engine that is made, and per call of one of its methods, and run.

The arguments of the call stand below ``argument.``, those of the ``InferenceConfig`` that the engine got below ``config.``; what is
known of the model is called as for a booster. Parameters and defaults are those of the release in use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.boosted import maker_of, name_of
from distlint.frameworks.colossalai.models import NAMES as MODEL_NAMES
from distlint.frameworks.colossalai.models import model_facts
from distlint.frameworks.colossalai.plugins import PACKAGE, Constructor, signature, symbol_in
from distlint.frameworks.general import argument_settings, moved
from distlint.frameworks.reaching import runs_through
from distlint.link.abstract import Frame, Instance, node_of, options_of
from distlint.model.document import Leaf, node_value
from distlint.model.document import Mapping as Tree
from distlint.model.document import Sequence as Row
from distlint.model.record import dataclass
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run

_INFERENCE = "colossalai.inference"
ENGINES = {
    f"{_INFERENCE}.InferenceEngine": "InferenceEngine",
    f"{_INFERENCE}.core.InferenceEngine": "InferenceEngine",
    f"{_INFERENCE}.core.engine.InferenceEngine": "InferenceEngine",
    f"{_INFERENCE}.engine.InferenceEngine": "InferenceEngine",
    f"{_INFERENCE}.engine.engine.InferenceEngine": "InferenceEngine",
    # what an InferenceEngine makes of a language model (``inference/core/engine.py``, 0.4.1 to 0.5.0), with the same arguments
    f"{_INFERENCE}.core.llm_engine.LLMEngine": "InferenceEngine",
    f"{_INFERENCE}.CaiInferEngine": "CaiInferEngine",
    f"{_INFERENCE}.hybridengine.CaiInferEngine": "CaiInferEngine",
    f"{_INFERENCE}.tensor_parallel.TPInferEngine": "TPInferEngine",
    f"{_INFERENCE}.tensor_parallel.engine.TPInferEngine": "TPInferEngine",
}
"""The engines of all releases by the names that they are imported under."""
_CONFIG = f"{_INFERENCE}.config.InferenceConfig"
_CONFIGS = frozenset({_CONFIG, f"{_INFERENCE}.InferenceConfig"})
_GENERATION = frozenset({"transformers.GenerationConfig", "transformers.generation.GenerationConfig"})
_LENGTH = 20
"""The ``max_length`` of a ``GenerationConfig`` that is not told another (``transformers/generation/configuration_utils.py``)."""
_BEHIND = f"{_INFERENCE}.core.llm_engine.LLMEngine"
"""What an ``InferenceEngine`` hands its calls to from 0.4.1 on (``inference/core/engine.py``)."""
_MADE = "init"
METHODS = ("enable_spec_dec", "format_prompt", "generate")
"""The methods of an engine that look at what they get."""
_NAMES = frozenset(
    {
        "method",
        "engine",
        "adds_requests",
        "world_size",
        "config_kind",
        "foreign_argument",
        "gets_tokenizer",
        "generation_kind",
        "generation_length",
        "is_drafted",
        "prompt_bytes",
        *MODEL_NAMES,
    }
)


def known_path(path: str) -> bool:
    """Whether a condition over an engine may use a path."""
    head, _, tail = path.partition(".")
    return path in _NAMES or (head in ("argument", "config") and tail.isidentifier())


def build(project: Project) -> Iterator[Subject]:
    """The subjects of a project; none where nothing makes an engine."""
    made = list(project.calls_to(ENGINES.keys()))
    for found in made:
        for run in runs_through(project, found):
            frame = project.evaluator(run).frame(found.file, found.site.function)
            yield _Use(project, found, run, _MADE, ENGINES[found.name], frame, None).subject()
    for method in METHODS if made else ():
        for found in project.sites(method):
            for run in runs_through(project, found):
                maker = _maker(project, found, run)
                if maker is not None:
                    engine = ENGINES[project.evaluator(run).instance_name(maker).removesuffix("()")]
                    yield _Use(project, found, run, method, engine, maker.frame, maker).subject()


def _maker(project: Project, found: CallSite, run: Run | None) -> Instance | None:
    """The call that made the engine whose method is called; ``None`` where it is none, or one of several."""
    base = getattr(found.site.call.func, "base", None)
    if base is None:
        return None
    evaluator = project.evaluator(run)
    made = _instance(evaluator.ask(base, found.file, found.site.function))
    return made if made is not None and evaluator.instance_name(made).removesuffix("()") in ENGINES else None


def _instance(value: Abstract | None) -> Instance | None:
    """The one call that made an object, whole."""
    made = maker_of(value)
    return made if made is not None and not made.part else None


@dataclass(frozen=True, slots=True)
class _Use:
    """The making of an engine (``maker`` is none), or a call of a method of one that ``maker`` made in ``frame``."""

    project: Project
    found: CallSite
    run: Run | None
    method: str
    engine: str
    frame: Frame
    maker: Instance | None

    @property
    def evaluator(self) -> Evaluator:
        return self.project.evaluator(self.run)

    def subject(self) -> Subject:
        """The subject of this use."""
        versions = self.project.environments.for_file(self.found.file)
        release = versions.newest(PACKAGE)
        made_as = signature(self._engine_symbol(), release)
        taken = made_as if self.maker is None else self._taken(release)
        given, is_open = argument_settings(self.project, self.found, taken.parameters, self.run)
        settings = {
            f"argument.{name}": moved(one, f"argument.{one.path}") for name, one in given.items() if not _is_none(one)
        }
        open_blocks = {"argument"} if is_open else set()
        config = self._of_engine("inference_config", made_as)
        config_as = signature(_CONFIG, release)
        instance = _instance(config)
        if instance is not None and self._named(instance) in _CONFIGS:
            more, is_open = self._arguments(instance, config_as.parameters)
            settings |= {f"config.{one.path}": moved(one, f"config.{one.path}") for one in more}
            open_blocks |= {"config"} if is_open else set()
        elif "inference_config" in made_as.parameters:
            open_blocks.add("config")
        names = {
            "method": known(self.method, self.found.span),
            "engine": known(self.engine, self.found.span),
            "world_size": self.run.world_size if self.run is not None else unknown("no launch is known"),
            "adds_requests": known(bool(self.project.sites("add_request"))),
            "config_kind": self._config_kind(config, made_as),
            "gets_tokenizer": known(self._of_engine("tokenizer", made_as) is not None),
            "foreign_argument": self._foreign(given, taken, release),
        }
        model = self._of_engine("model_or_path", made_as) or self._of_engine("model", made_as)
        if model is not None:
            names |= model_facts(self.project, self.evaluator, model, release)
        if self.method == "generate":
            names |= self._generation(taken)
        if self.method == "enable_spec_dec":
            names["is_drafted"] = self._is_drafted(given, is_open="argument" in open_blocks)
        return Subject(
            kind="colossalai-engine",
            label=f"{self.engine}.{self.method}",
            span=self.found.span,
            settings=settings,
            versions=versions,
            names={**{name: unknown("not known") for name in sorted(_NAMES)}, **names},
            open_blocks=frozenset(open_blocks),
            default=lambda path: _default(taken, config_as, path),
            run=self.run,
            extra={"call": self.found},
        )

    def _engine_symbol(self) -> str:
        if self.maker is None:
            return self.found.name
        return self.evaluator.instance_name(self.maker).removesuffix("()")

    def _taken(self, release: str) -> Constructor:
        """What the method takes: that of the engine behind, where this one hands all on."""
        owner = _BEHIND if self._hands_on(release) else self._engine_symbol()
        return signature(f"{owner}.{self.method}", release)

    def _of_engine(self, name: str, made_as: Constructor) -> Abstract | None:
        """An argument of the call that made the engine; ``None`` where it is not given."""
        if name not in made_as.parameters:
            return None
        call, state = (self.found.site.call, None) if self.maker is None else (self.maker.call, self.maker.state)
        return self.evaluator.argument(call, name, made_as.parameters.index(name), self.frame, state)

    def _argument(self, name: str, taken: Constructor) -> Abstract | None:
        frame = self.evaluator.frame(self.found.file, self.found.site.function)
        position = taken.parameters.index(name) if name in taken.parameters else None
        return self.evaluator.argument(self.found.site.call, name, position, frame)

    def _named(self, made: Instance) -> str:
        return name_of(self.evaluator, made).removesuffix("()")

    def _config_kind(self, config: Abstract | None, made_as: Constructor) -> Value:
        """``InferenceConfig``, ``dict``, or ``none`` where nothing or None is given; absent for engines without a configuration."""
        if "inference_config" not in made_as.parameters:
            return absent()
        if config is None:
            call = self.found.site.call if self.maker is None else self.maker.call
            is_seen = not any(keyword.name is None for keyword in call.keywords)
            return known("none") if is_seen else unknown("may be given where we can't see")
        options = options_of(config)
        if len(options) == 1 and isinstance(options[0], Tree):
            return known("dict", options[0].span)
        if len(options) == 1 and isinstance(options[0], Leaf) and options[0].value.is_known:
            return known("none" if options[0].value.only is None else "text", options[0].span)
        made = _instance(config)
        is_config = made is not None and self._named(made) in _CONFIGS
        return known("InferenceConfig", made.span()) if made is not None and is_config else unknown("not known")

    def _arguments(self, made: Instance, parameters: Sequence[str]) -> tuple[list[Setting], bool]:
        """The arguments of a call that made an object, and whether there may be others that we can't see."""
        given = self.evaluator.keyword_mapping(made.call, made.frame, made.state, made.span())
        settings = [
            Setting(
                str(entry.key),
                node_value(entry.node).at(entry.node.span),
                entry.key_span,
                entry.node.span,
                certain=entry.certain,
            )
            for entry in given.entries
        ]
        seen = {one.path for one in settings}
        for position, name in enumerate(parameters[: len(made.call.args)]):
            value = self.evaluator.argument(made.call, name, position, made.frame, made.state)
            if value is not None and name not in seen:
                node = node_of(value, made.span())
                settings.append(Setting(name, node_value(node).at(node.span), node.span, node.span))
        return [one for one in settings if not _is_none(one)], given.open

    def _hands_on(self, release: str) -> bool:
        """Whether the engine hands a call on to one behind it with whatever it gets."""
        symbol = symbol_in(f"{self._engine_symbol()}.{self.method}", release)
        return symbol is None or any(one.kind == "var-keyword" for one in symbol.parameters or ())

    def _foreign(self, given: dict[str, Setting], taken: Constructor, release: str) -> Value:
        """The first argument that the engine behind does not take, where this one hands all on; absent where there is none."""
        if self.maker is None or not taken.parameters or not self._hands_on(release):
            return absent()
        wrong = [one for name, one in given.items() if one.certain and name not in taken.parameters]
        return known(wrong[0].path, wrong[0].key_span) if wrong else absent()

    def _generation(self, taken: Constructor) -> dict[str, Value]:
        """The kind of a generation configuration, the length that it sets, and the size of the longest prompt in bytes."""
        names: dict[str, Value] = {}
        config = self._argument("generation_config", taken)
        made = _instance(config)
        options = options_of(config) if config is not None else ()
        if len(options) == 1 and isinstance(options[0], Tree):
            names["generation_kind"] = known("dict", options[0].span)
        elif made is not None and self._named(made) in _GENERATION:
            names["generation_kind"] = known("GenerationConfig", made.span())
            given, is_open = self._arguments(made, ())
            lengths = [one for one in given if one.path == "max_length"]
            if lengths:
                names["generation_length"] = lengths[0].value if lengths[0].certain else unknown("not in every run")
            elif not is_open:
                names["generation_length"] = known(_LENGTH, made.span())
        names["prompt_bytes"] = _size(self._argument("prompts", taken))
        return names

    def _is_drafted(self, given: dict[str, Setting], *, is_open: bool) -> Value:
        """Whether there is a model to draft with: this call gives one, or another one may have given it."""
        drafter = given.get("drafter_model")
        if drafter is not None and not _is_none(drafter):
            return known(True, drafter.key_span)
        if is_open or len(self.project.sites("enable_spec_dec")) > 1:
            return unknown("another call may have given it")
        return known(False, self.found.span)


def _size(prompts: Abstract | None) -> Value:
    """The bytes of the longest prompt: a tokenizer makes no more tokens of it than these and those around it."""
    options = options_of(prompts) if prompts is not None else ()
    given = options[0] if len(options) == 1 else None
    parts = given.items if isinstance(given, Row) and not given.open else (given,)
    texts = [part.value.only if isinstance(part, Leaf) and part.value.is_known else None for part in parts]
    sizes = [len(text.encode("utf-8", "replace")) for text in texts if isinstance(text, str)]
    if not sizes or len(sizes) != len(texts) or not isinstance(given, Row | Leaf):
        return unknown("a prompt is not known")
    return known(max(sizes), given.span)


def _is_none(setting: Setting) -> bool:
    return setting.value.is_known and setting.value.only is None


def _default(taken: Constructor, config_as: Constructor, path: str) -> Value:
    head, _, tail = path.partition(".")
    value = (taken if head == "argument" else config_as).defaults.get(tail)
    return known(value) if value is not None else absent()
