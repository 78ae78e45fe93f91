"""Follows a dotted name through one release of a package: modules, names, re-exports, class members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from distlint.knowledge.api_classes import Classes
from distlint.knowledge.api_nodes import ABSENT, OPAQUE, UNKNOWN, UNSEEN, Node
from distlint.knowledge.api_symbols import Found, Span, Symbol, merged, value_at
from distlint.knowledge.api_table import Table

History = Callable[[str, str], tuple[Span, ...]]

_NOTHING = (UNKNOWN.kind, ABSENT.kind, UNSEEN.kind)

_DEEPEST = 16
"""Re-exports that are followed one after the other before a name counts as bound to something unknown."""


class Walker:
    """One release of a package."""

    def __init__(self, table: Table, package: str, position: int, history: History) -> None:
        """``history`` tells in which releases a dotted name exists; it is asked only about names that are not found."""
        self._table, self._package, self._position, self._history = table, package, position, history
        self._tops = frozenset(table.index["packages"][package]["tops"])
        self._classes = Classes(self, table)
        self._entering = 0

    def attribute(self, dotted: str) -> Found:
        """What a dotted name is by attribute access; see ``Api.find``."""
        first, *rest = dotted.split(".")
        node = self.module(first)
        if node is None:
            return Found("unknown")
        path = first
        for name in rest:
            path = f"{path}.{name}"
            step = self.step(node, name)
            if step.kind in _NOTHING:
                return self._nothing(step, path)
            node = step
        return self._present(node)

    def imported(self, module: str, name: str | None) -> Found:
        """What an import gets; see ``Api.find_import``."""
        path = ""
        for part in module.split("."):
            parent, path = path, f"{path}.{part}" if path else part
            if self.module(path) is None:
                return self._no_module(parent, path)
        node = self.module(module)
        if node is None or name is None:
            return self._present(node) if node else Found("unknown")
        step = self.step(node, name)
        return self._nothing(step, f"{module}.{name}") if step.kind in _NOTHING else self._present(step)

    def names(self, module: str) -> tuple[str, ...]:
        """The names that a module binds."""
        if self.module(module) is None:
            return ()
        start = len(module) + 1
        own = [key for key in self._table.keys(self._package, module) if "." not in key[start:] and key[-1] not in ">*"]
        return tuple(sorted(key[start:] for key in own if (value := self.value(key)) is not None and value["k"] != "t"))

    def symbol(self, dotted: str) -> Symbol | None:
        """What a dotted name is; ``None`` if the release lacks it or that is not known. Asks no other release."""
        node = self.reach_dotted(dotted)
        return self.described(node) if node else None

    def lender(self, dotted: str, field: str) -> str:
        """The base from another package that a dataclass has a field of; see ``Api.lender``."""
        node = self.reach_dotted(dotted)
        return (self._classes.lender(node, field) or "") if node is not None and node.kind == "class" else ""

    def value(self, key: str) -> dict[str, Any] | None:
        """What the row of a key says of this release; ``None`` if it says nothing."""
        row = self._table.row(self._package, key)
        return value_at(row, self._position) if row else None

    def module(self, name: str) -> Node | None:
        """The module of a name; ``None`` if this release has none."""
        value = self.value(name)
        return None if value is None else Node("module", name, value)

    def step(self, node: Node, name: str) -> Node:
        """One attribute access: the node it leads to, ``UNKNOWN``, ``ABSENT`` or ``UNSEEN``."""
        if node.kind == "module":
            return self._of_module(node, name)
        if node.kind == "alternatives":
            steps = [self.step(one, name) for one in node.alternatives]
            steps.sort(key=lambda step: _NOTHING.index(step.kind) + 1 if step.kind in _NOTHING else 0)
            return steps[0] if steps else UNKNOWN
        if node.kind == "class":
            return self._classes.member(node, name)
        return UNKNOWN

    def enter(self, key: str, value: dict[str, Any]) -> Node:
        """The node that a row stands for; re-exports are followed."""
        kind = value["k"]
        if kind == "a":
            return self.reach(value["to"])
        if kind == "alt":
            return Node("alternatives", key, value, tuple(self.enter(key, one) for one in value["of"]))
        return Node({"c": "class", "t": "opaque"}.get(kind, "plain"), key, value)

    def reach(self, target: str) -> Node:
        """The node of a written reference ``module`` or ``module:Name``, with the semantics of an import."""
        module, _, path = target.partition(":")
        if module.partition(".")[0] not in self._tops:
            return Node("foreign", target.replace(":", "."), {})
        if self._entering > _DEEPEST:
            return OPAQUE
        self._entering += 1
        try:
            node = self.module(module)
            for name in path.split(".") if path else ():
                if node is None:
                    break
                step = self.step(node, name)
                node = None if step.kind in _NOTHING else step
        finally:
            self._entering -= 1
        return node or Node("opaque", target.replace(":", "."), {})

    def described(self, node: Node) -> Symbol:
        """A node as users of the table see it."""
        name = node.key.replace(":", ".")
        if node.kind == "alternatives":
            ones = tuple(self.described(one) for one in node.alternatives)
            same = {one.parameters for one in ones}
            kinds = {one.kind for one in ones}
            return Symbol(
                kinds.pop() if len(kinds) == 1 else "variable",
                name,
                same.pop() if len(same) == 1 else None,
                ones[0].deprecated if all(one.deprecated for one in ones) else "",
                {
                    key: text
                    for key, text in ones[0].deprecated_parameters.items()
                    if all(key in one.deprecated_parameters for one in ones)
                },
                ones,
            )
        if node.kind in ("module", "foreign", "opaque"):
            kind = node.kind if node.kind == "module" else "foreign"
            return Symbol(kind, name, None, node.value.get("dep", ""), {})
        return self._classes.symbol(node, name)

    def knows(self, key: str) -> bool:
        """Whether any release has what a key stands for, as more than a word in its text or a C extension's stub."""
        row = self._table.row(self._package, key) or ()
        return any(self._is_firm(first, key, value) for first, _, value in row)

    def _imports(self, key: str) -> bool:
        """Whether a module in Python binds that name in any release, be it to something of a C extension."""
        row = self._table.row(self._package, key) or ()
        place = self._table.row(self._package, key.partition(":")[0]) or ()
        return any(
            value.get("k") not in ("t", "n") and not (value_at(place, first) or {}).get("stub")
            for first, _, value in row
        )

    def is_code(self, key: str) -> bool:
        """Whether a key is a function or a module written in Python in all releases that have it, and in some."""
        row = self._table.row(self._package, key) or ()
        ends = [self._end(first, key, value) for first, _, value in row if value.get("k") not in ("t", "n")]
        return bool(ends) and all(firm and value.get("k", "f") == "f" for firm, value in ends)

    def _is_firm(self, release: int, key: str, value: dict[str, Any]) -> bool:
        """Whether a value tells of Python code; what a C extension has besides its stub, nobody knows."""
        return value.get("k") not in ("t", "n") and self._end(release, key, value)[0]

    def _end(self, release: int, key: str, value: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Where the re-exports of a value end in a release: whether outside of stubs, and the last value."""
        for _ in range(_DEEPEST):
            module = key.partition(":")[0]
            row = self._table.row(self._package, module)
            place = value_at(row, release) if row else None
            if place is not None and place.get("stub"):
                return False, value
            if value.get("k") != "a":
                break
            key = value["to"]
            row = self._table.row(self._package, key)
            reached = value_at(row, release) if row else None
            if reached is None:
                module = key.partition(":")[0]
                row = self._table.row(self._package, module)
                place = value_at(row, release) if row else None
                return place is None or not place.get("stub"), value
            value = reached
        return True, value

    def moved(self, dotted: str) -> str:
        """Where a name is in this release; see ``Api.moved``."""
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            rest = ["", *parts[end:]]
            for split in range(end, 0, -1):
                key = ".".join(parts[:split])
                if split < end:
                    key = f"{key}:{'.'.join(parts[split:end])}"
                row = self._table.row(self._package, f"{key}>") or ()
                for first, last, target in row:
                    found = target + ".".join(rest)
                    if first <= self._position <= last and found != dotted and self.symbol(found) is not None:
                        return str(found)
        return self._unimported(parts)

    def _unimported(self, parts: list[str]) -> str:
        """Where a name was imported from by a module that no longer does so, if it is still there."""
        for split in range(len(parts) - 1, 0, -1):
            row = self._table.row(self._package, f"{'.'.join(parts[:split])}:{parts[split]}") or ()
            nearest = sorted(row, key=lambda span: min(abs(span[0] - self._position), abs(span[1] - self._position)))
            for _, _, value in nearest:
                target = value["to"].replace(":", ".") if value.get("k") == "a" else ""
                found = ".".join([target, *parts[split + 1 :]])
                if (
                    target.partition(".")[0] in self._tops
                    and found != ".".join(parts)
                    and self.symbol(found) is not None
                ):
                    return str(found)
        return ""

    def _of_module(self, node: Node, name: str) -> Node:
        module, key = node.key, f"{node.key}:{name}"
        value = self.value(key)
        inner = self.module(f"{module}.{name}")
        # What ``from . import part`` binds is the submodule, whatever the row says of it.
        if value is not None and (inner is None or value["k"] not in "vt"):
            return UNKNOWN if value["k"] == "t" else self.enter(key, value)
        if inner is not None:
            return inner
        if name in self._bystanders(module):
            return UNKNOWN
        if node.value.get("extended") and (self.is_code(key) or self.is_code(f"{module}.{name}")):
            return ABSENT
        if node.value.get("hard") or node.value.get("stub") or name.endswith(tuple(node.value.get("ends", ()))):
            return UNKNOWN
        if self._is_made(f"{module}.{name}"):
            return UNKNOWN
        if self.knows(key) or (not node.value.get("open") and self._imports(key)):
            return ABSENT
        if self.knows(f"{module}.{name}"):
            return UNKNOWN if node.value.get("inner") else ABSENT
        return UNSEEN

    def _bystanders(self, module: str) -> list[str]:
        """Names that a module merely imports in some releases; the table does not say in which."""
        row = self._table.row(self._package, f"{module}:*")
        return str(row[0][2]["names"]).split() if row else []

    def _is_made(self, module: str) -> bool:
        """Whether the release makes a module of such a name at run time."""
        top = self.value(module.partition(".")[0]) or {}
        for pattern in top.get("made", ()):
            start, star, end = pattern.partition("*")
            if module == start or (star and module.startswith(start) and module.endswith(end)):
                return True
        return False

    def _no_module(self, parent: str, path: str) -> Found:
        above = self.module(parent) if parent else None
        shared = above is not None and above.value.get("open") == "namespace"
        if above is None or shared or above.value.get("inner") or self._is_made(path) or not self.knows(path):
            return Found("unknown")
        row = self._table.row(self._package, path) or ()
        return Found("absent", path, None, self._releases(merged([(first, last) for first, last, _ in row])))

    def _nothing(self, step: Node, path: str) -> Found:
        """What to say of a name that is not found: an unseen one is absent where another release has it on another way."""
        if step is UNKNOWN:
            return Found("unknown")
        module, _, name = path.rpartition(".")
        spans = list(self._history(self._package, path))
        above = self.reach_dotted(path.rpartition(".")[0])
        closed = above is not None and above.kind == "module" and not above.value.get("open")
        unheard = path if step is UNSEEN and not spans and above is not None and _is_whole(above) else ""
        if step is UNSEEN and not closed and not any(self._is_firm_at(first, path) for first, _ in spans):
            return Found("unknown", unheard=unheard)
        for key in (f"{module}:{name}", path):
            row = self._table.row(self._package, key) or ()
            spans.extend((first, last) for first, last, value in row if value.get("k") != "t")
        if spans:
            return Found("absent", path, None, self._releases(merged(spans)))
        return Found("unknown", unheard=unheard)

    def _is_firm_at(self, release: int, dotted: str) -> bool:
        """Whether a dotted name leads to Python code in a release that has it, not to the stub of a C extension."""
        other = Walker(self._table, self._package, release, self._history)
        node = other.reach_dotted(dotted)
        return node is not None and not (other.value(node.key.partition(":")[0]) or {}).get("stub")

    def _releases(self, spans: tuple[Span, ...]) -> tuple[tuple[str, str], ...]:
        names = self._table.releases(self._package)
        return tuple((names[first], names[last]) for first, last in spans)

    def _present(self, node: Node) -> Found:
        return Found("present", "", self.described(node))

    def reach_dotted(self, dotted: str) -> Node | None:
        """The node of a dotted name by attribute access; ``None`` if this release lacks it or it is not known."""
        first, *rest = dotted.split(".")
        node = self.module(first)
        for name in rest:
            if node is None:
                return None
            node = self.step(node, name)
            if node.kind in _NOTHING:
                return None
        return node

    def other(self, package: str) -> Iterator[Walker]:
        """The newest release of another package of the table."""
        count = len(self._table.releases(package))
        if count:
            yield Walker(self._table, package, count - 1, self._history)


def _is_whole(node: Node) -> bool:
    """Whether all is known of what a module, or a class of which a name is unseen, has."""
    flags = ("open", "hard", "stub", "extended", "inner")
    return node.kind == "class" or (node.kind == "module" and not any(node.value.get(flag) for flag in flags))
