"""Data sets that are told the epoch while the workers of their loader keep copies from before.

Parameters: ``loaders`` with their positional ``signature``, ``workers`` and ``keeping`` (the arguments that say how many workers there are,
and whether they live on), ``restarting`` (names whose mention may mean that the workers are started again).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, loops_around, made_at, starts_once
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.stores import stored_into
from distlint.link.walking import expressions_below, names_below, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_NOT_IN_WORKERS = frozenset({"__init__", "__len__", "__repr__", "state_dict", "load_state_dict"})
"""Methods that the process of the program calls."""


@check("persistent-copies")
def persistent_copies(context: CheckContext) -> Iterator[Finding]:
    """A finding for each call or assignment that tells a data set something of which the workers' copies hear nothing."""
    project: Project = context.project
    if not project.mentions(context.parameters["keeping"]):
        return
    for site in project.calls_to(set(context.parameters["loaders"])):
        loader = made_at(project, site)
        dataset = _dataset(context, loader) if _keeps_workers(context, loader) else None
        if dataset is None or not starts_once(project, site.file, site.site.function, site.site.call.at):
            continue
        files = [one for one in sorted(family(project, site.file)) if one in project.facts]
        if any(project.module(one).attributes & set(context.parameters["restarting"]) for one in files):
            continue
        for told, name in _told(project, files, dataset, loader, site):
            yield context.finding(
                f"`{name}` is changed in the data set of this process only: the workers keep the copies that they started with",
                told,
                related=[Related(site.span, "the workers of this loader live on from epoch to epoch")],
            )
            break


def _keeps_workers(context: CheckContext, loader: Instance) -> bool:
    """Whether a loader certainly has workers that live on."""
    found = []
    for name in (context.parameters["workers"], context.parameters["keeping"]):
        expr, options, known = argument_of(context.project, loader, name, context.parameters["signature"])
        values = [one.value.only if isinstance(one, Leaf) and one.value.is_known else None for one in options]
        found.append(
            expr is not None and known and bool(values) and all(isinstance(one, int) and one for one in values)
        )
    return all(found)


def _dataset(context: CheckContext, loader: Instance) -> Instance | None:
    """The data set of a class of the project that a loader certainly gets."""
    _, options, _ = argument_of(context.project, loader, "dataset", context.parameters["signature"])
    made = options[0] if len(options) == 1 else None
    return made if isinstance(made, Instance) and not made.part and isinstance(made.callee, ClassRef) else None


def _told(
    project: Project, files: list[str], dataset: Instance, loader: Instance, site: CallSite
) -> Iterator[tuple[Span, str]]:
    """Where a loop changes an attribute of a data set that its workers read, and the name of the attribute."""
    owner = dataset.callee
    if not isinstance(owner, ClassRef):
        return
    setters = {
        project.function(method).name: (method, name)
        for name, stores in project.attribute_stores(owner).items()
        for method, value, _ in stores
        if _takes(project, method, value) and _is_read(project, owner, name, method)
    }
    for setter, (method, name) in sorted(setters.items(), key=lambda one: one[0]):
        for call in project.sites(setter):
            func = call.site.call.func
            if call.file not in files or type(func) is not ir.Attribute:
                continue
            where = (call.file, call.site.function)
            if where == (method.file, method.index) or not _is_the_one(project, func.base, *where, dataset, loader):
                continue
            if any(True for _ in loops_around(project, *where, call.site.call.at)):
                yield call.span, name
    yield from _stored(project, site.file, dataset, loader, owner)


def _takes(project: Project, method: FunctionRef, value: ir.Expr | None) -> bool:
    """Whether a method that the program calls stores what it is given, as it is or made into something else."""
    function = project.function(method)
    if value is None or function.name.startswith("__"):
        return False
    return bool({one.name for one in function.parameters[1:]} & set(names_below(value)))


def _is_read(project: Project, owner: ClassRef, name: str, setter: FunctionRef | None) -> bool:
    """Whether a method that workers may run reads an attribute of the object."""
    functions = project.module(owner.file).functions
    return any(
        function.owner == owner.index
        and function.name not in _NOT_IN_WORKERS
        and (setter is None or index != setter.index or owner.file != setter.file)
        and any(type(one) is ir.Attribute and one.name == name for one in expressions_below(function.body))
        for index, function in enumerate(functions)
    )


def _stored(
    project: Project, file: str, dataset: Instance, loader: Instance, owner: ClassRef
) -> Iterator[tuple[Span, str]]:
    """Assignments to attributes of the data set in a loop of the file that makes the loader."""
    for function in range(-1, len(project.module(file).functions)):
        for statement in statements(body_of(project, file, function)):
            if type(statement) is not ir.Assign or statement.value is None:
                continue
            for target in stored_into(statement):
                if type(target) is not ir.Attribute or not _is_read(project, owner, target.name, None):
                    continue
                if type(target.base) is ir.Name and target.base.id == "self":
                    continue
                if not _is_the_one(project, target.base, file, function, dataset, loader):
                    continue
                if any(True for _ in loops_around(project, file, function, statement.at)):
                    yield ir.unpack(statement.at, file), target.name


def _is_the_one(project: Project, expr: ir.Expr, file: str, function: int, dataset: Instance, loader: Instance) -> bool:
    """Whether an expression certainly is the data set, by its own name or as that of its loader."""
    evaluator = project.evaluator(None)
    options = options_of(evaluator.ask(expr, file, function))
    if options and all(isinstance(one, Instance) and one.identity == dataset.identity for one in options):
        return True
    if type(expr) is ir.Attribute and expr.name == "dataset":
        options = options_of(evaluator.ask(expr.base, file, function))
        return bool(options) and all(isinstance(one, Instance) and one.identity == loader.identity for one in options)
    return False
