"""Random numbers in a rehearsal: who seeds which generator with what, and so what is drawn on which process."""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.model.framework import GeneratorSpec
from distlint.model.span import Span
from distlint.rehearsal.figures import whole
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque, Source
from distlint.rehearsal.values import Given, Items, Made, derived, signature

_NUMBERS = {
    **dict.fromkeys(("randint", "randrange", "getrandbits"), int),
    **dict.fromkeys(("random", "uniform", "gauss", "normalvariate", "expovariate", "betavariate", "triangular"), float),
}
"""What kind of number the functions of Python's own module give."""
_ASKING = frozenset({"get_state", "getstate", "initial_seed"})
_SETTING = frozenset({"set_state", "setstate"})
"""Methods that tell the state of a generator, and that set it: nothing is drawn."""
OWN_SEED = "each rank's own seed"


class Generator(Made):
    """A generator of random numbers. ``state`` is its seed (``None``: a random one) and how often it was drawn from."""

    __slots__ = ("state",)

    def __init__(self, name: str, call: ir.Call, given: Given, seed: Any) -> None:
        super().__init__(f"{name}()", call, given)
        self.state = [seed, 0]

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Seeds it, or draws from it."""
        if name in ("manual_seed", "seed") and (given.positional or given.keywords):
            self.state = [seeded(player, next(iter(given.values())), call, scope), 0]
            return self
        if name in _SETTING:
            self.state = [UNKNOWN, 0]
            return UNKNOWN
        if name in _ASKING:
            return UNKNOWN
        span = ir.unpack(call.at, scope.file)
        sign, source = drawn(player, self.state, span)
        return player.models.drawn(
            f"{self.name}.{name}", given, drawn_value(player, f"{self.name}.{name}", given, sign, source), span
        )


class Randomness:
    """The generators that descriptions name; the first is that of the loaders."""

    def __init__(self, generators: list[GeneratorSpec]) -> None:
        self._draws = {name: one.name for one in generators for name in one.draws}
        self._makers = {name for one in generators for name in one.makers}
        self._prefixes = tuple((prefix, one.name) for one in generators for prefix in one.prefixes)
        self._main = generators[0].name if generators else ""
        self._seeds: dict[str, list[str]] = {}
        for one in generators:
            for name in one.seeds:
                self._seeds.setdefault(name, []).append(one.name)

    def forget(self, player: Any, name: str) -> None:
        """A function that is not known seeds something, by its name: nothing is known of what is drawn from now on."""
        last = name.rpartition(".")[2].lower()
        if "seed" in last or last == "set_rng_state":
            player.stage.seed = UNKNOWN
            for generator in {one for names in self._seeds.values() for one in names}:
                player.stage.kept[f"seed of {generator}"] = [UNKNOWN, 0]

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a function gives that seeds, makes or asks a generator; ``NotImplemented`` for others."""
        if name in self._seeds:
            self._seed(player, self._seeds[name], given, call, scope)
            return UNKNOWN
        if name in self._makers:
            seed = given.positional[0] if given.positional else next(iter(given.keywords.values()), None)
            return Generator(name, call, given, seeded(player, seed, call, scope) if seed is not None else None)
        generator = self._of(name)
        if not generator:
            return NotImplemented
        if name.rpartition(".")[2] in _ASKING:
            return UNKNOWN
        span = ir.unpack(call.at, scope.file)
        if generator == self._main:
            sign, source = player.stage.drawn(span)
        else:
            sign, source = drawn(player, player.stage.kept.setdefault(f"seed of {generator}", [None, 0]), span)
        return player.models.drawn(name, given, drawn_value(player, name, given, sign, source), span)

    def _of(self, name: str) -> str:
        found = self._draws.get(name)
        if found is None and name.endswith(".shuffle"):
            module = name.rpartition(".")[0]
            found = next((one for draw, one in self._draws.items() if draw.rpartition(".")[0] == module), None)
        return found or next((one for prefix, one in self._prefixes if name.startswith(prefix)), "")

    def _seed(self, player: Any, generators: list[str], given: Given, call: ir.Call, scope: Any) -> None:
        stage = player.stage
        seed = seeded(player, given.get("seed", 0, UNKNOWN), call, scope)
        for name in generators:
            if name == self._main:
                stage.seed, stage.random = seed, 0
            else:
                stage.kept[f"seed of {name}"] = [seed, 0]


def drawn_value(player: Any, name: str, given: Given, sign: Any, source: Source | None) -> Any:
    """What is drawn; a list that is shuffled holds the same in another order."""
    first = given.positional[0] if given.positional else None
    if name.rpartition(".")[2] == "shuffle" and isinstance(first, Items):
        content = first.whole if first.items is None else tuple(first.items)
        first.shuffled(derived(name, [Opaque(sign, source), content]))
        player.note(first)
        return None
    last = name.rpartition(".")[2]
    if last in ("permutation", "sample") and given.positional:
        size = (
            given.get("k", 1, UNKNOWN)
            if last == "sample"
            else first
            if isinstance(first, int)
            else player.length(first)
        )
        made = Items(None, size)
        made.whole = derived(name, [Opaque(sign, source), *given.values()])
        made.sample = player.item_of(first) if isinstance(first, Items) else derived("item", [made.whole])
        return made
    found = derived(last, [Opaque(sign, source), *given.values()])
    found.chance = True
    kind = _NUMBERS.get(last) if name.startswith("random.") else None
    return whole(found) if kind is int else found if kind is None else Number(kind, found)


def seeded(player: Any, seed: Any, call: ir.Call, scope: Any) -> Any:
    """A seed, with the reason why it is another on other processes, where they are known to have another."""
    if player.stage.differs(call, scope.file, seed):
        return Opaque(("seed", seed), Source(OWN_SEED, ir.unpack(call.at, scope.file)))
    return seed


def drawn(player: Any, kept: list[Any], span: Span) -> tuple[Any, Source | None]:
    """What tells a number drawn from a generator (its seed and a counter), and why it differs between processes."""
    kept[1] += 1
    if kept[0] is None:
        return ("drawn", player.stage.rank, kept[1]), Source("random numbers without a seed", span, drawn=True)
    sign = signature(kept[0])
    source = kept[0].source if isinstance(kept[0], Opaque) else None
    source = None if source is None else source._replace(drawn=True)
    return (None if sign is None else ("drawn", sign, kept[1])), source
