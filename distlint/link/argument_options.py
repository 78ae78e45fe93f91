"""The options that calls of ``add_argument`` define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, LambdaValue, PartialValue, Reference, node_of
from distlint.link.command_words import typed
from distlint.link.items import elements
from distlint.link.modules import External
from distlint.link.parser_model import Option
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import node_value
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import CallSite

_BOTH_WAYS = "argparse.BooleanOptionalAction"


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
        gathers=str(action) if action in ("append", "extend") else "",
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
        return ("path", None) if name.startswith("pathlib.") else ("?", None)
    return "?", target if isinstance(target, Reference | LambdaValue | PartialValue) else None
