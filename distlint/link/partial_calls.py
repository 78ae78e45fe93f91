"""Calls of what ``functools.partial`` prepared: ``make = partial(Plugin, precision="bf16")``, ``make(stage=1)`` behind it.

Each stands for one call of the prepared function with all arguments together. Found by the text alone, so that who calls a function can be
asked while values are worked out: the name is bound once, in the body that calls it, in one around it, or in its module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.walking import last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

PARTIAL = "functools.partial"


class PartialCalls:
    """For a project, the calls that prepared calls come to, by the last name of what is called in the end."""

    def __init__(self, project: Project) -> None:
        self.by_name: dict[str, list[tuple[str, ir.Site]]] = {}
        self._followed: set[tuple[str, ir.Position]] = set()
        for file in project.python_files:
            module = project.module(file)
            if "partial" not in module.calls:
                continue
            for function in (-1, *range(len(module.functions))):
                for name, prepared in _prepared(project, file, function).items():
                    for site in module.calls.get(name, ()):
                        if _sees(project, file, site.function, function, name):
                            self._enter(file, prepared, site, same=site.function == function or function < 0)

    def is_followed(self, file: str, call: ir.Call) -> bool:
        """Whether a call of ``partial`` is known by the calls of what it gives."""
        return (file, call.at) in self._followed

    def _enter(self, file: str, prepared: ir.Call, site: ir.Site, *, same: bool) -> None:
        made = completed(prepared, site.call, same=same)
        if made is not None and type(site.call.func) is ir.Name:
            self.by_name.setdefault(last_name(made.func), []).append((file, ir.Site(made, site.function)))
            self._followed.add((file, prepared.at))


def completed(prepared: ir.Call, call: ir.Call, *, same: bool) -> ir.Call | None:
    """The call as if it was written in one piece; ``None`` where the first arguments may mean something else there.

    ``same`` says that both calls stand where names mean the same.
    """
    if not prepared.args or type(prepared.args[0]) is ir.Starred:
        return None
    first, own = prepared.args[0], {one.name for one in call.keywords}
    given = (*prepared.args[1:], *(one.value for one in prepared.keywords))
    if not same and not all(type(one) is ir.Constant for one in given):
        return None
    keywords = (*(one for one in prepared.keywords if one.name is None or one.name not in own), *call.keywords)
    return ir.Call(first, (*prepared.args[1:], *call.args), keywords, call.at)


def _prepared(project: Project, file: str, function: int) -> dict[str, ir.Call]:
    """The variables of a body that hold a prepared call and nothing else."""
    found: dict[str, ir.Call] = {}
    bound: dict[str, int] = {}
    for one in statements(project.body(file, function)):
        for target in one.targets if type(one) is ir.Assign else ():
            if type(target) is not ir.Name:
                continue
            bound[target.id] = bound.get(target.id, 0) + 1
            value = one.value if type(one) is ir.Assign else None
            if type(value) is ir.Call and project.modules.dotted(value.func, file) == PARTIAL:
                found[target.id] = value
    return {name: call for name, call in found.items() if bound[name] == 1}


def _sees(project: Project, file: str, function: int, owner: int, name: str) -> bool:
    """Whether a name in a function means the variable of a body around it (or its own)."""
    for index in _outwards(project, file, function):
        if index == owner:
            return True
        one = project.module(file).functions[index]
        if name in project.flow(file, index).bound or any(parameter.name == name for parameter in one.parameters):
            return False
    return False


def _outwards(project: Project, file: str, function: int) -> Iterator[int]:
    """A function, those around it, and the module (-1)."""
    while function >= 0:
        yield function
        function = project.module(file).functions[function].parent
    yield -1
