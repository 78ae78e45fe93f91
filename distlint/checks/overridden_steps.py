"""Methods of a library's training loop that a subclass replaces, and that leave out what the loop did for several processes.

Parameters: ``fault``: ``model`` (the step calls the model past its wrapper), ``attribute`` (it asks the wrapper for an attribute of the
model) or ``loader`` (it gives a loader that nothing parts); ``bases`` (library classes with that loop), ``methods`` (by name, the
position of the parameter that gets the wrapped model), ``own`` (the attribute of the object that holds the model itself), ``unwrap``
(last names of calls that take the wrapper off), ``silent`` (contexts without gradients); for ``attribute`` those of
``wrapped-attribute``; for ``loader`` ``loaders``, ``signature``, ``plain-samplers``, ``telling`` (other arguments of a loader that may
part the data) and ``given`` (attributes that objects hold as they are given them, with their positions).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from distlint.checks.derivations import Part, derivation, derivation_of_body, derivation_without_rank
from distlint.checks.execution import handles_errors_around
from distlint.checks.loaders import argument_of, is_none
from distlint.checks.preparing import texts_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.wrapped_attribute import asks_for_wrapper, names_of_model
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, calls_in, expressions_of, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

MAX_HELPERS = 3
"""Functions of the project that are followed one inside the other from a step."""


@check("overridden-steps")
def overridden_steps(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for, in the classes below one of the bases."""
    judge = _FAULTS[context.parameters["fault"]]
    for owner, index, function in methods_of(context):
        yield from judge(context, owner, index, function)


def methods_of(context: CheckContext) -> Iterator[tuple[ClassRef, int, ir.Function]]:
    """The replaced methods of classes below the bases, also where another base of the project brings them."""
    project: Project = context.project
    bases = frozenset(context.parameters["bases"])
    seen: set[tuple[str, int]] = set()
    for file in project.python_files:
        for number in range(len(project.module(file).classes)):
            owner = ClassRef(file, number)
            if not bases & project.modules.external_bases(owner):
                continue
            for name in context.parameters["methods"]:
                method = project.modules.method(owner, name)
                if method is not None and (method.file, method.index) not in seen:
                    seen.add((method.file, method.index))
                    function = project.function(method)
                    yield ClassRef(method.file, function.owner), method.index, function


def _model(context: CheckContext, owner: ClassRef, index: int, function: ir.Function) -> Iterator[Finding]:
    position = context.parameters["methods"][function.name]
    if position >= len(function.parameters):
        return
    given, me = function.parameters[position].name, function.parameters[0].name
    calls = list(calls_in(function.body))
    if any(_hands(context, call, given) for call in calls):
        return
    aliases = {f"{me}.{context.parameters['own']}", f"{given}.module"}
    for statement in statements(function.body):
        if (
            type(statement) is ir.Assign
            and statement.value is not None
            and _is_bare(context, statement.value, aliases, given)
        ):
            aliases.update(texts_of(target) for target in statement.targets if texts_of(target))
    for call in calls:
        if _is_silent(context, owner.file, function.body, call.at):
            continue
        func = call.func
        if texts_of(func) in aliases or (
            type(func) is ir.Attribute and func.name == "forward" and texts_of(func.base) in aliases
        ):
            what = texts_of(func)
        elif (
            last_name(func) in context.parameters["methods"]
            and call.args
            and _is_bare(context, call.args[0], aliases, given)
        ):
            first = call.args[0]
            what = texts_of(first.func if type(first) is ir.Call else first) or f"{given}.module"
        elif type(func) in (ir.Call, ir.Conditional) and _is_bare(context, func, aliases, given):
            what = texts_of(func.func) if type(func) is ir.Call else f"{given}.module"
        else:
            continue
        yield context.finding(
            f"`{function.name}` computes the loss by `{what}`, past the wrapped model that it is given: gradients are not averaged",
            ir.unpack(call.at, owner.file),
            related=[Related(ir.unpack(function.parameters[position].at, owner.file), "this is the wrapped model")],
        )
        return
    helped = _in_helpers(context, FunctionRef(owner.file, index), aliases)
    if helped is not None:
        way, target, called = helped
        yield context.finding(
            f"`{function.name}` computes the loss by `{texts_of(called.func)}`, past the wrapped model that it is given: "
            "gradients are not averaged",
            ir.unpack(called.at, target.file),
            related=[
                Related(ir.unpack(function.parameters[position].at, owner.file), "this is the wrapped model"),
                Related(ir.unpack(way.at, owner.file), f"`{last_name(way.func)}` is called without it"),
            ],
        )


def _in_helpers(
    context: CheckContext, step: FunctionRef, aliases: set[str], depth: int = 0
) -> tuple[ir.Call, FunctionRef, ir.Call] | None:
    """A call of a step that goes to a function of the project which calls the model without its wrapper, that function and that call."""
    project: Project = context.project
    body = project.function(step).body
    for way in calls_in(body):
        if depth >= MAX_HELPERS or _is_silent(context, step.file, body, way.at):
            continue
        edges = [one for one in project.call_graph.targets(step.file, step.index, way) if one.how == "call"]
        target = edges[0].target if len(edges) == 1 else None
        if target is None or target == step or _keeps_no_gradients(context, target):
            continue
        inside = _aliases_in(context, target, way, aliases)
        helper = project.function(target).body
        for called in calls_in(helper) if inside else ():
            if texts_of(called.func) in inside and not _is_silent(context, target.file, helper, called.at):
                return way, target, called
        deeper = _in_helpers(context, target, inside, depth + 1) if inside else None
        if deeper is not None:
            return way, deeper[1], deeper[2]
    return None


def _aliases_in(context: CheckContext, target: FunctionRef, way: ir.Call, aliases: set[str]) -> set[str]:
    """What a function calls the model without its wrapper, if it is called so: the attribute of the same object, and parameters."""
    function = context.project.function(target)
    parameters = [one.name for one in function.parameters]
    found = set()
    is_own = type(way.func) is ir.Attribute and type(way.func.base) is ir.Name
    own = {f"{way.func.base.id}.{context.parameters['own']}"} if is_own else set()  # type: ignore[union-attr]
    if function.owner >= 0 and parameters:
        first = parameters.pop(0)
        if own & aliases:
            found.add(f"{first}.{context.parameters['own']}")
    given = [*zip(parameters, way.args, strict=False), *((word.name, word.value) for word in way.keywords)]
    found.update(name for name, value in given if name in parameters and texts_of(value) in aliases)
    return found


def _keeps_no_gradients(context: CheckContext, target: FunctionRef) -> bool:
    """Whether a decorator keeps a function from recording gradients."""
    made = [one.func if type(one) is ir.Call else one for one in context.project.function(target).decorators]
    return any(context.project.modules.dotted(one, target.file) in context.parameters["silent"] for one in made)


def _hands(context: CheckContext, call: ir.Call, given: str) -> bool:
    """Whether a call is one of the parameter, or hands it on to something that may call it."""
    if texts_of(call.func) in (given, f"{given}.forward"):
        return True
    if last_name(call.func) in (*context.parameters["unwrap"], "hasattr", "isinstance", "getattr", "type", "id"):
        return False
    arguments = (*call.args, *(word.value for word in call.keywords))
    return any(type(one) is ir.Name and one.id == given for one in arguments)


def _is_bare(context: CheckContext, expr: ir.Expr, aliases: set[str], given: str) -> bool:
    """Whether an expression is the model without its wrapper, where it has one."""
    if type(expr) is ir.Conditional:
        sides = (expr.body, expr.orelse)
        bare = [_is_bare(context, side, aliases, given) for side in sides]
        return any(bare) and all(one or texts_of(side) == given for one, side in zip(bare, sides, strict=True))
    if type(expr) is ir.Call and last_name(expr.func) == "getattr" and len(expr.args) == 3:
        base, name, other = expr.args
        named = type(name) is ir.Constant and name.value == "module"
        return named and texts_of(base) == given and texts_of(other) == given
    if type(expr) is ir.Call:
        return last_name(expr.func) in context.parameters["unwrap"]
    return texts_of(expr) in aliases


def _is_silent(context: CheckContext, file: str, body: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
    """Whether a place stands under a context in which no gradients are kept."""
    for statement in statements(body):
        if type(statement) is ir.With and ir.encloses(statement.at, at):
            for item, _ in statement.items:
                made = item.func if type(item) is ir.Call else item
                if context.project.modules.dotted(made, file) in context.parameters["silent"]:
                    return True
    return False


def _attribute(context: CheckContext, owner: ClassRef, index: int, function: ir.Function) -> Iterator[Finding]:
    project: Project = context.project
    position = context.parameters["methods"][function.name]
    if position >= len(function.parameters):
        return
    given = function.parameters[position].name
    made = _models_of(context, owner)
    if not made:
        return
    names = frozenset.intersection(*(one[1] for one in made))
    stored = any(
        given in {texts_of(target) for target in one.targets}
        for one in statements(function.body)
        if isinstance(one, ir.Assign)
    )
    if stored or any(word in project.text_of(owner.file) for word in context.parameters["passing"]):
        return
    for statement in statements(function.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is not ir.Attribute or part.name not in names or texts_of(part.base) != given:
                    continue
                guards = guards_of(function.body, part.at) or ()
                if handles_errors_around(function.body, part.at) or any(asks_for_wrapper(guard) for guard in guards):
                    continue
                yield context.finding(
                    f"`{given}` is the wrapped model: with several processes its wrapper has no attribute `{part.name}`",
                    ir.unpack(part.at, owner.file),
                    related=[Related(made[0][0].span(), "the model, which has the attribute, is made here")],
                    symbol=part.name,
                )
                return


def _models_of(context: CheckContext, owner: ClassRef) -> list[tuple[Instance, frozenset[str]]]:
    """The models that objects of a class are made with, with the attributes that a wrapper lacks; none if one is not known."""
    project: Project = context.project
    found = []
    for site in project.sites(project.class_(owner).name):
        if project.modules.resolve(site.site.call.func, site.file) != owner:
            continue
        given, _ = find_argument(site.site.call, "model", 0)
        if given is None:
            return []
        for option in options_of(project.evaluator(None).ask(given, site.file, site.site.function)):
            names = names_of_model(context, option) if isinstance(option, Instance) else None
            if not isinstance(option, Instance) or names is None:
                return []
            found.append((option, names))
    return found


def _loader(context: CheckContext, owner: ClassRef, index: int, function: ir.Function) -> Iterator[Finding]:
    project: Project = context.project
    evaluator = project.evaluator(None)
    names = {f"{name}()" for name in context.parameters["loaders"]}
    signature = context.parameters["signature"]
    plain = context.parameters["plain-samplers"]
    for statement in statements(function.body):
        if type(statement) is not ir.Return or statement.value is None:
            continue
        options = options_of(evaluator.ask(statement.value, owner.file, index))
        loaders = [one for one in options if isinstance(one, Instance) and evaluator.instance_name(one) in names]
        if not loaders or len(loaders) != len(options):
            continue
        for loader in loaders:
            plain_only = True
            for name in ("sampler", "batch_sampler"):
                _, samplers, known = argument_of(project, loader, name, signature)
                plain_only = plain_only and known and all(_parts_nothing(project, one, plain) for one in samplers)
            if not plain_only or not _is_of_no_rank(context, owner, loader):
                continue
            yield context.finding(
                f"`{function.name}` gives a loader that nothing parts, so each process goes through all of the data",
                loader.span(),
                related=[
                    Related(ir.unpack(function.name_at, owner.file), "this replaces the method that parts the data"),
                    Related(ir.unpack(statement.at, owner.file), "the loader is given as it is"),
                ],
            )
            return


def _parts_nothing(project: Project, sampler: Abstract, plain: Collection[str]) -> bool:
    """Whether a sampler is none, a ``plain`` one of a library, or one of the project that certainly has nothing to do with the rank."""
    if is_none(sampler) or not isinstance(sampler, Instance):
        return is_none(sampler)
    if isinstance(sampler.callee, ClassRef):
        return derivation_without_rank(project, sampler) is not None
    return project.evaluator(None).instance_name(sampler) in plain


def _is_of_no_rank(context: CheckContext, owner: ClassRef, loader: Instance) -> bool:
    """Whether what a loader goes through, and what makes batches of it, certainly has nothing to do with the rank."""
    project: Project = context.project
    expr, _, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    if expr is None:
        return False
    waiting = [Part(expr, loader.frame.file, loader.frame.function)]
    for name in context.parameters["telling"]:
        given, _, _ = argument_of(project, loader, name, context.parameters["signature"])
        if given is None:
            continue
        waiting.append(Part(given, loader.frame.file, loader.frame.function))
        function = _function_named(project, owner, waiting[-1])
        if function is not None and derivation_of_body(project, function).mentions_rank():
            return False
    asked: set[str] = set()
    while waiting:
        part = waiting.pop()
        made = derivation(project, part.expr, part.file, part.function)
        if not made.whole or made.mentions_rank():
            return False
        for one in made.parts:
            name = one.expr.name if type(one.expr) is ir.Attribute else ""
            if name in asked or name not in context.parameters["given"] or not _is_of_self(project, one):
                continue
            asked.add(name)
            given_there = _given_to(context, owner, name)
            if given_there is None:
                return False
            waiting += given_there
    return True


def _function_named(project: Project, owner: ClassRef, part: Part) -> FunctionRef | None:
    """The function or method of the project that an expression names, without calling it."""
    if type(part.expr) is ir.Attribute and _is_of_self(project, part):
        return project.modules.method(owner, part.expr.name)
    found = project.modules.resolve(part.expr, part.file)
    return found if isinstance(found, FunctionRef) else None


def _is_of_self(project: Project, part: Part) -> bool:
    """Whether an attribute is one of the method's own object."""
    base = part.expr.base if type(part.expr) is ir.Attribute else None
    parameters = project.module(part.file).functions[part.function].parameters if part.function >= 0 else ()
    return type(base) is ir.Name and bool(parameters) and parameters[0].name == base.id


def _given_to(context: CheckContext, owner: ClassRef, name: str) -> list[Part] | None:
    """What objects of a class, and of those below it, get for an attribute where they are made; ``None`` where that is not known."""
    project: Project = context.project
    found: list[Part] = []
    for file in project.python_files:
        for number, definition in enumerate(project.module(file).classes):
            cls = ClassRef(file, number)
            if owner not in project.modules.ancestry(cls):
                continue
            for site in project.sites(definition.name):
                if project.modules.resolve(site.site.call.func, site.file) != cls:
                    continue
                given = _handed_on(context, cls, Part(site.site.call, site.file, site.site.function), name)
                if given is None:
                    return None
                found.append(given)
    return found or None


def _handed_on(context: CheckContext, cls: ClassRef, made: Part, name: str) -> Part | None:
    """What the call that makes an object gives for an attribute, or the class's own constructor hands on for it."""
    project: Project = context.project
    method = project.modules.method(cls, "__init__")
    position = context.parameters["given"][name]
    own = project.function(method) if method is not None else None
    if own is not None:
        names = [one.name for one in own.parameters[1:]]
        position = names.index(name) if name in names else None
    assert type(made.expr) is ir.Call  # noqa: S101 - what makes an object is a call
    given, _ = find_argument(made.expr, name, position)
    if given is not None:
        return Part(given, made.file, made.function)
    for call in calls_in(own.body) if own is not None and method is not None else ():
        if last_name(call.func) == "__init__":
            given, _ = find_argument(call, name, context.parameters["given"][name])
            if given is not None:
                return Part(given, method.file, method.index)  # type: ignore[union-attr]
    return None


_FAULTS: dict[str, Callable[[CheckContext, ClassRef, int, ir.Function], Iterator[Finding]]] = {
    "model": _model,
    "attribute": _attribute,
    "loader": _loader,
}
