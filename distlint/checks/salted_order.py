"""Numbers and orders that come of the hash of strings, which every process salts anew.

The rule's ``fault`` is ``hash`` (what ``hash`` gives decides something) or ``set`` (the order of a set of strings does). Parameters:
``starts`` (calls that make processes a job), ``seeding`` (last names of calls that take a seed), ``joining`` (last names of calls by
which all ranks get what one of them has).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS, holders
from distlint.checks.execution import body_of
from distlint.checks.programs import family, left_out
from distlint.checks.rank_ways import all_ranks_go, in_many_processes, ways_to
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import MAX_DEPTH, Region, called_name, calls_of, mentions, regions
from distlint.checks.texts_by_use import by_use
from distlint.link.project import CallSite
from distlint.link.text_values import Shows, Texts, is_set_order
from distlint.link.walking import below, bound_names, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project

_FIXED_SALT = "PYTHONHASHSEED"
_COUNTING = frozenset({"range", "count"})


@check("salted-order")
def salted_order(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such number or order in a program of several processes."""
    project: Project = context.project
    starts = list(project.calls_to(set(context.parameters["starts"])))
    if not starts or project.mentions(_FIXED_SALT):
        return
    files = sorted({file for one in starts for file in family(project, one.file)})
    word = "hash(" if context.parameters["fault"] == "hash" else "set("
    late = set(left_out(project, sorted({one.file for one in starts}), [word, "{"] if word == "set(" else [word]))
    for file in files:
        if file not in late and (file not in project.facts or project.facts[file].module is None):
            continue
        text = project.text_of(file)
        if word not in text and (word == "hash(" or " for " not in text):
            continue
        yield from _in_file(context, file, starts)


def _in_file(context: CheckContext, file: str, starts: list[CallSite]) -> Iterator[Finding]:
    project: Project = context.project
    texts = Texts(project)
    find = _hashed if context.parameters["fault"] == "hash" else _ordered
    for function in range(-1, len(project.module(file).functions)):
        for statement in statements(body_of(project, file, function)):
            for expr, message, made in find(context, texts, statement, file, function):
                start = _start(project, file, function, expr.at, starts)
                if start is None:
                    continue
                related = [Related(start.span, "the processes of the job meet here")]
                if made is not None:
                    related.insert(0, Related(ir.unpack(made.at, file), "the set is made here"))
                yield context.finding(message, ir.unpack(expr.at, file), related=related)
                break


def _start(project: Project, file: str, function: int, at: ir.Position, starts: list[CallSite]) -> CallSite | None:
    """The start of a job all of whose ranks come to a place."""
    for way in ways_to(project, file, function, at):
        start = in_many_processes(project, way, starts)
        if start is not None and all_ranks_go(project, way):
            return start
    return None


_Found = Iterator[tuple[ir.Expr, str, "ir.Expr | None"]]


# hash() ---------------------------------------------------------------------------------------------------------------


def _hashed(context: CheckContext, texts: Texts, statement: ir.Stmt, file: str, function: int) -> _Found:
    for expr in expressions_of(statement):
        for part in below(expr):
            if type(part) is ir.Operation and "%" in part.operators:
                call = _hash_in(texts, part.operands[0], file, function)
                if call is None:
                    continue
                if _names_rank(expr) or not _joined(context, texts, statement, file, function):
                    yield call, _MESSAGE, None
            elif type(part) is ir.Call and called_name(part) in context.parameters["seeding"] and part.args:
                call = _hash_in(texts, part.args[0], file, function)
                if call is not None:
                    yield (
                        call,
                        "`hash` of a string gives each process another number, so every rank has another seed",
                        None,
                    )


_MESSAGE = (
    "`hash` of a string is salted: every process gets another number for it (unless PYTHONHASHSEED is set), "
    "so the ranks do not agree on what it decides"
)


def _hash_in(texts: Texts, expr: ir.Expr, file: str, function: int) -> ir.Call | None:
    """A call of ``hash`` with a string in what an expression computes, also one kept in a variable."""
    for part in below(texts.local(expr, file, function)):
        if type(part) is ir.Call and type(part.func) is ir.Name and part.func.id == "hash" and len(part.args) == 1:
            if texts.is_text(part.args[0], file, function) and not texts.is_defined("hash", file):
                return part
    return None


# Sets -----------------------------------------------------------------------------------------------------------------


def _ordered(context: CheckContext, texts: Texts, statement: ir.Stmt, file: str, function: int) -> _Found:
    for expr, made in _orders(texts, statement, file, function):
        if not _joined(context, texts, statement, file, function):
            yield expr, _ORDER, made


_ORDER = (
    "the order of a set of strings differs from process to process (their hash is salted), "
    "so the ranks do not give the same numbers to them"
)


def _orders(texts: Texts, statement: ir.Stmt, file: str, function: int) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The places where a statement numbers the items of a set of strings, or takes some by their place."""
    for expr in expressions_of(statement):
        for part in below(expr):
            if type(part) is ir.Comprehension:
                for target, iterable, tests in part.generators:
                    counted = _counted(iterable)
                    if counted is None:
                        continue
                    number = _number(iterable, target)
                    body = (part.element, *tests)
                    used = any(mentions(one, (number,)) for one in body) if number else False
                    shows = by_use(texts, _other(target, number), tuple(below(part.element)))
                    made = is_set_order(texts, counted, file, function, shows=shows) if used else None
                    if made is not None:
                        yield iterable, made
            elif type(part) is ir.Call and called_name(part) == "dict" and len(part.args) == 1:
                counted = _counted(part.args[0])
                shows = by_use(texts, "", ())
                made = is_set_order(texts, counted, file, function, shows=shows) if counted is not None else None
                if made is not None:
                    yield part.args[0], made
            elif type(part) is ir.Subscript and type(part.index) is ir.Slice and _names_rank(part.index):
                made = is_set_order(texts, part.base, file, function)
                if made is not None:
                    yield part.base, made
            elif type(part) is ir.Call and called_name(part) == "index" and type(part.func) is ir.Attribute:
                made = is_set_order(texts, part.func.base, file, function, shows=by_use(texts, "", ()))
                if made is not None:
                    yield part.func.base, made
    if type(statement) is ir.For:
        counted = _counted(statement.iterable)
        if counted is not None:
            number = _number(statement.iterable, statement.target)
            if number and _decides(statement.body, number):
                made = is_set_order(texts, counted, file, function, shows=_in_loop(texts, statement, number))
                if made is not None:
                    yield statement.iterable, made
        elif _numbers_by_length(statement):
            made = is_set_order(texts, statement.iterable, file, function, shows=_in_loop(texts, statement, ""))
            if made is not None:
                yield statement.iterable, made


def _counted(iterable: ir.Expr) -> ir.Expr | None:
    """What an expression numbers: ``enumerate(x)``, ``zip(x, range(n))``."""
    if type(iterable) is not ir.Call or type(iterable.func) is not ir.Name or not iterable.args:
        return None
    if iterable.func.id == "enumerate":
        return iterable.args[0]
    if iterable.func.id == "zip" and len(iterable.args) == 2:
        counters = [type(one) is ir.Call and called_name(one) in _COUNTING for one in iterable.args]
        if any(counters) and not all(counters):
            return iterable.args[counters.index(False)]
    return None


def _number(iterable: ir.Expr, target: ir.Expr) -> str:
    """The name that holds the number of an item."""
    if type(target) is not ir.ListDisplay or len(target.items) != 2 or type(iterable) is not ir.Call:
        return ""
    first = iterable.func.id == "enumerate" if type(iterable.func) is ir.Name else False
    if not first:
        first = type(iterable.args[0]) is ir.Call and called_name(iterable.args[0]) in _COUNTING
    item = target.items[0 if first else 1]
    return item.id if type(item) is ir.Name else ""


def _other(target: ir.Expr, number: str) -> str:
    """The name that holds an item beside its number."""
    return next((name for name in bound_names(target) if name != number), "")


def _in_loop(texts: Texts, loop: ir.For, number: str) -> Shows:
    body = [part for one in statements(loop.body) for expr in expressions_of(one) for part in below(expr)]
    return by_use(texts, _other(loop.target, number), tuple(body))


def _decides(body: tuple[ir.Stmt, ...], number: str) -> bool:
    """Whether the number of an item is stored, or compared with the rank."""
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None:
            stores = any(type(one) in (ir.Subscript, ir.Attribute) for one in statement.targets)
            if stores and mentions(statement.value, (number,)):
                return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and "%" in part.operators and mentions(part, (number,)):
                    if _names_rank(part) or _names_rank(expr):
                        return True
    return False


def _numbers_by_length(loop: ir.For) -> bool:
    """``index[name] = len(index)`` for each item of a loop."""
    items = set(bound_names(loop.target))
    for statement in statements(loop.body):
        if type(statement) is not ir.Assign or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if type(target) is ir.Subscript and mentions(target.index, items) and type(value) is ir.Call:
            if called_name(value) == "len" and value.args and _path(value.args[0]) == _path(target.base) != "":
                return True
    return False


def _path(expr: ir.Expr) -> str:
    if type(expr) is ir.Name:
        return expr.id
    if type(expr) is ir.Attribute and type(expr.base) is ir.Name:
        return f"{expr.base.id}.{expr.name}"
    return ""


# What becomes of it ---------------------------------------------------------------------------------------------------


def _joined(context: CheckContext, texts: Texts, statement: ir.Stmt, file: str, function: int) -> bool:
    """Whether all ranks get what one of them has worked out, or what comes of it is sorted again."""
    body = body_of(texts.project, file, function)
    names: set[str] = set()
    for one in (statement, *holders(body, statement.at)):
        if type(one) is ir.Assign:
            names |= {name for target in one.targets for name in bound_names(target)}
        elif type(one) is ir.For:
            names |= {
                name
                for inner in statements(one.body)
                if type(inner) is ir.Assign
                for target in inner.targets
                for name in bound_names(target)
            }
    words = set(context.parameters["joining"])
    owner = texts.project.module(file).functions[function].owner if function >= 0 else -1
    if owner >= 0 and any(name.startswith("self.") for name in names):
        for index, method in enumerate(texts.project.module(file).functions):
            if method.owner == owner and any(called_name(call) in words for call in calls_of(method.body)):
                return index >= 0
    if type(statement) is ir.Return:
        names.add("")
    for region in regions(texts.project, file, function, names):
        for call in calls_of(region.body(texts.project)):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if any(mentions(one, region.names) for one in given) and _comes_to(texts.project, call, region, words):
                return True
    return False


def _comes_to(project: Project, call: ir.Call, region: Region, words: set[str], depth: int = 0) -> bool:
    """Whether a call is one by one of some names, or comes to one in functions of the project."""
    if called_name(call) in words:
        return True
    if depth > MAX_DEPTH or called_name(call) not in project.function_names:
        return False
    return any(
        _comes_to(project, inner, Region(edge.target.file, edge.target.index, frozenset()), words, depth + 1)
        for edge in project.call_graph.targets(region.file, region.function, call)
        for inner in calls_of(body_of(project, edge.target.file, edge.target.index))
    )


def _names_rank(expr: ir.Expr) -> bool:
    for part in below(expr):
        word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if word and RANK_WORDS.search(word):
            return True
    return False
