"""What one source file says about its names, as plain data: nothing is resolved, so equal files of any release share it.

A definition is a dict with ``k``: ``f`` function, ``c`` class, ``p`` property, ``v`` variable, ``i`` instance attribute, ``m`` import
(``l`` level, ``m`` module, ``n`` name), ``r`` a name bound to another local name (``to``). Several definitions of a name stand in order.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import deprecation
import dynamic
import outline
from signatures import dotted, fields, parameters

Definition = dict[str, Any]

_CACHED = re.compile(
    r"(.*[._])?(cached_?property|lazy_?property|lazy_attribute|classproperty|abstractproperty|property)$"
)
_RESTORING = frozenset({"__setstate__", "__deepcopy__", "__copy__", "__reduce__"})
"""Methods that give an instance attributes which another one had."""
_PLAIN_LITERAL = (str, int, float, bool, type(None))
LONGEST_LITERAL = 24


@dataclass
class FileFacts:
    """One source file. ``names`` and ``members`` (``Class.member``) map to definitions; the rest is about the module as a whole."""

    names: dict[str, list[Definition]] = field(default_factory=dict)
    members: dict[str, list[Definition]] = field(default_factory=dict)
    stars: list[tuple[int, str, bool]] = field(default_factory=list)
    """Star imports: level, module, and whether a failure is caught."""
    copies: list[str] = field(default_factory=list)
    """Dotted local names whose attributes are copied into the module: ``for x in dir(that): globals()[x] = …``."""
    exported: list[str] | None = None
    """``__all__``, where it is spelled out."""
    assigned: dict[str, Definition] = field(default_factory=dict)
    """Dotted names of other modules that are assigned to: ``torch.thing = …``."""
    lazy: dict[str, list[str]] = field(default_factory=dict)
    """Submodule to names, of an import structure that a lazy module is given."""
    registered: list[str] = field(default_factory=list)
    """Modules entered into ``sys.modules`` by name."""
    open: str = ""
    """Why names may appear at run time that the source does not define; ``""`` for a closed module."""
    extended: bool = False
    """A C extension puts names into this module when it is imported."""
    hard: bool = False
    """Of an open module: names may come from other places than the words of its source."""
    made: list[str] = field(default_factory=list)
    """Patterns of modules that are made at run time, with ``{}`` for this module."""
    suffixes: list[str] = field(default_factory=list)
    """Ends of names that the lazy modules of the package resolve in ways of their own."""
    is_lazy: bool = False
    siblings: bool = False
    """A lazy module with what its submodules export."""
    inner: bool = False
    """Submodules may be made at run time."""
    words: list[str] = field(default_factory=list)
    """Of an open module: identifiers that stand in its text where a dynamic name could come from."""


def read(source: bytes, *, stub: bool = False, shallow: bool = False) -> FileFacts:
    """Reads a file; one that can't be parsed is an open module without names. ``shallow`` leaves out parameters and members."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = (outline.parsed(source) if shallow else None) or ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return FileFacts(open="unreadable", hard=True)
    reader = _Reader(stub, shallow)
    reader.block(tree.body, checking=False)
    text = source.decode("utf-8", "replace")
    dynamic.apply(tree, text, reader.facts)
    if not (reader.facts.lazy or "_LazyModule" in text or "__getattr__" in text or "lazy_loader" in text or stub):
        for name, definitions in list(reader.facts.names.items()):
            kept = [one for one in definitions if not one.pop("checking", False)]
            reader.facts.names[name] = kept
            if not kept:
                del reader.facts.names[name]
    else:
        reader.facts.stars += [(level, name, True) for level, name, _ in reader.checking_stars]
    return reader.facts


class _Reader:
    def __init__(self, stub: bool, shallow: bool) -> None:
        self.facts = FileFacts()
        self.checking_stars: list[tuple[int, str, bool]] = []
        self._stub = stub
        self._shallow = shallow
        self._classes: list[str] = []
        self._tries = 0

    def block(self, body: list[ast.stmt], *, checking: bool) -> None:
        """The statements of a module, or of a branch in it."""
        for statement in body:
            self._statement(statement, checking)

    def _statement(self, node: ast.stmt, checking: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._bind(node.name, self._function(node, method=False), checking)
        elif isinstance(node, ast.ClassDef):
            self._bind(node.name, self._class(node), checking)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, checking)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            self._assign(node, checking)
        elif isinstance(node, ast.If):
            self._branches(node, checking)
        elif isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            self._tries += 1
            for body in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                self.block(body, checking=checking)
            self._tries -= 1
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._targets(item.optional_vars, checking)
            self.block(node.body, checking=checking)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            if not isinstance(node, ast.While):
                self._targets(node.target, checking)
            self.block([*node.body, *node.orelse], checking=checking)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._scope().pop(self._path(target.id), None)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.block(case.body, checking=checking)
        elif type(node).__name__ == "TypeAlias":
            self._bind(node.name.id, {"k": "v"}, checking)  # type: ignore[attr-defined]

    def _branches(self, node: ast.If, checking: bool) -> None:
        test = ast.unparse(node.test) if not isinstance(node.test, ast.Compare) else ""
        only = test.rpartition(".")[2] == "TYPE_CHECKING"
        never = test in ("False", "0")
        if not never:
            self.block(node.body, checking=checking or only)
        if test not in ("True", "1"):
            self.block(node.orelse, checking=checking or test.rpartition(".")[2] == "not TYPE_CHECKING")

    def _scope(self) -> dict[str, list[Definition]]:
        return self.facts.members if self._classes else self.facts.names

    def _path(self, name: str) -> str:
        return ".".join([*self._classes, name])

    def _bind(self, name: str, definition: Definition, checking: bool = False) -> None:
        if checking:
            definition["checking"] = True
        found = self._scope().setdefault(self._path(name), [])
        if definition not in found:
            if definition["k"] in "vi" and any(one["k"] in "vi" for one in found):
                return
            found.append(definition)

    def _targets(self, node: ast.expr | None, checking: bool) -> None:
        if isinstance(node, ast.Name):
            self._bind(node.id, {"k": "v"}, checking)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self._targets(item, checking)
        elif isinstance(node, ast.Starred):
            self._targets(node.value, checking)

    def _import(self, node: ast.Import | ast.ImportFrom, checking: bool) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                if alias.asname:
                    self._bind(alias.asname, {"k": "m", "l": 0, "m": alias.name, "n": None}, checking)
                else:
                    top = alias.name.partition(".")[0]
                    self._bind(top, {"k": "m", "l": 0, "m": top, "n": None}, checking)
            elif alias.name == "*":
                stars = self.checking_stars if checking else self.facts.stars
                stars.append((node.level, node.module or "", self._tries > 0))
            elif not (node.module or "").rpartition(".")[2].startswith("dummy_"):
                self._bind(
                    alias.asname or alias.name,
                    {"k": "m", "l": node.level, "m": node.module or "", "n": alias.name},
                    checking,
                )

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, checking: bool) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                if isinstance(node, ast.AnnAssign) and node.value is None and not self._stub and not self._classes:
                    continue
                self._bind(target.id, self._value(node.value, declared=node), checking)
            elif isinstance(target, ast.Attribute) and not self._classes and (path := dotted(target)):
                self.facts.assigned[path] = self._value(node.value, declared=node)
            else:
                self._targets(target, checking)

    def _value(self, node: ast.expr | None, *, declared: ast.stmt) -> Definition:
        if node is None:
            return {"k": "i"} if self._classes else {"k": "v"}
        if isinstance(node, ast.Lambda):
            return {"k": "f", "p": parameters(node.args, bound=bool(self._classes))}
        if isinstance(node, ast.Constant) and isinstance(node.value, _PLAIN_LITERAL) and not self._classes:
            text = repr(node.value)
            return {"k": "v", "lit": text} if len(text) <= LONGEST_LITERAL else {"k": "v"}
        path = dotted(node)
        if path and not isinstance(declared, ast.AugAssign):
            if self._classes:
                found = self.facts.members.get(self._path(path))
                return dict(found[-1]) if found else {"k": "v"}
            return {"k": "r", "to": path}
        if isinstance(node, ast.Call) and dotted(node.func) in ("property", "functools.cached_property"):
            return {"k": "p"}
        return {"k": "v"}

    def _function(self, node: deprecation.Function, *, method: bool) -> Definition:
        if self._shallow:
            return {"k": "f"}
        decorators = [
            dotted(one.func if isinstance(one, ast.Call) else one) or "?"
            for one in node.decorator_list
            if not dynamic.renames(one)
        ]
        if method and any(_CACHED.match(one) or one.endswith((".setter", ".getter", ".deleter")) for one in decorators):
            found: Definition = {"k": "p"}
        else:
            static = "staticmethod" in decorators and node.name != "__new__"
            found = {"k": "f", "p": parameters(node.args, bound=method and not static)}
            hiding = [
                one for one in decorators if one not in ("staticmethod", "classmethod", "overload", "typing.overload")
            ]
            if hiding:
                found["d"] = hiding
            if any(map(_is_overload, decorators)):
                found["overload"] = True
            elif deprecated := {
                **deprecation.by_default(node.args),
                **deprecation.of_parameters(node, _names(node.args)),
            }:
                found["depp"] = deprecated
            if through := dynamic.passes_through(node):
                found["through"] = through
            renamed = dynamic.renamed_keywords(node.decorator_list)
            if renamed:
                found["depp"] = {**renamed, **found.get("depp", {})}
        if text := deprecation.by_decorator(node.decorator_list) or deprecation.by_warning(node):
            found["dep"] = text
        return found

    def _class(self, node: ast.ClassDef) -> Definition:
        if self._shallow:
            return {"k": "c", "b": []}
        found: Definition = {"k": "c", "b": [_base(one) for one in node.bases]}
        meta = next((one.value for one in node.keywords if one.arg == "metaclass"), None)
        if meta is not None:
            found["meta"] = dotted(meta) or "?"
        decorators = [dotted(one.func if isinstance(one, ast.Call) else one) or "?" for one in node.decorator_list]
        hiding = []
        for name, one in zip(decorators, node.decorator_list, strict=True):
            if name.rpartition(".")[2] in ("dataclass", "attrs", "define") and not name.startswith("pydantic"):
                found["fields"] = True
                found["p"] = fields(node, one)
            else:
                hiding.append(name)
        if hiding:
            found["d"] = hiding
        self._classes.append(node.name)
        path = ".".join(self._classes)
        self._body(node, found)
        self._classes.pop()
        made = [
            one for one in self.facts.members.get(f"{path}.__init__", ()) if one["k"] == "f" and not one.get("overload")
        ]
        made = made or self.facts.members.get(f"{path}.__init__", []) or self.facts.members.get(f"{path}.__new__", [])
        if made and made[-1]["k"] == "f":
            last = made[-1]
            found.pop("fields", None)
            found["p"] = last["p"]
            found.update({key: last[key] for key in ("depp", "dep") if key in last})
            if last.get("d"):
                found["init"] = last["d"]
            if len([one for one in made if one.get("overload")]) > 1:
                found["sig"] = True
        elif made:
            found["sig"] = True
        if text := deprecation.by_decorator(node.decorator_list):
            found["dep"] = text
        for name in ("__init__", "__new__", "__post_init__", "__doc__", "__slots__", "__module__"):
            self.facts.members.pop(f"{path}.{name}", None)
        return found

    def _body(self, node: ast.ClassDef, found: Definition) -> None:
        for statement in _flattened(node.body):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._bind(statement.name, self._function(statement, method=True))
                if statement.name in ("__getattr__", "__getattribute__") and not dynamic.looks_up_registered(statement):
                    found["getattr"] = True
                if statement.name == "__post_init__":
                    names = [text.lstrip("-*").partition("=")[0] for text in found.get("p", ())]
                    if depp := deprecation.of_parameters(statement, names):
                        found["depp"] = depp
                    if text := deprecation.by_warning(statement):
                        found["dep"] = text
                attributes, opened = dynamic.instance_attributes(statement)
                for name in attributes:
                    if self._path(name) not in self.facts.members:
                        self._bind(name, {"k": "i"})
                if opened and statement.name not in _RESTORING:
                    found["attrs"] = True
            else:
                self._statement(statement, False)


def _flattened(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a class with the branches of ``if`` and ``try`` opened, but for type checkers' ones."""
    out: list[ast.stmt] = []
    for one in body:
        if isinstance(one, ast.If):
            out += _flattened([*one.body, *one.orelse])
        elif isinstance(one, ast.Try):
            out += _flattened(
                [*one.body, *(s for handler in one.handlers for s in handler.body), *one.orelse, *one.finalbody]
            )
        elif isinstance(one, (ast.With, ast.For, ast.While)):
            out += _flattened(one.body)
        else:
            out.append(one)
    return out


def _is_overload(decorator: str) -> bool:
    return decorator.rpartition(".")[2].lstrip("_") == "overload"


def _base(node: ast.expr) -> str:
    """A base class as dotted local name; ``?`` for one that is computed."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in ("NamedTuple", "namedtuple", "TypedDict"):
        return "?"
    return dotted(node) or "?"


def _names(arguments: ast.arguments) -> list[str]:
    return [one.arg for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
