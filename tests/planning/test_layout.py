"""Which ranks belong together: compared with the groups that Megatron Core really makes."""

from __future__ import annotations

import pytest

from distlint.model.layout import Axis, Grid, Layout
from distlint.model.value import known, unknown

# (world, TP, CP, PP, EP, ETP, tp-pp-dp mapping, rank, its groups): what megatron.core.parallel_state.initialize_model_parallel
# of core 0.16.1 made under torch's fake process group.
REAL = [
    (
        16,
        2,
        1,
        4,
        1,
        None,
        False,
        5,
        {"TP": [4, 5], "CP": [5], "DP": [5, 7], "PP": [1, 5, 9, 13], "ETP": [4, 5], "EP": [5], "EDP": [5, 7]},
    ),
    (
        16,
        2,
        1,
        4,
        1,
        None,
        True,
        5,
        {"TP": [4, 5], "CP": [5], "DP": [5, 13], "PP": [1, 3, 5, 7], "ETP": [4, 5], "EP": [5], "EDP": [5, 13]},
    ),
    (
        16,
        2,
        2,
        2,
        1,
        None,
        False,
        9,
        {"TP": [8, 9], "CP": [9, 11], "DP": [9, 13], "PP": [1, 9], "ETP": [8, 9], "EP": [9], "EDP": [9, 11, 13, 15]},
    ),
    (
        32,
        4,
        1,
        2,
        4,
        None,
        False,
        6,
        {
            "TP": [4, 5, 6, 7],
            "CP": [6],
            "DP": [2, 6, 10, 14],
            "PP": [6, 22],
            "ETP": [4, 5, 6, 7],
            "EP": [2, 6, 10, 14],
            "EDP": [6],
        },
    ),
    (
        32,
        4,
        1,
        2,
        4,
        1,
        False,
        21,
        {
            "TP": [20, 21, 22, 23],
            "CP": [21],
            "DP": [17, 21, 25, 29],
            "PP": [5, 21],
            "ETP": [21],
            "EP": [20, 21, 22, 23],
            "EDP": [17, 21, 25, 29],
        },
    ),
    (
        32,
        4,
        2,
        2,
        2,
        2,
        False,
        30,
        {
            "TP": [28, 29, 30, 31],
            "CP": [26, 30],
            "DP": [22, 30],
            "PP": [14, 30],
            "ETP": [30, 31],
            "EP": [28, 30],
            "EDP": [18, 22, 26, 30],
        },
    ),
    (
        48,
        4,
        1,
        3,
        4,
        1,
        False,
        37,
        {
            "TP": [36, 37, 38, 39],
            "CP": [37],
            "DP": [33, 37, 41, 45],
            "PP": [5, 21, 37],
            "ETP": [37],
            "EP": [36, 37, 38, 39],
            "EDP": [33, 37, 41, 45],
        },
    ),
    (
        32,
        2,
        4,
        2,
        8,
        1,
        False,
        17,
        {
            "TP": [16, 17],
            "CP": [17, 19, 21, 23],
            "DP": [17, 25],
            "PP": [1, 17],
            "ETP": [17],
            "EP": [16, 17, 18, 19, 20, 21, 22, 23],
            "EDP": [17, 25],
        },
    ),
    (
        8,
        8,
        1,
        1,
        1,
        None,
        False,
        3,
        {
            "TP": [0, 1, 2, 3, 4, 5, 6, 7],
            "CP": [3],
            "DP": [3],
            "PP": [3],
            "ETP": [0, 1, 2, 3, 4, 5, 6, 7],
            "EP": [3],
            "EDP": [3],
        },
    ),
    (
        64,
        8,
        1,
        8,
        1,
        None,
        False,
        50,
        {
            "TP": [48, 49, 50, 51, 52, 53, 54, 55],
            "CP": [50],
            "DP": [50],
            "PP": [2, 10, 18, 26, 34, 42, 50, 58],
            "ETP": [48, 49, 50, 51, 52, 53, 54, 55],
            "EP": [50],
            "EDP": [50],
        },
    ),
    (
        24,
        1,
        3,
        2,
        1,
        None,
        False,
        13,
        {
            "TP": [13],
            "CP": [12, 13, 14],
            "DP": [13, 16, 19, 22],
            "PP": [1, 13],
            "ETP": [13],
            "EP": [13],
            "EDP": [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23],
        },
    ),
]


@pytest.mark.parametrize(("world", "tp", "cp", "pp", "ep", "etp", "swapped", "rank", "groups"), REAL)
def test_groups_are_those_of_megatron(
    world: int,
    tp: int,
    cp: int,
    pp: int,
    ep: int,
    etp: int | None,
    swapped: bool,
    rank: int,
    groups: dict[str, list[int]],
) -> None:
    expert_tp = etp or tp
    dp, edp = world // (tp * cp * pp), world // (expert_tp * ep * pp)
    if swapped:
        grid, experts = (
            Grid(("TP", "CP", "PP", "DP"), (tp, cp, pp, dp)),
            Grid(("ETP", "EP", "PP", "EDP"), (expert_tp, ep, pp, edp)),
        )
    else:
        grid, experts = (
            Grid(("TP", "CP", "DP", "PP"), (tp, cp, dp, pp)),
            Grid(("ETP", "EP", "EDP", "PP"), (expert_tp, ep, edp, pp)),
        )
    for name, ranks in groups.items():
        chosen = grid if name in grid.names else experts
        assert [group for group in chosen.groups(name) if rank in group] == [ranks]


def test_coordinates_and_groups_agree() -> None:
    grid = Grid(("TP", "DP", "PP"), (4, 3, 2))
    assert grid.world == 24
    for name in grid.names:
        members = [rank for group in grid.groups(name) for rank in group]
        assert sorted(members) == list(range(24))
        for group in grid.groups(name):
            assert [grid.at(name, rank) for rank in group] == list(range(len(group)))
            others = [{key: place for key, place in grid.coordinates(rank).items() if key != name} for rank in group]
            assert all(other == others[0] for other in others)


@pytest.mark.parametrize(
    ("tensor", "world", "per_node", "split"),
    [(8, 32, 8, 0), (16, 32, 8, 2), (4, 24, 6, 2), (3, 24, 4, 4), (2, 12, 6, 0), (1, 12, 5, 0)],
)
def test_groups_on_several_nodes_are_counted(tensor: int, world: int, per_node: int, split: int) -> None:
    assert Grid(("TP", "DP"), (tensor, world // tensor)).split_groups("TP", per_node) == split


def test_a_layout_without_all_sizes_has_no_grid() -> None:
    layout = Layout((Axis("TP", known(2)), Axis("DP", unknown("no launch"))))
    assert layout.grid() is None
    assert (layout.ranks("TP"), layout.ranks("DP"), layout.ranks("TP", "PP")) == (2, None, 2)
    assert Layout((Axis("TP", known(-1)),)).grid() is None
    assert Layout((Axis("DP", known(1 << 30)),)).grid() is None
