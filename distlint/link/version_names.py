"""What the name of a helper, or of a flag, asks for, where its content is not known.

``is_torch_ge_2_0`` and ``is_torch_version(">=", v)`` say it all; ``is_apex_available`` asks for something else;
``supports_compile`` may ask for a version.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from distlint.knowledge.distributions import other_subjects, spoken_names
from distlint.knowledge.releases import packages

_OPERATORS = (
    (">=", "version_greater_or_equal|greater_or_equal|greater_equal|higher_or_equal|higher_equal|at_least|atleast"),
    (">=", "version_at_least|version_ge|version_gte|min_version|minimum_version|newer_or_equal|version_min|geq|gte|ge"),
    ("<=", "version_less_or_equal|less_or_equal|less_equal|lower_or_equal|lower_equal|version_le|version_lte|at_most"),
    ("<=", "max_version|maximum_version|leq|lte|le"),
    (">", "version_greater|version_gt|greater|higher|newer|above|gt"),
    ("<", "version_less|version_lower|version_lt|less|lower|older|below|lt"),
)
_TRIGGER = re.compile(
    r"version|(?:^|_)ver(?:_|$)|avail|support|compat|install|legacy|greater|less_than|newer|older"
    r"|(?:^|_)(?:has|have|ge|gt|le|lt|geq|gte|lte|can|with|is_old|is_new|old|new)(?:_|$)|\D\d+_\d+"
)
_SUBJECT_WORDS = frozenset({"is", "has", "have", "get", "check", "use", "using", "with", "can", "the", "a", "require"})
_ABOUT = re.compile(
    r"_*(?:is_|has_|have_|use_|require_|check_|get_|with_|supports?_)*(.+?)"
    r"(?:_(?:is_)?(?:available|avail|installed|found|enabled|exists?|imported|loaded|supported|version|min_version))*"
)
_DIGITS = r"(?:_?v?(\d{1,2}(?:[_.]\d{1,2}){0,2}))?"


class Asked(NamedTuple):
    """An operator and a version that a name stands for, each ``""`` where the arguments say it."""

    operator: str
    version: str


class NameReader:
    """Reads names for one package."""

    def __init__(self, package: str) -> None:
        self._own = spoken_names(package)
        self._package = package
        word = "|".join(re.escape(name) for name in sorted(self._own, key=len, reverse=True))
        self._asking = re.compile(rf"_*(?:is_)?(?:{word})_version")
        self._available = re.compile(rf"_*(?:is|has|have)_(?:{word})(?:_(?:available|installed))?|(?:{word})_available")
        self._comparing = [
            (
                operator,
                re.compile(
                    rf"_*(?:is_|has_|require_)?(?:{word})_?(?:version_?|v_?)?(?:{words})(?:_than|_version)*{_DIGITS}"
                ),
            )
            for operator, words in _OPERATORS
        ]
        self._word = re.compile(rf"(?:^|[_\d])(?:py)?(?:{word})(?:[_\d]|$)")
        self._kinds: dict[str, str] = {}
        self._asked: dict[str, Asked | None] = {}

    def asks(self, name: str) -> Asked | None:
        """What the name says of a version of the package; ``None`` if it says nothing of that kind."""
        if name not in self._asked:
            self._asked[name] = self._read(name.lower())
        return self._asked[name]

    def _read(self, name: str) -> Asked | None:
        if self._asking.fullmatch(name):
            return Asked("", "")
        for operator, pattern in self._comparing:
            match = pattern.fullmatch(name)
            if match is not None:
                return Asked(operator, (match.group(1) or "").replace("_", "."))
        return None

    def is_availability(self, name: str) -> bool:
        """Whether the name asks whether the package is installed at all."""
        return self._available.fullmatch(name.lower()) is not None

    def is_probe(self, name: str) -> bool:
        """Whether a name may ask for a version or a feature of the package."""
        if name not in self._kinds:
            self._kinds[name] = "probe" if self._may_ask(name) else "other"
        return self._kinds[name] == "probe"

    def _may_ask(self, name: str) -> bool:
        text = _snake(name)
        if text == "type_checking":
            return True
        if not _TRIGGER.search(text):
            return False
        return bool(self._word.search(text)) or not _is_foreign(text, self._package)


@cache
def _is_foreign(text: str, package: str) -> bool:
    """Whether a name in lower case is about something other than the package."""
    match = _ABOUT.fullmatch(text)
    subject = (match.group(1) if match is not None else text).strip("_")
    known = _foreign_subjects(package)
    words = subject.split("_")
    return any(
        "_".join(words[i:j]) in known for i in range(len(words)) for j in range(i + 1, min(i + 4, len(words)) + 1)
    )


@cache
def _foreign_subjects(package: str) -> frozenset[str]:
    names = {spoken for other in packages() if other != package for spoken in spoken_names(other)}
    return frozenset((names | other_subjects()) - set(spoken_names(package)) - _SUBJECT_WORDS)


@cache
def _snake(name: str) -> str:
    """A name in lower case with its words apart: ``hasNewApi`` and ``HAS_NEW_API`` are the same."""
    if name.isupper() or "_" in name.strip("_"):
        return name.lower()
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
