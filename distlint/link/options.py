"""What a run gives to a script's options, and what its environment holds.

What a run does not give has its default; without a run, a default is only possible, since anybody may pass an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Instance, leaf, lifted, node_of
from distlint.link.argument_options import read_default, read_text
from distlint.link.arguments import find_argument
from distlint.link.command_parameters import Commands
from distlint.link.command_words import given_options, last_given, split_flag, typed
from distlint.link.field_options import dataclass_fields
from distlint.link.items import elements
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.parser_model import Option, Parser
from distlint.link.parsers import (
    KNOWN_ONLY,
    PARSE_CALLS,
    PARSER,
    ParserIndex,
    dataclasses_of,
    method_of,
    parsers_of,
    receiver_of,
    root_parser,
)
from distlint.link.paths import folders_around, resolve_path
from distlint.link.process_arguments import process_arguments
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, node_value
from distlint.model.launch import Argument, Launch, Run
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import Project

__all__ = [
    "PARSER",
    "Option",
    "Options",
    "Parser",
    "ParserIndex",
    "dataclass_fields",
    "given_options",
    "parsers_of",
    "root_parser",
    "split_flag",
    "typed",
]

MAX_WORDS_FILE = 20_000
"""Characters of a file of words for a command line."""
_FROM_FILES = {"parse_json_file": "json", "parse_yaml_file": "yaml"}
_INTO_DATACLASSES = frozenset({"parse_args_into_dataclasses", "parse_dict", *_FROM_FILES})


class Options:
    """Answers for an evaluator what parsed options and environment variables are, for one run or for none."""

    def __init__(self, project: Project, run: Run | None) -> None:
        self._project = project
        self._run = run
        self._given: dict[int, dict[str, Value]] = {}
        self._arguments: Abstract | None = None
        self._counts = frozenset(name for spec in project.specs for name, kind in spec.rank_sources if kind == "world")

    # Asked by the evaluator --------------------------------------------------------------------------------------

    def attribute(self, evaluator: Evaluator, instance: Instance, name: str, span: Span) -> Abstract | None:
        """The value of ``args.name``; ``None`` if the object is neither what a parser gives nor tells of the run."""
        if not instance.part:
            count = self.processes(f"{evaluator.modules.canonical(evaluator.instance_name(instance))}.{name}", span)
            if count is not None:
                return count
        kind, parser_object = self._namespace(evaluator, instance)
        if kind == "namespace" and parser_object is not None:
            parser = parsers_of(self._project).get(evaluator, parser_object)
            option = parser.by_dest(name)
            if self.is_set_by_action(evaluator, instance, name):
                return Leaf(unknown(f"an action of the program may set `{name}`", span), span)
            if option is None and name in parser.defaults:
                return leaf(parser.defaults[name].at_most(Confidence.LIKELY), span)
            if option is None:
                return Leaf(unknown(f"option `{name}` is defined where we can't see", span), span)
            value = self._option_value(evaluator, instance, parser, option)
            if find_argument(instance.call, "namespace", 1)[0] is not None:
                if not self._given_text(evaluator, instance, name).is_known:
                    value = unknown(f"`{name}` may be set before", span)
            return _mapping(value, span) if type(value.only) is dict else leaf(value, span)
        if kind == "dataclass":
            return self._field(evaluator, instance, name, span)
        return None

    def is_set_by_action(self, evaluator: Evaluator, instance: Instance, name: str) -> bool:
        """Whether the action of an option that may be given sets an attribute of what a parser gives."""
        kind, parser_object = self._namespace(evaluator, instance)
        parser = parsers_of(self._project).get(evaluator, parser_object) if parser_object is not None else None
        for option in parser.options if parser is not None and kind == "namespace" else ():
            if name in option.sets or "*" in option.sets:
                if not self._given_text(evaluator, instance, option.dest).is_absent:
                    return True
        return False

    def text(self, evaluator: Evaluator, instance: Instance, name: str) -> Value:
        """The text that the program gets for an option in this run, before that is read; absent where it gets none."""
        given = self._given_text(evaluator, instance, name)
        option = self._option(evaluator, instance, name) if given.is_absent else None
        return option.default if option is not None and isinstance(option.default.only, str) else given

    def _given_text(self, evaluator: Evaluator, instance: Instance, name: str) -> Value:
        """The text that the command line, or the program itself, gives for an option; absent where neither does."""
        launch = self._run.launch if self._run is not None else None
        option = self._option(evaluator, instance, name)
        _, parser_object = self._namespace(evaluator, instance)
        if launch is None or option is None or parser_object is None:
            return unknown("it is not known how it is started, or what it defines")
        parser = parsers_of(self._project).get(evaluator, parser_object)
        written = self._written_arguments(evaluator, instance)
        words = self._words(parser, launch, instance.frame.file) if written is None else written
        is_open = (written is None and launch.open_arguments) or words is None
        words = launch.arguments if words is None else words
        given = given_options(parser, words, lambda _, value: value, more=is_open).get(name)
        if given is None and is_open:
            return unknown(f"`{name}` may be among arguments that we can't see", option.span)
        return absent() if given is None else given

    def _option(self, evaluator: Evaluator, instance: Instance, name: str) -> Option | None:
        """The option that an attribute of what a parser gives is; ``None`` for anything else."""
        kind, parser_object = self._namespace(evaluator, instance)
        if kind != "namespace" or parser_object is None:
            return None
        return parsers_of(self._project).get(evaluator, parser_object).by_dest(name)

    def read_from(self, evaluator: Evaluator, instance: Instance, name: str, words: Sequence[str]) -> Value:
        """An option of what a parser gives for these words; unknown for anything else."""
        kind, parser_object = self._namespace(evaluator, instance)
        parser = parsers_of(self._project).get(evaluator, parser_object) if parser_object is not None else None
        option = parser.by_dest(name) if parser is not None and kind == "namespace" else None
        if parser is None or option is None:
            return unknown("no option")
        where = instance.span()
        written = [Argument(known(word, where), where, word) for word in words]
        given = given_options(parser, written, lambda one, value: read_text(evaluator, one, value))
        return given[name] if name in given else read_default(evaluator, option)

    def names(self, evaluator: Evaluator, instance: Instance) -> list[str] | None:
        """The attributes of what a parser gives; ``None`` for anything else, and where the parser may have options that we can't see."""
        kind, parser_object = self._namespace(evaluator, instance)
        if kind != "namespace" or parser_object is None:
            return None
        parser = parsers_of(self._project).get(evaluator, parser_object)
        if parser.open:
            return None
        dests = [option.dest for option in parser.options]
        return list(dict.fromkeys([*dests, *parser.defaults]))

    def part(self, evaluator: Evaluator, instance: Instance, part: int | str) -> Abstract | None:
        """``parser.parse_known_args()[0]`` is the namespace.

        The items of a dataclass parser's result are its dataclasses.
        """
        if method_of(instance) in _INTO_DATACLASSES and isinstance(part, int) and not instance.part:
            classes = self._dataclasses(evaluator, instance)
            if classes is not None and -len(classes) <= part < len(classes):
                return Instance(classes[part], instance.call, instance.frame, instance.state, ("dataclass",))
        return None

    def parameter(self, ref: FunctionRef, name: str, span: Span) -> Abstract | None:
        """A parameter of a function that a library calls with the command line; ``None`` for any other function."""
        return Commands.of(self._project).value(self._run, ref, name, span)

    def environment(self, name: str, default: Abstract | None, span: Span) -> Abstract | None:
        """An environment variable: what the run's launch exports, else the default if the launch is the whole story."""
        launch = self._run.launch if self._run is not None else None
        if launch is None:
            return None
        exported = launch.environment.get(name)
        if exported is not None and not exported.is_absent:
            return leaf(exported, span)
        if name == "WORLD_SIZE" and name in launch.provides:
            return leaf(launch.world_size.map(str), span)
        if name in launch.provides or default is None:
            return Leaf(unknown(f"the environment variable {name}", span), span)
        node = node_of(default, span)
        return Leaf(node_value(node).at_most(Confidence.LIKELY), span)

    def is_set(self, name: str) -> bool:
        """Whether the run's launch surely sets an environment variable."""
        launch = self._run.launch if self._run is not None else None
        exported = launch.environment.get(name) if launch is not None else None
        return launch is not None and (name in launch.provides or (exported is not None and exported.is_known))

    def processes(self, name: str, span: Span) -> Abstract | None:
        """What a library's function or attribute says of the number of processes, where the run has a known one."""
        count = self.world_size if name in self._counts else None
        return leaf(count, span) if count is not None else None

    @property
    def has_run(self) -> bool:
        """Whether it is about one run."""
        return self._run is not None

    @property
    def world_size(self) -> Value | None:
        """The number of processes of the run; ``None`` where it is not known."""
        size = self._run.world_size if self._run is not None else None
        return size if size is not None and type(size.only) is int else None

    def process_arguments(self, span: Span) -> Abstract:
        """The list ``sys.argv`` of the run."""
        if self._arguments is None:
            self._arguments = process_arguments(self._project, self._run, span)
        return self._arguments

    # Parsers -----------------------------------------------------------------------------------------------------

    def _namespace(self, evaluator: Evaluator, instance: Instance) -> tuple[str, Instance | None]:
        """Whether an object is a parsed namespace (and of which parser), a parsed dataclass, or neither."""
        if instance.part == ("dataclass",):
            return "dataclass", None
        name = method_of(instance)
        if (name in PARSE_CALLS and instance.part == ()) or (name in KNOWN_ONLY and instance.part == (0,)):
            receiver = receiver_of(evaluator, instance)
            if receiver is not None:
                return "namespace", receiver
        return "", None

    def _option_value(self, evaluator: Evaluator, instance: Instance, parser: Parser, option: Option) -> Value:
        """An option of a parsed namespace: from the list that the program itself gives, or from the command line."""
        written = self._written_arguments(evaluator, instance)
        if written is None and self._reads_other_words(evaluator, instance):
            return unknown("the program gives the words itself", option.span)
        if written is None:
            return self._value(parser, option, evaluator)
        given = given_options(parser, written, lambda one, value: read_text(evaluator, one, value))
        return given[option.dest] if option.dest in given else read_default(evaluator, option)

    def _reads_other_words(self, evaluator: Evaluator, instance: Instance) -> bool:
        """Whether the words are what some function gives (``parse_args(shlex.split(text))``), and not those of the command line."""
        given = evaluator.argument(instance.call, "args", 0, instance.frame, instance.state)
        if isinstance(given, Instance):
            return method_of(given) not in KNOWN_ONLY
        expr, _ = find_argument(instance.call, "args", 0)
        if expr is None or not isinstance(given, Leaf) or not given.value.is_unknown:
            return False
        # what nobody is seen to give to a function is the command line, as a rule
        function = instance.frame.function
        named = self._project.function(FunctionRef(instance.frame.file, function)).parameters if function >= 0 else ()
        parameters = {"argv", *(one.name for one in named)}
        return not any(
            (type(part) is ir.Name and part.id in parameters) or (type(part) is ir.Attribute and part.name == "argv")
            for part in below(expr)
        )

    def _written_arguments(self, evaluator: Evaluator, instance: Instance) -> list[Argument] | None:
        """The words of ``parse_args([...])``; ``None`` where the command line is parsed."""
        given = evaluator.argument(instance.call, "args", 0, instance.frame, instance.state)
        items = elements(given) if given is not None and not isinstance(given, Leaf) else None
        values = [node_value(item) for item in items or ()]
        if items is None or not all(isinstance(value.only, str) for value in values):
            return None
        where = instance.span()
        return [Argument(value, value.spans[0] if value.spans else where, value.only) for value in values]

    def _words(self, parser: Parser, launch: Launch, file: str) -> Sequence[Argument] | None:
        """The words of a command line, with those of the files that it names; ``None`` where such a file is not known."""
        marks = tuple(parser.file_prefix)
        if not marks or not any(word.text.startswith(marks) for word in launch.arguments):
            return launch.arguments
        found: list[Argument] = []
        for word in launch.arguments:
            if not word.text.startswith(marks):
                found.append(word)
                continue
            folders = [*([launch.directory] if launch.directory else []), *folders_around(file)]
            named = resolve_path(word.text[1:], folders, self._project.paths)
            text = self._project.text_of(named) if named is not None else ""
            if named is None or len(text) > MAX_WORDS_FILE:
                return None
            for number, line in enumerate(text.splitlines(), 1):
                place = Span(named, number, 1, number, len(line) + 1)
                found.append(Argument(known(line, place), place, line))
        return found

    def _value(self, parser: Parser, option: Option, evaluator: Evaluator | None = None) -> Value:
        launch = self._run.launch if self._run is not None else None
        if evaluator is None:
            evaluator = self._project.evaluator(self._run)
        default = read_default(evaluator, option)
        if launch is None:
            return default.at_most(Confidence.POSSIBLE)
        words = self._words(parser, launch, parser.span.file)
        if words is None:
            return unknown(f"`{option.dest}` may stand in a file that we can't see", option.span)
        if id(parser) not in self._given:
            self._given[id(parser)] = given_options(
                parser,
                words,
                lambda one, value: read_text(evaluator, one, value),
                more=launch.open_arguments,
            )
        given = self._given[id(parser)].get(option.dest)
        if given is not None:
            return given
        if launch.open_arguments and launch.is_open_to_caller_only:
            return default.at_most(
                Confidence.POSSIBLE
            )  # as where no launch is known: it holds until somebody says otherwise
        if launch.open_arguments:
            return unknown(f"`{option.dest}` may be among arguments that we can't see", option.span)
        return default

    def _field(self, evaluator: Evaluator, instance: Instance, name: str, span: Span) -> Abstract | None:
        assert isinstance(instance.callee, ClassRef | External)  # noqa: S101 - made by ``part``
        launch = self._run.launch if self._run is not None else None
        written = self._written_fields(evaluator, instance, span)
        if written is not None:
            entry = written.entry(name)
            if entry is not None:
                return lifted(entry.node)
            if written.open:
                return Leaf(unknown(f"`{name}` may be set where we can't see", span), span)
        elif method_of(instance) != "parse_args_into_dataclasses":
            return Leaf(unknown("read from something that is not known", span), span)
        elif launch is not None:
            words = [f"--{name}", f"--{name.replace('_', '-')}"]
            given = last_given(launch, words)
            if given is not None:
                return leaf(self._as_field(evaluator, instance.callee, name, given), span)
            if launch.open_arguments and not launch.is_open_to_caller_only:
                return Leaf(unknown(f"`{name}` may be among arguments that we can't see", span), span)
        if isinstance(instance.callee, External):
            return None
        for found, definition in dataclass_fields(self._project, evaluator, instance.callee):
            if found == name:
                default = definition.default
                sure = written is not None or (launch is not None and not launch.open_arguments)
                return leaf(default if sure else default.at_most(Confidence.POSSIBLE), span)
        return None

    def _as_field(self, evaluator: Evaluator, owner: ClassRef | External, name: str, given: Value) -> Value:
        """A word of the command line as the field of a dataclass takes it."""
        if isinstance(owner, External):
            return given
        for found, definition in dataclass_fields(self._project, evaluator, owner):
            if found == name:
                listed = definition.arity not in (0, 1, "?")
                return unknown(f"`{name}` is a list", definition.span) if listed else typed(given, definition.kind)
        return given

    def _written_fields(self, evaluator: Evaluator, instance: Instance, span: Span) -> Mapping | None:
        """What ``parse_dict`` is given, or ``parse_json_file`` and ``parse_yaml_file`` read.

        ``None`` for a command line.
        """
        name = method_of(instance)
        if name == "parse_dict":
            given = evaluator.argument(instance.call, "args", 0, instance.frame, instance.state)
        elif name in _FROM_FILES:
            path = evaluator.argument(instance.call, name.removeprefix("parse_"), 0, instance.frame, instance.state)
            if path is None:
                return None
            where = node_value(node_of(path, span))
            given = evaluator.project.documents.loaded(where, instance.frame.file, _FROM_FILES[name], span)
        else:
            return None
        return given if isinstance(given, Mapping) else None

    def _dataclasses(self, evaluator: Evaluator, instance: Instance) -> list[ClassRef | External] | None:
        receiver = receiver_of(evaluator, instance)
        if receiver is None:
            return None
        return dataclasses_of(evaluator, receiver)


def _mapping(value: Value, span: Span) -> Mapping:
    """A dictionary that was read from a word of the command line, as a tree; every place in it is that of the word."""
    spans = value.spans or (span,)

    def entry(key: Any, inner: Any) -> Entry:
        part = known(inner, *spans, confidence=value.confidence)
        return Entry(key, spans[0], _mapping(part, span) if type(inner) is dict else leaf(part, span))

    return Mapping(tuple(entry(key, inner) for key, inner in value.only.items()), spans[0])
