"""The options that calls of ``add_argument`` define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Delayed, Frame, LambdaValue, PartialValue, Reference, node_of
from distlint.link.calls import Given, entered, given_arguments
from distlint.link.command_words import typed
from distlint.link.library_calls import LOADERS
from distlint.link.loop_rounds import rounds_at
from distlint.link.modules import ClassRef, External
from distlint.link.parser_model import Option
from distlint.link.stores import stored_into
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf, node_value
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite

_BOTH_WAYS = "argparse.BooleanOptionalAction"


def read_options(found: CallSite, evaluator: Evaluator) -> list[Option | None]:
    """The options that an ``add_argument`` call defines, one for each round of the loops that it stands in.

    ``None`` stands for one whose flags are not known.
    """
    frame = evaluator.frame(found.file, found.site.function)
    return [_read_option(found, evaluator, one) for one in rounds_at(evaluator, found.site.call.at, frame)]


def _read_option(found: CallSite, evaluator: Evaluator, frame: Frame) -> Option | None:
    call = found.site.call
    given = given_arguments(evaluator, call, frame, evaluator.state(frame, call.at))
    flags = [node_value(node_of(_asked(evaluator, one), found.span)).only for one in given.positional]
    if given.open_positional or given.open_keywords or not flags or not all(isinstance(one, str) for one in flags):
        return None
    settings = given.keywords

    def of(name: str) -> Value:
        if name not in settings:
            return absent()
        expr = settings[name].expr
        value = node_value(node_of(_asked(evaluator, settings[name]), found.span))
        return value.at(ir.unpack(expr.at, found.file)) if expr is not None else value

    options = tuple(flag for flag in flags if flag.startswith("-"))
    long = next((flag for flag in options if flag.startswith("--")), flags[0])
    dest = of("dest").only or long.lstrip("-").replace("-", "_")
    action = of("action").only or "store"
    if "action" in settings and _named(_asked(evaluator, settings["action"])) == _BOTH_WAYS:
        action = "store_true"
        options += tuple(f"--no-{flag[2:]}" for flag in options if flag.startswith("--"))
    sets = _set_by(evaluator, _asked(evaluator, settings["action"])) if "action" in settings else frozenset()
    default = of("default")
    kind, reader = _kind_of(_asked(evaluator, settings["type"]) if "type" in settings else None)
    kind, reader = ("?", None) if sets else (kind, reader)
    if default.is_absent:
        implied = {"store_true": False, "store_false": True}.get(str(of("action").only))
        default = known(implied, found.span)
    elif kind in ("int", "float", "?") and reader is None and isinstance(default.only, str):
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
        sets=sets,
        gathers=str(action) if action in ("append", "extend") else "",
        function=(found.file, found.site.function),
        always=bool(options) or _is_unconditional(found, evaluator),
    )


def read_text(evaluator: Evaluator, option: Option, value: Value) -> Value:
    """A text as the function reads it that the option names as its type."""
    if option.reader is None or not value.is_known or not isinstance(value.only, str):
        return typed(value, option.kind) if option.reader is None else value
    span = value.spans[0] if value.spans else option.span
    given = Given([Delayed(value=Leaf(value, span))])
    result = node_value(node_of(entered(evaluator, option.reader, given, 1, span), span))
    return result.at(*value.spans) if result.is_known else unknown("read by a function of the program", *value.spans)


def read_default(evaluator: Evaluator, option: Option) -> Value:
    """The default of an option as the program gets it: texts are read as those of the command line."""
    return read_text(evaluator, option, option.default) if isinstance(option.default.only, str) else option.default


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


def _asked(evaluator: Evaluator, given: Delayed) -> Abstract:
    """What an argument is, as a question of its own."""
    if given.expr is None or given.frame is None:
        return evaluator.force(given)
    return evaluator.ask_in(given.expr, given.frame, given.state)


def _set_by(evaluator: Evaluator, action: Abstract) -> frozenset[str]:
    """The attributes of the result that an action sets, if it is a class of the program."""
    target = action.target if isinstance(action, Reference) else None
    if not isinstance(target, ClassRef):
        return frozenset()
    method = evaluator.modules.method(target, "__call__")
    parameters = evaluator.project.function(method).parameters if method is not None else ()
    if method is None or len(parameters) < 3:
        return frozenset({"*"})
    name, body = parameters[2].name, evaluator.project.function(method).body
    found = {
        to.name
        for statement in statements(body)
        for to in stored_into(statement)
        if type(to) is ir.Attribute and type(to.base) is ir.Name and to.base.id == name
    }
    handed = (
        part
        for statement in statements(body)
        for expr in expressions_of(statement)
        for part in below(expr)
        if type(part) is ir.Call and any(type(one) is ir.Name and one.id == name for one in part.args)
    )
    return frozenset({*found, *(("*",) if any(True for _ in handed) or not found else ())})


def _named(value: Abstract) -> str:
    """The dotted name of a library's function or class; ``""`` for anything else."""
    target = value.target if isinstance(value, Reference) else None
    return target.name if isinstance(target, External) else ""


def _kind_of(target: Abstract | None) -> tuple[str, Abstract | None]:
    """How an option's text is read: a built-in type by name, or a function of the program."""
    if target is None:
        return "", None
    if name := _named(target).removeprefix("builtins."):
        if name in ("int", "float", "bool", "str"):
            return name, None
        if name.startswith("pathlib."):
            return "path", None
        return "?", target if name in LOADERS else None
    return "?", target if isinstance(target, Reference | LambdaValue | PartialValue) else None
