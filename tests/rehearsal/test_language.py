"""Python itself in the rehearsal: what expressions, classes, functions and iterators give."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.frameworks import specs
from distlint.rehearsal.performance import Rehearsal
from distlint.rehearsal.player import Player
from distlint.rehearsal.stage import Enough, Stage
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, signature
from tests.conftest import MakeProject

HEAD = """
import argparse, collections, contextlib, copy, dataclasses, enum, functools, itertools, json, math, os, random, time, types, typing
import torch.distributed as dist

"""


def plain(value: Any) -> Any:
    """A value as Python would show it."""
    if isinstance(value, Items) and value.items is not None:
        return [plain(item) for item in value.items]
    if type(value) is tuple:
        return tuple(plain(item) for item in value)
    return value


def rehearsed(make_project: MakeProject, code: str, more: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The variables of a module behind its last statement, on each of two processes."""
    project = make_project({"train.py": HEAD + code, **(more or {})})
    assert specs()
    models = Rehearsal.of(project).models
    found = []
    for rank in range(2):
        player = Player(Stage(project, "train.py", rank, 2), models)
        try:
            found.append(player.module_scope("train.py").variables)
        except Enough:
            found.append(player.stage.modules["train.py"].variables)
    return found


DEFINITIONS = """
class Phase(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"

@dataclasses.dataclass
class Config:
    steps: int = 4
    names: list = dataclasses.field(default_factory=list)
    phase: Phase = Phase.TRAIN
    total: int = 0

    def __post_init__(self):
        self.total = self.steps * 2

    @property
    def double(self):
        return self.total * 2

class Point(typing.NamedTuple):
    x: int
    y: int = 3

class Base:
    kind = "base"

    def __init__(self, first, *rest, factor=2, **more):
        self.first, self.rest, self.factor, self.more = first, rest, factor, more

    def hello(self):
        return f"{self.kind}-{self.first}"

    @classmethod
    def make(cls, first):
        return cls(first, 1, 2, factor=5, z=9)

    @staticmethod
    def twice(x):
        return 2 * x

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index * 10

    def __contains__(self, x):
        return x == 10

    def __call__(self, x):
        return x + self.factor

class Child(Base):
    kind = "child"

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.extra = len(args)

    def hello(self):
        return "c" + super().hello()

class Limited:
    def __init__(self):
        self._size = 1

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = min(value, 8)

def squares(n):
    for i in range(n):
        yield i * i

def more():
    yield from squares(3)
    yield 100

def one_more(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1
    return wrapper

def times(n):
    def outer(function):
        def wrapper(*args):
            return function(*args) * n
        return wrapper
    return outer

@one_more
def plus(a, b=1):
    return a + b

@times(3)
def same(x):
    return x

REGISTRY = {}

def register(name):
    def inner(thing):
        REGISTRY[name] = thing
        return thing
    return inner

@register("seven")
def seven(x):
    return x + 7

@register("config")
class Registered:
    size = 3

@functools.lru_cache(None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step

step = counter()
step()
child = Child.make(4)
Pair = collections.namedtuple("Pair", "u v")
limited = Limited()
limited.size = 20
space = types.SimpleNamespace(a=1)
space.c = 3
recent = collections.deque([1, 2, 3], maxlen=2)
recent.append(9)
groups = collections.defaultdict(list)
groups["a"].append(1)
groups["a"].append(2)
numbers = iter([1, 2])
head, *middle, tail = [1, 2, 3, 4]
operations = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y}
"""

EXPRESSIONS = [
    ("Config(steps=5).total", 10),
    ("Config().double", 16),
    ("Config().phase is Phase.TRAIN", True),
    ("Config().phase == Phase.EVAL", False),
    ("Phase('eval').name", "EVAL"),
    ("Phase['EVAL'].value", "eval"),
    ("[one.name for one in Phase]", ["TRAIN", "EVAL"]),
    ("{Phase.TRAIN: 1, Phase.EVAL: 2}[Phase.EVAL]", 2),
    ("{one: one.value for one in Phase}[Phase.EVAL]", "eval"),
    ("max(['aa', 'bb', 'c'], key=len)", "aa"),
    ("min(range(3), key=[5, 1, 2].__getitem__)", 1),
    ("([4, 7].__len__(), {'a': 1}.__contains__('a'))", (2, True)),
    ("dataclasses.replace(Config(), steps=7).steps", 7),
    ("[*Point(1)]", [1, 3]),
    ("Point(1)[1]", 3),
    ("Pair(1, 2).v + Pair(1, 2)[0]", 3),
    ("child.hello()", "cchild-4"),
    ("(child.extra, child.rest, child.more['z'])", (3, (1, 2), 9)),
    ("(len(child), child[2], 10 in child, child(1))", (3, 20, True, 6)),
    ("[x for x in child]", [0, 10, 20]),
    ("Child.twice(4)", 8),
    ("type(child).__name__", "Child"),
    ("(isinstance(child, Base), isinstance(child, (int, str)))", (True, False)),
    ("(hasattr(child, 'extra'), hasattr(child, 'missing'), getattr(child, 'missing', 5))", (True, False, 5)),
    ("limited.size", 8),
    ("list(squares(4))", [0, 1, 4, 9]),
    ("[*more()]", [0, 1, 4, 100]),
    ("sum(squares(4)) + next(squares(2))", 14),
    ("(next(numbers), next(numbers), next(numbers, 'done'))", (1, 2, "done")),
    ("plus(1)", 3),
    ("same(5)", 15),
    ("REGISTRY['seven'](1) + REGISTRY['config']().size", 11),
    ("fib(6)", 8),
    ("step()", 2),
    ("functools.partial(plus, b=10)(1)", 12),
    ("functools.reduce(lambda a, b: a * b, [1, 2, 3, 4])", 24),
    ("(lambda x, y=2: x * y)(4)", 8),
    ("operations['mul'](3, 4)", 12),
    ("[(i, v) for i, v in enumerate('ab', 1)]", [(1, "a"), (2, "b")]),
    ("dict(zip('ab', [1, 2]))['b']", 2),
    ("list(map(lambda v: v + 1, [1, 2]))", [2, 3]),
    ("list(filter(None, [0, 1, 2]))", [1, 2]),
    ("sorted([3, 1, 2], key=lambda v: -v)", [3, 2, 1]),
    ("sorted(['bb', 'a'])", ["a", "bb"]),
    ("max(['aa', 'b'], key=len)", "aa"),
    ("(any(x > 2 for x in [1, 3]), all(x > 2 for x in [1, 3]))", (True, False)),
    ("sum(x for x in range(5) if x % 2 == 0)", 6),
    ("list(itertools.islice(itertools.count(3), 3))", [3, 4, 5]),
    ("list(itertools.chain([1], squares(2)))", [1, 0, 1]),
    ("list(itertools.product([0, 1], repeat=2))", [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ("list(itertools.islice(itertools.cycle('ab'), 3))", ["a", "b", "a"]),
    ("[*recent]", [3, 9]),
    ("groups['a']", [1, 2]),
    ("collections.Counter('aab')['a']", 2),
    ("{k: v * 2 for k, v in dict(a=1).items()}['a']", 2),
    ("sorted({1, 2} | {3} - {1})", [1, 2, 3]),
    ("{1} <= {1, 2}", True),
    ("[x for row in [[1, 2], [3]] for x in row]", [1, 2, 3]),
    ("([1, 2, 3, 4][1:3], 'hello'[1:3])", ([2, 3], "el")),
    ("(1 < 2 < 3, (1, 2) < (1, 3))", (True, True)),
    ("'%s-%d' % ('a', 3) + '{}'.format(1) + ','.join(str(x) for x in range(2))", "a-310,1"),
    ("(head, middle, tail)", (1, [2, 3], 4)),
    ("(math.ceil(7 / 2), math.log2(8))", (4, 3.0)),
    ("copy.deepcopy({'a': [1, {'b': 2}]})['a'][1]['b']", 2),
    ("space.a + space.c", 4),
    ("os.path.join('a', f'r{1}.pt')", "a/r1.pt"),
    ("divmod(7, 2)", (3, 1)),
    ("[f(5) for f in [fib, lambda v: v]]", [5, 5]),
]


@pytest.fixture
def worked_out(make_project: MakeProject) -> dict[str, Any]:
    """What all the expressions are."""
    code = "".join(f"found_{number} = {text}\n" for number, (text, _) in enumerate(EXPRESSIONS))
    return rehearsed(make_project, DEFINITIONS + code)[0]


def test_what_is_known_is_worked_out(worked_out: dict[str, Any]) -> None:
    found = {text: plain(worked_out.get(f"found_{number}")) for number, (text, _) in enumerate(EXPRESSIONS)}
    assert found == dict(EXPRESSIONS)


def test_a_context_manager_is_entered_and_left(make_project: MakeProject) -> None:
    code = """
@contextlib.contextmanager
def in_turn(rank):
    if rank != 0:
        dist.barrier()
    yield rank
    if rank == 0:
        dist.all_reduce(1)

class Inside:
    def __enter__(self):
        log.append("in")
        return self
    def __exit__(self, *exc):
        log.append("out")

log = []
with in_turn(dist.get_rank()) as who:
    inside = who
with Inside():
    log.append("body")
with contextlib.ExitStack() as stack:
    stack.enter_context(Inside())
"""
    project = make_project({"train.py": HEAD + code + "\nif __name__ == '__main__': pass"})
    (performance,) = Rehearsal.of(project).performances()
    assert [[event.name for event in stage.events] for stage in performance.stages] == [["all_reduce"], ["barrier"]]
    variables = performance.stages[1].modules["train.py"].variables
    assert variables["inside"] == 1
    assert plain(variables["log"]) == ["in", "body", "out", "in", "out"]


SAME = [
    "os.environ.get('SPECIAL')",
    "json.load(open('config.json'))['lr']",
    "options.steps > 3",
    "not options.verbose",
    "[x * 2 for x in range(options.steps)]",
    "len(json.load(open('config.json')))",
    "options.name in ('a', 'b')",
    "f'{options.name}-x'",
    "options.a.b.c",
]


def test_what_all_processes_read_is_the_same(make_project: MakeProject) -> None:
    code = """
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
options = parser.parse_args()
"""
    code += "".join(f"found_{number} = {text}\n" for number, text in enumerate(SAME))
    one, other = rehearsed(make_project, code)
    for number, text in enumerate(SAME):
        sign = signature(one[f"found_{number}"])
        assert sign is not None, text
        assert sign == signature(other[f"found_{number}"]), text


def test_what_each_process_has_of_its_own_differs(make_project: MakeProject) -> None:
    code = "clock = time.time() > 3\ndrawn = [random.random()][0] + 1\nnot_both = not (clock and drawn)\n"
    for variables in rehearsed(make_project, code):
        for name in ("clock", "drawn"):
            assert isinstance(variables[name], Opaque)
            assert variables[name].source is not None


def test_options_are_known_where_the_launch_line_is(make_project: MakeProject) -> None:
    code = """
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--sync", action="store_true")
parser.add_argument("--rest", type=int, default=6)
options = parser.parse_args()
given, _ = parser.parse_known_args()
steps, sync, rest = options.steps, given.sync, options.rest
"""
    more = {"run.sh": "torchrun --nproc_per_node=2 train.py --steps 9 --sync\n"}
    variables = rehearsed(make_project, code, more)[0]
    assert (variables["steps"], variables["sync"], variables["rest"]) == (9, True, 6)


def test_words_that_a_program_gives_itself_are_its_options(make_project: MakeProject) -> None:
    code = """
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
steps = parser.parse_args(["--steps", "3"]).steps
default = parser.parse_args([]).steps
"""
    variables = rehearsed(make_project, code)[0]
    assert (variables["steps"], variables["default"]) == (3, 4)


def test_an_endless_generator_costs_little(make_project: MakeProject) -> None:
    code = """
def forever():
    while True:
        dist.barrier()
        yield 1

first = next(forever())
many = list(forever())
"""
    variables = rehearsed(make_project, code)[0]
    assert variables["first"] == 1
    assert variables["many"].items is None


MORE = """
class Singleton:
    made = None

    def __new__(cls, *args):
        if cls.made is None:
            cls.made = super().__new__(cls)
        return cls.made

class Level(enum.IntEnum):
    LOW = 1
    HIGH = enum.auto()

class State(dict):
    def __init__(self, **more):
        super().__init__(**more)
        self.__dict__ = self

    def advance(self):
        self["step"] = self.get("step", 0) + 1

class Mixin:
    def note(self, word):
        self.notes.append(word)

class Parent:
    def __init__(self, **more):
        self.__dict__.update(more)
        self.notes = []

    def setup(self):
        self.note("parent")

class Worker(Mixin, Parent):
    def setup(self):
        super().setup()
        self.note("child")

class Ordered:
    def __init__(self, place):
        self.place = place

    def __lt__(self, other):
        return self.place < other.place

    def __call__(self, words):
        words.append(self.place)

def batches(items, size):
    rows = []
    for item in items:
        rows.append(item)
        if len(rows) == size:
            yield rows
            rows = []
    if rows:
        yield rows

def mapped(function, tree):
    if isinstance(tree, dict):
        return {key: mapped(function, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(function, value) for value in tree)
    return function(tree)

def chained(*functions):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), functions)

state = State(step=3)
state.advance()
worker = Worker(name="w")
worker.setup()
called = []
for one in sorted([Ordered(2), Ordered(1)]):
    if callable(one):
        one(called)
numbers = (x for x in [1, 2])
first, second, third = next(numbers), next(numbers), next(numbers, None)
parser = argparse.ArgumentParser()
commands = parser.add_subparsers()
commands.add_parser("train").set_defaults(run=lambda options: "trained")
outcome = parser.parse_args().run(None)
flags = dict.fromkeys(["a", "b"], False)
flags["a"] |= True
shuffled = [1, 2, 3]
random.seed(0)
random.shuffle(shuffled)
"""

MORE_EXPRESSIONS = [
    ("Singleton() is Singleton()", True),
    ("(Level.LOW < Level.HIGH, Level.HIGH == 2)", (True, True)),
    ("(state.step, state['step'], len(state))", (4, 4, 1)),
    ("(worker.name, worker.notes)", ("w", ["parent", "child"])),
    ("called", [1, 2]),
    ("list(batches(range(5), 2))", [[0, 1], [2, 3], [4]]),
    ("mapped(lambda x: x * 2, {'a': [1, (2, 3)]})['a']", [2, (4, 6)]),
    ("chained(lambda x: x + 1, lambda x: x * 2)(3)", 8),
    ("(first, second, third)", (1, 2, None)),
    ("outcome", "trained"),
    ("(flags['a'], flags['b'])", (True, False)),
    ("len(shuffled)", 3),
    ("len(list(range(1000))[1::2])", 500),
    ("list(range(1000)[1::300])", [1, 301, 601, 901]),
    ("sorted([{'v': 2}, {'v': 1}], key=lambda row: row['v'])[0]['v']", 1),
    ("issubclass(Worker, Parent)", True),
    ("sum(range(1000))", 499500),
    ("list(map(str.upper, ['a', 'b']))", ["A", "B"]),
]


def test_more_of_what_is_known(make_project: MakeProject) -> None:
    code = "".join(f"found_{number} = {text}\n" for number, (text, _) in enumerate(MORE_EXPRESSIONS))
    variables = rehearsed(make_project, MORE + code)[0]
    found = {text: plain(variables.get(f"found_{number}")) for number, (text, _) in enumerate(MORE_EXPRESSIONS)}
    assert found == dict(MORE_EXPRESSIONS)


def test_a_keyword_may_be_called_as_what_takes_the_rest(make_project: MakeProject) -> None:
    code = """
def rest(*args, **kwargs):
    return args, sorted(kwargs)

found = rest(1, args=2, kwargs=3)
"""
    assert plain(rehearsed(make_project, code)[0]["found"]) == ((1,), ["args", "kwargs"])


def test_an_imported_function_is_as_its_decorators_leave_it(make_project: MakeProject) -> None:
    helpers = """
import functools

def doubled(function):
    @functools.wraps(function)
    def inner(*args):
        return 2 * function(*args)
    return inner

@doubled
def three():
    return 3
"""
    code = "import helpers\nfrom helpers import three\nfound = (three(), helpers.three())\n"
    variables = rehearsed(make_project, code, {"helpers.py": helpers})[0]
    assert variables["found"] == (6, 6)


def test_attributes_of_what_is_not_known_are_not_taken_for_something(make_project: MakeProject) -> None:
    code = """
import lib

settings = lib.load("a.yaml")
missing = settings.token is None
part = settings.rows[1:]
options = argparse.ArgumentParser().parse_args()

class Settings:
    def __init__(self, options):
        self.__dict__.update(vars(options))
        self.extra = 1

    def __getattr__(self, name):
        return None

class Words(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__

mine = Settings(options)
rate, extra = mine.rate, mine.extra
words = Words(a=1)
words.b = 2
found = (words.a, words["b"], words.c)
"""
    one, other = rehearsed(make_project, code)
    for name in ("missing", "part", "rate"):
        sign = signature(one[name])
        assert sign is not None
        assert sign == signature(other[name])
        assert not isinstance(one[name], bool)
    assert one["rate"] is not None
    assert one["extra"] == 1
    assert one["found"] == (1, 2, None)


def test_generators_are_as_long_as_what_they_go_through(make_project: MakeProject) -> None:
    code = """
def each(rows):
    for row in rows:
        yield row

def counted():
    n = 0
    while True:
        yield n
        n += 1

class Three:
    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i >= 3:
            raise StopIteration
        self.i += 1
        return self.i

rank = dist.get_rank()
rows = json.load(open("rows.json"))
some = list(each(rows))
own = list(enumerate(each([5] * (rank + 1))))
three = list(itertools.islice(counted(), 3))
rounds = [x for x in Three()]
for index, row in enumerate(each(rows)):
    last = index
for number in counted():
    seen = number
counting = len(some)
"""
    one, other = rehearsed(make_project, code)
    assert plain(one["own"]) == [(0, 5)]
    assert plain(other["own"]) == [(0, 5), (1, 5)]
    assert plain(one["three"]) == [0, 1, 2]
    assert plain(one["rounds"]) == [1, 2, 3]
    for name in ("counting", "row", "last", "seen"):
        assert isinstance(one[name], Opaque), name
        assert one[name].source is None
        assert one[name].sign is not None, name
        assert one[name].sign == other[name].sign, name


def test_recursion_into_what_is_not_known_ends_soon(make_project: MakeProject) -> None:
    code = """
import lib

def walk(node):
    for child in node.children():
        walk(child)
        if child.kind:
            walk(child)

walk(lib.tree())
behind = 1
"""
    project = make_project({"train.py": HEAD + code})
    player = Player(Stage(project, "train.py", 0, 2), Rehearsal.of(project).models)
    assert player.module_scope("train.py").variables["behind"] == 1
    assert player.stage.steps < 5_000
