"""Which functions a program has to go into for its protocols, beyond those whose names lead to an event by a name."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from distlint.link.program import names_leading_to
from distlint.link.project import Project
from distlint.link.walking import below, statements
from distlint.model import python as ir


def names_entered(project: Project, names: Collection[str], *, calls_objects: bool) -> frozenset[str]:
    """The names of functions that lead to one of some names.

    Also by an object that is called (``scaler(loss)`` runs ``__call__``); with ``calls_objects`` also the functions that call what they
    are given (``model(x)``), or what their object holds.
    """
    wanted = set(names)
    if calls_objects:
        wanted |= set(_names_calling(project))
    found = names_leading_to(project, wanted) | (wanted - set(names))
    if "__call__" in found:
        objects = set(_names_of_objects(project, found))
        found = found | objects | names_leading_to(project, wanted | objects)
    return found


class _Changing(dict[str, frozenset[str]]):
    """The names of a project that ``names_changing`` found, by attribute."""


def names_changing(project: Project, attribute: str) -> frozenset[str]:
    """The names of the functions that store to an attribute of this name, or that lead to one that does."""
    known: dict[str, frozenset[str]] = project.kept.setdefault(_Changing, _Changing())
    if attribute not in known:
        storing: set[str] = set()
        for file in project.python_files:
            module = project.module(file)
            if attribute in module.attributes:
                storing |= {one.name for one in module.functions if _stores_to(one.body, attribute)}
        known[attribute] = names_leading_to(project, storing) | storing
    return known[attribute]


def _stores_to(body: tuple[ir.Stmt, ...], attribute: str) -> bool:
    for statement in statements(body):
        targets: tuple[ir.Expr, ...] = ()
        if type(statement) is ir.Assign:
            targets = statement.targets
        elif type(statement) is ir.AugAssign:
            targets = (statement.target,)
        if any(type(part) is ir.Attribute and part.name == attribute for one in targets for part in below(one)):
            return True
    return False


def _names_calling(project: Project) -> Iterator[str]:
    """The functions that call a parameter of theirs, or an attribute of their object that is no method."""
    for file in project.python_files:
        module = project.module(file)
        methods: dict[int, set[str]] = {}
        for function in module.functions:
            methods.setdefault(function.owner, set()).add(function.name)
        for sites in module.calls.values():
            for site in sites:
                if site.function < 0:
                    continue
                function = module.functions[site.function]
                func = site.call.func
                own = methods[function.owner] if function.owner >= 0 else set()
                if "forward" in own:
                    continue  # a module is entered by its own call, whatever it is made of
                given = [one.name for one in function.parameters]
                if type(func) is ir.Name and func.id in given:
                    yield function.name
                elif type(func) is ir.Attribute and type(func.base) is ir.Name and func.name not in own:
                    if function.owner >= 0 and given[:1] == [func.base.id] and not func.name.startswith("_"):
                        yield function.name


def _names_of_objects(project: Project, classes: Collection[str]) -> Iterator[str]:
    """The variables and attributes that get an object of a class with a ``__call__`` of its own."""
    callable_ = {
        module.classes[function.owner].name
        for module in (project.module(file) for file in project.python_files)
        for function in module.functions
        if function.name == "__call__" and function.owner >= 0
    } & set(classes)
    for file in project.python_files:
        module = project.module(file)
        if not callable_ & module.calls.keys():
            continue
        bodies = [module.body, *(function.body for function in module.functions)]
        for statement in (one for body in bodies for one in statements(body)):
            if type(statement) is ir.Assign and type(statement.value) is ir.Call:
                if _last_name(statement.value.func) in callable_:
                    yield from (name for target in statement.targets if (name := _last_name(target)))


def _last_name(expr: ir.Expr) -> str:
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""
