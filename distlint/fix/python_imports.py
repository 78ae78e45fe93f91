"""Imports of a Python file: finding the name that means something, adding, replacing and removing imports."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from distlint.fix.edits import Patch, begins_line, difference, indentation, line_end, newline_of, next_line
from distlint.fix.items import ItemList, without_item
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.fix.python_statements import statement_removal
from distlint.fix.python_tree import PythonTree, python_tree

ImportStatement = ast.Import | ast.ImportFrom

_FROM = re.compile(r"from([\s\\]+)(\.*[\s\\]*[\w.]*?)[\s\\]+import\b|from([\s\\]*)(\.+)import\b")


class _Binding(NamedTuple):
    """A name that an import binds, what it stands for (dotted), and where it comes from."""

    name: str
    meaning: str
    alias: ast.alias
    statement: ImportStatement


def add_import(place: Place) -> list[Patch]:
    """Imports a dotted name at the top of the file; nothing where it is imported already."""
    tree, to, alias = python_tree(place.text), place.word("to"), place.word("alias", "")
    name = alias or to.rpartition(".")[2]
    if any(binding.name == name and binding.meaning == to for binding in _bindings(tree, top_level=True)):
        return []
    return importing(place.text, to, alias)


def importing(text: str, to: str, alias: str = "", *, whole: bool = False) -> list[Patch]:
    """The patches that import a dotted name (``package.module.name``), in line with the imports that are there.

    ``whole`` says that the name is a module, to be imported by ``import package.module``.
    """
    import libcst
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor

    module, _, name = ("", "", to) if whole else to.rpartition(".")
    context = CodemodContext()
    AddImportsVisitor.add_needed_import(context, module or name, name if module else None, alias or None)
    head = text[: _head_end(python_tree(text))]
    try:
        changed = AddImportsVisitor(context).transform_module(libcst.parse_module(head))
    except (libcst.ParserSyntaxError, RecursionError):
        raise CannotFixError("the file does not parse") from None
    return difference(head, changed.code)


def _head_end(tree: PythonTree) -> int:
    """Where the part of a file ends that holds all its top-level imports: a long rest need not be parsed once more."""
    imports = [statement for statement in tree.module.body if isinstance(statement, (ast.Import, ast.ImportFrom))]
    if not imports:
        return len(tree.text)
    end = tree.region(imports[-1])[1]
    rest = tree.text[end : line_end(tree.text, end)].strip()
    return len(tree.text) if rest and not rest.startswith("#") else next_line(tree.text, end)


def replace_import(place: Place) -> list[Patch]:
    """Imports a name from elsewhere, under the name that the file uses."""
    tree, to = python_tree(place.text), place.word("to")
    statement = tree.covering((ast.Import, ast.ImportFrom), place.start, place.end)
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        raise CannotFixError("there is no import at this place")
    alias = _alias(tree, statement, place)
    if isinstance(statement, ast.Import):
        return _replace_plain(tree, alias, to)
    return _replace_from(tree, statement, alias, to)


def reference(tree: PythonTree, to: str, root: str) -> tuple[str, str]:
    """How to write a dotted name in this file, and what to import for it: ``to``, its module, or nothing (``""``).

    ``root`` is the first name of the expression that it replaces: a package reached as ``root.sub.name`` today may be
    reached so again.

    Raises:
        CannotFixError: the name to import is bound to something else.
    """
    module, _, name = to.rpartition(".")
    if not module:
        return to, ""
    taken = _is_bound(tree, name)
    best: _Binding | None = None
    for binding in _bindings(tree, top_level=True):
        reaches = to.startswith(binding.meaning + ".") and (taken or binding.name == root)
        usable = binding.meaning in (to, module) or reaches
        if usable and (best is None or len(binding.meaning) > len(best.meaning)):
            best = binding
    if best is not None:
        return best.name + to[len(best.meaning) :], ""
    if not taken:
        return name, to
    if _is_bound(tree, module.split(".")[0]):
        raise CannotFixError(f"`{name}` means something else in this file")
    return to, module


def uses(tree: PythonTree, name: str) -> int:
    """How often a name is read, or stands alone in a string (as in ``__all__``)."""
    return sum(
        (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Constant) and node.value == name)
        for node in ast.walk(tree.module)
    )


def imported_elsewhere(tree: PythonTree, name: str, to: str) -> list[Patch]:
    """Takes an imported name from elsewhere (``to``); nothing where no single ``from`` import binds it."""
    found = [binding for binding in _bindings(tree, top_level=False) if binding.name == name]
    if len(found) != 1 or not isinstance(found[0].statement, ast.ImportFrom) or found[0].meaning == to:
        return []
    return _replace_from(tree, found[0].statement, found[0].alias, to)


def removed_import(tree: PythonTree, name: str) -> list[Patch]:
    """Removes the import that binds ``name``, unless it may be there for its effect (``import package``)."""
    bindings = [binding for binding in _bindings(tree, top_level=True) if binding.name == name]
    if len(bindings) != 1 or (isinstance(bindings[0].statement, ast.Import) and not bindings[0].alias.asname):
        return []
    return _without_alias(tree, bindings[0].statement, bindings[0].alias)


def _without_alias(tree: PythonTree, statement: ImportStatement, alias: ast.alias) -> list[Patch]:
    start, end = tree.region(statement)
    if len(statement.names) == 1:
        return statement_removal(tree, start, end)
    regions = tuple(tree.region(other) for other in statement.names)
    close = end - 1 if tree.text[end - 1] == ")" else end
    items = ItemList(tree.text, regions[0][0], close, regions, ("#", "\\"))
    return without_item(items, statement.names.index(alias))


def _bindings(tree: PythonTree, *, top_level: bool) -> list[_Binding]:
    """What imports bind; ``import a.b`` binds ``a``, but is listed as ``a.b`` because that is what it makes usable."""
    found = []
    for statement in tree.module.body if top_level else ast.walk(tree.module):
        if isinstance(statement, ast.Import):
            found += [_Binding(alias.asname or alias.name, alias.name, alias, statement) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            module = statement.module
            names = [alias for alias in statement.names if alias.name != "*"]
            found += [
                _Binding(alias.asname or alias.name, f"{module}.{alias.name}", alias, statement) for alias in names
            ]
    return found


def _is_bound(tree: PythonTree, name: str) -> bool:
    if any(binding.name.split(".")[0] == name for binding in _bindings(tree, top_level=False)):
        return True
    for node in ast.walk(tree.module):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            return True
        if isinstance(node, ast.arg) and node.arg == name:
            return True
    return False


def _alias(tree: PythonTree, statement: ImportStatement, place: Place) -> ast.alias:
    wanted = place.word("name", "")
    for alias in statement.names:
        low, high = tree.region(alias)
        if alias.name == wanted or (not wanted and low <= place.start and place.end <= high):
            return alias
    if wanted or len(statement.names) != 1:
        raise CannotFixError(f"the import has no name `{wanted}`" if wanted else "the import has several names")
    return statement.names[0]


def _replace_from(tree: PythonTree, statement: ast.ImportFrom, alias: ast.alias, to: str) -> list[Patch]:
    module, _, name = to.rpartition(".")
    if alias.name == "*" or not module:
        raise CannotFixError("the import cannot be replaced")
    bound = alias.asname or alias.name
    text = name if name == bound else f"{name} as {bound}"
    start, end = tree.region(statement)
    if not statement.level and statement.module == module:
        return [Patch(*tree.region(alias), text)]
    if len(statement.names) == 1:
        return [_module_patch(tree, start, end, module), Patch(*tree.region(alias), text)]
    at = line_end(tree.text, end)
    if not begins_line(tree.text, start) or tree.text[end:at].split("#")[0].strip():
        raise CannotFixError("the import shares its line with another statement")
    line = f"{newline_of(tree.text)}{indentation(tree.text, start)}from {module} import {text}"
    return [*_without_alias(tree, statement, alias), Patch(at, at, line)]


def _module_patch(tree: PythonTree, start: int, end: int, module: str) -> Patch:
    match = _FROM.match(tree.text, start, end)
    if match is None:
        raise CannotFixError("the import cannot be taken apart")
    group = 2 if match.group(2) is not None else 4
    spaced = module if match.group(1 if group == 2 else 3) else " " + module
    tail = " " if group == 4 else ""
    return Patch(*match.span(group), spaced + tail)


def _replace_plain(tree: PythonTree, alias: ast.alias, to: str) -> list[Patch]:
    region = tree.region(alias)
    if alias.asname or "." not in alias.name:
        bound = alias.asname or alias.name
        return [Patch(*region, to if to == bound else f"{to} as {bound}")]
    chains = [
        node for node in ast.walk(tree.module) if isinstance(node, ast.Attribute) and ast.unparse(node) == alias.name
    ]
    return [Patch(*region, to), *(Patch(*tree.region(node), to) for node in chains)]
