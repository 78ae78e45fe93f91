"""Makes ``distlint/knowledge/training_arguments.json.gz``: the options that dataclasses of libraries have as fields.

Usage: ``python tools/harvest_training_arguments.py transformers-4.57.6 … trl-1.16.0 …``

The arguments are folders, named after the release, with the files of a wheel (of transformers ``training_args.py``,
``training_args_seq2seq.py`` and ``trainer_utils.py`` will do, of trl those that end in ``config.py`` and ``utils.py``); or, with
``--download FOLDER``, pip fetches them there first, the last patch of each minor release. Nothing is run. What
an annotation makes of an option is what ``hf_argparser.py`` (``_parse_dataclass_field``) makes of it.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from distlint.knowledge.releases import releases  # noqa: E402

OUTPUT = ROOT / "distlint" / "knowledge" / "training_arguments.json.gz"

PACKAGES = {"transformers": (4, 20), "trl": (0, 7)}
"""The packages and the oldest release that is read."""

FILES = re.compile(
    r"transformers/(training_args|training_args_seq2seq|trainer_utils)\.py|trl/.*config\.py|trl/((scripts|commands|trainer)/)?\w*utils\.py"
)
ROOTS = {
    "transformers": ("TrainingArguments", "Seq2SeqTrainingArguments"),
    "trl": ("ScriptArguments", "SFTScriptArguments", "DPOScriptArguments", "RewardScriptArguments", "ModelConfig"),
}
"""The classes that are read in any case; of trl also those that derive from ``TrainingArguments``."""

BASE = "transformers.TrainingArguments"
_PLAIN = {"int": "int", "float": "float", "str": "str"}


@dataclass
class Release:
    """The classes of one release, by name: each with its field statements, bases and enumerations."""

    package: str
    version: str
    classes: dict[str, list[ast.ClassDef]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    @property
    def order(self) -> tuple[int, ...]:
        """What releases are sorted by."""
        return tuple(int(part) for part in self.version.split("."))


def main() -> int:
    """Reads what is named on the command line and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("releases", nargs="*", type=Path)
    parser.add_argument("--download", type=Path, help="let pip fetch the releases into this folder")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    folders = [*arguments.releases]
    if arguments.download:
        folders += [folder for package in PACKAGES for folder in _download(package, arguments.download)]
    found = sorted((_read(folder) for folder in folders), key=lambda one: (one.package, one.order))
    enumerations = {
        one.order: {name: members for name in one.classes if (members := _members(one, name))}
        for one in found
        if one.package == "transformers"
    }
    table: dict[str, Any] = {}
    for package in PACKAGES:
        mine = [one for one in found if one.package == package]
        for name in sorted({name for one in mine for name in _wanted(one)}):
            table[f"{package}.{name}"] = _table(mine, name, enumerations)
    text = json.dumps(table, separators=(",", ":"), sort_keys=True)
    arguments.output.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(table)} classes, {len(found)} releases, {len(text)} characters")
    return 0


def _download(package: str, target: Path) -> Iterator[Path]:
    """The last patch of each minor release, fetched by pip from the index that it is configured for."""
    last: dict[tuple[int, ...], str] = {}
    for version in releases(package):
        order = tuple(int(part) for part in version.split(".")) if re.fullmatch(r"\d+(\.\d+)+", version) else ()
        if order >= PACKAGES[package]:
            last[order[:2]] = version
    for version in last.values():
        folder = target / f"{package}-{version}"
        if not folder.exists():
            with tempfile.TemporaryDirectory() as cache:
                asked = ["--only-binary", ":all:", "--ignore-requires-python", "--dest", cache, f"{package}=={version}"]
                subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *asked], check=True)
                with zipfile.ZipFile(next(Path(cache).glob("*.whl"))) as wheel:
                    wheel.extractall(folder, [name for name in wheel.namelist() if FILES.fullmatch(name)])
        yield folder


def _read(folder: Path) -> Release:
    package, _, version = folder.name.rpartition("-")
    release = Release(package, version)
    for file in sorted(folder.rglob("*.py")):
        if not FILES.fullmatch(file.relative_to(folder).as_posix()):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                release.classes.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ImportFrom):
                release.aliases.update({one.asname: one.name for one in node.names if one.asname})
    return release


def _wanted(release: Release) -> set[str]:
    """The classes of a release that are read."""
    found = {name for name in ROOTS[release.package] if name in release.classes}
    if release.package == "trl":
        found |= {name for name in release.classes if BASE in _bases(release, name) and not name.startswith("_")}
    return found


def _bases(release: Release, name: str, seen: frozenset[str] = frozenset()) -> list[str]:
    """The names of the classes that a class derives from, nearest first, those of transformers in full."""
    out: list[str] = []
    for node in release.classes.get(name, ()):
        for base in node.bases:
            last = ast.unparse(base).rpartition(".")[2]
            last = release.aliases.get(last, last)
            if last in ("TrainingArguments", "Seq2SeqTrainingArguments") and release.package != "transformers":
                out.append(f"transformers.{last}")
            elif last not in seen | {name}:
                out += [last, *_bases(release, last, seen | {name})]
    return list(dict.fromkeys(out))


def _members(release: Release, name: str) -> list[Any]:
    """The values of an enumeration; nothing for another class."""
    node = release.classes[name][-1]
    if not any(ast.unparse(base).rpartition(".")[2] in ("Enum", "ExplicitEnum", "StrEnum") for base in node.bases):
        return []
    return [one.value.value for one in node.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)]


def _table(releases: list[Release], name: str, enumerations: dict[tuple[int, ...], dict[str, list[Any]]]) -> Any:
    """Releases, entries and spans of a class; the name ``""`` says of which classes outside it has the fields too."""
    entries: list[dict[str, Any]] = []
    spans: dict[str, list[list[Any]]] = {}
    for index, release in enumerate(releases):
        if name not in _wanted(release):
            continue
        known = enumerations.get(release.order, {}) if release.package == "transformers" else {}
        bases = _bases(release, name)
        found = {"": {"bases": [base for base in bases if base.startswith("transformers.")]}}
        for owner in reversed([name, *bases]):
            for node in release.classes.get(owner, ()):
                found.update(_fields(node, known))
        for key, entry in found.items():
            number = entries.index(entry) if entry in entries else len(entries)
            if number == len(entries):
                entries.append(entry)
            runs = spans.setdefault(key, [])
            if runs and runs[-1][1] == index and runs[-1][2] == number:
                runs[-1][1] = index + 1
            else:
                runs.append([index, index + 1, number])
    for runs in spans.values():
        if runs[-1][1] == len(releases):
            runs[-1][1] = None
    # Fields come and go with minor releases; the last patch stands for all of its minor release.
    minors = [".".join(release.version.split(".")[:2]) for release in releases]
    labels = [[f"{release.package} {minor}", minor] for release, minor in zip(releases, minors, strict=True)]
    return {"releases": labels, "entries": entries, "names": spans}


def _fields(node: ast.ClassDef, enumerations: dict[str, list[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in node.body:
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        given = {}
        if isinstance(one.value, ast.Call):
            given = {keyword.arg: keyword.value for keyword in one.value.keywords}
        if _constant(given.get("init")) is False or "ClassVar" in ast.unparse(one.annotation):
            continue
        default = given.get("default", given.get("default_factory")) if given else one.value
        entry = _kind(one.annotation, enumerations, switch=_constant(default) is not None)
        metadata = given.get("metadata")
        if isinstance(metadata, ast.Dict):
            pairs = zip(metadata.keys, metadata.values, strict=True)
            for name, value in ((_constant(key), value) for key, value in pairs):
                if name == "choices" and isinstance(value, (ast.List, ast.Tuple)):
                    entry["choices"] = list(ast.literal_eval(value))
                elif name == "nargs":
                    entry["arity"] = ast.literal_eval(value)
                elif name == "aliases":
                    aliases = ast.literal_eval(value)
                    entry["aliases"] = [aliases] if isinstance(aliases, str) else list(aliases)
        if entry.get("kind") == "bool" and _constant(default) is True:
            entry["negated"] = True
        if default is None and entry.get("kind") != "bool":
            entry["required"] = True
        yield one.target.id, entry


def _constant(node: ast.expr | None) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _kind(annotation: ast.expr, enumerations: dict[str, list[Any]], *, switch: bool) -> dict[str, Any]:
    """How the words of an option are read: one of the union's parts decides, by the parser's own order.

    What is either ``bool`` or ``None`` does without a word only where a default is set (``switch``).
    """
    parts = _parts(annotation)
    names = [ast.unparse(part) for part in parts]
    if len(parts) > 1:
        if "None" not in names:
            chosen = parts[0] if names[1] == "str" else parts[1]
        elif "bool" in names:
            return {"kind": "bool" if len(parts) == 2 else "?", "arity": "?" if switch else 1}
        else:
            chosen = parts[0] if names[1] == "None" else parts[1]
    else:
        chosen = parts[0]
    text = ast.unparse(chosen)
    if text == "bool":
        return {"kind": "bool", "arity": "?"}
    if re.match(r"(typing\.)?(list|List)\b", text):
        inner = ast.unparse(chosen.slice) if isinstance(chosen, ast.Subscript) else ""
        return {"kind": _PLAIN.get(inner, "?"), "arity": "+"}
    if text.startswith("Literal[") and isinstance(chosen, ast.Subscript):
        items = chosen.slice.elts if isinstance(chosen.slice, ast.Tuple) else [chosen.slice]
        return {"kind": "str", "choices": [_constant(item) for item in items]}
    if text in enumerations:
        return {"kind": "str", "choices": enumerations[text]}
    return {"kind": _PLAIN.get(text, "?")}


def _parts(annotation: ast.expr) -> list[ast.expr]:
    """The members of a union, in order and each once; ``None`` last for ``Optional``."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _parts(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp):
        return _unique([*_parts(annotation.left), *_parts(annotation.right)])
    if isinstance(annotation, ast.Subscript):
        name = ast.unparse(annotation.value).rpartition(".")[2]
        inner = list(annotation.slice.elts) if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if name == "Optional":
            return _unique([*_parts(inner[0]), ast.Constant(None)])
        if name == "Union":
            return _unique([part for one in inner for part in _parts(one)])
    return [annotation]


def _unique(parts: list[ast.expr]) -> list[ast.expr]:
    return list({ast.unparse(part): part for part in parts}.values())


if __name__ == "__main__":
    sys.exit(main())
