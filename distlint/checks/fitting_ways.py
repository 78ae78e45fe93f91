"""How programs take over only what fits of a state: the tests by which they choose names, and what becomes of their answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.preparing import texts_of
from distlint.link.walking import below, blocks_of, calls_in, expressions_of, guards_of, last_name, statements
from distlint.model import python as ir

_TELLING = frozenset(
    {"print", "info", "debug", "warning", "warn", "log", "error", "append", "add", "write", "extend", "log_message"}
)
"""Calls that tell or note something, and change no name."""

_SOFT = frozenset({"startswith", "endswith", "find", "count", "get", "pop", "any", "all", "isinstance", "len", "print"})
"""Calls that get a name, or are methods of it, and give no other name."""

_KEEPING_NAMES = frozenset({"list", "tuple", "set", "sorted", "dict", "OrderedDict", "frozenset"})
_PARAMETERS = frozenset({"named_parameters", "named_buffers"})
_COPYING = frozenset({"copy_", "set_"})
_PREFIXES = ("module", "_orig_mod")


class Choice(NamedTuple):
    """A test by which only names of ``over`` are taken that are in ``within`` as well; ``used`` is where what fits is taken."""

    over: ir.Expr
    within: ir.Expr
    at: ir.Position


def choices(body: tuple[ir.Stmt, ...]) -> Iterator[Choice]:
    """The choices that a function makes among the names of a state, as long as it minds no prefix and does not ask what they came to."""
    if any(_minds_prefix(expr) for statement in statements(body) for expr in expressions_of(statement)):
        return
    for statement in statements(body):
        if type(statement) is ir.For:
            if (found := _of_loop(statement)) and not _is_tested(body, _results(statement.body), statement.at):
                yield found
        for expr in expressions_of(statement):
            for part in below(expr):
                found = _of_expression(part)
                if found and not _is_tested(body, _targets(statement), statement.at):
                    yield found


def put_over(body: tuple[ir.Stmt, ...], given: ir.Expr, model: ir.Expr, *, strict: bool) -> tuple[ir.Expr, ...]:
    """What a function puts over a model's own state before it loads that (``own.update(state)``); nothing where it does more to it."""
    if type(given) is not ir.Name:
        return ()
    found: list[ir.Expr] = []
    for statement in statements(body):
        targets = _written_to(statement)
        if any(type(one) is ir.Subscript and texts_of(one.base) == given.id for one in targets):
            return ()
        if type(statement) is ir.Assign and any(texts_of(one) == given.id for one in targets):
            if not _is_own(statement.value, model):
                return ()
        call = statement.value if type(statement) is ir.Evaluate else None
        if type(call) is ir.Call and type(call.func) is ir.Attribute and texts_of(call.func.base) == given.id:
            if call.func.name != "update" or len(call.args) != 1:
                return ()
            if strict and _is_chosen(body, call.args[0]):
                return ()
            found.append(call.args[0])
    return tuple(found)


def _is_chosen(body: tuple[ir.Stmt, ...], given: ir.Expr) -> bool:
    """Whether only some entries of a state may be in what is put over another, so that no name is one too many."""
    made = [given]
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None:
            if any(texts_of(one) == texts_of(given) != "" for one in statement.targets):
                made.append(statement.value)
    return any(not isinstance(one, ir.Name | ir.Subscript | ir.Call) or _is_made(one) for one in made)


def _is_made(expr: ir.Expr) -> bool:
    return type(expr) is ir.Call and last_name(expr.func) in _KEEPING_NAMES


def is_asked_for(body: tuple[ir.Stmt, ...], call: ir.Call) -> bool:
    """Whether a function does something else where what a call gives is not what it should be."""
    for statement in statements(body):
        if any(ir.encloses(expr.at, call.at) for expr in expressions_of(statement)):
            return _is_tested(body, _targets(statement), statement.at)
    return False


def _is_own(value: ir.Expr | None, model: ir.Expr) -> bool:
    """Whether a value is the state of a model, or a dictionary with nothing in it."""
    if type(value) is ir.DictDisplay:
        return not value.keys
    if type(value) is not ir.Call:
        return False
    if last_name(value.func) in _KEEPING_NAMES | {"deepcopy", "copy"}:
        return not value.args or _is_own(value.args[0], model)
    func = value.func
    return type(func) is ir.Attribute and func.name == "state_dict" and texts_of(func.base) == texts_of(model) != ""


# Comprehensions and sets ------------------------------------------------------------------------------------------------


def _of_expression(expr: ir.Expr) -> Choice | None:
    if type(expr) is ir.Comprehension:
        return _of_comprehension(expr)
    if type(expr) is ir.Operation and set(expr.operators) == {"&"} and len(expr.operands) == 2:
        left, right = expr.operands
        return Choice(left, right, expr.at) if _is_keys(left) and _is_keys(right) else None
    if type(expr) is ir.Call and last_name(expr.func) == "intersection" and type(expr.func) is ir.Attribute:
        base = expr.func.base
        if len(expr.args) == 1 and _is_keys(base):
            return Choice(base, expr.args[0], expr.at)
    return None


def _is_keys(expr: ir.Expr) -> bool:
    return type(expr) is ir.Call and last_name(expr.func) in ("keys", "set", "frozenset")


def _of_comprehension(expr: ir.Comprehension) -> Choice | None:
    if len(expr.generators) != 1:
        return None
    target, iterable, tests = expr.generators[0]
    name, over = _named(target, iterable)
    if not name or over is None or any(_changes(part, name) for part in (expr.element, *tests)):
        return None
    element = expr.element
    if expr.kind == "dict" and type(element) is ir.ListDisplay and len(element.items) == 2:
        key, value = element.items
        if not _is_name(key, name):
            return None
        if (within := _chosen(value, name)) is not None:
            return Choice(over, within, value.at)
    elif not _is_name(element, name):
        return None
    for test in tests:
        for within, at in _tests_of(test, name, holds=True):
            return Choice(over, within, at)
    return None


def _chosen(value: ir.Expr, name: str) -> ir.Expr | None:
    """The state of which a value is taken where it has the name: ``state.get(name, own)``, ``state[name] if name in state else own``."""
    if (
        type(value) is ir.Call
        and type(value.func) is ir.Attribute
        and value.func.name == "get"
        and len(value.args) == 2
    ):
        return value.func.base if _is_name(value.args[0], name) else None
    if type(value) is ir.Conditional:
        for within, _ in _tests_of(value.test, name, holds=True):
            return within if _is_item(value.body, within, name) else None
    return None


# Loops ------------------------------------------------------------------------------------------------------------------


def _of_loop(loop: ir.For) -> Choice | None:
    name, over = _named(loop.target, loop.iterable)
    if not name or over is None:
        return None
    for statement in statements(loop.body):
        if any(_is_name(one, name) for one in _written_to(statement)):
            return None
        if any(_changes(expr, name) for expr in expressions_of(statement)):
            return None
    found: Choice | None = None
    for statement in statements(loop.body):
        kept = _takes(statement, loop.target, name)
        if kept is None:
            continue
        tested = None
        for guard in guards_of(loop.body, statement.at) or ():
            if guard.test is not None and guard.kind in ("if", "exit"):
                tested = next(_tests_of(guard.test, name, holds=guard.holds if kept else not guard.holds), tested)
        if tested is None:
            return None  # something is taken that nobody has tested
        found = Choice(over, *tested)
    return found


def _takes(statement: ir.Stmt, target: ir.Expr, name: str) -> bool | None:
    """Whether a statement takes an entry over (true), or takes one out of a state (false)."""
    item = {name, *[one.id for one in (target.items if type(target) is ir.ListDisplay else ()) if type(one) is ir.Name]}
    if type(statement) is ir.Jump and statement.kind == "del":
        return (
            False if any(type(one) is ir.Subscript and _is_name(one.index, name) for one in statement.values) else None
        )
    if type(statement) is ir.Assign and statement.value is not None:
        for one in statement.targets:
            if type(one) is ir.Subscript and _is_name(one.index, name) and _mentions(statement.value, item):
                return True
            if type(one) is ir.Attribute and one.name == "data" and _mentions(statement.value, item):
                return True
    call = statement.value if type(statement) is ir.Evaluate else None
    if type(call) is not ir.Call or type(call.func) is not ir.Attribute:
        return None
    last = call.func.name
    if last in _COPYING and call.args and _mentions(call.args[0], item):
        return True
    if last == "update" and call.args and type(call.args[0]) is ir.DictDisplay and _mentions(call.args[0], item):
        return True
    if last == "append" and call.args and _is_name(call.args[0], name):
        return True
    return False if last == "pop" and call.args and _is_name(call.args[0], name) else None


def _mentions(expr: ir.Expr, names: set[str]) -> bool:
    return any(type(one) is ir.Name and one.id in names for one in below(expr))


# Names and tests --------------------------------------------------------------------------------------------------------


def _named(target: ir.Expr, iterable: ir.Expr) -> tuple[str, ir.Expr | None]:
    """The variable that goes over the names of something, and what that is."""
    while type(iterable) is ir.Call and last_name(iterable.func) in _KEEPING_NAMES and len(iterable.args) == 1:
        iterable = iterable.args[0]
    func = iterable.func if type(iterable) is ir.Call else None
    if type(target) is ir.ListDisplay and len(target.items) == 2 and type(target.items[0]) is ir.Name:
        if type(func) is ir.Attribute and func.name == "items":
            return target.items[0].id, func.base
        if type(func) is ir.Attribute and func.name in _PARAMETERS:
            return target.items[0].id, iterable
        return "", None
    if type(target) is not ir.Name:
        return "", None
    if type(func) is ir.Attribute and func.name == "keys":
        return target.id, func.base
    return (target.id, iterable) if type(iterable) in (ir.Name, ir.Attribute, ir.Subscript) else ("", None)


def _tests_of(test: ir.Expr, name: str, *, holds: bool) -> Iterator[tuple[ir.Expr, ir.Position]]:
    """What a name is certainly in where a test comes out one way."""
    if type(test) is not ir.Operation:
        return
    operators = set(test.operators)
    if operators == {"not"}:
        yield from _tests_of(test.operands[0], name, holds=not holds)
    elif operators == ({"and"} if holds else {"or"}):
        for one in test.operands:
            yield from _tests_of(one, name, holds=holds)
    elif test.operators == (("in",) if holds else ("not in",)) and _is_name(test.operands[0], name):
        yield test.operands[1], test.at


def _changes(expr: ir.Expr, name: str) -> bool:
    """Whether an expression makes another name of one: a slice, a method, a text around it, a function that gets it."""
    for part in below(expr):
        if type(part) is ir.Subscript and _is_name(part.base, name):
            return True
        if type(part) is ir.Call:
            last = last_name(part.func)
            on_name = type(part.func) is ir.Attribute and _is_name(part.func.base, name)
            if (on_name or any(_is_name(one, name) for one in part.args)) and last not in _SOFT | _TELLING:
                return True
        elif type(part) is ir.Operation and set(part.operators) & {"+", "%"}:
            if any(_is_name(one, name) for one in part.operands):
                return True
        elif type(part) is ir.Formatted and any(_is_name(one, name) for one in part.parts):
            begin, end = part.parts[0], part.parts[-1]
            if type(begin) is not ir.Constant or (_is_name(end, name) and str(begin.value).endswith(".")):
                return True
    return False


def _minds_prefix(expr: ir.Expr) -> bool:
    """Whether an expression names the prefix that a wrapper gives names, or asks for the wrapper."""
    return any(
        type(part) is ir.Constant and type(part.value) is str and part.value.startswith(_PREFIXES)
        for part in below(expr)
    )


def _is_name(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name


def _is_item(expr: ir.Expr, base: ir.Expr, name: str) -> bool:
    """Whether an expression is ``base[name]``, or something that is made of it."""
    return any(
        type(one) is ir.Subscript and _is_name(one.index, name) and texts_of(one.base) == texts_of(base)
        for one in below(expr)
    )


# What becomes of it -----------------------------------------------------------------------------------------------------


def _written_to(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    if type(statement) is ir.Assign:
        flat: list[ir.Expr] = []
        for one in statement.targets:
            flat += one.items if type(one) is ir.ListDisplay else (one,)
        return tuple(flat)
    if type(statement) is ir.AugAssign:
        return (statement.target,)
    return ()


def _targets(statement: ir.Stmt) -> set[str]:
    """The variables that a statement fills."""
    return {one.id for one in _written_to(statement) if type(one) is ir.Name}


def _results(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The variables that a loop fills: counters, lists, dictionaries."""
    found: set[str] = set()
    for statement in statements(body):
        found |= _targets(statement)
        for one in _written_to(statement):
            if type(one) is ir.Subscript and type(one.base) is ir.Name:
                found.add(one.base.id)
    for call in calls_in(body):
        if type(call.func) is ir.Attribute and call.func.name in ("append", "add", "update"):
            found |= {texts_of(call.func.base)}
    return found - {""}


def _is_tested(body: tuple[ir.Stmt, ...], names: set[str], at: ir.Position) -> bool:
    """Whether a function asks later what something came to, and does more there than to tell it."""
    held = set(names)
    for statement in statements(body):
        if statement.at <= at or ir.encloses(at, statement.at):
            continue
        tests = [statement.test] if isinstance(statement, ir.Assert | ir.If | ir.While) else []
        tests += [
            part.test for expr in expressions_of(statement) for part in below(expr) if type(part) is ir.Conditional
        ]
        if any(_mentions(one, held) for one in tests):
            if type(statement) is not ir.If or not all(_only_tells(block) for block in blocks_of(statement)):
                return True
        if type(statement) is ir.Assign and statement.value is not None and _mentions(statement.value, held):
            if type(statement.value) is not ir.Call or last_name(statement.value.func) in ("len", "bool", "any", "sum"):
                held |= _targets(statement)
    return False


def _only_tells(block: tuple[ir.Stmt, ...]) -> bool:
    for statement in block:
        call = statement.value if type(statement) is ir.Evaluate else None
        if type(statement) is ir.Jump and statement.kind == "pass":
            continue
        if type(call) is not ir.Call or last_name(call.func) not in _TELLING:
            return False
    return True
