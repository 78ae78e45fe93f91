"""Members and constructors of classes in one release, through their bases."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from distlint.knowledge.api_nodes import ABSENT, UNKNOWN, UNSEEN, Node
from distlint.knowledge.api_symbols import Param, Symbol, parameters_of
from distlint.knowledge.api_table import Table

if TYPE_CHECKING:
    from distlint.knowledge.api_walk import Walker

_KINDS = {"f": "function", "c": "class", "v": "variable", "p": "property", "i": "attribute"}

_BARE = frozenset({"abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol", "builtins.object"})
"""Bases that bring neither members nor a constructor."""

_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag", "enum.StrEnum"})
_ENUM_MEMBERS = frozenset({"name", "value", "_value_", "_name_", "_missing_", "_generate_next_value_"})

_DEEPEST = 12


class Classes:
    """Questions about the classes of one release."""

    def __init__(self, walker: Walker, table: Table) -> None:
        self._walker, self._table = walker, table

    def member(self, node: Node, name: str) -> Node:
        """What a class has under a name: its node, ``UNKNOWN``, ``ABSENT`` or ``UNSEEN``."""
        found, known = self._search(node, name, 0)
        return UNSEEN if found is ABSENT and not known else found

    def _search(self, node: Node, name: str, depth: int) -> tuple[Node, bool]:
        """The member, and whether some release has a member of that name in this class or a base of it."""
        key = f"{node.key}.{name}"
        value = self._walker.value(key)
        if value is not None:
            return (UNKNOWN if value["k"] == "t" else self._walker.enter(key, value)), True
        known = self._walker.knows(key)
        answer = UNKNOWN if node.value.get("open") or node.value.get("getattr") or depth > _DEEPEST else ABSENT
        if node.value.get("attrs") and not self._walker.is_code(key):
            answer = UNKNOWN  # instances get attributes whose names can't be read, but hardly those of methods
        bases = (*node.value.get("b", ()), *((node.value["m"],) if "m" in node.value else ()))
        for base in bases:
            found, there = self._of_base(base, name, depth)
            known = known or there
            if found is not ABSENT and found is not UNKNOWN:
                return found, True
            if found is UNKNOWN:
                answer = UNKNOWN
        return answer, known

    def _of_base(self, base: str, name: str, depth: int) -> tuple[Node, bool]:
        node = self._walker.reach(base) if base != "?" else UNKNOWN
        nodes = node.alternatives if node.kind == "alternatives" else (node,)
        answers = [self._of_class(one, name, depth) for one in nodes]
        known = any(there for _, there in answers)
        good = [found for found, _ in answers if found is not ABSENT and found is not UNKNOWN]
        if good:
            return good[0], True
        return (UNKNOWN if any(found is UNKNOWN for found, _ in answers) or not answers else ABSENT), known

    def _of_class(self, node: Node, name: str, depth: int) -> tuple[Node, bool]:
        if node.kind == "class":
            return self._search(node, name, depth + 1)
        if node.kind != "foreign" or depth > _DEEPEST:
            return UNKNOWN, False
        return self._foreign(node.key, name), False

    def _foreign(self, base: str, name: str) -> Node:
        """A member of a base from elsewhere: absent where surely no release of that package has it."""
        if base in _BARE:
            return ABSENT
        if base in _ENUMS:
            return UNKNOWN if name in _ENUM_MEMBERS else ABSENT
        top, _, rest = base.partition(".")
        if top == "builtins":
            kind = getattr(builtins, rest, None)
            return UNKNOWN if kind is None or hasattr(kind, name) else ABSENT
        package = self._table.package_of(top)
        for walker in self._walker.other(package) if package else ():
            node = walker.reach_dotted(base)
            if node is not None and node.kind == "class":
                found, known = Classes(walker, self._table)._search(node, name, 0)
                return ABSENT if found is ABSENT and not known else UNKNOWN
        return UNKNOWN

    def symbol(self, node: Node, name: str) -> Symbol:
        """A class, function, variable, property or attribute as users of the table see it."""
        value = node.value
        kind = _KINDS.get(value.get("k", ""), "variable")
        deprecated_parameters: Mapping[str, str] = value.get("depp", {})
        parameters: tuple[Param, ...] | None = None
        if kind == "class":
            made = self._constructor(node, 0)
            if made is not None:
                parameters, deprecated_parameters = made
            else:
                deprecated_parameters = self._deprecated_fields(node, 0)
        elif kind == "function" and "p" in value and not value.get("open"):
            parameters = parameters_of(value["p"])
        return Symbol(kind, name, parameters, value.get("dep", ""), deprecated_parameters)

    def _constructor(self, node: Node, depth: int) -> tuple[tuple[Param, ...], Mapping[str, str]] | None:
        """The parameters of a constructor and the deprecated ones; ``None`` if they are not known for sure."""
        value = node.value
        if value.get("sig") or depth > _DEEPEST:
            return None
        if value.get("fields"):
            fields = self._fields(node, depth)
            return None if fields is None else (fields, self._deprecated_fields(node, depth))
        if "p" in value:
            return parameters_of(value["p"]), value.get("depp", {})
        for base in value.get("b", ()):
            reached = self._walker.reach(base) if base != "?" else UNKNOWN
            if reached.kind == "foreign" and reached.key in _BARE:
                continue
            if reached.kind != "class":
                return None
            made = self._constructor(reached, depth + 1)
            if made is None or made[0] or self._has_constructor(reached, 0):
                return made
        return (), value.get("depp", {})

    def _has_constructor(self, node: Node, depth: int) -> bool:
        if "p" in node.value or node.value.get("fields"):
            return True
        reached = [self._walker.reach(base) for base in node.value.get("b", ()) if base != "?"]
        return depth < _DEEPEST and any(
            one.kind == "class" and self._has_constructor(one, depth + 1) for one in reached
        )

    def _fields(self, node: Node, depth: int) -> tuple[Param, ...] | None:
        """The parameters of a dataclass, the inherited ones first."""
        merged: dict[str, Param] = {}
        if depth > _DEEPEST:
            return None
        for base in reversed(node.value.get("b", ())):
            reached = self._walker.reach(base) if base != "?" else UNKNOWN
            if reached.kind == "class":
                inherited = self._fields(reached, depth + 1)
                if inherited is None:
                    return None
                merged.update((one.name, one) for one in inherited)
            elif reached.kind != "foreign":
                return None
            elif (package := self._table.package_of(reached.key.partition(".")[0])) is not None:
                elsewhere = self._fields_elsewhere(package, reached.key)
                if elsewhere is None:
                    return None
                merged.update((one.name, one) for one in elsewhere)
        if node.value.get("fields"):
            for one in parameters_of(node.value.get("p", ())):
                if one.name.startswith("-"):
                    merged.pop(one.name[1:], None)
                else:
                    merged[one.name] = one
        ordered = [one for one in merged.values() if one.kind != "keyword"]
        return (*ordered, *(one for one in merged.values() if one.kind == "keyword"))

    def _fields_elsewhere(self, package: str, dotted: str) -> tuple[Param, ...] | None:
        """The fields of a base from another package, of which nobody knows the release: those of all of them.

        None of them has to be given: it may be that only another release has it.
        """
        for walker in self._walker.other(package):
            node = walker.reach_dotted(dotted)
            if node is None or node.kind != "class":
                return None
            return Classes(walker, self._table)._fields_ever(node, package, 0)
        return None

    def lender(self, node: Node, field: str, depth: int = 0) -> str | None:
        """The dotted name of the base from another package that a dataclass has a field of; ``""`` for its own."""
        value = node.value
        if value.get("fields") and any(one.name == field for one in parameters_of(value.get("p", ()))):
            return ""
        for base in value.get("b", ()) if depth < _DEEPEST else ():
            reached = self._walker.reach(base) if base != "?" else UNKNOWN
            if reached.kind == "class":
                found = self.lender(reached, field, depth + 1)
                if found is not None:
                    return found
            elif reached.kind == "foreign":
                package = self._table.package_of(reached.key.partition(".")[0])
                fields = self._fields_elsewhere(package, reached.key) if package is not None else None
                if any(one.name == field for one in fields or ()):
                    return reached.key
        return None

    def _fields_ever(self, node: Node, package: str, depth: int) -> tuple[Param, ...] | None:
        found: dict[str, Param] = {}
        for base in node.value.get("b", ()):
            reached = self._walker.reach(base) if base != "?" else UNKNOWN
            if reached.kind == "foreign" and self._table.package_of(reached.key.partition(".")[0]) is None:
                continue
            inherited = self._fields_ever(reached, package, depth + 1) if depth < _DEEPEST else None
            if reached.kind != "class" or inherited is None:
                return None
            found.update((one.name, one) for one in inherited)
        for _, _, value in self._table.row(package, node.key) or ():
            if value.get("fields"):
                for one in parameters_of(value.get("p", ())):
                    if not one.name.startswith("-"):
                        found[one.name] = Param(one.name, one.kind, one.default or "...")
        return tuple(found.values())

    def _deprecated_fields(self, node: Node, depth: int) -> Mapping[str, str]:
        out: dict[str, Any] = {}
        for base in reversed(node.value.get("b", ())) if depth < _DEEPEST else ():
            reached = self._walker.reach(base) if base != "?" else UNKNOWN
            if reached.kind == "class" and reached.value.get("fields"):
                out.update(self._deprecated_fields(reached, depth + 1))
        out.update(node.value.get("depp", {}))
        return out
