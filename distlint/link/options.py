"""Command-line options: which options a script's parsers define, and what a run gives them.

Covers ``argparse`` (groups, subparsers, parent parsers, ``parse_known_args``, ``set_defaults``) and parsers that are made from
dataclasses. What a run does not give has its default; without a run, a default is only likely, since anybody may pass an option.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Instance, leaf, node_of, options_of
from distlint.link.modules import ClassRef, External
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.framework import ParserSpec
from distlint.model.launch import Argument, Launch, Run
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project

PARSER = "argparse.ArgumentParser"
_PARSE_CALLS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
_KNOWN_ONLY = frozenset({"parse_known_args", "parse_known_intermixed_args"})
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})

ParserId = tuple[str, int]
"""A parser is known by the file and the place of the call that makes it."""


@dataclass(slots=True)
class Option:
    """One option of a parser: its flags as written (empty for a positional one), where its value goes, and how it is read."""

    dest: str
    flags: tuple[str, ...]
    span: Span
    default: Value
    kind: str = ""
    arity: Any = 1
    constant: Value | None = None
    choices: tuple[Any, ...] | None = None
    required: Value = field(default_factory=lambda: known(False))


@dataclass(slots=True)
class Parser:
    """A parser with all its options.

    ``open`` says that it may have options that we can't see; ``known_only`` that it leaves unknown options alone (``parse_known_args``).
    ``allow_abbreviations`` is argparse's default. ``span`` is where it is made, ``parsed_at`` where it is used.
    """

    span: Span
    options: list[Option] = field(default_factory=list)
    open: bool = False
    known_only: bool = False
    allow_abbreviations: bool = True
    parsed_at: list[Span] = field(default_factory=list)
    from_dataclasses: bool = False
    _by_flag: dict[str, Option] = field(default_factory=dict, repr=False)
    _indexed: int = 0

    def find(self, flag: str) -> Option | None:
        """The option that a word such as ``--flag`` means, by exact spelling or unique prefix."""
        for option in self.options[self._indexed :]:
            for spelling in option.flags:
                self._by_flag.setdefault(spelling, option)
        self._indexed = len(self.options)
        if flag in self._by_flag:
            return self._by_flag[flag]
        if not self.allow_abbreviations or not flag.startswith("--"):
            return None
        matches = [option for option in self.options if any(f.startswith(flag) for f in option.flags)]
        return matches[0] if len(matches) == 1 else None

    def by_dest(self, dest: str) -> Option | None:
        """The option whose value is stored under a name; the last definition wins."""
        for option in reversed(self.options):
            if option.dest == dest:
                return option
        return None


class Options:
    """Answers for an evaluator what parsed options and environment variables are, for one run or for none."""

    def __init__(self, project: Project, run: Run | None) -> None:
        self._project = project
        self._run = run
        self._specs = {parser.callee: parser for spec in project.specs for parser in spec.parsers}
        self._open_classes = {name for spec in project.specs for name in spec.open_dataclasses}
        self._given: dict[int, dict[str, list[tuple[Argument, list[Argument]]]]] = {}

    # Asked by the evaluator --------------------------------------------------------------------------------------

    def attribute(self, evaluator: Evaluator, instance: Instance, name: str, span: Span) -> Abstract | None:
        """The value of ``args.name``; ``None`` if the object is not what a parser gives."""
        kind, parser_object = self._namespace(evaluator, instance)
        if kind == "namespace" and parser_object is not None:
            parser = parsers_of(self._project).get(evaluator, parser_object)
            option = parser.by_dest(name) if parser is not None else None
            if parser is None or option is None:
                return Leaf(unknown(f"option `{name}` is defined where we can't see", span), span)
            return leaf(self._value(parser, option), span)
        if kind == "dataclass":
            return self._field(evaluator, instance, name, span)
        return None

    def part(self, evaluator: Evaluator, instance: Instance, part: int | str) -> Abstract | None:
        """``parser.parse_known_args()[0]`` is the namespace; the items of a dataclass parser's result are its dataclasses."""
        name = _method(instance)
        if name == "parse_args_into_dataclasses" and isinstance(part, int) and not instance.part:
            classes = self._dataclasses(evaluator, instance)
            if classes is not None and -len(classes) <= part < len(classes):
                return Instance(classes[part], instance.call, instance.frame, instance.state, ("dataclass",))
        return None

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

    # Parsers -----------------------------------------------------------------------------------------------------

    def _namespace(self, evaluator: Evaluator, instance: Instance) -> tuple[str, Instance | None]:
        """Whether an object is a parsed namespace (and of which parser), a parsed dataclass, or neither."""
        if instance.part == ("dataclass",):
            return "dataclass", None
        name = _method(instance)
        if (name in _PARSE_CALLS and instance.part == ()) or (name in _KNOWN_ONLY and instance.part == (0,)):
            receiver = _receiver(evaluator, instance)
            if receiver is not None:
                return "namespace", receiver
        return "", None

    def _value(self, parser: Parser, option: Option) -> Value:
        launch = self._run.launch if self._run is not None else None
        if launch is None:
            return replace_default(option, Confidence.POSSIBLE)
        given = given_options(parser, launch).get(option.dest)
        if given is not None:
            return given
        if launch.open_arguments:
            return unknown(f"`{option.dest}` may be among arguments that we can't see", option.span)
        return option.default

    def _field(self, evaluator: Evaluator, instance: Instance, name: str, span: Span) -> Abstract | None:
        assert isinstance(instance.callee, ClassRef | External)  # noqa: S101 - made by ``part``
        launch = self._run.launch if self._run is not None else None
        if launch is not None:
            words = [f"--{name}", f"--{name.replace('_', '-')}"]
            given = last_given(launch, words)
            if given is not None:
                return leaf(_typed(given, ""), span)
            if launch.open_arguments:
                return Leaf(unknown(f"`{name}` may be among arguments that we can't see", span), span)
        if isinstance(instance.callee, External):
            return None
        for found, definition in dataclass_fields(self._project, evaluator, instance.callee):
            if found == name:
                default = definition.default
                return leaf(default if launch is not None else default.at_most(Confidence.POSSIBLE), span)
        return None

    def _dataclasses(self, evaluator: Evaluator, instance: Instance) -> list[ClassRef | External] | None:
        receiver = _receiver(evaluator, instance)
        if receiver is None:
            return None
        return dataclasses_of(evaluator, receiver)


def replace_default(option: Option, confidence: Confidence) -> Value:
    """An option's default, held as firmly as may be when nobody is seen to start the script."""
    return option.default.at_most(confidence)


def _method(instance: Instance) -> str:
    func = instance.call.func
    return func.name if type(func) is ir.Attribute else ""


def _receiver(evaluator: Evaluator, instance: Instance) -> Instance | None:
    func = instance.call.func
    if type(func) is not ir.Attribute:
        return None
    return root_parser(evaluator, evaluator.evaluate(func.base, instance.frame, instance.state))


def root_parser(evaluator: Evaluator, value: Abstract) -> Instance | None:
    """The parser behind a value: groups and framework helpers that return the parser they were given lead back to it."""
    for _ in range(20):
        options = [option for option in options_of(value) if isinstance(option, Instance)]
        if len(options) != 1:
            return None
        instance = options[0]
        if is_parser(evaluator, instance):
            return instance
        func = instance.call.func
        if (
            isinstance(instance.callee, External)
            and instance.callee.name in parsers_of(evaluator.project).adders
            and instance.call.args
        ):
            value = evaluator.evaluate(instance.call.args[0], instance.frame, instance.state)
        elif type(func) is ir.Attribute and func.name in _GROUPS:
            value = evaluator.evaluate(func.base, instance.frame, instance.state)
        else:
            return None
    return None


def is_parser(evaluator: Evaluator, instance: Instance) -> bool:
    """Whether an object is an argument parser (of argparse, derived from it, a subparser, or made from dataclasses)."""
    if instance.part:
        return False
    if isinstance(instance.callee, External):
        name = instance.callee.name
        return name == PARSER or name in parsers_of(evaluator.project).factories or name.endswith(".add_parser")
    if isinstance(instance.callee, ClassRef):
        bases = evaluator.modules.external_bases(instance.callee)
        return PARSER in bases or bool(bases & parsers_of(evaluator.project).factories)
    return False


def dataclasses_of(evaluator: Evaluator, parser: Instance) -> list[ClassRef | External] | None:
    """The dataclasses that a parser is made from; ``None`` if they can't be told."""
    from distlint.link.evaluate import find_argument

    given, _ = find_argument(parser.call, "dataclass_types", 0)
    if given is None:
        return None
    exprs = given.items if type(given) is ir.ListDisplay else (given,)
    found: list[ClassRef | External] = []
    for expr in exprs:
        target = evaluator.modules.resolve(expr, parser.frame.file)
        if not isinstance(target, ClassRef | External):
            return None
        found.append(target)
    return found


def dataclass_fields(
    project: Project, evaluator: Evaluator, owner: ClassRef, hops: int = 0
) -> Iterator[tuple[str, Option]]:
    """The fields of a dataclass with their defaults, own ones first, then those of its bases in the project."""
    if hops > 8:
        return
    definition = project.class_(owner)
    for statement in definition.body:
        if type(statement) is ir.Assign and statement.annotation is not None and type(statement.targets[0]) is ir.Name:
            name = statement.targets[0].id
            span = ir.unpack(statement.at, owner.file)
            default = _field_default(evaluator, statement.value, owner, span)
            kind = statement.annotation.id if type(statement.annotation) is ir.Name else ""
            yield (
                name,
                Option(
                    name,
                    (f"--{name}", f"--{name.replace('_', '-')}"),
                    span,
                    default,
                    kind,
                    "?" if kind == "bool" else 1,
                ),
            )
    for base in definition.bases:
        parent = evaluator.modules.resolve(base, owner.file)
        if isinstance(parent, ClassRef) and parent != owner:
            yield from dataclass_fields(project, evaluator, parent, hops + 1)


def _field_default(evaluator: Evaluator, value: ir.Expr | None, owner: ClassRef, span: Span) -> Value:
    if value is None:
        return unknown("has no default", span)
    if type(value) is ir.Call:
        name = (
            value.func.name
            if type(value.func) is ir.Attribute
            else value.func.id
            if type(value.func) is ir.Name
            else ""
        )
        if name in ("field", "HfArg"):
            for keyword in value.keywords:
                if keyword.name == "default":
                    return evaluator.value(keyword.value, owner.file, -1)
            return unknown("made by a factory", span)
    return evaluator.value(value, owner.file, -1)


class ParserIndex:
    """All parsers of a project, each built once when first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._built: dict[ParserId, Parser] = {}
        self._calls: dict[ParserId, list[tuple[CallSite, str]]] | None = None
        specs: list[ParserSpec] = [parser for spec in project.specs for parser in spec.parsers]
        self.adders = {spec.callee: spec for spec in specs if not spec.dataclasses}
        self.factories = frozenset(spec.callee for spec in specs if spec.dataclasses)
        self.open_classes = frozenset(name for spec in project.specs for name in spec.open_dataclasses)

    def get(self, evaluator: Evaluator, parser: Instance) -> Parser:
        """The parser with its options."""
        key = (parser.frame.file, parser.call.at)
        if key not in self._built:
            built = Parser(parser.span())
            self._built[key] = built
            self._fill(built, parser)
        return self._built[key]

    def all(self) -> Iterator[Parser]:
        """Every parser that some code of the project makes, in the order of files and text."""
        evaluator = self._project.evaluator(None)
        for name in (PARSER, *sorted(self.factories)):
            for found in self._project.calls_to({name}):
                frame = evaluator.frame(found.file, found.site.function)
                state = evaluator.state(frame, found.site.call.at)
                yield self.get(evaluator, Instance(External(name), found.site.call, frame, state))

    def _fill(self, built: Parser, parser: Instance) -> None:
        evaluator = self._project.evaluator(None)
        for keyword in parser.call.keywords:
            if keyword.name == "allow_abbrev":
                value = evaluator.value(keyword.value, parser.frame.file, parser.frame.function)
                built.allow_abbreviations = value.only is not False
            elif keyword.name == "parents" or keyword.name is None:
                built.open = True
        if isinstance(parser.callee, External) and parser.callee.name in self.factories:
            self._fill_from_dataclasses(built, parser, evaluator)
        elif isinstance(parser.callee, ClassRef):
            built.open = True
        for found, kind in self._uses().get((parser.frame.file, parser.call.at), ()):
            self._use(built, found, kind, evaluator)

    def _fill_from_dataclasses(self, built: Parser, parser: Instance, evaluator: Evaluator) -> None:
        built.from_dataclasses = True
        classes = dataclasses_of(evaluator, parser)
        if classes is None:
            built.open = True
            return
        for owner in classes:
            if isinstance(owner, External):
                built.open = True
                continue
            built.options.extend(option for _, option in dataclass_fields(self._project, evaluator, owner))
            if evaluator.modules.external_bases(owner):
                built.open = True

    def _uses(self) -> dict[ParserId, list[tuple[CallSite, str]]]:
        """Every call that defines options or parses, by the parser that it works on."""
        if self._calls is None:
            self._calls = {}
            evaluator = self._project.evaluator(None)
            for kind in (
                "add_argument",
                "set_defaults",
                *sorted(_PARSE_CALLS),
                "add_subparsers",
                "parse_args_into_dataclasses",
            ):
                for found in self._project.sites(kind):
                    func = found.site.call.func
                    if type(func) is ir.Attribute:
                        base = evaluator.ask(func.base, found.file, found.site.function)
                        for option in options_of(base):
                            root = root_parser(evaluator, option)
                            if root is not None:
                                self._calls.setdefault((root.frame.file, root.call.at), []).append((found, kind))
            self._adder_uses(evaluator)
        return self._calls

    def _adder_uses(self, evaluator: Evaluator) -> None:
        assert self._calls is not None  # noqa: S101 - set by the caller
        for found in self._project.calls_to(set(self.adders)):
            if found.site.call.args:
                root = root_parser(evaluator, evaluator.ask(found.site.call.args[0], found.file, found.site.function))
                if root is not None:
                    self._calls.setdefault((root.frame.file, root.call.at), []).append((found, "adder"))

    def _use(self, built: Parser, found: CallSite, kind: str, evaluator: Evaluator) -> None:
        if kind == "adder":
            for flag, takes_value in self.adders[found.name].options:
                dest = flag.lstrip("-").replace("-", "_")
                default = known(None if takes_value else False, found.span)
                built.options.append(Option(dest, (flag,), found.span, default, arity=1 if takes_value else 0))
        elif kind == "add_argument":
            option = _read_option(found, evaluator)
            if option is None:
                built.open = True
            else:
                built.options.append(option)
        elif kind == "set_defaults":
            self._set_defaults(built, found, evaluator)
        elif kind == "add_subparsers":
            built.open = True
        else:
            built.parsed_at.append(found.span)
            built.known_only = built.known_only or kind in _KNOWN_ONLY
            if kind == "parse_args_into_dataclasses":
                for keyword in found.site.call.keywords:
                    if keyword.name == "return_remaining_strings":
                        built.known_only = True

    def _set_defaults(self, built: Parser, found: CallSite, evaluator: Evaluator) -> None:
        for keyword in found.site.call.keywords:
            option = built.by_dest(keyword.name or "")
            if option is not None:
                option.default = evaluator.value(keyword.value, found.file, found.site.function)


def parsers_of(project: Project) -> ParserIndex:
    """The index of a project's parsers."""
    found = getattr(project, "_parser_index", None)
    if found is None:
        found = ParserIndex(project)
        project._parser_index = found  # type: ignore[attr-defined]  # noqa: SLF001 - one index per project, made on demand
    return found


def _read_option(found: CallSite, evaluator: Evaluator) -> Option | None:
    """The option that an ``add_argument`` call defines; ``None`` if its flags are not known."""
    call = found.site.call
    flags = []
    for argument in call.args:
        value = evaluator.value(argument, found.file, found.site.function)
        if not value.is_known or not isinstance(value.only, str):
            return None
        flags.append(value.only)
    if not flags:
        return None
    settings: dict[str, ir.Expr] = {}
    for keyword in call.keywords:
        if keyword.name is None:
            return None
        settings[keyword.name] = keyword.value

    def of(name: str) -> Value:
        return evaluator.value(settings[name], found.file, found.site.function) if name in settings else absent()

    options = tuple(flag for flag in flags if flag.startswith("-"))
    long = next((flag for flag in options if flag.startswith("--")), flags[0])
    dest = of("dest").only or long.lstrip("-").replace("-", "_")
    action = of("action").only or "store"
    default = of("default")
    kind_expr = settings.get("type")
    kind = kind_expr.id if type(kind_expr) is ir.Name else "?" if kind_expr is not None else ""
    if default.is_absent:
        implied = {"store_true": False, "store_false": True}.get(str(action))
        default = known(implied, found.span)
    elif kind in ("int", "float") and isinstance(default.only, str):
        default = _typed(default, kind)
    arity: Any = 0 if str(action) in ("store_true", "store_false", "store_const", "count", "help", "version") else 1
    nargs = of("nargs")
    if not nargs.is_absent:
        arity = nargs.only if nargs.is_known else "*"
    constant = known(str(action) == "store_true", found.span) if str(action).startswith("store_") else of("const")
    if str(action) == "store_const":
        constant = of("const")
    choices = of("choices")
    return Option(
        dest=str(dest),
        flags=options,
        span=found.span,
        default=default,
        kind=kind,
        arity=arity,
        constant=constant,
        choices=tuple(choices.only) if isinstance(choices.only, (list, tuple)) else None,
        required=of("required"),
    )


# Launches -----------------------------------------------------------------------------------------------------------


def given_options(parser: Parser, launch: Launch) -> dict[str, Value]:
    """What a launch gives to a parser's options, by ``dest``, read as argparse reads a command line."""
    given: dict[str, Value] = {}
    words = list(launch.arguments)
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        text, inline = split_flag(word)
        option = parser.find(text) if text else None
        if option is None:
            continue
        if inline is not None:
            given[option.dest] = _typed(inline, option.kind)
            continue
        taken, index = _take_values(option, words, index)
        if option.arity == 0:
            given[option.dest] = (option.constant or known(True)).at(word.span)
        elif not taken:
            given[option.dest] = (
                option.constant.at(word.span) if option.constant is not None else unknown("no value", word.span)
            )
        elif option.arity in (1, "?"):
            given[option.dest] = _typed(taken[0], option.kind)
        elif all(value.is_known for value in taken):
            given[option.dest] = known([_typed(value, option.kind).only for value in taken], word.span)
        else:
            given[option.dest] = unknown("holds words that are not known", word.span)
    return given


def _take_values(option: Option, words: list[Argument], index: int) -> tuple[list[Value], int]:
    limit = option.arity if isinstance(option.arity, int) else 1 if option.arity == "?" else len(words)
    taken: list[Value] = []
    while len(taken) < limit and index < len(words):
        if split_flag(words[index])[0] and not _is_number(words[index].value.only):
            break
        taken.append(words[index].value)
        index += 1
    return taken, index


def split_flag(word: Argument) -> tuple[str, Value | None]:
    """The flag of a word (``--flag`` or ``--flag=value``) and its inline value; ``("", None)`` for a word that is no flag."""
    text = word.value.only
    if not isinstance(text, str) or not text.startswith("-") or len(text) < 2:
        return getattr(word, "flag", "") or "", getattr(word, "inline", None)
    if text.startswith("--") and "=" in text:
        flag, _, value = text.partition("=")
        return flag, known(value, word.span, confidence=word.value.confidence)
    return text, None


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def last_given(launch: Launch, flags: list[str]) -> Value | None:
    """The value that the last of some spellings of an option is given on a command line; ``True`` where none follows."""
    found: Value | None = None
    words = launch.arguments
    for index, word in enumerate(words):
        text, inline = split_flag(word)
        if text not in flags:
            continue
        if inline is not None:
            found = inline
        elif index + 1 < len(words) and not (
            split_flag(words[index + 1])[0] and not _is_number(words[index + 1].value.only)
        ):
            found = words[index + 1].value
        else:
            found = known(True, word.span)
    return found


def _typed(value: Value, kind: str) -> Value:
    """A word read as the type that the option declares: numbers as numbers; ``bool`` as argparse really does it (any text is true)."""
    if kind == "int":
        return value.map(int)
    if kind == "float":
        return value.map(float)
    if kind == "bool":
        return value.map(
            lambda text: str(text).lower() not in ("false", "0", "no", "n", "f", "") if isinstance(text, str) else text
        )
    if kind == "?":
        return unknown("read by a function of the program", *value.spans)
    return value
