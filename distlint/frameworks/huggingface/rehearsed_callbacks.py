"""The callbacks of a trainer of transformers in the rehearsal of a program, and the flags by which they tell its loop what to do.

Source: transformers 5.23.0, ``trainer_callback.py`` (``TrainerControl``, ``CallbackHandler``), ``trainer.py``
(``_maybe_log_save_evaluate``: each process goes by the flags that it has itself).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.link.modules import ClassRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import ClassValue
from distlint.rehearsal.notes import OWN_FLAG
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import Given, Made, Thing, is_known, source_of

FLAGS = ("should_training_stop", "should_epoch_stop", "should_evaluate", "should_save", "should_log")
_ADDED = "callbacks that were added"
_OTHERS = Source("only some processes come here", None)


class Control(Made):
    """``TrainerControl``: what the loop of one process is told to do."""

    __slots__ = ("begun", "outer", "owners", "places", "scope")

    def __init__(self, player: Any, call: ir.Call, scope: Any) -> None:
        super().__init__("transformers.TrainerControl()")
        self.begun = call
        self.scope = scope
        self.outer = frozenset(map(id, player.stage.reasons))
        """Tests around the call that trains: what they decide is another matter."""
        self.places: dict[str, Span] = {}
        self.owners: set[ClassRef] = set()
        """The classes of the trainer and of its callbacks, with their bases in the project."""

    def belongs(self, player: Any, things: Iterable[Any]) -> None:
        """Some objects have a say in what the flags are."""
        modules = player.stage.project.modules
        self.owners.update(one for thing in things if isinstance(thing, Thing) for one in modules.ancestry(thing.cls))

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """A flag that nobody has set here: it is the library that does, on all processes alike."""
        return Opaque(("control", name)) if name in FLAGS else NotImplemented

    def told(self, player: Any, name: str, value: Any, span: Span) -> None:
        """A flag is set at a place: perhaps on some processes only."""
        if name not in FLAGS:
            return
        self.places[name] = span
        tests = [one for one in player.stage.reasons if id(one) not in self.outer]
        source = source_of([value, *tests])
        if source is not None:
            self._differs(player, name, source)

    def compared(self, player: Any) -> None:
        """The hooks of a turn are over: whether this process has set what others have not is known once all were followed."""
        for name, span in sorted(self.places.items()):
            value = self.stored.get(name, False)
            value = value if is_known(value) else "perhaps"
            place = (ir.unpack(self.begun.at, self.scope.file), player.stage.chain, name)
            if player.stage.shared.note(player.stage.rank, place, value):
                self._differs(player, name, _OTHERS._replace(span=span))

    def _differs(self, player: Any, name: str, source: Source) -> None:
        stage = player.stage
        owned = [
            ref
            for ref in stage.visited
            if ref.index >= 0 and ClassRef(ref.file, stage.project.function(ref).owner) in self.owners
        ]
        event = Event("train", self.begun, self.scope.file, self.scope.function, {})
        event.chain = stage.chain
        words = {"flag": name, "source": source, "methods": owned}
        stage.faults.append(Fault(OWN_FLAG, self.places[name], event, words))


def callbacks_of(player: Any, parts: dict[str, Any], call: ir.Call, scope: Any) -> list[Any]:
    """The callbacks that a trainer is given when it is made, and later; one that is given as a class is made by the trainer."""
    found = []
    for one in (*(player.items_of(parts.get("callbacks", ())) or ()), *parts.get(_ADDED, ())):
        found.append(player.apply(one, Given([], {}), call, scope) if isinstance(one, ClassValue) else one)
    return found


def added(player: Any, held: dict[str, Any], given: Given) -> None:
    """``trainer.add_callback(...)``, where it is sure that it is called; ``held`` are the attributes of the trainer."""
    if not player.stage.unsure:
        held[_ADDED] = (*held.get(_ADDED, ()), given.get("callback", 0))
