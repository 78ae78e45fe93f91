"""What a command line gives to the parameters of a function that a library calls with it: commands of ``click``, ``typer`` and ``fire``.

Seen with click 8.5.1, typer 0.29.2 and fire 0.7.1, whose commands were run with the command lines of the tests: a parameter of click is
the word without dashes, else the first of the longest dashes in lower case; fire reads words as literals of Python where they are some,
and takes the first letter of a parameter for it where no other begins with that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import Abstract, Instance, leaf, node_of, options_of
from distlint.link.command_words import given_options
from distlint.link.declared_parsers import read_as
from distlint.link.modules import External, FunctionRef
from distlint.link.parser_model import Option, Parser
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.launch import Argument
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Run

_CLICK = ("click", "click.decorators", "rich_click")
_PLAIN = ("int", "float", "str", "bool")
_FIRE = frozenset({"fire.Fire", "fire.core.Fire"})
MAX_WORD = 200
"""Characters of a word that is read as a literal of Python."""


class Command(NamedTuple):
    """A function that is called with what a command line says: a parser whose options go by the names of the parameters."""

    parser: Parser
    names: tuple[str, ...] = ()
    """The words that choose it among the commands of one program; none where it is the only one."""
    as_literals: bool = False
    """Whether words are read as literals of Python."""


class Commands:
    """Answers for a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: dict[FunctionRef, Command | None] = {}

    @classmethod
    def of(cls, project: Project) -> Commands:
        """Those of a project."""
        found: Commands = project.kept.setdefault(cls, cls(project))
        return found

    def command(self, ref: FunctionRef) -> Command | None:
        """What calls a function with a command line; ``None`` where nothing does."""
        if ref not in self._found:
            self._found[ref] = None  # while its decorators are looked at
            self._found[ref] = self._command(ref)
        return self._found[ref]

    def value(self, run: Run | None, ref: FunctionRef, name: str, span: Span) -> Abstract | None:
        """What a parameter of a command is; ``None`` where its function is none."""
        command = self.command(ref)
        option = command.parser.by_dest(name) if command is not None else None
        if command is None or option is None:
            return None
        launch = run.launch if run is not None else None
        if launch is None:
            return leaf(option.default.at_most(Confidence.POSSIBLE), span)
        words = _words_of(command, launch.arguments)
        if words is None:
            return Leaf(unknown("another command is started", span), span)
        parser = command.parser
        if command.as_literals and any(word.text.startswith("-") for word in words):
            # which parameters bare words go to depends on those that are named
            parser = Parser(parser.span, [one for one in parser.options if one.flags], allow_abbreviations=False)
        given = given_options(parser, words, more=launch.open_arguments).get(name)
        if given is not None:
            return leaf(_as_literal(given) if command.as_literals else given, span)
        if launch.open_arguments and launch.is_open_to_caller_only:
            return leaf(option.default.at_most(Confidence.POSSIBLE), span)
        if launch.open_arguments or command.parser.open:
            return Leaf(unknown(f"`{name}` may be among arguments that we can't see", span), span)
        return leaf(option.default, span)

    def chosen(self, run: Run | None, file: str, application: str) -> FunctionRef | None:
        """The command of an application, by its name in a file, that a run starts; ``None`` where that is not known."""
        launch = run.launch if run is not None else None
        if launch is None:
            return None
        for index, function in enumerate(self._project.module(file).functions):
            command = self.command(FunctionRef(file, index))
            of_application = any(_application_of(one) == application for one in function.decorators)
            if command is not None and of_application and _words_of(command, launch.arguments) is not None:
                return FunctionRef(file, index)
        return None

    # Which library calls it --------------------------------------------------------------------------------------

    def _command(self, ref: FunctionRef) -> Command | None:
        function = self._project.function(ref)
        if function.owner >= 0:
            return None
        for decorator in function.decorators:
            call = decorator if type(decorator) is ir.Call else None
            func = call.func if call is not None else decorator
            library, _, last = (self._project.modules.dotted(func, ref.file) or "").rpartition(".")
            if library in _CLICK and last == "command":
                return Command(self._of_click(function, ref.file))
            if type(func) is ir.Attribute and func.name == "command":
                return self._of_group(ref, function, func, call)
        for found in self._project.calls_to({"typer.run", *_FIRE}):
            target = (
                self._project.modules.resolve(found.site.call.args[0], found.file) if found.site.call.args else None
            )
            if target == ref and not function.decorators:
                if found.name in _FIRE:
                    return Command(self._of_fire(function, ref.file), as_literals=True)
                return Command(self._of_typer(function, ref.file))
        return None

    def _of_group(
        self, ref: FunctionRef, function: ir.Function, func: ir.Attribute, call: ir.Call | None
    ) -> Command | None:
        """A command of an application (``@app.command()``), or of a group of commands."""
        owner = self._project.modules.resolve(func.base, ref.file)
        alone = self._commands_beside(ref.file, func) == 1
        written = call.args[0].value if call is not None and call.args and type(call.args[0]) is ir.Constant else None
        if isinstance(owner, FunctionRef):
            spellings = (str(written or function.name.replace("_", "-")), function.name)
            return Command(self._of_click(function, ref.file), spellings)
        evaluator = self._project.evaluator(None)
        made = options_of(evaluator.ask(func.base, ref.file, -1))
        if len(made) != 1 or not isinstance(made[0], Instance) or made[0].callee != External("typer.Typer"):
            return None
        names = () if alone else (str(written or function.name.replace("_", "-")),)
        return Command(self._of_typer(function, ref.file), names)

    def _commands_beside(self, file: str, func: ir.Attribute) -> int:
        """How many functions of a file are commands of the same application; those that come before all commands count as well."""
        wanted = func.base.id if type(func.base) is ir.Name else ""
        count = 0
        for function in self._project.module(file).functions:
            for decorator in function.decorators:
                named = decorator.func if type(decorator) is ir.Call else decorator
                if type(named) is ir.Attribute and type(named.base) is ir.Name and named.base.id == wanted:
                    count += named.name in ("command", "callback")
        return count

    # Options by parameter ----------------------------------------------------------------------------------------

    def _of_click(self, function: ir.Function, file: str) -> Parser:
        parser = _parser(function, file)
        for decorator in reversed(function.decorators):
            call = decorator if type(decorator) is ir.Call else None
            library, _, last = (
                (self._project.modules.dotted(call.func, file) or "").rpartition(".") if call else ("", "", "")
            )
            if call is None or library not in _CLICK or last not in ("option", "argument"):
                continue
            found = self._of_decorator(call, file, is_operand=last == "argument")
            parser.open = parser.open or not found
            parser.options[:0] = found
        return parser

    def _of_decorator(self, call: ir.Call, file: str, *, is_operand: bool) -> list[Option]:
        """The options that a decorator defines, all under the name of the parameter; none where they are not known."""
        words = [one.value for one in call.args if type(one) is ir.Constant and isinstance(one.value, str)]
        given = {one.name: one.value for one in call.keywords}
        span = ir.unpack(call.at, file)
        if len(words) != len(call.args) or not words or None in given or given.keys() & {"cls", "callback", "envvar"}:
            return []
        default = self._value(given.get("default"), file)
        kind, _ = read_as(self._project, file, given.get("type"), default.only)
        if "type" not in given and (not default.is_known or type(default.only) is bool):
            kind = "bool" if default.is_known else "?"
        nargs, several = self._value(given.get("nargs"), file).only, self._value(given.get("multiple"), file).only
        if is_operand:
            default = default if "default" in given else unknown("a positional argument", span)
            return [Option(words[0].lower().replace("-", "_"), (), span, default, kind, nargs or 1)]
        pairs = [word.partition("/") for word in words if word.startswith("-")]
        on = tuple(first.strip() for first, _, _ in pairs)
        off = tuple(second.strip() for _, _, second in pairs if second)
        dest = _parameter_of(words, on)
        is_switch = bool(off) or self._value(given.get("is_flag"), file).only is True
        if is_switch:
            default = default if "default" in given else known(False, span)
            if not off and default.only is not False:
                return [Option(dest, on, span, unknown("a switch that is on", span), "?", 0, unknown("a switch", span))]
            switched = [Option(dest, on, span, default, "bool", 0, known(True, span))]
            return [*switched, *([Option(dest, off, span, default, "bool", 0, known(False, span))] if off else [])]
        if several is True or "count" in given or (nargs not in (None, 1)) or "flag_value" in given:
            return [Option(dest, on, span, unknown("several words", span), "?", nargs or 1)]
        return [Option(dest, on, span, default, kind)]

    def _of_typer(self, function: ir.Function, file: str) -> Parser:
        parser = _parser(function, file)
        for parameter in function.parameters:
            annotation, said = _unwrapped(parameter.annotation)
            default = parameter.default
            if self._is_of_typer(default, file) and isinstance(default, ir.Call):
                # ``size: int = typer.Option(1, "--mesh")``
                default, said = default.args[0] if default.args else None, default
            parser.options += self._of_parameter(parameter, annotation, default, said, file)
        return parser

    def _is_of_typer(self, expr: ir.Expr | None, file: str) -> bool:
        name = self._project.modules.dotted(expr.func, file) if type(expr) is ir.Call else None
        return name is not None and name.startswith("typer.")

    def _of_parameter(
        self,
        parameter: ir.Parameter,
        annotation: ir.Expr | None,
        default: ir.Expr | None,
        said: ir.Expr | None,
        file: str,
    ) -> list[Option]:
        """The options of a parameter by its type and default, and by what is said of it (``typer.Option(...)``)."""
        span, dashed = ir.unpack(parameter.at, file), parameter.name.replace("_", "-")
        kind = annotation.id if type(annotation) is ir.Name and annotation.id in _PLAIN else "?"
        kind = "" if kind == "str" else kind
        is_operand = default is None or (type(default) is ir.Constant and default.value is ...)
        name = self._project.modules.dotted(said.func, file) or "" if isinstance(said, ir.Call) else ""
        words = said.args if isinstance(said, ir.Call) else ()
        flags = [
            one.value
            for one in words
            if type(one) is ir.Constant and isinstance(one.value, str) and one.value.startswith("-")
        ]
        held = unknown("a positional argument", span) if is_operand else self._value(default, file)
        if name.endswith("Argument") or (is_operand and not name.endswith("Option")):
            return [Option(parameter.name, (), span, held, kind)]
        if kind == "bool":
            pairs = [one.partition("/") for one in flags] or [(f"--{dashed}", "/", f"--no-{dashed}")]
            on, off = tuple(one[0] for one in pairs), tuple(one[2] for one in pairs if one[2])
            switched = [Option(parameter.name, on, span, held, kind, 0, known(True, span))]
            return [*switched, *([Option(parameter.name, off, span, held, kind, 0, known(False, span))] if off else [])]
        return [Option(parameter.name, tuple(flags) or (f"--{dashed}",), span, held, kind)]

    def _of_fire(self, function: ir.Function, file: str) -> Parser:
        parser = _parser(function, file)
        for parameter in function.parameters:
            if parameter.kind not in ("normal", "keyword"):
                parser.open = True
                continue
            span, name = ir.unpack(parameter.at, file), parameter.name
            default = (
                self._value(parameter.default, file) if parameter.default is not None else unknown("not given", span)
            )
            alone = sum(one.name[0] == name[0] for one in function.parameters) == 1
            letters = (f"-{name[0]}", f"--{name[0]}") if alone else ()
            flags = tuple(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}", *letters)))
            parser.options.append(Option(name, flags, span, default, "", "?", known(True, span)))
            parser.options.append(Option(name, (f"--no{name}",), span, default, "", 0, known(False, span)))
            parser.options.append(Option(name, (), span, default, "", "?"))
        return parser

    def _value(self, expr: ir.Expr | None, file: str) -> Value:
        if expr is None:
            return known(None)
        found = node_value(node_of(self._project.evaluator(None).ask(expr, file, -1), ir.unpack(expr.at, file)))
        return found if found.is_known else unknown(found.reason or "not known", ir.unpack(expr.at, file))


def _application_of(decorator: ir.Expr) -> str:
    """The name in front of ``.command`` in a decorator."""
    func = decorator.func if type(decorator) is ir.Call else decorator
    is_command = type(func) is ir.Attribute and func.name == "command" and type(func.base) is ir.Name
    return func.base.id if is_command else ""  # type: ignore[union-attr]


def _parser(function: ir.Function, file: str) -> Parser:
    return Parser(ir.unpack(function.name_at, file), allow_abbreviations=False)


def _parameter_of(words: Iterable[str], flags: tuple[str, ...]) -> str:
    """The parameter that an option of click goes to."""
    own = next((one for one in words if one.isidentifier()), "")
    longest = sorted(flags, key=lambda one: -(len(one) - len(one.lstrip("-"))))
    return own or (longest[0].lstrip("-").replace("-", "_").lower() if longest else "")


def _unwrapped(annotation: ir.Expr | None) -> tuple[ir.Expr | None, ir.Expr | None]:
    """``Annotated[int, typer.Option("--size")]`` as its type and what is said of it; ``Optional[int]`` as its type."""
    more = None
    while type(annotation) is ir.Subscript:
        named = annotation.base
        last = named.name if type(named) is ir.Attribute else named.id if type(named) is ir.Name else ""
        inner = annotation.index
        if last == "Annotated" and type(inner) is ir.ListDisplay and len(inner.items) > 1:
            annotation, more = inner.items[0], inner.items[1]
        elif last == "Optional":
            annotation = inner
        else:
            break
    return annotation, more


def _words_of(command: Command, words: tuple[Argument, ...]) -> list[Argument] | None:
    """The words of a command line behind the one that chooses a command; ``None`` where another one is chosen."""
    if not command.names:
        return list(words)
    place = next((at for at, word in enumerate(words) if word.value.only in command.names), None)
    return None if place is None else list(words[place + 1 :])


def _as_literal(value: Value) -> Value:
    """A word as fire reads it: a literal of Python, or a text; lists and the like are not known."""
    text = value.only
    if not isinstance(text, str) or len(text) > MAX_WORD:
        return value
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value
    plain = found is None or isinstance(found, bool | int | float | str)
    return value.map(lambda _: found) if plain else unknown("a literal with parts", *value.spans)
