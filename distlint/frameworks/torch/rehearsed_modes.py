"""Whether a module is in training or evaluation mode, where that is known, in the rehearsal of a program.

It is known while a library's loop, which sets the mode before each step, calls the program; elsewhere it is the same on all processes, as
a rule, and not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from distlint.frameworks.torch.rehearsed_members import with_modules
from distlint.rehearsal.unknowns import Opaque

_MODES = "modules whose mode is known"
_ASKED = "whether a module is in training was asked"
_SOME_MODE = Opaque(("training",))


@contextmanager
def in_mode(player: Any, parts: Iterable[Any], *, training: bool) -> Iterator[None]:
    """A library has set the mode of modules for what it calls now."""
    kept = player.stage.kept
    outer = kept.get(_MODES)
    kept[_MODES] = {id(one): (one, training) for one in parts}
    try:
        yield
    finally:
        kept[_MODES] = outer


def told(player: Any, module: Any, training: Any) -> None:
    """The program sets the mode of a module, and so of those in it."""
    known = player.stage.kept.get(_MODES) or {}
    for one in with_modules(module):
        if hasattr(one, "training"):
            one.training = training is not False
        if id(one) not in known:
            continue
        if player.stage.unsure or not isinstance(training, bool):
            del known[id(one)]
        else:
            known[id(one)] = (one, training)


def parted(player: Any, whole: Any, part: Any) -> None:
    """A part of a module comes into sight."""
    known = player.stage.kept.get(_MODES)
    if known and id(whole) in known:
        known[id(part)] = (part, known[id(whole)][1])


def mode_of(player: Any, module: Any) -> Any:
    """``module.training``."""
    kept = player.stage.kept
    kept[_ASKED] = kept.get(_ASKED, 0) + 1
    known = kept.get(_MODES) or {}
    return known[id(module)][1] if id(module) in known else _SOME_MODE


def times_asked(player: Any) -> int:
    """How often a program has asked for a mode so far."""
    found: int = player.stage.kept.get(_ASKED, 0)
    return found
