"""Layers that a module makes and never uses, in a wrapper that waits for the gradient of every parameter.

Parameters: ``wrappers`` (each with the arguments that make it do without), ``layers`` (classes with parameters),
``module`` (the class that modules derive from), ``switches`` (for wrappers that take the model among other arguments: words of
programs that may make the wrapper do without).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.wrapped_calls import unwrapped
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.calls import keywords_given
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

REFLECTION = frozenset(
    {
        "getattr",
        "children",
        "named_children",
        "modules",
        "named_modules",
        "parameters",
        "named_parameters",
        "__dict__",
        "_modules",
        "vars",
        "apply",
        "add_module",
        "register_module",
        "get_submodule",
        "requires_grad_",
        "setattr",
    }
)
"""Names by which a class may reach its layers without naming them."""


MAX_FURTHER_FILES = 200
"""In a project with more files that mention no framework, we don't read them all to look for a name."""


@check("unused-parameters")
def unused_parameters(context: CheckContext) -> Iterator[Finding]:
    """A finding for each layer of a wrapped module that no code of the project names."""
    project: Project = context.project
    wrappers = context.parameters["wrappers"]
    for site in project.calls_to(set(wrappers)):
        settings = wrappers[site.name]
        given = keywords_given(project.evaluator(None), site.site.call, site.file, site.site.function)
        if given is None or given & set(settings):
            continue
        words = context.parameters.get("switches", ())
        if words and any(word in project.text_of(file) for file in family(project, site.file) for word in words):
            continue
        models = site.site.call.args if words else (find_argument(site.site.call, "module", 0)[0],)
        for owner in dict.fromkeys(_wrapped_class(project, site, model) for model in models):
            if owner is None or not _is_plain(context, owner):
                continue
            for name, at in never_used(context, owner):
                yield context.finding(
                    f"the parameters of `{name}` get no gradient: no code uses the layer",
                    ir.unpack(at, owner.file),
                    related=[Related(site.span, "the wrapper waits for the gradients of all parameters")],
                    symbol=f"{project.class_(owner).name}.{name}",
                )


def never_used(context: CheckContext, owner: ClassRef) -> Iterator[tuple[str, ir.Position]]:
    """The layers that a class makes, each with the assignment, that no code of the project names."""
    for name, at in _layers(context, owner):
        if not _is_named(context.project, owner, name):
            yield name, at


def is_never_named(context: CheckContext, owner: ClassRef, name: str) -> bool:
    """Whether this check speaks of a layer itself."""
    return _is_plain(context, owner) and not _is_named(context.project, owner, name)


def _wrapped_class(project: Project, site: CallSite, model: ir.Expr | None) -> ClassRef | None:
    if model is None or type(model) is ir.Starred:
        return None
    evaluator = project.evaluator(None)
    file, function = site.file, site.site.function
    for _ in range(4):
        options = options_of(evaluator.ask(unwrapped(model), file, function))
        only = options[0] if len(options) == 1 else None
        if not isinstance(only, Instance):
            return None
        if isinstance(only.callee, ClassRef) and only.part == ():
            return only.callee
        inner = unwrapped(only.call)
        if inner is only.call:
            return None
        model, file, function = inner, only.frame.file, only.frame.function
    return None


def _is_plain(context: CheckContext, owner: ClassRef) -> bool:
    """Whether a class derives from the module class alone and reaches its layers by name only."""
    project: Project = context.project
    definition = project.class_(owner)
    bases = [project.modules.dotted(base, owner.file) for base in definition.bases]
    if bases != [context.parameters["module"]] or definition.decorators:
        return False
    module = project.module(owner.file)
    methods = [function for function in module.functions if function.owner == owner.index]
    if not any(method.name == "forward" for method in methods):
        return False
    return not reaches_otherwise(methods)


def reaches_otherwise(methods: Iterable[ir.Function]) -> bool:
    """Whether some methods of a class may reach its layers without naming them."""
    for method in methods:
        for statement in statements(method.body):
            for expr in expressions_of(statement):
                for part in below(expr):
                    if (type(part) is ir.Name and part.id in REFLECTION) or (
                        type(part) is ir.Attribute and part.name in REFLECTION
                    ):
                        return True
                    if type(part) is ir.Lambda:
                        return True
    return False


def _layers(context: CheckContext, owner: ClassRef) -> Iterator[tuple[str, ir.Position]]:
    """The attributes that ``__init__`` sets to a layer with parameters, without a condition."""
    project: Project = context.project
    init = project.modules.method(owner, "__init__")
    if init is None or init.file != owner.file:
        return
    function = project.function(init)
    for statement in function.body:
        if type(statement) is not ir.Assign or type(statement.value) is not ir.Call or len(statement.targets) != 1:
            continue
        target: ir.Expr = statement.targets[0]
        if not isinstance(target, ir.Attribute) or not isinstance(target.base, ir.Name):
            continue
        own = target.base.id == function.parameters[0].name
        if own and project.modules.dotted(statement.value.func, owner.file) in context.parameters["layers"]:
            yield target.name, statement.at


def _is_named(project: Project, owner: ClassRef, name: str) -> bool:
    """Whether an attribute of this name is mentioned anywhere but in the one assignment that makes it."""
    others = [file for file in project.paths if file.endswith(".py") and file != owner.file]
    if sum(1 for file in others if file not in project.facts) > MAX_FURTHER_FILES:
        return True
    for file in others:
        facts = project.file_facts(file)
        if facts is None or facts.module is None or name in facts.module.attributes:
            return True
    module = project.module(owner.file)
    mentions = 0
    for index in range(-1, len(module.functions)):
        body = module.body if index < 0 else project.function(FunctionRef(owner.file, index)).body
        for statement in statements(body):
            for expr in expressions_of(statement):
                mentions += sum(1 for part in below(expr) if _mentions(part, name))
    return mentions != 1


def _mentions(part: ir.Expr, name: str) -> bool:
    """Whether an expression is an attribute of a name, or the name as a string."""
    if type(part) is ir.Attribute:
        return part.name == name
    return type(part) is ir.Constant and part.value == name
