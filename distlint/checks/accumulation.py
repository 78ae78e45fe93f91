"""Training steps that add up the gradients of several passes in a way that does not fit how the library counts them.

Parameters: ``fault``: ``missing`` (each pass is stepped, but scaled as one of several), ``divided`` (the loss is divided twice), ``clip``
(gradients are clipped before they are complete), ``step`` (an optimizer steps in each pass, because it is not a prepared one);
``backward`` (methods that scale the loss), ``words`` (see ``preparing.accumulation_of``), ``counting`` (names by which a program minds
the count: their presence keeps ``missing`` silent), ``set`` (attributes of the library's object that keep it silent where they are set),
``constant`` (the attribute that is true in each pass as long as nothing counts), ``clips`` (calls that clip), ``context`` (the method
that counts passes),
``optimizers`` (prefix).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from distlint.checks.execution import body_of
from distlint.checks.past_prepared import is_library_object
from distlint.checks.preparing import (
    Accumulation,
    Preparations,
    accumulation_of,
    function_body,
    is_thrown_away,
    last_name,
    texts_of,
)
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, below, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence


@check("accumulation")
def accumulation(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for, at most one for each backward call."""
    project: Project = context.project
    found = Preparations.of_context(context)
    if not found.sites:
        return
    judge = _FAULTS[context.parameters["fault"]]
    reported = set()
    for site in project.calls_to(set(context.parameters["backward"])):
        count = _count(context, found, site)
        if count is not None:
            for finding in judge(context, found, site, count):
                if finding.span not in reported:
                    reported.add(finding.span)
                    yield finding


def _count(context: CheckContext, found: Preparations, site: CallSite) -> Accumulation | None:
    """What the object whose ``backward`` is called says about accumulation; nothing where it may be several objects."""
    func = site.site.call.func
    if type(func) is not ir.Attribute:
        return None
    objects = found.objects(func.base, site.file, site.site.function)
    if len({one.identity for one in objects}) != 1:
        return None
    return accumulation_of(context.project, objects[0], context.parameters["words"])


def _missing(context: CheckContext, found: Preparations, site: CallSite, count: Accumulation) -> Iterator[Finding]:
    project: Project = context.project
    if count.number is None or count.number < 2:
        return
    counting = set(context.parameters["counting"])
    files = family(project, site.file)
    if any(counting & project.module(file).attributes for file in files if file in project.python_files):
        return
    loss = site.site.call.args[0] if site.site.call.args else None
    if _is_set(context, found, site, files) or (loss is not None and _is_multiplied(project, site, loss, count)):
        return
    body = function_body(project, site)
    constant = context.parameters["constant"]
    around = _ways(guards_of(body, site.site.call.at), constant)
    for call in calls_in(body):
        if last_name(call.func) != "step" or call.at < site.site.call.at or type(call.func) is not ir.Attribute:
            continue
        if _ways(guards_of(body, call.at), constant) != around:
            continue
        if not _is_optimizer(context, found, call.func.base, site):
            continue
        yield context.finding(
            f"the loss is scaled down as one of {count.number} passes, but the optimizer steps in each of them",
            site.span,
            related=[
                Related(count.span, f"gradients of {count.number} passes are to be added up"),
                Related(ir.unpack(call.at, site.file), "the step is made in each pass"),
            ],
        )
        return


def _is_optimizer(context: CheckContext, found: Preparations, expr: ir.Expr, site: CallSite) -> bool:
    """Whether an expression is an optimizer, prepared or not."""
    prefix = context.parameters["optimizers"]
    objects = found.objects(expr, site.file, site.site.function)
    for one in objects:
        given = found.given_for(one) if found.is_prepared(one) else None
        made = given.instance if given is not None else one
        if made is None or not is_library_object(made, prefix) or "lr_scheduler" in _name(made):
            return False
    return bool(objects)


def _name(instance: Instance) -> str:
    return getattr(instance.callee, "name", "")


def _ways(guards: list[Guard] | None, constant: str) -> set[tuple[int, bool]]:
    """The tests on the way to a place, but for those that always hold while nothing counts the passes."""
    return {
        (guard.at, guard.holds)
        for guard in guards or ()
        if not (guard.holds and type(guard.test) is ir.Attribute and guard.test.name == constant)
    }


def _is_set(context: CheckContext, found: Preparations, site: CallSite, files: Collection[str]) -> bool:
    """Whether a program sets itself how many passes are added up, or in which of them the gradients are complete."""
    project: Project = context.project
    names = set(context.parameters["set"])
    own = {one.identity for one in _receivers(found, site)}
    for file in files:
        if file not in project.python_files or not names & project.module(file).attributes:
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                for target in statement.targets if type(statement) is ir.Assign else ():
                    if type(target) is not ir.Attribute or target.name not in names:
                        continue
                    options = {one.identity for one in found.objects(target.base, file, function)}
                    if not options or own & options:
                        return True
    return False


def _receivers(found: Preparations, site: CallSite) -> tuple[Instance, ...]:
    func = site.site.call.func
    return found.objects(func.base, site.file, site.site.function) if type(func) is ir.Attribute else ()


def _is_multiplied(project: Project, site: CallSite, loss: ir.Expr, count: Accumulation) -> bool:
    """Whether a loss is made as many times larger as ``backward`` makes it smaller."""
    made = [loss]
    for statement in statements(function_body(project, site)):
        if type(statement) is ir.Assign and statement.value is not None:
            if any(texts_of(one) == texts_of(loss) != "" for one in statement.targets):
                made.append(statement.value)
        elif type(statement) is ir.AugAssign and statement.operator == "*":
            if texts_of(statement.target) == texts_of(loss) != "" and _is_number(project, statement.value, site, count):
                return True
    return any(
        type(one) is ir.Operation
        and "*" in one.operators
        and any(_is_number(project, part, site, count) for part in one.operands)
        for one in made
    )


def _divided(context: CheckContext, found: Preparations, site: CallSite, count: Accumulation) -> Iterator[Finding]:
    del found
    loss = site.site.call.args[0] if site.site.call.args else None
    if loss is None or count.number == 1:
        return
    for division in divisions(context.project, site, loss):
        if _is_count(context.project, division, site, count):
            times = f"by {count.number} " if count.number is not None else ""
            yield context.finding(
                f"the loss is divided {times}for accumulation, and `backward` divides it once more",
                ir.unpack(division.at, site.file),
                related=[
                    Related(site.span, "this divides the loss by the number of passes itself"),
                    Related(count.span, "the number is given here"),
                ],
                confidence=Confidence.CERTAIN if count.number is not None else Confidence.LIKELY,
            )
            return


def divisions(project: Project, site: CallSite, loss: ir.Expr) -> Iterator[ir.Operation | ir.AugAssign]:
    """The divisions that make the loss of a backward call: in its argument, or in what was last put into the variable."""
    if type(loss) is ir.Operation and loss.operators == ("/",):
        yield loss
        return
    name = texts_of(loss)
    if not name:
        return
    last: ir.Assign | ir.AugAssign | None = None
    for statement in statements(function_body(project, site)):
        if statement.at > site.site.call.at:
            continue
        if type(statement) is ir.AugAssign or type(statement) is ir.Assign:
            targets = (statement.target,) if isinstance(statement, ir.AugAssign) else statement.targets
            if any(texts_of(one) == name for one in targets):
                last = statement
    if type(last) is ir.AugAssign and last.operator == "/":
        yield last
    elif type(last) is ir.Assign and type(last.value) is ir.Operation and last.value.operators == ("/",):
        yield last.value


def _is_count(project: Project, division: ir.Operation | ir.AugAssign, site: CallSite, count: Accumulation) -> bool:
    """Whether the divisor is the number of passes."""
    divisor = division.value if isinstance(division, ir.AugAssign) else division.operands[1]
    if type(divisor) is ir.Constant and isinstance(division, ir.Operation):
        if type(division.operands[0]) is ir.Operation:
            return False
    return _is_number(project, divisor, site, count)


def _is_number(project: Project, expr: ir.Expr, site: CallSite, count: Accumulation) -> bool:
    """Whether an expression is the number of passes."""
    if last_name(expr) == "gradient_accumulation_steps":
        return True
    if type(expr) is ir.Constant:
        return count.number is not None and expr.value == count.number
    text = texts_of(expr)
    if text and text == texts_of(count.expr):
        return True
    value = project.evaluator(None).value(expr, site.file, site.site.function)
    return bool(text) and value.is_known and count.number is not None and value.only == count.number


def _clip(context: CheckContext, found: Preparations, site: CallSite, count: Accumulation) -> Iterator[Finding]:
    del found
    project: Project = context.project
    if count.number is None or count.number < 2:
        return
    body = function_body(project, site)
    block = _counting_block(context, body, site.site.call.at)
    if block is None:
        return
    for call in calls_in(block.body):
        if last_name(call.func) not in context.parameters["clips"] or call.at < site.site.call.at:
            continue
        if any(_minds_count(guard) for guard in guards_of(body, call.at) or ()):
            continue
        yield context.finding(
            "gradients are clipped in every pass, before those of all passes and processes are added up",
            ir.unpack(call.at, site.file),
            related=[
                Related(count.span, f"gradients of {count.number} passes are added up"),
                Related(ir.unpack(block.items[0][0].at, site.file), "only the last pass of each round is complete"),
            ],
        )


def _counting_block(context: CheckContext, body: tuple[ir.Stmt, ...], at: ir.Position) -> ir.With | None:
    """The ``with`` around a place that counts the passes."""
    for statement in statements(body):
        if type(statement) is ir.With and ir.encloses(statement.at, at):
            for item, _ in statement.items:
                if type(item) is ir.Call and last_name(item.func) == context.parameters["context"]:
                    return statement
    return None


def _minds_count(guard: Guard) -> bool:
    """Whether a test may ask which pass of a round this is."""
    if guard.test is None or guard.kind == "for":
        return guard.test is None
    for part in below(guard.test):
        if type(part) is ir.Operation and "%" in part.operators:
            return True
        if "sync" in last_name(part) or "accum" in last_name(part) or "step" in last_name(part):
            return True
    return False


def _step(context: CheckContext, found: Preparations, site: CallSite, count: Accumulation) -> Iterator[Finding]:
    project: Project = context.project
    if count.number is None or count.number < 2:
        return
    body = function_body(project, site)
    block = _counting_block(context, body, site.site.call.at)
    if block is None:
        return
    for call in calls_in(block.body):
        if last_name(call.func) != "step" or type(call.func) is not ir.Attribute:
            continue
        if any(_minds_count(guard) for guard in guards_of(body, call.at) or ()):
            continue
        objects = found.objects(call.func.base, site.file, site.site.function)
        if not objects or not all(is_library_object(one, context.parameters["optimizers"]) for one in objects):
            continue
        if any("lr_scheduler" in _name(one) for one in objects):
            continue
        handed = found.handed_as(objects[0])
        if handed is not None and is_thrown_away(project, handed.found):
            continue
        says = (
            "what this gives back for it has to be used" if handed is not None else "the optimizer is not prepared here"
        )
        where = handed.found if handed is not None else found.sites[0]
        yield context.finding(
            f"`{texts_of(call.func)}` steps in each of the {count.number} passes: it is no prepared optimizer, which waits for the last",
            ir.unpack(call.at, site.file),
            related=[
                Related(objects[0].span(), "the optimizer is made here"),
                Related(where.span, says),
                Related(count.span, f"gradients of {count.number} passes are to be added up"),
            ],
        )


_FAULTS: dict[str, Callable[[CheckContext, Preparations, CallSite, Accumulation], Iterator[Finding]]] = {
    "missing": _missing,
    "divided": _divided,
    "clip": _clip,
    "step": _step,
}
