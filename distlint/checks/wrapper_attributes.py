"""Attributes of a wrapped module that are asked of the wrapper, which does not hand such questions on.

Parameters: ``wrappers`` (calls whose argument ``module`` is wrapped), ``own`` (the attributes that a wrapper has itself).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.loaders import made_at
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance
from distlint.link.modules import ClassRef, External
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("wrapper-attributes")
def wrapper_attributes(context: CheckContext) -> Iterator[Finding]:
    """A finding for each attribute that only the class inside has, where the object can be nothing but the wrapper."""
    project: Project = context.project
    wrappers = set(context.parameters["wrappers"])
    own = frozenset(context.parameters["own"].split())
    things = Things(project, (), (), wrappers)
    wanted: dict[str, set[ClassRef]] = {}
    files: set[str] = set()
    for site in project.calls_to(wrappers):
        owner = _wrapped(things, site)
        if owner is not None:
            files |= project.closure(site.file)
            for name in _names(project, owner) - own:
                wanted.setdefault(name, set()).add(owner)
    for file in sorted(files) if wanted else ():
        module = project.module(file) if file in project.python_files else None
        for function in range(-1, len(module.functions)) if module is not None else ():
            yield from _in_body(context, things, file, function, wanted)


def _in_body(
    context: CheckContext, things: Things, file: str, function: int, wanted: dict[str, set[ClassRef]]
) -> Iterator[Finding]:
    project: Project = context.project
    body = body_of(project, file, function)
    for statement in statements(body):
        targets = {id(one) for one in statement.targets} if isinstance(statement, ir.Assign) else set()
        for expr in expressions_of(statement):
            for part in below(expr):
                if not isinstance(part, ir.Attribute) or part.name not in wanted or id(part) in targets:
                    continue
                if handles_errors_around(body, part.at) or _asks_first(body, part):
                    continue
                wrapper = _wrapper(things, part.base, file, function)
                if wrapper is None or not wanted[part.name] & {_class_inside(things, wrapper)}:
                    continue
                owner = _class_inside(things, wrapper)
                assert owner is not None  # noqa: S101 - in the set
                yield context.finding(
                    f"`{part.name}` belongs to `{project.class_(owner).name}`, but `{_text(part.base)}` is the wrapper",
                    ir.unpack(part.at, file),
                    related=[Related(wrapper.span(), "the model is wrapped here")],
                    symbol=f"{project.class_(owner).name}.{part.name}",
                )


def _asks_first(body: tuple[ir.Stmt, ...], part: ir.Attribute) -> bool:
    """Whether a test on the way asks what kind of object it is."""
    for guard in guards_of(body, part.at) or ():
        for one in below(guard.test) if guard.test is not None and guard.kind != "for" else ():
            if isinstance(one, ir.Name) and one.id in ("hasattr", "isinstance", "type", "getattr"):
                return True
    return False


def _wrapper(things: Things, base: ir.Expr, file: str, function: int) -> Instance | None:
    """The wrapper that an expression is, if it can be nothing else."""
    if not isinstance(base, ir.Name | ir.Attribute | ir.Call):
        return None
    mention = things.mention(base, things.evaluator.frame(file, function))
    if mention.only is None:
        return None
    found = mention.options[0]
    is_plain = isinstance(found.callee, External) and not found.part
    return found if is_plain and things.made_by(found) in things.wrappers else None


def _class_inside(things: Things, wrapper: Instance) -> ClassRef | None:
    inner = things.argument(wrapper, "module", 0)
    if inner is None:
        return None
    mention = things.mention(inner, wrapper.frame, wrapper.state)
    callee = mention.options[0].callee if mention.only is not None else None
    return callee if isinstance(callee, ClassRef) and not mention.options[0].part else None


def _wrapped(things: Things, site: CallSite) -> ClassRef | None:
    """The class of the project that a call wraps."""
    if any(keyword.name is None for keyword in site.site.call.keywords):
        return None
    return _class_inside(things, made_at(things.project, site))


def _names(project: Project, owner: ClassRef) -> set[str]:
    """The methods of a class of the project, and the attributes that its objects get."""
    found = set(project.attribute_stores(owner))
    for one in project.modules.ancestry(owner):
        found |= {function.name for function in project.module(one.file).functions if function.owner == one.index}
    return {name for name in found if not name.startswith("__")}


def _text(expr: ir.Expr) -> str:
    if isinstance(expr, ir.Attribute):
        return f"{_text(expr.base)}.{expr.name}"
    return expr.id if isinstance(expr, ir.Name) else "it"
