"""Layers that the forward pass of a wrapped model leaves out, though its code names them.

A switch that is off, one head of several, an arm that another pass takes, a part under which no gradients are kept, a result that
nobody uses.

Parameters: ``wrappers`` (each with the arguments that make it do without), ``layers``, ``containers`` and ``sequences`` (classes of
layers), ``module`` (the class that modules derive from), ``silent`` (contexts without gradients), ``switches`` (words of programs
that may do something about it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from distlint.checks.cleared import in_order
from distlint.checks.forward_ways import ALL, TooManyError, Used, Way, Ways, left_out, mentions
from distlint.checks.programs import family
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.checks.trained_calls import TrainedCalls
from distlint.checks.unused_parameters import REFLECTION, is_never_named
from distlint.checks.unused_results import layers_of_results, thrown_away
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.calls import bound_parameters, given_arguments, keywords_given
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.objects import attribute
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.rehearsal.notes import LEFT_OUT

MAX_DEPTH = 3
"""Modules, one inside the other, that are looked at."""

_BACKWARD = frozenset({"backward", "manual_backward"})
_MAKING = ("__init__", "_init", "init_", "reset_parameters")


_NEVER = "the forward pass leaves {} out, whose parameters then get no gradient"
_PARTLY = "each forward pass uses only a part of {}: the parameters of the rest get no gradient"
_UNUSED = "nobody uses what {} computes, whose parameters then get no gradient"
_BY_CHANCE = "forward passes leave {} out by chance: the parameters then get no gradient"


class _Layer(NamedTuple):
    """A layer that a constructor makes: where, and of how many members (1: no container)."""

    at: ir.Position
    size: int


@check("left-out-layers")
def left_out_layers(context: CheckContext) -> Iterator[Finding]:
    """A finding for each wrapped model whose forward pass leaves a layer out, in each pass or in each a different one."""
    project: Project = context.project
    wrappers = context.parameters["wrappers"]
    for site in project.calls_to(set(wrappers)):
        words = keywords_given(project.evaluator(None), site.site.call, site.file, site.site.function)
        if words is None or words & set(wrappers[site.name]):
            continue
        files = family(project, site.file)
        if any(word in project.text_of(file) for file in files for word in context.parameters["switches"]):
            continue
        if not any(_BACKWARD & project.module(file).calls.keys() for file in files if file in project.facts):
            continue  # nothing is trained
        many = wrappers[site.name] == []
        for index, given in enumerate(_models(site.site.call, many=many)):
            part = (index,) if many and len(site.site.call.args) > 1 else ()
            yield from _Wrapped(context, site, part).findings(given)


def _models(call: ir.Call, *, many: bool) -> tuple[ir.Expr, ...]:
    """The arguments that may be the model: the first one, or (``many``) each."""
    given = tuple(word.value for word in call.keywords if word.name == "module")
    return call.args if many else (*call.args[:1], *given)[:1]


class _Wrapped:
    """A model that is handed to a wrapper."""

    def __init__(self, context: CheckContext, site: CallSite, part: tuple[int | str, ...]) -> None:
        self._context = context
        self._project: Project = context.project
        self._site = site
        parameters = context.parameters
        self._things = Things(self._project, parameters.get("same", ()), parameters["silent"], parameters["wrappers"])
        self._calls = TrainedCalls(self._things, site, part)

    def findings(self, given: ir.Expr) -> Iterator[Finding]:
        """What is wrong with the model that the wrapper gets."""
        if type(given) is ir.Starred:
            return
        frame = self._things.evaluator.frame(self._site.file, self._site.site.function)
        mention = self._things.mention(given, frame)
        if mention.only is not None:
            yield from self._of_model(mention.options[0], 0)

    def _of_model(self, made: Instance, depth: int) -> Iterator[Finding]:
        owner = made.callee
        forward = self._project.modules.method(owner, "forward") if isinstance(owner, ClassRef) else None
        if not isinstance(owner, ClassRef) or forward is None or made.part or not self._is_plain(owner, forward):
            return
        layers = {
            name: one
            for name, one in self._layers(owner).items()
            if not self._is_used_elsewhere(owner, name) and not is_never_named(self._context, owner, name)
        }
        sizes = {name: one.size for name, one in layers.items()}
        try:
            passes = self._passes(made, forward, sizes, depth)
        except TooManyError:
            return
        missing = [left_out(way, sizes) for ways in passes for way in ways]
        if missing and all(missing) and self._site.span not in in_order(self._project, LEFT_OUT):
            always = set.intersection(*missing)
            named = [name for name in layers if name in always] or sorted(set.union(*missing))
            partly = any(sizes[name] > 1 for name in named)
            if (always and not partly) or (depth == 0 and self._calls.is_one_for_each_backward()):
                yield self._finding(owner, named, layers, _NEVER if always and not partly else _PARTLY)
                return
        if depth == 0:
            unused = self._of_results(forward, sizes)
            if unused:
                yield self._finding(owner, unused, layers, _UNUSED)
                return
            by_chance = [left_out(way, sizes) for ways in passes for way in ways if way.chance]
            if any(by_chance) and self._calls.is_one_for_each_backward():
                yield self._finding(owner, sorted(set.union(*by_chance)), layers, _BY_CHANCE)
                return
        if depth < MAX_DEPTH:
            for name, layer in layers.items():
                span = ir.unpack(layer.at, owner.file)
                for part in options_of(attribute(self._things.evaluator, made, name, span)):
                    if isinstance(part, Instance) and isinstance(part.callee, ClassRef):
                        yield from self._of_model(part, depth + 1)

    def _finding(self, owner: ClassRef, named: list[str], layers: Mapping[str, _Layer], text: str) -> Finding:
        wrapped = Related(self._site.span, "the wrapper waits for the gradients of all parameters")
        symbol = f"{self._project.class_(owner).name}.{named[0]}"
        return self._context.finding(
            text.format(", ".join(f"`{name}`" for name in named)),
            ir.unpack(layers[named[0]].at, owner.file),
            related=[wrapped],
            symbol=symbol,
        )

    # Ways ------------------------------------------------------------------------------------------------------------

    def _passes(self, made: Instance, forward: FunctionRef, sizes: Mapping[str, int], depth: int) -> list[list[Way]]:
        """The ways through the forward pass, for each call that is known."""
        evaluator = self._things.evaluator
        function = self._project.function(forward)
        ways = Ways(
            evaluator,
            sizes,
            self._helpers(made.callee, forward, sizes),
            self._context.parameters["silent"],
            tuple(self._context.parameters["random"]),
        )
        found = []
        for call, frame, state in self._calls.known() if depth == 0 else ():
            given = given_arguments(evaluator, call, frame, state)
            span = Span(frame.file, 1, 1, 1, 1)
            bindings = bound_parameters(evaluator, function.parameters[1:], given, span)
            inside = Frame(forward.file, forward.index, bindings, 0, made, bound=True)
            evaluator.keep(inside)
            found.append(ways.through(function, inside))
        if not found:
            inside = Frame(forward.file, forward.index, {}, 0, made)
            evaluator.keep(inside)
            found.append(ways.through(function, inside))
        return found

    def _of_results(self, forward: FunctionRef, sizes: Mapping[str, int]) -> list[str]:
        """The layers whose results all callers throw away."""
        places = thrown_away(self._project, self._calls.known())
        return list(layers_of_results(self._project.function(forward), places, list(sizes))) if places else []

    def _helpers(self, owner: object, forward: FunctionRef, sizes: Mapping[str, int]) -> dict[str, Used]:
        """What the other methods of the class use, whatever way they take."""
        assert isinstance(owner, ClassRef)  # noqa: S101 - tested by the caller
        direct: dict[str, set[str]] = {}
        for index, function in enumerate(self._project.module(owner.file).functions):
            if function.owner == owner.index and index != forward.index:
                direct[function.name] = set(mentions(function))
        for _ in range(MAX_DEPTH):
            direct = {name: used.union(*(direct.get(one, ()) for one in used)) for name, used in direct.items()}
        return {name: frozenset((one, ALL) for one in used if one in sizes) for name, used in direct.items()}

    # Layers ----------------------------------------------------------------------------------------------------------

    def _is_plain(self, owner: ClassRef, forward: FunctionRef) -> bool:
        """Whether a class derives from the module class alone and reaches its layers by name only."""
        definition = self._project.class_(owner)
        bases = [self._project.modules.dotted(base, owner.file) for base in definition.bases]
        if bases != [self._context.parameters["module"]] or definition.decorators or forward.file != owner.file:
            return False
        for function in self._project.module(owner.file).functions:
            if function.owner != owner.index or function.name.startswith(_MAKING):
                continue
            for statement in statements(function.body):
                for expr in expressions_of(statement):
                    for part in below(expr):
                        name = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
                        if name in REFLECTION:
                            return False
        return True

    def _layers(self, owner: ClassRef) -> dict[str, _Layer]:
        """The attributes that ``__init__`` sets to a layer with parameters, once and without a condition."""
        init = self._project.modules.method(owner, "__init__")
        if init is None or init.file != owner.file:
            return {}
        function = self._project.function(init)
        found: dict[str, _Layer] = {}
        for statement in function.body:
            if type(statement) is not ir.Assign or type(statement.value) is not ir.Call or len(statement.targets) != 1:
                continue
            target = statement.targets[0]
            if type(target) is ir.Attribute and type(target.base) is ir.Name:
                size = self._size(statement.value, FunctionRef(owner.file, init.index), 0)
                if size and target.base.id == function.parameters[0].name:
                    found[target.name] = _Layer(statement.at, size)
        return found

    def _size(self, call: ir.Call, inside: FunctionRef, depth: int) -> int:
        """How many members with parameters of their own a layer has that a call makes; 0 if it is none."""
        parameters = self._context.parameters
        name = self._project.modules.dotted(call.func, inside.file)
        if name in parameters["layers"]:
            return 1
        if name in parameters["sequences"]:
            return int(any(type(one) is ir.Call and self._size(one, inside, depth) for one in call.args))
        if name in parameters["containers"] and len(call.args) == 1:
            given = call.args[0]
            items: tuple[ir.Expr, ...] = ()
            if type(given) is ir.DictDisplay:
                items = tuple(given.values)
            elif type(given) is ir.ListDisplay:
                items = given.items
            elif type(given) is ir.Comprehension and len(given.generators) == 1:
                return self._repeated(given, inside, depth)
            return (
                len(items)
                if items and all(type(one) is ir.Call and self._size(one, inside, depth) for one in items)
                else 0
            )
        target = self._project.modules.resolve(call.func, inside.file)
        if isinstance(target, ClassRef) and depth < MAX_DEPTH:
            if parameters["module"] in self._project.modules.external_bases(target):
                return int(bool(self._layers_of(target, depth + 1)))
        return 0

    def _layers_of(self, owner: ClassRef, depth: int) -> bool:
        init = self._project.modules.method(owner, "__init__")
        if init is None:
            return False
        return any(
            type(part) is ir.Call and self._size(part, init, depth)
            for statement in statements(self._project.function(init).body)
            for expr in expressions_of(statement)
            for part in below(expr)
        )

    def _repeated(self, given: ir.Comprehension, inside: FunctionRef, depth: int) -> int:
        """The size of a container that a comprehension over a range fills; 1 where the number is not known."""
        element = given.element
        if type(element) is not ir.Call or not self._size(element, inside, depth) or given.generators[0][2]:
            return 0
        over = given.generators[0][1]
        if type(over) is ir.Call and type(over.func) is ir.Name and over.func.id == "range" and len(over.args) == 1:
            count = self._things.evaluator.value(over.args[0], inside.file, inside.index)
            if count.is_known and isinstance(count.only, int):
                return max(count.only, 1)
        return 1

    def _is_used_elsewhere(self, owner: ClassRef, name: str) -> bool:
        """Whether code outside of classes' own methods names an attribute like a layer, or a method that nothing in forward leads to."""
        for file in sorted(family(self._project, self._site.file)):
            module = self._project.module(file)
            if name not in module.attributes:
                continue
            for index in range(-1, len(module.functions)):
                function = module.functions[index] if index >= 0 else None
                own = function.parameters[0].name if function and function.owner >= 0 and function.parameters else ""
                for statement in statements(function.body if function else module.body):
                    for expr in expressions_of(statement):
                        for part in below(expr):
                            if type(part) is ir.Attribute and part.name == name:
                                if type(part.base) is not ir.Name or part.base.id != own:
                                    return True
        return False
