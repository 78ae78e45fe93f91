"""Which names of a body may mean the same object, so that a change through one of them is seen through the others.

Kept while a body is walked in the order of the text. A name that was plainly assigned from another (``zero =
config["zero"]``) gets the other's changes exactly; where it is less clear (a container, a conditional expression, a
function's result), the other object is only known to have changed somehow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.link.flow import INSIDE
from distlint.link.walking import access_path, children
from distlint.model import python as ir

Path = tuple[ir.Expr | str, ...]

Change = tuple[str, Path, str, ir.Expr]
"""Name, path, action and expression, as ``flow.Store`` has them."""

MAX_LINKS = 200
"""Links that are kept for one body; later ones are dropped."""

_COPIES = frozenset({"deepcopy"})
_GOING_OVER = frozenset({"items", "values", "enumerate", "zip", "list", "tuple", "sorted", "reversed", "iter"})
_LOOKUPS = frozenset({"get", "setdefault", "pop"})
"""Methods that give what stands in a dictionary under their first argument."""

_OF_ENTRIES = frozenset(
    {"update", "pop", "clear", "setdefault", "append", "extend", "insert", "remove", "sort", "reverse"}
)
"""Methods of dictionaries and lists that leave what stands in them as it is."""

_SHALLOW_COPIES = frozenset({"copy", "dict", "list", "OrderedDict"})


class _Link(NamedTuple):
    """``name`` is what stands at ``path`` of ``root``.

    ``kind`` is ``exact``, ``shallow`` (a copy of the outermost level), ``item`` (one of those that it is gone over for) or ``loose``.
    """

    name: str
    root: str
    path: Path
    kind: str
    origin: ir.Expr
    arms: tuple[int, ...]
    depth: int = 0
    """For what was put into the object behind ``name``: how many steps lead to the place."""


class Aliases:
    """The links between the names of one body, as they are at the point that the walk has reached."""

    def __init__(self) -> None:
        self._links: list[_Link] = []
        self._arms: list[int] = []
        self._counter = 0

    def copy(self) -> Aliases:
        """The same links, to go on from apart."""
        other = Aliases()
        other._links, other._arms, other._counter = list(self._links), list(self._arms), self._counter
        return other

    def enter(self) -> None:
        """A branch or loop body begins."""
        self._counter += 1
        self._arms.append(self._counter)

    def leave(self) -> None:
        """The branch ends; what was linked in it holds on some paths only."""
        self._arms.pop()

    def bound(self, name: str, value: ir.Expr, part: tuple[int | str, ...]) -> None:
        """``name`` gets (a part of) a value."""
        arms = tuple(self._arms)
        sources = list(_sources(value))
        further = [
            link._replace(path=(*link.path, *path), kind=_further(link.kind, "loose" if part else kind), arms=arms)
            for root, path, kind in sources
            for link in self._links
            if root == name == link.name
        ]
        # A name that is bound anew on every path from here loses its links; in a branch they may still hold later.
        goes_down = any(root == name for root, _, _ in sources)
        self._links = [
            link
            if goes_down or name not in (link.name, link.root) or link.kind != "exact"
            else link._replace(kind="loose")
            for link in self._links
            if name not in (link.name, link.root) or (arms and link.arms[: len(arms)] != arms)
        ]
        self._links += further[: MAX_LINKS - len(self._links)]
        for root, path, kind in sources:
            if root != name and len(self._links) < MAX_LINKS:
                kind = "item" if part[:1] == ("*",) and not path and _gives_items(value) else "loose" if part else kind
                self._links.append(_Link(name, root, path, kind, value, arms))

    def stored(self, name: str, value: ir.Expr, depth: int) -> None:
        """A value is put into the object behind ``name``, so many steps below it."""
        for root, path, kind in _sources(value):
            if root != name and kind != "shallow" and len(self._links) < MAX_LINKS:
                self._links.append(_Link(name, root, path, "loose", value, tuple(self._arms), depth))

    def changes(self, name: str, path: Path, action: str, expr: ir.Expr) -> Iterator[Change]:
        """The changes that a change at ``path`` of ``name`` makes to objects behind other names."""
        of_object = bool(path) and isinstance(path[0], str)
        for link in self._links:
            if of_object and link.kind != "exact":
                # An attribute of an object: what was made from it with other means is no part of it.
                continue
            surely = link.kind == "exact" and link.arms == tuple(self._arms[: len(link.arms)])
            if link.name == name:
                if len(path) < link.depth or (action == "set" and len(path) == link.depth):
                    continue  # what stands there is replaced or left alone, and not changed
                if surely:
                    yield link.root, (*link.path, *path), action, expr
                elif link.kind != "shallow" or len(path) > 1:
                    inside: Path = (INSIDE,) if link.kind == "item" else ()
                    yield link.root, link.path if link.kind == "exact" else inside, "alias", link.origin
            elif link.root == name:
                if _replaces(action, path, link.path):
                    continue
                rest = _below(path, link.path)
                if surely and rest:
                    yield link.name, rest, action, expr
                elif rest is not None and (link.kind != "shallow" or len(path) > 1):
                    yield link.name, (), "alias", link.origin


def _further(kind: str, step: str) -> str:
    """The kind of a link that goes on from what another one leads to."""
    if kind == step == "exact":
        return "exact"
    return "item" if kind == "item" else "loose"


def _replaces(action: str, path: Path, place: Path) -> bool:
    """Whether a change puts something else to a place, or takes out what stands there, and leaves that itself as it is."""
    if action in ("set", "delete"):
        return 0 < len(path) <= len(place)
    return action in _OF_ENTRIES and len(path) < len(place)


def _below(path: Path, start: Path) -> Path | None:
    """What remains of ``path`` behind ``start``.

    Empty where that can't be told, ``None`` where they lead to different places.
    """
    for step, wanted in zip(path, start, strict=False):
        same = _same_step(step, wanted)
        if same is None:
            return ()
        if not same:
            return None
    return path[len(start) :] if len(path) > len(start) else ()


def _same_step(step: ir.Expr | str, wanted: ir.Expr | str) -> bool | None:
    if isinstance(step, str) or isinstance(wanted, str):
        return step == wanted
    if type(step) is ir.Constant and type(wanted) is ir.Constant:
        return bool(step.value == wanted.value)
    return None


def _sources(value: ir.Expr) -> Iterator[tuple[str, Path, str]]:
    """The objects that a value may be, or hold: (name, path, how)."""
    root, path = access_path(value)
    if root:
        yield root, path, "exact"
    elif type(value) is ir.Call:
        yield from _call_sources(value)
    elif isinstance(value, ir.Conditional | ir.Operation | ir.ListDisplay | ir.DictDisplay | ir.Wrapped):
        for part in children(value):
            for inner, steps, kind in _sources(part):
                yield inner, steps, "loose" if kind == "exact" else kind


def _gives_items(value: ir.Expr) -> bool:
    """Whether what is gone over gives the items of what it names, and not that itself (``for one in [a, b]``)."""
    if type(value) is not ir.Call:
        return type(value) is ir.Name
    func = value.func
    return (func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else "") in _GOING_OVER


def _call_sources(call: ir.Call) -> Iterator[tuple[str, Path, str]]:
    func = call.func
    name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
    if name in _COPIES:
        return
    kind = "shallow" if name in _SHALLOW_COPIES else "loose"
    parts = [*call.args, *(keyword.value for keyword in call.keywords)]
    if type(func) is ir.Attribute and name in _LOOKUPS and call.args:
        root, path = access_path(func.base)
        if root:
            yield root, (*path, call.args[0]), kind
    elif type(func) is ir.Attribute and name in ("copy", "items", "values", "pop"):
        parts.append(func.base)
    for part in parts:
        root, path = access_path(part.value if type(part) is ir.Starred else part)
        if root:
            yield root, path, kind
