"""A class or function of a library that none of its releases has, where the module around it is known as a whole.

The rules about released names need a release that has the name: what a C extension or a trick at run time defines is in no table.
A package that is written in Python alone can be asked for more. What is spelled as a class counts, and what the file calls: plain
variables are not harvested, and modules of benchmarks and tests are left out.

Parameters: ``packages`` (written in Python alone).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from distlint.checks.registry import CheckContext, check
from distlint.checks.released_faults import Faults, faults_of
from distlint.checks.released_versions import Allowed
from distlint.knowledge.api import Found
from distlint.link.library_mentions import Mention
from distlint.link.library_uses import is_below
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence

_CLASS = re.compile(r"[A-Z]+[a-z]\w*")
_FAILURES = frozenset({"ImportError", "AttributeError"})


@check("unheard-names")
def unheard_names(context: CheckContext) -> Iterator[Finding]:
    """A finding for the first use of each such name in a file."""
    faults = faults_of(context.project)
    seen: set[tuple[str, str]] = set()
    for mention in faults.mentions.all():
        package = faults.packages.get(mention.name.partition(".")[0])
        if package is None or package not in context.parameters["packages"]:
            continue
        unheard = _unheard(faults, mention, package)
        if not unheard or (mention.file, unheard) in seen:
            continue
        seen.add((mention.file, unheard))
        allowed = faults.releases.of(package, mention.file)
        assert allowed is not None  # noqa: S101 - tested by _unheard
        related = [Related(allowed.pin, f"`{package}` is required here")] if allowed.pin is not None else []
        confidence = Confidence.CERTAIN if allowed.is_pinned else Confidence.LIKELY
        message = f"`{unheard}` is in no release of {package}"
        yield context.finding(message, mention.span, related=related, confidence=confidence, symbol=unheard)


def unheard_in(allowed: Allowed, find: Callable[[str], Found]) -> str:
    """The prefix of a name that is unheard of in the newest release that is allowed, and so in all; nothing where there is none."""
    found = {find(version).unheard for version in allowed.candidates[0].stands} if allowed.candidates else set()
    return found.pop() if len(found) == 1 else ""


def _unheard(faults: Faults, mention: Mention, package: str) -> str:
    """The prefix of a name that no release has; nothing where one may have it, or the place is not surely reached."""
    allowed = faults.releases.of(package, mention.file)
    if allowed is None or mention.kind == "call" or mention.member or mention.declared:
        return ""
    if len(mention.meanings) != 1 or mention.meanings[0].star:
        return ""
    unheard = unheard_in(allowed, lambda version: faults.find(mention, version))
    if not unheard or not (_CLASS.fullmatch(unheard.rpartition(".")[2]) or _is_called(faults, mention.file, unheard)):
        return ""
    if mention.kind == "name" and is_below(mention.meanings[0].root, unheard):
        return ""  # the import of it fails already, or waits for that
    newest = allowed.candidates[0].version
    return unheard if faults.reached(mention, package, newest, _FAILURES) else ""


def _is_called(faults: Faults, file: str, name: str) -> bool:
    """Whether a file calls a name, as one calls functions that are not private."""
    return not name.rpartition(".")[2].startswith("_") and any(
        one.kind == "call" and len(one.meanings) == 1 and one.name == name for one in faults.mentions.of(file)
    )
