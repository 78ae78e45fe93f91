"""The library functions by which values come to differ between ranks, or to be the same, as frameworks describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.divergence_state import DIFFERS, EVENED, THE_SAME, UNKNOWN, Divergence
from distlint.link.arguments import find_argument
from distlint.link.walking import access_path
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.framework import GeneratorSpec

_OF_RANK = frozenset({"rank", "local-rank", "main", "local-main", "last", "node"})
_OF_ALL = frozenset({"world", "devices", "initialized", "per-node", "nodes"})


class Sources:
    """Looks library names up in what frameworks say of them."""

    def __init__(self, project: Project) -> None:
        self._project = project
        specs = project.specs
        self.ranks = {name: kind for spec in specs for name, kind in spec.rank_sources}
        self.varying = {name: why for spec in specs for name, why in spec.varying}
        self.even_results = {name for spec in specs for name, given in spec.evened if not given}
        self.even_arguments = {name: given for spec in specs for name, given in spec.evened if given}
        self.filled = {one.name: one for spec in specs for one in spec.collectives if one.output[0] or one.tensor[0]}
        words = {one.name.removesuffix("()").rpartition(".")[2] for spec in specs for one in spec.collectives}
        self.collective_words = frozenset({*words, "backward", "step"})
        """The last names of calls in which ranks may wait for each other."""
        self.plain = tuple(name for spec in specs for name in spec.plain)
        self.generators = [one for spec in specs for one in spec.generators]
        self.dealt = {name: why for spec in specs for name, why in spec.dealt}
        self.handed = [one for spec in specs for one in spec.handed]
        self._lengths = {name: kind for spec in specs for name, kind in spec.lengths}
        self._tops = {module.partition(".")[0] for spec in specs for module in spec.modules}
        self._seeds = {name for one in self.generators for name in one.seeds}

    def told(self, name: str, span: Span) -> Divergence | None:
        """What a library function or attribute gives by its name; ``None`` where nothing is said of it."""
        kind = self.ranks.get(name)
        if kind in _OF_ALL:
            return THE_SAME
        if kind == "told":
            return None
        if kind is not None:
            return Divergence(DIFFERS, "the rank", (span,))
        if name in self.varying:
            return Divergence(DIFFERS, self.varying[name], (span,))
        return EVENED if name in self.even_results else None

    def variable(self, name: ir.Expr, span: Span) -> Divergence:
        """An environment variable."""
        kind = self.ranks.get(f"${name.value}") if type(name) is ir.Constant else None
        if kind in _OF_RANK:
            return Divergence(DIFFERS, "the rank", (span,))
        return THE_SAME if kind in _OF_ALL else UNKNOWN

    def evens(self, call: ir.Call, file: str) -> bool:
        """Whether a call leaves the same in one of its arguments on all ranks."""
        return self._project.modules.dotted(call.func, file) in self.even_arguments

    def evened_argument(self, call: ir.Call, file: str) -> ir.Expr | None:
        """The argument in which a call leaves the same on all ranks."""
        given = self.even_arguments.get(self._project.modules.dotted(call.func, file))
        if given is None:
            return None
        name, _, position = given.partition(":")
        return find_argument(call, name, int(position))[0]

    def fills(self, call: ir.Call, file: str, place: tuple[str, tuple[ir.Expr | str, ...]]) -> bool:
        """Whether a call of several processes leaves something else than before in what stands at a place."""
        spec = self.filled.get(self._project.modules.dotted(call.func, file))
        if spec is None or spec.role == "send":
            return False
        for name, position in (spec.output, spec.tensor):
            argument = find_argument(call, name, position)[0] if name else None
            if argument is not None and access_path(argument) == place:
                return True
            if spec.output[0]:
                break
        return False

    def is_sent(self, call: ir.Call, file: str, place: tuple[str, tuple[ir.Expr | str, ...]]) -> bool:
        """Whether one other process sends what a call leaves in what stands at a place: it takes it, or a list of such operations does."""
        dotted = self._project.modules.dotted
        spec = self.filled.get(dotted(call.func, file))
        if spec is not None:
            return spec.role == "receive" and self.fills(call, file, place)
        handed = self.filled.get(dotted(call.args[0], file)) if len(call.args) > 1 else None
        taken = [*call.args[1:2], *(word.value for word in call.keywords if handed and word.name == handed.tensor[0])]
        return handed is not None and handed.role == "receive" and any(access_path(one) == place for one in taken)

    def as_long_as(self, call: ir.Call, file: str) -> int | None:
        """The argument whose items a call passes on, where it is one of a library."""
        kind = self._lengths.get(self._project.modules.dotted(call.func, file), "")
        return int(kind.partition(":")[2]) if kind.startswith("like:") else None

    def length_kind(self, name: str) -> str:
        """How long what a library call gives is: see ``FrameworkSpec.lengths``."""
        return self._lengths.get(name, "")

    def is_plain(self, name: str) -> bool:
        """Whether what a function gives depends on its arguments alone."""
        return name.startswith(self.plain)

    def is_known(self, name: str) -> bool:
        """Whether a name is one of the frameworks', whose objects compute from what they are called with."""
        return name.partition(".")[0] in self._tops or self.is_plain(name)

    def generator(self, name: str) -> GeneratorSpec | None:
        """The generator of random numbers from which a function draws."""
        for one in self.generators:
            if name in one.draws or (name not in self._seeds and name.startswith(one.prefixes or ("\0",))):
                return one
        return None
