"""What a project says about the versions of the packages that it needs."""

from __future__ import annotations

from distlint.model.record import dataclass
from distlint.model.span import Span


@dataclass(frozen=True, slots=True)
class Pin:
    """One requirement as written.

    ``name`` is normalised as PEP 503 says (``flash-attn``; conda's ``pytorch`` is ``torch``). ``specifier`` is a PEP 440 specifier
    set in text, ``""`` for any version; conda and Poetry spellings are translated. ``origin`` says where it was written:
    ``lock``, ``requirements``, ``constraints``, ``overrides``, ``pyproject``, ``setup``, ``conda``, ``pipfile``, ``dockerfile``, ``shell``
    (also commands in workflows, services and recipes), ``script``, ``session`` (an environment that tests run in), ``python-version``.
    ``environment`` keeps several environments of one project apart: the folder, plus the group or extra where there is one.
    ``span`` is the requirement itself, without comment. ``dynamic`` says that the version is decided where we can't see (a variable
    that nobody sets, alternatives that PEP 440 can't spell): nothing may be concluded from ``specifier``. ``command`` is the
    same for pins that one command installs, ``""`` outside of commands; ``alone`` where it leaves out what they require.
    Commands with the same ``sequence`` that is not ``""`` run one after the other, and install into the same place.
    ``elsewhere`` says that it may come from another place than the public package index, which may have other releases.
    """

    name: str
    specifier: str
    span: Span
    origin: str
    environment: str = ""
    marker: str = ""
    extras: tuple[str, ...] = ()
    url: str = ""
    optional: bool = False
    dynamic: bool = False
    command: str = ""
    alone: bool = False
    elsewhere: bool = False
    sequence: str = ""


@dataclass(frozen=True, slots=True)
class Include:
    """A requirements file that names another one (``-r``, ``-c``): the path as written.

    ``environment`` is that of the pins beside it, and ``elsewhere`` holds for what the file names, as in ``Pin``.
    """

    path: str
    span: Span
    constraint: bool = False
    environment: str = ""
    elsewhere: bool = False
