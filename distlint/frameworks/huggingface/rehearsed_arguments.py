"""The arguments of a trainer in the rehearsal of a program: as they are written, derived by the program, or parsed.

Sources: transformers 5.23.0, ``training_args.py``, ``hf_argparser.py``.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.entities import ClassValue, Library
from distlint.rehearsal.options import by_default, option_of
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Thing, is_known

CLASSES = frozenset(
    f"{package}.{name}"
    for package, names in {
        "transformers": ("TrainingArguments", "Seq2SeqTrainingArguments"),
        "trl": ("SFTConfig", "DPOConfig"),
    }.items()
    for name in names
)
_PARSERS = ("transformers.HfArgumentParser()", "transformers.hf_argparser.HfArgumentParser()", "trl.TrlParser()")
_FROM_COMMAND = ("parse_args_into_dataclasses", "parse_args_and_config")
_PARSING = (*_FROM_COMMAND, "parse_dict", "parse_json_file", "parse_yaml_file")
_AS_GIVEN = ("output_dir", "run_name", "logging_dir")
"""Texts that the object keeps; others become members of an enumeration."""


class TrainingArguments(Made):
    """What a trainer is told."""

    __slots__ = ()

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """A number or switch as it was given; what was not given may be worked out."""
        value = self.arguments.keywords.get(name, UNKNOWN) if self.arguments is not None else UNKNOWN
        plain = is_known(value) and value is not None and (not isinstance(value, str) or name in _AS_GIVEN)
        return value if plain and name != "do_eval" else NotImplemented


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> TrainingArguments:
    """The arguments as they are written: the process group is started with them (``_setup_devices``)."""
    player.stage.initialized = True
    found = TrainingArguments(name, call, given)
    found.file, found.function = scope.file, scope.function
    return found


def is_of_arguments(player: Any, thing: Any) -> bool:
    """Whether an object is of a class that the program derives from that of the arguments."""
    return isinstance(thing, Thing) and bool(player.stage.project.modules.external_bases(thing.cls) & CLASSES)


def said(arguments: Any, name: str, default: Any = None) -> Any:
    """What the arguments say; the default where they certainly say nothing, else unknown."""
    if isinstance(arguments, Thing):
        return arguments.attributes.get(name, UNKNOWN if arguments.open else default)
    if not isinstance(arguments, Made) or arguments.arguments is None:
        return UNKNOWN
    return arguments.stored.get(name, arguments.arguments.get(name, None, default))


def parsed(player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """What a parser makes of a command line or a file: an object of each class; ``NotImplemented`` for other calls."""
    if not isinstance(receiver, Made) or receiver.name not in _PARSERS or name not in _PARSING:
        return NotImplemented
    types = receiver.arguments.get("dataclass_types", 0, UNKNOWN) if receiver.arguments is not None else UNKNOWN
    listed = [types] if isinstance(types, ClassValue | Library) else player.items_of(types)
    if listed is None or not all(isinstance(one, ClassValue | Library) for one in listed):
        return NotImplemented
    options = Made(f"{receiver.name}.{name}()", call, given)
    options.file, options.function = scope.file, scope.function
    found = tuple(_filled(player, one, options, call, scope) for one in listed)
    if given.get("return_remaining_strings", None, False) is not False:
        return (*found, Items(None))
    return found


def _filled(player: Any, kind: Any, options: Made, call: ir.Call, scope: Any) -> Any:
    """An object of a class, of whose fields the options say what they hold."""
    if isinstance(kind, Library):
        return made(player, f"{kind.name}()", Given([], {}, is_open=True), call, scope)
    fields = player.fields_of(kind.ref) if player.is_record(kind.ref) else {}
    values = {}
    for field, default in fields.items():
        value = option_of(player, options, field)
        if isinstance(value, Opaque) and value.sign == ("option", field) and default is not None:
            usual = player.field_default(default, player.class_scope(kind.ref))
            value = by_default(player.stage, field, usual) if is_known(usual) else value
        values[field] = value
    foreign = bool(player.stage.project.modules.external_bases(kind.ref))
    return player.constructed(kind.ref, Given([], values, is_open=foreign or not fields), call, scope)
