"""Data that the program parts between its processes, handed to something that parts it once more.

Parameters: ``loaders`` with their positional ``signature``; ``samplers`` (that part the data), each with the arguments that
may make them part it otherwise; ``takers`` (calls that part what they get: by name the parameter with its position, and the
parameter that says how many parts there are; or ``"*"`` for loaders among all positional arguments); ``shards`` (functions and
methods that give the part of a process), ``ranks`` (names of a process's own number), ``variables`` (of the environment, that tell it),
``loading`` (the method by which a class of the project, derived from a taker, makes another loader; "" where no such class counts),
``plain-bases`` (library classes that call no methods of what is derived from them but the special ones).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.collectives import Collectives
from distlint.checks.derivations import Part, derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import forward, mentions
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import asks_for_main, below, bound_names, expressions_below, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

_PARTERS = frozenset({"chunk", "array_split", "tensor_split", "split", "chunked"})
"""Functions that cut something into as many parts as they are told."""
_GATHERING = frozenset(
    {"all_gather", "all_gather_object", "all_gather_coalesced", "gather", "gather_object", "all_to_all"}
)
"""Kinds of operations by which a process gets the parts of others."""
MAX_METHODS = 8
"""Methods of a stream that are looked at."""


@check("split-twice")
def split_twice(context: CheckContext) -> Iterator[Finding]:
    """A finding for each loader or dataset of one process's part that is handed to something that parts it again."""
    project: Project = context.project
    takers = context.parameters["takers"]
    evaluator, view = project.evaluator(None), DivergenceView.of_project(project)
    reported = set()
    own = list(_of_own_classes(context))
    for found in (*project.calls_to(set(takers)), *own):
        if takers[found.name] == "*":
            for one in found.site.call.args:
                for option in options_of(evaluator.ask(one, found.file, found.site.function)):
                    if isinstance(option, Instance) and evaluator.instance_name(option) in _objects(context):
                        finding = _of_loader(context, found, option)
                        if finding is not None and finding.span not in reported:
                            reported.add(finding.span)
                            yield finding
        else:
            name, position, *count = takers[found.name]
            # a class of the project may take something else at that position
            given, _ = find_argument(found.site.call, name, None if found in own else position)
            if given is not None and (not count or view.is_for_all(found, *count)):
                place = _sharded(context, given, found.file, found.site.function)
                if place is not None:
                    yield _finding(context, found, place, "the data of one process is taken here")


def _of_own_classes(context: CheckContext) -> Iterator[CallSite]:
    """The calls that make objects of the project's own classes derived from a taker, by the taker's name."""
    project: Project = context.project
    takers, loading = set(context.parameters["takers"]), context.parameters["loading"]
    for file in project.python_files if loading else ():
        for number, definition in enumerate(project.module(file).classes):
            owner = ClassRef(file, number)
            bases = takers & set(project.modules.external_bases(owner))
            if len(bases) != 1 or project.modules.method(owner, loading) is not None:
                continue
            (base,) = bases
            for site in project.sites(definition.name):
                if project.modules.resolve(site.site.call.func, site.file) == owner:
                    yield CallSite(site.file, site.site, base)


def _objects(context: CheckContext) -> frozenset[str]:
    return frozenset(f"{name}()" for name in context.parameters["loaders"])


def _of_loader(context: CheckContext, found: CallSite, loader: Instance) -> Finding | None:
    project: Project = context.project
    signature = context.parameters["signature"]
    _, options, known = argument_of(project, loader, "sampler", signature)
    samplers = [one for one in options if isinstance(one, Instance)]
    names = {f"{name}()" for name in context.parameters["samplers"]}
    if known and samplers and len(samplers) == len(options):
        if all(project.evaluator(None).instance_name(one) in names and _parts(project, one) for one in samplers):
            sampler = Related(samplers[0].span(), "this sampler takes the part of one process")
            return _finding(context, found, loader.span(), "", sampler)
        return None
    expr, _, _ = argument_of(project, loader, "dataset", signature)
    if expr is None:
        return None
    place = _sharded(context, expr, loader.frame.file, loader.frame.function)
    return None if place is None else _finding(context, found, place, "the data of one process is taken here")


def _parts(project: Project, sampler: Instance) -> bool:
    """Whether a sampler is for several processes: it is not told that there is one."""
    given, _ = find_argument(sampler.call, "num_replicas", 1)
    if given is None:
        return True
    return not (type(given) is ir.Constant and given.value == 1)


def _sharded(context: CheckContext, expr: ir.Expr, file: str, function: int) -> Span | None:
    """Where an expression takes the part of one process of some data; ``None`` if it is not seen to do so."""
    for part in derivation(context.project, expr, file, function, by_field=True, tests=False).parts:
        if _takes_part(context, part.expr) and _is_called(context, part) and _is_always_done(context.project, part):
            if (part.file, part.function) == (file, function):
                comes = _leads_to(context.project, part, expr)
            else:
                comes = not _is_gathered(context.project, part)
            if comes:
                return ir.unpack(part.expr.at, part.file)
    options = options_of(context.project.evaluator(None).ask(expr, file, function))
    places = [_of_stream(context, one) if isinstance(one, Instance) else None for one in options]
    return places[0] if places and None not in places else None


def _is_gathered(project: Project, part: Part) -> bool:
    """Whether the function in which a part is taken puts those of all processes together again, so that it gives away the whole."""
    return any(
        (one.file, one.function) == (part.file, part.function)
        and one.call.at > part.expr.at
        and one.spec.kind in _GATHERING
        for one in Collectives.of_project(project).operations.values()
    )


def _is_called(context: CheckContext, part: Part) -> bool:
    """Whether the function of a place may be entered: a derivation takes all methods of an object for its own."""
    project: Project = context.project
    if part.function < 0:
        return True
    definition = project.module(part.file).functions[part.function]
    plain = definition.owner >= 0 and not definition.decorators and not definition.name.startswith("__")
    if not plain or project.callers(FunctionRef(part.file, part.function)):
        return True
    # a library may call the methods of what is derived from its classes, but for those that are known to have none but the special ones
    bases = project.modules.external_bases(ClassRef(part.file, definition.owner))
    return not bases <= frozenset(context.parameters.get("plain-bases", ()))


def _leads_to(project: Project, part: Part, expr: ir.Expr) -> bool:
    """Whether what a statement of the same function takes comes to an expression: a derivation holds more than that."""
    if ir.encloses(expr.at, part.expr.at):
        return True
    body = body_of(project, part.file, part.function)
    bound = {
        name
        for statement in statements(body)
        if type(statement) in (ir.Assign, ir.AugAssign) and ir.encloses(statement.at, part.expr.at)
        for target in (statement.targets if type(statement) is ir.Assign else (statement.target,))  # type: ignore[union-attr]
        for name in bound_names(target)
    }
    return not bound or mentions(expr, forward(body, bound))


def _of_stream(context: CheckContext, stream: Instance) -> Span | None:
    """Where a stream of the project's own goes through the part of the process alone that it is made for."""
    project: Project = context.project
    if not isinstance(stream.callee, ClassRef) or stream.part:
        return None
    method = project.modules.method(stream.callee, "__iter__")
    given = (*stream.call.args, *(word.value for word in stream.call.keywords))
    if method is None:
        return None
    methods = _methods_of(project, stream.callee, method)
    told = any(_names_rank(context, one) for one in given)
    asks = any(_asks(context, expr) for one in methods for expr in expressions_below(project.function(one).body))
    if not told and not asks and not _keeps(context, stream.callee):
        return None
    places = (_taken_in(context, one) for one in methods)
    return next((one for one in places if one is not None), None)


def _methods_of(project: Project, owner: ClassRef, start: FunctionRef) -> list[FunctionRef]:
    """A method, and the methods that the object calls of itself from there on."""
    found = [start]
    for one in found:
        definition = project.function(one)
        own = definition.parameters[0].name if definition.parameters else ""
        for expr in expressions_below(definition.body):
            func = expr.func if type(expr) is ir.Call else None
            if type(func) is ir.Attribute and type(func.base) is ir.Name and func.base.id == own:
                method = project.modules.method(owner, func.name)
                if method is not None and method not in found and len(found) < MAX_METHODS:
                    found.append(method)
    return found


def _taken_in(context: CheckContext, method: FunctionRef) -> Span | None:
    """Where a method picks the part of one process."""
    project: Project = context.project
    body = project.function(method).body
    own = frozenset(
        target.id
        for statement in statements(body)
        if type(statement) is ir.Assign and statement.value is not None
        for target, value in _pairs(statement)
        if type(target) is ir.Name and _names_rank(context, value)
    )
    turns = [one.test for one in statements(body) if type(one) is ir.If and _is_turn(context, one.test, own)]
    for expr in (*turns, *expressions_below(body)):
        if (expr in turns or _takes_part(context, expr, own)) and _is_always_done(
            project, Part(expr, method.file, method.index)
        ):
            return ir.unpack(expr.at, method.file)
    return None


def _pairs(statement: ir.Assign) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The targets of an assignment with what each of them gets: one by one where both sides are rows."""
    value = statement.value
    assert value is not None  # noqa: S101 - tested by the caller
    for target in statement.targets:
        if type(target) is ir.ListDisplay and type(value) is ir.ListDisplay and len(target.items) == len(value.items):
            yield from zip(target.items, value.items, strict=True)
        else:
            yield target, value


def _keeps(context: CheckContext, owner: ClassRef) -> bool:
    """Whether objects of a class ask for the process's number when they are made, and keep it under such a name."""
    project: Project = context.project
    stores = project.attribute_stores(owner)
    return any(
        value is not None and not inner and any(_asks(context, one) for one in below(value))
        for name in context.parameters["ranks"]
        for _, value, inner in stores.get(name, ())
    )


def _asks(context: CheckContext, expr: ir.Expr) -> bool:
    """Whether an expression asks a library, or the environment, for the process's number."""
    if type(expr) is ir.Call:
        return last_name(expr.func) in context.parameters["ranks"]
    return type(expr) is ir.Constant and expr.value in context.parameters["variables"]


def _takes_part(context: CheckContext, one: ir.Expr, own: frozenset[str] = frozenset()) -> bool:
    """Whether an expression picks the part of one process out of something, by the process's number.

    ``own`` are variables that hold what was worked out from that.
    """
    if type(one) is ir.Call and last_name(one.func) in context.parameters["shards"]:
        return any(_names_rank(context, item, own) for item in (*one.args, *(word.value for word in one.keywords)))
    if type(one) is ir.Comprehension:
        tests = [test for _, _, every in one.generators for test in every]
        return any(_is_turn(context, test, own) and test.operators == ("==",) for test in tests)  # type: ignore[union-attr]
    if type(one) is not ir.Subscript:
        return False
    if type(one.index) is ir.Slice:
        lower, upper, step = one.index.lower, one.index.upper, one.index.step
        if lower is None or not _names_rank(context, lower, own):
            return False
        return step is not None or (upper is not None and _names_rank(context, upper, own))
    if type(one.base) is ir.Call and last_name(one.base.func) in _PARTERS:
        return _names_rank(context, one.index, own)
    return False


def _is_turn(context: CheckContext, test: ir.Expr, own: frozenset[str]) -> bool:
    """``i % world == rank``, or that it is not."""
    if type(test) is not ir.Operation or test.operators not in (("==",), ("!=",)):
        return False
    divided = any(type(one) is ir.Operation and "%" in one.operators for one in test.operands)
    return divided and any(_names_rank(context, one, own) for one in test.operands)


def _is_always_done(project: Project, part: Part) -> bool:
    """Whether no test may keep processes of a job from a place."""
    view = DivergenceView.of_project(project)
    for guard in guards_of(body_of(project, part.file, part.function), part.expr.at) or ():
        if guard.test is not None and guard.kind in ("if", "exit", "expression") and not asks_for_main(guard.test):
            if any(one is not guard.holds for one in view.outcomes(guard.test, part.file, part.function)):
                return False
    return True


def _names_rank(context: CheckContext, expr: ir.Expr, own: frozenset[str] = frozenset()) -> bool:
    return any(
        last_name(part) in context.parameters["ranks"] or (type(part) is ir.Name and part.id in own)
        for part in below(expr)
    )


def _finding(context: CheckContext, found: CallSite, span: Span, says: str, *more: Related) -> Finding:
    related = [*more, Related(found.span, f"`{found.name.rpartition('.')[2]}` parts it between the processes again")]
    if says:
        related.insert(0, Related(span, says))
    return context.finding(
        "the data is parted between the processes twice, so that most of it is never seen", span, related=related
    )
