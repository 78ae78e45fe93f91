"""The linked project: all facts together, with the indexes that analyses ask.

Linking is a pure function of the facts; files that triage left out are read when a value leads to them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.callers import Caller, callers_of
from distlint.link.documents import Documents
from distlint.link.evaluate import Evaluator
from distlint.link.flow import Flow
from distlint.link.flow_walk import flow_of
from distlint.link.modules import ClassRef, FunctionRef, ModuleTable
from distlint.link.stores import (
    OutsideStore,
    changed_attributes,
    collect_stores,
    global_writers,
    outside_stores,
    stored_attributes,
)
from distlint.model import python as ir
from distlint.model.facts import FileFacts
from distlint.model.finding import Note
from distlint.model.framework import CollectiveSpec, FrameworkSpec
from distlint.model.launch import Launch, LaunchIndex, Run
from distlint.model.span import Span
from distlint.model.value import Value, unknown

if TYPE_CHECKING:
    import networkx as nx

    from distlint.link.call_graph import CallGraph
    from distlint.link.control_flow import ControlFlow
    from distlint.link.environments import Environments
    from distlint.link.inference import Inference
    from distlint.link.library_mentions import Mentions
    from distlint.link.parsers import ParserIndex
    from distlint.link.partial_calls import PartialCalls
    from distlint.link.reachers import Reachers
    from distlint.link.table_calls import TableCalls
    from distlint.link.version_bindings import Binding
    from distlint.link.version_guards import Reach
    from distlint.link.version_paths import Condition


class CallSite(NamedTuple):
    """A call in a file, with the library name of what it calls where that is known."""

    file: str
    site: ir.Site
    name: str = ""

    @property
    def span(self) -> Span:
        """Where the call stands."""
        return ir.unpack(self.site.call.at, self.file)


class Project:
    """Everything that is known of the analysed repository."""

    def __init__(
        self,
        facts: Mapping[str, FileFacts],
        paths: Collection[str],
        specs: Sequence[FrameworkSpec],
        read_more: Callable[..., FileFacts | None],
        text_of: Callable[[str], str],
        pins: Mapping[str, str] | None = None,
        world_size: int | None = None,
        gpu_memory: int | None = None,
        gpus_per_node: int | None = None,
        installed: Mapping[str, str] | None = None,
    ) -> None:
        self.facts = dict(facts)
        self.paths = paths
        self.specs = specs
        self.given_world_size = world_size
        self.gpu_memory = gpu_memory
        self.gpus_per_node = gpus_per_node
        self.notes: list[Note] = []
        self.second_opinion: Callable[..., Any] | None = None
        """Asked for a better answer (or ``None``), with the project, a run, its evaluator, an expression, its frame, the answer so far."""
        self.documents = Documents(self)
        self._pins = pins or {}
        self._installed = installed or {}
        self._more: dict[str, FileFacts | None] = {}
        self._read_more = read_more
        self.text_of = text_of
        canonical = {name: target for spec in specs for name, target in spec.lazily_exported}
        self.modules = ModuleTable(self.facts, paths, canonical, self.file_facts, text_of)
        self._flows: dict[tuple[str, int], Flow] = {}
        self._control_flows: dict[tuple[str, int], ControlFlow] = {}
        self._callers: dict[FunctionRef, tuple[Caller, ...]] = {}
        self._attribute_stores: dict[
            ClassRef, dict[str, list[tuple[FunctionRef, ir.Expr | None, tuple[Any, ...]]]]
        ] = {}
        self._attribute_changes: dict[ClassRef, dict[str, tuple[FunctionRef, ...]]] = {}
        self._global_writers: dict[str, Mapping[str, tuple[int, ...]]] = {}
        self._defines: dict[str, bool] = {}
        self._derived: dict[ClassRef, list[ClassRef]] | None = None
        self._stored: dict[str, frozenset[str]] = {}
        self._is_stored: dict[str, bool] = {}
        self._mentioned: dict[str, bool] = {}
        self._outside: dict[str, list[tuple[str, OutsideStore]]] | None = None
        self._sites: dict[str, tuple[CallSite, ...]] = {}
        self._closures: dict[str, frozenset[str]] = {}
        self._imports: dict[str, tuple[str, ...]] = {}
        self._evaluators: dict[Run | None, Evaluator] = {}
        self.kept: dict[type, Any] = {}
        """What checks worked out for the whole project, by the class of it."""
        self._reaches: dict[str, Reach] = {}
        self.bindings: dict[tuple[str, int], Mapping[str, Sequence[Binding]]] = {}
        self.stopping: dict[str, list[Condition]] = {}

    # Files -------------------------------------------------------------------------------------------------------

    def file_facts(self, path: str) -> FileFacts | None:
        """The facts of a project file, reading it now if triage had left it out; ``None`` if it can't be read."""
        found = self.facts.get(path)
        if found is not None:
            return found
        if path not in self._more:
            self._more[path] = self._read_more(path) if path in self.paths else None
        return self._more[path]

    @cached_property
    def parsers(self) -> ParserIndex:
        """The argument parsers of the project."""
        from distlint.link.parsers import ParserIndex

        return ParserIndex(self)

    @cached_property
    def library_mentions(self) -> Mentions:
        """Where the project names something of the libraries that framework descriptions name, or that have a table."""
        from distlint.knowledge.api import api
        from distlint.link.library_mentions import Mentions

        table = api()
        tops = {module.partition(".")[0] for spec in self.specs for module in spec.modules}
        return Mentions(self, frozenset(tops.union(*(table.tops(package) for package in table.packages))))

    @cached_property
    def inference(self) -> Inference:
        """astroid, for values that our own evaluation does not model."""
        from distlint.link.inference import Inference

        return Inference(self)

    @cached_property
    def python_files(self) -> tuple[str, ...]:
        """The Python files that were read, sorted."""
        return tuple(sorted(path for path, facts in self.facts.items() if facts.module is not None))

    def mentions(self, words: str) -> bool:
        """Whether the text of one of the Python files holds these words."""
        if words not in self._mentioned:
            self._mentioned[words] = any(words in self.text_of(file) for file in self.python_files)
        return self._mentioned[words]

    @cached_property
    def collectives(self) -> tuple[CollectiveSpec, ...]:
        """The operations that processes certainly make together, of all frameworks; not those that the program times itself."""
        every = (one for spec in self.specs for one in spec.collectives)
        return tuple(one for one in every if not one.timed_by or not self.mentions(f".{one.timed_by}("))

    @cached_property
    def environments(self) -> Environments:
        """What the pins allow, per file."""
        from distlint.link.environments import Environments
        from distlint.link.pin_sources import with_included

        return Environments.build(
            with_included(self.facts, self.paths, self._read_more),
            self._pins,
            self._installed,
            lambda: ((launch.script_file, launch.file) for launch in self.launch_index.launches if launch.script_file),
        )

    @cached_property
    def launch_index(self) -> LaunchIndex:
        """Every command line of the project that starts processes.

        Without any shell script or commands elsewhere, nothing of the shell is imported.
        """
        if not any(facts.shell is not None or facts.carried for facts in self.facts.values()):
            return LaunchIndex()
        from distlint.link.launches import find_launches

        launchers = [launcher for spec in self.specs for launcher in spec.launchers]
        return find_launches(self.facts, launchers, self.paths, self.text_of, self.file_facts, self.gpus_per_node)

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of the project, in a fixed order: those of scripts and files, then those of Python programs."""
        if not self.python_files:
            return self.launch_index.launches
        from distlint.link.python_launches import with_python_launches

        return with_python_launches(self, self.launch_index.launches)

    # Definitions -------------------------------------------------------------------------------------------------

    def module(self, file: str) -> ir.Module:
        """The module of a file that is known to be Python."""
        module = self.modules.module(file)
        if module is None:
            raise LookupError(f"{file} is no Python module")
        return module

    def function(self, ref: FunctionRef) -> ir.Function:
        """A function's definition."""
        return self.module(ref.file).functions[ref.index]

    def body(self, file: str, function: int) -> tuple[ir.Stmt, ...]:
        """The statements of a function of a file, or of the module's top level (-1)."""
        module = self.module(file)
        return module.body if function < 0 else module.functions[function].body

    def class_(self, ref: ClassRef) -> ir.Class:
        """A class's definition."""
        return self.module(ref.file).classes[ref.index]

    def flow(self, file: str, function: int) -> Flow:
        """The environment chain of a function's body, or of a module's (-1)."""
        key = (file, function)
        if key not in self._flows:
            self._flows[key] = flow_of(self.body(file, function), self.module(file), nested=function >= 0)
        return self._flows[key]

    def control_flow(self, file: str, function: int) -> ControlFlow:
        """The control-flow graph of a function's body, or of a module's (-1)."""
        key = (file, function)
        if key not in self._control_flows:
            from distlint.link.control_flow_walk import control_flow_of

            self._control_flows[key] = control_flow_of(self.body(file, function))
        return self._control_flows[key]

    @cached_property
    def call_graph(self) -> CallGraph:
        """Who calls whom in the project."""
        from distlint.link.call_graph import CallGraph

        return CallGraph(self)

    def attribute_stores(self, owner: ClassRef) -> dict[str, list[tuple[FunctionRef, ir.Expr | None, tuple[Any, ...]]]]:
        """What each attribute of a class's objects is set to.

        Method or class body, expression or ``None``, part of it.
        """
        if owner not in self._attribute_stores:
            found: dict[str, list[tuple[FunctionRef, ir.Expr | None, tuple[Any, ...]]]] = {}
            # bases first, so that a class body hides what they set; each base may have been asked for before
            for one in reversed(self.modules.ancestry(owner)):
                for statement in self.class_(one).body:
                    if type(statement) is ir.Assign and statement.value is not None:
                        for target in statement.targets:
                            if type(target) is ir.Name:
                                found[target.id] = [(FunctionRef(one.file, -1), statement.value, ())]
                for index, function in enumerate(self.module(one.file).functions):
                    if function.owner == one.index and function.parameters:
                        collect_stores(function.body, function.parameters[0].name, FunctionRef(one.file, index), found)
            self._attribute_stores[owner] = found
        return self._attribute_stores[owner]

    def attribute_changes(self, owner: ClassRef) -> dict[str, tuple[FunctionRef, ...]]:
        """The methods that change the object behind an attribute in place (``self.config["x"] = 1``), by attribute."""
        if owner not in self._attribute_changes:
            found: dict[str, list[FunctionRef]] = {}
            for one in self.modules.ancestry(owner):
                for index, function in enumerate(self.module(one.file).functions):
                    if function.owner == one.index and function.parameters:
                        for name in changed_attributes(function.body, function.parameters[0].name):
                            found.setdefault(name, []).append(FunctionRef(one.file, index))
            self._attribute_changes[owner] = {name: tuple(dict.fromkeys(refs)) for name, refs in found.items()}
        return self._attribute_changes[owner]

    def global_writers(self, file: str) -> Mapping[str, tuple[int, ...]]:
        """The functions of a file that bind (``global``) or change a variable of its module, by variable."""
        if file not in self._global_writers:
            self._global_writers[file] = global_writers(self.module(file))
        return self._global_writers[file]

    def defines(self, name: str) -> bool:
        """Whether some function or method of the project has a name."""
        if name not in self._defines:
            modules = (self.module(file) for file in self.python_files)
            self._defines[name] = any(one.name == name for module in modules for one in module.functions)
        return self._defines[name]

    def derived_from(self, owner: ClassRef) -> tuple[ClassRef, ...]:
        """The classes of the project that have a class among their bases, in the order of files."""
        if self._derived is None:
            self._derived = {}
            for file in self.python_files:
                for index in range(len(self.module(file).classes)):
                    one = ClassRef(file, index)
                    for base in self.modules.ancestry(one)[1:]:
                        self._derived.setdefault(base, []).append(one)
        return tuple(self._derived.get(owner, ()))

    def stores_attribute(self, file: str, name: str) -> bool:
        """Whether some statement of a file stores into an attribute of this name."""
        stored = self.stored_attributes(file)
        return name in stored or "*" in stored

    def stored_attributes(self, file: str) -> frozenset[str]:
        """The names of the attributes that a file stores into; ``*`` if some are computed."""
        if file not in self._stored:
            self._stored[file] = stored_attributes(self.module(file))
        return self._stored[file]

    def outside_stores(self, name: str) -> tuple[tuple[str, OutsideStore], ...]:
        """The stores into attributes of this name, other than methods' into their own objects, with their files."""
        if self._outside is None:
            self._outside = {}
            for file in self.python_files:
                for store in outside_stores(self.module(file)):
                    self._outside.setdefault(store.name, []).append((file, store))
        return tuple(self._outside.get(name, ()))

    def is_stored(self, name: str) -> bool:
        """Whether some statement of the project stores into an attribute of this name."""
        if name not in self._is_stored:
            self._is_stored[name] = any(self.stores_attribute(file, name) for file in self.python_files)
        return self._is_stored[name]

    @cached_property
    def table_calls(self) -> TableCalls:
        """The calls that come to a function or class by a table."""
        from distlint.link.table_calls import TableCalls

        return TableCalls(self)

    @cached_property
    def partial_calls(self) -> PartialCalls:
        """The calls of what ``functools.partial`` prepared."""
        from distlint.link.partial_calls import PartialCalls

        return PartialCalls(self)

    @cached_property
    def function_names(self) -> frozenset[str]:
        """The names of all functions and methods of the project."""
        return frozenset(function.name for file in self.python_files for function in self.module(file).functions)

    # Calls -------------------------------------------------------------------------------------------------------

    def sites(self, name: str) -> tuple[CallSite, ...]:
        """Every call whose callee's last name is ``name``, in the order of files and text, those through ``partial`` among them."""
        if name not in self._sites:
            holders = self._files_with_calls.get(name, ())
            found = [CallSite(file, site) for file in holders for site in self.module(file).calls[name]]
            prepared = self.partial_calls.by_name.get(name, ())
            if prepared:
                found += [CallSite(file, site) for file, site in prepared]
                found.sort(key=lambda one: (one.file, one.site.call.at))
            self._sites[name] = tuple(found)
        return self._sites[name]

    @cached_property
    def _files_with_calls(self) -> dict[str, list[str]]:
        """By the last name of a callee, the files that hold such calls."""
        holders: dict[str, list[str]] = {}
        for file in self.python_files:
            for name in self.module(file).calls:
                holders.setdefault(name, []).append(file)
        return holders

    def calls_to(self, names: Collection[str]) -> Iterator[CallSite]:
        """The calls of library functions and classes by their dotted (canonical) names.

        A name such as ``pkg.Class().method`` or ``pkg.function()[0].method`` means a method of what another call
        gave; it is found by evaluating the receiver, so for every object that reaches the call.
        """
        plain = {name for name in names if "()" not in name}
        methods = {name for name in names if "()" in name}
        aliases = self._aliases(plain)
        for last in sorted({name.rpartition(".")[2] for name in plain | aliases}):
            for found in self.sites(last):
                name = self.modules.dotted(found.site.call.func, found.file)
                if name in plain:
                    yield found._replace(name=name)
        for last in sorted({name.rpartition(".")[2] for name in methods}):
            wanted = {name for name in methods if name.rpartition(".")[2] == last}
            for found in self.sites(last):
                for name in self.method_names(found):
                    if name in wanted:
                        yield found._replace(name=name)
                        break

    def _aliases(self, names: Collection[str]) -> set[str]:
        """Names that files import under another last name (``FullyShardedDataParallel as FSDP``)."""
        wanted = {name.rpartition(".")[2] for name in names}
        return {f"x.{alias}" for name in wanted for alias in self.imported_as.get(name, ())}

    @cached_property
    def imported_as(self) -> Mapping[str, frozenset[str]]:
        """By the names of what files import, the other names under which they do."""
        found: dict[str, set[str]] = {}
        for file in self.python_files:
            module = self.facts[file].module
            for item in module.imports if module is not None else ():
                if item.name and item.alias != item.name:
                    found.setdefault(item.name, set()).add(item.alias)
        return {name: frozenset(aliases) for name, aliases in found.items()}

    def method_names(self, found: CallSite, run: Run | None = None) -> list[str]:
        """The names of the method that a call site calls, by what made its receiver: ``pkg.Class().method``."""
        func = found.site.call.func
        if type(func) is not ir.Attribute:
            return []
        evaluator = self.evaluator(run)
        from distlint.link.abstract import Instance, options_of

        names = []
        for option in options_of(evaluator.ask(func.base, found.file, found.site.function)):
            if isinstance(option, Instance):
                names.append(self.modules.canonical(f"{evaluator.instance_name(option)}.{func.name}"))
        return names

    def callers(self, ref: FunctionRef) -> tuple[Caller, ...]:
        """The call sites of a project function, as far as they can be told."""
        if ref not in self._callers:
            self._callers[ref] = ()  # a function whose callers are being looked for has none yet
            self._callers[ref] = tuple(callers_of(self, ref))
        return self._callers[ref]

    # Runs --------------------------------------------------------------------------------------------------------

    def evaluator(self, run: Run | None) -> Evaluator:
        """The evaluator for a run, or for the project as such."""
        if run not in self._evaluators:
            from distlint.link.options import Options

            first = not self._evaluators
            self._evaluators[run] = Evaluator(self, Options(self, run))
            if run is not None and self.second_opinion is not None:
                self._evaluators[run].second_opinion = partial(self.second_opinion, self, run)
            if first:
                self.parsers.prepare(self.evaluator(None))
        return self._evaluators[run]

    def reach(self, package: str) -> Reach:
        """For which releases of a package places are reached; ``package`` is the normalised distribution name."""
        if package not in self._reaches:
            from distlint.link.version_guards import Reach

            self._reaches[package] = Reach(self, package)
        return self._reaches[package]

    @cached_property
    def reachers(self) -> Reachers:
        """From where functions and modules are reached."""
        from distlint.link.reachers import Reachers

        return Reachers(self)

    def closure(self, file: str) -> frozenset[str]:
        """The project files that a script imports, directly or not, itself included."""
        if file not in self._closures:
            seen = {file}
            stack = [file]
            while stack:
                current = stack.pop()
                for imported in self.imports(current):
                    if imported not in seen:
                        seen.add(imported)
                        stack.append(imported)
            self._closures[file] = frozenset(seen)
        return self._closures[file]

    def imports(self, file: str) -> tuple[str, ...]:
        """The project files that a file imports, among those that were read."""
        if file in self._imports:
            return self._imports[file]
        facts = self.facts.get(file)
        if facts is None or facts.module is None:
            return ()  # it may be read later
        found = set()
        for item in facts.module.imports:
            for dotted in (f"{item.module}.{item.name}".strip(".") if item.name else item.module, item.module):
                target = self.modules.find(dotted, file, item.level)
                if target is not None:
                    found.add(target)
                    break
        self._imports[file] = tuple(sorted(found))
        return self._imports[file]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """A run for each launch of a project script, and one without launch for each script that nobody launches."""
        launched = [
            Run(launch.script_file, launch, world_size=self._world_size(launch))
            for launch in self.launches
            if launch.script_file
        ]
        started = {run.script_file for run in launched}
        alone = [
            Run(file, world_size=self._world_size(None))
            for file in self.python_files
            if self.module(file).is_script and file not in started
        ]
        return tuple(launched + alone)

    def given_size(self) -> Value:
        """The world size that the user gave, for runs without a launch."""
        return self._world_size(None)

    def _world_size(self, launch: Launch | None) -> Value:
        if self.given_world_size is not None:
            from distlint.model.value import known

            return known(self.given_world_size)
        return launch.world_size if launch is not None else unknown("no launch of this script was found")

    def runs_reaching(self, file: str) -> tuple[Run, ...]:
        """The launched runs whose script is ``file`` or imports it."""
        return tuple(run for run in self.runs if run.launch is not None and file in self.closure(run.script_file))

    @cached_property
    def graph(self) -> nx.DiGraph[Any]:
        """The project graph; complete once the project was judged, since documents are found by following values."""
        from distlint.link.graph import build_graph

        return build_graph(self)
