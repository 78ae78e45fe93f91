"""What an expression is made from: the expressions that may have a part in its value, through assignments, calls and callers.

This is a backward slice that ignores the order of statements: everything that is ever put into a variable counts. It errs on
the side of more, so that "nothing in it mentions the rank" can be relied on.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from distlint.checks.execution import body_of
from distlint.checks.option_definitions import option_definition
from distlint.checks.plain_numbers import is_number
from distlint.checks.variable_bindings import bindings_of, is_inner, is_of_other
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef, Target
from distlint.link.walking import access_path, below, blocks_of, expressions_of, guards_of, holder_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.abstract import Instance
    from distlint.link.project import Project

MAX_PARTS = 3_000
MAX_CALLERS = 8
RANK_WORDS = re.compile(
    r"(?:^|_)(?:ranks?|world|nprocs|shards?|sharded|sharding|process_index|num_processes|num_replicas|replicas?|nodes?|local_process_index)(?:_|$)"
    r"|worker_info|is_main|is_master|split_by|by_node|between_processes",
    re.IGNORECASE,
)
"""Names that have to do with the place of a process in its job."""
_RANDOM = re.compile(
    r"^(?:rand|randn|randint|random|normal|uniform|choice|sample|default_rng|randperm|permutation)", re.IGNORECASE
)

_SEEDING = re.compile(r"random|seed|rng|set_(?!(?:default_)?device)|environ|path|use_|enable|register|add_|init")
"""Names of library functions that may change what the module gives later; on which device that stands has no part in its value."""

_UNREPEATED = re.compile(r"getpid|urandom|uuid|initial_seed|get_ident|hostname|entropy|^time|^now$|^secrets$")
"""Names of what gives something else each time, or in each process."""

_OF_PATHS = frozenset(
    {
        *(
            "exists",
            "is_file",
            "is_dir",
            "mkdir",
            "rmdir",
            "unlink",
            "touch",
            "iterdir",
            "rglob",
            "joinpath",
            "as_posix",
        ),
        *("read_text", "write_text", "read_bytes", "write_bytes", "with_suffix", "with_name"),
    }
)
"""Methods that paths have."""
_TAKING_PATHS = (
    "os.path.",
    "os.makedirs",
    "os.mkdir",
    "os.fspath",
    "os.listdir",
    "os.scandir",
    "os.walk",
    "pathlib.Path",
    "glob.",
)
_OPENING = frozenset({"open", "builtins.open"})


class Part(NamedTuple):
    """An expression with the function that it stands in."""

    expr: ir.Expr
    file: str
    function: int
    fixed: bool = False
    """Whether it is a text, a path or a number: nobody changes such a thing, however many calls it is handed to."""


class Derivation(NamedTuple):
    """What an expression is made from, and whether that is all of it."""

    parts: tuple[Part, ...]
    whole: bool

    def names(self) -> Iterator[str]:
        """All names and attributes in it."""
        yield from filter(None, (_word_of(part.expr) for part in self.parts))

    def mentions_rank(self) -> bool:
        """Whether something in it has to do with the rank, as far as names tell."""
        return any(RANK_WORDS.search(name) for name in self.names())

    def is_random(self, makers: Collection[str] = ()) -> bool:
        """Whether random numbers may have a part in it.

        Those of a generator that one of the ``makers`` (names of functions) gives for a seed are the same each time; what a clock or the
        system gives is no such seed.
        """
        seeded: set[int] = set()
        if makers and not any(_UNREPEATED.search(name) for name in self.names()):
            calls = [part.expr for part in self.parts if type(part.expr) is ir.Call and _is_seeding(part.expr, makers)]
            if calls:  # what is drawn by a generator comes of the seed that this was given
                calls += [part.expr for part in self.parts if type(part.expr) is ir.Call and _has_generator(part.expr)]
            seeded = {id(one) for call in calls for one in below(call.func)}
        return any(_RANDOM.match(_word_of(one.expr)) for one in self.parts if id(one.expr) not in seeded)


def _word_of(expr: ir.Expr) -> str:
    """The name that an expression is, or that of an attribute, or of a variable of the environment."""
    if type(expr) is ir.Name:
        return expr.id
    if type(expr) is ir.Attribute:
        return expr.name
    return expr.value if type(expr) is ir.Constant and type(expr.value) is str and expr.value.isupper() else ""


def _is_seeding(call: ir.Call, makers: Collection[str]) -> bool:
    """Whether a call gives one of the functions a seed."""
    given = (*call.args, *(one.value for one in call.keywords))
    nothing = any(type(one) is ir.Constant and one.value is None for one in given)
    return bool(given) and not nothing and _word_of(call.func) in makers


def _has_generator(call: ir.Call) -> bool:
    """Whether a call is told which generator to draw by."""
    return any(one.name == "generator" and type(one.value) is not ir.Constant for one in call.keywords)


def derivation(
    project: Project,
    expr: ir.Expr,
    file: str,
    function: int,
    *,
    is_path: bool = False,
    by_field: bool = False,
    tests: bool = True,
) -> Derivation:
    """What an expression of a function (-1: the module) is made from; ``is_path`` says that it is a text or a path.

    ``by_field`` takes an attribute of an object for what is stored in it, and leaves out what else the object holds. Under which ``tests``
    something is stored may be of no interest.
    """
    work = _Slice(project, by_field=by_field, tests=tests)
    work.add(expr, file, function, fixed=is_path)
    return work.run()


def comes_of(
    project: Project,
    expr: ir.Expr,
    file: str,
    function: int,
    matches: Callable[[str], object],
    *,
    is_path: bool = False,
    by_field: bool = False,
) -> bool | None:
    """Whether a name that fits has a part in an expression; ``None`` if none is seen, but that is not all that it is made from.

    The same as looking through a ``derivation``, which is worked out only as far as the answer asks for.
    """
    work = _Slice(project, by_field=by_field, until=matches)
    work.add(expr, file, function, fixed=is_path)
    made = work.run()
    return True if work.is_met else False if made.whole else None


def derivation_without_rank(project: Project, made: Instance, apart: Collection[str] = ()) -> Derivation | None:
    """What an object is made from, all that its class does included; ``None`` where that may have to do with the rank.

    ``apart`` are functions whose results differ from rank to rank though their names do not say so.
    """
    found = derivation(project, made.call, made.frame.file, made.frame.function)
    if not found.whole or found.mentions_rank():
        return None
    calls = ((part.expr.func, part.file) for part in found.parts if apart and type(part.expr) is ir.Call)
    return None if any(project.modules.dotted(func, file) in apart for func, file in calls) else found


def derivation_of_body(project: Project, ref: FunctionRef, of: ClassRef | None = None) -> Derivation:
    """What a method works with: what it and the methods that it asks for name, and what is put into that.

    ``of`` is the class of the object that it is called for, if that is known: methods that it asks for may be other ones there.
    """
    work = _Slice(project, methods=True, of=of)
    work.add_body(ref)
    return work.run()


class _PlainPlaces(dict[tuple[str, int, ir.Position], bool]):
    """Whether the names at places of functions stand for texts or numbers."""


class _Slice:
    def __init__(
        self,
        project: Project,
        *,
        methods: bool = False,
        by_field: bool = False,
        tests: bool = True,
        of: ClassRef | None = None,
        until: Callable[[str], object] | None = None,
    ) -> None:
        self._project = project
        self._until = until
        self.is_met = False
        """Whether something was seen whose name makes an end to the search."""
        self._of = of
        self._by_field = by_field
        self._tests = tests
        self._methods = methods
        """Whether what a base class does counts where `super()` is asked for it."""
        self._stack: list[Part] = []
        self._parts: list[Part] = []
        self._names: set[tuple[str, str, int] | tuple[str, str, int, bool]] = set()
        self._bodies: set[tuple[str, int]] = set()
        self._whole = True

    def add(self, expr: ir.Expr, file: str, function: int, *, fixed: bool = False) -> None:
        """An expression and all below it are to be looked at; ``fixed`` where it is a text or a path."""
        if self._until is not None and (self.is_met or self._meets(expr)):
            return
        paths = {id(one) for one in self._paths(expr, file, fixed=fixed)}
        whole: set[int] = set()
        for part in below(expr):
            if id(part) in whole:
                continue
            if self._by_field and type(part) is ir.Attribute:
                if self._add_option(part, file, function):
                    whole |= {id(one) for one in below(part.base)}
                    continue
                if self._is_field(part, file, function):
                    whole.add(id(part.base))
            self._stack.append(Part(part, file, function, id(part) in paths))

    def _meets(self, expr: ir.Expr) -> bool:
        """Whether the search has its answer by the names in an expression, without asking what any of them stands for."""
        assert self._until is not None  # noqa: S101
        behind: set[int] = set()
        for part in below(expr):
            if type(part) is ir.Attribute and self._by_field:
                behind |= {id(one) for one in below(part.base)}  # may be left out, as not what the field holds
            if id(part) not in behind and self._until(_word_of(part)):
                self.is_met = True
                break
        return self.is_met

    def _add_option(self, read: ir.Attribute, file: str, function: int) -> bool:
        """Whether an attribute is an option of a command line: all that there is to it is how that is defined, and what is stored in it."""
        site = option_definition(self._project, read, file, function)
        if site is None:
            return False
        key = (f"{site.site.call.at}.{read.name}", site.file, site.site.function)
        if key not in self._names:
            self._names.add(key)
            self._parts.append(Part(read, file, function, fixed=True))
            for given in (*site.site.call.args, *(word.value for word in site.site.call.keywords)):
                self.add(given, site.file, site.site.function)
            for where, store in self._project.outside_stores(read.name):
                if store.value is not None:
                    self.add(store.value, where, store.function)
        return True

    def _is_field(self, part: ir.Expr, file: str, function: int) -> TypeGuard[ir.Attribute]:
        """Whether an expression is an attribute of a variable, or one of a method's own object in which the class stores something."""
        if type(part) is not ir.Attribute or type(part.base) is not ir.Name:
            return False
        if part.base.id not in ("self", "cls"):
            return not self._project.modules.dotted(part, file)
        owner = self._project.module(file).functions[function].owner if function >= 0 else -1
        return owner >= 0 and part.name in self._project.attribute_stores(ClassRef(file, owner))

    def _paths(self, expr: ir.Expr, file: str, *, fixed: bool) -> Iterator[ir.Expr]:
        """The names in an expression that stand for texts and paths, as far as that shows where they are used."""
        stack = [expr] if fixed else []
        for part in below(expr):
            if type(part) is ir.Call:
                func = part.func
                if type(func) is ir.Attribute and func.name in _OF_PATHS:
                    stack.append(func.base)
                dotted = self._project.modules.dotted(func, file)
                if dotted.startswith(_TAKING_PATHS) or dotted in _OPENING:
                    stack += part.args
        while stack:
            part = stack.pop()
            if type(part) is ir.Name:
                yield part
            elif type(part) is ir.Operation and part.operators in (("/",), ("+",)):
                stack += part.operands
            elif type(part) is ir.Conditional:
                stack += (part.body, part.orelse)

    def run(self) -> Derivation:
        """Follows everything within the budget."""
        while self._stack and not self.is_met:
            if len(self._parts) >= MAX_PARTS:
                self._whole = False
                break
            part = self._stack.pop()
            self._parts.append(part)
            expr = part.expr
            if self._until is not None and self._until(_word_of(expr)):
                self.is_met = True
            elif type(expr) is ir.Name:
                if (expr.id, part.file, part.function) not in self._names:
                    self._name(expr.id, part.file, part.function, fixed=part.fixed or self._is_plain(part))
            elif type(expr) is ir.Attribute:
                self._attribute(expr, part.file, part.function)
                if self._by_field and type(expr.base) is ir.Name and expr.base.id not in ("self", "cls"):
                    self._name(expr.base.id, part.file, part.function, fixed=part.fixed, field=expr.name)
            elif type(expr) is ir.Call:
                self._call(expr, part.file)
            elif type(expr) is ir.Lambda:
                self.add(expr.body, part.file, part.function)
        return Derivation(tuple(self._parts), self._whole)

    def _is_plain(self, part: Part) -> bool:
        """Whether a name that is handed to calls stands for a text or number, which none can change; worked out once for each place."""
        known: _PlainPlaces = self._project.kept.setdefault(_PlainPlaces, _PlainPlaces())
        key = (part.file, part.function, part.expr.at)
        if key not in known:
            known[key] = self._stands_for_plain(part)
        return known[key]

    def _stands_for_plain(self, part: Part) -> bool:
        from distlint.link.text_values import Texts

        name, function = part.expr.id, part.function  # type: ignore[union-attr]
        while function >= 0 and name not in bindings_of(self._project, part.file, function):
            function = self._project.module(part.file).functions[function].parent
        bound = bindings_of(self._project, part.file, function).get(name, ())
        if not any(type(statement) is ir.Evaluate for statement, _ in bound):
            return False
        known = self._project.evaluator(None).value(part.expr, part.file, part.function).options
        if known and all(isinstance(one, str) for one in known):
            return True
        if is_number(self._project, part.expr, part.file, function):
            return True
        return Texts(self._project).is_text(part.expr, part.file, part.function)

    def _name(self, name: str, file: str, function: int, *, fixed: bool = False, field: str = "") -> None:
        """What is put into a variable; with ``field`` not what is put into its other attributes."""
        key = (f"{name}.{field}" if field else name, file, function)
        if key in self._names or (*key, fixed) in self._names:
            return
        self._names.add((*key, fixed) if fixed else key)
        body = body_of(self._project, file, function)
        bindings = bindings_of(self._project, file, function).get(name, ())
        # who is handed to a call, or gets an item, was made elsewhere
        found = any(type(statement) is not ir.Evaluate and not is_inner(statement, name) for statement, _ in bindings)
        for statement, values in bindings:
            if type(statement) is ir.Evaluate and (fixed or self._is_of_module(statement.value, name, file)):
                continue
            if type(statement) is ir.Evaluate and field and not self._project.outside_stores(field):
                continue  # nobody who is handed the object puts anything into the field
            if field and is_of_other(statement, field):
                continue
            plain = fixed and type(statement) is ir.Assign and any(type(one) is ir.Name for one in statement.targets)
            for value in values:
                if not (field and type(value) is ir.Name and value.id == name):
                    self.add(value, file, function, fixed=plain)
            if type(statement) is ir.Evaluate and self._is_of_system(statement.value, name, file):
                continue  # whoever removes a file changes no module, and under which test tells nothing of it
            for guard in (guards_of(body, statement.at) or ()) if self._tests else ():
                if guard.test is not None and guard.kind in ("if", "expression", "while"):
                    self.add(guard.test, file, function)
        if function >= 0:
            definition = self._project.module(file).functions[function]
            position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
            if position is not None:
                self._parameter(FunctionRef(file, function), definition, position, fixed=fixed, field=field)
            elif not found and not self._is_inner_function(name, file, function):
                self._name(name, file, definition.parent, fixed=fixed, field=field)
            return
        if not found:
            target = self._project.modules.lookup(name, file)
            if isinstance(target, GlobalRef) and (target.file, target.name) != (file, name):
                self._name(target.name, target.file, -1, fixed=fixed, field=field)
            else:
                self._add_target(target)  # whoever gets a function or a class may call it

    def _is_of_module(self, expr: ir.Expr, name: str, file: str) -> bool:
        """Whether an expression hands something to a function of a library's module: the module holds nothing of that but a seed."""
        if type(expr) is not ir.Call or access_path(expr.func)[0] != name:
            return False
        dotted = self._project.modules.dotted(expr.func, file)
        return bool(dotted) and not _SEEDING.search(dotted)

    def _is_of_system(self, expr: ir.Expr, name: str, file: str) -> bool:
        """Whether an expression calls a function of a module of the standard library by the module's name, and draws no random numbers."""
        if type(expr) is not ir.Call or access_path(expr.func)[0] != name:
            return False
        root = self._project.modules.dotted(expr.func, file).partition(".")[0]
        return root in sys.stdlib_module_names and root != "random"

    def _parameter(
        self, ref: FunctionRef, definition: ir.Function, position: int, *, fixed: bool, field: str = ""
    ) -> None:
        from distlint.link.arguments import find_argument

        parameter = definition.parameters[position]
        if parameter.default is not None:
            self.add(parameter.default, ref.file, ref.index)
        shift = 1 if definition.owner >= 0 else 0
        if shift and position == 0:
            return
        callers = self._project.callers(ref)
        if len(callers) > MAX_CALLERS:
            self._whole = False
        for caller in callers[:MAX_CALLERS]:
            given, certain = find_argument(caller.site.call, parameter.name, position - shift + caller.shift)
            if field and type(given) is ir.Name:
                self._parts.append(Part(given, caller.file, caller.site.function, fixed))
                self._name(given.id, caller.file, caller.site.function, fixed=fixed, field=field)
            elif given is not None:
                self.add(given, caller.file, caller.site.function, fixed=fixed)
            elif not certain:
                self._whole = False

    def _attribute(self, expr: ir.Attribute, file: str, function: int) -> None:
        index = self._project.module(file).functions[function].owner if function >= 0 else -1
        if index < 0:
            return
        owner = ClassRef(file, index)
        if self._methods and type(expr.base) is ir.Call and access_path(expr.base.func) == ("super", ()):
            for base in self._project.modules.ancestry(owner)[1:]:
                self._method(base, expr.name)
            return
        if type(expr.base) is not ir.Name or expr.base.id not in ("self", "cls"):
            return
        if self._of is not None and owner in self._project.modules.ancestry(self._of):
            owner = self._of
        key = (f"{expr.base.id}.{expr.name}", owner.file, owner.index)
        if key not in self._names:
            self._names.add(key)
            for where, value, _ in self._project.attribute_stores(owner).get(expr.name, ()):
                if value is not None:
                    self.add(value, where.file, where.index)
            self._method(owner, expr.name)  # a property, or a method that is called for what it gives

    def _method(self, owner: ClassRef, name: str) -> None:
        """What a method does, and what classes that derive from the owner have in its place, unless the object's class is known."""
        method = self._project.modules.method(owner, name)
        if method is not None:
            self.add_body(method)
            for other in _methods_named(self._project, name) if self._of is None else ():
                if owner != other.owner and owner in self._project.modules.ancestry(other.owner):
                    self.add_body(other.method)

    def _call(self, call: ir.Call, file: str) -> None:
        self._add_target(self._project.modules.resolve(call.func, file))

    def _is_inner_function(self, name: str, file: str, function: int) -> bool:
        """Whether a name is that of a function which is defined in another one: what it does counts then."""
        for index, one in enumerate(self._project.module(file).functions):
            if one.parent == function and one.name == name and one.owner < 0:
                self.add_body(FunctionRef(file, index))
                return True
        return False

    def _add_target(self, target: Target | None) -> None:
        """What a function does, or all methods of a class, is to be looked at."""
        if isinstance(target, FunctionRef):
            self.add_body(target)
        elif isinstance(target, ClassRef):
            for one in self._project.modules.ancestry(target):
                for index, method in enumerate(self._project.module(one.file).functions):
                    if method.owner == one.index:
                        self.add_body(FunctionRef(one.file, index))

    def add_body(self, ref: FunctionRef) -> None:
        """All that a function of the project names is to be looked at."""
        if (ref.file, ref.index) in self._bodies:
            return
        self._bodies.add((ref.file, ref.index))
        definition = self._project.function(ref)
        for statement in statements(definition.body):
            for expr in expressions_of(statement):
                self.add(expr, ref.file, ref.index)


class _Method(NamedTuple):
    """A method with the class that defines it."""

    owner: ClassRef
    method: FunctionRef


class _Methods(dict[str, list[_Method]]):
    """The methods of all classes of a project, by name."""


def _methods_named(project: Project, name: str) -> list[_Method]:
    """The methods of a name in all classes of a project."""
    kept: _Methods | None = project.kept.get(_Methods)
    if kept is None:
        kept = project.kept[_Methods] = _Methods()
        for file in project.python_files:
            for index, one in enumerate(project.module(file).functions):
                if one.owner >= 0:
                    kept.setdefault(one.name, []).append(_Method(ClassRef(file, one.owner), FunctionRef(file, index)))
    return kept.get(name, [])


def holders(body: tuple[ir.Stmt, ...], at: ir.Position) -> Iterator[ir.Stmt]:
    """The statements around a place, outer ones first."""
    while True:
        holder = holder_of(body, at)
        if holder is None:
            return
        yield holder
        body = next((block for block in blocks_of(holder) if holder_of(block, at) is not None), ())
