"""The unpacked releases of packages: their modules, and which names a module has.

A name is ``absent`` only if nothing in the module could give it: modules that make names at run time, or take all
names of a module that can't be read, are searched for the word, and have it perhaps if it occurs.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache, lru_cache
from pathlib import Path

from needs_reader import Program, read_program
from packaging.version import InvalidVersion, Version

PRESENT, ABSENT, UNKNOWN = "present", "absent", "unknown"
_SKIPPED = {"tests", "test", "testing", "docs", "examples", "benchmarks", "linux", "build", "scripts", "bin"}
_PROGRAMS: dict[str, Program | None] = {}


def program_of(text: str) -> Program | None:
    """The program of a source text, kept by its content; ``None`` for one that can't be parsed."""
    key = hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    if key not in _PROGRAMS:
        try:
            _PROGRAMS[key] = read_program(text)
        except (SyntaxError, ValueError, RecursionError):
            _PROGRAMS[key] = None
    return _PROGRAMS[key]


class Source:
    """One module of a release: its program, its text with that of its stub, and whether it is a package."""

    def __init__(
        self, release: SourceRelease, name: str, path: Path | None, stub: Path | None, folder: Path | None
    ) -> None:
        self.release = release
        self.name = name
        self.is_package = folder is not None
        self.folder = folder
        self.path = path
        self.stub = stub
        self._text: str | None = None
        self._program: Program | None = None
        self._stub_program: Program | None = None

    @property
    def text(self) -> str:
        """The source, or the stub's where there is none."""
        if self._text is None:
            self._text = "".join(p.read_text(encoding="utf-8", errors="replace") for p in (self.path, self.stub) if p)
        return self._text

    @property
    def program(self) -> Program | None:
        """What its import executes; ``None`` if it can't be parsed or is not written in Python."""
        if self._program is None and self.path is not None:
            self._program = program_of(self.path.read_text(encoding="utf-8", errors="replace"))
        return self._program

    @property
    def stub_program(self) -> Program | None:
        """What its stub declares."""
        if self._stub_program is None and self.stub is not None:
            self._stub_program = program_of(self.stub.read_text(encoding="utf-8", errors="replace"))
        return self._stub_program

    @property
    def file(self) -> str:
        """Its path inside the release."""
        return str((self.path or self.stub or self.folder or Path()).relative_to(self.release.root))

    def absolute(self, module: str, level: int) -> str:
        """The module that a relative import in this one names."""
        if not level:
            return module
        parts = self.name.split(".")
        parts = parts[: len(parts) - level + (1 if self.is_package else 0)]
        return ".".join([*parts, *([module] if module else [])])


class SourceRelease:
    """One unpacked release of a package."""

    def __init__(self, package: str, version: str, folder: Path) -> None:
        self.package = package
        self.version = version
        self.root = folder / "src" if (folder / "src").is_dir() else folder
        self._sources: dict[str, Source | None] = {}
        self._states: dict[tuple[str, str], str] = {}
        self._under: set[tuple[str, str]] = set()

    def source(self, name: str) -> Source | None:
        """The module with a dotted name; ``None`` if the release has no file for it."""
        if name not in self._sources:
            self._sources[name] = self._find(name)
        return self._sources[name]

    def _find(self, name: str) -> Source | None:
        base = self.root.joinpath(*name.split("."))
        folder = base if base.is_dir() else None
        if folder is not None:
            path, stub = folder / "__init__.py", folder / "__init__.pyi"
        else:
            path, stub = base.with_name(base.name + ".py"), base.with_name(base.name + ".pyi")
        if folder is None and not path.is_file() and not stub.is_file():
            return None
        return Source(self, name, path if path.is_file() else None, stub if stub.is_file() else None, folder)

    def modules(self, top: str) -> list[str]:
        """All modules below a top module that users may import, tests left out."""
        base = self.root / top
        found = []
        for path in sorted(base.rglob("*.py")):
            parts = path.relative_to(self.root).with_suffix("").parts
            if not _SKIPPED & set(parts):
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        return found

    # --- names ---------------------------------------------------------------------------------------------------

    def has(self, module: str, name: str) -> str:
        """Whether ``from module import name`` finds it; ``name`` empty: whether there is the module."""
        key = (module, name)
        if key not in self._states:
            self._states[key] = UNKNOWN
            self._states[key] = self._has(module, name)
        return self._states[key]

    def _has(self, module: str, name: str) -> str:
        source = self.source(module)
        if source is None:
            return self._without_file(module)
        if not name or name == "*":
            return PRESENT
        state = self._in_module(source, name)
        if state == PRESENT or self.source(f"{module}.{name}") is not None:
            return PRESENT
        return state

    def _without_file(self, module: str) -> str:
        above, _, last = module.rpartition(".")
        if not above:
            return ABSENT
        parent = self.source(above)
        if parent is None:
            return self._without_file(above)
        # an extension has no file here; the names of one may be declared beside it
        private = any(part.startswith("_") and part[1:2].isupper() for part in module.split("."))
        if private or (_word(last).search(parent.text) and (parent.program is None or parent.program.lazy)):
            return UNKNOWN
        return ABSENT

    def _in_module(self, source: Source, name: str) -> str:
        if source.path is None and source.stub is None:
            # a folder without a file: only the modules in it can be had
            return ABSENT
        if name.startswith("__") or source.path is None:
            return UNKNOWN
        occurs = _word(name).search(source.text)
        if occurs and _binding(name).search(source.text):
            return PRESENT
        if occurs:
            # parsing is slow, so only what the text leaves open is parsed
            programs = [program for program in (source.program, source.stub_program) if program is not None]
            if any(name in program.bound for program in programs):
                return PRESENT
        for dots, module in _STAR.findall(source.text):
            if "dummy_" in module or "dummies_" in module:
                # stand-ins for what can't be imported are no API
                continue
            state = self._in_star(source.absolute(module, len(dots)), name)
            if state != ABSENT:
                return state
        if not occurs:
            return ABSENT
        parsed = source.path is None or source.program is not None
        lazy = source.program is None or source.program.lazy or "globals()" in source.text
        return UNKNOWN if lazy or not parsed else ABSENT

    def _in_star(self, target: str, name: str) -> str:
        source = self.source(target)
        if source is None:
            return UNKNOWN
        if source.folder is not None and not self._occurs(source.folder, name):
            return ABSENT
        if name.startswith("_") and f'"{name}"' not in source.text and f"'{name}'" not in source.text:
            # a star takes a private name only if `__all__` has it
            return ABSENT
        if source.path is None:
            # the stub of an extension tells neither all nor since when
            return UNKNOWN
        return self.has(target, name)

    def _occurs(self, folder: Path, name: str) -> bool:
        return name in _words_below(str(folder))

    def reaches(self, dotted: str) -> str:
        """Whether an attribute chain, as far as it goes through modules, finds its names; the prefix that is absent."""
        parts = dotted.split(".")
        module = parts[0]
        for position, name in enumerate(parts[1:], 1):
            state = self.has(module, name)
            if state == ABSENT:
                return ".".join(parts[: position + 1])
            if state == UNKNOWN or self.source(f"{module}.{name}") is None or self._is_bound(module, name):
                return ""
            module = f"{module}.{name}"
        return ""

    def _is_bound(self, module: str, name: str) -> bool:
        source = self.source(module)
        bindings = source.program.bound.get(name, []) if source is not None and source.program is not None else []
        # `from . import name` binds the module itself
        return any(not (binding.name == name and not binding.module) for binding in bindings)


@cache
def _words_below(folder: str) -> frozenset[str]:
    """All words in the files of a folder."""
    found: set[str] = set()
    for suffix in ("*.py", "*.pyi"):
        for path in Path(folder).rglob(suffix):
            found.update(map(sys.intern, _WORDS.findall(path.read_text(encoding="utf-8", errors="replace"))))
    return frozenset(found)


_WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_STAR = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?\*", re.MULTILINE)


@lru_cache(maxsize=4096)
def _binding(name: str) -> re.Pattern[str]:
    """What binds a name at module level for sure: a definition or an assignment that is not indented."""
    return re.compile(
        rf"^(?:(?:async )?def|class)[ \t]+{re.escape(name)}\b|^{re.escape(name)}[ \t]*(?::[^=\n]+)?=[^=]", re.MULTILINE
    )


@lru_cache(maxsize=4096)
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")


def unpacked(root: Path, package: str) -> list[SourceRelease]:
    """The complete releases of a package below a folder, oldest first."""
    found = []
    for folder in root.glob(f"{package}-*"):
        text = folder.name[len(package) + 1 :]
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if (folder / "release.json").is_file():
            found.append((version, SourceRelease(package, text, folder)))
    return [release for _, release in sorted(found, key=lambda pair: pair[0])]
