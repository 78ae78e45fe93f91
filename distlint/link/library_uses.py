"""Where a project uses a name of a library: imports, dotted expressions and calls.

Names here are the library's own, as the file spells them: the table of canonical names that other rules go by says
nothing of which module had a name in which release.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.modules import MAX_HOPS, ClassRef, FunctionRef, ModuleFile
from distlint.link.walking import bodies_of, children, expressions_of, statements
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


class Use(NamedTuple):
    """One mention of a library's name.

    ``name`` is the dotted name as spelt, ``function`` the function around it (-1: module or class level), ``at`` the
    place. ``item`` is the import that mentions it, ``None`` for an expression.
    """

    name: str
    file: str
    function: int
    at: ir.Position
    item: ir.Import | None = None

    @property
    def span(self) -> Span:
        """The place as a span."""
        return ir.unpack(self.at, self.file)


def is_below(name: str, owner: str) -> bool:
    """Whether a dotted name is ``owner`` or something inside it."""
    return name == owner or name.startswith(owner + ".")


def written_name(project: Project, expr: ir.Expr, file: str, function: int = -1) -> str:
    """The dotted library name that an expression spells.

    ``""`` for names of the project, variables, and names that several imports bind.
    """
    if type(expr) is ir.Name:
        return "" if _is_local(project, expr.id, file, function) else _bound_name(project, expr.id, file, 0)
    if type(expr) is not ir.Attribute:
        return ""
    base = written_name(project, expr.base, file, function)
    if base:
        return f"{base}.{expr.name}"
    owner = project.modules.resolve(expr.base, file, library=True)
    return _bound_name(project, expr.name, owner.file, 0) if isinstance(owner, ModuleFile) else ""


def _bound_name(project: Project, name: str, file: str, hops: int) -> str:
    if hops > MAX_HOPS:
        return ""
    imports = project.modules.imports(file)
    meanings = {_imported_name(project, item, file, hops) for item in imports if item.alias == name}
    return meanings.pop() if len(meanings) == 1 else ""


def _imported_name(project: Project, item: ir.Import, file: str, hops: int) -> str:
    source = project.modules.find(item.module, file, item.level)
    if item.name and source is not None:
        return _bound_name(project, item.name, source, hops + 1) if source != file else ""
    if item.level or _is_own(project, item.module, file):
        return ""
    if item.name:
        return f"{item.module}.{item.name}"
    return item.module if item.alias != item.module.partition(".")[0] else item.alias


def _is_own(project: Project, module: str, file: str) -> bool:
    """Whether a module belongs to a package of the project, as in the library's own repository."""
    return project.modules.find(module.partition(".")[0], file) is not None


def _is_local(project: Project, name: str, file: str, function: int) -> bool:
    """Whether a function around the place binds the name to something of its own."""
    module = project.module(file)
    while function >= 0:
        around = module.functions[function]
        if any(parameter.name == name for parameter in around.parameters):
            return True
        if name in project.flow(file, function).assigned and not any(item.alias == name for item in module.imports):
            return True
        function = around.parent
    return False


def uses_of(project: Project, names: Collection[str]) -> Iterator[Use]:
    """Every import and dotted expression that mentions one of the names or something inside it, by file and place.

    What a file reaches through an import of the name itself counts by that import.
    """
    lasts = {name.rpartition(".")[2] for name in names}
    for file in project.python_files:
        module = project.module(file)
        found = list(_imports_of(project, file, module, names))
        if lasts & module.attributes:
            found.extend(_expressions_naming(project, file, module, names, lasts))
        yield from sorted(found, key=lambda use: use.at)


def _imports_of(project: Project, file: str, module: ir.Module, names: Collection[str]) -> Iterator[Use]:
    for item in module.imports:
        if item.level or item.name == "*":
            continue
        full = f"{item.module}.{item.name}" if item.name else item.module
        if any(is_below(full, name) for name in names) and not _is_own(project, item.module, file):
            yield Use(full, file, function_around(module, item.at), item.at, item)


def _expressions_naming(
    project: Project, file: str, module: ir.Module, names: Collection[str], lasts: set[str]
) -> Iterator[Use]:
    for function, body in bodies_of(module):
        for statement in statements(body):
            stack = list(expressions_of(statement))
            while stack:
                expr = stack.pop()
                if type(expr) is ir.Attribute and _mentions(expr, lasts):
                    full = written_name(project, expr, file, function)
                    if any(is_below(full, name) for name in names):
                        yield Use(full, file, function, expr.at)
                        continue
                stack.extend(children(expr))


def _mentions(expr: ir.Attribute, lasts: set[str]) -> bool:
    part: ir.Expr = expr
    while type(part) is ir.Attribute:
        if part.name in lasts:
            return True
        part = part.base
    return False


def function_around(module: ir.Module, at: ir.Position) -> int:
    """The innermost function whose statement holds a place, or -1."""
    start, end, found = at >> 44, at & 0xFFFFFFFFFFF, -1
    for index, function in enumerate(module.functions):
        if function.at >> 44 <= start and end <= function.at & 0xFFFFFFFFFFF:
            found = index
    return found


def calls_of(project: Project, names: Collection[str], *, derived: bool = False) -> Iterator[CallSite]:
    """The calls of library functions or classes by the names that files use for them.

    With ``derived`` also those of project classes that derive from them and leave ``__init__`` to them, and the
    ``super().__init__`` of those that don't.
    """
    lasts = {name.rpartition(".")[2] for name in names}
    aliases = {
        item.alias
        for file in project.python_files
        for item in project.module(file).imports
        if item.name in lasts and item.alias != item.name
    }
    for last in sorted(lasts | aliases):
        for found in project.sites(last):
            name = written_name(project, found.site.call.func, found.file, found.site.function)
            if name in names:
                yield found._replace(name=name)
    if derived:
        yield from _derived_calls(project, names)


def _derived_calls(project: Project, names: Collection[str]) -> Iterator[CallSite]:
    for file in project.python_files:
        for index, definition in enumerate(project.module(file).classes):
            owner = ClassRef(file, index)
            if not definition.bases or not project.modules.external_bases(owner) & set(names):
                continue
            name = min(project.modules.external_bases(owner) & set(names))
            own = project.modules.method(owner, "__init__")
            if own is None:
                for found in project.sites(definition.name):
                    if project.modules.resolve(found.site.call.func, found.file) == owner:
                        yield found._replace(name=name)
            elif own.file == file and project.function(own).owner == index:
                yield from _super_calls(project, own, name)


def _super_calls(project: Project, method: FunctionRef, name: str) -> Iterator[CallSite]:
    for found in project.sites("__init__"):
        func = found.site.call.func
        if found.file == method.file and found.site.function == method.index and type(func) is ir.Attribute:
            base = func.base
            if type(base) is ir.Call and type(base.func) is ir.Name and base.func.id == "super":
                yield found._replace(name=name)
