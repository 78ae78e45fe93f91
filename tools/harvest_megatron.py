"""Makes ``distlint/knowledge/megatron_arguments.json.gz`` from the sources of Megatron-LM and what is built on it.

Usage: ``python tools/harvest_megatron.py --date 2026-01-31 --megatron-lm DIR --megatron-deepspeed DIR --gpt-neox DIR
--deepspeed deepspeed-0.19.8/``, where each DIR is a git directory, or a folder with one checkout per revision, named as
in ``RELEASES``. Nothing in them is run. ``tools/oracle/megatron_parsers.py`` compares the table with the real parsers.

The table has three lines: what a flag says in which releases, flavour by flavour; the keys of GPT-NeoX's files; and
what the configuration objects and functions of ``megatron.core`` take.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from argument_reader import MISSING, PARSER, Added, Checkout, Definition, Evaluator, Field, Member, Unknown, Walker
from release_spans import combined

OUTPUT = Path(__file__).parent.parent / "distlint" / "knowledge" / "megatron_arguments.json.gz"

CORE = (
    "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0", "0.11.0", "0.12.0", "0.12.1", "0.12.2", "0.12.3",
    "0.13.0", "0.13.1", "0.14.0", "0.15.0", "0.15.1", "0.15.2", "0.15.3", "0.16.0", "0.16.1", "0.17.0", "0.17.1",
    "0.18.0", "0.18.2", "0.19.0",
)  # fmt: skip

RELEASES: dict[str, list[tuple[str, str, str]]] = {
    # revision, name in messages, and the version of megatron-core that it stands at (those without one stand before)
    "megatron-lm": [
        ("v2.5", "v2.5", "0.0.1"),
        ("v2.6", "v2.6", "0.0.2"),
        ("23.04", "23.04", "0.0.3"),
        ("23.06", "23.06", "0.0.4"),
        *((f"core_v{version}", f"core {version}", version) for version in CORE),
    ],
    # the repository has no releases of its own: what stood there on a day; older copies are of Megatron-LM 1
    "megatron-deepspeed": [
        ("v1.0", "v1.0", "1.0"),
        ("8c119d80", "October 2021", "2021.10.10"),
        ("5e8d5784", "December 2022", "2022.12.12"),
        ("5d40884c", "July 2023", "2023.7.21"),
        ("a8a684d9", "November 2023", "2023.11.3"),
        ("7d23e336", "July 2024", "2024.7.18"),
        ("676a482c", "December 2024", "2024.12.4"),
    ],
    # tag v2.0 itself is no valid Python (deepspeed_args.py); this is the state a week later
    "neox": [
        ("71df4d50", "v1.0", "1.0"),
        ("6534f19e", "v2.0", "2.0"),
        ("4bc66703", "May 2024", "2024.5.5"),
        ("ea7aefd8", "May 2026", "2026.5.20"),
    ],
}

CALLS = {
    "megatron.core.ModelParallelConfig": ("megatron.core.model_parallel_config", "ModelParallelConfig"),
    "megatron.core.transformer.TransformerConfig": (
        "megatron.core.transformer.transformer_config",
        "TransformerConfig",
    ),
    "megatron.core.transformer.MLATransformerConfig": (
        "megatron.core.transformer.transformer_config",
        "MLATransformerConfig",
    ),
    "megatron.core.optimizer.OptimizerConfig": ("megatron.core.optimizer.optimizer_config", "OptimizerConfig"),
    "megatron.core.distributed.DistributedDataParallelConfig": (
        "megatron.core.distributed.distributed_data_parallel_config",
        "DistributedDataParallelConfig",
    ),
    "megatron.core.parallel_state.initialize_model_parallel": (
        "megatron.core.parallel_state",
        "initialize_model_parallel",
    ),
}

FORMS = {
    # functions that read a word, by what they read: a number or a pattern of digits; whole numbers with commas
    "moe_freq_type": "frequency",
    "no_rope_freq_type": "frequency",
    "la_freq_type": "frequency",
    "tuple_type": "integers",
}
SIGNALS = """
SIGABRT SIGALRM SIGBUS SIGCHLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGKILL SIGPIPE SIGPROF SIGPWR SIGQUIT SIGRTMAX
SIGRTMIN SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM
SIGWINCH SIGXCPU SIGXFSZ
"""
"""``signal.Signals`` on Linux, which is no class of the checkout."""

ACTIONS = {"store_true": "true", "store_false": "false", "argparse.BooleanOptionalAction": "boolean"}

NATURAL: dict[str, Any] = {"true": False, "false": True}
"""The defaults that switches have by themselves."""

Table = dict[str, dict[str, Any]]


def main() -> int:
    """Reads the sources that are named on the command line and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--date", required=True, help="the day of harvesting, which the table records")
    parser.add_argument("--megatron-lm", type=Path, required=True)
    parser.add_argument("--megatron-deepspeed", type=Path, required=True)
    parser.add_argument("--gpt-neox", type=Path, required=True)
    parser.add_argument("--deepspeed", type=Path, required=True, help="the folder of a DeepSpeed source distribution")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    outside = launcher_flags(arguments.deepspeed)
    lm, deepspeed, neox, calls = [], [], [], []
    for checkout in _checkouts(arguments.megatron_lm, "megatron-lm"):
        lm.append(read_flags(checkout, {}))
        calls.append(read_calls(checkout))
    for checkout in _checkouts(arguments.megatron_deepspeed, "megatron-deepspeed"):
        deepspeed.append(read_flags(checkout, outside))
    for checkout in _checkouts(arguments.gpt_neox, "neox"):
        neox.append(read_neox(checkout))
    sections = {
        "flags": {
            "harvested": arguments.date,
            "megatron-lm": combined(lm, _labels("megatron-lm")),
            "megatron-deepspeed": combined(deepspeed, _labels("megatron-deepspeed")),
            "names": canonical_names([*deepspeed, *lm]),
        },
        "neox": combined(neox, _labels("neox")),
        "calls": combined(calls, _labels("megatron-lm")),
    }
    # a line for each, because most runs need only one of them
    lines = [
        json.dumps(section, separators=(",", ":"), sort_keys=True, allow_nan=False) for section in sections.values()
    ]
    text = "\n".join(lines)
    # no time stamp and no name in the header, so that the same table gives the same bytes
    packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    arguments.output.write_bytes(packed)
    print(f"{len(text)} bytes, {len(packed)} packed")
    return 0


def _checkouts(source: Path, flavour: str) -> Iterator[Checkout]:
    """The folder ``megatron`` of each revision, out of git or as it lies there."""
    for revision, _, _ in RELEASES[flavour]:
        if (source / revision).is_dir():
            yield Checkout(source / revision)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            command = ["git", f"--git-dir={source}", "archive", "--format=tar", revision, "megatron"]
            packed = subprocess.run(command, check=True, capture_output=True).stdout
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(scratch, filter="data")
            yield Checkout(Path(scratch))


# Flags ---------------------------------------------------------------------------------------------------------------


def read_flags(checkout: Checkout, outside: dict[str, list[Added]]) -> Table:
    """Flag → what it says, for everything that ``parse_args`` of a checkout adds to its parser."""
    module = checkout.module("megatron.training.arguments") or checkout.module("megatron.arguments")
    function = checkout.lookup(module, "parse_args") if module else None
    if not isinstance(function, Definition):
        raise SystemExit(f"{checkout.root}: parse_args is not where it was")
    walker = Walker(checkout)
    walker.walk(function, [None])
    added = [*walker.added, *_further(checkout)]
    for name in walker.outside:
        added = [*added, *outside.get(name, [])]
        if name not in outside and name != "extra_args_provider":
            raise SystemExit(f"{checkout.root}: {name} is handed the parser")
    return flag_table(checkout, added)


def _further(checkout: Checkout) -> list[Added]:
    """Options that the entry scripts add where a package is installed (``extra_args_provider=add_modelopt_args``)."""
    module = checkout.module("megatron.post_training.arguments")
    function = checkout.lookup(module, "add_modelopt_args") if module else None
    if not isinstance(function, Definition):
        return []
    walker = Walker(checkout)
    walker.walk(function, [PARSER])
    return [replace(one, perhaps=True) for one in walker.added]


def launcher_flags(folder: Path) -> dict[str, list[Added]]:
    """What ``deepspeed.add_config_arguments`` adds."""
    checkout = Checkout(folder)
    module = checkout.needed("deepspeed")
    walker = Walker(checkout)
    walker.walk(checkout.lookup(module, "add_config_arguments"), [PARSER])
    return {"deepspeed.add_config_arguments": walker.added}


def flag_table(checkout: Checkout, added: list[Added]) -> Table:
    """What each flag says. Where several share a destination, the first one's default holds, as in ``argparse``."""
    table: Table = {}
    defaults: dict[str, dict[str, Any]] = {}
    for one in added:
        entry, default = _entry(checkout, one)
        defaults.setdefault(entry["dest"], default)
        flags = list(one.flags)
        if entry["action"] == "boolean":
            flags += [f"--no-{flag[2:]}" for flag in one.flags if flag.startswith("--")]
        if len(flags) > 1:
            entry["flags"] = flags
        for flag in flags:
            if flag in table:
                raise SystemExit(f"{checkout.root}: {flag} is added twice")
            table[flag] = {**entry, "off": True} if flag not in one.flags else entry
    return {flag: _short(flag, {**entry, **defaults[entry["dest"]]}) for flag, entry in table.items()}


def _short(flag: str, entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without what goes without saying: the destination of the flag's own name, plain actions."""
    usual = {"dest": own_name(flag), "action": "store", "type": "str", "default": NATURAL.get(entry["action"], MISSING)}
    return {name: value for name, value in entry.items() if name not in usual or usual[name] != value}


def own_name(flag: str) -> str:
    """The destination that a flag has where none is given."""
    return flag.lstrip("-").replace("-", "_")


def _entry(checkout: Checkout, one: Added) -> tuple[dict[str, Any], dict[str, Any]]:
    given = dict(one.keywords)
    action = given.pop("action", "store")
    action = action.text if isinstance(action, Unknown) else action
    action = ACTIONS.get(action, action)
    longest = next((flag for flag in one.flags if flag.startswith("--")), one.flags[0])
    entry: dict[str, Any] = {"dest": given.pop("dest", own_name(longest)), "action": action}
    kind = given.pop("type", None)
    choices = given.pop("choices", None)
    if action == "store":
        entry.update(_type(checkout, kind))
        if choices is not None and not isinstance(choices, Unknown):
            entry["choices"] = [_plain(choice) for choice in choices]
    elif action not in ("true", "false", "boolean"):
        raise SystemExit(f"{one.flags}: {action} is not understood")
    unset = action in NATURAL and given.get("default", MISSING) is None
    default = given.pop("default", NATURAL.get(action))
    if (nargs := given.pop("nargs", None)) is not None:
        entry["nargs"] = nargs
    if given.pop("required", False):
        entry["required"] = True
    if one.perhaps:
        entry["perhaps"] = True
    if "const" in given:
        entry["const"] = given.pop("const")
    if given:
        raise SystemExit(f"{one.flags}: {given} is not understood")
    return entry, {"default": None} if unset else _default(default)


def _default(value: Any) -> dict[str, Any]:
    plain = _plain(value)
    if isinstance(plain, Unknown):
        return {"computed": True}
    return {} if plain is None else {"default": plain}


def _plain(value: Any) -> Any:
    """A value as JSON holds it: of a member of an enumeration its name."""
    if isinstance(value, Member):
        return value.name
    if isinstance(value, (list, tuple)):
        plain = [_plain(item) for item in value]
        return Unknown("items") if any(isinstance(item, Unknown) for item in plain) else plain
    if value is None or isinstance(value, (bool, int, float, str, dict)):
        return value
    return Unknown(str(value))


def _type(checkout: Checkout, kind: Any) -> dict[str, Any]:
    if kind is None:
        return {"type": "str"}
    if isinstance(kind, type):
        return {"type": kind.__name__}
    if isinstance(kind, Unknown) and kind.text == "signal.Signals":
        return {"type": "word", "choices": SIGNALS.split()}
    if isinstance(kind, Definition):
        if kind.name in FORMS:
            return {"type": FORMS[kind.name]}
        if words := _words(checkout, kind):
            return {"type": "word", "choices": words}
    return {"type": "any"}


def _words(checkout: Checkout, kind: Definition) -> list[str]:
    """The words that a reader of an enumeration takes: its members, and the strings that the text tests for."""
    if checkout.is_enum(kind):
        return [member.name for member in checkout.members(kind)]
    names: list[str] = []
    others: list[str] = []
    for node in ast.walk(kind.node):
        if isinstance(node, ast.Subscript):
            owner = Evaluator(checkout).evaluate(node.value, {}, kind.module)
            if isinstance(owner, Definition) and checkout.is_enum(owner):
                names += [member.name for member in checkout.members(owner)]
        elif isinstance(node, ast.Compare):
            strings = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
            others += [str(part.value) for part in strings]
    return [*names, *sorted(set(others))] if names else []


def canonical_names(tables: list[Table]) -> dict[str, str]:
    """Flag → the name under which rules know its setting: its destination in the newest release that has it.

    Left out where that is the flag's own name.
    """
    names: dict[str, str] = {}
    for table in tables:
        names.update({flag: entry.get("dest", own_name(flag)) for flag, entry in table.items()})
    return {flag: name for flag, name in names.items() if name != own_name(flag)}


# GPT-NeoX ------------------------------------------------------------------------------------------------------------


def read_neox(checkout: Checkout) -> Table:
    """Key → what the dataclasses of GPT-NeoX say of it."""
    module = checkout.needed("megatron.neox_arguments.arguments")
    owner = checkout.lookup(module, "NeoXArgs")
    derived = _assigned(owner)
    table: Table = {}
    for base in checkout.lookup(module, "BASE_CLASSES"):
        for one in checkout.fields(base):
            entry: dict[str, Any] = {**annotated(checkout, one.module, one.annotation), **_default(one.default)}
            if one.name in derived:
                entry["derived"] = True
            table[one.name] = entry
    return table


def _assigned(owner: Definition) -> set[str]:
    """Keys that ``calculate_derived`` may write before the types are looked at."""
    found = set()
    for node in ast.walk(owner.node):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("self.update_value", "self.update_values"):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found.add(part.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                    found.add(target.attr)
    return found


def annotated(checkout: Checkout, module: Any, node: ast.expr) -> dict[str, Any]:
    """The names of the types that an annotation allows, and its choices."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    if isinstance(node, ast.BinOp):
        return _united([annotated(checkout, module, part) for part in (node.left, node.right)])
    if isinstance(node, ast.Subscript):
        name = ast.unparse(node.value).rpartition(".")[2]
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            return {"types": [], "choices": [Evaluator(checkout).evaluate(word, {}, module) for word in inner]}
        if name == "Union":
            return _united([annotated(checkout, module, part) for part in inner])
        if name == "Optional":
            return _united([annotated(checkout, module, inner[0]), {"types": ["None"]}])
        return {"types": [name.lower() if name in ("List", "Dict", "Tuple") else name], "generic": True}
    name = ast.unparse(node).rpartition(".")[2]
    if name in ("List", "Dict", "Tuple"):
        return {"types": [name.lower()], "generic": True}
    return {"types": [name]}


def _united(parts: list[dict[str, Any]]) -> dict[str, Any]:
    united: dict[str, Any] = {"types": sorted({name for part in parts for name in part["types"]}), "union": True}
    choices = [word for part in parts for word in part.get("choices", [])]
    return {**united, "choices": choices} if choices else united


# Calls ---------------------------------------------------------------------------------------------------------------


def read_calls(checkout: Checkout) -> Table:
    """``callable#parameter`` → what is known of it; ``callable#`` says how many may be given without a name."""
    table: Table = {}
    for name, (module_name, attribute) in CALLS.items():
        module = checkout.module(module_name)
        found = checkout.lookup(module, attribute) if module else None
        if not isinstance(found, Definition):
            continue
        if isinstance(found.node, ast.ClassDef):
            fields = [one for one in checkout.fields(found) if one.init]
            table[f"{name}#"] = {"positional": len(fields)}
            table.update({f"{name}#{one.name}": _parameter(one) for one in fields})
        elif isinstance(found.node, ast.FunctionDef):
            spec = found.node.args
            table[f"{name}#"] = {"positional": len(spec.args)}
            for at, argument in enumerate((*spec.args, *spec.kwonlyargs)):
                table[f"{name}#{argument.arg}"] = {"at": at} if at < len(spec.args) else {}
    return table


def _labels(flavour: str) -> list[tuple[str, str]]:
    """How messages call the releases of a flavour, and their orders."""
    return [(name, order) for _, name, order in RELEASES[flavour]]


def _parameter(one: Field) -> dict[str, Any]:
    return {"needed": True} if one.default is MISSING else _default(one.default)


if __name__ == "__main__":
    sys.exit(main())
