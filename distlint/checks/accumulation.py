"""Training steps that add up the gradients of several passes in a way that does not fit how the library counts them.

Parameters: ``fault``: ``missing`` (each pass is stepped, but scaled as one of several), ``divided`` (the loss is divided twice), ``clip``
(gradients are clipped before they are complete), ``step`` (an optimizer steps in each pass, because it is not a prepared one), ``window``
(a counter of the program runs on where the library's starts anew; ``loaders`` and ``signature`` as in ``padding``, ``starting``: words of
programs that change when it does);
``backward`` (methods that scale the loss), ``words`` (see ``preparing.accumulation_of``), ``counting`` (names by which a program minds
the count: their presence keeps ``missing`` silent), ``set`` (attributes of the library's object that keep it silent where they are set),
``constant`` (the attribute that is true in each pass as long as nothing counts), ``clips`` (calls that clip), ``context`` (the method
that counts passes),
``optimizers`` (prefix).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from distlint.checks.call_levels import MAX_MEANT, Levels, Way
from distlint.checks.divided_losses import Division, divisions
from distlint.checks.execution import body_of
from distlint.checks.loaders import lexical_loop
from distlint.checks.own_counters import remainder_of, runs_on
from distlint.checks.padding import batches_of, loader_of
from distlint.checks.past_prepared import is_library_object
from distlint.checks.preparing import (
    Accumulation,
    Handed,
    Preparations,
    accumulation_of,
    is_thrown_away,
    splits_batches,
    texts_of,
)
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Frame, Instance
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.value import Confidence


@check("accumulation")
def accumulation(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for, at most one for each backward call."""
    project: Project = context.project
    found = Preparations.of_context(context)
    if not found.sites:
        return
    judge = _FAULTS[context.parameters["fault"]]
    levels = Levels.of_project(project)
    reported = set()
    for site in project.calls_to(set(context.parameters["backward"])):
        for way in levels.ways(site):
            count = _count(context, found, site, way[0].frame)
            for finding in judge(context, found, levels, _Pass(site, way), count) if count is not None else ():
                if finding.span not in reported:
                    reported.add(finding.span)
                    yield finding


class _Pass(NamedTuple):
    """A backward pass on one way that leads to it."""

    site: CallSite
    way: Way

    @property
    def loss(self) -> ir.Expr | None:
        """What goes backward."""
        return self.site.site.call.args[0] if self.site.site.call.args else None

    @property
    def frame(self) -> Frame:
        """The execution of the function that it stands in."""
        return self.way[0].frame


def _count(context: CheckContext, found: Preparations, site: CallSite, frame: Frame) -> Accumulation | None:
    """What the object whose ``backward`` is called says about accumulation; nothing where it may be several objects."""
    func = site.site.call.func
    if type(func) is not ir.Attribute:
        return None
    objects = found.objects_in(func.base, frame)
    if len({one.identity for one in objects}) != 1:
        return None
    return accumulation_of(context.project, objects[0], context.parameters["words"])


def _missing(
    context: CheckContext, found: Preparations, levels: Levels, one: _Pass, count: Accumulation
) -> Iterator[Finding]:
    project: Project = context.project
    if count.number is None or count.number < 2:
        return
    counting = set(context.parameters["counting"])
    site = one.site
    files = family(project, site.file)
    if any(counting & project.module(file).attributes for file in files if file in project.python_files):
        return
    multiplied = one.loss is not None and _is_multiplied(levels, one.loss, one.frame, count)
    if multiplied or _is_set(context, found, one, files):
        return
    constant = context.parameters["constant"]
    for step in _followed_by(levels, one, {"step"}):
        around = _tests(levels, one.way[: step.own + 1], constant)
        if _tests(levels, step.way[: step.level + 1], constant) != around or not _is_optimizer(context, found, step):
            continue
        yield context.finding(
            f"the loss is scaled down as one of {count.number} passes, but the optimizer steps in each of them",
            site.span,
            related=[
                Related(count.span, f"gradients of {count.number} passes are to be added up"),
                Related(step.site.span, "the step is made in each pass"),
            ],
        )
        return


class _Beside(NamedTuple):
    """A method call on a way through a function that a backward pass is made through as well.

    ``level`` is its level in that function, ``own`` that of the pass.
    """

    site: CallSite
    of: ir.Expr
    way: Way
    level: int
    own: int

    @property
    def at(self) -> ir.Position:
        """Where it is made in that function."""
        return self.way[self.level].at


def _beside(levels: Levels, one: _Pass, names: Collection[str]) -> Iterator[_Beside]:
    """The calls by one of some last names beside a backward pass."""
    for name in sorted(names):
        for other in levels.project.sites(name):
            func = other.site.call.func
            for own, way, level in levels.beside(one.way, other):
                yield _Beside(other, func.base if type(func) is ir.Attribute else func, way, level, own)


def _followed_by(levels: Levels, one: _Pass, names: Collection[str]) -> Iterator[_Beside]:
    """Those of them that stand behind the backward pass."""
    return (other for other in _beside(levels, one, names) if other.at > one.way[other.own].at)


def _is_optimizer(context: CheckContext, found: Preparations, step: _Beside) -> bool:
    """Whether what makes a step is an optimizer, prepared or not."""
    prefix = context.parameters["optimizers"]
    objects = found.objects_in(step.of, step.way[0].frame)
    for one in objects:
        given = found.given_for(one) if found.is_prepared(one) else None
        made = given.instance if given is not None else one
        if made is None or not is_library_object(made, prefix) or "lr_scheduler" in _name(made):
            return False
    return bool(objects)


def _name(instance: Instance) -> str:
    return getattr(instance.callee, "name", "")


def _tests(levels: Levels, way: Way, constant: str) -> set[tuple[ir.Position, bool]]:
    """The tests on a way, but for those that always hold while nothing counts the passes."""
    tests = set()
    for guard, frame in levels.guards(way):
        asked = levels.asked(guard, frame)
        always = all(one.holds and type(one.expr) is ir.Attribute and one.expr.name == constant for one in asked)
        if not asked or not always:
            tests.add((guard.at, guard.holds))
    return tests


def _is_set(context: CheckContext, found: Preparations, one: _Pass, files: Collection[str]) -> bool:
    """Whether a program sets itself how many passes are added up, or in which of them the gradients are complete."""
    project: Project = context.project
    names = set(context.parameters["set"])
    own = {made.identity for made in _receivers(found, one)}
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


def _receivers(found: Preparations, one: _Pass) -> tuple[Instance, ...]:
    func = one.site.site.call.func
    return found.objects_in(func.base, one.frame) if type(func) is ir.Attribute else ()


def _is_multiplied(levels: Levels, loss: ir.Expr, frame: Frame, count: Accumulation, depth: int = 0) -> bool:
    """Whether a loss is made as many times larger as ``backward`` makes it smaller."""
    made = [loss]
    for statement in statements(body_of(levels.project, frame.file, frame.function)):
        if type(statement) is ir.Assign and statement.value is not None:
            if any(texts_of(one) == texts_of(loss) != "" for one in statement.targets):
                made.append(statement.value)
        elif type(statement) is ir.AugAssign and statement.operator == "*":
            if texts_of(statement.target) == texts_of(loss) != "" and _is_number(levels, statement.value, frame, count):
                return True
    for one in made:
        if type(one) is ir.Operation and "*" in one.operators:
            if any(_is_number(levels, part, frame, count) for part in one.operands):
                return True
        elif type(one) is not ir.Name or one is loss:
            meant = levels.meant(one, frame) if depth < MAX_MEANT else None
            if meant is not None and _is_multiplied(levels, *meant, count, depth + 1):
                return True
    return False


def _divided(
    context: CheckContext, found: Preparations, levels: Levels, one: _Pass, count: Accumulation
) -> Iterator[Finding]:
    del found
    if one.loss is None or count.number == 1:
        return
    project: Project = context.project
    for division in divisions(levels, one.loss, one.frame, lambda expr, frame: _last(project, expr, frame)):
        if _is_count(levels, division, count):
            times = f"by {count.number} " if count.number is not None else ""
            yield context.finding(
                f"the loss is divided {times}for accumulation, and `backward` divides it once more",
                division.span,
                related=[
                    Related(one.site.span, "this divides the loss by the number of passes itself"),
                    Related(count.span, "the number is given here"),
                ],
                confidence=Confidence.CERTAIN if count.number is not None else Confidence.LIKELY,
            )
            return


def _last(project: Project, expr: ir.Expr, frame: Frame) -> ir.Expr | ir.AugAssign | None:
    """What is last put into a variable or an attribute before it is used, in the order of the text."""
    name = texts_of(expr)
    last: ir.Assign | ir.AugAssign | None = None
    for statement in statements(body_of(project, frame.file, frame.function)) if name else ():
        if type(statement) is ir.AugAssign or type(statement) is ir.Assign:
            targets = (statement.target,) if isinstance(statement, ir.AugAssign) else statement.targets
            if statement.at < expr.at and not ir.encloses(statement.at, expr.at):
                if any(texts_of(one) == name for one in targets):
                    last = statement
    return last.value if isinstance(last, ir.Assign) else last


def _is_count(levels: Levels, division: Division, count: Accumulation) -> bool:
    """Whether the divisor is the number of passes."""
    if type(division.divisor) is ir.Constant and isinstance(division.made, ir.Operation):
        if type(division.made.operands[0]) is ir.Operation:
            return False
    return _is_number(levels, division.divisor, division.frame, count)


def _is_number(levels: Levels, expr: ir.Expr, frame: Frame, count: Accumulation) -> bool:
    """Whether an expression is the number of passes."""
    if last_name(expr) == "gradient_accumulation_steps":
        return True
    if type(expr) is ir.Constant:
        return count.number is not None and expr.value == count.number
    text = texts_of(expr)
    if text and text == texts_of(count.expr):
        return True
    meant = levels.meant(expr, frame) if type(expr) is ir.Name else None
    if meant is not None and last_name(meant[0]) == "gradient_accumulation_steps":
        return True
    value = levels.value(expr, frame)
    return bool(text) and value.is_known and count.number is not None and value.only == count.number


def _clip(
    context: CheckContext, found: Preparations, levels: Levels, one: _Pass, count: Accumulation
) -> Iterator[Finding]:
    del found
    if count.number is None or count.number < 2:
        return
    for clip in _followed_by(levels, one, context.parameters["clips"]):
        block = _counting_block(context, one, clip)
        if block is None or any(_minds_count(levels, *test) for test in levels.guards(clip.way)):
            continue
        yield context.finding(
            "gradients are clipped in every pass, before those of all passes and processes are added up",
            clip.site.span,
            related=[
                Related(count.span, f"gradients of {count.number} passes are added up"),
                Related(block, "only the last pass of each round is complete"),
            ],
        )


def _counting_block(context: CheckContext, one: _Pass, other: _Beside) -> Span | None:
    """The block around a backward pass and a call beside it that counts the passes, in their function or around a call of that."""
    for number, level in enumerate(one.way[other.own :]):
        for statement in statements(level.body(context.project)):
            if type(statement) is not ir.With or not ir.encloses(statement.at, level.at):
                continue
            for item, _ in statement.items:
                counts = type(item) is ir.Call and last_name(item.func) == context.parameters["context"]
                if counts and (number or ir.encloses(statement.at, other.at)):
                    return ir.unpack(item.at, level.frame.file)
    return None


def _minds_count(levels: Levels, guard: Guard, frame: Frame) -> bool:
    """Whether a test may ask which pass of a round this is."""
    if guard.test is None or guard.kind == "for":
        return guard.test is None
    for part, _ in levels.mentioned(guard.test, frame):
        if type(part) is ir.Operation and "%" in part.operators:
            return True
        if "sync" in last_name(part) or "accum" in last_name(part) or "step" in last_name(part):
            return True
    return False


def _step(
    context: CheckContext, found: Preparations, levels: Levels, one: _Pass, count: Accumulation
) -> Iterator[Finding]:
    project: Project = context.project
    if count.number is None or count.number < 2:
        return
    for step in _beside(levels, one, {"step"}):
        if _counting_block(context, one, step) is None or step.of is step.site.site.call.func:
            continue
        if any(_minds_count(levels, *test) for test in levels.guards(step.way)):
            continue
        objects = found.objects_in(step.of, step.way[0].frame)
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
        name = texts_of(step.site.site.call.func)
        yield context.finding(
            f"`{name}` steps in each of the {count.number} passes: it is no prepared optimizer, which waits for the last",
            step.site.span,
            related=[
                Related(objects[0].span(), "the optimizer is made here"),
                Related(where.span, says),
                Related(count.span, f"gradients of {count.number} passes are to be added up"),
            ],
        )


def _window(
    context: CheckContext, found: Preparations, levels: Levels, one: _Pass, count: Accumulation
) -> Iterator[Finding]:
    """A step behind a counter of the program that runs on, where the library starts anew at the end of the data."""
    project: Project = context.project
    if count.number == 1:
        return
    if any(
        word in project.text_of(file)
        for word in context.parameters["starting"]
        for file in family(project, one.site.file)
    ):
        return
    around = {(frame.file, guard.at) for guard, frame in levels.guards(one.way)}
    for step in _beside(levels, one, {"step", "zero_grad"}):
        if _counting_block(context, one, step) is None or not _is_optimizer(context, found, step):
            continue
        asked = [
            part
            for guard, frame in levels.guards(step.way)
            if (frame.file, guard.at) not in around
            for part in levels.asked(guard, frame)
        ]
        for test in asked:
            left = remainder_of(test)
            if left is None or not (
                _is_number(levels, left.number, test.frame, count)
                or (count.number is not None and levels.value(left.number, test.frame).only == count.number)
            ):
                continue
            loop = _loop_of(context, found, one)
            if loop is None or not loop.parts(context, count):
                continue
            file, function = loop.place
            counter, inside = _brought(levels, left.counter, test.frame, loop.place)
            if inside.file == file and runs_on(
                project, counter, inside.file, inside.function, loop.statement, function
            ):
                yield context.finding(
                    f"`{texts_of(counter)}` runs on where the library starts to count anew, at the end of the data: "
                    f"`{texts_of(step.site.site.call.func)}` comes in other passes than it does something in",
                    ir.unpack(test.expr.at, test.frame.file),
                    related=[
                        Related(step.site.span, "it does something only where the library has counted its passes"),
                        Related(
                            ir.unpack(loop.statement.iterable.at, file), "at the end of this the library starts anew"
                        ),
                        Related(count.span, "the number of passes is given here"),
                    ],
                )
                return


def _brought(levels: Levels, counter: ir.Expr, frame: Frame, place: tuple[str, int]) -> tuple[ir.Expr, Frame]:
    """What a counter is in the function of the loop, where a function of the program is handed it to test it."""
    for _ in range(MAX_MEANT):
        meant = levels.meant(counter, frame) if (frame.file, frame.function) != place else None
        if meant is None or not texts_of(meant[0]):
            break
        counter, frame = meant
    return counter, frame


class _DataLoop(NamedTuple):
    """The loop over a prepared loader around a backward pass."""

    statement: ir.For
    place: tuple[str, int]
    loader: Handed

    def parts(self, context: CheckContext, count: Accumulation) -> bool:
        """Whether the number of batches of one process may be no multiple of the passes that are added up."""
        split = splits_batches(context, Preparations.of_context(context), self.loader.found)
        if split is None or self.loader.instance is None:
            return False
        batches = batches_of(context, self.loader.instance)
        if count.number is None or not batches:
            return True
        return any((number if split else -(-number // 2)) % count.number for number in batches)


def _loop_of(context: CheckContext, found: Preparations, one: _Pass) -> _DataLoop | None:
    for level in one.way:
        loop = lexical_loop(level.body(context.project), level.at)
        if loop is None:
            continue
        if type(loop) is not ir.For:
            return None
        loader = loader_of(context, found, loop, *level.place)
        return _DataLoop(loop, level.place, loader) if loader is not None else None
    return None


_FAULTS: dict[str, Callable[[CheckContext, Preparations, Levels, _Pass, Accumulation], Iterator[Finding]]] = {
    "missing": _missing,
    "divided": _divided,
    "clip": _clip,
    "step": _step,
    "window": _window,
}
