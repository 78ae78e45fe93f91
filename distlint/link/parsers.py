"""Which options a program's parsers define.

Covers ``argparse`` (groups, subparsers, parent parsers, ``set_defaults``) and parsers that are made from dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.link.abstract import (
    NEVER_CALLED,
    Abstract,
    Instance,
    lifted,
    options_of,
)
from distlint.link.argument_options import read_options
from distlint.link.field_options import dataclass_fields
from distlint.link.items import elements
from distlint.link.modules import ClassRef, External
from distlint.link.parser_model import Option, Parser, ParserId
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.document import Mapping as Tree
from distlint.model.framework import ParserSpec
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite, Project

PARSER = "argparse.ArgumentParser"
PARSE_CALLS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
KNOWN_ONLY = frozenset({"parse_known_args", "parse_known_intermixed_args"})
_INTO_DATACLASSES = ("parse_args_and_config", "parse_args_into_dataclasses")
_SPELLINGS = frozenset({"prefix_chars", "fromfile_prefix_chars"})
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"})


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
        index = parsers_of(evaluator.project)
        return name == PARSER or name in index.factories or name in index.makers
    if isinstance(instance.callee, ClassRef):
        bases = evaluator.modules.external_bases(instance.callee)
        return PARSER in bases or bool(bases & parsers_of(evaluator.project).factories)
    return False


def dataclasses_of(evaluator: Evaluator, parser: Instance) -> list[ClassRef | External] | None:
    """The dataclasses that a parser is made from; ``None`` if they can't be told."""
    from distlint.link.arguments import find_argument

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


def _repeats(flag: str, flags: tuple[str, ...]) -> bool:
    """Whether a flag is another one with dashes for its underscores."""
    return any(other != flag and other.replace("_", "-") == flag for other in flags)


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
    from distlint.link.arguments import find_argument

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
        self.adders = {spec.callee: spec for spec in specs if spec.options}
        self.makers = {spec.callee: spec for spec in specs if spec.own}
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
        for name in (PARSER, *sorted(self.factories | self.makers.keys())):
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
                if keyword.name == "fromfile_prefix_chars" and type(keyword.value) is ir.Constant:
                    built.file_prefix = str(keyword.value.value or "")
        if isinstance(parser.callee, External) and parser.callee.name in self.factories:
            self._fill_from_dataclasses(built, parser, evaluator)
        elif isinstance(parser.callee, External) and parser.callee.name in self.makers:
            for flag, kind, default in self.makers[parser.callee.name].own:
                value = known(default, built.span)
                built.options.append(Option(flag.lstrip("-"), (flag,), built.span, value, kind))
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
            for option in read_options(found, evaluator):
                if option is None:
                    built.open = True
                    continue
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
            if keyword.name is not None:
                default = evaluator.value(keyword.value, found.file, found.site.function)
                _set_default(built, keyword.name, default)
                continue
            spread = evaluator.ask(keyword.value, found.file, found.site.function)
            if not isinstance(spread, Tree) or spread.open:
                for option in built.options:
                    _set_default(built, option.dest, unknown("it may be among defaults that we can't see", found.span))
            for entry in spread.entries if isinstance(spread, Tree) else ():
                default = node_value(entry.node) if entry.certain else unknown("set on some paths only", entry.key_span)
                _set_default(built, str(entry.key), default)


def _set_default(built: Parser, name: str, default: Value) -> None:
    option = built.by_dest(name)
    if option is None:
        built.defaults[name] = default
    elif option.flags or option.arity in ("?", "*"):
        option.default = default


def parsers_of(project: Project) -> ParserIndex:
    """The index of a project's parsers."""
    return project.parsers
