"""What a look-up in the table of released APIs answers: symbols, their parameters, and whether they are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distlint.model.record import dataclass

Span = tuple[int, int]
"""The first and the last release of a stretch, by index; both belong to it."""


@dataclass(frozen=True)
class Param:
    """A parameter: ``kind`` is ``positional``, ``normal``, ``var-positional``, ``keyword`` or ``var-keyword``.

    ``default`` is source text, ``None`` for a parameter that must be given.
    """

    name: str
    kind: str
    default: str | None


@dataclass(frozen=True)
class Symbol:
    """One definition as a release has it.

    ``kind`` is ``module``, ``function``, ``class``, ``variable``, ``property``, ``attribute`` (of instances), or ``foreign``
    (comes from another package); ``name`` is the dotted path of the definition, not of a re-export. ``parameters`` are what a
    caller gives: without ``self`` and ``cls``, for a class those of its constructor; ``None`` where they are not known for sure.
    ``deprecated`` is the message, ``""`` if the release doesn't warn; ``deprecated_parameters`` maps names to messages.
    Where a module defines a name in several branches, ``alternatives`` has them all, and ``parameters`` is set only if they agree.
    """

    kind: str
    name: str
    parameters: tuple[Param, ...] | None
    deprecated: str
    deprecated_parameters: Mapping[str, str]
    alternatives: tuple[Symbol, ...] = ()

    def accepts(self, keyword: str) -> bool | None:
        """Whether a call may give a keyword; ``None`` if that is not known for sure.

        True if any alternative takes it, by name or by ``**``.
        """
        answers = [one._accepts(keyword) for one in self.alternatives or (self,)]
        if any(answers):
            return True
        return None if None in answers else False

    def _accepts(self, keyword: str) -> bool | None:
        if keyword in self.deprecated_parameters:
            return True
        if self.parameters is None:
            return None
        return any(
            one.kind == "var-keyword" or (one.name == keyword and one.kind in ("normal", "keyword"))
            for one in self.parameters
        )

    def parameter(self, name: str) -> Param | None:
        """The parameter of this name, in any alternative; ``None`` if there is none or the parameters are not known."""
        for one in self.alternatives or (self,):
            for found in one.parameters or ():
                if found.name == name:
                    return found
        return None


@dataclass(frozen=True)
class Found:
    """Whether a release has a name.

    ``state`` is ``present``, ``absent`` or ``unknown``. ``missing`` is the first dotted prefix that is absent, and ``others``
    says in which releases that one exists: (first, last) of each stretch. ``symbol`` is set if the name is present and known.
    ``unheard`` is the first prefix of an unknown name that no release has, though all names beside it are known.
    """

    state: str
    missing: str = ""
    symbol: Symbol | None = None
    others: tuple[tuple[str, str], ...] = ()
    unheard: str = ""


def parameters_of(texts: Sequence[str]) -> tuple[Param, ...]:
    """The parameters that a row of the table writes as ``name``, ``name=default``, ``*name``, ``**name``, with ``/`` and ``*``."""
    out: list[Param] = []
    kind = "normal"
    for text in texts:
        if text == "/":
            out = [Param(one.name, "positional", one.default) for one in out]
        elif text == "*":
            kind = "keyword"
        elif text.startswith("**"):
            out.append(Param(text[2:], "var-keyword", None))
        elif text.startswith("*"):
            out.append(Param(text[1:], "var-positional", None))
            kind = "keyword"
        else:
            name, given, default = text.partition("=")
            out.append(Param(name, kind, default if given else None))
    return tuple(out)


def value_at(spans: Sequence[Sequence[Any]], release: int) -> dict[str, Any] | None:
    """The value that holds in a release; ``None`` if the row has none there."""
    for first, last, value in spans:
        if first <= release <= last:
            found: dict[str, Any] = value
            return found
    return None


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Stretches in order, touching and overlapping ones made one."""
    out: list[Span] = []
    for first, last in sorted(spans):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return tuple(out)
