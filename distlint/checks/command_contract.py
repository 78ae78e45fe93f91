"""The parser that certainly reads a launch's command line, and what that command line says to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from distlint.checks.execution import Execution
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.declared_parsers import declared_parsers
from distlint.link.evaluate import Evaluator
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.options import PARSER, Option, Parser, parsers_of, root_parser, split_flag
from distlint.link.parsers import KNOWN_ONLY
from distlint.link.process_arguments import any_rewrites
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.launch import Argument, Launch, Run
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

STRICT_CALLS = frozenset(
    {"parse_args", "parse_intermixed_args", "parse_args_into_dataclasses", "parse_args_and_config"}
)
_DEFINING = (
    "add_argument",
    "add_argument_group",
    "add_mutually_exclusive_group",
    "set_defaults",
    *sorted(STRICT_CALLS | KNOWN_ONLY),
)
_SETTINGS_THAT_CHANGE_READING = frozenset({"prefix_chars", "fromfile_prefix_chars", "parents"})


@dataclass(frozen=True, slots=True)
class Given:
    """An option on a command line: the word that names it, what it means to the parser, and its values."""

    flag: str
    span: Span
    option: Option | None
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A command line as a parser reads it: options, and words that no option takes."""

    options: tuple[Given, ...]
    operands: tuple[Argument, ...]


class Contract(NamedTuple):
    """A run whose command line is certainly read by ``parser``."""

    run: Run
    launch: Launch
    parser: Parser
    parse: CallSite
    definitions: tuple[CallSite, ...]
    """The ``add_argument`` calls of the parser, in the order of files and text."""
    strict: bool = True
    """Whether the parser refuses whatever we don't see it define."""
    complete: bool = True
    """Whether we see all options of the parser."""

    def reading(self) -> Reading:
        """What the command line says to the parser."""
        return read_command_line(self.parser, self.launch)


@dataclass(slots=True)
class _Found:
    parser: Parser
    parses: list[CallSite] = field(default_factory=list)
    lenient: bool = False
    """Whether one of these calls leaves unknown options alone."""
    definitions: list[CallSite] = field(default_factory=list)


_CONTRACTS: WeakKeyDictionary[Project, tuple[Contract, ...]] = WeakKeyDictionary()


def contracts(project: Project, *, strict: bool = True) -> tuple[Contract, ...]:
    """The contracts of all launched runs; worked out once per project.

    Those that are not ``strict`` come along where they are asked for: what a parser requires and converts holds for
    them too.
    """
    if project not in _CONTRACTS:
        _CONTRACTS[project] = tuple(_contracts(project))
    return tuple(one for one in _CONTRACTS[project] if one.strict or not strict)


def _contracts(project: Project) -> Iterator[Contract]:
    launched = [
        (run, run.launch) for run in project.runs if run.launch is not None and run.script_file in project.facts
    ]
    if not launched:
        return
    parsers = _visible_parsers(project)
    parsers.extend(_Found(parser, [site]) for parser, site in declared_parsers(project))
    rewritten: dict[str, bool] = {}
    for run, launch in launched:
        closure = project.closure(run.script_file)
        mine = [found for found in parsers if all(parse.file in closure for parse in found.parses)]
        if not mine or any_rewrites(project, closure, rewritten):
            continue
        execution = Execution(project, run)
        for found in mine:
            for parse in found.parses:
                if execution.reaches(parse.file, parse.site.function, parse.site.call.at):
                    parser, told = _with_command(found.parser, launch)
                    complete = not parser.open and _all_options_end(parser)
                    strict = complete and not parser.known_only and not found.lenient
                    yield Contract(run, told, parser, parse, tuple(found.definitions), strict, complete)
                    break


def command_word(parser: Parser, launch: Launch) -> Argument | None:
    """The word of a command line that names a subcommand; ``None`` where that can't be told."""
    if not parser.commands or parser.open_beside or any(option.commands is None for option in parser.options):
        return None
    own = [option for option in parser.options if option.commands == frozenset({""})]
    if any(not option.flags for option in own):
        return None
    reading = read_command_line(replace(parser, options=own, _by_flag={}, _indexed=0), launch)
    command = reading.operands[0] if reading.operands else None
    if command is None or not isinstance(command.value.only, str):
        return None
    at = next(index for index, word in enumerate(launch.arguments) if word is command)
    ahead = {word.span for word in launch.arguments[:at]}
    return None if any(given.option is None and given.span in ahead for given in reading.options) else command


def _with_command(parser: Parser, launch: Launch) -> tuple[Parser, Launch]:
    """The parser of the subcommand that a launch names, with the launch without that word; else both as they are."""
    command = command_word(parser, launch)
    name = (parser.commands or {}).get(str(command.value.only)) if command is not None else None
    if name is None:
        return parser, launch
    chosen = [option for option in parser.options if option.commands is not None and {"", name} & option.commands]
    found = replace(parser, options=chosen, open=False, has_commands=False, commands={}, _by_flag={}, _indexed=0)
    return found, replace(launch, arguments=tuple(word for word in launch.arguments if word is not command))


def _visible_parsers(project: Project) -> list[_Found]:
    """The parsers that stay in sight, with the calls that read the process's own command line."""
    index, evaluator = parsers_of(project), project.evaluator(None)
    list(index.all())
    found: dict[tuple[str, int], _Found] = {}
    for kind in _DEFINING:
        for site in project.sites(kind):
            root = _root(evaluator, site)
            if root is None:
                continue
            key = (root.frame.file, root.call.at)
            if key not in found:
                found[key] = _Found(index.get(evaluator, root))
            if kind in STRICT_CALLS | KNOWN_ONLY and _reads_own_command_line(site.site.call):
                found[key].parses.append(site)
                found[key].lenient |= kind in KNOWN_ONLY or bool(_keyword(site.site.call, "return_remaining_strings"))
            elif kind == "add_argument":
                found[key].definitions.append(site)
    escaped = _escaped(project, evaluator)
    return [one for key, one in found.items() if one.parses and key not in escaped and _reads_plainly(project, key)]


def _keyword(call: ir.Call, name: str) -> ir.Expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.name == name), None)


def _reads_plainly(project: Project, key: tuple[str, int]) -> bool:
    """Whether a parser reads words in the usual way, as far as the call that makes it says."""
    if key[0] not in project.facts:
        return False
    call = next(
        (site.call for sites in project.module(key[0]).calls.values() for site in sites if site.call.at == key[1]), None
    )
    settings = () if call is None else call.keywords
    unusual = any(one.name is None or one.name in _SETTINGS_THAT_CHANGE_READING for one in settings)
    return call is not None and not unusual


def _all_options_end(parser: Parser) -> bool:
    """Whether no option takes all that follows."""
    return all(option.arity not in ("...", "A...") for option in parser.options)


def _root(evaluator: Evaluator, found: CallSite) -> Instance | None:
    func = found.site.call.func
    if type(func) is not ir.Attribute:
        return None
    return root_parser(evaluator, evaluator.ask(func.base, found.file, found.site.function))


def _reads_own_command_line(call: ir.Call) -> bool:
    """Whether a parsing call takes its words from the process's arguments, and refuses what it does not know."""
    known = ("args", "namespace", "look_for_args_file", "return_remaining_strings")
    if any(keyword.name not in known for keyword in call.keywords):
        return False
    given, certain = find_argument(call, "args", 0)
    if given is None:
        return certain
    return type(given) is ir.Constant and given.value is None


def _escaped(project: Project, evaluator: Evaluator) -> set[tuple[str, int]]:
    """Parsers that are handed to code which we can't see: they may have more options."""
    escaped: set[tuple[str, int]] = set()
    adders = parsers_of(project).adders
    for file in project.python_files:
        module = project.module(file)
        names = _parser_names(module)
        for sites in module.calls.values() if names else ():
            for site in sites:
                for argument in (*site.call.args, *(keyword.value for keyword in site.call.keywords)):
                    if _name(argument) in names and not _stays_visible(project, site.call.func, file, adders):
                        for option in options_of(evaluator.ask(argument, file, site.function)):
                            root = root_parser(evaluator, option)
                            if root is not None:
                                escaped.add((root.frame.file, root.call.at))
    return escaped


def _parser_names(module: ir.Module) -> set[str]:
    names = set()
    for kind in _DEFINING:
        for site in module.calls.get(kind, ()):
            if type(site.call.func) is ir.Attribute:
                names.add(_name(site.call.func.base))
    for call in (site.call for site in module.calls.get("ArgumentParser", ())):
        names |= {
            _name(target)
            for statement in module.body
            if type(statement) is ir.Assign and statement.value == call
            for target in statement.targets
        }
    return names - {""}


def _name(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""


def _stays_visible(project: Project, func: ir.Expr, file: str, adders: Iterable[str]) -> bool:
    """Whether a call with a parser as argument is of the project, or a known library function: we see its options."""
    target = project.modules.resolve(func, file)
    if isinstance(target, FunctionRef):
        return target.file in project.facts
    if isinstance(target, ClassRef):
        return target.file in project.facts
    return project.modules.dotted(func, file) in adders


def read_command_line(parser: Parser, launch: Launch) -> Reading:
    """Reads a launch's arguments as argparse would, keeping what no option of the parser takes."""
    options: list[Given] = []
    operands: list[Argument] = []
    words = list(launch.arguments)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.value.only == "--":
            operands.extend(words[at:])
            break
        flag, inline = split_flag(word)
        if not _is_flag(flag):
            operands.append(word)
            continue
        option = parser.find(flag)
        if inline is not None or option is None:
            options.append(Given(flag, word.span, option, () if inline is None else (inline,)))
            if option is None and inline is None:
                at = _skip_operands(words, at)
            continue
        values, at = _values(option, words, at)
        options.append(Given(flag, word.span, option, values))
    return Reading(tuple(options), tuple(operands))


def _is_flag(text: str) -> bool:
    return text.startswith("-") and " " not in text and not _is_number(text)


def _values(option: Option, words: list[Argument], at: int) -> tuple[tuple[Value, ...], int]:
    limit = option.arity if isinstance(option.arity, int) else 1 if option.arity == "?" else len(words)
    taken: list[Value] = []
    while len(taken) < limit and at < len(words) and not _is_flag(split_flag(words[at])[0]):
        taken.append(words[at].value)
        at += 1
    return tuple(taken), at


def _skip_operands(words: list[Argument], at: int) -> int:
    """Past the words behind an option that the parser does not know: whatever they are, the option is what is wrong."""
    while at < len(words) and not _is_flag(split_flag(words[at])[0]):
        at += 1
    return at


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


__all__ = ["PARSER", "Contract", "Given", "Reading", "contracts", "read_command_line"]
