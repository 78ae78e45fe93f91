"""Strongly connected components of a directed graph, callees first.

networkx has this, but importing it costs as much time as reading a small project, and every run with a distributed script would pay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

N = TypeVar("N")


def components_of(nodes: Sequence[N], targets: Callable[[N], Iterable[N]]) -> tuple[tuple[N, ...], ...]:
    """The strongly connected components of the nodes (Tarjan's algorithm, without recursion).

    A component comes behind those that it leads to; inside one, nodes stand in the order of ``nodes``. ``targets`` gives the direct
    successors of a node, all of which are among the nodes.
    """
    place = {node: index for index, node in enumerate(nodes)}
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    held: list[N] = []
    holding: set[N] = set()
    found: list[tuple[N, ...]] = []
    for root in nodes:
        if root in index:
            continue
        work: list[tuple[N, Iterator[Any]]] = [_entered(root, targets, index, low, held, holding)]
        while work:
            node, following = work[-1]
            for target in following:
                if target not in index:
                    work.append(_entered(target, targets, index, low, held, holding))
                    break
                if target in holding:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = held.pop()
                        holding.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    found.append(tuple(sorted(component, key=place.__getitem__)))
    return tuple(found)


def _entered(
    node: N,
    targets: Callable[[N], Iterable[N]],
    index: dict[N, int],
    low: dict[N, int],
    held: list[N],
    holding: set[N],
) -> tuple[N, Iterator[N]]:
    index[node] = low[node] = len(index)
    held.append(node)
    holding.add(node)
    return node, iter(list(targets(node)))
