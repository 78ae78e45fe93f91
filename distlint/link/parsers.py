"""Which options a program's parsers define.

Covers ``argparse`` (groups, subparsers, parent parsers, ``set_defaults``) and parsers that are made from dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import (
    NEVER_CALLED,
    Abstract,
    Instance,
    LambdaValue,
    PartialValue,
    Reference,
    lifted,
    node_of,
    options_of,
)
from distlint.link.command_words import typed
from distlint.link.items import elements
from distlint.link.modules import ClassRef, External
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.framework import ParserSpec
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project

PARSER = "argparse.ArgumentParser"
PARSE_CALLS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
KNOWN_ONLY = frozenset({"parse_known_args", "parse_known_intermixed_args"})
_INTO_DATACLASSES = ("parse_args_and_config", "parse_args_into_dataclasses")
_SPELLINGS = frozenset({"prefix_chars", "fromfile_prefix_chars"})
_BOTH_WAYS = "argparse.BooleanOptionalAction"
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"})

ParserId = tuple[str, int]
"""A parser is known by the file and the place of the call that makes it."""


@dataclass(slots=True)
class Option:
    """One option of a parser.

    Its flags as written (empty for a positional one), where its value goes, and how it is read.
    """

    dest: str
    flags: tuple[str, ...]
    span: Span
    default: Value
    kind: str = ""
    arity: Any = 1
    constant: Value | None = None
    choices: tuple[Any, ...] | None = None
    required: Value = field(default_factory=lambda: known(False))
    reader: Abstract | None = None
    """The function of the program that reads the text (``type=str2bool``), where ``kind`` is ``?``."""
    listed: bool = False
    """Whether a single word makes a list (``nargs=1``)."""
    function: tuple[str, int] = ("", -1)
    """The file and the function that define it."""
    always: bool = True
    """Whether that function defines it on every path: no branch or loop is around the call."""
    commands: frozenset[str] | None = frozenset({""})
    """The subcommands that have it, ``""`` for the parser itself; ``None`` where that can't be told."""
    exclusive: ParserId | None = None
    """The group of which a command line may give one option only, by the place of the call that makes it."""
    exclusive_required: bool = False
    """Whether a command line has to give one of that group."""


@dataclass(slots=True)
class Parser:
    """A parser with all its options.

    ``open`` says that it may have options that we can't see; ``known_only`` that it leaves unknown options alone
    (``parse_known_args``). ``allow_abbreviations`` is argparse's default. ``span`` is where it is made, ``parsed_at``
    where it is used.
    """

    span: Span
    options: list[Option] = field(default_factory=list)
    open: bool = False
    known_only: bool = False
    allow_abbreviations: bool = True
    parsed_at: list[Span] = field(default_factory=list)
    from_dataclasses: bool = False
    function: tuple[str, int] = ("", -1)
    """The file and the function that make it."""
    has_commands: bool = False
    """Whether it has subparsers, whose options are among ``options``."""
    commands: dict[str, str] | None = field(default_factory=dict)
    """The names of its subparsers and their aliases, with the name that options go by; ``None`` if some are not known."""
    open_beside: bool = False
    """Whether it may have options that we can't see even where we know the subcommand."""
    defaults: dict[str, Value] = field(default_factory=dict)
    """What ``set_defaults`` gives to names that no option has."""
    elsewhere: dict[str, str] = field(default_factory=dict)
    """Names that options have in other releases of a library only, with since or until when."""
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
        return matches[0] if len({option.dest for option in matches}) == 1 else None

    def by_dest(self, dest: str) -> Option | None:
        """The option whose value is stored under a name; the last definition wins."""
        for option in reversed(self.options):
            if option.dest == dest:
                return option
        return None


def method_of(instance: Instance) -> str:
    """The name of the method whose result an object is, or ``""``."""
    func = instance.call.func
    return func.name if type(func) is ir.Attribute else ""


def receiver_of(evaluator: Evaluator, instance: Instance) -> Instance | None:
    """The parser whose method's result an object is, or ``None``."""
    func = instance.call.func
    if type(func) is not ir.Attribute:
        return None
    return root_parser(evaluator, evaluator.evaluate(func.base, instance.frame, instance.state))


def root_parser(evaluator: Evaluator, value: Abstract) -> Instance | None:
    """The parser behind a value.

    Groups and framework helpers that return the parser they were given lead back to it.
    """
    for _ in range(20):
        value = lifted(value)
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
            # What a subparser defines ends up in the namespace of the parser that has it.
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
        return name == PARSER or name in parsers_of(evaluator.project).factories
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
            kind = _plain_kind(statement.annotation)
            words = {
                part.name if isinstance(part, ir.Attribute) else part.id
                for part in below(statement.annotation)
                if isinstance(part, ir.Name | ir.Attribute)
            }
            if words & _NO_FIELDS:
                continue
            arity: Any = "?" if "bool" in words else "+" if words & _LISTS else 1
            metadata = _metadata(statement.value)
            if "nargs" in metadata:
                nargs = metadata["nargs"]
                arity = nargs.value if type(nargs) is ir.Constant else "*"
            yield (
                name,
                Option(
                    name,
                    (f"--{name}", f"--{name.replace('_', '-')}", *_aliases(metadata)),
                    span,
                    default,
                    kind,
                    arity,
                    choices=_literal_choices(statement.annotation),
                    required=known("bool" not in words and _has_no_default(statement.value), span),
                ),
            )
            if kind == "bool" and default.only is True:
                negated = (f"--no_{name}", f"--no-{name.replace('_', '-')}")
                yield name, Option(name, negated, span, default, kind, 0, known(False, span))
    for base in definition.bases:
        parent = evaluator.modules.resolve(base, owner.file)
        if isinstance(parent, ClassRef) and parent != owner:
            yield from dataclass_fields(project, evaluator, parent, hops + 1)


def _plain_kind(annotation: ir.Expr) -> str:
    """The class that an annotation names, or the number that may be missing (``Optional[int]``); else ``""``."""
    if type(annotation) is ir.Name:
        return annotation.id
    parts: tuple[ir.Expr, ...] = ()
    if type(annotation) is ir.Subscript and type(annotation.base) is ir.Name and annotation.base.id == "Optional":
        parts = (annotation.index,)
    elif type(annotation) is ir.Operation and annotation.operators == ("|",):
        none = [one for one in annotation.operands if type(one) is ir.Constant and one.value is None]
        parts = tuple(one for one in annotation.operands if one not in none) if none else ()
    names = [one.id for one in parts if type(one) is ir.Name and one.id in ("int", "float")]
    return names[0] if len(names) == 1 == len(parts) else ""


def _repeats(flag: str, flags: tuple[str, ...]) -> bool:
    """Whether a flag is another one with dashes for its underscores."""
    return any(other != flag and other.replace("_", "-") == flag for other in flags)


_LISTS = frozenset({"List", "list", "Sequence"})
_NO_FIELDS = frozenset({"ClassVar", "InitVar", "KW_ONLY"})


def _has_no_default(value: ir.Expr | None) -> bool:
    """Whether a field of a dataclass has to be given: it has neither a default nor what makes one."""
    if value is None:
        return True
    func = value.func if type(value) is ir.Call else None
    name = func.id if type(func) is ir.Name else func.name if type(func) is ir.Attribute else ""
    return (
        type(value) is ir.Call
        and name == "field"
        and not any(one.name in (None, "default", "default_factory", "init") for one in value.keywords)
    )


def _metadata(value: ir.Expr | None) -> dict[str, ir.Expr]:
    """What ``field(metadata={...})`` hands to the parser."""
    keywords = value.keywords if type(value) is ir.Call else ()
    display = next((one.value for one in keywords if one.name == "metadata"), None)
    if type(display) is not ir.DictDisplay:
        return {}
    pairs = zip(display.keys, display.values, strict=True)
    return {str(key.value): item for key, item in pairs if type(key) is ir.Constant}


def _aliases(metadata: dict[str, ir.Expr]) -> tuple[str, ...]:
    given = metadata.get("aliases")
    items = given.items if type(given) is ir.ListDisplay else (given,)
    return tuple(item.value for item in items if type(item) is ir.Constant and isinstance(item.value, str))


def _literal_choices(annotation: ir.Expr) -> tuple[Any, ...] | None:
    """The words of ``Literal["a", "b"]``."""
    if type(annotation) is not ir.Subscript or type(annotation.base) is not ir.Name or annotation.base.id != "Literal":
        return None
    index = annotation.index
    items = index.items if type(index) is ir.ListDisplay else (index,)
    texts = tuple(item.value for item in items if type(item) is ir.Constant and isinstance(item.value, str))
    return texts if len(texts) == len(items) else None


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


def _commands_of(evaluator: Evaluator, receiver: Abstract) -> frozenset[str] | None:
    """The subcommands whose parsers a value may be, ``""`` for a parser that is none."""
    found: set[str] = set()
    for option in options_of(lifted(receiver)):
        value: Abstract = option
        name = ""
        for _ in range(20):
            steps = [one for one in options_of(lifted(value)) if isinstance(one, Instance)]
            if len(steps) != 1:
                return None
            step = steps[0]
            func = step.call.func
            if is_parser(evaluator, step):
                break
            if type(func) is not ir.Attribute or func.name not in _GROUPS:
                return None
            if func.name == "add_parser":
                given = step.call.args[0] if step.call.args else None
                if name or type(given) is not ir.Constant:
                    return None
                name = str(given.value)
            value = evaluator.evaluate(func.base, step.frame, step.state)
        found.add(name)
    return frozenset(found)


def _note_group(option: Option, evaluator: Evaluator, receiver: Abstract) -> None:
    """Enters the mutually exclusive group that an option is added to."""
    from distlint.link.evaluate import find_argument

    groups = [one for one in options_of(lifted(receiver)) if isinstance(one, Instance)]
    if len(groups) != 1 or method_of(groups[0]) != "add_mutually_exclusive_group":
        return
    group = groups[0]
    option.exclusive = (group.frame.file, group.call.at)
    required, _ = find_argument(group.call, "required", 0)
    option.exclusive_required = type(required) is ir.Constant and required.value is True


class ParserIndex:
    """All parsers of a project.

    ``prepare`` builds them before the first question is asked: what an option is comes up inside other questions, whose
    limits would cut the search for what defines it short.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._built: dict[ParserId, Parser] = {}
        self._calls: dict[ParserId, list[tuple[CallSite, str]]] | None = None
        self._roots: dict[ParserId, Instance] = {}
        self._lost: set[str] = set()
        specs: list[ParserSpec] = [parser for spec in project.specs for parser in spec.parsers]
        self.adders = {spec.callee: spec for spec in specs if not spec.dataclasses}
        self.factories = frozenset(spec.callee for spec in specs if spec.dataclasses)
        self.open_classes = frozenset(name for spec in project.specs for name in spec.open_dataclasses)

    def prepare(self, evaluator: Evaluator) -> None:
        """Builds every parser that some call defines options of."""
        self._uses()
        for root in list(self._roots.values()):
            self.get(evaluator, root)

    def get(self, evaluator: Evaluator, parser: Instance) -> Parser:
        """The parser with its options."""
        key = (parser.frame.file, parser.call.at)
        if key not in self._built:
            built = Parser(parser.span(), function=(parser.frame.file, parser.frame.function))
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
            elif keyword.name == "parents":
                self._add_parents(
                    built, evaluator.ask(keyword.value, parser.frame.file, parser.frame.function), evaluator
                )
            elif keyword.name is None or keyword.name in _SPELLINGS:
                built.open = True
        if isinstance(parser.callee, External) and parser.callee.name in self.factories:
            self._fill_from_dataclasses(built, parser, evaluator)
        elif isinstance(parser.callee, ClassRef):
            built.open = True
        for found, kind in self._uses().get((parser.frame.file, parser.call.at), ()):
            self._use(built, found, kind, evaluator)
        if any(self._may_meet(parser.frame.file, file) for file in self._lost):
            built.open = True
        built.open_beside = built.open
        built.open = built.open or built.has_commands

    def _may_meet(self, one: str, other: str) -> bool:
        """Whether what a file defines options of, without our seeing of which parser, may be the parser of another file."""
        return other in self._project.closure(one) or one in self._project.closure(other)

    def _add_parents(self, built: Parser, parents: Abstract, evaluator: Evaluator) -> None:
        """A parser has the options of its parents."""
        found = elements(parents)
        for item in found or ():
            parent = root_parser(evaluator, item)
            if parent is None:
                built.open = True
                continue
            inherited = self.get(evaluator, parent)
            built.options.extend(replace(option) for option in inherited.options)
            built.open = built.open or inherited.open
        built.open = built.open or found is None

    def _fill_from_dataclasses(self, built: Parser, parser: Instance, evaluator: Evaluator) -> None:
        built.from_dataclasses = True
        classes = dataclasses_of(evaluator, parser)
        if classes is None:
            built.open = True
            return
        for owner in classes:
            if isinstance(owner, External):
                self._add_library_fields(built, owner.name)
                continue
            built.options.extend(option for _, option in dataclass_fields(self._project, evaluator, owner))
            for base in sorted(evaluator.modules.external_bases(owner)):
                self._add_library_fields(built, base)
            if evaluator.modules.has_unknown_base(owner):
                built.open = True
        if isinstance(parser.callee, External):
            factory = parser.callee.name
            specs = (one for spec in self._project.specs for one in spec.parsers if one.callee == factory)
            self._apply(built, next(specs))

    def _add_library_fields(self, built: Parser, name: str) -> None:
        """The fields of a library's dataclass; where they are not known the parser may have any option."""
        from distlint.link.library_fields import library_fields

        found = library_fields(self._project, name, built.span)
        if found is None:
            built.open = True
            return
        redefined = {option.dest for option in built.options}
        built.options.extend(option for option in found.options if option.dest not in redefined)
        built.elsewhere.update(found.elsewhere)

    def _apply(self, built: Parser, factory: ParserSpec) -> None:
        """What a factory makes of the fields besides one option each."""
        if factory.defaults_from:
            for option in built.options:
                option.required = unknown(f"`{factory.defaults_from}` may stand for it", built.span)
            dest = factory.defaults_from.lstrip("-")
            built.options.append(Option(dest, (factory.defaults_from,), built.span, known(None, built.span)))
        # Releases that know ``--some_field`` only
        package, specifier = factory.dashed_since
        if package and self._project.environments.for_file(built.span.file).test(package, specifier) is False:
            for option in built.options:
                option.flags = tuple(
                    flag for flag in option.flags if "-" not in flag[2:] or not _repeats(flag, option.flags)
                )

    def _uses(self) -> dict[ParserId, list[tuple[CallSite, str]]]:
        """Every call that defines options or parses, by the parser that it works on."""
        if self._calls is None:
            self._calls = {}
            evaluator = self._project.evaluator(None)
            for kind in (
                "add_argument",
                "set_defaults",
                *sorted(PARSE_CALLS),
                "add_subparsers",
                "add_parser",
                *_INTO_DATACLASSES,
            ):
                for found in self._project.sites(kind):
                    func = found.site.call.func
                    if isinstance(func, ir.Attribute):
                        self._note(evaluator, func.base, found, kind)
            self._adder_uses(evaluator)
        return self._calls

    def _adder_uses(self, evaluator: Evaluator) -> None:
        for found in self._project.calls_to(set(self.adders)):
            if found.site.call.args:
                self._note(evaluator, found.site.call.args[0], found, "adder")

    def _note(self, evaluator: Evaluator, receiver: ir.Expr, found: CallSite, kind: str) -> None:
        """Enters a call under each parser that it may work on; where that can't be told, remembers the file."""
        assert self._calls is not None  # noqa: S101 - set by the callers
        for option in options_of(evaluator.ask(receiver, found.file, found.site.function)):
            root = root_parser(evaluator, option)
            if root is not None:
                key = (root.frame.file, root.call.at)
                self._roots.setdefault(key, root)
                self._calls.setdefault(key, []).append((found, kind))
            elif isinstance(option, Leaf) and option.value.is_unknown and NEVER_CALLED not in option.value.reason:
                self._lost.add(found.file)

    def _use(self, built: Parser, found: CallSite, kind: str, evaluator: Evaluator) -> None:
        if kind == "adder":
            for flag, takes_value in self.adders[found.name].options:
                dest = flag.lstrip("-").replace("-", "_")
                default = known(None if takes_value else False, found.span)
                built.options.append(Option(dest, (flag,), found.span, default, arity=1 if takes_value else 0))
        elif kind == "add_argument":
            option = read_option(found, evaluator)
            if option is None:
                built.open = True
            else:
                func = found.site.call.func
                receiver = evaluator.ask(func.base, found.file, found.site.function)  # type: ignore[union-attr]
                option.commands = _commands_of(evaluator, receiver)
                _note_group(option, evaluator, receiver)
                built.options.append(option)
        elif kind == "add_parser":
            self._add_command(built, found, evaluator)
        elif kind == "set_defaults":
            self._set_defaults(built, found, evaluator)
        elif kind == "add_subparsers":
            if built.has_commands:
                built.commands = None
            built.has_commands = True
            self._name_subparsers(built, found, evaluator)
        else:
            built.parsed_at.append(found.span)
            built.known_only = built.known_only or kind in KNOWN_ONLY
            if kind in _INTO_DATACLASSES:
                for keyword in found.site.call.keywords:
                    if keyword.name == "return_remaining_strings":
                        built.known_only = True

    def _add_command(self, built: Parser, found: CallSite, evaluator: Evaluator) -> None:
        """``add_parser("train", aliases=["t"])`` names a subcommand."""
        call = found.site.call
        name = evaluator.value(call.args[0], found.file, found.site.function).only if call.args else None
        names = [name]
        for keyword in call.keywords:
            if keyword.name == "aliases":
                given = evaluator.value(keyword.value, found.file, found.site.function).only
                names += given if isinstance(given, (list, tuple)) else [None]
            elif keyword.name not in ("help", "description", "epilog", "usage", "prog", "formatter_class"):
                names.append(None)
        if built.commands is None or not all(isinstance(one, str) for one in names):
            built.commands = None
            return
        built.commands |= {one: str(name) for one in names if isinstance(one, str)}

    def _name_subparsers(self, built: Parser, found: CallSite, evaluator: Evaluator) -> None:
        """``add_subparsers(dest=...)`` stores the name of the chosen one."""
        for keyword in found.site.call.keywords:
            if keyword.name == "dest":
                dest = evaluator.value(keyword.value, found.file, found.site.function)
                if isinstance(dest.only, str):
                    built.defaults[dest.only] = unknown("the chosen subcommand", found.span)

    def _set_defaults(self, built: Parser, found: CallSite, evaluator: Evaluator) -> None:
        for keyword in found.site.call.keywords:
            option = built.by_dest(keyword.name or "")
            default = evaluator.value(keyword.value, found.file, found.site.function)
            if option is not None:
                if option.flags or option.arity in ("?", "*"):
                    option.default = default
            elif keyword.name is not None:
                built.defaults[keyword.name] = default


def parsers_of(project: Project) -> ParserIndex:
    """The index of a project's parsers."""
    return project.parsers


def read_option(found: CallSite, evaluator: Evaluator) -> Option | None:
    """The option that an ``add_argument`` call defines; ``None`` if its flags are not known."""
    call = found.site.call
    flags: list[str] = []
    for argument in call.args:
        starred = type(argument) is ir.Starred
        inner = argument.value if isinstance(argument, ir.Starred) else argument
        given = evaluator.ask(inner, found.file, found.site.function)
        parts = elements(given) if starred else [node_of(given, found.span)]
        texts = [node_value(part).only for part in parts or ()]
        if parts is None or not all(isinstance(text, str) for text in texts):
            return None
        flags.extend(texts)
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
    if "action" in settings and evaluator.modules.dotted(settings["action"], found.file) == _BOTH_WAYS:
        action = "store_true"
        options += tuple(f"--no-{flag[2:]}" for flag in options if flag.startswith("--"))
    default = of("default")
    kind_expr = settings.get("type")
    kind, reader = _kind_of(kind_expr, found, evaluator)
    if default.is_absent:
        implied = {"store_true": False, "store_false": True}.get(str(of("action").only))
        default = known(implied, found.span)
    elif kind in ("int", "float", "?") and isinstance(default.only, str):
        default = typed(default, kind)
    arity: Any = 0 if str(action) in ("store_true", "store_false", "store_const", "count", "help", "version") else 1
    nargs = of("nargs")
    if not nargs.is_absent:
        arity = nargs.only if nargs.is_known else "*"
    if not options and not (arity in ("?", "*") and nargs.is_known):
        # argparse does not start without it, so there is no default to speak of.
        default = unknown("a positional argument", found.span)
    elif not options and arity == "*" and "default" not in settings:
        default = known([], found.span)
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
        reader=reader,
        listed=arity == 1 and not nargs.is_absent,
        function=(found.file, found.site.function),
        always=bool(options) or _is_unconditional(found, evaluator),
    )


def _is_unconditional(found: CallSite, evaluator: Evaluator) -> bool:
    """Whether a call is a statement of its own that its function's (or the program's) body always comes to."""
    module, index = evaluator.project.module(found.file), found.site.function
    bodies = [module.body if index < 0 else module.functions[index].body]
    while bodies:
        for statement in bodies.pop():
            if type(statement) is ir.With or (type(statement) is ir.If and _asks_for_main(statement.test)):
                bodies.append(statement.body)
            elif type(statement) in (ir.Evaluate, ir.Assign) and statement.value is found.site.call:  # type: ignore[union-attr]
                return True
    return False


def _asks_for_main(test: ir.Expr) -> bool:
    """``__name__ == "__main__"``."""
    parts = list(below(test))
    return any(type(part) is ir.Name and part.id == "__name__" for part in parts) and any(
        type(part) is ir.Constant and part.value == "__main__" for part in parts
    )


def _kind_of(expr: ir.Expr | None, found: CallSite, evaluator: Evaluator) -> tuple[str, Abstract | None]:
    """How an option's text is read: a built-in type by name, or a function of the program."""
    if expr is None:
        return "", None
    target = evaluator.ask(expr, found.file, found.site.function)
    if isinstance(target, Reference) and isinstance(target.target, External):
        name = target.target.name.removeprefix("builtins.")
        if name in ("int", "float", "bool", "str"):
            return name, None
        return ("str", None) if name.startswith("pathlib.") else ("?", None)
    return "?", target if isinstance(target, Reference | LambdaValue | PartialValue) else None
