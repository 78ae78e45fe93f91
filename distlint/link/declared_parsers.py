"""Parsers of command lines that libraries make from decorators, signatures and flag definitions.

``click`` (``@command`` with ``@option`` and ``@argument``), ``typer.run(main)``, ``fire.Fire(main)`` and ``absl.flags``. What
they take was seen with click 8.5, typer, fire 0.7 and absl-py 2.5: none knows abbreviations of options but absl's flags
(unique beginnings are refused as well), and all refuse what they don't define.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.link.modules import FunctionRef
from distlint.link.parser_model import Option, Parser
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.model.value import Value, known

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_OWN_FLAGS = (
    "help", "helpshort", "helpfull", "helpxml", "v", "verbosity", "logger_levels", "stderrthreshold", "showprefixforinfo",
    "logtostderr", "alsologtostderr", "log_dir", "log_file", "run_with_pdb", "pdb_post_mortem", "pdb", "run_with_profiling",
    "profile_file", "use_cprofile_for_profiling", "only_check_args", "flagfile", "undefok", "op_conversion_fallback_to_while_loop",
)  # fmt: skip
_KINDS = {
    "DEFINE_integer": "int",
    "DEFINE_float": "float",
    "DEFINE_string": "",
    "DEFINE_enum": "",
    "DEFINE_bool": "bool",
}
_CLICK_TYPES = {
    "click.INT": "int",
    "click.IntRange": "int",
    "click.FLOAT": "float",
    "click.FloatRange": "float",
    "click.STRING": "",
    "click.Path": "",
    "click.BOOL": "bool",
}
_HELPERS = frozenset({"command", "option", "argument", "version_option", "help_option", "pass_context"})


def declared_parsers(project: Project) -> Iterator[tuple[Parser, CallSite]]:
    """Every such parser whose options are all in sight, with the call that reads the process's command line."""
    yield from _decorated(project)
    yield from _from_signatures(project)
    yield from _from_flags(project)


# Decorators ---------------------------------------------------------------------------------------------------------


def _decorated(project: Project) -> Iterator[tuple[Parser, CallSite]]:
    for file in project.python_files:
        module = project.module(file)
        if not any(item.module.split(".")[0] == "click" for item in module.imports):
            continue
        for index, function in enumerate(module.functions):
            parser = _of_decorators(project, file, function)
            if parser is None or function.owner >= 0:
                continue
            for caller in project.callers(FunctionRef(file, index)):
                call = caller.site.call
                if not call.args and not call.keywords:
                    from distlint.link.project import CallSite

                    yield parser, CallSite(caller.file, caller.site)


def _of_decorators(project: Project, file: str, function: ir.Function) -> Parser | None:
    """The parser that the decorators of a function make; ``None`` if one of them is not understood."""
    parser = Parser(ir.unpack(function.name_at, file), allow_abbreviations=False)
    is_command = False
    for decorator in function.decorators:
        call = decorator if type(decorator) is ir.Call else None
        name = project.modules.dotted(call.func if call is not None else decorator, file)
        library, _, last = (name or "").rpartition(".")
        if library not in ("click", "click.decorators") or last not in _HELPERS:
            return None
        if last == "command":
            is_command = True
            if call is not None and any(
                one.name not in ("name", "help", "short_help", "epilog") for one in call.keywords
            ):
                return None
        elif last in ("version_option", "help_option"):
            flag = "--version" if last == "version_option" else "--help"
            parser.options.append(Option(flag[2:], (flag,), parser.span, known(None), arity=0))
        elif call is not None and last in ("option", "argument"):
            options = _decorated_option(project, file, call, positional=last == "argument")
            if options is None:
                return None
            parser.options[:0] = options
    return parser if is_command else None


def _decorated_option(project: Project, file: str, call: ir.Call, *, positional: bool) -> list[Option] | None:
    words = [argument.value for argument in call.args if type(argument) is ir.Constant]
    given = {keyword.name: keyword.value for keyword in call.keywords}
    if len(words) != len(call.args) or not words or None in given or "cls" in given or "callback" in given:
        return None
    if not all(isinstance(word, str) for word in words):
        return None
    span = ir.unpack(call.at, file)

    def constant(name: str, otherwise: Any) -> Any:
        expr = given.get(name)
        return otherwise if expr is None else expr.value if type(expr) is ir.Constant else ...

    nargs, default, is_flag = constant("nargs", 1), constant("default", None), constant("is_flag", False)
    kind, choices = read_as(project, file, given.get("type"), default)
    if ... in (nargs, is_flag) or "flag_value" in given:
        return None
    waived = default is not None or "envvar" in given
    if positional:
        needed = constant("required", True) is True and not waived
        arity = "*" if nargs == -1 else nargs if needed else "?"
        return [Option(words[0], (), span, known(default), kind, arity, choices=choices)]
    flags = tuple(part for word in words for part in word.split("/") if part.startswith("-"))
    dest = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "").lstrip("-")
    switch = is_flag is True or any("/" in word for word in words) or constant("count", False) is True
    # What a bare ``default=True`` makes of an option differs between releases.
    if not flags or (type(default) is bool and not switch and "type" not in given):
        return None
    required = constant("required", False) is True and not waived
    arity = 0 if switch else nargs
    return [Option(dest, flags, span, known(default), kind, arity, choices=choices, required=known(required))]


def read_as(project: Project, file: str, expr: ir.Expr | None, default: Any) -> tuple[str, tuple[Any, ...] | None]:
    """How a text is read, and the choices: by ``type``, else by the default."""
    if expr is None:
        return ("int" if type(default) is int else "float" if type(default) is float else ""), None
    if type(expr) is ir.Name and expr.id in ("int", "float", "str", "bool"):
        return expr.id, None
    name = project.modules.dotted(expr.func if type(expr) is ir.Call else expr, file) or ""
    if name in _CLICK_TYPES:
        return _CLICK_TYPES[name], None
    if name == "click.Choice" and type(expr) is ir.Call and len(expr.args) == 1 and not expr.keywords:
        items = expr.args[0].items if type(expr.args[0]) is ir.ListDisplay else ()
        texts = tuple(item.value for item in items if type(item) is ir.Constant)
        return "", texts if texts and len(texts) == len(items) else None
    return "?", None


# Signatures ---------------------------------------------------------------------------------------------------------


def _from_signatures(project: Project) -> Iterator[tuple[Parser, CallSite]]:
    for found in project.calls_to({"typer.run", "fire.Fire", "fire.core.Fire"}):
        call = found.site.call
        if len(call.args) != 1 or call.keywords:
            continue
        target = project.modules.resolve(call.args[0], found.file)
        if not isinstance(target, FunctionRef) or project.function(target).owner >= 0:
            continue
        function = project.function(target)
        read = _fire_parser if "fire" in found.name else _typer_parser
        parser = read(function, target.file) if not function.decorators else None
        if parser is not None:
            yield parser, found


def _typer_parser(function: ir.Function, file: str) -> Parser | None:
    parser = Parser(ir.unpack(function.name_at, file), allow_abbreviations=False)
    parser.options.append(Option("help", ("--help",), parser.span, known(None), arity=0))
    for parameter in function.parameters:
        kind = parameter.annotation.id if type(parameter.annotation) is ir.Name else ""
        plain = parameter.default is None or type(parameter.default) is ir.Constant
        if parameter.kind not in ("normal", "keyword") or not plain or kind not in ("int", "float", "str", "bool"):
            return None
        span, name = ir.unpack(parameter.at, file), parameter.name.replace("_", "-")
        if parameter.default is None:
            if kind == "bool":
                return None
            parser.options.append(Option(parameter.name, (), span, known(None), kind))
        elif kind == "bool":
            parser.options.append(Option(parameter.name, (f"--{name}", f"--no-{name}"), span, known(None), kind, 0))
        else:
            parser.options.append(Option(parameter.name, (f"--{name}",), span, known(None), kind))
    return parser


def _fire_parser(function: ir.Function, file: str) -> Parser | None:
    parser = Parser(ir.unpack(function.name_at, file), allow_abbreviations=False)
    parser.options.append(Option("help", ("--help",), parser.span, known(None), arity=0))
    for parameter in function.parameters:
        if parameter.kind not in ("normal", "keyword"):
            return None
        span, name = ir.unpack(parameter.at, file), parameter.name
        flags = dict.fromkeys(
            (f"--{name}", f"--{name.replace('_', '-')}", f"--{name[0]}", f"-{name[0]}", f"--no{name}")
        )
        # Any argument may be given by position too, so none is certainly missing, and a switch takes a word or none.
        parser.options.append(Option(name, tuple(flags), span, known(None), "?", "?"))
        parser.options.append(Option(name, (), span, known(None), "?", "?"))
    return parser


# Flags --------------------------------------------------------------------------------------------------------------


def _from_flags(project: Project) -> Iterator[tuple[Parser, CallSite]]:
    names = frozenset(f"absl.flags.{name}" for name in (*_KINDS, "DEFINE_boolean"))
    for found in project.calls_to({"absl.app.run"}):
        if len(found.site.call.args) != 1 or found.site.call.keywords:
            continue
        closure = project.closure(found.file)
        parser = Parser(found.span, allow_abbreviations=False)
        for name in _OWN_FLAGS:
            parser.options.append(Option(name, _spellings(name, switch=True), found.span, known(None), arity="?"))
        required = _required_flags(project, closure)
        defined = [site for site in project.calls_to(names) if site.file in closure]
        options = [_flag(site, required) for site in defined]
        if not options or None in options or _other_definitions(project, closure, len(defined)):
            continue
        parser.options.extend(option for option in options if option is not None)
        # Words that are no flags are handed to the main function.
        parser.options.append(Option("argv", (), found.span, known(None), arity="*"))
        yield parser, found


def _spellings(name: str, *, switch: bool) -> tuple[str, ...]:
    plain = (f"--{name}", f"-{name}")
    return (*plain, f"--no{name}", f"-no{name}") if switch else plain


def _flag(site: CallSite, required: frozenset[str]) -> Option | None:
    call = site.site.call
    kind = site.name.rpartition(".")[2].replace("boolean", "bool")
    name = call.args[0].value if call.args and type(call.args[0]) is ir.Constant else None
    if not isinstance(name, str) or any(
        keyword.name in (None, "flag_values", "short_name") for keyword in call.keywords
    ):
        return None
    by_name = {keyword.name: keyword.value for keyword in call.keywords}
    needed = type(by_name.get("required")) is ir.Constant and by_name["required"].value is True  # type: ignore[union-attr]
    choices: tuple[Any, ...] | None = None
    values = by_name.get("enum_values", call.args[2] if len(call.args) > 2 else None)
    if kind == "DEFINE_enum" and type(values) is ir.ListDisplay:
        choices = tuple(item.value for item in values.items if type(item) is ir.Constant)
        choices = choices if len(choices) == len(values.items) else None
    is_switch = kind == "DEFINE_bool"
    span: Span = site.span
    default: Value = known(None)
    return Option(
        name,
        _spellings(name, switch=is_switch),
        span,
        default,
        "" if is_switch else _KINDS[kind],
        0 if is_switch else 1,
        choices=choices,
        required=known(needed or name in required),
    )


def _required_flags(project: Project, closure: frozenset[str]) -> frozenset[str]:
    """The flags without a default that ``mark_flag_as_required`` names; it refuses those that end up as ``None`` only."""
    found = set()
    for site in project.calls_to({"absl.flags.mark_flag_as_required"}):
        argument = site.site.call.args[0] if site.site.call.args else None
        if site.file in closure and type(argument) is ir.Constant:
            found.add(str(argument.value))
    defaults = {}
    for site in project.calls_to(frozenset(f"absl.flags.{name}" for name in (*_KINDS, "DEFINE_boolean"))):
        arguments = site.site.call.args
        if len(arguments) > 1 and type(arguments[0]) is ir.Constant and type(arguments[1]) is ir.Constant:
            defaults[str(arguments[0].value)] = arguments[1].value
    return frozenset(name for name in found if name in defaults and defaults[name] is None)


def _other_definitions(project: Project, closure: frozenset[str], seen: int) -> bool:
    """Whether some call in the program defines flags in a way that we don't read."""
    total = 0
    for file in closure:
        calls = project.module(file).calls if file in project.facts else {}
        total += sum(len(sites) for name, sites in calls.items() if name.upper().startswith("DEFINE"))
    return total != seen
