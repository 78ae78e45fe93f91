"""Classes of one release that are derived from another: what an object may have that is only known by a base."""

from __future__ import annotations

from distlint.knowledge.api_nodes import Node
from distlint.knowledge.api_table import Table
from distlint.knowledge.api_walk import Walker

_DEEPEST = 12


def derived_with(walker: Walker, table: Table, package: str, owner: str, member: str, parameter: str | None) -> bool:
    """Whether a class below ``owner``, or one that is made to be mixed in, has a member of its own by that name.

    With ``parameter`` it has to be one that may take it. Looks through all rows of the package, so ask rarely.
    """
    base = walker.reach_dotted(owner)
    for key in table.keys_ending(package, f".{member}"):
        name = key[: -len(member) - 1]
        module, _, path = name.partition(":")
        if not path or walker.value(key) is None or (base is not None and name == base.key):
            continue
        value = walker.value(name)
        if value is None or value.get("k") != "c":
            continue
        if "Mixin" not in path and (base is None or not _is_below(walker, Node("class", name, value), base.key, 0)):
            continue
        symbol = walker.symbol(f"{module}.{path}.{member}")
        if parameter is None or symbol is None or symbol.accepts(parameter) is not False:
            return True
    return False


def _is_below(walker: Walker, node: Node, owner: str, depth: int) -> bool:
    if node.key == owner:
        return True
    if depth > _DEEPEST:
        return False
    bases = [walker.reach(base) for base in node.value.get("b", ()) if base != "?"]
    return any(_is_below(walker, one, owner, depth + 1) for one in bases)
