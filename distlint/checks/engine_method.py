"""A method of an object that may not be called so with the configuration that the object was made with.

Parameters: ``subject``; ``methods`` (dotted names by what made the object: ``pkg.function()[0].method``, where ``__call__`` is the object
called itself); ``attributes`` (the same for attributes that are read); ``when`` (the condition
over the configuration); ``argument`` (one that has to be given as true, if any); ``given`` (one, with its position, without which the
call is right); ``unless-called`` (library calls in the same
project files that make it right); ``unless-given`` (arguments that make the call right, or another one); ``inside`` (last names
of contexts in which the call is right); ``only-inside`` (last names of contexts in which it is wrong, and nowhere else);
``mode-words`` (parts of names: a test on the way that holds one may ask for the configuration itself, so that nothing is
said); ``given-as`` (an argument of the call that made the object: the same methods of the object that was handed over there
count too, where they come after it); ``saved`` (with ``savers``, library functions that write their first argument, ``objects`` that
may not be written, and ``readers``, methods that list their parameters); ``message`` (a template over the configuration).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from distlint.checks.engines import configurations, handed_over, is_inside, receivers, tests_name
from distlint.checks.registry import CheckContext, check
from distlint.checks.saved_objects import saved_objects
from distlint.checks.wrapped_calls import called_object, names_given, names_handed_on
from distlint.judge.conditions import compile_condition
from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, expressions_below
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Operation, Related


@check("engine-method")
def engine_method(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call."""
    project: Project = context.project
    wanted = frozenset(context.parameters["methods"])
    if not _may_occur(project, wanted):
        return
    for last in sorted({name.rpartition(".")[2] for name in wanted}):
        for found in project.sites(last):
            names = project.method_names(found)
            if names and wanted.issuperset(names) and _matters(context, project, found):
                yield from _judge(context, project, found, list(receivers(project, found)))
    for found, made in _called_themselves(project, wanted):
        if _matters(context, project, found):
            yield from _judge(context, project, found, [made])
    for found, made in _read(project, frozenset(context.parameters.get("attributes", ()))):
        if _matters(context, project, found):
            yield from _judge(context, project, found, [made])
    if "saved" in context.parameters:
        how = context.parameters["saved"]
        for found, made in saved_objects(project, set(how["savers"]), set(how["objects"]), set(how["readers"])):
            if _matters(context, project, found):
                yield from _judge(context, project, found, [made])
    if "given-as" in context.parameters:
        argument, position = context.parameters["given-as"]
        for maker, found in handed_over(project, wanted, argument, position):
            if _matters(context, project, found):
                yield from _judge(context, project, found, [maker])


def _may_occur(project: Project, wanted: Collection[str]) -> bool:
    """Whether anything can make such objects: where all come out of a function's results, somebody has to call that.

    Asking what every `state_dict()` of a large library belongs to would cost far more.
    """
    if not all("()[" in name for name in wanted):
        return True
    return any(True for _ in project.calls_to({name.partition("()[")[0] for name in wanted}))


def _read(project: Project, wanted: frozenset[str]) -> Iterator[tuple[CallSite, Instance]]:
    """The places where an attribute of an object is read, with what made the object."""
    lasts = {name.rpartition(".")[2] for name in wanted}
    evaluator = project.evaluator(None)
    for file in project.python_files if wanted else ():
        if not any(f".{last}" in project.text_of(file) for last in lasts):
            continue
        module = project.module(file)
        for function, body in bodies_of(module):
            found = [one for one in expressions_below(body) if type(one) is ir.Attribute and one.name in lasts]
            for expr in found:
                for made in options_of(evaluator.ask(expr.base, file, function)):
                    name = evaluator.instance_name(made) if isinstance(made, Instance) else ""
                    if isinstance(made, Instance) and project.modules.canonical(f"{name}.{expr.name}") in wanted:
                        yield CallSite(file, ir.Site(ir.Call(expr, (), (), expr.at), function)), made


def _called_themselves(project: Project, wanted: frozenset[str]) -> Iterator[tuple[CallSite, Instance]]:
    """The calls of objects (``engine(batch)``) whose ``__call__`` is asked for, with what made them."""
    suffix = ".__call__"
    makers = {name.partition("()")[0] for name in wanted if name.endswith(suffix)}
    evaluator = project.evaluator(None)
    # Only names that such an object was seen to go by: asking about every callee would cost far more.
    names = {name for made in project.calls_to(makers) for name in names_given(project, made)} if makers else set()
    for last in sorted(names | names_handed_on(project, names) if names else ()):
        for found in project.sites(last):
            made = called_object(project, evaluator, found)
            if made is not None and project.modules.canonical(evaluator.instance_name(made) + suffix) in wanted:
                yield found, made


def _matters(context: CheckContext, project: Project, found: CallSite) -> bool:
    parameters = context.parameters
    given = {keyword.name for keyword in found.site.call.keywords}
    if given.intersection((None, *parameters["unless-given"]) if "unless-given" in parameters else ()):
        return False
    if is_inside(project, found, frozenset(parameters.get("inside", ()))):
        return False
    if "only-inside" in parameters and not is_inside(project, found, frozenset(parameters["only-inside"])):
        return False
    if "given" in parameters and not _gives(project, found, *parameters["given"]):
        return False
    return not tests_name(project, found, parameters.get("mode-words", ())) and _lacks(context, project, found)


def _gives(project: Project, found: CallSite, argument: str, position: int) -> bool:
    """Whether an argument is surely given, as something else than ``None``."""
    expr, _ = find_argument(found.site.call, argument, position)
    if expr is None:
        return False
    value = project.evaluator(None).ask(expr, found.file, found.site.function)
    return not isinstance(value, Leaf) or (value.value.is_known and value.value.only is not None)


def _lacks(context: CheckContext, project: Project, found: CallSite) -> bool:
    """Whether the argument that makes the call right is certainly not given, or not true."""
    argument = context.parameters.get("argument", "")
    if not argument:
        return True
    expr, certain = find_argument(found.site.call, argument, None)
    if expr is None:
        return certain
    value = project.evaluator(None).value(expr, found.file, found.site.function)
    return value.is_known and not value.only


def _judge(context: CheckContext, project: Project, found: CallSite, makers: list[Instance]) -> Iterator[Finding]:
    condition = compile_condition(context.parameters["when"])
    message = compile_template(context.parameters["message"])
    avoided = set(context.parameters.get("unless-called", ()))
    for made in makers:
        for subject in configurations(context, made):
            script = subject.run.script_file if subject.run is not None else found.file
            if avoided and any(call.file in project.closure(script) for call in project.calls_to(avoided)):
                continue
            view = View.of(subject)
            verdict = condition.judge(view)
            if not verdict.holds:
                continue
            places = [Related(used.key_span, f"`{used.path}` is set here") for used in verdict.used if used.key_span]
            plan = None
            if "argument" in context.parameters:
                step = Operation("set-argument", found.span, {"name": context.parameters["argument"], "value": True})
                plan = context.plan(step)
            yield context.finding(
                message.render(view),
                found.span,
                related=[Related(made.span(), "the object is made here"), *places],
                confidence=verdict.confidence,
                plan=plan,
                runs=(subject.label,) if subject.run is not None else (),
            )
