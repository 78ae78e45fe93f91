"""A loss that a method of a library's training loop divides by a number of items of all ranks, before the gradients are averaged over them.

Parameters: ``bases`` and ``methods`` (see ``overridden-steps``), ``items`` (the parameter of the method that gets the number), ``subject``
with ``setting`` (the settings by which the number may be that of each rank alone), ``models`` (parts of the names of models for which
the library counts), ``labels`` (what a batch has to hold for it to count), and ``asking`` (last names of functions that do the whole
themselves).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.derivations import RANK_WORDS
from distlint.checks.execution import body_of
from distlint.checks.overridden_steps import methods_of
from distlint.checks.preparing import last_name
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.judge.versions import satisfies
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_DEPTH = 2
_AROUND = frozenset({"float", "int", "max", "clamp", "clamp_min", "item", "to", "type_as", "tensor"})
"""Calls that give the same number again, or another form of it."""


@check("loss-divided-twice")
def loss_divided_twice(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such division."""
    project: Project = context.project
    for owner, index, function in methods_of(context):
        given = next((one for one in function.parameters if one.name == context.parameters["items"]), None)
        labels = context.parameters["labels"]
        text = project.text_of(owner.file)
        if f'"{labels}"' not in text and f"'{labels}'" not in text:
            continue
        if given is None or _knows_ranks(context, owner) or not _is_counted(context, owner):
            continue
        found = next(_divisions(project, owner.file, index, given.name, 0), None)
        if found is None:
            continue
        at, file = found
        yield context.finding(
            f"the loss is divided by `{given.name}`, the number of items of all ranks, and its gradients by the number of ranks as well",
            ir.unpack(at, file),
            related=[Related(ir.unpack(given.at, owner.file), "this is the number of items of all ranks")],
            symbol=given.name,
        )


def _knows_ranks(context: CheckContext, owner: ClassRef) -> bool:
    """Whether something in a class has to do with the number of ranks, or hands the whole on."""
    project: Project = context.project
    for one in project.module(owner.file).functions:
        if one.owner != owner.index:
            continue
        for statement in statements(one.body):
            for expr in expressions_of(statement):
                for part in below(expr):
                    name = last_name(part)
                    if name and (RANK_WORDS.search(name) or name in context.parameters["asking"] or name == "n_gpu"):
                        return True
        if any(last_name(call.func) == one.name and _is_super(call.func) for call in calls_in(one.body)):
            return True
    return False


def _is_super(func: ir.Expr) -> bool:
    base = func.base if type(func) is ir.Attribute else None
    return type(base) is ir.Call and last_name(base.func) == "super"


def _is_counted(context: CheckContext, owner: ClassRef) -> bool:
    """Whether the loop counts the items of all ranks for what the class is made with."""
    project: Project = context.project
    made = [
        site
        for site in project.sites(project.class_(owner).name)
        if project.modules.resolve(site.site.call.func, site.file) == owner
    ]
    if not made:
        return False
    for site in made:
        given, _ = find_argument(site.site.call, "model", 0)
        if given is None:
            return False
        options = options_of(project.evaluator(None).ask(given, site.file, site.site.function))
        if not all(_counts_for(context, one) for one in options):
            return False
        versions = project.environments.for_file(site.file)
        if not all(satisfies(versions, *one) for one in context.rule.versions.items()):
            return False
        files = family(project, site.file)
        for subject in context.subjects(context.parameters["subject"]):
            setting = subject.settings.get(context.parameters["setting"])
            alone = subject.run is not None and subject.run.world_size.only == 1
            told = setting is not None and setting.value.only is not True
            if subject.span.file in files and (told or alone or (setting is None and subject.open_blocks)):
                return False
    return True


def _counts_for(context: CheckContext, model: object) -> bool:
    if not isinstance(model, Instance):
        return False
    project: Project = context.project
    if isinstance(model.callee, ClassRef):
        forward = project.modules.method(model.callee, "forward")
        return forward is not None and any(one.kind == "var-keyword" for one in project.function(forward).parameters)
    name = project.evaluator(None).instance_name(model)
    return any(word in name for word in context.parameters["models"])


def _divisions(project: Project, file: str, index: int, name: str, depth: int) -> Iterator[tuple[ir.Position, str]]:
    """Where something is divided by a variable of a function, also in functions that it is given to."""
    body = body_of(project, file, index)
    names = {name}
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None and _is_it(statement.value, names):
            names |= {one.id for one in statement.targets if type(one) is ir.Name}
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator == "/" and _is_it(statement.value, names):
            yield statement.at, file
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and "/" in part.operators:
                    if any(
                        operator == "/" and _is_it(operand, names)
                        for operator, operand in zip(part.operators, part.operands[1:], strict=False)
                    ):
                        yield part.at, file
                elif type(part) is ir.Call:
                    if last_name(part.func) in ("div", "div_") and part.args and _is_it(part.args[-1], names):
                        yield part.at, file
                    if depth < _DEPTH:
                        yield from _in_called(project, file, part, names, depth)


def _in_called(
    project: Project, file: str, call: ir.Call, names: set[str], depth: int
) -> Iterator[tuple[ir.Position, str]]:
    target = project.modules.resolve(call.func, file)
    if not isinstance(target, FunctionRef):
        return
    for position, one in enumerate(project.function(target).parameters):
        given, _ = find_argument(call, one.name, position)
        if given is not None and _is_it(given, names) and not _has_rank(project, target):
            yield from _divisions(project, target.file, target.index, one.name, depth + 1)


def _has_rank(project: Project, ref: FunctionRef) -> bool:
    return any(
        RANK_WORDS.search(last_name(part) or "")
        for statement in statements(project.function(ref).body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def _is_it(expr: ir.Expr, names: set[str]) -> bool:
    """Whether an expression is one of some variables, in whatever form."""
    if type(expr) is ir.Name:
        return expr.id in names
    if type(expr) is ir.Conditional:
        return _is_it(expr.body, names) or _is_it(expr.orelse, names)
    if type(expr) is ir.Call and last_name(expr.func) in _AROUND:
        base = [expr.func.base] if type(expr.func) is ir.Attribute else []
        return any(_is_it(one, names) for one in (*base, *expr.args))
    return False
