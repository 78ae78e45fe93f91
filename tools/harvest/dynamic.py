"""What makes names at run time: module ``__getattr__``, writes to ``globals()`` and ``sys.modules``, lazy modules, decorators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from signatures import dotted, walk

if TYPE_CHECKING:
    from reading import FileFacts

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_RENAMES = re.compile(r"(deprecat|rename|replace).*(kwarg|arg|param)", re.IGNORECASE)
_ALIASES = re.compile(r"alias|legacy|renamed|moved", re.IGNORECASE)
_NOTES = frozenset({"version", "reason", "message", "msg", "category", "new_name", "old_name", "custom_message"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def apply(tree: ast.Module, text: str, facts: FileFacts) -> None:
    """Notes on ``facts`` what a module defines at run time, and whether more may come than can be read."""
    if "global " in text:
        for node in walk(tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    facts.names.setdefault(name, [{"k": "v"}])
    if "__all__" in text:
        _exported(tree, facts)
    if "import_structure" in text:
        _lazy(tree, facts)
    if "define_import_structure(" in text:
        facts.siblings = True
    if "sys.modules" in text:
        _registered(tree, facts)
        _made(tree, text, facts)
    if "class _LazyModule" in text:
        facts.suffixes = _suffixes(tree)
    facts.is_lazy = "_LazyModule(" in text and "sys.modules[__name__] =" in text
    if "globals()" in text or "vars()" in text or "locals()" in text:
        _globals(tree, facts)
    if "sys.modules[__name__]" in text:
        written = re.search(r"\w\.__dict__(\[|\.update)", text) is not None
        if written or "setattr(" in text:
            _opened(facts, "sets attributes of itself", hard=written)
    if re.search(r"_C\._\w+_init\(\)", text) and _initialised(tree):
        facts.extended = True
        _opened(facts, "a C extension adds names", hard=True)
    if "def __getattr__" in text:
        _getattr(tree, facts)
    if re.search(r"^exec\(", text, re.MULTILINE):
        _opened(facts, "runs text", hard=True)
    if facts.open:
        facts.words = sorted(_words(tree) - facts.names.keys())


def _initialised(tree: ast.Module) -> bool:
    """Whether the import has a C extension put names into this module: it calls its set-up and imports none of its parts."""
    called = False
    for node in _at_import(tree.body):
        if isinstance(node, ast.ImportFrom) and re.search(r"(^|\.)_C\.\w", node.module or ""):
            return False
        tested = [node.test] if isinstance(node, ast.If) else [node.value] if isinstance(node, ast.Expr) else []
        called = called or any(
            isinstance(one, ast.Call) and re.search(r"_C\._\w+_init$", dotted(one.func))
            for part in tested
            for one in walk(part)
        )
    return called


def _opened(facts: FileFacts, reason: str, *, hard: bool) -> None:
    facts.open = facts.open or reason
    facts.hard = facts.hard or hard


def _exported(tree: ast.Module, facts: FileFacts) -> None:
    names: list[str] = []
    sure = True
    for node in _at_import(tree.body):
        value: ast.expr | None = None
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets):
                continue
            value = node.value
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            method = dotted(node.value.func)
            if not method.startswith("__all__.") or not node.value.args:
                continue
            value = node.value.args[0]
            if method == "__all__.append":
                value = ast.List([value])
        else:
            continue
        if isinstance(value, (ast.List, ast.Tuple)):
            names += [one.value for one in value.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            sure = sure and all(isinstance(one, ast.Constant) for one in value.elts)
        else:
            sure = False
    facts.exported = sorted(set(names)) if names and sure else None


def _lazy(tree: ast.Module, facts: FileFacts) -> None:
    """The literal parts of ``_import_structure``; names of dummy objects are not the API."""
    for node in walk(tree):
        target: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            target, value = node.target, node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
        ):
            target, value = node.func.value, node.args[0] if node.args else None
        if isinstance(target, ast.Name) and target.id == "_import_structure" and isinstance(value, ast.Dict):
            for key, names in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    _add_lazy(facts, key.value, names)
        elif (
            isinstance(target, ast.Subscript)
            and dotted(target.value) == "_import_structure"
            and isinstance(target.slice, ast.Constant)
        ):
            _add_lazy(facts, str(target.slice.value), value)


def _add_lazy(facts: FileFacts, module: str, names: ast.expr | None) -> None:
    if module.rpartition(".")[2].startswith("dummy_"):
        return
    found = facts.lazy.setdefault(module, [])
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        found.append(names.value)
    elif isinstance(names, (ast.List, ast.Tuple)):
        found += [one.value for one in names.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _registered(tree: ast.Module, facts: FileFacts) -> None:
    """Writes to ``sys.modules`` when the module is imported; what a function registers later is not counted."""
    for node in _at_import(tree.body):
        keys: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            value = node.value
            keys = [
                one.slice
                for one in node.targets
                if isinstance(one, ast.Subscript) and dotted(one.value) == "sys.modules"
            ]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = dotted(node.value.func)
            if name == "sys.modules.setdefault":
                keys = node.value.args[:1]
            elif name == "sys.modules.update":
                facts.inner = True
        for key in keys:
            if isinstance(key, ast.Name) and key.id == "__name__":
                if value is not None and "_LazyModule" not in ast.unparse(value):
                    _replaced(tree, value, facts)
                continue
            name = _module_name(key)
            if name.endswith("*"):
                facts.inner = facts.inner or name == "*"
            else:
                facts.registered.append(name)


def _made(tree: ast.Module, text: str, facts: FileFacts) -> None:
    """Modules that local functions register, or that an import hook serves, as patterns with one ``*``."""
    makers = {
        one.name
        for one in tree.body + [inner for part in tree.body for inner in getattr(part, "orelse", [])]
        if isinstance(one, ast.FunctionDef)
        and one.args.args
        and f"sys.modules[{one.args.args[0].arg}] =" in ast.unparse(one)
    }
    for one in _at_import(tree.body):
        if (
            isinstance(one, ast.Expr)
            and isinstance(one.value, ast.Call)
            and dotted(one.value.func) in makers
            and one.value.args
        ):
            facts.made.append(_pattern(one.value.args[0]))
    if "sys.meta_path." in text:
        for one in _at_import(tree.body):
            if (
                isinstance(one, ast.Assign)
                and isinstance(one.value, ast.Dict)
                and _ALIASES.search(dotted(one.targets[0]))
            ):
                facts.made += [f"{{}}.{key.value}" for key in one.value.keys if isinstance(key, ast.Constant)]
            elif (
                isinstance(one, ast.Assign)
                and isinstance(one.value, ast.Call)
                and dotted(one.value.func) == "re.compile"
            ):
                facts.made += [f"{{}}.*{word}" for word in re.findall(r"\)(_[a-z]+)", ast.unparse(one.value))]
    facts.made = sorted({one for one in facts.made if one != "*"})


def _pattern(key: ast.expr) -> str:
    """A module name with ``{}`` for the module's own, and one ``*`` for all between the first and the last unreadable part."""
    if isinstance(key, ast.JoinedStr):
        parts = [_module_name(part.value if isinstance(part, ast.FormattedValue) else part) for part in key.values]
        if "*" in parts:
            first, last = parts.index("*"), len(parts) - parts[::-1].index("*")
            return "".join([*parts[:first], "*", *parts[last:]])
    return _module_name(key)


def _suffixes(tree: ast.Module) -> list[str]:
    """Ends of names for which a lazy module class finds something else than what its structure lists."""
    out: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("LazyModule"):
            for one in walk(node):
                if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "endswith":
                    out.update(a.value for a in one.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
    return sorted(out)


def _replaced(tree: ast.Module, value: ast.expr, facts: FileFacts) -> None:
    """``sys.modules[__name__] = Proxy(sys.modules[__name__])`` adds the names of a class of the file; anything else adds what it likes."""
    classes = {one.name for one in tree.body if isinstance(one, ast.ClassDef)}
    proxy = dotted(value.func) if isinstance(value, ast.Call) else ""
    known = proxy in classes and isinstance(value, ast.Call) and "sys.modules[__name__]" in map(ast.unparse, value.args)
    if known:
        facts.copies.append(proxy)
    _opened(facts, "puts another module in its place", hard=not known)


def _at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for one in body:
        if isinstance(one, (*_FUNCTIONS, ast.ClassDef)):
            continue
        yield one
        for name in ("body", "orelse", "finalbody"):
            yield from _at_import(getattr(one, name, []))
        for handler in getattr(one, "handlers", ()):
            yield from _at_import(handler.body)


def _module_name(key: ast.expr) -> str:
    """A key of ``sys.modules`` with ``{}`` for the module's own name; it ends with ``*`` where that is all that can be read."""
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add):
        left, right = _module_name(key.left), _module_name(key.right)
        return left if left.endswith("*") else left + right
    if isinstance(key, ast.Name) and key.id == "__name__":
        return "{}"
    if isinstance(key, ast.JoinedStr):
        text = ""
        for part in key.values:
            piece = _module_name(part.value if isinstance(part, ast.FormattedValue) else part)
            text += piece
            if piece.endswith("*"):
                return text
        return text
    return "*"


def _globals(tree: ast.Module, facts: FileFacts) -> None:
    for node in _walked(tree, loops=()):
        statement, loops = node
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and _is_globals(target.value):
                    _written(target.slice, loops, facts)
        elif (
            isinstance(statement, ast.Call)
            and isinstance(statement.func, ast.Attribute)
            and statement.func.attr == "update"
            and _is_globals(statement.func.value)
        ):
            _updated(statement, facts)


def _is_globals(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("globals", "vars", "locals")
        and not node.args
    )


def _walked(node: ast.AST, loops: tuple[ast.For, ...]) -> Iterator[tuple[ast.AST, tuple[ast.For, ...]]]:
    for child in ast.iter_child_nodes(node):
        yield child, loops
        yield from _walked(child, (*loops, child) if isinstance(child, ast.For) else loops)


def _written(key: ast.expr, loops: tuple[ast.For, ...], facts: FileFacts) -> None:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        facts.names.setdefault(key.value, [{"k": "v"}])
        return
    for loop in loops:
        source = loop.iter
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id in ("dir", "vars"):
            copied = dotted(source.args[0]) if source.args else ""
            if copied:
                facts.copies.append(copied)
                _opened(facts, f"copies names of {copied}", hard=False)
                return
        if isinstance(source, (ast.List, ast.Tuple, ast.Dict, ast.Set)):
            _opened(facts, "makes names from a list", hard=False)
            return
    _opened(facts, "writes its globals", hard=not isinstance(key, (ast.Name, ast.JoinedStr, ast.Attribute, ast.Call)))


def _updated(call: ast.Call, facts: FileFacts) -> None:
    for keyword in call.keywords:
        if keyword.arg:
            facts.names.setdefault(keyword.arg, [{"k": "v"}])
    for one in call.args:
        if isinstance(one, ast.Dict) and all(isinstance(key, ast.Constant) for key in one.keys):
            for key in one.keys:
                facts.names.setdefault(str(getattr(key, "value", "")), [{"k": "v"}])
        else:
            source = one.args[0] if isinstance(one, ast.Call) and one.args and dotted(one.func) == "vars" else one
            copied = dotted(source).removesuffix(".__dict__").removesuffix(".__members__")
            if copied:
                facts.copies.append(copied)
            _opened(facts, "updates its globals", hard=not copied)


def _getattr(tree: ast.Module, facts: FileFacts) -> None:
    """A module's ``__getattr__``: what it compares the name with are names of the module; anything else leaves it open."""
    for statement in walk(tree):
        if isinstance(statement, ast.FunctionDef) and statement.name == "__getattr__" and len(statement.args.args) == 1:
            name = statement.args.args[0].arg
            literal, guarded = True, True
            for node in walk(statement):
                if isinstance(node, ast.Compare) and any(
                    isinstance(one, ast.Name) and one.id == name for one in walk(node)
                ):
                    sides = [node.left, *node.comparators]
                    values = [_literals(one) for one in sides if not (isinstance(one, ast.Name) and one.id == name)]
                    if any(found is None for found in values):
                        literal = False
                    for found in values:
                        for one in found or ():
                            facts.names.setdefault(one, [{"k": "v"}])
            guarded = _guarded(statement.body, name)
            if not (literal and guarded):
                _opened(facts, "has a __getattr__", hard=not guarded)


def _literals(node: ast.expr) -> list[str] | None:
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = [_literals(one) for one in node.elts]
        return None if any(part is None for part in parts) else [name for part in parts for name in part or ()]
    return None


def _guarded(body: list[ast.stmt], *names: str) -> bool:
    """Whether a function returns only where it has compared the name, or what it looked up for it, with something."""
    for statement in body:
        if isinstance(statement, ast.Assign) and _mentions(statement.value, names):
            names = (*names, *(one.id for one in statement.targets if isinstance(one, ast.Name)))
        if isinstance(statement, ast.Return):
            return False
        if isinstance(statement, ast.If):
            tested = _mentions(statement.test, names)
            if not (tested or _guarded(statement.body, *names)) or not _guarded(statement.orelse, *names):
                return False
        elif isinstance(statement, (ast.Try, ast.With, ast.For, ast.While)):
            inner = [*statement.body, *getattr(statement, "orelse", ())]
            if not _guarded(inner, *names):
                return False
    return True


def _mentions(node: ast.AST, names: tuple[str, ...]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in walk(node))


def _words(tree: ast.Module) -> set[str]:
    """Identifiers in constants (without docstrings), class bodies and attribute assignments: dynamic names come from those."""
    out: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
            if _IDENTIFIER.fullmatch(node.value):
                out.update(node.value.split("."))
        elif isinstance(node, ast.ClassDef):
            for one in node.body:
                targets = one.targets if isinstance(one, ast.Assign) else ()
                out.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.FunctionDef, ast.keyword)):
            name = node.name if isinstance(node, ast.FunctionDef) else node.arg
            if name:
                out.add(name)
    return out


def instance_attributes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[list[str], bool]:
    """The attributes that a method sets on ``self`` or ``cls``, and whether it sets some whose names can't be read."""
    if not node.args.args:
        return [], False
    this = node.args.args[0].arg
    found: dict[str, None] = {}
    opened = False
    for one in walk(node):
        if isinstance(one, ast.Attribute):
            if isinstance(one.ctx, ast.Store) and isinstance(one.value, ast.Name) and one.value.id == this:
                found[one.attr] = None
        elif isinstance(one, ast.Call):
            name = dotted(one.func)
            if name in ("setattr", "object.__setattr__") and len(one.args) == 3 and dotted(one.args[0]) == this:
                key = one.args[1]
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found[key.value] = None
                else:
                    opened = True
            elif name == f"{this}.__dict__.update" or (
                name == "" and "vars" in ast.dump(one.func) and "update" in ast.dump(one.func)
            ):
                opened = True
        elif isinstance(one, ast.Assign) and any(
            isinstance(t, ast.Attribute) and t.attr == "__dict__" and dotted(t.value) == this for t in one.targets
        ):
            opened = True
    found.pop("__dict__", None)
    found.pop("__class__", None)
    return list(found), opened


def looks_up_registered(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a ``__getattr__`` finds only the parameters, buffers and submodules that an instance registered."""
    words = {one.value for one in walk(node) if isinstance(one, ast.Constant)}
    forwards = any(isinstance(one, ast.Call) and dotted(one.func) == "getattr" for one in walk(node))
    return {"_parameters", "_buffers", "_modules"} <= words and not forwards


def passes_through(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Whether a decorator leaves the parameters as they are: it returns what it is given, or a wrapper that hands all on.

    ``all``; ``keywords`` if the wrapper turns positional arguments into keywords for some calls; ``""`` if it does neither.
    """
    if _keeps_all(node):
        return "all"
    inner = [one for one in walk(node) if isinstance(one, _FUNCTIONS) and one is not node]
    taken = {one.arg for part in (node, *inner) for one in [*part.args.posonlyargs, *part.args.args]}
    return "keywords" if any(_forwards(one, taken, positional=True) for one in inner) else ""


def _keeps_all(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if not any(isinstance(one, _FUNCTIONS) for part in node.body for one in (part, *getattr(part, "body", ()))):
        last = node.body[-1]
        if len(node.body) > 4 or not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
            return False
    taken = {one.arg for one in [*node.args.posonlyargs, *node.args.args]}
    inner = [one for one in walk(node) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one is not node]
    given = set(taken)
    for one in inner:
        given.update(argument.arg for argument in one.args.args)
    forwarding = [one for one in inner if _forwards(one, given)]
    if forwarding:
        return True
    if inner and not any(one.args.vararg or one.args.kwarg for one in inner):
        returned = {
            one.value.id for one in walk(node) if isinstance(one, ast.Return) and isinstance(one.value, ast.Name)
        }
        names = {one.name for one in inner}
        return bool(returned) and returned <= given | names and bool(returned & given)
    if not inner:
        returns = [one.value for one in walk(node) if isinstance(one, ast.Return)]
        return bool(returns) and all(isinstance(one, ast.Name) and one.id in taken for one in returns)
    return False


def _forwards(node: ast.FunctionDef | ast.AsyncFunctionDef, functions: set[str], *, positional: bool = False) -> bool:
    """Whether a wrapper hands on all it is given; with ``positional`` it may name positional arguments before."""
    rest, keywords = node.args.vararg, node.args.kwarg
    if rest is None or keywords is None:
        return False
    handed = changed = False
    for one in walk(node):
        if isinstance(one, ast.Call):
            stars = any(isinstance(a, ast.Starred) and dotted(a.value) == rest.arg for a in one.args)
            doubles = any(k.arg is None and dotted(k.value) == keywords.arg for k in one.keywords)
            handed = handed or (stars and doubles)
            if dotted(one.func) in (f"{keywords.arg}.pop", f"{keywords.arg}.update", f"{keywords.arg}.setdefault"):
                changed = True
        elif isinstance(one, (ast.Assign, ast.Delete)):
            for target in one.targets:
                if isinstance(target, ast.Subscript) and dotted(target.value) == keywords.arg:
                    named = (
                        isinstance(one, ast.Assign)
                        and isinstance(one.value, ast.Subscript)
                        and dotted(one.value.value) == rest.arg
                    )
                    changed = changed or not (positional and named)
    return handed and not changed


def renames(decorator: ast.expr) -> bool:
    """Whether a decorator goes by a name that says it renames keywords."""
    return isinstance(decorator, ast.Call) and bool(_RENAMES.search(dotted(decorator.func).rpartition(".")[2]))


def renamed_keywords(decorators: list[ast.expr]) -> dict[str, str]:
    """Keywords that a decorator still takes although the parameters have lost them, with what is said of them."""
    out: dict[str, Any] = {}
    for one in decorators:
        if isinstance(one, ast.Call) and renames(one):
            texts = {keyword.arg: keyword.value for keyword in one.keywords}
            old = one.args[0] if one.args else texts.get("old_name")
            new = texts.get("new_name") or (
                one.args[1] if len(one.args) == 2 else one.args[2] if len(one.args) > 2 else None
            )
            if isinstance(old, ast.Constant) and isinstance(old.value, str):
                good = isinstance(new, ast.Constant) and isinstance(new.value, str) and new.value.isidentifier()
                out[old.value] = (
                    f"use `{new.value}` instead" if good and isinstance(new, ast.Constant) else "deprecated"
                )
            elif isinstance(one, ast.Call):
                for keyword in one.keywords:  # renamed(old="new")
                    if keyword.arg and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                        if keyword.arg not in (
                            "version",
                            "reason",
                            "message",
                            "msg",
                            "category",
                            "new_name",
                            "old_name",
                        ):
                            out[keyword.arg] = f"use `{keyword.value.value}` instead"
    return out
