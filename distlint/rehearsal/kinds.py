"""Of which class values are, and which attributes they have, on one process of a rehearsal."""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.documents import Document
from distlint.rehearsal.entities import (
    OF_FUNCTIONS,
    ClassValue,
    FunctionValue,
    LambdaOf,
    Library,
    ModuleValue,
    Nothing,
    Special,
)
from distlint.rehearsal.iterating import Iterating
from distlint.rehearsal.known_releases import has, has_method
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Array, Items, Made, Table, Tensor, Thing, is_known

_PLAIN = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "bytes": bytes,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
}
_ABSTRACT = {
    "Sequence": (list, tuple, str),
    "Mapping": (dict,),
    "Iterable": (list, tuple, str, dict, set),
    "Number": (int, float, bool),
    "Real": (int, float, bool),
    "Integral": (int, bool),
}


def type_of(player: Iterating, value: Any) -> Any:
    """``type(value)``."""
    if isinstance(value, Thing):
        return ClassValue(value.cls)
    kind = _plain_type(value)
    if kind is not None:
        return Library(f"builtins.{kind.__name__}")
    if isinstance(value, Tensor):
        return Library("numpy.ndarray" if isinstance(value, Array) else "torch.Tensor")
    if (
        isinstance(value, Made)
        and not isinstance(value, Document)
        and value.name[-2:] == "()"
        and value.name.count("()") == 1
    ):
        return Library(value.name[:-2])
    return UNKNOWN


def _plain_type(value: Any) -> type | None:
    if value is None:
        return type(None)
    if is_known(value):
        return type(value)
    if isinstance(value, Items):
        return set if value.distinct else list
    if isinstance(value, Table):
        return dict if value.is_dict else None
    return tuple if type(value) is tuple else None


def is_instance(player: Iterating, value: Any, cls: Any) -> bool | None:
    """``isinstance(value, cls)``; ``None`` where that is not known."""
    choices = cls if type(cls) is tuple else (cls,)
    found = [_is_one(player, value, one) for one in choices]
    return True if True in found else None if None in found else False


def _is_one(player: Iterating, value: Any, cls: Any) -> bool | None:
    if isinstance(value, Opaque | Nothing | Document):
        return None
    modules = player.stage.project.modules
    if isinstance(cls, ClassValue):
        if isinstance(value, Thing):
            return cls.ref in modules.ancestry(value.cls)
        plain = _plain_type(value) is not None or isinstance(value, Tensor)
        return False if plain or _is_of_library(value) else None
    if not isinstance(cls, Library):
        return None
    last = cls.name.rpartition(".")[2]
    kind = _plain_type(value)
    if kind is not None:
        if cls.name.startswith("builtins."):
            known = _PLAIN.get(last)
            return issubclass(kind, known) if known is not None else None
        if last in _ABSTRACT:
            return kind in _ABSTRACT[last]
        return False
    if isinstance(value, Array):
        return last == "ndarray" if last in ("ndarray", "Tensor", "Parameter") or kind is not None else None
    if isinstance(value, Tensor):
        if last in ("Tensor", "Parameter") or not cls.name.startswith(("torch.", "builtins.")):
            return True if cls.name.startswith(("torch.", "builtins.")) else None
        return None if value.whole.sharded else False  # a class of parts, perhaps
    if isinstance(value, Thing) and value.content is not None:
        return _is_one(player, value.content, cls)
    if isinstance(value, Thing):
        if cls.name in modules.external_bases(value.cls):
            return True
        return None if modules.external_bases(value.cls) or modules.has_unknown_base(value.cls) else False
    if isinstance(value, Made):
        if value.name == f"{cls.name}()":
            return True
        answer = value.is_a(cls.name)
        if answer is not None:
            return answer
        return False if cls.name.startswith("builtins.") and last in _PLAIN else None
    if isinstance(value, FunctionValue | LambdaOf) and cls.name.startswith("builtins."):
        return False
    return None


def _is_of_library(value: Any) -> bool:
    """Whether a value was made by calling a class of a library: it is of no class that the project derives from that one."""
    return isinstance(value, Made) and value.name.endswith("()") and value.name.rpartition(".")[2][:1].isupper()


def has_attribute(player: Any, value: Any, name: str) -> bool | None:
    """``hasattr(value, name)``; ``None`` where that is not known."""
    if isinstance(value, Thing):
        if name in value.attributes or player.class_attribute(value.cls, name) is not NotImplemented:
            return True
        modules = player.stage.project.modules
        foreign = modules.external_bases(value.cls) or modules.has_unknown_base(value.cls) or value.open
        dynamic = modules.method(value.cls, "__getattr__") is not None or player.stage.alone
        return None if foreign or dynamic else False
    if isinstance(value, ClassValue):
        found = player.class_attribute(value.ref, name)
        return True if found is not NotImplemented else None
    if isinstance(value, ModuleValue):
        scope = player.module_scope(value.file)
        return name in scope.variables or player.stage.project.modules.lookup(name, value.file) is not None
    if isinstance(value, Library):
        followed = player.stage.witness is not None
        return has(player.stage, f"{value.name}.{name}", player.stage.entry) if followed else None
    if is_known(value):
        return hasattr(value, name)
    if isinstance(value, Table):
        return value.has(name)
    kind = _plain_type(value)
    if kind is not None:
        return hasattr(kind, name)
    if isinstance(value, Made):
        known = value.has(name)
        if known is None and name not in value.stored and player.stage.witness is not None:
            known = has_method(player.stage, value.name, name, player.stage.entry)
        if name in value.stored or known is not None:
            return name in value.stored or known
        return False if value.stored and "Namespace" in value.name else None
    if isinstance(value, FunctionValue | Special) and not name.startswith("__"):
        stored = player.stage.kept.get(OF_FUNCTIONS, {}) if isinstance(value, FunctionValue) else {}
        return isinstance(value, FunctionValue) and name in stored.get(value.ref, ())
    return None
