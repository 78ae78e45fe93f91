"""Parts of library models whose results nobody uses, in a wrapper that waits for the gradient of every parameter.

Parameters: ``models`` (library classes, each with the name of the part), ``argument`` (of these classes: whether there is a part; it
is there without), ``fixed`` (those of the models that know no such argument), ``makers`` (last names of methods that make a model),
``general`` (classes whose methods make a model of any kind) with ``known`` (beginnings of names, each with the class that such a
name gives), ``fields`` and ``places`` (of a result: what does not come of the part), ``plain`` (attributes and methods of a model
that leave its parts as they are), ``switches`` and ``wrapped-switches`` (words of programs that may do something about it, the latter
of those that wrap the model themselves), ``same``, ``silent`` and ``wrappers`` (as in ``left-out-layers``).

For a library's trainer: ``trainers``, ``subject`` with ``search`` (the argument that has the wrapper search for such parts),
``recomputing`` (arguments that take the search away from the library's own models: ``own`` is how the names of their base class begin
and end), ``signs`` (beginnings of arguments that only runs of several processes have), ``steps`` (the argument for the number of
steps), and ``others``, ``launched`` and ``files`` as in ``reentrant-checkpoints``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.protocol_things import Things
from distlint.checks.reentrant_checkpoints import first_given, is_on, wraps_otherwise
from distlint.checks.registry import CheckContext, check
from distlint.checks.result_uses import Body, Results
from distlint.checks.trained_calls import TrainedCalls
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.arithmetic import truth
from distlint.link.calls import keywords_given
from distlint.link.modules import ClassRef, External
from distlint.link.project import CallSite, Project
from distlint.link.walking import guards_of
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.subject import Subject

MAX_DEPTH = 3
"""Modules, one inside the other, that are looked at."""

_BACKWARD = frozenset({"backward", "manual_backward"})


class _Unused(NamedTuple):
    """A part whose result nobody uses: the name of the model's attribute, of the part, and where the model is made."""

    model: str
    part: str
    span: Span


@check("unused-library-parts")
def unused_library_parts(context: CheckContext) -> Iterator[Finding]:
    """A finding for each model with such a part that is wrapped, or that a trainer wraps."""
    seen: set[Span] = set()
    for finding in (*_of_wrappers(context), *_of_trainers(context)):
        if finding.span not in seen:
            seen.add(finding.span)
            yield finding


def _finding(context: CheckContext, one: _Unused, related: list[Related]) -> Finding:
    whose = f" of `{one.model}`" if one.model else ""
    return context.finding(
        f"the parameters of `{one.part}`{whose} get no gradient: nobody uses what it computes",
        one.span,
        related=related,
        symbol=f"{one.model}.{one.part}",
    )


# Programs that wrap the model themselves ----------------------------------------------------------------------------------


def _of_wrappers(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    wrappers = context.parameters["wrappers"]
    for site in project.calls_to(set(wrappers)):
        words = keywords_given(project.evaluator(None), site.site.call, site.file, site.site.function)
        if words is None or words & set(wrappers[site.name]) or _may_do_without(context, site.file, wrapped=True):
            continue
        files = family(project, site.file)
        if not any(_BACKWARD & project.module(file).calls.keys() for file in files if file in project.facts):
            continue  # nothing is trained
        many = wrappers[site.name] == []
        given = tuple(word.value for word in site.site.call.keywords if word.name == "module")
        models = site.site.call.args if many else (*site.site.call.args[:1], *given)[:1]
        for index, expr in enumerate(models):
            parts = _Parts(context, site, (index,) if many and len(models) > 1 else ())
            for one in parts.of_expression(expr):
                yield _finding(
                    context, one, [Related(site.span, "the wrapper waits for the gradients of all parameters")]
                )


def _may_do_without(context: CheckContext, file: str, *, wrapped: bool) -> bool:
    """Whether a program holds a word of one that has the wrapper do without, or trains a part of the model only."""
    project: Project = context.project
    words = context.parameters["switches"]
    others = context.parameters["wrapped-switches"] if wrapped else ()
    return any(word in project.text_of(one) for one in family(project, file) for word in (*words, *others))


# Trainers -----------------------------------------------------------------------------------------------------------------


def _of_trainers(context: CheckContext) -> Iterator[Finding]:
    parameters = context.parameters
    for subject in context.subjects(parameters["subject"]):
        # what is wrong without the words that somebody may add is wrong for whoever starts the program plainly
        if (subject.open_blocks and not subject.extra.get("by_caller")) or wraps_otherwise(context, subject):
            continue
        steps = subject.settings.get(parameters["steps"])
        if steps is not None and steps.value.only == 1:
            continue
        file = subject.run.script_file if subject.run is not None else subject.span.file
        for site in _trainers(context, file):
            given, _ = find_argument(site.site.call, "model", 0)
            if given is None or _may_do_without(context, site.file, wrapped=False):
                continue
            parts = _Parts(context, site, None)
            place = _without_search(context, subject, parts, given)
            if place is None:
                continue
            for one in parts.of_expression(given):
                yield _finding(context, one, [place, Related(site.span, "the Trainer wraps the model here")])


def _trainers(context: CheckContext, file: str) -> list[CallSite]:
    """The calls that make a trainer in a program; none where it makes several, of which each may have other arguments."""
    project: Project = context.project
    files = project.closure(file)
    names = frozenset(context.parameters["trainers"])
    found = [one for one in project.calls_to(names) if one.file in files]
    for source in files:
        for number, made in enumerate(project.module(source).classes if source in project.facts else ()):
            owner = ClassRef(source, number)
            if names & project.modules.external_bases(owner):
                sites = project.sites(made.name)
                found += [one for one in sites if project.modules.resolve(one.site.call.func, one.file) == owner]
    return found if len(found) == 1 else []


def _without_search(context: CheckContext, subject: Subject, parts: _Parts, given: ir.Expr) -> Related | None:
    """Where it is said that the wrapper does not search for unused parameters, in a run that may have several processes."""
    parameters = context.parameters
    search = first_given(subject, [parameters["search"]])
    text = "the wrapper waits for the gradients of all parameters"
    if search is not None:
        off = search.certain and search.value.is_known and search.value.only is False
        return Related(search.key_span, text) if off else None
    switch = first_given(subject, parameters["recomputing"])
    if switch is None or not is_on(switch) or not _has_several(context, subject) or not parts.is_of_library(given):
        return None
    return Related(switch.key_span, f"{text}: it does not search for unused ones where layers are computed again")


def _has_several(context: CheckContext, subject: Subject) -> bool:
    """Whether a run has several processes, or arguments that mean nothing without them."""
    counts = subject.run.world_size.options if subject.run is not None else ()
    if counts:
        return all(isinstance(one, int) and one > 1 for one in counts)
    signs = tuple(context.parameters["signs"])
    return any(name.startswith(signs) and first_given(subject, [name]) is not None for name in subject.settings)


# Models -------------------------------------------------------------------------------------------------------------------


class _Parts:
    """The models in what a wrapper or trainer is given, and their parts that nobody uses.

    ``part`` is the place of the wrapped model in what the wrapper gives; ``None`` where the model itself is not called by the program.
    """

    def __init__(self, context: CheckContext, site: CallSite, part: tuple[int | str, ...] | None) -> None:
        self._context = context
        self._project: Project = context.project
        self._site = site
        self._part = part
        parameters = context.parameters
        self._things = Things(self._project, parameters["same"], parameters["silent"], parameters["wrappers"])

    def of_expression(self, expr: ir.Expr) -> Iterator[_Unused]:
        """The unused parts of what a wrapper is given."""
        made = self._model(expr)
        if made is None:
            return
        if isinstance(made.callee, ClassRef):
            yield from self._of_class(made, 0)
            return
        part = self._library_part(made)
        if part and self._part is not None:
            calls = TrainedCalls(self._things, self._site, self._part).known()
            results = Results(self._context.parameters["fields"], self._context.parameters["places"])
            used = [results.may_use(self._body(one.frame), one.call) for one in calls]
            files = family(self._project, self._site.file)
            if used and not any(used) and not any(part in self._project.module(file).attributes for file in files):
                yield _Unused("", part, made.span())

    def _body(self, frame: Frame) -> Body:
        return Body.of(self._project.module(frame.file), frame.function)

    def is_of_library(self, expr: ir.Expr) -> bool:
        """Whether a model is certainly of a class below one of the library's own models (``own``: beginning and end of their names)."""
        made = self._model(expr)
        if made is None or not isinstance(made.callee, ClassRef):
            return False
        begin, end = self._context.parameters["own"]
        return any(
            one.startswith(begin) and one.endswith(end) for one in self._project.modules.external_bases(made.callee)
        )

    def _model(self, expr: ir.Expr) -> Instance | None:
        if type(expr) is ir.Starred:
            return None
        evaluator = self._things.evaluator
        options = options_of(evaluator.ask(expr, self._site.file, self._site.site.function))
        found = [self._things.peeled(one) for one in options if isinstance(one, Instance)]
        if not found or len(found) != len(options) or len({one.identity for one in found}) != 1:
            return None
        return found[0] if not found[0].part else None

    def _library_part(self, made: Instance) -> str:
        """The name of the part that a library model certainly has; empty where that is not known."""
        parameters = self._context.parameters
        name = made.callee.name if isinstance(made.callee, External) else ""
        owner, _, last = name.rpartition(".")
        made_directly = last not in parameters["makers"]
        if not made_directly:
            name = self._general(owner, made) if owner in parameters["general"] else owner
        # whatever module of the library a class is imported from
        name = f"{name.partition('.')[0]}.{name.rpartition('.')[2]}"
        if made.part or name not in parameters["models"]:
            return ""
        given, certain = find_argument(made.call, parameters["argument"], 1 if made_directly else None)
        if name not in parameters["fixed"] and (given is not None or not certain):
            evaluator = self._things.evaluator
            if given is None or truth(evaluator.ask_in(given, made.frame, made.state)) is not True:
                return ""
        part: str = parameters["models"][name]
        return part

    def _general(self, owner: str, made: Instance) -> str:
        """The class of a model that a general class makes by its name or its configuration."""
        if not made.call.args:
            return ""
        evaluator = self._things.evaluator
        options = options_of(evaluator.ask_in(made.call.args[0], made.frame, made.state))
        if len(options) != 1:
            return ""
        if isinstance(options[0], Instance):
            name = evaluator.instance_name(options[0]).removesuffix("()")
            return f"{name.removesuffix('Config')}Model" if name.endswith("Config") else ""
        named = evaluator.value(made.call.args[0], made.frame.file, made.frame.function)
        if not named.is_known or not isinstance(named.only, str):
            return ""
        known = self._context.parameters["known"]
        return next((known[one] for one in sorted(known, key=len, reverse=True) if named.only.startswith(one)), "")

    def _of_class(self, made: Instance, depth: int) -> Iterator[_Unused]:
        owner = made.callee
        assert isinstance(owner, ClassRef)  # noqa: S101 - tested by the caller
        modules = self._project.modules
        if modules.has_unknown_base(owner) or modules.method(owner, "forward") is None:
            return
        for name, stores in self._project.attribute_stores(owner).items():
            if len(stores) != 1:
                continue
            method, value, part = stores[0]
            if value is None or part or method.index < 0 or self._project.function(method).name != "__init__":
                continue
            if guards_of(body_of(self._project, method.file, method.index), value.at):
                continue
            frame = Frame(method.file, method.index, {}, 0, made)
            self._things.evaluator.keep(frame)
            options = options_of(self._things.evaluator.ask_in(value, frame))
            inner = options[0] if len(options) == 1 else None
            if not isinstance(inner, Instance):
                continue
            inner = self._things.peeled(inner)
            if isinstance(inner.callee, ClassRef):
                if depth < MAX_DEPTH and not inner.part and inner.callee != owner:
                    yield from self._of_class(inner, depth + 1)
                continue
            found = self._library_part(inner)
            if found and not self._may_use(owner, name, found, value):
                yield _Unused(name, found, ir.unpack(value.at, method.file))

    def _may_use(self, owner: ClassRef, name: str, part: str, made: ir.Expr) -> bool:
        """Whether code may use the part of the model that an attribute of a class holds."""
        parameters = self._context.parameters
        results = Results(parameters["fields"], parameters["places"], frozenset(parameters["plain"]))
        classes = self._project.modules.ancestry(owner)
        called = False
        for file in sorted(family(self._project, self._site.file)):
            module = self._project.module(file)
            if part in module.attributes:
                return True
            if name not in module.attributes:
                continue
            for index in range(-1, len(module.functions)):
                function = module.functions[index] if index >= 0 else None
                other = function is not None and function.owner >= 0 and ClassRef(file, function.owner) not in classes
                own = function.parameters[0].name if function is not None and function.parameters else ""
                for use in results.uses_of(Body.of(module, index), name, own if other else ""):
                    if use.stored is made:
                        continue
                    if use.may:
                        return True
                    called |= use.called
        return not called
