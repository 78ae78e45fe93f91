"""What functions of Python's own library give on one process of a rehearsal."""

from __future__ import annotations

import itertools
import math
import os.path
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal import (
    attribute_tables,
    composed,
    documents,
    ini_files,
    known_files,
    known_modules,
    known_releases,
    known_texts,
)
from distlint.rehearsal.configured import settings_of
from distlint.rehearsal.containers import collection, namespace
from distlint.rehearsal.copies import copied, record_helper
from distlint.rehearsal.entities import Partial
from distlint.rehearsal.failing import EVEN_FILE, SHARE
from distlint.rehearsal.getters import ASKING, Getter
from distlint.rehearsal.iterating import MAX_FOLLOWED, once_asked
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.samples import seen_as_own
from distlint.rehearsal.stage import Left, Scope
from distlint.rehearsal.unknowns import UNKNOWN, InMemory, Opaque, Source, Words
from distlint.rehearsal.values import MAX_ITEMS, Given, Items, Made, derived, is_known, source_of

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls

_SHARED = (
    "builtins.open",
    "io.",
    "json.",
    "yaml.",
    "toml.",
    "tomllib.",
    "configparser.",
    "argparse.",
    "omegaconf.",
    "pathlib.",
    "os.path.",
    "os.listdir",
    "os.walk",
    "os.fspath",
    "glob.",
    "re.",
    "logging.",
    "importlib.",
    "inspect.",
    "hashlib.",
    "string.",
    "datetime.timedelta",
    "fractions.",
    "decimal.",
    "ast.",
    "csv.",
    "sys.",
    "hydra.",
    "contextlib.",
    "collections.",
    "threading.",
    "signal.",
)
_PATHS = ("join", "basename", "dirname", "splitext", "split", "normpath", "isabs", "commonprefix")
_MATH_NAMES = """
    sqrt ceil floor log log2 log10 log1p exp pow isnan isinf isfinite gcd lcm prod fabs fmod sin cos tan tanh trunc
    hypot isqrt comb copysign isclose degrees radians dist fsum
"""
_MATH = frozenset(_MATH_NAMES.split())
_NOTHING = frozenset(
    {"warnings.warn", "warnings.filterwarnings", "warnings.simplefilter", "time.sleep", "gc.collect", "random.shuffle_"}
)
_ENTRIES = frozenset(
    {"fire.Fire", "fire.core.Fire", "typer.run", "absl.app.run", "tyro.cli", "jsonargparse.CLI", "defopt.run"}
)
"""What calls a function, or makes an object, with what the command line says."""

_KNOWN = (attribute_tables, composed, known_files, known_modules, known_releases, known_texts)
"""What says more of a run that is known."""

_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


def is_shared(name: str) -> bool:
    """Whether what a library gives is the same on all processes that ask alike: files, settings, plain helpers."""
    return name.startswith(_SHARED) or ".from_" in name


def standard_call(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function of the standard library gives; ``NotImplemented`` where that is not known."""
    if name in _NOTHING:
        return None
    if name in _ENTRIES and given.positional:
        command = Given([], {}, is_open=True)
        command.rest = [Opaque(("command line",))]
        return player.apply(given.positional[0], command, call, scope)
    if name == "typing.cast" and len(given.positional) == 2:
        return given.positional[1]
    for known in _KNOWN if player.stage.witness is not None else ():
        found = known.called(player, name, given, call, scope)
        if found is not NotImplemented:
            return found
    settings = settings_of(player, name, given, call, scope)
    if settings is not NotImplemented:
        return settings
    document = documents.read(player, name, given, call, scope)
    if document is not NotImplemented:
        return document
    module, _, last = name.rpartition(".")
    handler = _MODULES.get(module)
    if handler is None or given.open:
        return NotImplemented
    return handler(player, last, given, call, scope)


# Numbers and texts ----------------------------------------------------------------------------------------------------


def _math(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    values = given.positional
    if name in _MATH and values and all(isinstance(one, int | float) and abs(one) < 1e15 for one in values):
        if name == "comb" and max(values) > MAX_ITEMS:
            return derived(name, values)
        try:
            return getattr(math, name)(*values)
        except (ValueError, TypeError, OverflowError):
            return UNKNOWN
    if name in ("prod", "fsum") and len(values) == 1:
        items = player.items_of(values[0])
        if items and all(isinstance(one, int | float) and abs(one) < 1e6 for one in items) and len(items) < 32:
            return math.prod(items) if name == "prod" else math.fsum(items)
    return NotImplemented


def _paths(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    values = given.positional
    if name in _PATHS and values and all(isinstance(one, str) for one in values):
        return getattr(os.path, name)(*values)
    return NotImplemented


def _patterns(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    text = given.get("string", 1, None)
    return Words(derived(name, [*given.values()])) if name == "findall" and type(text) is Opaque else NotImplemented


def _memory(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """An empty stream is there to be written into: nothing is known of what it holds later."""
    values = given.positional
    return InMemory(derived(name, values)) if name in ("BytesIO", "StringIO") and values else NotImplemented


def _operator(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    values = given.positional
    if name in _OPERATORS and len(values) == 2:
        return player.operate(_OPERATORS[name], values[0], values[1], call.at, scope)
    if name in ASKING and values:
        return Getter(f"operator.{name}()", call, given)
    return NotImplemented


def _random(draw: str, player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """``shuffle`` leaves a list of which only what tells it is known."""
    first = given.positional[0] if given.positional else None
    if name != "shuffle" or not isinstance(first, Items):
        return NotImplemented
    before = derived("list", [first])
    drawn = player.models.call(player, draw, Given([], {}), call, scope)
    order = drawn if isinstance(drawn, Opaque) else UNKNOWN
    first.shuffled(derived("shuffle", [before, order]))
    player.note(first)
    return None


# Iterators ------------------------------------------------------------------------------------------------------------


def _itertools(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    values = given.positional
    if name == "count":
        start, step = given.get("start", 0, 0), given.get("step", 1, 1)
        if isinstance(start, int) and isinstance(step, int):
            return Generated(itertools.count(start, step))
        return Generated(None, derived("item", [start, step]))
    if name == "repeat" and values:
        times = given.get("times", 1, None)
        if times is None or isinstance(times, int):
            return Generated(itertools.repeat(values[0]) if times is None else itertools.repeat(values[0], times))
        return Generated(None, values[0])
    if name == "cycle" and values:
        items = player.items_of(values[0])
        return Generated(itertools.cycle(items)) if items else Generated(None, player.item_of(values[0]))
    if name in ("chain", "islice", "takewhile", "dropwhile", "accumulate", "zip_longest", "product"):
        found = _of_others(player, name, values, given, call, scope)
        return _own_part(player, _some_lines(found), values[1:], call, scope) if name == "islice" else found
    if name == "starmap" and len(values) == 2:
        return _on_rows(player, values[0], values[1], call, scope)
    if name in ("combinations", "permutations", "pairwise", "batched") and values:
        items = player.items_of(values[0])
        numbers = all(isinstance(one, int) and 0 < one < 8 for one in values[1:])
        if items is not None and numbers and len(items) <= 12:
            made = getattr(itertools, name)(items, *values[1:])
            return Items(list(itertools.islice(made, MAX_ITEMS)))
    return NotImplemented


def _of_others(player: Calls, name: str, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    """Iterators over other ones."""
    if name == "product":
        lists = [player.items_of(one) for one in values] * (given.keywords.get("repeat", 1) if values else 1)
        if all(one is not None and len(one) <= 16 for one in lists) and len(lists) <= 4:
            made = itertools.product(*(one or [] for one in lists))
            return Items(list(itertools.islice(made, MAX_ITEMS)))
        return Generated(None, tuple(player.item_of(one) for one in values))
    if name == "islice" and values and values[1:] == [None]:
        return values[0]
    if name == "islice" and isinstance(values[0], Generated) and len(values) == 2 and isinstance(values[1], int):
        return _first_ones(player, values[0], values[1])
    steps = [player.steps_of(one) for one in values[: len(values) if name == "chain" else 1]]
    if None in steps or not values:
        count = derived(name, [player.length(one) for one in values])
        if name == "islice":
            length = player.length(values[0])
            bounds = [one for one in values[1:] if one is None or isinstance(one, int)]
            if isinstance(length, int) and len(bounds) == len(values) - 1:
                number = len(range(*slice(*bounds).indices(length)))
                return Generated(None, player.item_of(values[0]), count=number)
            # a limit makes it as many everywhere, as a rule: not where it is each process's own
            count = Opaque(count.sign, source_of(values[1:]))
        return Generated(None, player.item_of(values[0]) if values else UNKNOWN, count=count)
    known: list[Iterator[Any]] = [one for one in steps if one is not None]
    if name == "chain":
        return Generated(itertools.chain(*known), watched=True)
    if name == "islice":
        bounds = values[1:]
        if all(one is None or isinstance(one, int) for one in bounds):
            return Generated(itertools.islice(known[0], *bounds), watched=True)
        return Generated(None, player.item_of(values[0]), count=Opaque(None, source_of(bounds)))
    return Generated(None, UNKNOWN)


def _on_rows(player: Calls, function: Any, rows: Any, call: ir.Call, scope: Scope) -> Any:
    """``starmap``: nothing is called until somebody goes through it."""
    steps = player.steps_of(rows)
    if steps is not None:
        every = ((player.items_of(row), row) for row in steps)
        return Generated((player.apply(function, _arguments(*one), call, scope) for one in every), watched=True)
    row = player.item_of(rows)
    made = player.some(derived("starmap", [rows]), player.length(rows))
    made.later = once_asked(player, function, _arguments(player.items_of(row), row), call, scope)
    return made


def _arguments(items: list[Any] | None, row: Any) -> Given:
    """What a function is given that gets all items of a row."""
    given = Given(items or [], {}, is_open=items is None)
    given.rest = [row] if items is None else []
    return given


def _some_lines(found: Any) -> Any:
    """A limited number of lines of a file: not as many as of any other file that is as long."""
    if isinstance(found, Generated):
        found.sample = _of_some(found.sample)
        if found.run is not None:
            found.run = (_of_some(one) for one in found.run)
    return found


def _of_some(item: Any) -> Any:
    source = item.source if type(item) is Opaque else None
    return Opaque(item.sign, source._replace(why=SHARE)) if source is not None and source.why == EVEN_FILE else item


def _own_part(player: Calls, found: Any, bounds: list[Any], call: ir.Call, scope: Scope) -> Any:
    """What a part of an iterator gives is each process's own where they are known to take different ones."""
    if isinstance(found, Generated) and len(bounds) > 1 and player.stage.differs(call, scope.file, tuple(bounds)):
        source = Source(SHARE, ir.unpack(call.at, scope.file), indirect=True)
        found.sample = seen_as_own(found.sample, source)
        if found.run is not None:
            found.run = (seen_as_own(one, source) for one in found.run)
    return found


def _first_ones(player: Calls, source: Generated, count: int) -> Any:
    """``islice(generator, count)``."""
    found: list[Any] = []
    while len(found) < min(count, MAX_ITEMS) and not source.partly:
        more, item = player.advance(source)
        if not more:
            break
        found.append(item)
    if source.partly:
        left = derived("islice", [source.count, count])
        # a limit makes it as many everywhere, as a rule: not where part after part is taken until nothing is left
        size = left if source.born is not None and player.stage.whiles > source.born else Opaque(left.sign)
        return Generated(None, player.item_of(source), count=size)
    return Items(found)


def _chain(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    if name != "from_iterable" or not given.positional:
        return NotImplemented
    items = player.items_of(given.positional[0])
    inner = [player.items_of(one) for one in items] if items is not None else [None]
    if items is None:
        return Generated(None, player.item_of(player.item_of(given.positional[0])))
    if None in inner:
        count = derived("chain", [player.length(one) for one in items])
        return Generated(None, player.item_of(player.item_of(given.positional[0])), count=count)
    return Items([item for one in inner for item in one or ()][:MAX_ITEMS])


# Functions and contexts -----------------------------------------------------------------------------------------------


def _functools(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    values = given.positional
    if name in ("lru_cache", "cache", "wraps", "singledispatch", "update_wrapper"):
        return values[0] if values and not is_known(values[0]) and name != "wraps" else Made(f"functools.{name}()")
    if name == "reduce" and len(values) >= 2:
        items = player.items_of(values[1])
        if items is None or len(items) > MAX_FOLLOWED:
            return NotImplemented
        items = [*values[2:3], *items]
        if not items:
            return UNKNOWN
        found = items[0]
        for item in items[1:]:
            found = player.apply(values[0], Given([found, item], {}), call, scope)
        return found
    if name == "partialmethod" and values:
        return Partial(values[0], Given(values[1:], given.keywords))
    return NotImplemented


class Stack(Made):
    """A stack of contexts that are left with it."""

    __slots__ = ("managers",)

    def __init__(self, call: ir.Call, given: Given) -> None:
        super().__init__("contextlib.ExitStack()", call, given)
        self.managers: list[Any] = []

    def entered(self, player: Any, span: Any) -> Any:
        """Itself."""
        return self

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Enters a context, or notes a function that is called at the end."""
        span = ir.unpack(call.at, scope.file)
        if name == "enter_context" and given.positional:
            found = player.entered(given.positional[0], span)
            self.managers.append(given.positional[0])
            return found
        if name == "callback" and given.positional:
            rest = Given(given.positional[1:], given.keywords, is_open=given.open)
            self.managers.append((given.positional[0], rest, call, scope))
            return given.positional[0]
        if name == "close":
            self.left(player, span)
            return None
        if name == "pop_all" and self.call is not None and self.arguments is not None:
            other = Stack(self.call, self.arguments)
            self.managers, other.managers = [], self.managers
            return other
        return NotImplemented

    def left(self, player: Any, span: Any) -> None:
        """Leaves all of them, the last one first."""
        managers, self.managers = self.managers, []
        for manager in reversed(managers):
            if type(manager) is tuple:
                player.apply(*manager)
            else:
                player.left(manager, span)


class Null(Made):
    """A context that does nothing; ``inner`` is what it gives."""

    __slots__ = ("inner",)

    def __init__(self, call: ir.Call, given: Given) -> None:
        super().__init__("contextlib.nullcontext()", call, given)
        self.inner = given.get("enter_result", 0, None)

    def entered(self, player: Any, span: Any) -> Any:
        """What it was given."""
        return self.inner


class Closing(Null):
    """A context that closes what it gives."""

    __slots__ = ()


def _contexts(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    if name in ("ExitStack", "AsyncExitStack"):
        return Stack(call, given)
    if name in ("nullcontext", "closing"):
        return (Null if name == "nullcontext" else Closing)(call, given)
    return NotImplemented


def _asynchronous(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    if name in ("run", "create_task", "ensure_future", "wait_for") and given.positional:
        return given.positional[0]  # what is called is followed at once
    if name == "gather":
        return Items(list(given.positional))
    return NotImplemented


def _dumps(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """Texts made of values: as equal as these."""
    if name == "dumps":
        found = derived(f"json.{name}", given.values())
        return Opaque(found.sign, found.source)
    return NotImplemented


_Handler = Callable[..., Any]


def _signals(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """A handler may be called at any time, on the processes that get its signal: what it leaves is there on these only."""
    if name != "signal":
        return NotImplemented
    stage = player.stage
    test = Opaque(None, Source("a signal that one process gets", ir.unpack(call.at, scope.file)))
    depth, chain, repeating, touched = stage.depth, stage.chain, stage.repeating, stage.touched
    counts = len(stage.events), len(stage.waits), len(stage.faults)
    outer, stage.trace = stage.trace, []
    stage.unsure += 1
    stage.quiet += 1
    stage.reasons.append(test)
    try:
        player.apply(given.get("handler", 1, UNKNOWN), Given([UNKNOWN, UNKNOWN], {}), call, scope)
    except Left:
        stage.depth, stage.chain, stage.repeating, stage.touched = depth, chain, repeating, touched
    finally:
        stage.trace = outer
        stage.unsure -= 1
        stage.quiet -= 1
        stage.reasons.pop()
        del stage.events[counts[0] :], stage.waits[counts[1] :], stage.faults[counts[2] :]
    return UNKNOWN


_MODULES: dict[str, _Handler] = {
    "signal": _signals,
    "math": _math,
    "os.path": _paths,
    "posixpath": _paths,
    "operator": _operator,
    "re": _patterns,
    "io": _memory,
    "itertools": _itertools,
    "itertools.chain": _chain,
    "collections": collection,
    "types": namespace,
    "argparse": namespace,
    "copy": copied,
    "dataclasses": record_helper,
    "functools": _functools,
    "contextlib": _contexts,
    "asyncio": _asynchronous,
    "configparser": ini_files.parser,
    "json": _dumps,
    "random": partial(_random, "random.random"),
    "numpy.random": partial(_random, "numpy.random.rand"),
}
