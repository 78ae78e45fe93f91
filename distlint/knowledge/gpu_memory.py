"""How much memory the devices have that schedulers and clusters name.

Sizes are those of the vendors' data sheets. A name that several sizes share stands for the largest of them: what we say
must hold whichever is meant. The words are counted as powers of two (an "80 GB" device has 80 GiB less what the driver
takes), which is again the larger reading.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GIB = 1 << 30


class Device(NamedTuple):
    """A kind of device: its name for people, and the most gigabytes that one of that name has."""

    name: str
    gigabytes: int

    @property
    def size(self) -> int:
        """Its memory in bytes."""
        return self.gigabytes * GIB


_LARGEST = {
    "p100": 16, "v100": 32, "t4": 16, "a10": 24, "a10g": 24, "a16": 16, "a30": 24, "a40": 48, "a100": 80, "a800": 80,
    "l4": 24, "l20": 48, "l40": 48, "l40s": 48, "h20": 141, "h100": 96, "h800": 80, "h200": 144, "gh200": 144,
    "b200": 192, "gb200": 192, "b300": 288, "gb300": 288, "a6000": 48, "a5000": 24, "rtx6000": 96, "rtx3090": 24,
    "rtx4090": 24, "rtx5090": 32, "3090": 24, "4090": 24, "5090": 32, "mi250": 128, "mi250x": 128, "mi300x": 192,
    "mi325x": 256, "k80": 24, "2080ti": 11, "rtx2080ti": 11,
}  # fmt: skip

_SIZES = {
    "p100": (12, 16), "v100": (16, 32), "a100": (40, 80), "h100": (80, 94, 96), "a800": (40, 80), "gh200": (96, 144),
    "h20": (96, 141), "h200": (141,),
}  # fmt: skip
"""The sizes of which a name may say one more closely (``a100_40g``, ``v100-16gb``)."""

_WORD = re.compile(r"[a-z0-9]+")
_SPLIT = re.compile(r"([a-z]+[0-9]+[a-z]?)(?:[a-z]*?)([0-9]{2,3})(?:gb?|gib)?")
_SIZE = re.compile(r"([0-9]{2,3})(?:gb?|gib)?")
_FORM = re.compile(r"(sxm|nvl|pcie|smx)[0-9]*")
MAX_NAME = 200


def find_device(text: str) -> Device | None:
    """The kind of device that a scheduler's words name (``a100``, ``nvidia_h100_80gb_hbm3``, ``v100-32g``).

    ``None`` where they name none that we know, or kinds of different sizes, or a slice of one.
    """
    lowered = text.lower()[:MAX_NAME]
    if "mig" in lowered or re.search(r"[0-9]g\.[0-9]+gb", lowered):
        return None
    words = [word for word in _WORD.findall(lowered) if not _FORM.fullmatch(word)]
    found: Device | None = None
    for index, word in enumerate(words):
        kind, written = _kind(word)
        if kind is None:
            continue
        if written is None and index + 1 < len(words) and (size := _SIZE.fullmatch(words[index + 1])) is not None:
            written = int(size.group(1))
        gigabytes = _LARGEST[kind]
        if written in _SIZES.get(kind, ()):
            gigabytes = written
        one = Device(kind.upper(), gigabytes)
        found = one if found is None or one.gigabytes > found.gigabytes else found
    return found


def _kind(word: str) -> tuple[str | None, int | None]:
    if word in _LARGEST:
        return word, None
    match = _SPLIT.fullmatch(word)
    if match is not None and match.group(1) in _SIZES:
        size = int(match.group(2))
        return (match.group(1), size) if size in _SIZES[match.group(1)] else (None, None)
    return None, None


_MEMORY = re.compile(r"\s*([0-9]{1,5}(?:\.[0-9]{1,3})?)\s*(mib|mb|m|gib|gb|g|tib|tb|t)?\s*", re.IGNORECASE)
_UNITS = {"m": 1 << 20, "g": GIB, "t": 1 << 40}


def parse_memory(text: object) -> int:
    """Bytes of ``80GB``, ``40960 MiB`` or a number of gigabytes; raises ``ValueError`` for anything else."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ValueError("is no amount of memory such as `80GB`")
    match = _MEMORY.fullmatch(str(text))
    if match is None or float(match.group(1)) <= 0:
        raise ValueError("is no amount of memory such as `80GB`")
    return int(float(match.group(1)) * _UNITS[(match.group(2) or "g")[0].lower()])
