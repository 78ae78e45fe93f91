"""Finds out what an expression can be, without running anything.

A demand-driven evaluation over the environment chains of ``link.flow``: names through assignments, parameters through
all callers, attributes through the methods that set them, dict displays with the stores that follow, options through
the parser that defines them. Everything is bounded: by depth, by the number of steps, and by remembering what is
being evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from distlint.link import arithmetic
from distlint.link.abstract import (
    NOTHING,
    Abstract,
    Delayed,
    Frame,
    Instance,
    LambdaValue,
    Reference,
    lifted,
    node_of,
    options_of,
    several,
)
from distlint.link.arguments import find_argument, without_popped
from distlint.link.calls import call_result, given_arguments
from distlint.link.chains import in_chain
from distlint.link.changes import placed
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef, Target
from distlint.link.namespaces import attributes_of
from distlint.link.objects import attribute, attribute_of, attributes
from distlint.link.parameters import parameter_value
from distlint.link.paths import ProjectPath
from distlint.link.process_arguments import ARGUMENTS
from distlint.link.text_sizes import formatted
from distlint.link.trees import merged
from distlint.link.variables import module_variable
from distlint.link.walking import ALL
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import State, Value, concatenated, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 60
"""Nested evaluations (names, calls, joins) before the answer is *unknown*."""

MAX_STEPS = 800
"""Steps per question; a question that needs more is answered *unknown*."""

LEAST_STEPS = 60
SHARED_STEPS = 200_000
"""Steps for a question that is asked in each function of a project; in a large one most are none of the check's concern, and are
given up early. What loops go over in six repositories was found in 57 steps at most."""

_BUILTIN_NAMES = """
abs all any bool bytes callable dict enumerate eval exec filter float format frozenset getattr hasattr id input
int isinstance issubclass iter len list map max min next object open ord pow print range repr reversed round set
setattr slice sorted staticmethod str sum super tuple type vars zip
"""

_BUILTINS = frozenset(_BUILTIN_NAMES.split())

Key = tuple[Any, ...]
SecondOpinion = Callable[["Evaluator", ir.Expr, Frame, Abstract], Abstract | None]


class Evaluator:
    """Evaluates expressions of a project, for one run or for none.

    ``options`` answers what a parsed option is; see ``link.options``. Results are remembered per place, so an
    evaluator should live as long as its project and run do.
    """

    def __init__(self, project: Project, options: Any = None) -> None:
        self.project = project
        self.modules = project.modules
        self.options = options
        self.second_opinion: SecondOpinion | None = None
        """Who is asked for a second opinion on what is asked from outside, where the first one leaves something open."""
        self.frames: dict[Key, Frame] = {}
        # Objects that stand for those that nobody is seen to make: see ``link.receivers``.
        self.objects: dict[Key, Instance] = {}
        # An answer is remembered with the depth that it took, so that it is given or refused alike whoever asks first.
        self._memo: dict[Key, tuple[Abstract, int]] = {}
        self._active: set[Key] = set()
        # What the answers being worked out were cut short by: places that are being evaluated further out, or a limit
        # (``()``).
        self._cuts: set[Key] = set()
        self._depth = 0
        self._deepest = 0
        self._steps = 0
        # Answers are remembered by the identity of what was asked, so that must stay alive.
        self._alive: list[object] = []
        # What a place is taken for while it is being evaluated: a name when a loop was entered, an attribute before a
        # method changes it.
        self._standing: dict[Key, Abstract] = {}
        # Answers that hold only as long as the places that cut them short are being evaluated, and which those are.
        self._tentative: dict[Key, tuple[Abstract, int, frozenset[Key]]] = {}
        self._dependents: dict[Key, list[Key]] = {}
        self._synthetic: dict[Key, ir.Expr] = {}
        # Variables of modules that are being looked for from before their first assignment.
        self._entered: set[tuple[str, str]] = set()

    # Questions ---------------------------------------------------------------------------------------------------

    def frame(self, file: str, function: int) -> Frame:
        """The frame of a function (or of a module, -1) for which nothing is known of the caller."""
        key = (file, function)
        if key not in self.frames:
            self.frames[key] = Frame(file, function)
        return self.frames[key]

    def state(self, frame: Frame, at: ir.Position) -> Env:
        """The state in which an expression at ``at`` is evaluated."""
        return self.project.flow(frame.file, frame.function).before(at)

    def ask(self, expr: ir.Expr, file: str, function: int, *, everywhere: bool = False) -> Abstract:
        """What an expression of a function can be; the entry for checks.

        A check that asks the same ``everywhere`` gets fewer steps the larger the project is.
        """
        return self.ask_in(expr, self.frame(file, function), everywhere=everywhere)

    def ask_in(self, expr: ir.Expr, frame: Frame, state: Env | None = None, *, everywhere: bool = False) -> Abstract:
        """What an expression can be in a frame, where more may be known of the parameters than ``ask`` knows."""
        outermost = self._depth == 0
        if outermost:
            self._steps = MAX_STEPS - self._share if everywhere else 0
        try:
            return self.evaluate(expr, frame, state if state is not None else self.state(frame, expr.at))
        finally:
            if outermost:
                self._steps = 0  # whoever evaluates something next has all steps again

    @cached_property
    def _share(self) -> int:
        """Steps of a question that is asked in each function."""
        functions = sum(len(self.project.module(file).functions) for file in self.project.python_files)
        return max(LEAST_STEPS, min(MAX_STEPS, SHARED_STEPS // max(functions, 1)))

    def value(self, expr: ir.Expr, file: str, function: int) -> Value:
        """What is known of an expression's value."""
        span = ir.unpack(expr.at, file)
        return node_value(node_of(self.ask(expr, file, function), span)).at(span)

    def argument(
        self, call: ir.Call, name: str, position: int | None, frame: Frame, state: Env | None = None
    ) -> Abstract | None:
        """An argument of a call by keyword or position; ``None`` if it is not given, unknown behind ``*`` or ``**``."""
        expr, certain = find_argument(call, name, position)
        state = state if state is not None else self.state(frame, call.at)
        if expr is not None:
            return self.evaluate(expr, frame, state)
        if certain:
            return None
        given = given_arguments(self, call, frame, state)
        if position is not None and 0 <= position < len(given.positional):
            return self.force(given.positional[position])
        if name in given.keywords:
            return self.force(given.keywords[name])
        if given.open_keywords:
            return self.unknown("behind ** in the call", call.at, frame)
        return self.unknown("behind *", call.at, frame) if given.open_positional else None

    def argument_attribute(
        self, call: ir.Call, name: str, position: int | None, names: tuple[str, ...], frame: Frame
    ) -> Abstract | None:
        """An attribute of an argument, as it is when the call is made; ``None`` if the argument is not given."""
        expr, _ = find_argument(call, name, position)
        span = ir.unpack(call.at, frame.file)
        if expr is not None:
            return attribute_of(self, expr, names, frame, self.state(frame, call.at), span)
        given = self.argument(call, name, position, frame)
        return attributes(self, given, names, span) if given is not None else None

    def keywords(self, call: ir.Call, file: str, function: int) -> Mapping:
        """The keyword arguments of a call site as a mapping; open if some stand behind ``**`` of something unknown."""
        frame = self.frame(file, function)
        self._steps = 0 if self._depth == 0 else self._steps
        return self.keyword_mapping(call, frame, self.state(frame, call.at), ir.unpack(call.at, file))

    # Remembering -------------------------------------------------------------------------------------------------

    def guarded(self, key: Key, work: Callable[[], Abstract]) -> Abstract:
        """The answer to a question, remembered.

        Where the question comes up again while it is being answered, what stands for it.
        """
        found = self._memo.get(key)
        if found is not None:
            if not self._depth or self._depth + found[1] <= MAX_DEPTH:
                self._deepest = max(self._deepest, self._depth + found[1])
                return found[0]
            self.cut()
            return Leaf(unknown("too deep to follow", NOTHING.span), NOTHING.span)
        if key in self._active:
            self._cuts.add(key)
            return self._standing.get(key, NOTHING)
        tentative = self._tentative.get(key)
        if tentative is not None:
            self._cuts |= tentative[2]
            self._deepest = max(self._deepest, self._depth + tentative[1])
            return tentative[0]
        started = self._steps
        self._steps += 1
        if self._depth >= MAX_DEPTH or self._steps > MAX_STEPS:
            self.cut()
            return Leaf(unknown("too deep to follow", NOTHING.span), NOTHING.span)
        outer_cuts, outer_deepest = self._cuts, self._deepest
        self._cuts = set()
        self._depth += 1
        self._deepest = self._depth
        self._active.add(key)
        try:
            result = work()
        finally:
            self._depth -= 1
            height = self._deepest - self._depth
            self._active.discard(key)
            self._cuts.discard(key)
            inner_cuts = self._cuts
            self._cuts = outer_cuts | inner_cuts if inner_cuts else outer_cuts
            self._deepest = max(outer_deepest, self._deepest)
        self._forget(key)
        if not inner_cuts or (self._depth == 0 and started == 0):
            # An answer that was cut short depends on how we came here, so it must not answer another question.
            self._memo[key] = (result, height)
        else:
            self._tentative[key] = (result, height, frozenset(inner_cuts))
            for cut in inner_cuts:
                self._dependents.setdefault(cut, []).append(key)
        if self._depth == 0:
            self._forget(())
        return result

    def _forget(self, key: Key) -> None:
        """Drops the answers that depended on a place.

        It is no longer being evaluated, or is taken for something else now.
        """
        for dependent in self._dependents.pop(key, ()):
            self._tentative.pop(dependent, None)

    def cut(self) -> None:
        """Says that the answers being worked out depend on a limit."""
        self._cuts.add(())

    def came_back_to(self, key: Key) -> bool:
        """Whether the question that is being answered has come up again on the way to its answer."""
        return key in self._cuts

    @property
    def is_cut(self) -> bool:
        """Whether the answer being worked out depends on how we came here, so far."""
        return bool(self._cuts)

    def keep(self, thing: object) -> None:
        """Keeps something alive by whose identity answers are remembered."""
        self._alive.append(thing)

    @contextmanager
    def standing(self, key: Key, value: Abstract) -> Iterator[None]:
        """Lets a value stand for a question that is being answered."""
        before = self._standing.get(key)
        self._standing[key] = value
        self._forget(key)
        try:
            yield
        finally:
            if before is None:
                del self._standing[key]
            else:
                self._standing[key] = before

    def force(self, delayed: Delayed) -> Abstract:
        """The value of an argument that waited to be asked for."""
        if delayed.value is not None:
            return delayed.value
        assert delayed.expr is not None and delayed.frame is not None and delayed.state is not None  # noqa: S101, PT018 - the other kind
        return self.evaluate(delayed.expr, delayed.frame, delayed.state)

    def called(self, factory: ir.Expr) -> ir.Call:
        """A call without arguments of what an expression names; the same one each time."""
        key = ("called", id(factory))
        if key not in self._synthetic:
            self.keep(factory)
            self._synthetic[key] = ir.Call(factory, (), (), factory.at)
        made = self._synthetic[key]
        assert isinstance(made, ir.Call)  # noqa: S101 - stored just above
        return made

    # Expressions -------------------------------------------------------------------------------------------------

    def evaluate(self, expr: ir.Expr, frame: Frame, state: Env) -> Abstract:
        """What an expression can be in a state of a frame."""
        kind = type(expr)
        span = ir.unpack(expr.at, frame.file)
        if kind is ir.Constant:
            return Leaf(known(expr.value, span), span)  # type: ignore[union-attr]
        key = (id(expr), id(frame), id(state))
        if key in self._active:
            self._cuts.add(key)
            return Leaf(unknown("depends on itself", span), span)
        if key not in self._memo:
            self._alive.append((expr, frame, state))
        result = lifted(self.guarded(key, lambda: self._dispatch(expr, frame, state, span)))
        if self.second_opinion is None or self._depth or frame.local:
            return result
        return self.second_opinion(self, expr, frame, result) or result

    def truth(self, test: ir.Expr, frame: Frame, state: Env) -> bool | None:
        """Whether a test holds; ``None`` where it may go either way."""
        return arithmetic.truth(self.evaluate(test, frame, state))

    def _dispatch(self, expr: Any, frame: Frame, state: Env, span: Span) -> Abstract:
        kind = type(expr)
        if kind is ir.Name:
            return self.name(expr.id, frame, state, span)
        if kind is ir.Attribute:
            return self._attribute(expr, frame, state, span)
        if kind is ir.Call:
            return call_result(self, expr, frame, state, span)
        if kind is ir.DictDisplay:
            return self._dict(expr, frame, state, span)
        if kind is ir.ListDisplay:
            return self._list(expr, frame, state, span)
        if kind is ir.Subscript:
            from distlint.link.items import item_of

            return item_of(self, expr, frame, state, span)
        if kind is ir.Operation:
            return arithmetic.operate(self, expr, frame, state, span)
        if kind is ir.Conditional:
            decided = self.truth(expr.test, frame, state)
            parts = (expr.body, expr.orelse) if decided is None else (expr.body if decided else expr.orelse,)
            return several([self.evaluate(part, frame, state) for part in parts], span)
        if kind is ir.Formatted:
            return self._formatted(expr, frame, state, span)
        if kind is ir.Wrapped and expr.value is not None and expr.kind in ("await", ":="):
            return self.evaluate(expr.value, frame, state)
        if kind is ir.Lambda:
            return LambdaValue(expr, frame, state)
        if kind is ir.Comprehension:
            from distlint.link.comprehensions import comprehended

            return comprehended(self, expr, frame, state, span)
        return Leaf(unknown(f"a {kind.__name__.lower()} expression", span), span)

    def unknown(self, reason: str, at: ir.Position, frame: Frame) -> Leaf:
        """A leaf that is not known, at a position of a frame's file."""
        span = ir.unpack(at, frame.file)
        return Leaf(unknown(reason, span), span)

    def _dict(self, expr: ir.DictDisplay, frame: Frame, state: Env, span: Span) -> Abstract:
        entries: list[Entry] = []
        is_open = False
        for key, value in zip(expr.keys, expr.values, strict=True):
            node = node_of(self.evaluate(value, frame, state), ir.unpack(value.at, frame.file))
            if key is None:
                # what is not known may put something else in the place of anything before it
                if not isinstance(node, Mapping) or node.open:
                    own = self._other_parameters(value, frame)
                    doubtful = merged(Mapping(tuple(entries), span), (), None, span).entries
                    entries = [one if one.key in own else other for one, other in zip(entries, doubtful, strict=True)]
                    is_open = True
                if isinstance(node, Mapping):
                    entries.extend(node.entries)
                continue
            named = node_value(node_of(self.evaluate(key, frame, state), span))
            if named.is_known and isinstance(named.only, (str, int, float, bool)):
                entries.append(Entry(named.only, ir.unpack(key.at, frame.file), placed(node, value, frame)))
            elif named.state is State.ONE_OF and all(isinstance(option, str) for option in named.options):
                at = ir.unpack(key.at, frame.file)
                entries.extend(Entry(option, at, placed(node, value, frame), certain=False) for option in named.options)
            else:
                is_open = True
        return Mapping(tuple(entries), span, is_open)

    def _other_parameters(self, spread: ir.Expr, frame: Frame) -> frozenset[str]:
        """The names that ``**rest`` of the function around can't hold, since they are parameters of their own."""
        if type(spread) is not ir.Name or frame.function < 0:
            return frozenset()
        parameters = self.project.module(frame.file).functions[frame.function].parameters
        if not any(one.kind == "var-keyword" and one.name == spread.id for one in parameters):
            return frozenset()
        return frozenset(one.name for one in parameters)

    def _list(self, expr: ir.ListDisplay, frame: Frame, state: Env, span: Span) -> Abstract:
        items: list[Node] = []
        is_open = False
        for item in expr.items:
            if type(item) is ir.Starred:
                inner = self.evaluate(item.value, frame, state)
                if isinstance(inner, Sequence):
                    items.extend(inner.items)
                    is_open = is_open or inner.open
                else:
                    is_open = True
            else:
                items.append(node_of(self.evaluate(item, frame, state), ir.unpack(item.at, frame.file)))
        return Sequence(tuple(items), span, is_open, expr.kind)

    def _formatted(self, expr: ir.Formatted, frame: Frame, state: Env, span: Span) -> Abstract:
        values = [node_value(node_of(self.evaluate(part, frame, state), span)) for part in expr.parts]
        for place, form in enumerate(expr.forms):
            if form != "" and values[place].is_known:
                values[place] = values[place].map(partial(formatted, form=form))
        return Leaf(concatenated(values, span), span)

    def part_of(self, instance: Instance, part: int | str) -> Abstract:
        """A part of what a call gave.

        An item of an unpacked tuple, an element of an iterable, an attribute that nobody sets.
        """
        if self.options is not None:
            found = self.options.part(self, instance, part)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return Instance(instance.callee, instance.call, instance.frame, instance.state, (*instance.part, part))

    def keyword_mapping(self, call: ir.Call, frame: Frame, state: Env, span: Span) -> Mapping:
        """The keyword arguments of a call as a mapping."""
        entries: list[Entry] = []
        is_open = False
        for keyword in call.keywords:
            node = node_of(self.evaluate(keyword.value, frame, state), ir.unpack(keyword.value.at, frame.file))
            if keyword.name is not None:
                at = ir.unpack(keyword.at, frame.file)
                name_span = Span(at.file, at.line, at.column, at.line, at.column + len(keyword.name))
                entries.append(Entry(keyword.name, name_span, placed(node, keyword.value, frame)))
            elif isinstance(node, Mapping):
                entries.extend(without_popped(node, call, keyword.value).entries)
                is_open = is_open or node.open
            else:
                is_open = True
        return Mapping(tuple(entries), span, is_open)

    # Names -------------------------------------------------------------------------------------------------------

    def name(self, name: str, frame: Frame, state: Env, span: Span, names: tuple[str, ...] = ()) -> Abstract:
        """What a name (or an attribute of it) can be in a state.

        Local, of an enclosing function, of the module, imported, built in.
        """
        if name in frame.local:
            return self._given(frame.local[name], names, span)
        current = frame
        place: Env | None = state
        while current.function >= 0:
            flow = self.project.flow(current.file, current.function)
            function = self.project.function(FunctionRef(current.file, current.function))
            if name in flow.assigned or any(parameter.name == name for parameter in function.parameters):
                if place is None:
                    place = flow.exit or (flow.returns[-1][1] if flow.returns else flow.entry)
                return self.in_chain(name, current, place, span, names)
            if name in current.bindings:
                return self._given(current.bindings[name], names, span)
            current = current.outer or self.frame(current.file, function.parent)
            place = None
        if name in self.project.flow(current.file, -1).assigned:
            return module_variable(self, name, current.file, span, names, place)
        return attributes(self, self._global(name, current.file, span), names, span)

    def _global(self, name: str, file: str, span: Span) -> Abstract:
        if name == "__file__":
            return Leaf(known(ProjectPath(file), span), span)
        if name == "__name__":
            return Leaf(known("__main__", span), span)
        target = self.modules.lookup(name, file)
        if target is not None:
            return self.target(target, span)
        if name in _BUILTINS:
            return Reference(External(f"builtins.{name}"), span)
        return Leaf(unknown(f"`{name}` is not bound where we can see", span), span)

    def target(self, target: Target, span: Span) -> Abstract:
        """The value of what a name was resolved to."""
        if isinstance(target, GlobalRef):
            if target.name in self.project.flow(target.file, -1).assigned:
                return module_variable(self, target.name, target.file, span)
            return Leaf(unknown(f"`{target.name}` of {target.file}", span), span)
        if isinstance(target, External) and target.name == ARGUMENTS and self.options is not None:
            arguments: Abstract = self.options.process_arguments(span)
            return arguments
        return Reference(target, span)

    def in_chain(self, name: str, frame: Frame, state: Env, span: Span, names: tuple[str, ...] = ()) -> Abstract:
        """What a name, or an attribute of it, is in a state of a body."""
        return in_chain(self, name, frame, state, span, names)

    def operation(self, statement: ir.AugAssign) -> ir.Operation:
        """An augmented assignment's right-hand side as the operation that it stands for; the same one each time."""
        key = ("augmented", id(statement))
        if key not in self._synthetic:
            self.keep(statement)
            operands = (statement.target, statement.value)
            self._synthetic[key] = ir.Operation((statement.operator,), operands, statement.at)
        made = self._synthetic[key]
        assert isinstance(made, ir.Operation)  # noqa: S101 - stored just above
        return made

    def take(self, value: Abstract, part: int | str, span: Span) -> Abstract:
        """A part of a value, as unpacking, iteration and ``with`` take it."""
        from distlint.link.items import part_of_value

        return several([part_of_value(self, option, part, span) for option in options_of(value)], span)

    def _given(self, delayed: Delayed, names: tuple[str, ...], span: Span) -> Abstract:
        if names in delayed.attributes:
            return delayed.attributes[names]
        if names and delayed.expr is not None and delayed.frame is not None and delayed.state is not None:
            return attribute_of(self, delayed.expr, names, delayed.frame, delayed.state, span)
        return attributes(self, self.force(delayed), names, span)

    def entry(self, name: str, frame: Frame, span: Span, names: tuple[str, ...]) -> Abstract:
        """The start of a body was reached: the name is a parameter, or comes from further out."""
        if name in frame.bindings:
            return self._given(frame.bindings[name], names, span)
        if frame.function < 0:
            return self._before_all(name, frame.file, span, names)
        function = self.project.function(FunctionRef(frame.file, frame.function))
        for position, parameter in enumerate(function.parameters):
            if parameter.name == name:
                asked = partial(parameter_value, self, function, parameter, position, frame, span, names)
                if not names:
                    return asked()
                # A function that hands its parameter on to itself would be asked for the attribute again and again.
                self.keep(frame)
                return self.guarded(("parameter", name, names, id(frame)), asked)
        if name in self.project.flow(frame.file, frame.function).bound:
            # A variable of the function that is not set on this way: the program itself would fail here.
            return NOTHING
        outer = frame.outer or self.frame(frame.file, function.parent)
        flow = self.project.flow(outer.file, outer.function)
        return self.name(name, outer, flow.exit or flow.entry, span, names)

    def _before_all(self, name: str, file: str, span: Span, names: tuple[str, ...]) -> Abstract:
        """A name of a module from before its first assignment: what the module holds in the end, if that is set."""
        place = (file, name)
        if place in self._entered:
            return Leaf(unknown(f"`{name}` is not set on this path", span), span)
        self._entered.add(place)
        try:
            return attributes(self, self._global(name, file, span), names, span)
        finally:
            self._entered.discard(place)

    # Attributes --------------------------------------------------------------------------------------------------

    def _attribute(self, expr: ir.Attribute, frame: Frame, state: Env, span: Span) -> Abstract:
        target = self.modules.resolve(expr, frame.file)
        if target is not None and not self._shadowed(expr, frame):
            return self.target(target, span)
        if expr.name == ALL:
            return attributes_of(self, expr.base, frame, state, span)
        return attribute_of(self, expr.base, (expr.name,), frame, state, span)

    def _shadowed(self, expr: ir.Expr, frame: Frame) -> bool:
        """Whether the root of a dotted expression is not simply what the module binds.

        That is so for a variable of the body, and for an object that the body changes.
        """
        while type(expr) is ir.Attribute:
            expr = expr.base
        if type(expr) is not ir.Name:
            return False
        if expr.id in frame.local or expr.id in self.project.flow(frame.file, frame.function).assigned:
            return True
        if frame.function < 0:
            return False
        function = self.project.function(FunctionRef(frame.file, frame.function))
        return any(parameter.name == expr.id for parameter in function.parameters)

    def attribute(self, base: Abstract, name: str, span: Span) -> Abstract:
        """An attribute of something."""
        return attribute(self, base, name, span)

    def instance_name(self, instance: Instance) -> str:
        """How rules name an object by what made it: ``pkg.Class()``, ``pkg.function()[0]``, ``pkg.Class().method``.

        An object of a project class goes by the first library class that it derives from.
        """
        if isinstance(instance.callee, External):
            root = instance.callee.name
        elif isinstance(instance.callee, ClassRef):
            root = min(self.modules.external_bases(instance.callee), default=instance.callee.file)
        else:
            root = ""
        steps = (part if str(part).startswith(".") else f"[{part}]" for part in instance.part if part != "self")
        return f"{root}()" + "".join(map(str, steps))
