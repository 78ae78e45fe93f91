"""The size of the job or the rank, asked while modules are imported: before there is a group, so that it is 1 or 0 in every process.

Parameters: those of ``guarded_asks``, ``starts`` (library functions and classes that start the group, or do so themselves), ``taking`` (how
the names of arguments look that are about the place of a process) and ``parting`` (how the names of library calls begin that take such
numbers at any place).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.early_uses import Kept, use_of
from distlint.checks.guarded_asks import GuardedAsks
from distlint.checks.import_order import import_starts, is_early
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.link.walking import below, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("asked-early")
def asked_early(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such question whose answer goes on to what is done with several processes."""
    project: Project = context.project
    starts = list(project.calls_to(set(context.parameters["starts"])))
    lasts = [name.rpartition(".")[2] for name in context.parameters["asks"]]
    if not starts or not any(project.sites(name) for name in lasts):
        return
    asks = GuardedAsks(context)
    at_import = import_starts(project, starts)
    for file in project.python_files:
        kept = list(_kept(project, asks, file))
        if not kept or not any(one.file in family(project, file) for one in starts):
            continue
        for one in kept:
            if not is_early(project, one.file, one.at, at_import):
                continue
            used = use_of(context, one)
            if used is None:
                continue
            word, number = ("rank", 0) if one.kind.endswith("rank") else ("size of the job", 1)
            yield context.finding(
                f"the {word} is asked while `{file.rpartition('/')[2]}` is imported: there is no group yet, so `{one.name}` is "
                f"{'made with ' if one.derived else ''}{number} in every process",
                ir.unpack(one.at, file),
                related=[
                    Related(used, "it is taken for that of the job here"),
                    Related(starts[0].span, "the group is started here, later"),
                ],
                symbol=one.name,
            )


# What keeps an answer -----------------------------------------------------------------------------------------------------


def _kept(project: Project, asks: GuardedAsks, file: str) -> Iterator[Kept]:
    """What keeps such answers from the import of a file on: variables, attributes of classes, default arguments."""
    module = project.module(file)
    yield from _variables(asks, file, module.body)
    for number, made in enumerate(module.classes):
        if made.parent >= 0:
            continue
        for statement in made.body:
            if type(statement) is ir.Assign and statement.value is not None:
                for name, kind, at in _named(asks, file, statement):
                    yield Kept(file, name, kind, at, owner=number, derived=_is_derived(asks, file, statement.value))
    for index, function in enumerate(module.functions):
        if function.parent >= 0:
            continue
        for parameter in function.parameters:
            if parameter.default is None:
                continue
            found = _asked_in(asks, file, parameter.default)
            if found is not None:
                derived = _is_derived(asks, file, parameter.default)
                yield Kept(file, parameter.name, found[0], found[1], function=index, derived=derived)


def _variables(asks: GuardedAsks, file: str, body: tuple[ir.Stmt, ...]) -> Iterator[Kept]:
    """The variables of a file, those that are worked out from others that keep an answer among them."""
    stored = [
        one
        for one in statements(body)
        if type(one) is ir.Assign and one.value is not None and _is_straight(asks, file, body, one)
    ]
    known: dict[str, Kept] = {}
    for statement in stored:
        named = list(_named(asks, file, statement)) or list(_chosen(asks, file, statement, stored, body))
        for name, kind, at in named:
            known[name] = Kept(file, name, kind, at, derived=_is_derived(asks, file, statement.value))
        if named or statement.value is None:
            continue
        source = next(
            (known[one.id] for one in below(statement.value) if type(one) is ir.Name and one.id in known), None
        )
        if source is not None and any(type(one) is ir.Operation for one in below(statement.value)):
            for target in statement.targets:
                if type(target) is ir.Name:
                    known[target.id] = source._replace(name=target.id, derived=True)
    yield from known.values()


def _is_straight(asks: GuardedAsks, file: str, body: tuple[ir.Stmt, ...], statement: ir.Stmt) -> bool:
    """Whether a statement is made whenever the file is imported, but for a question whether there is a group."""
    guards = guards_of(body, statement.at)
    return guards is not None and all(one.test is not None and asks.tells(one.test, file) for one in guards)


def _named(asks: GuardedAsks, file: str, statement: ir.Assign) -> Iterator[tuple[str, str, ir.Position]]:
    """The names that keep an answer, each with what is asked and where."""
    value = statement.value
    if value is None or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    if type(value) is ir.Call and last_name(value.func) == "field":
        value = next((word.value for word in value.keywords if word.name == "default"), value)
    kind = asks.kind(value, file)
    if isinstance(kind, tuple):
        if type(target) is ir.ListDisplay and len(target.items) == len(kind):
            for item, one in zip(target.items, kind, strict=True):
                if type(item) is ir.Name and one:
                    yield item.id, one, value.at
        return
    found = _asked_in(asks, file, value)
    if found is not None and type(target) is ir.Name:
        yield target.id, *found


def _asked_in(asks: GuardedAsks, file: str, value: ir.Expr) -> tuple[str, ir.Position] | None:
    """What is asked in an expression that is the answer or is computed from it."""
    kind = asks.kind(value, file)
    if isinstance(kind, str):
        return kind, value.at
    if type(value) is ir.Operation:
        return next(filter(None, (_asked_in(asks, file, one) for one in value.operands)), None)
    return None


def _is_derived(asks: GuardedAsks, file: str, value: ir.Expr | None) -> bool:
    return type(value) is ir.Operation and asks.kind(value, file) is None


def _chosen(
    asks: GuardedAsks, file: str, statement: ir.Assign, stored: list[ir.Assign], body: tuple[ir.Stmt, ...]
) -> Iterator[tuple[str, str, ir.Position]]:
    """``size = 1`` and then ``if is_initialized(): size = get_world_size()``."""
    kind = asks.asked(statement.value, file) if statement.value is not None else ""
    target = statement.targets[0]
    if not kind or type(target) is not ir.Name or not guards_of(body, statement.at):
        return
    others = [
        one.value
        for one in stored
        if one is not statement and any(type(name) is ir.Name and name.id == target.id for name in one.targets)
    ]
    if len(others) == 1 and asks.is_answer(others[0], kind):
        yield target.id, kind, statement.value.at  # type: ignore[union-attr]
