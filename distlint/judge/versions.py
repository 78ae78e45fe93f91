"""Versions as rules ask for them: in the newest release that the pins allow, or in another one that they allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from distlint.model.subject import Versions


def satisfies(versions: Versions, package: str, specifier: str, assumed: str = "") -> bool | None:
    """Whether the version in use satisfies a specifier; ``None`` where no version is known.

    Where the pins allow both versions that do and versions that don't, ``assumed`` decides, or else the newest one
    allowed, which is what a fresh install picks; but nothing does where the provider says that it's undecided.
    """
    if not assumed:
        answer = versions.test(package, specifier)
        undecided = getattr(versions, "is_undecided", None)
        if answer is not None or (undecided is not None and undecided(package)):
            return answer
    return _contains(specifier, assumed or versions.newest(package))


def is_pinned(versions: Versions, package: str) -> bool:
    """Whether the project says anything about the version of a package."""
    asked = getattr(versions, "is_pinned", None)
    return bool(asked(package)) if asked is not None else versions.span(package) is not None


def is_required(versions: Versions, package: str) -> bool:
    """Whether a requirement of the project names a package: one that it holds a copy of is none."""
    asked = getattr(versions, "is_required", None)
    return bool(asked(package)) if asked is not None else is_pinned(versions, package)


def is_specifier(text: str) -> bool:
    """Whether a text is a PEP 440 specifier set."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def other_versions(versions: Versions, claims: Mapping[str, str]) -> dict[str, str] | None:
    """Versions that the pins allow and for which all claims (package: specifier) hold, the newest such of each package.

    ``None`` where there is none, or where the claims hold for the newest ones already. A package without a pin is
    installed in its newest release, so its older ones don't count.
    """
    if all(satisfies(versions, package, specifier) for package, specifier in claims.items()):
        return None
    chosen: dict[str, str] = {}
    for package, specifier in claims.items():
        answer = versions.test(package, specifier)
        if answer is None and is_pinned(versions, package):
            version = _newest_within(_allowed(versions, package), specifier)
            if not version:
                return None
            chosen[package] = version
        elif not answer:
            return None
    return chosen


def _allowed(versions: Versions, package: str) -> Iterable[str]:
    """The versions that the pins allow, newest first, as far as the provider lists them; else the two ends."""
    listed = getattr(versions, "allowed", None)
    if listed is not None:
        return reversed(tuple(str(version) for version in listed(package)))
    oldest = getattr(versions, "oldest", None)
    return (versions.newest(package), oldest(package) if oldest is not None else "")


def _newest_within(candidates: Iterable[str], specifier: str) -> str:
    return next((version for version in candidates if _contains(specifier, version)), "")


def _contains(specifier: str, version: str) -> bool | None:
    if not version:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None
