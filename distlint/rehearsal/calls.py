"""Calls on one process of a rehearsal: functions and classes of the project, builtins, and what libraries do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import rows_called, sums
from distlint.rehearsal.absent import used
from distlint.rehearsal.commands import commanded, started
from distlint.rehearsal.definitions import Definitions
from distlint.rehearsal.entities import (
    ClassValue,
    FunctionValue,
    LambdaOf,
    Library,
    MethodOf,
    ModuleValue,
    Nothing,
    Partial,
    Special,
)
from distlint.rehearsal.exceptions import EXITING, READING, Raised, has_own_exceptions, thrown_by
from distlint.rehearsal.failing import (
    COMPUTING,
    READING_PATHS,
    handles,
    is_reading,
    may_fail,
    own_file,
    saved,
)
from distlint.rehearsal.file_names import FileNames, is_asking, is_waiting
from distlint.rehearsal.files import asked, waited, written
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.known_modules import OF_VARIABLES, of_variables
from distlint.rehearsal.merging import filled_up, merged
from distlint.rehearsal.moving import HOLDING, MOVING, read_by
from distlint.rehearsal.noting import context_passed, looked_into, method_called, places_of
from distlint.rehearsal.options import by_default, declared, is_parsing, parsed_into, set_defaults
from distlint.rehearsal.paths import of_function, of_method, touched, touched_by_method
from distlint.rehearsal.samples import like
from distlint.rehearsal.some_ways import parted
from distlint.rehearsal.spreading import spread
from distlint.rehearsal.stage import MAX_AGAIN, MAX_CALLS, MAX_IDLE, Left, Scope
from distlint.rehearsal.standard import is_shared, standard_call
from distlint.rehearsal.trace import Frame
from distlint.rehearsal.unknowns import UNKNOWN, Named, OneOf, Opaque, Perhaps, Source, Words
from distlint.rehearsal.values import (
    MAX_ITEMS,
    MEASURING,
    Given,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    escape,
    holds_work,
    is_known,
    measured_by,
    signature,
    source_of,
)

_LEAVING = ("sys.exit", "os._exit", "builtins.exit", "builtins.quit")
_RUNNING = (FunctionValue, LambdaOf, Partial, Generated, Thing, ClassValue, Special)
"""What code that nobody sees may run, once it gets it."""
_TOLD_BY_NAME = ("startswith", "endswith", "split", "lower", "count", "find")
"""Methods of texts that ask a name what it is like; others make new names."""
_CLOCKS = ("time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "datetime.datetime.now")


class Calls(Definitions):
    """Follows calls."""

    def play(self, body: tuple[ir.Stmt, ...], scope: Scope) -> str:
        """Follows a body."""
        raise NotImplementedError

    def within(self, nodes: list[Any], body: Callable[[], str]) -> str:
        """Follows something whose events belong to a list of nodes of the trace."""
        raise NotImplementedError

    def module_scope(self, file: str) -> Scope:
        """The variables of a module, whose top level is executed when something in it is first asked for."""
        found = self.stage.modules.get(file)
        if found is not None:
            return found
        scope = self.stage.modules[file] = Scope(file, -1)
        scope.variables["__name__"] = "__main__" if file == self.stage.entry and not self.stage.alone else file
        scope.variables["__file__"] = file
        module = self.stage.project.module(file)
        contexts, self.stage.contexts = self.stage.contexts, []
        reasons, self.stage.reasons = self.stage.reasons, []
        try:
            if self.stage.depth < MAX_CALLS:
                ended = self.play(module.body, scope)
                self.stage.refused |= ended == "raise" and file == self.stage.entry
        finally:
            self.stage.contexts = contexts
            self.stage.reasons = reasons
        return scope

    # The call ----------------------------------------------------------------------------------------------------

    def _of_Call(self, call: ir.Call, scope: Scope) -> Any:  # noqa: N802
        func = call.func
        if self.stage.witness is not None:
            self.stage.witness.come.add((scope.file, call.at))
        if type(func) is ir.Attribute and type(func.base) is ir.Call and type(func.base.func) is ir.Name:
            if func.base.func.id == "super":
                return self._super(func.name, call, scope)
        callee = self.value(func, scope)
        if self.stage.witness is not None:
            self.stage.witness.enters(callee, func, scope.file)
        given = self.given(call, scope)
        looked_into(self, callee, given, call, scope)
        found = self.apply(callee, given, call, scope)
        started(self, callee, call, scope)
        return found

    def given(self, call: ir.Call, scope: Scope) -> Given:
        """The arguments of a call."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        rest: list[Any] = []
        is_open = False
        for argument in call.args:
            value = self.value(argument, scope)
            if self.stage.witness is not None:
                self.stage.witness.gives(argument, scope.file, value)
            if type(argument) is ir.Starred:
                used(self.stage, value, argument.value, scope)
                items = self.items_of(value)
                if items is None:
                    is_open = True
                    rest.append(value)
                positional.extend(items or ())
            elif not is_open:
                positional.append(value)
        for keyword in call.keywords:
            value = self.value(keyword.value, scope)
            held = spread(self, value) if keyword.name is None else value
            if self.stage.witness is not None:
                self.stage.witness.gives(keyword.value, scope.file, held)
            if keyword.name is not None:
                keywords[keyword.name] = value
                continue
            if isinstance(held, Table):
                held.read()
                keywords.update({str(name): item for name, item in held.items.items()})
                keywords.update({str(name): one for name, one in (held.perhaps or {}).items() if name not in keywords})
            if not isinstance(held, Table) or (held.open and held.perhaps is None):
                is_open = True
                rest.append(value)
        made = Given(positional, keywords, is_open=is_open)
        made.rest = rest
        return made

    def apply(self, callee: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
        """Calls a value."""
        callee = callee.value if isinstance(callee, Perhaps) else callee
        if isinstance(callee, FunctionValue):
            return self.call_function(callee, given, call, scope)
        if isinstance(callee, ClassValue):
            return self.constructed(callee.ref, given, call, scope)
        if isinstance(callee, Special):
            if callee.kind == "first" and self.stage.rank != 0:
                return None
            if callee.kind == "remembering":
                return self._remembered(callee.callee, given, call, scope)
            return self.apply(callee.callee, given, call, scope)
        if isinstance(callee, LambdaOf):
            return self._lambda(callee, given)
        if isinstance(callee, OneOf):
            return self._called_one_of(callee, given, call, scope)
        if isinstance(callee, Partial):
            whole = Given(
                [*callee.given.positional, *given.positional],
                {**callee.given.keywords, **given.keywords},
                is_open=callee.given.open or given.open,
            )
            whole.rest = [*callee.given.rest, *given.rest]
            whole.places = {place: span for place, span in callee.given.places.items() if place not in given.keywords}
            return self.apply(callee.callee, whole, call, scope)
        if not self.follows_rows:
            return self._leaving(callee, given, call, scope)
        return rows_called.followed(self, callee, given, call, scope, self._leaving)

    def _leaving(self, callee: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
        """Calls something that is no function of the project, or an object of it."""
        span = ir.unpack(call.at, scope.file)
        if isinstance(callee, Library):
            return self._library(callee.name, given, call, scope, span)
        if isinstance(callee, MethodOf):
            return self._method(callee, given, call, scope, span)
        if isinstance(callee, Thing | Made):
            may_fail(self.stage, COMPUTING, given.values(), call, scope)
        if isinstance(callee, Thing):
            for name in ("__call__", "forward"):
                method = self.stage.project.modules.method(callee.cls, name)
                if method is not None:
                    function = FunctionValue(method, None, callee)
                    return self.models.called_thing(self, callee, function, given, call, scope)
            forward = self.models.inherited(self, callee, "forward")
            if isinstance(forward, Made):
                return self.models.called_thing(self, callee, forward, given, call, scope)
        if isinstance(callee, Made):
            self.models.meets(self, callee, "", given, call, scope)
            found = callee.called(self, given, call, scope)
            if found is not NotImplemented:
                return found
        self.stage.miss(call.func)
        self.models.missed(self, callee)
        self._handed(given, call, scope)
        return self.models.called_object(self, callee, given, call, scope)

    def _handed(self, given: Given, call: ir.Call, scope: Scope, *, held: bool = False) -> None:
        """Arguments go where we don't see what becomes of them; ``held`` ones are put, or looked up, in something and not read."""
        self.models.handed(self, given.values())
        for value in given.values():
            if isinstance(value, Nothing):
                continue
            escape(value)
            if isinstance(value, _RUNNING):
                self.stage.strangers += 1
            if isinstance(value, Tensor):
                if not held:
                    self.stage.use(value, ir.unpack(call.at, scope.file))
            elif isinstance(value, Items) and value.items is not None and self._holds_plain(value):
                value.open()

    @staticmethod
    def _holds_plain(value: Items) -> bool:
        return not any(isinstance(item, Tensor) for item in value.items or ())

    # The project's own -------------------------------------------------------------------------------------------

    def _super(self, name: str, call: ir.Call, scope: Scope) -> Any:
        given = self.given(call, scope)
        return self.inherited_call(name, given, call, scope)

    def _called_one_of(self, callee: OneOf, given: Given, call: ir.Call, scope: Scope) -> Any:
        """One of some functions is called: each of them perhaps."""
        branch = self.parting(callee, call, scope, len(callee.choices))
        grown = self.stage.grown
        values = [
            self.perhaps(lambda one=one: self.apply(one, given, call, scope), nodes, callee)  # type: ignore[misc]
            for one, nodes in zip(callee.choices, branch.arms, strict=True)
        ]
        if self.stage.grown > grown:
            self.stage.mark(branch)
        found = values[0]
        for other in values[1:]:
            found = merged(found, other, [callee])
        return found

    def _remembered(self, callee: Any, given: Given, call: ir.Call, scope: Scope) -> Any:
        """What a function gave for the same arguments before, or what it gives now."""
        signs = [signature(value) for value in given.positional]
        named = sorted((name, signature(value)) for name, value in given.keywords.items())
        if not isinstance(callee, FunctionValue) or given.open or None in [*signs, *(sign for _, sign in named)]:
            return self.apply(callee, given, call, scope)
        known = self.stage.remembered.setdefault(callee.ref, {})
        key = (id(callee.receiver), tuple(signs), tuple(named))
        if key not in known:
            found = self.apply(callee, given, call, scope)
            if self.stage.unsure:
                return found
            known[key] = found, callee.receiver  # held, so that no other object gets its `id`
        return known[key][0]

    def _lambda(self, callee: LambdaOf, given: Given) -> Any:
        inner = Scope(callee.scope.file, callee.scope.function, callee.scope)
        for position, parameter in enumerate(callee.expr.parameters):
            if parameter.kind == "var-positional":
                inner.variables[parameter.name] = tuple(given.positional[position:])
            elif parameter.kind == "var-keyword":
                inner.variables[parameter.name] = Table(dict(given.keywords), is_open=given.open)
            elif parameter.default is not None:
                values = callee.defaults.values if callee.defaults is not None else {}
                default = (
                    values[parameter.name] if parameter.name in values else self.value(parameter.default, callee.scope)
                )
                inner.variables[parameter.name] = given.get(parameter.name, position, default)
            else:
                inner.variables[parameter.name] = given.get(parameter.name, position, UNKNOWN)
        if self.stage.depth >= MAX_CALLS:
            return UNKNOWN
        self.stage.depth += 1
        try:
            return self.value(callee.expr.body, inner)
        finally:
            self.stage.depth -= 1

    def call_function(self, function: FunctionValue, given: Given, call: ir.Call | None, scope: Scope) -> Any:
        """What a function of the project returns, after everything that it does."""
        stage = self.stage
        definition = stage.project.function(function.ref)
        inside = stage.inside.get(function.ref, 0)
        if stage.depth >= MAX_CALLS or (inside >= MAX_AGAIN and (stage.unsure or stage.repeating)):
            return UNKNOWN
        if stage.unsure and function.ref in stage.costly:
            return derived("call", [function.receiver, *given.values()])
        before, done = stage.steps, stage.grown
        given = commanded(self, function, given, scope)
        inner = Scope(function.ref.file, function.ref.index, self.around(function, definition))
        self.fill(inner, definition, function, given)
        stage.visited.add(function.ref)
        if stage.witness is not None and not stage.unsure:
            stage.witness.sure |= {function.ref}
        if stage.project.flow(function.ref.file, function.ref.index).has_yield:
            at = (*stage.chain, ir.unpack(call.at, scope.file)) if call is not None and call.at else stage.chain
            return self.generator(definition.body, inner, at)
        chain, unsure, repeating, reasons = stage.chain, stage.unsure, stage.repeating, len(stage.reasons)
        batch = stage.batch
        if call is not None and call.at:  # what asks for a property stands nowhere
            stage.chain = (*chain, ir.unpack(call.at, scope.file))
        stage.depth += 1
        stage.inside[function.ref] = inside + 1
        frame, grown = Frame(), stage.grown
        stage.trace.append(frame)
        try:
            ended = self.enclosed(
                function.ref, lambda: self.within(frame.body, lambda: self.play(definition.body, inner))
            )
        finally:
            stage.depth -= 1
            stage.inside[function.ref] = inside
            stage.chain, stage.unsure, stage.repeating, stage.batch = chain, unsure, repeating, batch
            del stage.reasons[reasons:]
        if stage.steps - before > MAX_IDLE and stage.grown == done:
            stage.costly.add(function.ref)
        if stage.grown == grown and ended != "raise" and stage.trace[-1:] == [frame]:
            stage.trace.pop()
        if ended == "raise" and not inner.results:
            raise Left(ended)
        results = inner.results if ended else [*inner.results, None]
        found = results[0] if results else UNKNOWN
        for other in results[1:]:
            found = parted(found, other, merged(found, other, inner.tests), inner.tests)
        return found

    # Libraries ---------------------------------------------------------------------------------------------------

    def _library(self, name: str, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
        stage = self.stage
        if name in _LEAVING:
            raise Left("exit" if given.get("code", 0) in (0, None) else Raised.of(EXITING))
        if name.startswith("builtins."):
            from distlint.rehearsal.builtins import call_builtin

            return call_builtin(self, name[len("builtins.") :], given, call, scope, span)
        if stage.witness is not None:
            dotted = stage.project.modules.canonical(name)
            stage.witness.calls_library(dotted, given, call, scope.file, scope.function, is_sure=not stage.unsure)
        if name in ("os.environ.get", "os.getenv"):
            return self._environment(given)
        if name == "functools.partial" and given.positional:
            inner = Given(given.positional[1:], given.keywords, is_open=given.open)
            inner.places = places_of(call, scope)
            return Partial(given.positional[0], inner)
        if name in _CLOCKS:
            return Opaque(("clock", stage.rank, stage.steps), Source("the clock", span))
        kind = stage.sources.get(name)
        told = self.models.told(self, name, call, scope) if kind is not None and not given.values() else NotImplemented
        if told is not NotImplemented:
            return told
        if kind == "initialized":
            return True if stage.initialized is not False else UNKNOWN
        if kind is not None and not given.positional and not given.keywords:
            return stage.source(kind)
        raced = self._of_files(name, given, call, scope)
        if raced is not None:
            return raced
        return of_function(stage, name, given, self._of_library(name, given, call, scope))

    def _of_library(self, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
        stage = self.stage
        own = own_file(stage, given.values(), call, scope) if is_reading(name) else None
        may_fail(stage, thrown_by(name), given.values() if own is None else [Opaque(None, own)], call, scope)
        found = standard_call(self, name, given, call, scope)
        if found is not NotImplemented:
            return found
        found = self.models.call(self, name, given, call, scope)
        if found is not NotImplemented:
            return found
        self._handed(given, call, scope)
        if not self.models.harmless(name):
            stage.strangers += 1
        # what is read tells what it gives, not the device that it is put on
        told = read_by(name, given) if is_reading(name) else None
        made = self.made(stage.project.modules.canonical(f"{name}()"), None, given, call, scope, told)
        made.source = own or made.source
        return made

    def _of_files(self, name: str, given: Given, call: ir.Call, scope: Scope) -> Opaque | None:
        """Notes the files that a library's function makes, asks or waits for; the answer where it differs between processes."""
        touched(self.stage, name, given, call, scope, handled=handles(self.stage, READING))
        if is_waiting(name):
            waited(self.stage)
        elif FileNames.of(self.stage.project).is_writing(name):
            written(self.stage, given.values())
            saved(self.stage, given.values(), call, scope.file)
        elif is_asking(name) and given.positional:
            return asked(self.stage, given.positional[0], call, scope)
        return None

    def made(
        self, name: str, receiver: Any, given: Given, call: ir.Call, scope: Scope, told: list[Any] | None = None
    ) -> Made:
        """What a library function, class or method gives of which no more is known; ``told`` is what tells it, if not all it is given."""
        made = Made(name, call, given)
        made.file, made.function = scope.file, scope.function
        values = [*given.values()] if receiver is None else [receiver, *given.values()]
        values = values if told is None else told
        made.source = source_of(values)
        if not given.open:
            # what is asked for again may be another thing, unless it only depends on what it is given
            made.sign = combined(name, values if is_shared(name) else [call.at, *values])
        return made

    def _environment(self, given: Given) -> Any:
        name = given.get("key", 0)
        found = self.stage.variable(name)
        if isinstance(found, Opaque) and f"${name}" not in self.stage.sources:
            default = given.get("default", 1, given.get("failobj", None, None))
            if is_known(default) and default is not None and isinstance(name, str):
                return by_default(self.stage, f"${name}", default)
            return Opaque(("environment", name)) if is_known(name) else UNKNOWN
        return found

    def _method(self, callee: MethodOf, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
        receiver, name = callee
        method_called(self, callee, given, call, scope)
        touched_by_method(self.stage, receiver, name, given, call, scope, handled=handles(self.stage, READING))
        return of_method(self.stage, receiver, name, given, self._of_method(callee, given, call, scope, span))

    def _of_method(self, callee: MethodOf, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
        receiver, name = callee
        own = None
        if isinstance(receiver, Made | Opaque):
            own = own_file(self.stage, [receiver], call, scope) if is_reading(name) else None
            dotted = f"{receiver.name}.{name}" if isinstance(receiver, Made) else name
            read = given.values() if has_own_exceptions(dotted) else ()
            may_fail(self.stage, thrown_by(dotted), [receiver, *read, Opaque(None, own)], call, scope)
        if isinstance(receiver, Nothing):
            self.misused(receiver, span)
            return UNKNOWN
        if isinstance(receiver, Special):
            if name == "cache_clear" and isinstance(receiver.callee, FunctionValue):
                self.stage.remembered.pop(receiver.callee.ref, None)
            return UNKNOWN
        if isinstance(receiver, Made) and receiver.name == "os.environ":
            if name == "get":
                return self._environment(given)
            if name in ("items", "keys", "values", "copy") and self.stage.witness is not None:
                table = self.stage.made(Table(self.stage.exported()))
                return table if name == "copy" else self.method_of_value(table, name, given, call, scope, span)
            if name == "setdefault" and isinstance(given.get("key", 0), str):
                self.stage.environment.setdefault(given.get("key", 0), given.get("value", 1, UNKNOWN))
            return UNKNOWN
        if isinstance(receiver, Made | Opaque) and FileNames.of(self.stage.project).is_writing(name):
            written(self.stage, [receiver, *given.values()])
        if isinstance(receiver, Made | Opaque) and is_asking(name, method=True):
            raced = asked(self.stage, receiver, call, scope)
            if raced is not None:
                return raced
        if name in ("__enter__", "__exit__") and isinstance(receiver, Made | Generated) and not self.stage.unsure:
            return self.entered(receiver, span) if name == "__enter__" else self.left(receiver, span)
        found = NotImplemented
        if isinstance(receiver, Made | Opaque) and name == "split" and _by_blanks(given):
            return Words(derived(name, [receiver]))
        if isinstance(receiver, Made):
            if name == "add_argument":
                declared(self.stage, given, call, scope)
            if name == "set_defaults":
                set_defaults(self.stage, receiver, given)
            context = self.models.meets(self, receiver, name, given, call, scope)
            if context is not None:
                return context
            found = receiver.method(self, name, given, call, scope)
        if found is NotImplemented:
            found = self.models.method(self, receiver, name, given, call, scope)
        if found is not NotImplemented:
            return found
        found = self.method_of_value(receiver, name, given, call, scope, span)
        if found is not NotImplemented:
            return found
        if isinstance(receiver, Made):
            kind = self.stage.sources.get(self.stage.project.modules.canonical(f"{receiver.name}.{name}"))
            if kind is not None and not given.positional and not given.keywords:
                return self.stage.source(kind)
            if not is_parsing(name):
                self._handed(given, call, scope, held=name in HOLDING)
            if not self.models.harmless(receiver.name):
                self.stage.strangers += 1
            dotted = self.stage.project.modules.canonical(f"{receiver.name}.{name}()")
            made = self.made(dotted, receiver, given, call, scope, [receiver] if name in MOVING else None)
            if is_parsing(name) and isinstance(given.get("namespace", 1), Thing):
                return parsed_into(self, given.get("namespace", 1), made)
            made.source = own if own is not None and name in READING_PATHS else made.source
            return made
        self._handed(given, call, scope, held=name in HOLDING)
        self.stage.miss(call.func)
        self.models.missed(self, MethodOf(receiver, name))
        self.stage.strangers += isinstance(receiver, Thing)
        if isinstance(receiver, Opaque) and own is not None and name in READING_PATHS:
            made = self.made("pathlib.Path().open()", receiver, given, call, scope)
            made.source = own
            return made if name == "open" else Opaque(combined(name, [receiver]), own)
        if isinstance(receiver, Opaque) and name in MEASURING:
            return measured_by(name, receiver, given.values())
        if isinstance(receiver, Opaque | MethodOf):
            return derived(name, [receiver] if name in MOVING else [receiver, *given.values()])
        return UNKNOWN

    def method_of_value(self, receiver: Any, name: str, given: Given, call: ir.Call, scope: Scope, span: Span) -> Any:
        """A method of a plain value, a class or an iterator; ``NotImplemented`` for those of other objects."""
        if isinstance(receiver, Items | Table | str | bytes | Generated) or type(receiver) is tuple:
            from distlint.rehearsal.methods import call_method

            return call_method(self, receiver, name, given, call, scope, span)
        if isinstance(receiver, Named) and receiver.text is not None and name in _TOLD_BY_NAME:
            return self.method_of_value(receiver.text, name, given, call, scope, span)
        if isinstance(receiver, ModuleValue) and name in OF_VARIABLES:
            return of_variables(self, receiver, name, given)
        if isinstance(receiver, ClassValue):
            if name in self.stage.makers:
                self._handed(given, call, scope)
                return Thing(receiver.ref, is_open=True)
        if isinstance(receiver, Thing):
            return self.method_of_thing(receiver, name, given)
        return NotImplemented

    # Lists -------------------------------------------------------------------------------------------------------

    def note(self, thing: Any) -> None:
        """Remembers that something was changed in a loop of which not all turns are followed."""
        if self.stage.touched is not None:
            self.stage.touched.append(thing)

    def extend(self, items: Items, other: Any) -> None:
        """``items += other``."""
        if len(self.stage.reasons) == self.stage.reasons_around:
            items.picked = False
        more = self.items_of(other)
        known = items.items is not None and more is not None and len(items.items) + len(more) <= MAX_ITEMS
        if not known or self.stage.doubts(items):
            escape(other)
            length = self._lengthened(items, other)
            sample = like(items, more)
            if sample is None and items.items is None and holds_work(items.sample):
                sample = items.sample  # the first one stands for all
            items.open(sample)
            items.size, items.sample = length, sample
            source = source_of([other])
            if items.whole.source is None and source is not None:
                items.whole = Opaque(None, source)
        elif items.items is not None and more is not None:
            items.items.extend(more)
        self.note(items)

    def _lengthened(self, items: Items, other: Any) -> Any:
        """How many items a list has with others behind it: what is filled up to a number that all agree on has as many everywhere."""
        before, more = self.length(items), self.length(other)
        total = sums.added(before, more)
        if not self.stage.doubts(items):
            return total if sums.is_summand(total) else self.stage.because(before, more)
        filled = filled_up(total, before, self.stage.reasons[-1:])
        return self.stage.because(before, more) if filled is None else filled

    def entered(self, manager: Any, span: Span) -> Any:
        """What a context manager gives."""
        if isinstance(manager, Generated):
            return self.advance(manager)[1]
        if isinstance(manager, Thing):
            return self.special_method(manager, "__enter__", [], manager)
        if isinstance(manager, Made):
            context_passed(self, manager, "__enter__", span)
            found = manager.entered(self, span)
            if found is not NotImplemented:
                return found
        return self.models.entered(self, manager, span)

    def left(self, manager: Any, span: Span) -> None:
        """A context manager is left."""
        if isinstance(manager, Generated):
            self.advance(manager)
            return
        if isinstance(manager, Thing):
            self.special_method(manager, "__exit__", [None, None, None], None)
            return
        if isinstance(manager, Made):
            context_passed(self, manager, "__exit__", span)
            manager.left(self, span)
        self.models.left(self, manager, span)


def _by_blanks(given: Given) -> bool:
    """Whether a text is parted where blanks stand: what else parts it may stand between fields, of which there are few different ones."""
    values = [*given.values()]
    return not given.open and len(values) <= 1 and all(one is None or one == " " for one in values)
