"""Finds out what an expression can be, without running anything.

A demand-driven evaluation over the environment chains of ``link.flow``: names through assignments, parameters through all callers,
attributes through the methods that set them, dict displays with the stores that follow, options through the parser that defines them.
Everything is bounded: by depth, by the number of steps, and by remembering what is being evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import (
    NOTHING,
    Abstract,
    Frame,
    Instance,
    LambdaValue,
    Reference,
    leaf,
    node_of,
    options_of,
    separate,
    several,
)
from distlint.link.arithmetic import operate, truth
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef, Target
from distlint.link.paths import PathText, ProjectPath
from distlint.link.trees import merged, removed, stored
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, find, node_value
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 40
"""Nested evaluations (names, calls, joins) before the answer is *unknown*."""

MAX_CALL_DEPTH = 6
"""Function calls that are entered one inside the other."""

MAX_STEPS = 20_000
"""Steps per question; a question that needs more is answered *unknown*."""

MAX_CALLERS = 8
"""A parameter with more callers than this is unknown."""

_BUILTINS = frozenset(
    "abs all any bool bytes dict enumerate eval exec filter float frozenset getattr hasattr id input int isinstance iter len list map max "
    "min next object open ord pow print range repr reversed round set setattr slice sorted str sum super tuple type vars zip".split()
)


class Evaluator:
    """Evaluates expressions of a project, for one run or for none.

    ``arguments`` answers what a parsed option is; see ``link.options``. Results are remembered per place, so an evaluator should live as
    long as its project and run do.
    """

    def __init__(self, project: Project, options: Any = None) -> None:
        self.project = project
        self.modules = project.modules
        self.options = options
        self._memo: dict[tuple[Any, ...], Abstract] = {}
        self._active: set[tuple[Any, ...]] = set()
        self._depth = 0
        self._steps = 0
        self._frames: dict[tuple[str, int], Frame] = {}
        self._cut = 0
        # Answers are remembered by the identity of what was asked, so that must stay alive.
        self._alive: list[object] = []
        # What a name was when a loop was entered, while the way back is still being followed.
        self._entered: dict[tuple[Any, ...], Abstract] = {}

    # Questions ---------------------------------------------------------------------------------------------------

    def frame(self, file: str, function: int) -> Frame:
        """The frame of a function (or of a module, -1) for which nothing is known of the caller."""
        key = (file, function)
        if key not in self._frames:
            self._frames[key] = Frame(file, function)
        return self._frames[key]

    def state(self, frame: Frame, at: ir.Position) -> Env:
        """The state in which an expression at ``at`` is evaluated."""
        return self.project.flow(frame.file, frame.function).before(at)

    def ask(self, expr: ir.Expr, file: str, function: int) -> Abstract:
        """What an expression of a function can be; the entry for checks."""
        frame = self.frame(file, function)
        if self._depth == 0:
            self._steps = 0
        return self.evaluate(expr, frame, self.state(frame, expr.at))

    def value(self, expr: ir.Expr, file: str, function: int) -> Value:
        """What is known of an expression's value."""
        span = ir.unpack(expr.at, file)
        return node_value(node_of(self.ask(expr, file, function), span)).at(span)

    def argument(self, call: ir.Call, name: str, position: int | None, frame: Frame) -> Abstract | None:
        """An argument of a call by keyword or position; ``None`` if it is not given, unknown behind ``*`` or ``**``."""
        expr, certain = find_argument(call, name, position)
        state = self.state(frame, call.at)
        if expr is not None:
            return self.evaluate(expr, frame, state)
        if certain:
            return None
        for keyword in call.keywords:
            if keyword.name is None:
                spread = self.evaluate(keyword.value, frame, state)
                if isinstance(spread, Mapping):
                    entry, sure = find(spread, (name,))
                    if entry is not None and entry.certain:
                        return entry.node
                    if entry is None and sure and all(type(arg) is not ir.Starred for arg in call.args):
                        continue
                return self._unknown("behind ** in the call", call.at, frame)
        return (
            None if not any(type(arg) is ir.Starred for arg in call.args) else self._unknown("behind *", call.at, frame)
        )

    # Expressions -------------------------------------------------------------------------------------------------

    def evaluate(self, expr: ir.Expr, frame: Frame, state: Env) -> Abstract:
        """What an expression can be in a state of a frame."""
        kind = type(expr)
        span = ir.unpack(expr.at, frame.file)
        if kind is ir.Constant:
            return Leaf(known(expr.value, span), span)  # type: ignore[union-attr]
        self._steps += 1
        if self._depth >= MAX_DEPTH or self._steps > MAX_STEPS:
            self._cut += 1
            return Leaf(unknown("too deep to follow", span), span)
        key = (id(expr), id(frame), id(state))
        if key in self._memo:
            return self._memo[key]
        if key in self._active:
            self._cut += 1
            return Leaf(unknown("depends on itself", span), span)
        self._active.add(key)
        self._depth += 1
        cut = self._cut
        try:
            result = self._dispatch(expr, frame, state, span)
        finally:
            self._depth -= 1
            self._active.discard(key)
        if cut == self._cut or self._depth == 0:
            # An answer that was cut short depends on how we came here, so it must not answer another question.
            self._memo[key] = result
            self._alive.append((expr, frame, state))
        return result

    def _dispatch(self, expr: Any, frame: Frame, state: Env, span: Span) -> Abstract:
        kind = type(expr)
        if kind is ir.Name:
            return self.name(expr.id, frame, state, span)
        if kind is ir.Attribute:
            return self._attribute(expr, frame, state, span)
        if kind is ir.Call:
            return self._call(expr, frame, state, span)
        if kind is ir.DictDisplay:
            return self._dict(expr, frame, state, span)
        if kind is ir.ListDisplay:
            return self._list(expr, frame, state, span)
        if kind is ir.Subscript:
            return self._subscript(expr, frame, state, span)
        if kind is ir.Operation:
            return operate(self, expr, frame, state, span)
        if kind is ir.Conditional:
            decided = truth(self.evaluate(expr.test, frame, state))
            if decided is not None:
                return self.evaluate(expr.body if decided else expr.orelse, frame, state)
            return several([self.evaluate(part, frame, state) for part in (expr.body, expr.orelse)], span)
        if kind is ir.Formatted:
            return self._formatted(expr, frame, state, span)
        if kind is ir.Wrapped and expr.value is not None and expr.kind in ("await", ":="):
            return self.evaluate(expr.value, frame, state)
        if kind is ir.Lambda:
            return LambdaValue(expr, frame)
        return Leaf(unknown(f"a {kind.__name__.lower()} expression", span), span)

    def _unknown(self, reason: str, at: ir.Position, frame: Frame) -> Leaf:
        span = ir.unpack(at, frame.file)
        return Leaf(unknown(reason, span), span)

    def _dict(self, expr: ir.DictDisplay, frame: Frame, state: Env, span: Span) -> Abstract:
        entries: list[Entry] = []
        is_open = False
        for key, value in zip(expr.keys, expr.values, strict=True):
            node = node_of(self.evaluate(value, frame, state), ir.unpack(value.at, frame.file))
            if key is None:
                if isinstance(node, Mapping):
                    entries.extend(node.entries)
                    is_open = is_open or node.open
                else:
                    is_open = True
                continue
            named = node_value(node_of(self.evaluate(key, frame, state), span))
            if named.is_known and isinstance(named.only, (str, int, float, bool)):
                entries.append(Entry(named.only, ir.unpack(key.at, frame.file), placed(node, value, frame)))
            else:
                is_open = True
        return Mapping(tuple(entries), span, is_open)

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
        return Sequence(tuple(items), span, is_open)

    def _formatted(self, expr: ir.Formatted, frame: Frame, state: Env, span: Span) -> Abstract:
        values = [node_value(node_of(self.evaluate(part, frame, state), span)) for part in expr.parts]
        if all(value.is_known for value in values):
            confidence = min((value.confidence for value in values), default=Confidence.CERTAIN)
            spans = tuple(dict.fromkeys(s for value in values for s in value.spans))
            return Leaf(known("".join(str(value.only) for value in values), span, *spans, confidence=confidence), span)
        return Leaf(unknown("holds parts that are not known", span), span)

    def _subscript(self, expr: ir.Subscript, frame: Frame, state: Env, span: Span) -> Abstract:
        if type(expr.index) is ir.Constant and self.modules.dotted(expr.base, frame.file) == "os.environ":
            return self._environment(expr.index.value, None, span)
        results = []
        index = node_value(node_of(self.evaluate(expr.index, frame, state), span))
        for base in options_of(self.evaluate(expr.base, frame, state)):
            if isinstance(base, Instance) and index.is_known and isinstance(index.only, int):
                results.append(self.part_of(base, index.only))
            elif isinstance(base, Mapping) and index.is_known:
                entry, sure = find(base, (index.only,))
                missing = "no such key" if sure else "may be set where we can't see"
                results.append(
                    entry.node if entry is not None and entry.certain else Leaf(unknown(missing, span), span)
                )
            elif isinstance(base, Sequence) and index.is_known and isinstance(index.only, int) and not base.open:
                at = index.only
                results.append(
                    base.items[at]
                    if -len(base.items) <= at < len(base.items)
                    else Leaf(unknown("out of range", span), span)
                )
            elif isinstance(base, Leaf) and base.value.is_known and index.is_known:
                results.append(leaf(base.value.map(lambda text: text[index.only]), span))
            else:
                results.append(Leaf(unknown("an item of something unknown", span), span))
        return several(results, span)

    def part_of(self, instance: Instance, part: int | str) -> Abstract:
        """A part of what a call gave: an item of an unpacked tuple, an element of an iterable, an attribute that nobody sets."""
        if self.options is not None:
            found = self.options.part(self, instance, part)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return Instance(instance.callee, instance.call, instance.frame, instance.state, (*instance.part, part))

    def _environment(self, name: Any, default: Abstract | None, span: Span) -> Abstract:
        if self.options is not None and isinstance(name, str):
            given = self.options.environment(name, default, span)
            if given is not None:
                return given  # type: ignore[no-any-return]
        return Leaf(unknown(f"the environment variable {name}", span), span)

    # Names -------------------------------------------------------------------------------------------------------

    def name(self, name: str, frame: Frame, state: Env, span: Span) -> Abstract:
        """What a name can be in a state: local, of an enclosing function, of the module, imported, built in."""
        current = frame
        place: Env | None = state
        while current.function >= 0:
            flow = self.project.flow(current.file, current.function)
            function = self.project.function(FunctionRef(current.file, current.function))
            if name in flow.assigned or any(parameter.name == name for parameter in function.parameters):
                if place is None:
                    place = flow.exit or (flow.returns[-1][1] if flow.returns else flow.entry)
                return self._in_chain(name, current, place, span)
            current = self.frame(current.file, function.parent)
            place = None
        flow = self.project.flow(current.file, -1)
        if name in flow.assigned:
            at = place if frame.function < 0 and place is not None else flow.exit or flow.entry
            return self._in_chain(name, current, at, span)
        return self._global(name, current.file, span)

    def _global(self, name: str, file: str, span: Span) -> Abstract:
        if name == "__file__":
            return Leaf(known(ProjectPath(file), span), span)
        if name == "__name__":
            return Leaf(known("__main__", span), span)
        target = self.modules.lookup(name, file)
        if target is not None:
            return self._target(target, span)
        if name in _BUILTINS:
            return Reference(External(f"builtins.{name}"), span)
        return Leaf(unknown(f"`{name}` is not bound where we can see", span), span)

    def _target(self, target: Target, span: Span) -> Abstract:
        if isinstance(target, GlobalRef):
            flow = self.project.flow(target.file, -1)
            if target.name in flow.assigned:
                return self._in_chain(target.name, self.frame(target.file, -1), flow.exit or flow.entry, span)
            return Leaf(unknown(f"`{target.name}` of {target.file}", span), span)
        return Reference(target, span)

    def _in_chain(self, name: str, frame: Frame, state: Env, span: Span) -> Abstract:
        """Walks the chain back to what bound the name, applying on the way what was stored into it."""
        while True:
            if isinstance(state, Bind):
                if state.name == name:
                    return self._remember("name", name, frame, state, span)
            elif isinstance(state, Store):
                if state.name == name:
                    return self._remember("name", name, frame, state, span)
            elif isinstance(state, Join):
                if name in state.touched:
                    return self._remember("name", name, frame, state, span)
            if state.prev is None:
                return self._entry(name, frame, span)
            state = state.prev

    def _remember(self, kind: str, name: str, frame: Frame, state: Env, span: Span) -> Abstract:
        key = (kind, name, id(frame), id(state))
        if key in self._memo:
            return self._memo[key]
        self._steps += 1
        if key in self._active or self._depth >= MAX_DEPTH or self._steps > MAX_STEPS:
            self._cut += 1
            if key not in self._active:
                return Leaf(unknown("too deep to follow", span), span)
            # Around a loop: a mapping is what it was before, to be changed further; of anything else nothing is known yet.
            before = self._entered.get(key)
            return before if isinstance(before, (Mapping, Instance)) else NOTHING
        self._active.add(key)
        self._depth += 1
        cut = self._cut
        try:
            result = self._step(name, frame, state, span)
        finally:
            self._depth -= 1
            self._active.discard(key)
        if cut == self._cut or self._depth == 0:
            self._memo[key] = result
            self._alive.append((frame, state))
        return result

    def _step(self, name: str, frame: Frame, state: Env, span: Span) -> Abstract:
        if isinstance(state, Bind):
            return self._bound(state, frame, span)
        if isinstance(state, Store):
            assert state.prev is not None  # noqa: S101 - only the entry of a chain has no predecessor
            before = self._in_chain(name, frame, state.prev, span)
            after = [self._after_store(state, option, frame, span) for option in options_of(before)]
            return after[0] if len(after) == 1 else separate(after, span)
        assert isinstance(state, Join)  # noqa: S101 - the only other kind of step
        branches: AbstractSequence[Env] = state.branches
        if state.test is not None and len(branches) == 2 and state.prev is not None:
            decided = truth(self.evaluate(state.test, frame, state.prev))
            if decided is not None:
                branches = [branches[0] if decided else branches[1]]
        results = []
        for branch in branches:
            results.append(self._in_chain(name, frame, branch, span))
            self._entered.setdefault(("name", name, id(frame), id(state)), results[0])
        return several(results, span)

    def _bound(self, bind: Bind, frame: Frame, span: Span) -> Abstract:
        if bind.expr is None or bind.prev is None:
            return Leaf(unknown("not followed", span), span)
        if isinstance(bind.expr, ir.AugAssign):
            before = ir.Operation((bind.part[0][:-1],), (bind.expr.target, bind.expr.value), bind.expr.at)  # type: ignore[index]
            return self.evaluate(before, frame, bind.prev)
        value = self.evaluate(bind.expr, frame, bind.prev)  # type: ignore[arg-type]
        for part in bind.part:
            value = self._take(value, part, span)
        return value

    def _take(self, value: Abstract, part: int | str, span: Span) -> Abstract:
        results = []
        for option in options_of(value):
            if isinstance(option, Instance):
                results.append(option if part == "enter" else self.part_of(option, part))
            elif (
                isinstance(option, Sequence)
                and isinstance(part, int)
                and not option.open
                and -len(option.items) <= part < len(option.items)
            ):
                results.append(option.items[part])
            elif isinstance(option, Sequence) and part == "*" and not option.open:
                results.append(several(option.items, span))
            elif part == "enter" and not isinstance(option, Leaf):
                results.append(option)
            else:
                results.append(Leaf(unknown("a part of something unknown", span), span))
        return several(results, span)

    def _after_store(self, store: Store, before: Abstract, frame: Frame, span: Span) -> Abstract:
        if store.action == "call":
            return self._after_call(store, before, frame, span)
        if not isinstance(before, Mapping):
            return before
        path = self._path(store, frame)
        if path is None:
            return Mapping(before.entries, before.span, True)
        assert store.prev is not None  # noqa: S101 - a store always has a predecessor
        if store.action in ("set", "setdefault") or (store.action == "update" and isinstance(store.expr, ir.Call)):
            return self._changed(store, before, path, frame)
        if store.action in ("delete", "pop"):
            return removed(before, path, self._popped(store, frame))
        return merged(before, path, None, span)

    def _changed(self, store: Store, before: Mapping, path: tuple[Any, ...], frame: Frame) -> Abstract:
        assert store.prev is not None  # noqa: S101 - a store always has a predecessor
        where = ir.unpack(store.expr.at, frame.file)
        if store.action == "set":
            node = node_of(self.evaluate(store.expr, frame, store.prev), where)
            last = store.path[-1]
            key_span = ir.unpack(last.at, frame.file) if not isinstance(last, str) else where
            return stored(before, path, Entry(path[-1], key_span, placed(node, store.expr, frame)))
        call = store.expr
        assert isinstance(call, ir.Call)  # noqa: S101 - mutators are calls
        if store.action == "setdefault" and call.args:
            key = node_value(node_of(self.evaluate(call.args[0], frame, store.prev), where))
            if not key.is_known:
                return merged(before, path, None, where)
            if find(before, (*path, key.only))[0] is not None:
                return before
            default: Node = Leaf(known(None, where), where)
            if len(call.args) > 1:
                default = node_of(self.evaluate(call.args[1], frame, store.prev), where)
            return stored(before, (*path, key.only), Entry(key.only, ir.unpack(call.args[0].at, frame.file), default))
        update = self._keywords(call, frame, store.prev, where)
        for argument in call.args:
            node = node_of(self.evaluate(argument, frame, store.prev), where)
            before = merged(before, path, node if isinstance(node, Mapping) else None, where)
        return merged(before, path, update, where) if update.entries or update.open else before

    def _keywords(self, call: ir.Call, frame: Frame, state: Env, span: Span) -> Mapping:
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
                entries.extend(node.entries)
                is_open = is_open or node.open
            else:
                is_open = True
        return Mapping(tuple(entries), span, is_open)

    def keywords(self, call: ir.Call, file: str, function: int) -> Mapping:
        """The keyword arguments of a call site as a mapping; open if some stand behind ``**`` of something unknown."""
        frame = self.frame(file, function)
        self._steps = 0 if self._depth == 0 else self._steps
        return self._keywords(call, frame, self.state(frame, call.at), ir.unpack(call.at, file))

    def _popped(self, store: Store, frame: Frame) -> Value | None:
        if store.action == "delete":
            return None
        call = store.expr
        if isinstance(call, ir.Call) and call.args and store.prev is not None:
            return node_value(node_of(self.evaluate(call.args[0], frame, store.prev), ir.unpack(call.at, frame.file)))
        return unknown("not followed")

    def _path(self, store: Store, frame: Frame) -> tuple[Any, ...] | None:
        """The keys from the name to the changed place; ``None`` if one of them is not known."""
        keys: list[Any] = []
        for step in store.path:
            if isinstance(step, str):
                return None
            assert store.prev is not None  # noqa: S101 - a store always has a predecessor
            key = node_value(node_of(self.evaluate(step, frame, store.prev), ir.unpack(step.at, frame.file)))
            if not key.is_known:
                return None
            keys.append(key.only)
        return tuple(keys)

    def _after_call(self, store: Store, before: Abstract, frame: Frame, span: Span) -> Abstract:
        """A mapping that was handed to a function of the project is what the function leaves behind."""
        if not isinstance(before, Mapping) or not isinstance(store.expr, ir.Call) or frame.depth >= MAX_CALL_DEPTH:
            return before
        target = self.modules.resolve(store.expr.func, frame.file)
        if not isinstance(target, FunctionRef):
            return before
        function = self.project.function(target)
        flow = self.project.flow(target.file, target.index)
        for position, parameter in enumerate(function.parameters):
            given, _ = find_argument(store.expr, parameter.name, position)
            if type(given) is ir.Name and given.id == store.name and parameter.name in flow.assigned:
                inner = Frame(target.file, target.index, {parameter.name: before}, frame.depth + 1, bound=True)
                self._alive.append(inner)
                ends = [state for state in (flow.exit, *(state for _, state in flow.returns)) if state is not None]
                return (
                    several([self._in_chain(parameter.name, inner, end, span) for end in ends], span)
                    if ends
                    else before
                )
        return before

    def _entry(self, name: str, frame: Frame, span: Span) -> Abstract:
        """The start of a body was reached: the name is a parameter, or comes from further out."""
        if name in frame.bindings:
            return frame.bindings[name]
        if frame.function < 0:
            return self._global(name, frame.file, span)
        function = self.project.function(FunctionRef(frame.file, frame.function))
        for position, parameter in enumerate(function.parameters):
            if parameter.name == name:
                return self._parameter(function, parameter, position, frame, span)
        outer = self.frame(frame.file, function.parent)
        flow = self.project.flow(outer.file, outer.function)
        return self.name(name, outer, flow.exit or flow.entry, span)

    def _parameter(
        self, function: ir.Function, parameter: ir.Parameter, position: int, frame: Frame, span: Span
    ) -> Abstract:
        if function.owner >= 0 and position == 0 and not _is_static(function):
            if frame.instance is not None:
                return frame.instance
            owner = ClassRef(frame.file, function.owner)
            call = ir.Call(ir.Name(function.qualname, function.at), (), (), function.at)
            return self._remembered_self(owner, call, frame)
        if parameter.kind.startswith("var"):
            return Leaf(unknown("collects what callers give", span), span)
        if frame.bound:
            return self._default(parameter, frame, span)
        offset = 1 if function.owner >= 0 and not _is_static(function) else 0
        callers = self.project.callers(FunctionRef(frame.file, frame.function))
        if not callers or len(callers) > MAX_CALLERS:
            reason = "is called from too many places" if callers else "nobody in the project is seen to call it"
            return Leaf(unknown(f"parameter `{parameter.name}`: the function {reason}", span), span)
        results = []
        for caller in callers:
            outer = self.frame(caller.file, caller.site.function)
            given = self.argument(caller.site.call, parameter.name, position - offset + caller.shift, outer)
            results.append(given if given is not None else self._default(parameter, frame, span))
        return separate(results, span)

    def _remembered_self(self, owner: ClassRef, call: ir.Call, frame: Frame) -> Instance:
        key = ("self", owner.file, owner.index)
        if key not in self._memo:
            outer = self.frame(frame.file, -1)
            self._memo[key] = Instance(owner, call, outer, self.project.flow(frame.file, -1).entry, ("self",))
        found = self._memo[key]
        assert isinstance(found, Instance)  # noqa: S101 - stored just above
        return found

    def _default(self, parameter: ir.Parameter, frame: Frame, span: Span) -> Abstract:
        if parameter.default is None:
            return Leaf(unknown(f"parameter `{parameter.name}` is not given", span), span)
        outer = self.frame(frame.file, -1)
        flow = self.project.flow(outer.file, -1)
        return self.evaluate(parameter.default, outer, flow.before(parameter.default.at))

    # Attributes --------------------------------------------------------------------------------------------------

    def _attribute(self, expr: ir.Attribute, frame: Frame, state: Env, span: Span) -> Abstract:
        target = self.modules.resolve(expr, frame.file)
        if target is not None and not self._shadowed(expr, frame):
            return self._target(target, span)
        results = [
            self.attribute(option, expr.name, span) for option in options_of(self.evaluate(expr.base, frame, state))
        ]
        return several(results, span)

    def _shadowed(self, expr: ir.Expr, frame: Frame) -> bool:
        """Whether the root of a dotted expression is a local variable here, and not what the module binds."""
        while type(expr) is ir.Attribute:
            expr = expr.base
        if type(expr) is not ir.Name or frame.function < 0:
            return False
        function = self.project.function(FunctionRef(frame.file, frame.function))
        flow = self.project.flow(frame.file, frame.function)
        return expr.id in flow.assigned or any(parameter.name == expr.id for parameter in function.parameters)

    def attribute(self, base: Abstract, name: str, span: Span) -> Abstract:
        """An attribute of something."""
        if isinstance(base, Reference):
            inner = self.modules.attribute(base.target, name)
            return self._target(inner, span) if inner is not None else Leaf(unknown(f"attribute `{name}`", span), span)
        if isinstance(base, Instance):
            return self._instance_attribute(base, name, span)
        if isinstance(base, Leaf) and isinstance(base.value.only, PathText):
            text = base.value.only
            if name == "parent":
                return leaf(base.value.map(lambda path: path.parent), span)
            if name in ("name", "stem"):
                return leaf(
                    known(text.rpartition("/")[2] if name == "name" else text.rpartition("/")[2].rpartition(".")[0]),
                    span,
                )
        return Leaf(unknown(f"attribute `{name}` of something unknown", span), span)

    def _instance_attribute(self, instance: Instance, name: str, span: Span) -> Abstract:
        if self.options is not None:
            found = self.options.attribute(self, instance, name, span)
            if found is not None:
                return found  # type: ignore[no-any-return]
        if isinstance(instance.callee, ClassRef) and instance.part in ((), ("self",)):
            owner = instance.callee
            method = self.modules.method(owner, name)
            if method is not None:
                if _is_property(self.project.function(method)):
                    return self._returned(method, {}, instance, span, 1)
                return Reference(method, span, instance)
            found = self._set_in_methods(instance, name, span)
            if found is not None:
                return found
        return self.part_of(instance, "." + name)

    def _set_in_methods(self, instance: Instance, name: str, span: Span) -> Abstract | None:
        """What the methods of the class assign to ``self.name``, or the class body to ``name``."""
        assert isinstance(instance.callee, ClassRef)  # noqa: S101 - tested by the caller
        key = ("attribute", instance.identity, instance.callee.file, name)
        if key in self._memo:
            return self._memo[key]
        if key in self._active:
            self._cut += 1
            return None
        self._active.add(key)
        cut = self._cut
        try:
            stores = self.project.attribute_stores(instance.callee).get(name, ())
            results: list[Abstract] = []
            for method, expr, part in stores[:MAX_CALLERS]:
                if expr is None:
                    results.append(Leaf(unknown("not followed", span), span))
                    continue
                inner = self._method_frame(method, instance)
                value = self.evaluate(expr, inner, self.state(inner, expr.at))
                for step in part:
                    value = self._take(value, step, span)
                results.append(value)
            result = several(results, span) if results else None
        finally:
            self._active.discard(key)
        if result is not None and cut == self._cut:
            self._memo[key] = result
        return result

    def _method_frame(self, method: FunctionRef, instance: Instance) -> Frame:
        if method.index < 0:
            return self.frame(method.file, -1)
        function = self.project.function(method)
        if function.name == "__init__" and instance.part == ():
            key = ("frame", method, instance.identity)
            if key not in self._memo:
                bindings = self._bind_arguments(function, instance.call, instance.frame, instance.state, 1)
                made = Frame(method.file, method.index, bindings, instance.frame.depth + 1, instance, bound=True)
                self._alive.append(made)
                self._memo[key] = made  # type: ignore[assignment]
            return self._memo[key]  # type: ignore[return-value]
        return self.frame(method.file, method.index)

    # Calls -------------------------------------------------------------------------------------------------------

    def _call(self, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
        from distlint.link.library_calls import call_library, call_method

        if type(call.func) is ir.Attribute:
            result = call_method(self, call, frame, state, span)
            if result is not None:
                return result
        results = []
        for callee in options_of(self.evaluate(call.func, frame, state)):
            if isinstance(callee, Reference) and isinstance(callee.target, FunctionRef):
                results.append(self._enter(callee, call, frame, state, span))
            elif isinstance(callee, Reference) and isinstance(callee.target, External):
                found = call_library(self, callee.target.name, call, frame, state, span)
                results.append(found if found is not None else Instance(callee.target, call, frame, state))
            elif isinstance(callee, Reference) and isinstance(callee.target, ClassRef):
                results.append(Instance(callee.target, call, frame, state))
            elif isinstance(callee, Instance):
                results.append(Instance(External(self.instance_name(callee)), call, frame, state))
            elif isinstance(callee, LambdaValue):
                inner = Frame(callee.frame.file, callee.frame.function, callee.frame.bindings, frame.depth + 1)
                results.append(
                    Leaf(unknown("a lambda's result", span), span)
                    if inner.depth > MAX_CALL_DEPTH
                    else self.evaluate(callee.lambda_.body, callee.frame, self.state(callee.frame, callee.lambda_.at))
                )
            else:
                results.append(Leaf(unknown("the result of a call that we can't resolve", span), span))
        return several(results, span)

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

    def _enter(self, callee: Reference, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
        assert isinstance(callee.target, FunctionRef)  # noqa: S101 - tested by the caller
        if frame.depth >= MAX_CALL_DEPTH:
            self._cut += 1
            return Leaf(unknown("too many calls deep", span), span)
        function = self.project.function(callee.target)
        shift = 1 if callee.receiver is not None and function.owner >= 0 and not _is_static(function) else 0
        bindings = self._bind_arguments(function, call, frame, state, shift)
        return self._returned(callee.target, bindings, callee.receiver, span, frame.depth + 1)

    def _bind_arguments(
        self, function: ir.Function, call: ir.Call, frame: Frame, state: Env, shift: int
    ) -> dict[str, Abstract]:
        bindings: dict[str, Abstract] = {}
        for position, parameter in enumerate(function.parameters[shift:]):
            if parameter.kind.startswith("var"):
                continue
            given, certain = find_argument(call, parameter.name, position if parameter.kind != "keyword" else None)
            if given is not None:
                bindings[parameter.name] = self.evaluate(given, frame, state)
            elif not certain:
                found = self.argument(call, parameter.name, None, frame)
                if found is not None:
                    bindings[parameter.name] = found
        return bindings

    def _returned(
        self, target: FunctionRef, bindings: dict[str, Abstract], instance: Instance | None, span: Span, depth: int
    ) -> Abstract:
        """What a function of the project returns for these arguments."""
        function = self.project.function(target)
        flow = self.project.flow(target.file, target.index)
        if (
            function.skipped
            or function.is_async
            or flow.has_yield
            or any(d for d in function.decorators if not _is_plain(d))
        ):
            return Leaf(unknown(f"the result of `{function.name}`", span), span)
        inner = Frame(target.file, target.index, bindings, depth, instance, bound=True)
        self._alive.append(inner)
        results: list[Abstract] = []
        for statement, state in flow.returns:
            if statement.value is None:
                results.append(Leaf(known(None, span), span))
            else:
                results.append(self.evaluate(statement.value, inner, state))
        if flow.exit is not None:
            results.append(Leaf(known(None, span), span))
        return several(results, span)


def find_argument(call: ir.Call, name: str, position: int | None) -> tuple[ir.Expr | None, bool]:
    """The expression given for a parameter, and whether its absence is certain (nothing spread with ``*`` or ``**``)."""
    for keyword in call.keywords:
        if keyword.name == name:
            return keyword.value, True
    spread = any(keyword.name is None for keyword in call.keywords)
    if position is not None and position >= 0:
        for index, argument in enumerate(call.args[: position + 1]):
            if type(argument) is ir.Starred:
                return None, False
            if index == position:
                return argument, True
    return None, not spread and not any(type(argument) is ir.Starred for argument in call.args)


def placed(node: Node, expr: ir.Expr, frame: Frame) -> Node:
    """A leaf shown at the expression that gives it, resting also on where its value comes from."""
    if isinstance(node, Leaf):
        span = ir.unpack(expr.at, frame.file)
        return Leaf(node.value.at(span), span)
    return node


def _decorator_name(decorator: ir.Expr) -> str:
    if type(decorator) is ir.Call:
        decorator = decorator.func
    return decorator.name if type(decorator) is ir.Attribute else decorator.id if type(decorator) is ir.Name else ""


def _is_static(function: ir.Function) -> bool:
    return any(_decorator_name(decorator) == "staticmethod" for decorator in function.decorators)


def _is_property(function: ir.Function) -> bool:
    return any(_decorator_name(decorator) in ("property", "cached_property") for decorator in function.decorators)


_PLAIN_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "lru_cache", "cache", "wraps", "no_grad", "record"}
)


def _is_plain(decorator: ir.Expr) -> bool:
    """Whether a decorator leaves the result of the function as it is."""
    return _decorator_name(decorator) in _PLAIN_DECORATORS
