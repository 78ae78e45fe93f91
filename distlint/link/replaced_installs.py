"""Packages that one command installs and a later one replaces, because what that one brings does not go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from distlint.knowledge.release_order import names_one_version
from distlint.knowledge.requirements import PYTHONS, Requirements, requirements
from distlint.link.installations import release_specifier
from distlint.link.release_picks import admitted_by
from distlint.link.version_sets import NO_PACKAGES
from distlint.model.facts import FileFacts
from distlint.model.pin import Pin

if TYPE_CHECKING:
    from distlint.link.project import Project

_MAX_COMMANDS = 60


class Replaced(NamedTuple):
    """A pin that does not stay: a later one brings ``release`` of its package, which asks for ``asked`` instead.

    ``kept_by`` is the nearest release of the later package that leaves the pin as it is, ``""`` if there is none.
    """

    pin: Pin
    later: Pin
    release: str
    asked: str
    kept_by: str


def replaced_installs(project: Project) -> Iterator[Replaced]:
    """What is certainly replaced, in the order of the files."""
    files: Mapping[str, FileFacts] = project.facts
    for path in sorted(files):
        facts = files[path]
        if len(facts.pins) < 2 or not any(pin.sequence for pin in facts.pins):
            continue
        pythons = [PYTHONS.index(text) for text in project.environments.for_file(path).pythons() if text in PYTHONS]
        for commands in _sequences(facts):
            yield from _in_sequence(commands[:_MAX_COMMANDS], [1 << at for at in pythons])


def _sequences(facts: FileFacts) -> Iterator[list[list[Pin]]]:
    """The commands that run one after the other, each with its pins; without those that may run in several ways."""
    written: dict[tuple[object, str], int] = {}
    for pin in facts.pins:
        written[pin.span, pin.name] = written.get((pin.span, pin.name), 0) + 1
    found: dict[str, dict[str, list[Pin]]] = {}
    for pin in facts.pins:
        if pin.sequence and pin.command and pin.name not in NO_PACKAGES:
            found.setdefault(pin.sequence, {}).setdefault(pin.command, []).append(pin)
    lines = [include.span.line for include in facts.includes]
    for commands in found.values():
        pins = [pin for command in commands.values() for pin in command]
        first, last = min(pin.span.line for pin in pins), max(pin.span.line for pin in pins)
        # What a file of requirements brings on the way is not known to belong to one of the commands.
        mixed = any(first <= line <= last for line in lines) or any(written[pin.span, pin.name] > 1 for pin in pins)
        if len(commands) > 1 and not mixed:
            yield list(commands.values())


def _in_sequence(commands: Sequence[Sequence[Pin]], pythons: Sequence[int]) -> Iterator[Replaced]:
    for at, command in enumerate(commands):
        for pin in command:
            known = requirements(pin.name)
            if known is None or not _is_certain(pin) or not names_one_version(pin.specifier):
                continue
            here = admitted_by(known, release_specifier(pin))
            usable = [bit for bit in pythons if known.installable(bit) & here]
            if here.bit_count() == 1 and usable:
                found = _replacing(pin, here, commands[at + 1 :], commands[: at + 1], usable)
                if found is not None:
                    yield found


def _replacing(
    pin: Pin, here: int, later: Sequence[Sequence[Pin]], before: Sequence[Sequence[Pin]], pythons: Sequence[int]
) -> Replaced | None:
    """The first later pin that replaces another one; none behind a command that names the package again."""
    earlier = [one for command in before for one in command]
    for command in later:
        if any(one.name == pin.name for one in command):
            return None
        for one in command:
            if _is_certain(one) and not one.alone and not _may_be_there(one, earlier):
                found = _judged(pin, here, one, pythons)
                if found is not None:
                    return found
        earlier += command
    return None


def _judged(pin: Pin, here: int, later: Pin, pythons: Sequence[int]) -> Replaced | None:
    known = requirements(later.name)
    if known is None:
        return None
    told: Replaced | None = None
    newest = -1
    for bit in pythons:
        admitted = admitted_by(known, release_specifier(later)) & known.installable(bit) & ~known.unread
        if not admitted:
            continue  # nobody runs the commands with this Python
        asked = _refusing(known, admitted.bit_length() - 1, pin, here, bit, later.extras)
        if not asked:
            return None
        if admitted.bit_length() > newest:
            newest = admitted.bit_length()
            kept = _keeping(known, admitted, pin, here, bit, later.extras)
            told = Replaced(pin, later, known.line.newest(admitted), asked, kept)
    return told


def _refusing(known: Requirements, position: int, pin: Pin, here: int, python: int, extras: Sequence[str]) -> str:
    """What a release asks of the pinned package, if that excludes the pinned release; else ``""``."""
    line = requirements(pin.name)
    for ask in known.asks(position, python):
        if ask.package == pin.name and line is not None and (not ask.extra or ask.extra in extras):
            wanted = line.line.admitted(ask.specifier)
            if wanted and not wanted & here:
                return ask.specifier
    return ""


def _keeping(known: Requirements, admitted: int, pin: Pin, here: int, python: int, extras: Sequence[str]) -> str:
    """The release nearest to those admitted that asks for the package, and leaves the pinned release as it is."""
    possible = known.installable(python) & ~known.yanked & ~known.unread
    last = admitted.bit_length() - 1
    order = sorted(range(len(known.line.releases)), key=lambda position: (abs(position - last), position))
    for position in order:
        asks = any(ask.package == pin.name and not ask.extra for ask in known.asks(position, python))
        if possible >> position & 1 and asks and not _refusing(known, position, pin, here, python, extras):
            return known.line.releases[position]
    return ""


def _may_be_there(pin: Pin, earlier: Sequence[Pin]) -> bool:
    """Whether an earlier command may have brought a package, so that the later one leaves it as it is."""
    exact = names_one_version(pin.specifier)
    for one in earlier:
        known = requirements(one.name)
        if one.name == pin.name or one.url or (not exact and known is None):
            return True
        if not exact and known is not None and not one.alone and any(row.package == pin.name for row in known.rows):
            return True
    return False


def _is_certain(pin: Pin) -> bool:
    return not (pin.url or pin.dynamic or pin.marker or pin.elsewhere)
