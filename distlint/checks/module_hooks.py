"""Modules and data modules whose hooks a library's trainer calls, in a way that does not hold with several processes.

Parameters: ``fault``: ``backward`` (the loss of a manual step is differentiated past the strategy), ``local-state`` (a hook that one
process runs keeps what all need), ``skipped`` (a step gives no loss), ``metric`` (a value of one process decides for all), ``sampler``
(the trainer is told not to part the data, and nothing else does); ``bases`` (library classes of modules), ``trainers`` (classes),
``several`` (values of ``strategy`` for several processes start like these).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from distlint.checks.derivations import derivation
from distlint.checks.preparing import last_name, texts_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.unparted_loaders import unparted
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf, Sequence
from distlint.model.finding import Finding, Related
from distlint.model.value import Confidence


class Hooked(NamedTuple):
    """A class of the project whose objects a trainer drives, with the trainer of the same program that has several processes."""

    owner: ClassRef
    trainer: CallSite
    methods: dict[str, ir.Function]
    indexes: dict[str, int]


@check("module-hooks")
def module_hooks(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    judge = _FAULTS[context.parameters["fault"]]
    if judge is _sampler:
        for trainer in trainers_of_several(context):
            yield from _sampler(context, Hooked(ClassRef(trainer.file, -1), trainer, {}, {}))
        return
    for hooked in hooked_classes(context):
        yield from judge(context, hooked)


def trainers_of_several(context: CheckContext) -> list[CallSite]:
    """The trainers of a project (``trainers``) that are seen to be made for several processes."""
    found = context.project.calls_to(set(context.parameters["trainers"]))
    return [one for one in found if _has_several(context, one)]


def hooked_classes(context: CheckContext) -> Iterator[Hooked]:
    """The classes below the rule's ``bases`` whose objects such a trainer of the same program drives."""
    project: Project = context.project
    trainers = trainers_of_several(context)
    bases = frozenset(context.parameters["bases"])
    for file in project.python_files if trainers else ():
        module = project.module(file)
        for number in range(len(module.classes)):
            owner = ClassRef(file, number)
            if not bases & project.modules.external_bases(owner):
                continue
            driver = next((one for one in trainers if file in family(project, one.file)), None)
            if driver is not None:
                own = {f.name: (i, f) for i, f in enumerate(module.functions) if f.owner == number}
                methods = {name: function for name, (_, function) in own.items()}
                yield Hooked(owner, driver, methods, {name: i for name, (i, _) in own.items()})


def _has_several(context: CheckContext, found: CallSite) -> bool:
    """Whether a trainer is seen to be made for several processes."""
    project: Project = context.project
    evaluator = project.evaluator(None)

    def given(name: str) -> tuple[Abstract, ...]:
        expr, _ = find_argument(found.site.call, name, None)
        return options_of(evaluator.ask(expr, found.file, found.site.function)) if expr is not None else ()

    devices, nodes, strategy = given("devices"), given("num_nodes"), given("strategy")
    if (
        devices
        and all(_is_one(one) for one in devices)
        and not _by_environment(project, found)
        and not any(_is_many(one) for one in nodes)
    ):
        return False
    for one in strategy:
        name = evaluator.instance_name(one) if isinstance(one, Instance) else ""
        text = one.value.only if isinstance(one, Leaf) and one.value.is_known else None
        if isinstance(text, str) and text.startswith(tuple(context.parameters["several"])):
            return True
        if name.removesuffix("()").endswith(("DDPStrategy", "FSDPStrategy", "DeepSpeedStrategy")):
            return True
    return any(_is_many(one) for one in (*devices, *nodes))


def _by_environment(project: Project, found: CallSite) -> bool:
    """Whether the number of devices is read from the environment, where a launcher says how many: the default is for runs without one."""
    expr, _ = find_argument(found.site.call, "devices", None)
    if expr is None:
        return False
    names = set(derivation(project, expr, found.file, found.site.function).names())
    return bool(names & {"environ", "getenv"})


def _is_one(value: Abstract) -> bool:
    if isinstance(value, Leaf):
        # an option's default is for who does not say how many
        told = value.value.is_known and value.value.confidence is Confidence.CERTAIN
        return told and value.value.only in (1, "1")
    return isinstance(value, Sequence) and not value.open and len(value.items) == 1


def _is_many(value: Abstract) -> bool:
    if isinstance(value, Leaf) and value.value.is_known:
        number = value.value.only
        return (type(number) is int and (number > 1 or number == -1)) or (
            isinstance(number, str) and number.isdecimal() and int(number) > 1
        )
    return isinstance(value, Sequence) and not value.open and len(value.items) > 1


def _processes(hooked: Hooked) -> Related:
    return Related(hooked.trainer.span, "this trainer runs several processes")


def _backward(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    project: Project = context.project
    switch = next(
        (
            ir.unpack(statement.at, one.file)
            for one in project.modules.ancestry(hooked.owner)
            for function in project.module(one.file).functions
            if function.owner == one.index
            for statement in statements(function.body)
            if type(statement) is ir.Assign and type(statement.value) is ir.Constant and statement.value.value is False
            if any(last_name(target) == "automatic_optimization" for target in statement.targets)
        ),
        None,
    )
    if switch is None or "no_sync" in project.module(hooked.owner.file).attributes:
        return
    for function in hooked.methods.values():
        for call in calls_in(function.body):
            if type(call.func) is ir.Attribute and call.func.name == "backward" and not call.args:
                name = texts_of(call.func.base)
                if name in ("self", "super"):
                    continue
                yield context.finding(
                    f"`{name or '(...)'}.backward()` in a manual step goes past the strategy, so gradients are not averaged",
                    ir.unpack(call.at, hooked.owner.file),
                    related=[
                        Related(switch, "the module makes its own steps"),
                        _processes(hooked),
                    ],
                )


def _local_state(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    hook = hooked.methods.get(context.parameters["hook"])
    if hook is None or not hook.parameters:
        return
    me = hook.parameters[0].name
    project: Project = context.project
    stores = project.attribute_stores(hooked.owner)
    for statement in statements(hook.body):
        targets = statement.targets if isinstance(statement, ir.Assign) else ()
        for target in targets:
            if type(target) is not ir.Attribute or texts_of(target.base) != me:
                continue
            others = [
                value
                for where, value, _ in stores.get(target.name, ())
                if where.index != hooked.indexes[hook.name] and not (type(value) is ir.Constant and value.value is None)
            ]
            reader = _reader(hooked, hook, target.name)
            if others or reader is None:
                continue
            yield context.finding(
                f"`{hook.name}` runs in one process only, so `self.{target.name}` is missing in the others",
                ir.unpack(statement.at, hooked.owner.file),
                related=[
                    Related(ir.unpack(reader.at, hooked.owner.file), "all processes read it here"),
                    _processes(hooked),
                ],
                symbol=target.name,
            )


def _reader(hooked: Hooked, hook: ir.Function, name: str) -> ir.Attribute | None:
    """Where another method reads an attribute of the object."""
    for function in hooked.methods.values():
        if function is hook or not function.parameters:
            continue
        for statement in statements(function.body):
            stored = statement.targets if isinstance(statement, ir.Assign) else ()
            for expr in expressions_of(statement):
                for part in below(expr):
                    if type(part) is ir.Attribute and part.name == name and part not in stored:
                        if texts_of(part.base) == function.parameters[0].name:
                            return part
    return None


def _skipped(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    step = hooked.methods.get("training_step")
    if step is None or "automatic_optimization" in context.project.module(hooked.owner.file).attributes:
        return
    returned = [one for one in statements(step.body) if type(one) is ir.Return]
    empty = [
        one for one in returned if one.value is None or (type(one.value) is ir.Constant and one.value.value is None)
    ]
    if len(empty) == len(returned):
        return
    for one in empty:
        yield context.finding(
            "a training step that gives no loss is refused with several processes",
            ir.unpack(one.at, hooked.owner.file),
            related=[_processes(hooked)],
        )
        return


def _metric(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    project: Project = context.project
    deciding = _deciding(context, hooked)
    if not deciding:
        return
    for name in context.parameters["hooks"]:
        function = hooked.methods.get(name)
        for call in calls_in(function.body) if function is not None and function.parameters else ():
            if type(call.func) is not ir.Attribute or call.func.name != "log":
                continue
            if texts_of(call.func.base) != function.parameters[0].name or len(call.args) < 2:  # type: ignore[union-attr]
                continue
            key = call.args[0]
            text = key.value if type(key) is ir.Constant else None
            synced, certain = find_argument(call, "sync_dist", None)
            if text not in deciding or not certain or not (synced is None or _is_false(synced)):
                continue
            if find_argument(call, "rank_zero_only", None)[0] is not None:
                continue
            if _is_common(context, project, call.args[1], hooked, hooked.indexes[name]):
                continue
            yield context.finding(
                f"`{text}` is the value of one process's part of the data, and decides for the whole job",
                ir.unpack(call.at, hooked.owner.file),
                related=[deciding[text], _processes(hooked)],
                symbol=text,
            )


def _is_false(expr: ir.Expr) -> bool:
    return type(expr) is ir.Constant and expr.value is False


def _is_common(context: CheckContext, project: Project, value: ir.Expr, hooked: Hooked, index: int) -> bool:
    """Whether a logged value may be a metric that reduces itself, or be collected from all processes."""
    evaluator = project.evaluator(None)
    for part in derivation(project, value, hooked.owner.file, index).parts:
        word = last_name(part.expr)
        if word in context.parameters["collecting"]:
            return True
        if type(part.expr) is ir.Attribute and part.file == hooked.owner.file:
            for option in options_of(evaluator.ask(part.expr, part.file, part.function)):
                if isinstance(option, Instance) and evaluator.instance_name(option).startswith(
                    tuple(context.parameters["metrics"])
                ):
                    return True
    return type(value) is ir.Attribute and texts_of(value.base) == "self"


def _deciding(context: CheckContext, hooked: Hooked) -> dict[str, Related]:
    """The names of logged values that something of the program decides by."""
    project: Project = context.project
    found: dict[str, Related] = {}
    for file in sorted(family(project, hooked.trainer.file) & set(project.python_files)):
        module = project.module(file)
        for name in context.parameters["deciders"]:
            for site in module.calls.get(name, ()):
                given, _ = find_argument(site.call, "monitor", context.parameters["deciders"][name])
                if type(given) is ir.Constant and isinstance(given.value, str):
                    found.setdefault(given.value, Related(ir.unpack(given.at, file), "this goes by it"))
        for body in (module.body, *(function.body for function in module.functions)):
            for statement in statements(body):
                for expr in expressions_of(statement):
                    for part in below(expr):
                        for key, at in _keys(context, part):
                            found.setdefault(key, Related(ir.unpack(at, file), "this goes by it"))
    return found


def _keys(context: CheckContext, part: ir.Expr) -> Iterator[tuple[str, ir.Position]]:
    if type(part) is ir.DictDisplay:
        for key, value in zip(part.keys, part.values, strict=True):
            if type(key) is ir.Constant and key.value == "monitor" and type(value) is ir.Constant:
                if isinstance(value.value, str):
                    yield value.value, value.at
    elif type(part) is ir.Subscript and last_name(part.base) in context.parameters["results"]:
        if type(part.index) is ir.Constant and isinstance(part.index.value, str):
            yield part.index.value, part.at
    elif type(part) is ir.Call and type(part.func) is ir.Attribute and part.func.name == "get" and part.args:
        key = part.args[0]
        if last_name(part.func.base) in context.parameters["results"] and type(key) is ir.Constant:
            if isinstance(key.value, str):
                yield key.value, part.at


def _sampler(context: CheckContext, hooked: Hooked) -> Iterator[Finding]:
    project: Project = context.project
    trainer = hooked.trainer
    switch = next((word for word in trainer.site.call.keywords if word.name in context.parameters["switches"]), None)
    if (
        switch is None
        or project.evaluator(None).value(switch.value, trainer.file, trainer.site.function).only is not False
    ):
        return
    files = sorted(family(project, trainer.file) & set(project.python_files))
    if any(word in project.text_of(file) for word in context.parameters["parting"] for file in files):
        return
    loaders = list(unparted(context, files))
    if not loaders:
        return
    yield context.finding(
        "the trainer is told not to part the data, and no loader does: each process goes through all of it",
        ir.unpack(switch.at, trainer.file),
        related=[Related(loaders[0].span, "this loader has no sampler that parts the data")],
    )


_FAULTS: dict[str, Callable[[CheckContext, Hooked], Iterator[Finding]]] = {
    "backward": _backward,
    "local-state": _local_state,
    "skipped": _skipped,
    "metric": _metric,
    "sampler": _sampler,
}
