"""All rules: distlint's own, those in folders that the settings name, and those of installed packages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import distlint
from distlint.judge.errors import RuleFileError
from distlint.judge.ruleindex import FORMAT, RuleHead, RuleIndex, read_index, write_index
from distlint.judge.vocabulary import EVERYWHERE
from distlint.model.rule import Rule

INDEX_NAME = "_index.jsonl"
ENTRY_POINT_GROUP = "distlint.rules"
MAX_RULE_FILES = 5000
MAX_DEPTH = 4


class Rulebook:
    """The rules that can be judged, by code and by name. Only heads are in memory until a rule is asked for."""

    def __init__(self, indexes: Sequence[RuleIndex]) -> None:
        self._indexes = tuple(indexes)
        self.heads: Mapping[str, RuleHead] = {
            head.code: head for head in sorted(head for index in indexes for head in index.heads)
        }
        self.codes_by_name: Mapping[str, str] = {head.name: head.code for head in self.heads.values()}
        self._loaded: dict[str, dict[str, Rule]] = {}

    @classmethod
    def load(cls, folders: Iterable[Path] = (), *, installed: bool = False, cache: bool = True) -> Rulebook:
        """The built-in rules, those in ``folders``, and with ``installed`` those that installed packages announce.

        Raises ``RuleFileError`` for a file that is wrong, and for a code or name that two files claim.
        """
        own = rules_folder()
        indexes = [_built_in(own, cache=cache)]
        announced = _announced_folders() if installed else []
        indexes += [_index(folder, built_in=False, cache=cache) for folder in (*folders, *announced)]
        _check_unique(indexes)
        return cls(indexes)

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> Rulebook:
        """A rulebook of just these rules."""
        index = read_index(write_index(rules))
        return cls([index] if index is not None else [])

    def rule(self, code_or_name: str) -> Rule | None:
        """The rule with a code or a name; a code that was replaced gives the rule as it was. ``None`` if unknown."""
        head = self.heads.get(self.codes_by_name.get(code_or_name, code_or_name))
        return self._of_framework(head.framework)[head.code] if head is not None else None

    def for_frameworks(self, names: Iterable[str]) -> tuple[Rule, ...]:
        """The rules that can apply where these frameworks occur, by code."""
        there = EVERYWHERE | frozenset(names)
        heads = [head for head in self.heads.values() if there.issuperset(head.requires or (head.framework,))]
        return tuple(self._of_framework(head.framework)[head.code] for head in heads)

    def all(self) -> tuple[Rule, ...]:
        """Every rule, by code."""
        return tuple(self._of_framework(head.framework)[head.code] for head in self.heads.values())

    def _of_framework(self, framework: str) -> dict[str, Rule]:
        rules = self._loaded.get(framework)
        if rules is None:
            rules = {rule.code: rule for index in self._indexes for rule in index.rules(framework)}
            self._loaded[framework] = rules
        return rules


def rules_folder() -> Path:
    """Where distlint's own rules lie: inside the installed package, or beside it in a checkout."""
    package = Path(distlint.__file__).parent
    inside = package / "rules"
    return inside if inside.is_dir() else package.parent / "rules"


def compile_folder(folder: Path, *, built_in: bool, key: str = "") -> str:
    """The text of the index over all rule files in a folder. Raises ``RuleFileError``."""
    return write_index(parse_folder(folder, built_in=built_in), key)


def parse_folder(folder: Path, *, built_in: bool) -> list[Rule]:
    """The rules in a folder, in the order of their paths. Raises ``RuleFileError``."""
    from distlint.judge.rulefile import parse_rule

    rules: list[Rule] = []
    seen: dict[str, str] = {}
    letters: dict[str, str] = {}
    for path in sorted(Path(entry.path) for entry in _rule_files(folder)):
        source = path.relative_to(folder).as_posix()
        try:
            rule = parse_rule(path.read_text(encoding="utf-8"), source, built_in=built_in)
        except (OSError, UnicodeDecodeError) as error:
            raise RuleFileError(source, 1, f"cannot be read: {error}") from None
        for word in (rule.code, rule.name):
            if word in seen:
                raise RuleFileError(source, 1, f"`{word}` is also the rule in {seen[word]}")
            seen[word] = source
        if letters.setdefault(rule.code[:-3], rule.framework) != rule.framework:
            raise RuleFileError(source, 1, f"the letters of `{rule.code}` stand for {letters[rule.code[:-3]]}")
        rules.append(rule)
    return rules


def _rule_files(folder: Path, depth: int = 0) -> Iterator[os.DirEntry[str]]:
    if depth > MAX_DEPTH:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _rule_files(Path(entry.path), depth + 1)
            elif entry.name.endswith(".toml") and entry.is_file(follow_symlinks=False):
                yield entry


def _built_in(folder: Path, *, cache: bool) -> RuleIndex:
    """The index that the wheel brings along, or one made from the files of a checkout."""
    try:
        index = read_index((folder / INDEX_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        index = None
    return index if index is not None else _index(folder, built_in=True, cache=cache)


def _index(folder: Path, *, built_in: bool, cache: bool) -> RuleIndex:
    """The index over a folder, from the cache where the files are the same as when it was written."""
    if not folder.is_dir():
        raise RuleFileError(str(folder), 1, "is no folder of rule files")
    key = _key(folder, built_in=built_in)
    place = _cache_place(folder) if cache else None
    if place is not None:
        try:
            index = read_index(place.read_text(encoding="utf-8"), key)
        except (OSError, UnicodeDecodeError):
            index = None
        if index is not None:
            return index
    text = compile_folder(folder, built_in=built_in, key=key)
    if place is not None:
        _write_quietly(place, text)
    index = read_index(text, key)
    assert index is not None, "an index that was just written can be read"  # noqa: S101
    return index


def _key(folder: Path, *, built_in: bool) -> str:
    """What an index over a folder was made from: names, times and sizes of the files, and the code that reads them."""
    from hashlib import sha256

    files = sorted((entry.path, entry.stat(follow_symlinks=False)) for entry in _rule_files(folder))
    if len(files) > MAX_RULE_FILES:
        raise RuleFileError(str(folder), 1, f"holds more than {MAX_RULE_FILES} rule files")
    version = getattr(distlint, "__version__", "")
    digest = sha256(f"{FORMAT} {version} {built_in}".encode())
    for path, status in files:
        digest.update(f"\n{path} {status.st_mtime_ns} {status.st_size}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _cache_place(folder: Path) -> Path | None:
    from hashlib import sha256

    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    name = sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return root / "distlint" / f"rules-{name}.jsonl"


def _write_quietly(place: Path, text: str) -> None:
    """Writes a cache file as a whole or not at all: a cache that can't be written costs time, nothing else."""
    import tempfile

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)
    except OSError:
        return
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(place)
    except OSError:
        Path(name).unlink(missing_ok=True)


def _announced_folders() -> list[Path]:
    """The folders of packages that announce rules; the packages are located, never imported."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    folders: list[Path] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        top, _, rest = point.module.partition(".")
        spec = find_spec(top)
        for location in (spec.submodule_search_locations or ()) if spec is not None else ():
            folder = Path(location, *rest.split(".")) if rest else Path(location)
            if folder.is_dir():
                folders.append(folder)
    return folders


def _check_unique(indexes: Sequence[RuleIndex]) -> None:
    """Raises ``RuleFileError`` where a rule from elsewhere claims a code or name that is taken, or built-in letters."""
    own, others = indexes[0], indexes[1:]
    reserved = {head.code[:-3] for head in own.heads}
    seen = {word for head in own.heads for word in (head.code, head.name)}
    for index in others:
        for head in index.heads:
            taken = [word for word in (head.code, head.name) if word in seen]
            if taken:
                raise RuleFileError(_source(index, head), 1, f"`{taken[0]}` is the code or name of another rule")
            if head.code[:-3] in reserved:
                letters = head.code[:-3]
                raise RuleFileError(_source(index, head), 1, f"the letters {letters} are kept for built-in rules")
            seen.update((head.code, head.name))


def _source(index: RuleIndex, head: RuleHead) -> str:
    return next(rule.source for rule in index.rules(head.framework) if rule.code == head.code)
