"""What expressions are on one process of a rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from distlint.link.modules import FunctionRef, GlobalRef, Target
from distlint.link.process_arguments import ARGUMENTS
from distlint.link.text_sizes import MAX_TEXT, formatted
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal import known_files, known_releases, rows_followed
from distlint.rehearsal.absent import UNSET, used, without_value
from distlint.rehearsal.bounds import asks_all, narrowed, widened
from distlint.rehearsal.defaults import defaults_of
from distlint.rehearsal.entities import (
    LambdaOf,
    Library,
    MethodOf,
    ModuleValue,
    Nothing,
)
from distlint.rehearsal.failing import DIVIDING, may_fail
from distlint.rehearsal.iterating import distinct, is_key
from distlint.rehearsal.joined_tests import joined_operands, negated
from distlint.rehearsal.known_modules import OF_VARIABLES, missing
from distlint.rehearsal.like_objects import one_of_two
from distlint.rehearsal.merging import merged
from distlint.rehearsal.names import families_differ, not_found
from distlint.rehearsal.options import attributes_of, command_words, is_parsed, option_of
from distlint.rehearsal.paths import text_path
from distlint.rehearsal.sets_of_texts import holds_texts
from distlint.rehearsal.some_keys import taken_over
from distlint.rehearsal.some_ways import parted
from distlint.rehearsal.spreading import spread
from distlint.rehearsal.stage import Scope, Tested
from distlint.rehearsal.subscripts import Subscripts
from distlint.rehearsal.sums import added, is_summand
from distlint.rehearsal.trace import Branch
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Perhaps, Source
from distlint.rehearsal.values import (
    MAX_ITEMS,
    OWN_PLACE,
    Items,
    Made,
    Table,
    Tensor,
    Thing,
    combined,
    derived,
    is_known,
    is_measured,
    measured_by,
    signature,
    source_of,
)

_LEVEL = frozenset({"fill_", "zero_"})
"""Changes that leave all numbers of a tensor the same one."""
_NUMERIC = frozenset({"+", "-", "*", "/", "//", "**", "@", "<", ">", "<=", ">="})


class Expressions(Subscripts):
    """Works out values. ``models`` says what operations on tensors give (see ``FrameworkSpec.rehearsed``)."""

    def value(self, expr: ir.Expr, scope: Scope) -> Any:
        """The value of an expression."""
        self.stage.step()
        kind = type(expr)
        if kind is ir.Constant:
            return expr.value  # type: ignore[union-attr]
        if kind is ir.Name:
            return without_value(self.stage, self.name(expr.id, scope), expr, scope)  # type: ignore[union-attr]
        method = getattr(self, f"_of_{kind.__name__}", None)
        found = method(expr, scope) if method is not None else UNKNOWN
        if type(found) is Items and found.distinct:
            holds_texts(self.stage.project, found, expr, scope)
        return found

    def text_of(self, thing: Thing, default: Any) -> Any:
        """What an object is as a text."""
        raise NotImplementedError

    # Names -------------------------------------------------------------------------------------------------------

    def name(self, name: str, scope: Scope) -> Any:
        """What a name means in a scope."""
        around: Scope | None = scope
        while around is not None:
            if name in around.variables and not (around is scope and name in scope.outside):
                return around.variables[name]
            around = around.outer
        module = self.module_scope(scope.file)
        if name in module.variables:
            return self.module_variable(module, name)
        modules = self.stage.project.modules
        target = modules.lookup(name, scope.file)
        if isinstance(target, GlobalRef):
            if target.file == scope.file:
                return UNSET if scope is module and not module.doubt else UNKNOWN
            return self.module_variable(self.module_scope(target.file), target.name)
        if target is not None:
            return self.target_value(target)
        return Library(f"builtins.{name}")

    def target_value(self, target: Target | None) -> Any:
        """What a resolved name means: a function as its decorators leave it."""
        if isinstance(target, FunctionRef):
            definition = self.stage.project.function(target)
            if definition.decorators and definition.parent < 0 and definition.owner < 0:
                found = self.module_scope(target.file).variables.get(definition.name)
                if found is not None:
                    return found
        return self.stage.target_value(target)

    def module_variable(self, module: Scope, name: str) -> Any:
        """A variable of a module; not known where a function that we did not see called may have set it."""
        writers = self.stage.project.global_writers(module.file).get(name, ())
        if writers:
            setters = [
                index for index in writers if f"{name} =" in self.stage.project.flow(module.file, index).assigned.how
            ]
            if setters and not any(FunctionRef(module.file, index) in self.stage.visited for index in setters):
                return UNKNOWN
        return module.variables.get(name, UNKNOWN)

    # Displays ----------------------------------------------------------------------------------------------------

    def _of_ListDisplay(self, expr: ir.ListDisplay, scope: Scope) -> Any:  # noqa: N802
        items: list[Any] = []
        length: Any = 0
        is_open = False
        for item in expr.items[:MAX_ITEMS]:
            if type(item) is ir.Starred:
                given = self.value(item.value, scope)
                given = given.value if isinstance(given, Perhaps) else given
                spread = self.items_of(given)
                length = added(length, self.length(given) if spread is None else len(spread))
                items.extend([given] if spread is None else spread)
                is_open = is_open or spread is None
            else:
                items.append(self.value(item, scope))
                length = added(length, 1)
        if is_open:
            made = self.some(derived("list", items), span=self.span(expr, scope))
            made.sample = self.item_of(items[0]) if len(expr.items) == 1 else None
            if expr.kind != "set" and is_summand(length):
                made.size = length
            return made
        for item in items:
            if isinstance(item, Tensor):
                item.copied = False
        if expr.kind == "set":
            return distinct(items, self.span(expr, scope))
        self._displayed(items, expr, scope)
        return tuple(items) if expr.kind == "tuple" else self.stage.made(Items(items, at=self.span(expr, scope)))

    def _displayed(self, values: Iterable[Any], expr: ir.Expr, scope: Scope) -> None:
        """Values stand in one row, or in one text."""
        if self.follows_rows:
            rows_followed.displayed(self, values, self.span(expr, scope))

    def _of_DictDisplay(self, expr: ir.DictDisplay, scope: Scope) -> Any:  # noqa: N802
        table = self.stage.made(Table())
        table.batch = self.stage.batch
        for key, value in zip(expr.keys[:MAX_ITEMS], expr.values, strict=False):
            given = self.value(value, scope)
            name = self.value(key, scope) if key is not None else UNKNOWN
            given = spread(self, given) if key is None else given
            if key is not None and is_key(name):
                table.items[name] = given
            elif key is None and isinstance(given, Table):
                given.read()
                taken_over(table, given)
            else:
                table.opens(name if key is not None else given, given)
                if self.stage.witness is not None and isinstance(given, Made) and given.name == "os.environ":
                    table.items.update(self.stage.exported())
            self._displayed([name, given], expr, scope)
        self._displayed(table.items.values(), expr, scope)
        return table

    def _of_Formatted(self, expr: ir.Formatted, scope: Scope) -> Any:  # noqa: N802
        values = [self.value(part, scope) for part in expr.parts]
        for part, value in zip(expr.parts, values, strict=True):
            self.stage.use(value, self.span(part, scope))
        self._displayed(values, expr, scope)
        values = [
            self.text_of(value, value) if isinstance(value, Thing) else known_files.plain(value) for value in values
        ]
        if all(map(is_known, values)):
            forms = expr.forms or ("",) * len(values)
            with suppress(TypeError, ValueError, OverflowError):
                return "".join(map(formatted, values, forms))[:MAX_TEXT]
        return text_path(self.stage, derived("text", values), values)

    def _of_Wrapped(self, expr: ir.Wrapped, scope: Scope) -> Any:  # noqa: N802
        value = self.value(expr.value, scope) if expr.value is not None else None
        if expr.kind == ":=":
            self.bind(ir.Name(expr.target, expr.at), value, _function_scope(scope))
        return value if expr.kind in (":=", "await") else UNKNOWN

    def _of_Lambda(self, expr: ir.Lambda, scope: Scope) -> Any:  # noqa: N802
        return LambdaOf(expr, scope, defaults_of(self, expr.parameters, scope))

    def _of_Starred(self, expr: ir.Starred, scope: Scope) -> Any:  # noqa: N802
        return self.value(expr.value, scope)

    def _of_Slice(self, expr: ir.Slice, scope: Scope) -> Any:  # noqa: N802
        parts = [None if part is None else self.value(part, scope) for part in (expr.lower, expr.upper, expr.step)]
        return slice(*parts)

    # Parts -------------------------------------------------------------------------------------------------------

    def _of_Attribute(self, expr: ir.Attribute, scope: Scope) -> Any:  # noqa: N802
        base = self.value(expr.base, scope)
        used(self.stage, base, expr.base, scope)
        found = self.attribute(base, expr.name, expr, scope)
        if self.follows_rows:
            rows_followed.attribute(self, base, expr.name, found)
        return without_value(self.stage, found, expr, scope)

    def attribute(self, base: Any, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """``base.name``."""
        stage = self.stage
        base = base.value if isinstance(base, Perhaps) else base
        if isinstance(base, Library):
            dotted = stage.project.modules.canonical(f"{base.name}.{name}")
            if dotted == "os.environ":
                return Made(dotted)
            words = command_words(stage, self.span(expr, scope)) if dotted == ARGUMENTS else None
            if words is not None:
                return stage.made(words)
            if stage.witness is not None and name == "__version__":
                installed = known_releases.version_of(stage, dotted, scope.file)
                return Library(dotted) if installed is None else installed
            constant = self.models.constant(self, dotted)
            return Library(dotted) if constant is NotImplemented else constant
        if isinstance(base, ModuleValue):
            inner = self.module_scope(base.file)
            if name in inner.variables:
                return self.module_variable(inner, name)
            if name in OF_VARIABLES and stage.project.modules.lookup(name, base.file) is None:
                return MethodOf(base, name)  # of ``globals()``, which is a dictionary
            target = stage.project.modules.lookup(name, base.file)
            found = missing(self, base, name, expr, scope) if target is None else NotImplemented
            return self.target_value(target) if found is NotImplemented else found
        if isinstance(base, Tensor):
            return self.models.tensor_attribute(self, base, name, expr, scope)
        if isinstance(base, Made):
            kind = stage.sources.get(stage.project.modules.canonical(f"{base.name}.{name}"))
            if kind is not None:
                return stage.source(kind)
            if name in base.stored:
                return base.stored[name]
            found = base.attribute(self, name, expr, scope)
            return self.part_of_made(base, name, expr, scope) if found is NotImplemented else found
        if isinstance(base, Nothing):
            return UNKNOWN
        if name == "shape" and isinstance(base, Opaque):
            return measured_by(name, base, ())
        found = self.of_object(base, name, scope)
        return MethodOf(base, name) if found is NotImplemented else found

    def part_of_made(self, base: Made, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """An attribute of an object of a library: options are asked for where they are parsed."""
        if name == "__dict__":
            return attributes_of(self, base)
        if is_parsed(base):
            return option_of(self, base, name)
        if self.stage.witness is not None and base.name.endswith("Config()") and base.arguments is not None:
            # a configuration of a library has the numbers that it was made with; names it may turn into types
            given = base.arguments.keywords.get(name, UNKNOWN) if not base.arguments.open else UNKNOWN
            if isinstance(given, int | float):
                return given
        owner = self.models.owner(base, name)
        return owner if owner is not None else MethodOf(base, name)

    def _of_Conditional(self, expr: ir.Conditional, scope: Scope) -> Any:  # noqa: N802
        test = self.value(expr.test, scope)
        decided = self.truth(test)
        decided = known_releases.holds(self.stage, expr.test, scope) if decided is None else decided
        if decided is not None:
            return self.value(expr.body if decided else expr.orelse, scope)
        branch = self.parting(test, expr.test, scope)
        grown, side = self.stage.grown, self.stage.sides.get(id(test))
        values = []
        for part, nodes, holds in zip((expr.body, expr.orelse), branch.arms, (True, False), strict=True):
            told = narrowed(scope.variables, test, holds=holds)
            self.stage.sides[id(test)] = holds
            values.append(self._perhaps_value(part, nodes, test, scope))
            widened([scope.variables], [told])
        self.stage.took_side(test, side, [])
        if self.stage.grown > grown:
            self.stage.mark(branch)
        asked = [self.asked(test)]
        either_one = one_of_two(values[0], values[1], expr, scope.file) if source_of(asked) is None else None
        if either_one is not None:
            return either_one
        return parted(values[0], values[1], merged(values[0], values[1], asked), asked)

    def asked(self, value: Any) -> Any:
        """What a test asks of a value: of a list whether something is in it, not what."""
        if isinstance(value, Perhaps) and isinstance(value.value, Items | Table):
            both = [value.missing, self.length(value.value)]
            return Opaque(combined("asked", both), source_of(both))
        if isinstance(value, Perhaps) and not isinstance(value.value, Tensor):
            return value.missing
        return self.length(value) if isinstance(value, Items | Table) else value

    def parting(self, test: Any, at: ir.Expr, scope: Scope, arms: int = 2) -> Branch:
        """A place in the trace for a test that is not known."""
        test = self.asked(test)
        if not is_known(test) and source_of([test]) is not None:
            self.stage.tested[id(test)] = Tested(test, at, scope, len(self.stage.reasons))
        span, chain = self.span(at, scope), self.stage.chain
        sign = signature(test)
        branch = Branch(at, span, chain, sign if sign is not None else ("at", span, chain), source_of([test]), arms)
        branch.measured = sign is not None and is_measured(test)
        self.stage.tests |= {(span, chain), branch.key}
        return branch

    def _perhaps_value(self, expr: ir.Expr, nodes: list[Any], test: Any, scope: Scope) -> Any:
        """The value of an expression that is worked out only where a test says so."""
        return self.perhaps(lambda: self.value(expr, scope), nodes, test)

    def perhaps(self, action: Callable[[], Any], nodes: list[Any], test: Any) -> Any:
        """Does something that is done only where a test says so."""
        stage = self.stage
        outer, stage.trace = stage.trace, nodes
        stage.unsure += 1
        stage.reasons.append(self.asked(test))
        try:
            return action()
        finally:
            stage.reasons.pop()
            stage.unsure -= 1
            stage.trace = outer

    # Operations --------------------------------------------------------------------------------------------------

    def _of_Operation(self, expr: ir.Operation, scope: Scope) -> Any:  # noqa: N802
        first = expr.operators[0]
        if first in ("and", "or"):
            return self._logic(first, expr, scope)
        values = [self.value(operand, scope) for operand in expr.operands]
        if len(values) == 1:
            return self._unary(first, values[0])
        if len(values) > 2:
            return self.chained(expr, values, scope)
        for operand, value in zip(expr.operands, values, strict=True):
            if first not in ("is", "is not"):
                self.stage.use(value, self.span(operand, scope))
            if first in _NUMERIC:
                used(self.stage, value, operand, scope)
        if first in ("/", "//", "%") and not isinstance(values[1], Tensor):
            may_fail(self.stage, DIVIDING, values[1:], expr, scope)
        if first in ("in", "not in") and families_differ(values[1], values[0]):
            not_found(self.stage, values[1], expr, scope)
            return first != "in"
        found = self.operate(first, values[0], values[1], expr.at, scope)
        if self.follows_rows:
            rows_followed.operated(self, first, values[0], values[1], found, self.span(expr, scope))
        return found

    def _logic(self, symbol: str, expr: ir.Operation, scope: Scope) -> Any:
        return self._rest_of_logic(symbol, list(expr.operands), [], scope)

    def _rest_of_logic(self, symbol: str, operands: list[ir.Expr], before: list[Any], scope: Scope) -> Any:
        """What the rest of ``a and b and c`` gives, behind operands of which it is not known whether they decide."""
        first, *rest = operands
        value = self.value(first, scope)
        decided = self.truth(value)
        every = [*before, value]
        if decided is (symbol == "or"):
            return asks_all(derived(symbol, every), symbol, every) if before and not is_known(value) else value
        if not rest:
            joins = before and decided is not (symbol == "or")
            return joined_operands(self, symbol, every, decided) if joins else value
        if decided is not None:
            return self._rest_of_logic(symbol, rest, before, scope)
        branch = self.parting(value, first, scope)
        stage = self.stage
        grown = stage.grown
        outer, stage.trace = stage.trace, branch.arms[0 if symbol == "and" else 1]
        stage.unsure += 1
        stage.reasons.append(self.asked(value))
        try:
            return self._rest_of_logic(symbol, rest, every, scope)
        finally:
            stage.reasons.pop()
            stage.unsure -= 1
            stage.trace = outer
            if stage.grown > grown:
                stage.mark(branch)

    def _unary(self, symbol: str, value: Any) -> Any:
        if symbol == "not":
            decided = self.truth(value)
            return negated(self, value) if decided is None else not decided
        if isinstance(value, Tensor):
            return self.models.elementwise(self, symbol, [value])
        if isinstance(value, int | float):
            if symbol == "~":
                return ~value if isinstance(value, int) else UNKNOWN
            return -value if symbol == "-" else value if symbol == "+" else UNKNOWN
        return derived(symbol, [value])

    def changed(self, tensor: Tensor, how: str, others: list[Any], span: Span | None = None) -> None:
        """A tensor's content changes in place, where that is known at the place ``span``."""
        whole = tensor.whole
        if whole.level and tensor is not whole and tensor.source is not None and whole.source is None:
            whole.placed = Source(OWN_PLACE, tensor.source.span)  # a row that each process picked for itself
        whole.level = whole.level and how in _LEVEL
        whole.sign = combined(how, [whole, *others])
        whole.source = whole.source or source_of(others)
        tensor.sign = whole.sign
        tensor.source = whole.source
        self.models.changed(self, tensor, how, others, span)


def _function_scope(scope: Scope) -> Scope:
    """Where an assignment within an expression binds: comprehensions have no variables of their own for it."""
    outer = scope.outer
    while outer is not None and outer.function == scope.function and outer.file == scope.file:
        scope, outer = outer, outer.outer
    return scope
