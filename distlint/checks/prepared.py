"""Which objects a program hands to the call that prepares them, under which engine configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.registry import CheckContext
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.subject import Subject


class Preparation(NamedTuple):
    """A call that prepares objects, in a run whose configuration is known, with what each argument can be."""

    subject: Subject
    found: CallSite
    arguments: tuple[Abstract, ...]


def preparations(context: CheckContext) -> Iterator[Preparation]:
    """The calls of ``prepare`` in the runs that a configuration of kind ``subject`` with host ``host`` is for.

    Calls with ``*arguments`` are left out, since what they hand over is not known, and so are programs that use an
    attribute of ``escapes``, through which the configuration can be changed.
    """
    project: Project = context.project
    calls = [found for name in context.parameters["prepare"] for found in project.calls_to({name})]
    if not calls:
        return
    escapes = frozenset(context.parameters.get("escapes", ()))
    for subject in context.subjects(context.parameters["subject"]):
        host = subject.names.get("host")
        if subject.run is None or host is None or host.only != context.parameters["host"]:
            continue
        closure = project.closure(subject.run.script_file)
        if any(project.module(file).attributes & escapes for file in closure if file in project.python_files):
            continue
        for found in calls:
            arguments = found.site.call.args
            if found.file in closure and arguments and not any(type(one) is ir.Starred for one in arguments):
                evaluator = project.evaluator(subject.run)
                values = (evaluator.ask(one, found.file, found.site.function) for one in arguments)
                yield Preparation(subject, found, tuple(values))


def is_made_by(project: Project, value: Abstract, prefixes: tuple[str, ...]) -> bool:
    """Whether all that a value can be are objects that calls below one of the dotted prefixes made.

    An object of a project class counts by the library classes that it derives from.
    """
    return all(_is_one(project, option, prefixes) for option in options_of(value))


def _is_one(project: Project, option: Abstract, prefixes: tuple[str, ...]) -> bool:
    if not isinstance(option, Instance):
        return False
    if isinstance(option.callee, ClassRef):
        names = project.modules.external_bases(option.callee)
        return option.part == () and any(name.startswith(prefixes) for name in names)
    return project.evaluator(None).instance_name(option).startswith(prefixes)
