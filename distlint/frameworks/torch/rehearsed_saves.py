"""Checkpoints that are written in the background, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/checkpoint/state_dict_saver.py`` (``async_save`` gives a future, or an ``AsyncSaveResponse`` of two),
``_async_thread_executor.py`` (each save plans and writes with the other processes, in a thread of its own); runs with gloo on two
processes: no checkpoint has its metadata where one save begins while another is under way.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.notes import SAVE_UNDER_WAY
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made

_SAVES = "checkpoints that are being written"
_MOST = 64
_WAITING = frozenset({"result", "exception"})
_OTHERWISE = frozenset({"done", "running", "cancel", "add_done_callback"})


class Saving(Made):
    """The future of a save: ``loose`` once the program may learn in another way that it is done."""

    __slots__ = ("chain", "folder", "loose", "span")

    def __init__(self, call: ir.Call, scope: Any, folder: Any, chain: Any) -> None:
        super().__init__("future of a checkpoint", call)
        self.span = ir.unpack(call.at, scope.file)
        self.folder = folder
        self.chain = chain
        self.loose = False

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """The two futures of a response: that of the copy, and that of the files."""
        return self if name == "upload_completion" else UNKNOWN if name == "staging_completion" else NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Waits until the files are there, or asks whether they are."""
        if name in _WAITING and not given.values():
            _done(player, self)
            return UNKNOWN if name == "result" else None
        self.loose = True
        return UNKNOWN if name in _OTHERWISE else NotImplemented


def begun(player: Any, event: Event | None, call: ir.Call, scope: Any) -> Saving:
    """``async_save(...)``: those before should be done."""
    stage = player.stage
    _comes(player, None, "saved", call, scope)
    made = Saving(call, scope, event.seen.get("folder") if event is not None else None, stage.chain)
    rows = stage.kept.setdefault(_SAVES, [])
    if not stage.unsure and len(rows) < _MOST:
        rows.append(made)
    return made


def saved(player: Any, call: ir.Call, scope: Any) -> None:
    """``save(...)``: processes write one checkpoint together while they may be writing another."""
    _comes(player, None, "saved", call, scope)


def loaded(player: Any, event: Event | None, call: ir.Call, scope: Any) -> None:
    """``load(...)`` from a folder."""
    folder = event.seen.get("folder") if event is not None else None
    if folder is not None:
        _comes(player, folder, "loaded", call, scope)


def _comes(player: Any, folder: Any, word: str, call: ir.Call, scope: Any) -> None:
    """Something comes that has to wait for the saves before; with ``folder`` for those to it only."""
    stage = player.stage
    for one in list(stage.kept.get(_SAVES, ())):
        if (folder is not None and one.folder != folder) or one.loose:
            continue
        _done(player, one)
        if not stage.unsure:
            event = Event("async_save", call, scope.file, scope.function, {})
            words = {word: event.span}
            event.chain = one.chain
            stage.faults.append(Fault(SAVE_UNDER_WAY, one.span, event, words))


def _done(player: Any, saving: Saving) -> None:
    rows = player.stage.kept.get(_SAVES, [])
    rows[:] = [one for one in rows if one is not saving]


def handed(value: Any) -> None:
    """A future goes where somebody may wait for it."""
    if isinstance(value, Saving):
        value.loose = True
