"""A loss that a method of a library's training loop divides by a number of items of all ranks, before the gradients are averaged over them.

Parameters: ``bases`` and ``methods`` (see ``overridden-steps``), ``items`` (the parameter of the method that gets the number), ``subject``
with ``setting`` (the settings by which the number may be that of each rank alone), ``models`` (parts of the names of models for which
the library counts), ``unless`` (the attribute by which a model says whether it does), ``labels`` (what a batch has to hold for it to
count), ``counting`` (methods that count or use the number, where a class replaces them as well), and ``asking`` (last names of functions
that do the whole themselves).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from distlint.checks.derivations import RANK_WORDS
from distlint.checks.execution import body_of
from distlint.checks.overridden_steps import methods_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.judge.versions import satisfies
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import is_static
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, bodies_of, calls_in, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_DEPTH = 2
_AROUND = frozenset({"float", "int", "max", "clamp", "clamp_min", "item", "to", "type_as", "tensor"})
"""Calls that give the same number again, or another form of it."""

_DIVIDING = frozenset({"div", "div_", "divide", "divide_", "true_divide"})
_WHICH_NAMES = (
    "is_world_process_zero is_local_process_zero is_main_process is_local_main_process "
    "process_index local_process_index rank local_rank"
)
_WHICH = frozenset(_WHICH_NAMES.split())
"""Names by which a process asks which one it is."""


class _Items(NamedTuple):
    """The variables of a function that hold the number of items, and the one that holds all other keywords, it among them."""

    names: frozenset[str]
    spread: str = ""
    word: str = ""


@check("loss-divided-twice")
def loss_divided_twice(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such division."""
    project: Project = context.project
    word = context.parameters["items"]
    for owner, index, function in methods_of(context):
        given = next((one for one in function.parameters if one.name == word), None)
        spread = next((one for one in function.parameters if one.kind == "var-keyword"), None)
        given, rest = (given, "") if given is not None or spread is None else (spread, spread.name)
        labels = context.parameters["labels"]
        text = project.text_of(owner.file)
        if f'"{labels}"' not in text and f"'{labels}'" not in text:
            continue
        if given is None:
            continue
        items = _Items(frozenset() if rest else frozenset({word}), rest, word)
        found = next(_divisions(project, FunctionRef(owner.file, index), items, 0), None)
        if found is None:
            continue
        users = _users(project, owner, function.name)
        if _knows_ranks(context, users) or not _is_counted(context, users):
            continue
        at, file = found
        yield context.finding(
            f"the loss is divided by `{word}`, the number of items of all ranks, and its gradients by the number of ranks as well",
            ir.unpack(at, file),
            related=[Related(ir.unpack(given.at, owner.file), "this is the number of items of all ranks")],
            symbol=word,
        )


def _users(project: Project, owner: ClassRef, name: str) -> list[ClassRef]:
    """The classes of which a method is the one that a class defines: itself, and those below that keep it."""
    wanted = project.modules.method(owner, name)
    return [
        one
        for file in project.python_files
        for one in (ClassRef(file, number) for number in range(len(project.module(file).classes)))
        if owner in project.modules.ancestry(one) and project.modules.method(one, name) == wanted
    ]


def _knows_ranks(context: CheckContext, users: list[ClassRef]) -> bool:
    """Whether something in classes has to do with the number of ranks, counts the items itself, or hands the whole on."""
    project: Project = context.project
    parameters = context.parameters
    around = [one for user in users for one in project.modules.ancestry(user)]
    seen: set[FunctionRef] = set()
    for owner in dict.fromkeys(around):
        own = project.modules.own_methods(owner)
        if own.keys() & set(parameters["counting"]):
            return True
        seen |= {FunctionRef(owner.file, index) for index in own.values()}
    for method in list(seen):
        if any(
            last_name(call.func) in parameters["methods"] and _is_super(call.func) for call in _calls(project, method)
        ):
            return True
    level = list(seen)
    for _ in range(_DEPTH):
        if any(_has_rank(project, one, parameters["asking"]) for one in level):
            return True
        called = {project.modules.resolve(call.func, one.file) for one in level for call in _calls(project, one)}
        level = [one for one in called if isinstance(one, FunctionRef) and one not in seen]
        seen.update(level)
    return any(_has_rank(project, one, parameters["asking"]) for one in level)


def _calls(project: Project, ref: FunctionRef) -> Iterator[ir.Call]:
    return calls_in(project.function(ref).body)


def _is_super(func: ir.Expr) -> bool:
    base = func.base if type(func) is ir.Attribute else None
    return type(base) is ir.Call and last_name(base.func) == "super"


def _is_counted(context: CheckContext, users: list[ClassRef]) -> bool:
    """Whether the loop counts the items of all ranks for what the classes are made with."""
    project: Project = context.project
    made = [
        site
        for owner in users
        for site in project.sites(project.class_(owner).name)
        if project.modules.resolve(site.site.call.func, site.file) == owner
    ]
    if not made:
        return False
    for site in made:
        if any(_may_count(part, ()) for part in below(site.site.call)):
            return False  # it may be told the number
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
        if any(context.parameters["setting"] in _stored(project, file) for file in files):
            return False
        for subject in context.subjects(context.parameters["subject"]):
            setting = subject.settings.get(context.parameters["setting"])
            alone = subject.run is not None and subject.run.world_size.only == 1
            told = setting is not None and setting.value.only is not True
            if subject.span.file in files and (told or alone or (setting is None and subject.open_blocks)):
                return False
    return True


def _stored(project: Project, file: str) -> set[str]:
    """The attributes that a file assigns to."""
    return {
        target.name
        for _, body in bodies_of(project.module(file))
        for statement in statements(body)
        if type(statement) is ir.Assign
        for target in statement.targets
        if type(target) is ir.Attribute
    }


def _counts_for(context: CheckContext, model: object) -> bool:
    if not isinstance(model, Instance):
        return False
    project: Project = context.project
    if isinstance(model.callee, ClassRef):
        if any(
            context.parameters["unless"] in project.text_of(one.file) for one in project.modules.ancestry(model.callee)
        ):
            return False
        forward = project.modules.method(model.callee, "forward")
        return forward is not None and any(one.kind == "var-keyword" for one in project.function(forward).parameters)
    name = project.evaluator(None).instance_name(model)
    return any(word in name for word in context.parameters["models"])


def _divisions(project: Project, ref: FunctionRef, given: _Items, depth: int) -> Iterator[tuple[ir.Position, str]]:
    """Where something is divided by a variable of a function, also in functions that it is given to."""
    file = ref.file
    body = body_of(project, file, ref.index)
    items = given
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None and _is_it(statement.value, items):
            found = {one.id for one in statement.targets if type(one) is ir.Name}
            items = items._replace(names=items.names | found)
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator == "/" and _is_it(statement.value, items):
            yield statement.at, file
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and "/" in part.operators:
                    if any(
                        operator == "/" and _is_it(operand, items)
                        for operator, operand in zip(part.operators, part.operands[1:], strict=False)
                    ):
                        yield part.at, file
                elif type(part) is ir.Call:
                    if last_name(part.func) in _DIVIDING and part.args and _is_it(part.args[-1], items):
                        yield part.at, file
                    if depth < _DEPTH:
                        yield from _in_called(project, ref, part, items, depth)


def _in_called(
    project: Project, ref: FunctionRef, call: ir.Call, items: _Items, depth: int
) -> Iterator[tuple[ir.Position, str]]:
    target = project.modules.resolve(call.func, ref.file)
    shift = 0
    if not isinstance(target, FunctionRef):
        target, shift = _own_method(project, ref, call.func), 1
    if target is None:
        return
    for position, one in enumerate(project.function(target).parameters):
        given, _ = find_argument(call, one.name, position - shift) if position >= shift else (None, True)
        if given is not None and _is_it(given, items) and not _has_rank(project, target):
            yield from _divisions(project, target, _Items(frozenset({one.name})), depth + 1)


def _own_method(project: Project, ref: FunctionRef, func: ir.Expr) -> FunctionRef | None:
    """The method of the same object that is called."""
    function = project.function(ref)
    if function.owner < 0 or type(func) is not ir.Attribute or not function.parameters:
        return None
    if last_name(func.base) != function.parameters[0].name:
        return None
    found = project.modules.method(ClassRef(ref.file, function.owner), func.name)
    # of a static method the first parameter is an argument
    return None if found is None or is_static(project.function(found)) else found


def _has_rank(project: Project, ref: FunctionRef, asking: Collection[str] = ()) -> bool:
    """Whether a function may know the number of ranks, or does the whole itself."""
    return any(
        _may_count(part, asking)
        for statement in statements(project.function(ref).body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def _may_count(part: ir.Expr, asking: Collection[str]) -> bool:
    """Whether something by its name may be the number of ranks; which of them this is makes no factor."""
    name = last_name(part) or (part.value if type(part) is ir.Constant and isinstance(part.value, str) else "")
    if not name or name in _WHICH:
        return False
    return bool(RANK_WORDS.search(name)) or name in asking or name in ("n_gpu", "device_count")


def _is_it(expr: ir.Expr, items: _Items) -> bool:
    """Whether an expression is one of some variables, in whatever form."""
    if type(expr) is ir.Name:
        return expr.id in items.names
    if type(expr) is ir.Conditional:
        return _is_it(expr.body, items) or _is_it(expr.orelse, items)
    if type(expr) is ir.Operation and set(expr.operators) == {"or"}:
        return _is_it(expr.operands[0], items)
    if type(expr) is ir.Subscript:
        return _is_word(expr.base, expr.index, items)
    if type(expr) is ir.Call and last_name(expr.func) in ("get", "pop") and type(expr.func) is ir.Attribute:
        return bool(expr.args) and _is_word(expr.func.base, expr.args[0], items)
    if type(expr) is ir.Call and last_name(expr.func) in _AROUND:
        base = [expr.func.base] if type(expr.func) is ir.Attribute else []
        return any(_is_it(one, items) for one in (*base, *expr.args))
    return False


def _is_word(base: ir.Expr, key: ir.Expr, items: _Items) -> bool:
    """Whether the number is taken out of the keywords that nobody else took."""
    return (
        bool(items.spread) and last_name(base) == items.spread and type(key) is ir.Constant and key.value == items.word
    )
