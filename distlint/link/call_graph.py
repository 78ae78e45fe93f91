"""The call graph of the project: which of its functions a call may come to.

Edges are found on demand, and exactly rather than by names: through imports, variables, attributes and containers, methods by the class
that made the object (and classes derived from it), ``super()``, ``partial``, callable objects, context managers, decorators, and functions
that are handed to a library that calls them (``FrameworkSpec.callbacks``, and what starts processes). A ``Cone`` is the part of the graph
from which some places can be reached, with its strongly connected components; summaries are computed over those, callees first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from distlint.link.abstract import Abstract, Instance, PartialValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.components import components_of
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef, Target
from distlint.link.starters import STARTERS, started_call
from distlint.link.walking import last_name
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_CANDIDATES = 150
"""Call sites of one name that are looked at for a function's callers."""

MAX_FUNCTIONS = 5_000
"""Functions that a cone holds at most."""

MAX_ROUNDS = 12
"""How often the functions of one component are summarised anew, until nothing changes."""

S = TypeVar("S")


class CallEdge(NamedTuple):
    """One call of a project function.

    ``call`` stands in ``function`` of ``file`` (-1: the module's top level). ``how`` is ``call``; ``enter`` or ``leave`` for a
    context manager (a generator function is the target of both: it runs up to its ``yield``, and on from there); ``callback`` for a
    function that a library calls. ``shift`` is added to a parameter's position to find its argument in ``call``. ``certain`` says that
    the call comes to this function and to no other.
    """

    file: str
    function: int
    call: ir.Call
    target: FunctionRef
    how: str
    shift: int
    certain: bool


@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """The functions that may come to some places: ``components`` are strongly connected, callees first.

    ``edges`` are the calls inside it, by the calling function; ``cut`` says that it grew too large and is not whole.
    """

    components: tuple[tuple[FunctionRef, ...], ...]
    edges: dict[FunctionRef, tuple[CallEdge, ...]]
    cut: bool

    def __contains__(self, ref: object) -> bool:
        return ref in self.edges


class CallGraph:
    """Answers who calls whom, and remembers it."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._targets: dict[tuple[str, int], tuple[CallEdge, ...]] = {}
        self._keeping: list[ir.Call] = []
        self._callbacks = {spec.callee: spec for one in project.specs for spec in one.callbacks}
        self._called = {base: method for one in project.specs for base, method in one.called_methods}
        self._derived: dict[ClassRef, tuple[ClassRef, ...]] | None = None

    # From a call to what it calls --------------------------------------------------------------------------------

    def targets(self, file: str, function: int, call: ir.Call) -> tuple[CallEdge, ...]:
        """The project functions that a call may come to; empty where there is none, or it can't be told."""
        key = (file, id(call))
        if key not in self._targets:
            self._keeping.append(call)  # an address must not be used again while it is a key
            self._targets[key] = ()
            self._targets[key] = tuple(self._edges(file, function, call))
        return self._targets[key]

    def contexts(self, file: str, function: int, context: ir.Expr) -> tuple[tuple[CallEdge, ...], tuple[CallEdge, ...]]:
        """What a ``with`` runs on its way in, and on its way out."""
        if type(context) is ir.Call:
            made = self.targets(file, function, context)
            if made and all(self._is_generator(edge.target) for edge in made):
                return tuple([edge._replace(how="enter") for edge in made]), tuple(
                    [edge._replace(how="leave") for edge in made]
                )
        asked = options_of(self._project.evaluator(None).ask(context, file, function, everywhere=True))
        found: tuple[list[CallEdge], list[CallEdge]] = ([], [])
        made_up = context if type(context) is ir.Call else ir.Call(context, (), (), context.at)
        for option in asked:
            if isinstance(option, Instance) and isinstance(option.callee, ClassRef):
                for edges, name, how in zip(found, ("__enter__", "__exit__"), ("enter", "leave"), strict=True):
                    method = self._project.modules.method(option.callee, name)
                    if method is not None:
                        edges.append(CallEdge(file, function, made_up, method, how, 0, len(asked) == 1))
        return tuple(found[0]), tuple(found[1])

    def wrappers(self, ref: FunctionRef) -> tuple[FunctionRef | None, ...]:
        """What stands around a function because of its decorators, outermost first.

        The inner functions of the project's own decorators, ``None`` for one that is not the project's or not understood.
        """
        return tuple([self._wrapper(decorator, ref.file) for decorator in self._project.function(ref).decorators])

    def _wrapper(self, decorator: ir.Expr, file: str) -> FunctionRef | None:
        """The function that a decorator puts in the place of what it decorates."""
        expr = decorator.func if type(decorator) is ir.Call else decorator
        target = self._project.modules.resolve(expr, file)
        if not isinstance(target, FunctionRef):
            return None
        inner = self._returned(target)
        if inner is not None and type(decorator) is ir.Call:
            return self._returned(inner)
        return inner

    def _returned(self, ref: FunctionRef) -> FunctionRef | None:
        """The function inside another that this returns, if it is one only."""
        module = self._project.module(ref.file)
        inside = {one.name: index for index, one in enumerate(module.functions) if one.parent == ref.index}
        found = set()
        for statement, _ in self._project.flow(ref.file, ref.index).returns:
            value = statement.value
            found.add(inside.get(value.id, -1) if type(value) is ir.Name else -1)
        only = found.pop() if len(found) == 1 else -1
        return FunctionRef(ref.file, only) if only >= 0 else None

    def _is_generator(self, ref: FunctionRef) -> bool:
        return self._project.flow(ref.file, ref.index).has_yield

    def _edges(self, file: str, function: int, call: ir.Call) -> Iterator[CallEdge]:
        found = list(dict.fromkeys(self._called_by(call.func, file, function)))
        for target, shift, certain in found:
            yield CallEdge(file, function, call, target, "call", shift, certain and len(found) == 1)
        if not found:
            yield from self._handed_on(call, file, function)
            name = last_name(call.func)
            started = started_call(call, name) if name in STARTERS else None
            for target, shift, certain in self._called_by(started.func, file, function) if started is not None else ():
                assert started is not None  # noqa: S101 - nothing is gone through otherwise
                self._keeping.append(started)
                yield CallEdge(file, function, started, target, "callback", STARTERS[name] + shift, certain)

    def _handed_on(self, call: ir.Call, file: str, function: int) -> Iterator[CallEdge]:
        """The functions that are given to a library function which calls them at once."""
        spec = self._callbacks.get(self._project.modules.dotted(call.func, file)) if self._callbacks else None
        if spec is None:
            return
        given, _ = find_argument(call, spec.parameter, spec.position)
        if given is not None:
            for target, shift, certain in self._called_by(given, file, function):
                yield CallEdge(file, function, call, target, "callback", spec.shift + shift, certain)

    def _called_by(self, func: ir.Expr, file: str, function: int) -> Iterator[tuple[FunctionRef, int, bool]]:
        """The functions that an expression stands for when it is called: function, shift, whether it is certainly that one."""
        modules = self._project.modules
        if type(func) is ir.Attribute and _is_super(func.base):
            yield from self._of_super(func.name, file, function)
            return
        if not self._is_local(func, file, function):
            target = modules.resolve(func, file)
            if target is not None and not isinstance(target, GlobalRef):
                yield from self._of_target(target)
                return
        if type(func) is ir.Attribute and type(func.base) is ir.Name and func.base.id in ("self", "cls"):
            owner = self._owner(file, function)
            if owner is not None and modules.method(owner, func.name) is not None:
                yield from self._of_method(owner, func.name, derived=True)
                return
        if type(func) is ir.Attribute and func.name not in self._project.function_names:
            return
        yield from self._of_value(self._project.evaluator(None).ask(func, file, function, everywhere=True))

    def _is_local(self, func: ir.Expr, file: str, function: int) -> bool:
        """Whether the root of a dotted expression is a variable or parameter of the body, or of one around it."""
        root = func
        while type(root) is ir.Attribute:
            root = root.base
        if type(root) is not ir.Name:
            return True
        while function >= 0:
            definition = self._project.module(file).functions[function]
            if root.id in self._project.flow(file, function).bound:
                return True
            if any(one.name == root.id for one in definition.parameters):
                return True
            function = definition.parent
        return False

    def _of_target(self, target: Target) -> Iterator[tuple[FunctionRef, int, bool]]:
        if isinstance(target, FunctionRef):
            yield target, 0, True
        elif isinstance(target, ClassRef):
            for name in ("__init__", "__post_init__"):
                method = self._project.modules.method(target, name)
                if method is not None:
                    yield method, 0, True
                    return

    def _of_value(self, value: Abstract, depth: int = 0) -> Iterator[tuple[FunctionRef, int, bool]]:
        options = options_of(value)
        for option in options:
            certain = len(options) == 1
            if isinstance(option, Reference):
                yield from ((target, shift, certain and sure) for target, shift, sure in self._of_target(option.target))
            elif isinstance(option, PartialValue) and depth < 3:
                shift = max(len(option.call.args) - 1, 0)
                for target, more, sure in self._of_value(option.callee, depth + 1):
                    yield target, shift + more, certain and sure
            elif (
                isinstance(option, Instance) and isinstance(option.callee, ClassRef) and option.part in ((), ("self",))
            ):
                yield from ((one, shift, certain and sure) for one, shift, sure in self._of_call_of(option.callee))

    def _of_call_of(self, owner: ClassRef) -> Iterator[tuple[FunctionRef, int, bool]]:
        """What the call of an object runs: ``__call__``, or the method that a library's base class calls."""
        names = ["__call__"]
        names += [
            self._called[base] for base in sorted(self._project.modules.external_bases(owner) & self._called.keys())
        ]
        for name in names:
            method = self._project.modules.method(owner, name)
            if method is not None:
                yield method, 0, True
                return

    def _of_method(self, owner: ClassRef, name: str, *, derived: bool) -> Iterator[tuple[FunctionRef, int, bool]]:
        """A method of a class, and what derived classes put in its place."""
        found: dict[FunctionRef, None] = {}
        for one in (owner, *(self._derivations.get(owner, ()) if derived else ())):
            method = self._project.modules.method(one, name)
            if method is not None:
                found[method] = None
        for method in found:
            yield method, 0, len(found) == 1

    def _of_super(self, name: str, file: str, function: int) -> Iterator[tuple[FunctionRef, int, bool]]:
        owner = self._owner(file, function)
        if owner is None:
            return
        for base in self._project.modules.ancestry(owner)[1:]:
            module = self._project.module(base.file)
            for index, one in enumerate(module.functions):
                if one.owner == base.index and one.name == name:
                    yield FunctionRef(base.file, index), 0, True
                    return

    def _owner(self, file: str, function: int) -> ClassRef | None:
        """The class of the method around a place."""
        functions = self._project.module(file).functions
        while function >= 0:
            if functions[function].owner >= 0:
                return ClassRef(file, functions[function].owner)
            function = functions[function].parent
        return None

    @cached_property
    def _derivations(self) -> dict[ClassRef, tuple[ClassRef, ...]]:
        """By class, the classes of the project that derive from it, in the order of files and text."""
        found: dict[ClassRef, list[ClassRef]] = {}
        for file in self._project.python_files:
            for index in range(len(self._project.module(file).classes)):
                one = ClassRef(file, index)
                for base in self._project.modules.ancestry(one)[1:]:
                    found.setdefault(base, []).append(one)
        return {base: tuple(classes) for base, classes in found.items()}

    # From a function to who calls it -----------------------------------------------------------------------------

    def callers(self, ref: FunctionRef) -> tuple[CallEdge, ...]:
        """The calls in the project that come to a function, certainly or perhaps."""
        found = []
        for name in sorted(self._names_of(ref)):
            sites = self._project.sites(name)
            for site in sites if len(sites) <= MAX_CANDIDATES else self._near(ref, sites):
                call, function = site.site.call, site.site.function
                edges = self.targets(site.file, function, call)
                found += [edge for edge in edges if edge.target == ref]
                if ref not in {edge.target for edge in edges}:
                    entered, left = self.contexts(site.file, function, call) if self._is_context(ref) else ((), ())
                    found += [edge for edge in (*entered, *left) if edge.target == ref]
        return tuple(found)

    def _is_context(self, ref: FunctionRef) -> bool:
        return self._project.function(ref).name in ("__enter__", "__exit__")

    def _near(self, ref: FunctionRef, sites: tuple[CallSite, ...]) -> list[CallSite]:
        """Of very many calls of one name those in the function's own file."""
        return [site for site in sites if site.file == ref.file][:MAX_CANDIDATES]

    def _names_of(self, ref: FunctionRef) -> set[str]:
        """The last names under which a function may be called."""
        function = self._project.function(ref)
        module = self._project.module(ref.file)
        names = {function.name}
        if function.owner >= 0 and function.name in ("__init__", "__post_init__", "__enter__", "__exit__"):
            owner = ClassRef(ref.file, function.owner)
            names = {self._project.class_(one).name for one in (owner, *self._derivations.get(owner, ()))}
            names.add(function.name)
        if function.owner < 0:
            names |= self._project.imported_as.get(function.name, frozenset())
            names |= {"partial", *STARTERS, *(name.rpartition(".")[2] for name in self._callbacks)}
        if function.parent >= 0:
            names.add(module.functions[function.parent].name)
        return names

    def cone(self, sites: Iterable[CallSite], levels: int = MAX_FUNCTIONS) -> Cone:
        """The functions that may come to one of the sites by so many calls, with the calls between them.

        A module's top level is no function: what it calls is in the cone, it itself is not.
        """
        edges: dict[FunctionRef, list[CallEdge]] = {}
        wave = sorted({FunctionRef(one.file, one.site.function) for one in sites if one.site.function >= 0}, key=_place)
        for ref in wave:
            edges[ref] = []
        cut = False
        while wave and levels > 0:
            levels -= 1
            following = set()
            for ref in wave:
                for edge in self.callers(ref):
                    if edge.function < 0:
                        continue
                    caller = FunctionRef(edge.file, edge.function)
                    if caller not in edges:
                        if len(edges) >= MAX_FUNCTIONS:
                            cut = True
                            continue
                        edges[caller] = []
                        following.add(caller)
                    edges[caller].append(edge)
            wave = sorted(following, key=_place)
        order = sorted(edges, key=_place)
        components = components_of(order, lambda ref: [edge.target for edge in edges[ref] if edge.target in edges])
        return Cone(components, {ref: tuple(edges[ref]) for ref in order}, cut)


def summarise(
    cone: Cone, start: Callable[[FunctionRef], S], transfer: Callable[[FunctionRef, Callable[[FunctionRef], S]], S]
) -> dict[FunctionRef, S]:
    """A summary for each function of a cone, callees first; ``transfer`` makes it from those of other functions.

    Functions that call each other start with ``start`` and are gone through again until nothing changes, ``MAX_ROUNDS`` times at most;
    a function outside the cone has the value of ``start``. The result does not depend on the order of files.
    """
    found: dict[FunctionRef, S] = {}

    def known(ref: FunctionRef) -> S:
        return found[ref] if ref in found else start(ref)

    for component in cone.components:
        for ref in component:
            found[ref] = start(ref)
        recursive = len(component) > 1 or any(edge.target == component[0] for edge in cone.edges[component[0]])
        for _ in range(MAX_ROUNDS if recursive else 1):
            changed = False
            for ref in component:
                made = transfer(ref, known)
                changed = changed or made != found[ref]
                found[ref] = made
            if not changed:
                break
    return found


def _place(ref: FunctionRef) -> tuple[str, int]:
    return ref.file, ref.index


def _is_super(expr: ir.Expr) -> bool:
    return type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "super"
