"""Devices that a process may see because of what the program itself says, in the rehearsal of a program.

Sources: the CUDA programming guide, "CUDA Environment Variables": devices that ``CUDA_VISIBLE_DEVICES`` leaves out are not there for
a program, and those that it names are counted from 0 in its order. It is read when a process first asks for devices: torch 2.13,
``cuda/__init__.py``, ``is_available``, asks the driver for their number.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.notes import NO_SUCH_DEVICE
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given

VARIABLE = "CUDA_VISIBLE_DEVICES"
MOVING = ("to", "cuda")
_PREFIX = "torch.cuda."
_MAKING = "torch.device"
_CHOOSING = (f"{_PREFIX}set_device", f"{_PREFIX}device")
_LEAVING_ALONE = ("manual_seed", "manual_seed_all")
"""What is put off until devices are used (torch 2.13, ``cuda/random.py``)."""
_FAILED = "a device was chosen that is not there"
_LOOKED = "devices were asked for before the program said which may be seen"


def asked(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> None:
    """A library function is called that may choose a device by its number, or look at devices."""
    if name == _MAKING or name in _CHOOSING:
        chosen(player, given, call, scope)
    if name.startswith(_PREFIX) and name[len(_PREFIX) :].partition(".")[0] not in _LEAVING_ALONE:
        _looked(player)


def chosen(player: Any, given: Given, call: ir.Call, scope: Any) -> None:
    """A device is chosen: a fault where the program lets this process see fewer than its number says."""
    stage = player.stage
    number = _number_of([*given.positional, *given.keywords.values()])
    seen = stage.environment.get(VARIABLE)
    if number is None or not isinstance(seen, str) or stage.kept.get(_LOOKED) is True:
        return
    count = len([one for one in seen.split(",") if one.strip()])
    if number >= count > 0 and not stage.kept.get(_FAILED):
        stage.kept[_FAILED] = True  # the process ends there
        event = Event("device", call, scope.file, scope.function, {})
        event.chain = stage.chain
        words = {"number": number, "seen": seen, "count": count, "rank": stage.rank, "variable": VARIABLE}
        stage.faults.append(Fault(NO_SUCH_DEVICE, ir.unpack(call.at, scope.file), event, words))


def _looked(player: Any) -> None:
    if not isinstance(player.stage.environment.get(VARIABLE), str):
        player.stage.kept[_LOOKED] = True


def _number_of(values: list[Any]) -> int | None:
    """The number of the device that one of some arguments means; ``None`` where none is known to."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        word, _, number = value.partition(":") if isinstance(value, str) else ("", "", "")
        if word == "cuda" and number.isdecimal():
            return int(number)
    return None
