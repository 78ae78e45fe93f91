"""Makes the rows of one release from what its files say: imports are resolved, star imports expanded, decorators judged."""

from __future__ import annotations

import builtins
import sys
from functools import cache
from importlib import import_module
from typing import Any

from intervals import is_private_member
from packages import COVERED_TOPS, Package
from reading import Definition, FileFacts
from signatures import with_rest
from sources import SourceFile

Rows = dict[str, dict[str, Any]]

TRANSPARENT = frozenset(
    """
    _defaults_from_env_vars     _beta _copy_docstring_and_deprecators _disable_dynamo abstractclassmethod abstractmethod
    add_code_sample_docstrings add_end_docstrings add_start_docstrings add_start_docstrings_to_model_forward
    allow_in_graph asynccontextmanager auto_docstring beartype cache classmethod compatibility contextmanager
    dataclass_transform deprecate_inference_params deprecated disable disallow_in_graph enable_grad
    experimental_api experimental_cls experimental_func export final ignore implements inference_mode
    instrument_w_nvtx internal_api is_flaky jit_fuser lru_cache no_grad no_type_check nvtx nvtx_decorator
    on_main_process overload override override_to_local_node python_2_unicode_compatible rank_zero_only
    record_function register replace_return_docstrings requires requires_backends runtime_checkable
    set_module skip_init staticmethod torch_required total_ordering typechecked unique unused wrap wraps
    """.split()  # noqa: SIM905
)
"""Last names of decorators that leave the parameters as they are, where the decorator itself is not in the package."""

BARE_BASES = frozenset(
    {
        "builtins:object",
        "abc:ABC",
        "typing:Generic",
        "typing:Protocol",
        "typing_extensions:Protocol",
        "typing_extensions:Generic",
    }
)
PLAIN_METACLASSES = frozenset({"abc:ABCMeta", "enum:EnumMeta", "builtins:type", "enum:EnumType"})

COMMON = frozenset(
    """
    abc argparse ast asyncio collections concurrent contextlib copy csv ctypes dataclasses datetime enum functools gc glob importlib
    inspect io itertools json logging math np numpy operator os pathlib pickle platform random re shutil signal socket string
    subprocess sys tempfile textwrap threading time torch tqdm traceback types typing typing_extensions uuid warnings weakref yaml
    """.split()  # noqa: SIM905
)
"""Imported modules that no package defines something else for; rows for them would say nothing."""

_DEEPEST = 12


class Linker:
    """One release of a package."""

    def __init__(self, package: Package, files: list[SourceFile], facts: dict[str, FileFacts]) -> None:
        self._package = package
        self._code = {one.module: facts[one.digest] for one in files if not one.is_stub}
        self._stubs = {one.module: facts[one.digest] for one in files if one.is_stub}
        self._packages = {one.module for one in files if one.is_package}
        self._bound: dict[str, dict[str, list[tuple[str, Definition]]]] = {}
        self._hard: dict[str, str] = {}
        self._extra: dict[str, dict[str, Definition]] = {}
        self._extra_members: dict[str, Definition] = {}

        self._suffixes = sorted({one for found in self._code.values() for one in found.suffixes})
        self._made = sorted({one.replace("{}", name) for name, found in self._code.items() for one in found.made})

    @property
    def modules(self) -> set[str]:
        """All modules, those that only a stub describes too."""
        return {*self._code, *self._stubs}

    def rows(self) -> Rows:
        """All rows of the release."""
        self._assignments()
        out: Rows = {}
        for module in sorted(self.modules):
            bound = self._names(module)
            parent = module.rpartition(".")[0]
            while parent and parent not in self.modules and parent not in out:
                out[parent] = {"open": "namespace", "hard": True}
                parent = parent.rpartition(".")[0]
            self._module_row(module, bound, out)
            detailed = self._package.detail(module) == "full"
            for name, definitions in bound.items():
                if name.startswith("__") and name != "__version__":
                    continue
                value = self._value(module, name, definitions, detailed)
                if value is None:
                    continue
                if not detailed and module not in self._packages and is_bystander(module, value):
                    if not _is_data(name, value):
                        out[f"{module}:{name}"] = {"k": "n"}
                else:
                    out[f"{module}:{name}"] = value
            if detailed:
                self._members(module, out)
        return {key: value for key, value in out.items() if not is_private_member(key)}

    def _module_row(self, module: str, bound: dict[str, Any], out: Rows) -> None:
        facts = self._code.get(module)
        row: dict[str, Any] = {}
        if facts is None:
            row = {} if module in self._package.complete_stubs else {"open": "stub", "stub": True}
        elif facts.open or module in self._hard:
            row = {"open": facts.open or self._hard[module]}
            if facts.hard or module in self._hard:
                row["hard"] = True
                if facts.extended and module not in self._hard:
                    row["extended"] = True
            else:
                for word in facts.words:
                    if word not in bound and len(word) > 2 and not word.startswith("__"):
                        out[f"{module}:{word}"] = {"k": "t"}
        if facts is not None and module in facts.registered:
            row = {"open": "puts another module in its place", "hard": True}
        if facts is not None and facts.inner:
            row["inner"] = True
        if facts is not None and facts.is_lazy and self._suffixes:
            row["ends"] = self._suffixes
        if module in self._package.tops and self._made:
            row["made"] = self._made
        out[module] = row
        for written in facts.registered if facts else ():
            name = written.replace("{}", module)
            if name.partition(".")[0] in self._package.tops and name not in self.modules:
                out[name] = {"open": "made at run time", "hard": True}

    def _assignments(self) -> None:
        """What modules assign to attributes of other modules and classes."""
        for module, facts in self._code.items():
            for path, definition in facts.assigned.items():
                target, _, name = path.rpartition(".")
                reached = self._target(module, target)
                owner, _, inner = (reached or "").partition(":")
                while inner and f"{owner}.{inner.partition('.')[0]}" in self.modules:
                    head, _, inner = inner.partition(".")
                    owner = f"{owner}.{head}"
                found = {"k": "f", "open": True} if definition["k"] in ("f", "r") else {"k": "v"}
                if owner in self.modules and not inner:
                    self._extra.setdefault(owner, {})[name] = found
                elif owner in self.modules:
                    located = self._locate(reached or "")
                    if located and located[2]["k"] == "c":
                        self._extra_members[f"{located[0]}:{located[1]}.{name}"] = found

    def _names(self, module: str, chain: tuple[str, ...] = ()) -> dict[str, list[tuple[str, Definition]]]:
        """Names of a module to their definitions, each with the module that it stands in."""
        if module in self._bound:
            return self._bound[module]
        bound: dict[str, list[tuple[str, Definition]]] = {}
        facts, stub = self._code.get(module), self._stubs.get(module)
        for one in (facts, stub):
            if one is None:
                continue
            for name, definitions in one.names.items():
                given = [(module, definition) for definition in definitions]
                if one is stub:
                    given = [pair for pair in given if pair[1]["k"] != "m" or pair[1]["n"] is None]
                    old = bound.get(name)
                    if old and not all(definition["k"] == "v" for _, definition in old):
                        continue
                if given:
                    bound[name] = given
            for level, star, tried in one.stars:
                source = self._absolute(module, level, star)
                own = source.partition(".")[0] in self._package.tops or (
                    facts is not None and bool(facts.lazy or facts.siblings)
                )
                if source in self.modules or not (tried and own):
                    self._star(module, source, bound, (*chain, module))
        if facts is not None:
            for submodule, names in facts.lazy.items():
                for name in names:
                    bound.setdefault(name, [(module, {"k": "m", "l": 1, "m": submodule, "n": name})])
            for sibling in self._siblings(module) if facts.siblings else ():
                for name in self._code[sibling].exported or ():
                    bound.setdefault(name, [(module, {"k": "m", "l": 0, "m": sibling, "n": name})])
            for copied in facts.copies:
                self._copy(module, copied, bound, (*chain, module))
        for name, definition in self._extra.get(module, {}).items():
            bound.setdefault(name, [(module, definition)])
        if not chain:
            self._bound[module] = bound
        return bound

    def _siblings(self, module: str) -> list[str]:
        return [one for one in self._code if one.startswith(f"{module}.") and one.count(".") <= module.count(".") + 1]

    def _star(self, module: str, source: str, bound: dict[str, Any], chain: tuple[str, ...]) -> None:
        if source.rpartition(".")[2].startswith("dummy_") or source in chain:
            return
        if source not in self.modules:
            if source.partition(".")[0] in sys.stdlib_module_names:
                for name in _exports(source):
                    bound.setdefault(name, [(module, {"k": "m", "l": 0, "m": source, "n": name})])
            else:
                self._hard[module] = f"star import of {source}"
            return
        names = self._names(source, chain)
        facts = self._code.get(source) or self._stubs[source]
        if source in self._hard or (facts.open and facts.hard):
            self._hard.setdefault(module, f"star import of {source}")
        for name, found in names.items():
            if name in facts.exported if facts.exported is not None else not name.startswith("_"):
                self._imported(bound, name, source, found)
        if facts.exported is None:  # submodules that the source imports from are names of it
            for definitions in facts.names.values():
                for one in definitions:
                    inner = self._absolute(source, one["l"], one["m"]) if one["k"] == "m" else ""
                    name = inner.removeprefix(f"{source}.")
                    if inner in self.modules and name != inner and "." not in name and not name.startswith("_"):
                        bound.setdefault(name, [(module, {"k": "m", "l": 0, "m": inner, "n": None})])

    def _copy(self, module: str, copied: str, bound: dict[str, Any], chain: tuple[str, ...]) -> None:
        reached = self._target(module, copied) or ""
        source = reached.replace(":", ".")
        if source in self.modules and source not in chain:
            for name, found in self._names(source, chain).items():
                self._imported(bound, name, source, found)
            return
        located = self._locate(reached) if ":" in reached else None
        if located and located[2]["k"] == "c":
            start = f"{located[1]}."
            for key in (self._code.get(located[0]) or self._stubs[located[0]]).members:
                if key.startswith(start) and "." not in key[len(start) :]:
                    bound.setdefault(key[len(start) :], [(module, {"k": "v"})])
            return
        self._hard[module] = f"copies names of {copied}"

    @staticmethod
    def _imported(bound: dict[str, Any], name: str, source: str, found: list[tuple[str, Definition]]) -> None:
        if name not in bound:
            alias = {"k": "m", "l": 0, "m": source, "n": name}
            foreign = all(one["k"] == "m" and one["n"] is None for _, one in found)
            bound[name] = found if foreign else [(source, alias)]

    def _absolute(self, module: str, level: int, name: str) -> str:
        if not level:
            return name
        parts = module.split(".")
        drop = level - (1 if module in self._packages else 0)
        parts = parts[: len(parts) - drop] if drop else parts
        return ".".join([*parts, *([name] if name else [])])

    def _target(self, module: str, path: str) -> str | None:
        """What a dotted local name refers to, as ``module`` or ``module:Name``; ``None`` if it can't be told."""
        head, _, rest = path.partition(".")
        found = self._names_for(module).get(head)
        if not found:
            if f"{module}.{head}" in self.modules:
                return f"{module}.{head}:{rest}" if rest else f"{module}.{head}"
            return f"builtins:{path}" if hasattr(builtins, head) else None
        place, definition = found[0]
        if definition["k"] == "m":
            target = self._absolute(place, definition["l"], definition["m"])
            if definition["n"] is not None:
                target = f"{target}:{definition['n']}"
            if not rest:
                return target
            return f"{target}.{rest}" if ":" in target else f"{target}:{rest}"
        if definition["k"] == "r":
            if definition["to"].partition(".")[0] == head:
                return None
            inner = self._target(place, definition["to"])
            return f"{inner}.{rest}" if inner and rest else inner
        if definition["k"] in "cfp":
            return f"{place}:{path}"
        return None

    def _names_for(self, module: str) -> dict[str, list[tuple[str, Definition]]]:
        if module in self._bound:
            return self._bound[module]
        facts = self._code.get(module) or self._stubs.get(module)
        return {name: [(module, one) for one in found] for name, found in facts.names.items()} if facts else {}

    def _locate(self, target: str, depth: int = 0) -> tuple[str, str, Definition] | None:
        """The module, qualified name and definition that a target stands for; ``None`` if it is not in the package."""
        module, _, path = target.partition(":")
        head, _, rest = path.partition(".")
        if depth > _DEEPEST or not head:
            return None
        while rest and head not in self._names_for(module) and f"{module}.{head}" in self.modules:
            module = f"{module}.{head}"
            head, _, rest = rest.partition(".")
        found = self._names_for(module).get(head)
        if not found:
            if module in self.modules and module not in self._bound:
                found = self._names(module).get(head)
            if not found:
                return None
        place, definition = found[-1]
        if definition["k"] in "mr":
            inner = self._target(place, head)
            if inner is None or inner == target:
                return None
            inner = inner if not rest else f"{inner}.{rest}" if ":" in inner else f"{inner}:{rest}"
            return self._locate(inner, depth + 1)
        if rest:
            facts = self._code.get(place) or self._stubs[place]
            members = facts.members.get(f"{head}.{rest}")
            return (place, f"{head}.{rest}", members[-1]) if members else None
        return place, head, definition

    def _value(
        self, module: str, name: str, definitions: list[tuple[str, Definition]], detailed: bool
    ) -> dict[str, Any] | None:
        if any(not one.get("overload") for _, one in definitions):
            definitions = [pair for pair in definitions if not pair[1].get("overload")]
        values: list[dict[str, Any]] = []
        for place, definition in definitions:
            value = self._one(place, module, name, definition, detailed)
            if value is not None and value not in values:
                values.append(value)
        if len(values) > 1:
            values = [one for one in values if one != {"k": "v"} and one.get("lit") != "None"] or values[:1]
        if not values:
            return None
        return values[0] if len(values) == 1 else {"k": "alt", "of": values}

    def _one(self, place: str, module: str, name: str, definition: Definition, detailed: bool) -> dict[str, Any] | None:
        kind = definition["k"]
        if kind in "mr":
            target = self._target(place, name) if kind == "r" else self._import_target(place, definition)
            if target is None:
                return {"k": "v"}
            top = target.partition(":")[0].partition(".")[0]
            if top in self._package.tops:
                if target == f"{module}:{name}":  # ``from . import submodule``
                    inner = f"{module}.{name}"
                    return {"k": "a", "to": inner} if inner in self.modules else {"k": "v"}
                return {"k": "a", "to": target}
            if kind == "m" and definition["n"] is None and (name in COMMON or definition["m"] in COMMON):
                return None
            return {"k": "a", "to": target} if top in COVERED_TOPS else {"k": "v"}
        if not detailed:
            value: dict[str, Any] = {"k": kind if kind in "fcvp" else "v"}
            if kind == "c":
                value.update({"open": True, "sig": True})
            if kind in "fc" and "dep" in definition:
                value["dep"] = definition["dep"]
            return value
        if kind == "f":
            return self._function(place, definition)
        if kind == "c":
            return self._class(place, name, definition)
        if kind == "v" and "lit" in definition and name.isupper():
            return {"k": "v", "lit": definition["lit"]}
        return {"k": "v"} if kind == "v" else {"k": kind}

    def _import_target(self, place: str, definition: Definition) -> str:
        target = self._absolute(place, definition["l"], definition["m"])
        return target if definition["n"] is None else f"{target}:{definition['n']}"

    def _function(self, place: str, definition: Definition) -> dict[str, Any]:
        value: dict[str, Any] = {"k": "f", "p": definition.get("p", [])}
        kept = [self._transparent(place, one) for one in definition.get("d", ())]
        if definition.get("open") or not all(kept):
            value = {"k": "f", "open": True}
        elif "keywords" in kept:
            value["p"] = with_rest(value["p"])
        value.update({key: definition[key] for key in ("dep", "depp") if definition.get(key)})
        return value

    def _class(self, place: str, name: str, definition: Definition) -> dict[str, Any]:
        value: dict[str, Any] = {"k": "c"}
        bases = [self._target(place, one) or "?" for one in definition["b"]]
        bases = [one for one in bases if one not in BARE_BASES]
        if bases:
            value["b"] = bases
        value.update(
            {
                key: definition[key]
                for key in ("dep", "depp", "getattr", "open", "attrs", "fields", "sig")
                if definition.get(key)
            }
        )
        meta = definition.get("meta")
        if meta:
            target = self._target(place, meta)
            located = self._locate(target) if target and ":" in target else None
            if target not in PLAIN_METACLASSES:
                if located is None or located[2]["k"] != "c":
                    value["sig"] = value["open"] = True
                else:
                    value["m"] = target
                    members = (self._code.get(located[0]) or self._stubs[located[0]]).members
                    if f"{located[1]}.__call__" in members:
                        value["sig"] = True
                    if f"{located[1]}.__getattr__" in members:
                        value["getattr"] = True
        if any(not self._transparent(place, one) for one in definition.get("d", ())):
            value["sig"] = value["open"] = True
        kept = [self._transparent(place, one) for one in definition.get("init", ())]
        if not all(kept):
            value["sig"] = True
        if "p" in definition and not value.get("sig"):
            value["p"] = with_rest(definition["p"]) if "keywords" in kept else definition["p"]
        return value

    def _transparent(self, place: str, decorator: str) -> str:
        """What of the parameters a decorator leaves as it is: ``all``, ``keywords`` or nothing."""
        if decorator.rpartition(".")[2] in TRANSPARENT:
            return "all"
        target = self._target(place, decorator) if decorator != "?" else None
        located = self._locate(target) if target and ":" in target else None
        return str(located[2].get("through", "")) if located else ""

    def _members(self, module: str, out: Rows) -> None:
        given: dict[str, list[Definition]] = {}
        for facts in (self._stubs.get(module), self._code.get(module)):
            given.update(facts.members if facts else {})
        for path, definitions in given.items():
            name = path.rpartition(".")[2]
            if f"{module}:{path.partition('.')[0]}" not in out or (name.startswith("__") and name.endswith("__")):
                continue
            owner = out[f"{module}:{path.partition('.')[0]}"]
            if owner["k"] not in ("c", "alt"):
                continue
            value = self._value(module, name, [(module, one) for one in definitions], detailed=True)
            if value is not None:
                if value["k"] == "v" and "lit" in value:
                    value = {"k": "v"}
                out[f"{module}:{path}"] = value
        for key, definition in self._extra_members.items():
            if key.startswith(f"{module}:"):
                out.setdefault(key, definition)


def is_bystander(module: str, value: dict[str, Any]) -> bool:
    """Whether a name of a module that is known by names only is not its own: imported from outside its folder, or a plain variable.

    Nothing is said of such names but that they are there.
    """
    if value["k"] == "a":
        return not str(value["to"]).startswith(module.rpartition(".")[0] + ".")
    return value["k"] == "v"


def _is_data(name: str, value: dict[str, Any]) -> bool:
    """Whether a bystander is data that no release has as a function or class: nothing can be said about it."""
    return value["k"] == "v" and (name.isupper() or name.startswith("_") or name in ("logger", "log"))


@cache
def _exports(module: str) -> tuple[str, ...]:
    """The public names of a module of the standard library."""
    loaded = import_module(module)
    return tuple(getattr(loaded, "__all__", None) or (name for name in vars(loaded) if not name.startswith("_")))
