"""The configuration of Colossal-AI's older interface: a Python file, or a dictionary, that a launch function gets.

``colossalai.launch*(config=...)`` reads it up to 0.3.2; the same functions of ``colossalai.legacy`` do since 0.3.3. A subject has
the keys as settings (``parallel.tensor.mode``), a bare ``parallel.pipeline`` as ``parallel.pipeline.size``; sources:
``context/config.py``, ``context/parallel_context.py`` and ``initialize.py`` of 0.2.8, and the same below ``legacy`` of 0.5.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import TYPE_CHECKING

from distlint.frameworks.colossalai.configured_parts import foreign_precision_key, refused_handler
from distlint.frameworks.reaching import runs_through
from distlint.link.abstract import Instance, ObjectLeaf, Reference, node_of, options_of
from distlint.link.arguments import find_argument
from distlint.link.documents import respanned
from distlint.link.modules import External
from distlint.link.process_counts import product
from distlint.link.variables import module_variable
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, node_value
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project
    from distlint.model.document import Node
    from distlint.model.launch import Run
    from distlint.model.span import Span

_FUNCTIONS = ("launch", "launch_from_torch", "launch_from_slurm", "launch_from_openmpi")
LAUNCHES = frozenset(f"colossalai.{module}{name}" for name in _FUNCTIONS for module in ("", "initialize."))
LEGACY = frozenset(f"colossalai.legacy.{module}{name}" for name in _FUNCTIONS for module in ("", "initialize."))
STARTS = frozenset({"colossalai.initialize", "colossalai.legacy.initialize", "colossalai.legacy.initialize.initialize"})
_CLASSES = frozenset(
    f"colossalai.{package}context.{module}Config" for package in ("", "legacy.") for module in ("", "config.")
)
_NAMES = frozenset(
    {
        "world_size",
        "is_legacy",
        "is_initialized",
        "gets_loader",
        "parallel_product",
        "is_square",
        "is_cube",
        "is_tesseract",
        "tensor_is_number",
        "handler_fault",
        "foreign_precision_key",
    }
)
_KEYS = frozenset(
    {
        "fp16",
        "fp16.mode",
        "NUM_MICRO_BATCHES",
        "clip_grad_norm",
        "fp16.dynamic_grad_scale",
        "fp16.initial_scale",
        "fp16.verbose",
        "gradient_accumulation",
        "gradient_handler",
        "model.num_chunks",
        "parallel.pipeline.size",
        "parallel.tensor.depth",
        "parallel.tensor.mode",
        "parallel.tensor.size",
        "zero",
        "zero.model_config",
        "zero.model_config.shard_strategy",
    }
)
_MAX_DEPTH = 3


def known_path(path: str) -> bool:
    """Whether a condition over an old configuration may use a path."""
    return path in _NAMES or path in _KEYS


def build(project: Project) -> Iterator[Subject]:
    """One subject per launch function that gets a configuration, and run that reaches it."""
    starts = list(project.calls_to(STARTS))
    for found in project.calls_to(LAUNCHES | LEGACY):
        expr, _ = find_argument(found.site.call, "config", 0)
        if expr is None:
            continue
        for run in runs_through(project, found):
            read = _read(project, found, expr, run)
            if read is not None:
                yield _subject(project, found, run, read, starts)


def _read(project: Project, found: CallSite, expr: ir.Expr, run: Run | None) -> Mapping | None:
    """The configuration that a launch function gets; ``None`` where it is not known to be one."""
    evaluator = project.evaluator(run)
    options = options_of(evaluator.ask(expr, found.file, found.site.function))
    if len(options) == 1 and isinstance(options[0], Instance):
        held = _held(evaluator, options[0])
        if isinstance(held, Mapping):
            held = _replaced(held, options[0], ir.unpack(expr.at, found.file))
        options = options_of(held) if held is not None else ()
    if len(options) != 1:
        return None
    if isinstance(options[0], Mapping):
        return options[0]
    path = options[0].value if isinstance(options[0], Leaf) else None
    if path is None or not path.is_known or not isinstance(path.only, str) or not path.only.endswith(".py"):
        return None
    started = [run.launch.directory] if run is not None and run.launch is not None and run.launch.directory else []
    file = project.documents.path_of(path, found.file, started)
    facts = project.file_facts(file) if file else None
    return _module(project, file, run) if facts is not None and facts.module is not None and facts.module.body else None


def _held(evaluator: Evaluator, made: Instance) -> Abstract | None:
    """The dictionary that a configuration object is made of, or the path that it is read from (``context/config.py``)."""
    name = evaluator.modules.canonical(evaluator.instance_name(made)).removesuffix("()")
    if made.part or name not in _CLASSES | {f"{one}.from_file" for one in _CLASSES}:
        return None
    return evaluator.argument(
        made.call, "filename" if name.endswith("from_file") else "config", 0, made.frame, made.state
    )


def _replaced(held: Mapping, made: Instance, place: Span) -> Mapping:
    """A dictionary with keys of which only the object is known that holds them placed where that is used."""
    spans = {ir.unpack(one.at, made.frame.file) for one in made.call.args}
    entries = (
        Entry(one.key, place, respanned(one.node, place), one.certain) if one.key_span in spans else one
        for one in held.entries
    )
    return Mapping(tuple(entries), held.span, held.open)


def _module(project: Project, file: str, run: Run | None) -> Mapping:
    """The variables of a configuration file when it has run, as the framework takes them over."""
    evaluator = project.evaluator(run)
    entries: dict[str, Entry] = {}
    module = project.module(file)
    for statement in statements(module.body):
        if type(statement) is not ir.Assign or statement.value is None:
            continue
        for target in statement.targets:
            if type(target) is not ir.Name:
                continue
            place = ir.unpack(target.at, file)
            # what stands there in the end, which tests and later statements may decide
            node = node_of(module_variable(evaluator, target.id, file, place), place)
            entries[target.id] = Entry(target.id, place, node)
    whole = ir.unpack(module.body[0].at, file)
    plain = all(type(one) in (ir.Assign, ir.Evaluate) for one in module.body)
    return Mapping(tuple(entries.values()), whole, not plain)


def _settings(node: Mapping, path: str, settings: dict[str, Setting], depth: int) -> None:
    for entry in node.entries:
        own = f"{path}.{entry.key}" if path else str(entry.key)
        inner = entry.node
        if isinstance(inner, Mapping) and depth < _MAX_DEPTH:
            settings[own] = Setting(own, known(True), entry.key_span, inner.span, certain=entry.certain)
            _settings(inner, own, settings, depth + 1)
        elif own in ("parallel.pipeline", "parallel.tensor"):
            name = f"{own}.size"
            settings[name] = Setting(name, _value(inner), entry.key_span, inner.span, certain=entry.certain)
        else:
            settings[own] = Setting(own, _value(inner), entry.key_span, inner.span, certain=entry.certain)


def _value(node: Node) -> Value:
    """A plain value; the member of an enumeration of Colossal-AI by its name (``AMP_TYPE.NAIVE``)."""
    thing: Abstract | None = node.object if isinstance(node, ObjectLeaf) else None
    if isinstance(thing, Reference) and isinstance(thing.target, External):
        return known(".".join(thing.target.name.split(".")[-2:]), node.span)
    value = node_value(node)
    return value if value.spans else value.at(node.span)


def _gets_loader(project: Project, run: Run | None, starts: list[CallSite]) -> Value:
    """Whether what makes the engine gets batches to train with: something else than nothing, in some of the calls."""
    given = []
    for found in starts:
        evaluator = project.evaluator(run)
        frame = evaluator.frame(found.file, found.site.function)
        spread = any(one.name is None for one in found.site.call.keywords)
        value = evaluator.argument(found.site.call, "train_dataloader", 3, frame)
        if value is None and (spread or any(type(one) is ir.Starred for one in found.site.call.args)):
            return unknown("it may be given where we can't see")
        is_none = isinstance(value, Leaf) and value.value.is_known and value.value.only is None
        given.append(value is not None and not is_none)
    return known(any(given), *(one.span for one in starts[:1]))


def _subject(project: Project, found: CallSite, run: Run | None, read: Mapping, starts: list[CallSite]) -> Subject:
    settings: dict[str, Setting] = {}
    _settings(read, "", settings, 0)
    size, pipeline = _size(settings, "parallel.tensor.size"), _size(settings, "parallel.pipeline.size")
    depth = settings["parallel.tensor.depth"].value if "parallel.tensor.depth" in settings else absent()
    return Subject(
        kind="colossalai-config",
        label=read.span.file,
        span=found.span,
        settings=settings,
        versions=project.environments.for_file(found.file),
        names={
            "world_size": run.world_size if run is not None else unknown("no launch is known"),
            "is_legacy": known(found.name in LEGACY),
            "is_initialized": known(bool(starts)),
            "gets_loader": _gets_loader(project, run, starts),
            "parallel_product": product(size, pipeline),
            "tensor_is_number": known("parallel" in settings and "parallel.tensor" not in settings),
            "is_square": size.map(lambda number: isqrt(number) ** 2 == number),
            "is_cube": size.map(lambda number: round(number ** (1 / 3)) ** 3 == number),
            "is_tesseract": _is_tesseract(size, depth),
            "handler_fault": refused_handler(project, read),
            "foreign_precision_key": foreign_precision_key(settings),
        },
        open_blocks=frozenset({""}) if read.open else frozenset(),
        run=run,
    )


def _size(settings: dict[str, Setting], path: str) -> Value:
    """A parallel size, 1 where it is not given."""
    setting = settings.get(path)
    if setting is None:
        return known(1)
    value = setting.value
    if not setting.certain or not value.is_known:
        return unknown(value.reason or "the size is not known", *value.spans)
    if value.only is None:
        return known(1)
    return value if type(value.only) is int and value.only > 0 else unknown("the size is no number")


def _is_tesseract(size: Value, depth: Value) -> Value:
    """Whether a size is the depth times a square."""
    if not size.is_known or not depth.is_known or type(depth.only) is not int or depth.only < 1:
        return unknown("the size or the depth is not known")
    rest, over = divmod(size.only, depth.only)
    return known(not over and isqrt(rest) ** 2 == rest)
