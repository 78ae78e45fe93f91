"""What the settings decide about rules: which are on, how severe they are, and where they are silenced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from distlint.judge.rulebook import Rulebook
from distlint.judge.selection import SelectionError, Selector, most_specific, resolve_selector, select_codes
from distlint.model.document import Node, find
from distlint.model.facts import FileFacts
from distlint.model.finding import Finding
from distlint.model.span import Span
from distlint.settings import FilePattern, IgnoreEntry, Settings, SettingsError


class _Silence(NamedTuple):
    """A selector with the files, and the place in them, where it is off."""

    selector: Selector
    fits: Callable[[str], bool]
    keys: tuple[str, ...]
    reason: str


class Policy:
    """The settings, resolved against the rules that there are."""

    def __init__(self, settings: Settings, rulebook: Rulebook) -> None:
        """Raises ``SettingsError`` for a selector that fits no rule, with the place where it stands."""
        self.settings = settings
        self.heads = rulebook.heads
        self.redirects: dict[str, str] = {}
        self.enabled = self._enabled()
        self._severities = {self._selector(word, "severity", word): level for word, level in settings.severity.items()}
        self._silences = (*self._per_file(), *map(self._entry, settings.ignores))

    def _selector(self, word: str, key: str, name: str = "", where: str = "") -> Selector:
        try:
            selector = resolve_selector(word, self.heads)
        except SelectionError as error:
            raise SettingsError(where or self.settings.origin(key, name) or f"`{key}`", str(error)) from None
        if selector.replaced:
            self.redirects[word] = selector.replaced
        return selector

    def _enabled(self) -> frozenset[str]:
        for layer in self.settings.layers:
            keys = (("select", layer.select), ("extend-select", layer.extend_select), ("ignore", layer.ignore))
            for key, word in ((key, word) for key, words in keys for word in words):
                self._selector(word, key)
        return select_codes(self.heads, self.settings.layers)

    def _per_file(self) -> Iterable[_Silence]:
        for pattern, words in self.settings.per_file_ignores:
            fits = _matcher(pattern)
            for word in words:
                selector = self._selector(word, "per-file-ignores", pattern.pattern)
                yield _Silence(selector, fits, (), f"per-file-ignores of `{pattern.pattern}`")

    def _entry(self, entry: IgnoreEntry) -> _Silence:
        selector = self._selector(entry.rule, "ignore", where=entry.where)
        if self.settings.require_reason and not entry.reason.strip():
            raise SettingsError(entry.where, "`ignore` needs a reason here, because `require-reason` is set")
        keys = tuple(part for part in entry.path.replace("/", ".").split(".") if part)
        return _Silence(selector, _matcher(entry.file), keys, entry.reason or f"ignored in {entry.where}")

    def graded(self, finding: Finding) -> Finding:
        """The finding with the severity that the settings give to its rule."""
        selector = most_specific(finding.code, self._severities)
        return finding if selector is None else replace(finding, severity=self._severities[selector])

    def silenced(self, finding: Finding, facts: Mapping[str, FileFacts]) -> str | None:
        """Why the settings silence a finding; ``None`` where they don't."""
        for silence in self._silences:
            if finding.code in silence.selector.codes and _meets(silence, finding, facts):
                return silence.reason
        return None


def _meets(silence: _Silence, finding: Finding, facts: Mapping[str, FileFacts]) -> bool:
    """Whether any place of a finding is where a silence applies; ``per-file-ignores`` look at the primary one only."""
    spans = [finding.span, *(related.span for related in finding.related)] if silence.keys else [finding.span]
    for span in spans:
        if silence.fits(span.file) and (not silence.keys or _at_keys(silence.keys, span, finding, facts)):
            return True
    return False


def _at_keys(keys: tuple[str, ...], span: Span, finding: Finding, facts: Mapping[str, FileFacts]) -> bool:
    path = ".".join(keys)
    if span == finding.span and (finding.symbol == path or finding.symbol.startswith(f"{path}.")):
        return True
    file = facts.get(span.file)
    return any(_within(document.root, keys, span) for document in (file.documents if file is not None else ()))


def _within(root: Node, keys: tuple[str, ...], span: Span) -> bool:
    entry, _ = find(root, keys)
    return entry is not None and entry.key_span.start <= span.start and span.end <= entry.node.span.end


def _matcher(pattern: FilePattern) -> Callable[[str], bool]:
    """Whether a path relative to the root fits a pattern, by the rules of ``.gitignore``."""
    if not pattern.pattern:
        return lambda _: True
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([pattern.pattern])
    prefix = f"{pattern.folder}/" if pattern.folder else ""

    def fits(path: str) -> bool:
        return path.startswith(prefix) and spec.match_file(path[len(prefix) :])

    return fits
