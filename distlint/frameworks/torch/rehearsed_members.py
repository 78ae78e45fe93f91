"""The modules in a model, by their names, in the rehearsal of a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.rehearsal.unknowns import Opaque, Perhaps
from distlint.rehearsal.values import Items, Made, Thing

MAX_MEMBERS = 64
"""Modules of a model that are told apart; a larger one is known as a whole only."""

_MAX_PARTS = 200
"""Parts of a module that are looked at."""


class Members(Made):
    """The modules in a model one by one, each with its name where they are named."""

    __slots__ = ("listed",)
    turns = MAX_MEMBERS

    def __init__(self, listed: list[Any]) -> None:
        super().__init__("modules of a model")
        self.listed = listed

    def items(self, player: Any) -> list[Any] | None:
        """All of them."""
        return list(self.listed)

    def length(self, player: Any) -> Any:
        """How many there are."""
        return len(self.listed)


def members(module: Any, name: str, *, deep: bool) -> list[tuple[str, Any]] | None:
    """A module and those in it (``deep``), or those right in it, with their names; ``None`` where not all are known."""
    found: list[tuple[str, Any]] = []
    if not _gather(module, name, found, deep=deep, depth=0):
        return None
    return found if len(found) <= MAX_MEMBERS else None


def _gather(module: Any, name: str, found: list[tuple[str, Any]], *, deep: bool, depth: int) -> bool:
    inner = parts(module)
    if inner is None or depth > 8 or len(found) > MAX_MEMBERS:
        return False
    if deep:
        found.append((name, module))
    for own, part in inner:
        full = f"{name}.{own}" if name else own
        if any(part is one for _, one in found):
            continue
        if not deep:
            found.append((full, part))
        elif not _gather(part, full, found, deep=True, depth=depth + 1):
            return False
    return True


def submodule(module: Any, name: str) -> Any:
    """The module of a dotted name in another; ``None`` where it is not known."""
    for own in name.split(".") if name else ():
        module = dict(parts(module) or ()).get(own)
    return module


def parts(module: Any) -> list[tuple[str, Any]] | None:
    """The modules right in a module by their names; ``None`` where not all are known."""
    if isinstance(module, Thing):
        values = list(module.attributes.items())
        if module.open or any(isinstance(value, Opaque | Perhaps) and value.sign is None for _, value in values):
            return None
        return [(name, value) for name, value in values if _is_part(value)]
    if hasattr(module, "inner"):
        return [("module", module.inner)]
    if not hasattr(module, "children"):
        return None
    if module.children is None:
        return [] if module.kind not in ("Sequential", "ModuleList", "ModuleDict") else None
    names = module.names or [str(number) for number in range(len(module.children))]
    if len(names) != len(module.children) or not all(_is_part(one) for one in module.children):
        return None
    return list(zip(names, module.children, strict=True))


def _is_part(value: Any) -> bool:
    if isinstance(value, Thing):
        return True
    return isinstance(value, Made) and hasattr(value, "children") and not isinstance(value, Items)


def with_modules(module: Any, depth: int = 0) -> Iterator[Any]:
    """A module, and the objects and layers in it that are known."""
    if depth > 6 or not isinstance(module, Thing | Made):
        return
    yield module
    inner = getattr(module, "inner", None)
    values = module.attributes.values() if isinstance(module, Thing) else getattr(module, "children", None) or (inner,)
    for value in list(values)[:_MAX_PARTS]:
        yield from with_modules(value, depth + 1)


def all_modules(module: Any) -> list[Any]:
    """A module and those in it, where they are known and few; else none."""
    listed = members(module, "", deep=True)
    return [one for _, one in listed] if listed is not None and len(listed) <= MAX_MEMBERS else []


def replaced(children: list[Any] | None, index: Any, value: Any, *, sure: bool) -> list[Any] | None:
    """The modules of a list after one was put in the place of another; ``None`` where they are not known any more."""
    if children is None or not sure or not isinstance(index, int) or not -len(children) <= index < len(children):
        return None
    children[index] = value
    return children
