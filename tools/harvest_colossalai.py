"""Makes ``distlint/knowledge/colossalai_models.json.gz``: which models Colossal-AI can part, by release, and what it asks of them.

Usage: ``python tools/harvest_colossalai.py colossalai-0.3.1 colossalai-0.3.2 … colossalai-0.5.0``

The arguments are folders with unpacked releases whose names end in the release's number. Nothing is run: the list of policies is read
from ``shardformer/policies/auto_policy.py``, and what a policy asserts from the module of the policy.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from release_spans import combined

OUTPUT = Path(__file__).parent.parent / "distlint" / "knowledge" / "colossalai_models.json.gz"

ASSERTED = {
    "number of attention heads must be divisible": "heads",
    "number of key_value heads must be divisible": "kv_heads",
    "all_to_all sequence parallelism is not supported": "no_all_to_all",
    "does not support tensor parallelism": "no_tensor",
    "does not support sequence parallelism": "no_sequence",
    "does not support ZBV": "no_zbv",
}
"""What the message of an assertion stands for in the table."""


def main() -> int:
    """Reads the releases that are named on the command line and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("releases", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    folders = sorted(arguments.releases, key=lambda folder: tuple(map(int, _release(folder).split("."))))
    tables = [dict(models(folder / "colossalai" / "shardformer" / "policies")) for folder in folders]
    labels = [(f"colossalai {_release(folder)}", _release(folder)) for folder in folders]
    text = json.dumps(combined(tables, labels), separators=(",", ":"), sort_keys=True)
    arguments.output.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{len({name for table in tables for name in table})} models, {arguments.output.stat().st_size} bytes")
    return 0


def _release(folder: Path) -> str:
    return folder.name.rpartition("-")[2]


def models(policies: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The classes of models that have a policy, by dotted name; what the policy's module asserts, and whether it can cut into stages."""
    found = [path for path in (policies / "auto_policy.py", policies / "autopolicy.py") if path.is_file()]
    for key, value in _entries(found[0]) if found else ():
        words = {word.arg: word.value.value for word in value.keywords if isinstance(word.value, ast.Constant)}
        tree = ast.parse((policies / f"{words['file_name']}.py").read_text(encoding="utf-8"))
        entry: dict[str, Any] = {"policy": words["file_name"]}
        asserted = sorted(_asserted(tree) | ({"labels"} if _parts_labels(tree, str(words["class_name"])) else set()))
        if asserted:
            entry["asserts"] = asserted
        if _has_stages(tree, str(words["class_name"])):
            entry["pipeline"] = True
        yield key, entry


def _entries(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        # another list beside it is for inference
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id
        if named == "_POLICY_LIST" and isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Call):
                    yield str(key.value), value


def _asserted(tree: ast.Module) -> set[str]:
    texts = [ast.unparse(node.msg) for node in ast.walk(tree) if isinstance(node, ast.Assert) and node.msg is not None]
    return {word for message, word in ASSERTED.items() if any(message in text for text in texts)}


def _parts_labels(tree: ast.Module, name: str) -> bool:
    """Whether a policy parts the layer whose outputs are the labels, so that their number has to divide."""
    for node in (node for owner in tree.body if getattr(owner, "name", "") == name for node in ast.walk(owner)):
        if isinstance(node, ast.Call):
            words = {word.arg: word.value for word in node.keywords}
            suffix, target = words.get("suffix"), words.get("target_module")
            is_head = isinstance(suffix, ast.Constant) and suffix.value in ("score", "classifier")
            if is_head and target is not None and ast.unparse(target).endswith("Linear1D_Col"):
                return True
    return False


def _has_stages(tree: ast.Module, name: str) -> bool:
    """Whether a policy, or one of the same module that it derives from, says which layers a stage holds."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    while name in classes:
        for member in classes[name].body:
            if isinstance(member, ast.FunctionDef) and member.name == "get_held_layers":
                return not any(isinstance(part, ast.Raise) for part in member.body)
        name = next((base.id for base in classes[name].bases if isinstance(base, ast.Name)), "")
    return False


if __name__ == "__main__":
    sys.exit(main())
