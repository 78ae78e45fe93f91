"""Data loaders and how they are gone through: their samplers and data, and the loops over them.

What counts as a loader is told by the rule (``loaders``: dotted names of classes; ``signature``: their positional
parameters), so no names of frameworks stand here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.link.abstract import Abstract, Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import frame_of_call, returns_of
from distlint.link.evaluate import Evaluator
from distlint.link.flow import Bind, Env, Join
from distlint.link.modules import External, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, blocks_of, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.span import Span

GRADIENTS_OFF = frozenset({"no_grad", "inference_mode"})
"""What keeps no gradients, as a context or a decorator."""

HANDING_ON = frozenset(
    {"enumerate", "tqdm", "iter", "zip", "cycle", "trange", "track", "islice", "list", "tuple", "progress_bar"}
)
"""Calls that hand on the items of what they are given."""
_EVALUATING = re.compile(r"(?:^|_)(?:eval|valid|val|test|dev|infer|predict|score)", re.IGNORECASE)
_TRAINING = re.compile(r"train|fit", re.IGNORECASE)
MAX_CALLERS = 12
MAX_DEPTH = 4
MAX_LIST = 6
"""Names and functions that are gone through to the list that they stand for."""


Loop = ir.For | ir.While | ir.Comprehension


class Pass(NamedTuple):
    """A place where something is gone through from its start: a ``for``, a comprehension, ``iter(...)``.

    ``iterable`` is the expression, ``at`` the loop or call as a whole, ``body`` what a ``for`` does with each item.
    """

    file: str
    function: int
    iterable: ir.Expr
    at: ir.Position
    body: tuple[ir.Stmt, ...] = ()


class Around(NamedTuple):
    """A loop that contains a place, lexically or through calls."""

    file: str
    function: int
    loop: Loop


def passes(project: Project, files: Collection[str]) -> Iterator[Pass]:
    """Every place in some files where an iterable is gone through that may be a loader."""
    for file in sorted(files):
        if file not in project.facts or project.facts[file].module is None:
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                if type(statement) is ir.For:
                    yield from _of_loop(project, Pass(file, function, statement.iterable, statement.at, statement.body))
                for expr in expressions_of(statement):
                    yield from _inside(file, function, expr, type(statement) is ir.For)


class _Loops(dict[str, tuple[Pass, ...]]):
    """The ``for`` loops of a project's files over what may be loaders; several rules ask for the same."""


def loops(project: Project, files: Collection[str]) -> Iterator[Pass]:
    """The passes in some files that are ``for`` loops."""
    known: _Loops = project.kept.setdefault(_Loops, _Loops())
    for file in sorted(files):
        if file not in project.facts or project.facts[file].module is None:
            continue
        if file not in known:
            known[file] = tuple(
                one
                for function in range(-1, len(project.module(file).functions))
                for statement in statements(body_of(project, file, function))
                if type(statement) is ir.For
                for one in _of_loop(project, Pass(file, function, statement.iterable, statement.at, statement.body))
            )
        yield from known[file]


def _of_loop(project: Project, place: Pass) -> Iterator[Pass]:
    """A loop; instead of one in a generator that hands on its items, the loops of those who go through the generator."""
    parts = list(handed_on(place.iterable))
    name = parts[0].id if len(parts) == 1 and type(parts[0]) is ir.Name else ""
    if place.function < 0 or not name or not any(_yields(one) for one in statements(place.body)):
        yield place
        return
    definition = project.module(place.file).functions[place.function]
    position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
    callers = project.callers(FunctionRef(place.file, place.function))[:MAX_CALLERS] if position is not None else ()
    if position is None or not callers:
        yield place
        return
    if lexical_loop(definition.body, place.at) is not None:
        yield place  # a generator that goes through it again and again, whoever takes its items
    for caller in callers:
        offset = 1 if definition.owner >= 0 and type(caller.site.call.func) is ir.Attribute else 0
        given, _ = find_argument(caller.site.call, name, position - offset + caller.shift)
        loop = _loop_over(body_of(project, caller.file, caller.site.function), caller.site.call.at)
        if given is not None and loop is not None:
            yield Pass(caller.file, caller.site.function, given, loop.at, loop.body)


def _yields(statement: ir.Stmt) -> bool:
    return any(
        type(part) is ir.Wrapped and part.kind.startswith("yield")
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def _loop_over(body: tuple[ir.Stmt, ...], at: ir.Position) -> ir.For | None:
    """The loop that goes over what a call gives."""
    return next(
        (one for one in statements(body) if type(one) is ir.For and ir.encloses(one.iterable.at, at)),
        None,
    )


def _inside(file: str, function: int, expr: ir.Expr, in_for: bool) -> Iterator[Pass]:
    for part in below(expr):
        if type(part) is ir.Comprehension:
            for _, iterable, _ in part.generators:
                yield Pass(file, function, iterable, part.at)
        elif type(part) is ir.Wrapped and part.kind == "yield from" and part.value is not None:
            yield Pass(file, function, part.value, part.at)
        elif type(part) is ir.Call and type(part.func) is ir.Name and part.func.id in ("iter", "list") and part.args:
            if not in_for:
                yield Pass(file, function, part.args[0], part.at)


def loader_classes(project: Project, names: Collection[str]) -> frozenset[str]:
    """How loaders are called as objects (``pkg.Class()``)."""
    return frozenset(f"{name}()" for name in names)


class _Loaders(dict[tuple[int, frozenset[str]], tuple[ir.Expr, list[Instance]]]):
    """The loaders of a project that iterables can be, by the iterable and the classes; several rules ask for the same."""


def loaders_in(project: Project, iterable: ir.Expr, file: str, function: int, names: frozenset[str]) -> list[Instance]:
    """The loaders that an iterable can be, through ``enumerate`` and the like."""
    known: _Loaders = project.kept.setdefault(_Loaders, _Loaders())
    key = (id(iterable), names)
    if key not in known:
        # the iterable is kept as well: its address must not be used again while it is a key
        known[key] = (iterable, _loaders_in(project, iterable, file, function, names))
    return known[key][1]


def _loaders_in(project: Project, iterable: ir.Expr, file: str, function: int, names: frozenset[str]) -> list[Instance]:
    evaluator = project.evaluator(None)
    found = []
    for part in handed_on(iterable):
        answer: Abstract = evaluator.ask(part, file, function, everywhere=True)
        made = [option for option in options_of(answer) if isinstance(option, Instance)]
        loaders = [one for one in made if not one.part and evaluator.instance_name(one) in names]
        # ``self.loader = ready(self.loader)``: an attribute holds both at some time, and is used as what came of it
        others = [one for one in made if one not in loaders] if loaders else []
        found += [one for one in loaders if not any(_is_made_of(evaluator, other, one) for other in others)]
    return found


def _is_made_of(evaluator: Evaluator, made: Instance, given: Instance) -> bool:
    """Whether the call that made an object got another one."""
    arguments = (*made.call.args, *(word.value for word in made.call.keywords))
    options = [one for part in arguments for one in options_of(evaluator.ask_in(part, made.frame, made.state))]
    return any(isinstance(one, Instance) and one.identity == given.identity for one in options)


def handed_on(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The expressions whose items an iterable hands on."""
    if type(expr) is ir.Call:
        name = expr.func.name if type(expr.func) is ir.Attribute else expr.func.id if type(expr.func) is ir.Name else ""
        if name in HANDING_ON or (expr.args and name in ("Progress", "progress", "progressbar")):
            for argument in expr.args:
                yield from handed_on(argument)
            return
        if name == "range" or name in ("items", "values", "keys", "parameters", "named_parameters"):
            return
    if not isinstance(expr, ir.Constant):
        yield expr


def made_at(project: Project, site: CallSite) -> Instance:
    """The object that a call of a library's class makes where it stands."""
    evaluator = project.evaluator(None)
    frame = evaluator.frame(site.file, site.site.function)
    return Instance(External(site.name), site.site.call, frame, evaluator.state(frame, site.site.call.at))


def argument_of(
    project: Project, loader: Instance, name: str, signature: Sequence[str]
) -> tuple[ir.Expr | None, tuple[Abstract, ...], bool]:
    """An argument of a loader: how it is written, what it can be, and whether that is all that is known to be given."""
    position = signature.index(name) if name in signature else None
    given, certain = find_argument(loader.call, name, position)
    if given is None:
        found = project.evaluator(None).argument(loader.call, name, position, loader.frame, loader.state)
        return None, () if found is None else options_of(found), certain or found is None
    options = options_of(project.evaluator(None).evaluate(given, loader.frame, loader.state))
    if name == "dataset":
        # a loader goes through no data that is not there: `self.data = None` stands for what is put there before
        options = tuple(one for one in options if not is_none(one)) or options
    return given, options, True


def is_none(value: Abstract) -> bool:
    """Whether a value is certainly ``None``."""
    return isinstance(value, Leaf) and value.value.is_known and value.value.only is None


def lexical_loop(body: tuple[ir.Stmt, ...], at: ir.Position) -> Loop | None:
    """The innermost loop around a place of a body, not the loop that stands at the place itself."""
    found: Loop | None = None
    while True:
        holder = next((one for one in body if one.at != at and ir.encloses(one.at, at)), None)
        if holder is None:
            return found
        if (type(holder) is ir.For and not ir.encloses(holder.iterable.at, at)) or type(holder) is ir.While:
            found = holder
        inner = next((b for b in blocks_of(holder) if any(one.at == at or ir.encloses(one.at, at) for one in b)), None)
        if inner is None:
            return _comprehension_around(holder, at) or found
        body = inner


def _comprehension_around(statement: ir.Stmt, at: ir.Position) -> ir.Comprehension | None:
    """The outermost comprehension of a statement that has a place among what it evaluates for each item."""
    for expr in expressions_of(statement):
        if ir.encloses(expr.at, at):
            for part in below(expr):
                if type(part) is ir.Comprehension and part.at != at and ir.encloses(part.element.at, at):
                    return part
    return None


def loop_head(around: Around) -> Span:
    """What a loop goes over, or its test."""
    loop = around.loop
    if type(loop) is ir.While:
        expr = loop.test
    else:
        expr = loop.iterable if type(loop) is ir.For else loop.generators[0][1]  # type: ignore[union-attr]
    return ir.unpack(expr.at, around.file)


def loops_around(project: Project, file: str, function: int, at: ir.Position, depth: int = 0) -> Iterator[Around]:
    """The loops in which a place lies: the innermost of its own function, else those around the calls of the function."""
    own = lexical_loop(body_of(project, file, function), at)
    if own is not None:
        yield Around(file, function, own)
        return
    if function < 0 or depth >= MAX_DEPTH:
        return
    for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
        if caller.site.function != function or caller.file != file:
            yield from loops_around(project, caller.file, caller.site.function, caller.site.call.at, depth + 1)


def starts_once(project: Project, file: str, function: int, at: ir.Position, depth: int = 0) -> bool:
    """Whether a place is known to be in no loop, up to the top level of a module."""
    if lexical_loop(body_of(project, file, function), at) is not None:
        return False
    if function < 0:
        return True
    callers = project.callers(FunctionRef(file, function))
    if not callers or depth >= MAX_DEPTH or len(callers) > MAX_CALLERS:
        return False
    return all(starts_once(project, one.file, one.site.function, one.site.call.at, depth + 1) for one in callers)


def trains(project: Project, file: str, body: tuple[ir.Stmt, ...], depth: int = 0) -> bool:
    """Whether statements make a backward pass, themselves or through functions of the project."""
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is not ir.Call:
                    continue
                func = part.func
                if type(func) is ir.Attribute and func.name in ("backward", "train_batch"):
                    return True
                if depth < 3 and _leads_to_training(project, file, func, depth):
                    return True
    return False


def _leads_to_training(project: Project, file: str, func: ir.Expr, depth: int) -> bool:
    target = project.modules.resolve(func, file)
    if isinstance(target, FunctionRef):
        return trains(project, target.file, project.function(target).body, depth + 1)
    if type(func) is ir.Attribute and type(func.base) is ir.Name and func.base.id in ("self", "cls"):
        return any(
            one.name == func.name and one.owner >= 0 and trains(project, file, one.body, depth + 1)
            for one in project.module(file).functions
        )
    return False


def evaluates(project: Project, place: Pass) -> bool:
    """Whether a pass looks like an evaluation, in which the order of the items does not matter."""
    if trains(project, place.file, place.body):
        return False
    words = [word for part in handed_on(place.iterable) for word in _words(part)]
    function = place.function
    body = body_of(project, place.file, function)
    if _without_gradients(body, place.at) or any(_EVALUATING.search(word) for word in words):
        return True
    if _is_set_to_evaluate(project, place.file, body, place.at) or _is_for_evaluation(project, place):
        return True
    while function >= 0:
        definition = project.module(place.file).functions[function]
        if _EVALUATING.search(definition.name) and not _TRAINING.search(definition.name):
            return True
        if any(is_no_grad(one) for one in definition.decorators):
            return True
        function = definition.parent
    return False


def _is_set_to_evaluate(project: Project, file: str, body: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
    """Whether a function without a backward pass switches a model to evaluation before a place of it."""
    switched = ""
    for statement in statements(body):
        if statement.at < at and type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            call = statement.value
            if type(call.func) is ir.Attribute and call.func.name in ("eval", "train"):
                switched = call.func.name if not call.args else ""
    return switched == "eval" and not trains(project, file, body)


def _is_for_evaluation(project: Project, place: Pass) -> bool:
    """Whether a function that goes through items for its callers, as a generator expression does, has callers that all evaluate."""
    if place.function < 0 or place.body:
        return False
    callers = project.callers(FunctionRef(place.file, place.function))[: MAX_CALLERS + 1]
    return 0 < len(callers) <= MAX_CALLERS and all(
        _is_set_to_evaluate(project, one.file, body_of(project, one.file, one.site.function), one.site.call.at)
        for one in callers
    )


def _words(expr: ir.Expr) -> Iterator[str]:
    """The names in an access path: ``self.val_loader`` has ``self`` and ``val_loader``."""
    while type(expr) is ir.Attribute or type(expr) is ir.Subscript:
        if type(expr) is ir.Attribute:
            yield expr.name
        expr = expr.base
    if type(expr) is ir.Name:
        yield expr.id


def _without_gradients(body: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
    while True:
        holder = next((one for one in body if one.at != at and ir.encloses(one.at, at)), None)
        if holder is None:
            return False
        if type(holder) is ir.With and any(is_no_grad(context) for context, _ in holder.items):
            return True
        body = next((b for b in blocks_of(holder) if any(ir.encloses(one.at, at) for one in b)), ())


def is_no_grad(expr: ir.Expr) -> bool:
    """Whether a context or decorator keeps no gradients, with its parentheses or without."""
    return last_name(expr.func if type(expr) is ir.Call else expr) in GRADIENTS_OFF


def is_list(project: Project, expr: ir.Expr, frame: Frame, state: Env, depth: int = 0) -> bool:
    """Whether an expression is a list that the program makes itself, also in a function that returns it."""
    if type(expr) is ir.Comprehension:
        return expr.kind == "list"
    if type(expr) is ir.ListDisplay:
        return expr.kind == "list" and bool(expr.items)
    if depth > MAX_LIST:
        return False
    if type(expr) is ir.Name:
        place: Env | None = state
        while place is not None:
            if isinstance(place, Bind) and place.name == expr.id:
                value = place.expr
                if place.part or not isinstance(value, ir.Name | ir.Call | ir.ListDisplay | ir.Comprehension):
                    return False
                return is_list(project, value, frame, place.at, depth + 1)
            if isinstance(place, Join) and expr.id in place.touched:
                return False
            place = place.prev
        return False
    if type(expr) is not ir.Call:
        return False
    evaluator = project.evaluator(None)
    options = options_of(evaluator.ask_in(expr.func, frame, state))
    inner = frame_of_call(evaluator, options[0], expr, frame) if len(options) == 1 else None
    if inner is None:
        return False
    returns = returns_of(evaluator, inner)
    return bool(returns) and all(
        value is not None and is_list(project, value, inner, end, depth + 1) for value, end in returns
    )
