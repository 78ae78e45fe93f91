"""``TrainingArguments`` of a run: keyword arguments, options on the command line, keys of a YAML or JSON file.

Names and the order of precedence are those of transformers' ``HfArgumentParser`` and of the trainers built on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from distlint.frameworks.general import argument_settings
from distlint.frameworks.huggingface.written_words import only_by_caller, written_words
from distlint.link.modules import ClassRef, External
from distlint.link.options import split_flag
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.document import Mapping, node_value
from distlint.model.launch import Argument, Launch, Run
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.subject import Setting
from distlint.model.value import Value, known

if TYPE_CHECKING:
    from distlint.link.project import Project

CLASSES = (
    "transformers.TrainingArguments",
    "transformers.Seq2SeqTrainingArguments",
    "transformers.training_args.TrainingArguments",
    "trl.SFTConfig",
    "trl.DPOConfig",
    "trl.KTOConfig",
    "trl.ORPOConfig",
    "trl.RewardConfig",
    "trl.GRPOConfig",
)
"""The dataclasses whose fields are training arguments."""

PARSERS = ("transformers.HfArgumentParser", "trl.TrlParser")

TRL = "trl."

TRL_FIELDS = frozenset({"learning_rate", "bf16", "fp16", "gradient_accumulation_steps", "per_device_train_batch_size"})
"""Fields for which TRL's classes have defaults of their own in some release (trl/trainer/*_config.py)."""

DEFAULTS: dict[str, Any] = {
    "per_device_train_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "learning_rate": 5e-5,
    "weight_decay": 0.0,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
    "warmup_steps": 0,
    "fp16": False,
    "bf16": False,
    "fp16_full_eval": False,
    "bf16_full_eval": False,
    "auto_find_batch_size": False,
}
"""Defaults of the fields that a DeepSpeed configuration is compared with.

transformers/training_args.py, the same from 4.6 to 5.x.
"""


@dataclass(slots=True)
class TrainingArguments:
    """The training arguments of one run, made at ``span``; ``open`` says that more may be given than we can see."""

    settings: dict[str, Setting] = field(default_factory=dict)
    open: bool = False
    span: Span | None = None
    redefined: frozenset[str] = frozenset()
    """Fields to which the class gives a default of its own."""
    by_caller: bool = False
    """Whether ``open`` means the words of whoever starts the program alone: started plainly it has no others."""

    def value(self, name: str) -> Value:
        """What an argument is: given, or its default where we know that nothing is given."""
        setting = self.settings.get(name)
        if setting is not None:
            return setting.value
        from distlint.model.value import absent, unknown

        if self.open:
            return unknown(f"`{name}` may be given where we can't see")
        if name in self.redefined:
            return unknown(f"the class has a default of its own for `{name}`")
        return known(DEFAULTS[name]) if name in DEFAULTS else absent()


def training_arguments(project: Project, run: Run) -> TrainingArguments | None:
    """The training arguments of a run, or ``None`` if its script makes none."""
    closure = project.closure(run.script_file)
    parsed = _parsed_as_options(project, closure)
    made = [found for found in training_calls(project) if found.file in closure]
    if parsed is not None:
        arguments = _from_command_line(project, run, parsed, closure)
        arguments.redefined = redefined_fields(project, parsed)
        return arguments
    if len(made) != 1:
        return None if not made else TrainingArguments(open=True, span=made[0].span)
    settings, is_open = argument_settings(project, made[0], ["output_dir"], run)
    return TrainingArguments(settings, is_open, made[0].span, redefined_fields(project, made[0]))


def redefined_fields(project: Project, found: CallSite) -> frozenset[str]:
    """The fields whose default a class changes: that of a call, or those that a parser is given."""
    call = found.site.call
    classes: list[ir.Expr] = [call.func]
    for given in call.args[:1]:
        classes += given.items if type(given) is ir.ListDisplay else [given]
    names: set[str] = set()
    for expr in classes:
        target = project.modules.resolve(expr, found.file)
        if isinstance(target, External) and target.name.startswith(TRL):
            names |= TRL_FIELDS
        elif isinstance(target, ClassRef):
            names |= _fields_of(project, target)
    return frozenset(names)


def _fields_of(project: Project, owner: ClassRef) -> set[str]:
    """What the bodies of a project class and of the project classes that it derives from assign."""
    if any(base.startswith(TRL) for base in project.modules.external_bases(owner)):
        return set(DEFAULTS)
    names: set[str] = set()
    stack, seen = [owner], {owner}
    while stack:
        one = stack.pop()
        definition = project.class_(one)
        names |= {
            target.id
            for statement in definition.body
            if type(statement) is ir.Assign
            for target in statement.targets
            if type(target) is ir.Name
        }
        for base in definition.bases:
            above = project.modules.resolve(base, one.file)
            if isinstance(above, ClassRef) and above not in seen:
                seen.add(above)
                stack.append(above)
    return names


_FOUND: WeakKeyDictionary[Project, tuple[CallSite, ...]] = WeakKeyDictionary()
"""The calls of each project, looked for once."""


def training_calls(project: Project) -> tuple[CallSite, ...]:
    """Every construction of training arguments, also of the project's own subclasses."""
    found = _FOUND.get(project)
    if found is None:
        found = _FOUND[project] = tuple(_training_calls(project))
    return found


def _training_calls(project: Project) -> Iterator[CallSite]:
    yield from project.calls_to(CLASSES)
    for file in project.python_files:
        module = project.module(file)
        for index, definition in enumerate(module.classes):
            owner = ClassRef(file, index)
            if definition.bases and project.modules.external_bases(owner) & set(CLASSES):
                for found in project.sites(definition.name):
                    if project.modules.resolve(found.site.call.func, found.file) == owner:
                        yield found._replace(name=CLASSES[0])


def _parsed_as_options(project: Project, closure: frozenset[str]) -> CallSite | None:
    """The dataclass parser of a script that takes training arguments, if there is one."""
    for found in project.calls_to(PARSERS):
        if found.file not in closure or not found.site.call.args:
            continue
        given = found.site.call.args[0]
        for expr in given.items if type(given) is ir.ListDisplay else (given,):
            target = project.modules.resolve(expr, found.file)
            if isinstance(target, External) and target.name in CLASSES:
                return found
            if isinstance(target, ClassRef) and project.modules.external_bases(target) & set(CLASSES):
                return found
    return None


def parses_strictly(project: Project, run: Run) -> bool:
    """Whether the script of a run parses training arguments and refuses options that it does not know."""
    closure = project.closure(run.script_file)
    if _parsed_as_options(project, closure) is None:
        return False
    for method in ("parse_args_into_dataclasses", "parse_args_and_config"):
        for found in project.sites(method):
            given = {keyword.name for keyword in found.site.call.keywords}
            if found.file in closure and given & {"return_remaining_strings", "fail_with_unknown_args", None}:
                return False
    return True


def _from_command_line(project: Project, run: Run, parsed: CallSite, closure: frozenset[str]) -> TrainingArguments:
    arguments = TrainingArguments(span=parsed.span)
    written = written_words(project, run, closure)
    launch = run.launch
    if written is not None:
        arguments.open, arguments.by_caller = written.open, written.by_caller
        words = written.words
    elif launch is None:
        arguments.open = True
        return arguments
    else:
        arguments.open = launch.open_arguments
        arguments.by_caller = launch.open_arguments and only_by_caller(launch)
        _add_argument_file(project, launch, arguments)
        words = launch.arguments
    for name, value, span in words_as_settings(words):
        previous = arguments.settings.get(name)
        arguments.settings[name] = Setting(name, value, span, value.spans[0] if value.spans else span, previous)
    return arguments


def relayed_arguments(project: Project, launch: Launch) -> TrainingArguments:
    """The training arguments on the command line of a program that hands them on, its argument file included."""
    arguments = TrainingArguments(span=launch.span, open=launch.open_arguments)
    _add_argument_file(project, launch, arguments)
    for name, value, span in words_as_settings(launch.arguments):
        arguments.settings[name] = Setting(name, value, span, value.spans[0] if value.spans else span)
    return arguments


def _add_argument_file(project: Project, launch: Launch, arguments: TrainingArguments) -> None:
    """A first word that names a YAML or JSON file holds the arguments."""
    for word in launch.arguments:
        text = word.value.only
        if isinstance(text, str) and text.endswith((".yaml", ".yml", ".json")) and not text.startswith("-"):
            document = project.documents.found(word.value, launch.script_file, [launch.directory or ""])
            if document is None:
                arguments.open = True
            elif isinstance(document.root, Mapping):
                for entry in document.root.entries:
                    value = node_value(entry.node)
                    if isinstance(entry.key, str):
                        arguments.settings[entry.key] = Setting(entry.key, value, entry.key_span, entry.node.span)
                arguments.open = arguments.open or document.root.open
        return


def words_as_settings(words: Sequence[Argument]) -> Iterator[tuple[str, Value, Span]]:
    """The options of a command line: name with underscores, value (a number or bool where it reads as one), place."""
    for index, word in enumerate(words):
        flag, inline = split_flag(word)
        if not flag.startswith("--"):
            continue
        name = flag[2:].replace("-", "_")
        if inline is not None:
            yield name, inline.map(_typed), word.span
        elif index + 1 < len(words) and not _is_flag(words[index + 1].value):
            value = words[index + 1].value
            yield name, value.map(_typed).at(*(value.spans or (words[index + 1].span,))), word.span
        else:
            yield name, known(True, word.span), word.span


def _is_flag(value: Value) -> bool:
    text = value.only
    return isinstance(text, str) and text.startswith("--")


def _typed(text: Any) -> Any:
    """A word as transformers' parser reads it for a field of the type that it looks like."""
    if not isinstance(text, str):
        return text
    lowered = text.lower()
    if lowered in ("true", "false", "yes", "no"):
        return lowered in ("true", "yes")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
