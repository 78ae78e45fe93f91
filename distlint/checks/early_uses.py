"""What a program does with a number that was kept while its modules were imported.

Parameters: ``taking`` and ``parting``, see ``asked_early``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.programs import family
from distlint.checks.spread_names import calls_of
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef
from distlint.link.stores import stored_into
from distlint.link.walking import below, bound_names, expressions_of, statements
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

_COUNTING = frozenset({"/", "//", "%", "*"})
_COMPARING = frozenset({"<", ">", "<=", ">=", "==", "!="})
_SAYING = frozenset({"print", "info", "debug", "warning", "log", "rank_zero_info"})


class Kept(NamedTuple):
    """What keeps an answer: a variable of a file, an attribute of a class (``owner``), or a parameter of a ``function``.

    ``kind`` is the last name of what is asked at ``at``; ``derived`` where the answer is only a part of what is kept.
    """

    file: str
    name: str
    kind: str
    at: ir.Position
    owner: int = -1
    function: int = -1
    derived: bool = False


def use_of(context: CheckContext, kept: Kept) -> Span | None:
    """Where a program takes a kept number for that of the job; ``None`` where it does not, or may keep another one by then."""
    project: Project = context.project
    if kept.function >= 0:
        return _use_of_parameter(context, kept)
    if kept.owner >= 0:
        return None if _is_given(project, kept) else _use_of_attribute(context, kept)
    if project.global_writers(kept.file).get(kept.name) or project.outside_stores(kept.name):
        return None
    for file in sorted(family(project, kept.file) & set(project.python_files)):
        for index, function in enumerate(project.module(file).functions):
            own = {one.name for one in function.parameters} | _bound(function.body)

            def reads(expr: ir.Expr, file: str = file, own: set[str] = own) -> bool:
                if type(expr) is ir.Name and (expr.id in own or (file == kept.file and expr.id != kept.name)):
                    return False
                if type(expr) not in (ir.Name, ir.Attribute):
                    return False
                return project.modules.resolve(expr, file) == GlobalRef(kept.file, kept.name)

            found = _first_use(context, kept, file, index, reads)
            if found is not None:
                return found
    return None


def _use_of_parameter(context: CheckContext, kept: Kept) -> Span | None:
    project: Project = context.project
    ref = FunctionRef(kept.file, kept.function)
    function = project.function(ref)
    position = next(at for at, one in enumerate(function.parameters) if one.name == kept.name)
    left_out = False
    for caller in project.callers(ref):
        given, certain = find_argument(caller.site.call, kept.name, position - (function.owner >= 0) + caller.shift)
        left_out = left_out or (given is None and certain)
    if not left_out or kept.name in _bound(function.body):
        return None
    found = _first_use(
        context, kept, kept.file, kept.function, lambda one: type(one) is ir.Name and one.id == kept.name
    )
    if found is not None or function.owner < 0:
        return found
    # what the object keeps of it
    own = function.parameters[0].name
    names = {
        target.name
        for one in statements(function.body)
        if type(one) is ir.Assign and type(one.value) is ir.Name and one.value.id == kept.name
        for target in one.targets
        if type(target) is ir.Attribute and type(target.base) is ir.Name and target.base.id == own
    }
    for name in sorted(names):
        stores = project.attribute_stores(ClassRef(kept.file, function.owner)).get(name, [])
        if len(stores) == 1 and not project.outside_stores(name):
            found = _use_of_attribute(context, kept._replace(name=name, owner=function.owner))
            if found is not None:
                return found
    return None


def _use_of_attribute(context: CheckContext, kept: Kept) -> Span | None:
    project: Project = context.project
    evaluator = project.evaluator(None)
    owner = ClassRef(kept.file, kept.owner)
    for file in sorted(family(project, kept.file) & set(project.python_files)):
        if kept.name not in project.module(file).attributes:
            continue
        for index, function in enumerate(project.module(file).functions):
            inside = function.owner >= 0 and bool(function.parameters)
            own = function.parameters[0].name if inside and ClassRef(file, function.owner) == owner else ""

            def reads(expr: ir.Expr, file: str = file, index: int = index, own: str = own) -> bool:
                if type(expr) is not ir.Attribute or expr.name != kept.name:
                    return False
                if own and type(expr.base) is ir.Name and expr.base.id == own:
                    return True
                if project.modules.resolve(expr.base, file) == owner:
                    return True
                options = options_of(evaluator.ask(expr.base, file, index))
                return any(isinstance(one, Instance) and one.callee == owner and not one.part for one in options)

            found = _first_use(context, kept, file, index, reads)
            if found is not None:
                return found
    return None


def _is_given(project: Project, kept: Kept) -> bool:
    """Whether an attribute may be given another value than that of the class: stored, handed over, or set by its name."""
    owner = ClassRef(kept.file, kept.owner)
    stores = project.attribute_stores(owner).get(kept.name, [])
    if len(stores) > 1 or project.outside_stores(kept.name):
        return True
    fields = [
        target.id
        for one in project.class_(owner).body
        if type(one) is ir.Assign and one.annotation is not None
        for target in one.targets
        if type(target) is ir.Name
    ]
    position = fields.index(kept.name) if kept.name in fields else len(fields)
    for name in (project.class_(owner).name, "replace"):
        for site in project.sites(name):
            if any(word.name == kept.name for word in site.site.call.keywords):
                return True
            if name != "replace" and (
                len(site.site.call.args) > position or any(type(one) is ir.Starred for one in site.site.call.args)
            ):
                return True
    said = re.compile(rf"""["']-*{re.escape(kept.name)}["']""")
    return any(said.search(project.text_of(one)) for one in family(project, kept.file))


def _first_use(context: CheckContext, kept: Kept, file: str, index: int, reads: object) -> Span | None:
    """The first place of a function that takes the number for that of the job."""
    assert callable(reads)  # noqa: S101 - a function of this module
    project: Project = context.project
    body = project.module(file).functions[index].body
    started = [call.at for call in calls_of(body) if _starts(context, call, file)]
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                # a number that is read before may decide whether there is a group at all
                if any(part.at < at for at in started):
                    continue
                if reads(part) and (kept.derived or _counts(context, kept, statement, expr, part, file)):
                    return ir.unpack(part.at, file)
    return None


def _starts(context: CheckContext, call: ir.Call, file: str) -> bool:
    """Whether a call starts the group, itself or in the function of the project that it calls."""
    project: Project = context.project
    names = context.parameters["starts"]
    target = project.modules.resolve(call.func, file, library=True)
    if isinstance(target, FunctionRef):
        inner = calls_of(project.function(target).body)
        return any(project.modules.dotted(one.func, target.file) in names for one in inner)
    return project.modules.dotted(call.func, file) in names


def _counts(context: CheckContext, kept: Kept, statement: ir.Stmt, expr: ir.Expr, read: ir.Expr, file: str) -> bool:
    """Whether what stands around a number takes it for that of the job."""
    taking, parting = re.compile(context.parameters["taking"]), tuple(context.parameters["parting"])
    tested = type(statement) in (ir.If, ir.While) and any(one is read for one in below(expr))
    if tested and not _only_says(statement):
        return True
    for around in below(expr):
        if type(around) is ir.Operation and any(one is read for one in around.operands):
            if _COUNTING & set(around.operators) or (
                _COMPARING & set(around.operators) and not tested and not kept.kind.endswith("rank")
            ):
                return True
        elif type(around) is ir.Call:
            if any(
                word.value is read and word.name is not None and taking.search(word.name) for word in around.keywords
            ):
                return True
            named = context.project.modules.dotted(around.func, file)
            if (
                any(one is read for one in around.args)
                and (named.startswith(parting) or named in ("range", ""))
                and (named or (type(around.func) is ir.Name and around.func.id in ("range", "islice")))
            ):
                return True
        elif type(around) is ir.Slice and any(one is read for one in (around.lower, around.step)):
            return True
    return False


def _only_says(statement: ir.Stmt) -> bool:
    """Whether nothing but printing depends on a test."""
    inside = [one for block in _blocks(statement) for one in statements(block)]
    return all(
        type(one) is ir.Evaluate
        and type(one.value) is ir.Call
        and (one.value.func.id if type(one.value.func) is ir.Name else getattr(one.value.func, "name", "")) in _SAYING
        for one in inside
    )


def _blocks(statement: ir.Stmt) -> Iterator[tuple[ir.Stmt, ...]]:
    if type(statement) is ir.If:
        yield statement.body
        yield statement.orelse
    elif type(statement) is ir.While:
        yield statement.body


def _bound(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The names that a function binds itself."""
    return {
        name
        for one in statements(body)
        for target in stored_into(one)
        if type(target) in (ir.Name, ir.ListDisplay)
        for name in bound_names(target)
    }
