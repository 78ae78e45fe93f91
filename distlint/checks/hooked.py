"""The classes whose hooks a library's trainer calls, and the trainers that run several processes.

Parameters of a rule that asks: ``bases`` (library classes of modules), ``trainers`` (classes), ``several`` (values of ``strategy`` for
several processes start like these).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import derivation
from distlint.checks.programs import family
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.document import Leaf, Sequence
from distlint.model.finding import Related
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext


class Hooked(NamedTuple):
    """A class of the project whose objects a trainer drives, with the trainer of the same program that has several processes."""

    owner: ClassRef
    trainer: CallSite
    methods: dict[str, ir.Function]
    indexes: dict[str, int]


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


def processes(hooked: Hooked) -> Related:
    """The trainer that several processes are seen of."""
    return Related(hooked.trainer.span, "this trainer runs several processes")
