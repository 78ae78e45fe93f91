"""Modules and data modules whose hooks a library's trainer calls, in a way that does not hold with several processes.

Parameters: ``fault``: ``backward`` (the loss of a manual step is differentiated past the strategy), ``local-state`` (a hook that one
process runs keeps what all need), ``skipped`` (a step gives no loss), ``metric`` (a value of one process decides for all), ``sampler``
(the trainer is told not to part the data, and nothing else does), ``unused`` (a layer that no code uses, see ``hooked_layers``);
``bases`` (library classes of modules), ``trainers`` (classes), ``several`` (values of ``strategy`` for several processes start like
these).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.hooked import Hooked, hooked_classes, processes, trainers_of_several
from distlint.checks.hooked_layers import unused_layers
from distlint.checks.logged_metrics import logged_metrics
from distlint.checks.preparing import texts_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.unparted_loaders import unparted
from distlint.link.modules import ClassRef
from distlint.link.project import Project
from distlint.link.walking import below, calls_in, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


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
                        processes(hooked),
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
                    processes(hooked),
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
            related=[processes(hooked)],
        )
        return


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
    "metric": logged_metrics,
    "sampler": _sampler,
    "unused": unused_layers,
}
