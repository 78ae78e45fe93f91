"""Loaders whose batches a library deals out to the processes, in the rehearsal of a program: how many each of them gets.

What evens out the shares, as a rule, can be switched off; then a process may get a batch more than another. How many there are is
that of accelerate 1.15.0, ``data_loader.py``, ``BatchSamplerShard``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from distlint.frameworks.torch.rehearsed_data import Loader
from distlint.model.span import Span
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import Given, combined, derived

DEALING = "how batches are dealt out for now"
"""Whether a context evens out the shares of loaders that are made already, whatever they were made with."""


class Dealing(NamedTuple):
    """How batches are dealt out; ``None`` for what is not known.

    ``even``: batches are repeated until all have as many. ``split``: each batch is cut into a piece for each process, instead of whole
    ones going round. ``steps``: so many passes make one step of the optimizer, the last one of a loader any number. ``alone``: one
    process reads the data and hands it out to all, which is so for streams where nothing is said.
    """

    even: bool | None = True
    split: bool | None = False
    steps: int | None = 1
    alone: bool | None = None


class Dealt(Loader):
    """A loader whose batches are dealt out to the processes."""

    __slots__ = ("dealing", "inner")

    def __init__(self, inner: Loader, span: Span, why: str, dealing: Dealing) -> None:
        super().__init__(inner.call, inner.arguments or Given([], {}), span)
        self.inner = inner
        self.dealing = dealing
        self.source = Source(why, span)

    def begins(self, player: Any, span: Span) -> None:
        """Such a loader tells its sampler the epoch by itself."""

    def length(self, player: Any) -> Any:
        """How many batches this process gets: as many as others, unless nothing evens that out."""
        whole, (even, split, _, alone) = self.inner.length(player), self.dealing
        if not isinstance(whole, int) and (alone if alone is not None else self.is_stream(player)):
            return Opaque(combined("handed out", [whole]))
        even = player.stage.kept.get(DEALING, even)
        world, drops = player.stage.world, self.inner.drops
        unknown = Opaque(None) if even is False else derived("dealt", [whole])
        if not isinstance(whole, int) or split is None or not isinstance(drops, bool):
            return unknown
        if split:
            rest = 0 if even or drops else self._rest(player)
            if rest == 0:
                return whole
            return unknown if even is None or rest is None else self._own(player, self._of_pieces(whole, rest, world))
        if drops or whole % world == 0:
            return whole // world
        if even:
            return -(-whole // world)
        return unknown if even is None else self._own(player, [-(-(whole - rank) // world) for rank in range(world)])

    def _rest(self, player: Any) -> int | None:
        """The rows of the last batch, if it is not a full one."""
        rows, batch = self.rows(player), self.inner.batch
        return rows % batch if isinstance(rows, int) and isinstance(batch, int) and batch > 0 else None

    def _of_pieces(self, whole: int, rest: int, world: int) -> list[int]:
        """How many pieces each process gets: of the last batch only the first ones may get any."""
        piece = self.inner.batch // world
        return [whole - (rest <= piece * rank) for rank in range(world)]

    def _own(self, player: Any, counts: list[int]) -> Any:
        """This process's number; nothing is known of it where each process makes as many steps with its own as the others with theirs.

        So it may be where streams are dealt out by other means, too.
        """
        if len(set(counts)) == 1:
            return counts[0]
        steps = self.dealing.steps
        if steps is None or len({-(-count // steps) for count in counts}) == 1 or self.is_stream(player):
            return Opaque(None)
        return counts[player.stage.rank]
