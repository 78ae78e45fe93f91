"""Which releases of other packages the import of a release fails with.

For every release and every module that a user may import, what the import executes is followed through the release's
own modules. What it asks of other packages is looked up in all their releases. Only what is missing somewhere is kept.

    python tools/harvest/needs.py UNPACKED distlint/knowledge/needs.zip [PACKAGE...]
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from needs_conditions import ALWAYS, Condition, Judge, both
from needs_reader import Asked
from needs_sources import Source, SourceRelease
from needs_world import World

sys.setrecursionlimit(10_000)


@dataclass(frozen=True)
class Failure:
    """A name that an import asks of another package, and the releases (bits) in which it is missing."""

    package: str
    symbol: str
    kind: str
    mask: int
    given: tuple[tuple[str, int], ...]
    place: str
    first: int
    """The first release that is known to have it."""


@dataclass(frozen=True)
class Step:
    """One thing that a module's import does: it imports another module of the release, or asks for something."""

    condition: Condition
    excused: frozenset[str]
    edge: str = ""
    failure: Failure | None = None


class Imports:
    """What the imports of a release's modules do, module by module."""

    def __init__(self, world: World, release: SourceRelease) -> None:
        self.world = world
        self.release = release
        self._tops = world.tops(release.package)
        self._steps: dict[str, list[Step]] = {}
        self.reached: dict[str, set[tuple[str, str]]] = {}
        """What each module asks of other packages: package and dotted name."""

    def steps(self, module: str) -> list[Step]:
        """The steps of one module, without those of the packages above it."""
        if module not in self._steps:
            self._steps[module] = []
            source = self.release.source(module)
            if source is not None and source.program is not None:
                self._steps[module] = self._read(source)
        return self._steps[module]

    def _read(self, source: Source) -> list[Step]:
        program = source.program
        if program is None:
            return []
        judge = Judge(self.world, source)
        found: list[Step] = []
        seen: set[object] = set()
        for asked in program.asked:
            excused = frozenset[str]().union(*(program.caught[number] for number in asked.attempts))
            condition: Condition = ALWAYS
            steps = (
                self._attribute(source, asked, excused)
                if asked.kind == "attribute"
                else self._import(source, asked, excused)
            )
            steps = [
                step
                for step in steps
                if (step.edge, step.failure and step.failure.symbol, step.excused, asked.guards) not in seen
            ]
            if not steps:
                continue
            if asked.guards:
                condition = judge.guards(asked.guards)
            if condition is False or condition is None:
                continue
            for step in steps:
                seen.add((step.edge, step.failure and step.failure.symbol, step.excused, asked.guards))
                found.append(Step(condition, excused, step.edge, step.failure))
        return found

    def _import(self, source: Source, asked: Asked, excused: frozenset[str]) -> list[Step]:
        module = source.absolute(asked.module, asked.level)
        if asked.level or self._is_own(module):
            return [Step(ALWAYS, excused, target) for target in self._internal(source, module, asked)]
        package = self.world.package_of(module)
        if package is None:
            return []
        name = asked.name if asked.kind == "from" else ""
        if package != "python" and not asked.attempts:
            dotted = f"{module}.{name}" if name else module
            self.reached.setdefault(source.name, set()).add((package, dotted))
        failure = self._need(source, asked, package, asked.kind, module, name, excused)
        return [Step(ALWAYS, excused, failure=failure)] if failure else []

    def _is_own(self, module: str) -> bool:
        """Whether a module belongs to the release itself."""
        return module.partition(".")[0] in self._tops

    def _internal(self, source: Source, module: str, asked: Asked) -> list[str]:
        """The modules that an import of the release's own brings, those above them first."""
        parts = module.split(".")
        found = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
        found = [name for name in found if name != source.name and self.release.source(name) is not None]
        if asked.kind != "from" or asked.name == "*":
            return found
        target = self.release.source(module)
        program = target.program if target is not None else None
        if target is None or program is None:
            return found
        if program.lazy:
            for binding in program.bound.get(asked.name, ())[:1]:
                inner = target.absolute(binding.module, binding.level)
                if binding.level or (binding.module and self._is_own(inner)):
                    return [*found, inner]
        if asked.name not in program.bound and self.release.source(f"{module}.{asked.name}") is not None:
            found.append(f"{module}.{asked.name}")
        return found

    def _attribute(self, source: Source, asked: Asked, excused: frozenset[str]) -> list[Step]:
        root, _, rest = asked.module.partition(".")
        target = self._meaning(source, root)
        package = self.world.package_of(target) if target else None
        if package is None or package == self.release.package:
            return []
        failure = self._need(source, asked, package, "attribute", f"{target}.{rest}", "", excused)
        return [Step(ALWAYS, excused, failure=failure)] if failure else []

    def _meaning(self, source: Source, root: str, depth: int = 0) -> str:
        """The dotted path that a module-level name stands for, if imports agree; ``""`` if not or if it is own."""
        program = source.program
        bindings = program.bound.get(root, []) if program is not None else []
        meanings: set[str] = set()
        for binding in bindings:
            if not binding.module and not binding.level:
                return ""
            module = source.absolute(binding.module, binding.level)
            if binding.level or self._is_own(module):
                inner = self.release.source(module)
                if inner is None or not binding.name or depth > 4:
                    return ""
                meanings.add(self._meaning(inner, binding.name, depth + 1))
            else:
                meanings.add(f"{module}.{binding.name}" if binding.name else module)
        return meanings.pop() if len(meanings) == 1 else ""

    def _need(
        self, source: Source, asked: Asked, package: str, kind: str, module: str, name: str, excused: frozenset[str]
    ) -> Failure | None:
        if package == self.release.package:
            return None
        lacking = self.world.lacks(package, kind, module, name)
        if lacking and kind != "attribute" and name and "module" in excused and "name" not in excused:
            # only missing modules are caught, so a missing name in a module that is there is fatal
            lacking &= ~self.world.lacks(package, "import", module, "")
        elif lacking and ({"attribute"} if kind == "attribute" else {"name"} if name else {"module"}) & excused:
            return None
        if not lacking:
            return None
        symbol = f"{module}.{name}" if name and name != "*" else module
        first = self.world.first_with(package, kind, module, name)
        return Failure(package, symbol, kind, lacking, (), f"{source.file}:{asked.line}", first)

    def follow(self, module: str, loaded: Iterable[str] = ()) -> tuple[list[Failure], set[str]]:
        """What the import of a module runs into, in its order, and all modules that it surely brings.

        Modules that are ``loaded`` were imported before.
        """
        found: list[Failure] = []
        seen: dict[str, list[tuple[Condition, frozenset[str]]]] = {name: [(ALWAYS, frozenset())] for name in loaded}

        def run(name: str, condition: Condition, excused: frozenset[str]) -> None:
            before = seen.setdefault(name, [])
            if len(before) >= MOST_WAYS or any(
                covered <= excused and _is_weaker(old, condition) for old, covered in before
            ):
                return
            before.append((condition, excused))
            for step in self.steps(name):
                here = both(condition, step.condition) if condition and step.condition else condition or step.condition
                if here is False:
                    continue
                if step.edge:
                    run(step.edge, here, excused | step.excused)
                elif step.failure is not None and not _is_excused(step.failure, excused):
                    failure = _under(step.failure, here)
                    if failure is not None:
                        found.append(failure)

        parts = module.split(".")
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            if self.release.source(name) is not None:
                run(name, ALWAYS, frozenset())
        sure = {name for name, ways in seen.items() if (ALWAYS, frozenset()) in ways}
        return found, sure


def _is_weaker(one: Condition, other: Condition) -> bool:
    """Whether the first holds wherever the second does."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    return all(package in other and not other[package] & ~mask for package, mask in one.items())


def _is_excused(failure: Failure, excused: frozenset[str]) -> bool:
    """Whether a try block around the import of the module catches the failure."""
    if failure.kind == "attribute":
        return "attribute" in excused
    return "name" in excused or ("module" in excused and failure.kind == "import")


def _under(failure: Failure, condition: Condition) -> Failure | None:
    if not isinstance(condition, dict) or not condition:
        return failure
    given = dict(condition)
    mask = failure.mask & given.pop(failure.package, failure.mask)
    if not mask:
        return None
    return replace(failure, mask=mask, given=tuple(sorted(given.items())))


def failures_of(imports: Imports, module: str, loaded: Iterable[str] = ()) -> tuple[list[Failure], set[str]]:
    """What the import of a module fails with, each release of another package by the first thing that it lacks."""
    every, sure = imports.follow(module, loaded)
    found: list[Failure] = []
    covered: dict[tuple[str, tuple[tuple[str, int], ...]], int] = {}
    for failure in every:
        before = covered.get((failure.package, ()), 0) | covered.get((failure.package, failure.given), 0)
        if failure.mask & ~before:
            found.append(failure)
            covered[failure.package, failure.given] = before | failure.mask
    return found, sure


def spans(mask: int) -> list[list[int]]:
    """The runs of bits in a mask."""
    found: list[list[int]] = []
    position = 0
    while mask >> position:
        if mask >> position & 1:
            if found and found[-1][1] == position - 1:
                found[-1][1] = position
            else:
                found.append([position, position])
        position += 1
    return found


def entries_of(release: SourceRelease, world: World) -> Iterator[str]:
    """The modules that users import: the package itself first, model definitions and private modules left out."""
    for top in world.tops(release.package):
        yield ROOTS.get(release.package, top)
        for module in release.modules(top):
            parts = module.split(".")
            if parts[1:2] != ["models"] and len(parts) < 4 and not any(part.startswith("_") for part in parts):
                yield module


def harvest(world: World, package: str) -> dict[str, object]:
    """The table of one package: what its releases need that some releases of other packages lack."""
    releases = world.releases(package)
    rows: dict[tuple[object, ...], dict[str, int]] = {}
    places: dict[tuple[object, ...], str] = {}
    for position, release in enumerate(releases):
        imports = Imports(world, release)
        print(f"{package} {release.version}", file=sys.stderr, flush=True)
        root = ROOTS.get(package, world.tops(package)[0])
        always, loaded = failures_of(imports, root)
        covered: dict[str, int] = {}
        for failure in always:
            if not failure.given:
                covered[failure.package] = covered.get(failure.package, 0) | failure.mask
        for entry in dict.fromkeys(entries_of(release, world)):
            for failure in always if entry == root else failures_of(imports, entry, loaded)[0]:
                if entry != root:
                    if entry in loaded or not failure.mask & ~covered.get(failure.package, 0):
                        continue
                file, _, _ = failure.place.rpartition(":")
                key = (failure.package, failure.symbol, failure.mask, failure.given, file, failure.first)
                places.setdefault(key, failure.place)
                entries = rows.setdefault(key, {})
                entry_name = "" if entry == root else entry
                entries[entry_name] = entries.get(entry_name, 0) | 1 << position
        for entries in rows.values():
            _name_lazily(world, release, position, entries)
    return {
        "releases": [release.version for release in releases],
        "rows": [_row(world, key, places[key], entries) for key, entries in rows.items()],
    }


def _name_lazily(world: World, release: SourceRelease, position: int, entries: dict[str, int]) -> None:
    """Adds the names that a lazy package takes from modules which fail."""
    bit = 1 << position
    failing = {module for module, mask in entries.items() if mask & bit}
    for top in world.tops(release.package) if failing else ():
        source = release.source(top)
        program = source.program if source is not None else None
        if source is None or program is None or not program.lazy or top in failing:
            continue
        for name, bindings in program.bound.items():
            binding = bindings[0]
            if binding.level and binding.name and source.absolute(binding.module, binding.level) in failing:
                entries[f"{top}.{name}"] = entries.get(f"{top}.{name}", 0) | bit


def _row(world: World, key: tuple[object, ...], place: str, entries: dict[str, int]) -> list[object]:
    package, symbol, mask, given, _, first = key
    others = [[name, _versions(world, name, bits)] for name, bits in given]  # type: ignore[attr-defined]
    shortened = {
        entry: bits
        for entry, bits in entries.items()
        if not any(other and entry.startswith(other + ".") and not bits & ~entries[other] for other in entries)
    }
    byspan: dict[int, list[str]] = {}
    for entry, bits in shortened.items():
        byspan.setdefault(bits, []).append(entry)
    return [
        package,
        symbol,
        place,
        _versions(world, str(package), int(str(mask))),
        others,
        world.releases(str(package))[int(str(first))].version,
        [[spans(bits), sorted(names)] for bits, names in byspan.items()],
    ]


def _versions(world: World, package: str, mask: int) -> list[list[str]]:
    """The spans of releases as versions; an end that is the end of all releases known is left open."""
    versions = [release.version for release in world.releases(package)]
    return [
        [versions[first] if first else "", versions[last] if last < len(versions) - 1 else ""]
        for first, last in spans(mask)
    ]


NUMPY = ("1.23.5", "1.24.0", "2.0.0")
"""Releases of NumPy between which names went."""

MOST_WAYS = 6
"""Under how many conditions a module is followed at most."""

ROOTS = {"megatron-core": "megatron.core"}
PACKAGES = (
    "torch accelerate deepspeed colossalai megatron-core transformers peft trl lightning pytorch-lightning bitsandbytes "
    "flash-attn diffusers sentence-transformers datasets torchmetrics tokenizers huggingface-hub pydantic setuptools"
)


def write_archive(target: Path, tables: Mapping[str, str]) -> None:
    """Writes the tables, by package, beside those of other packages that the file has already; the bytes depend on nothing else."""
    members = dict(tables)
    if target.is_file():
        with zipfile.ZipFile(target) as old:
            members = {**{name: old.read(name).decode() for name in old.namelist()}, **members}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name), members[name], zipfile.ZIP_DEFLATED, 9)


def main() -> None:
    """Harvests the packages that are named, all by default."""
    root, target, *wanted = sys.argv[1:]
    world = World(Path(root), PACKAGES.split(), NUMPY)
    for package in wanted or world.packages:
        if package in ("python", "numpy", "torch"):
            continue
        table = json.dumps(harvest(world, package), separators=(",", ":")) + "\n"
        write_archive(Path(target), {f"{package}.json": table})
        print(package, len(table), flush=True)


if __name__ == "__main__":
    main()
