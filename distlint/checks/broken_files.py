"""Configuration files that every loader refuses, where a run is seen to load them.

Parameters: ``subjects`` (kinds whose documents are looked at), ``launchers`` (whose own configuration file is) and
``options`` (of scripts, that name such a file).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding, Related
from distlint.model.span import Span


@check("broken-files")
def broken_files(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such file, at the first place that can't be read."""
    project: Project = context.project
    reported: set[str] = set()
    for path, loaded, symbol in _loaded(context):
        facts = project.file_facts(path)
        if path in reported or facts is None or not project.documents.is_broken(path):
            continue
        reported.add(path)
        error = facts.errors[0]
        yield context.finding(
            f"`{path.rpartition('/')[2]}` can't be read: {error.message}",
            error.span,
            related=[Related(loaded, "it is loaded here")] if loaded is not None else [],
            symbol=symbol,
        )


def _loaded(context: CheckContext) -> Iterator[tuple[str, Span | None, str]]:
    """The files that runs load, and where."""
    project: Project = context.project
    for launch in project.launches:
        for flag, argument in pairwise(launch.arguments):
            if flag.text in context.parameters["options"] and argument.file:
                yield argument.file, argument.span, launch.script_file
        option = launch.options.get("config")
        if option is None or launch.launcher not in context.parameters["launchers"]:
            continue
        if launch.config is not None:
            yield launch.config.file, option.span, launch.script_file
        else:
            folders = [folder for folder in (launch.directory, launch.file.rpartition("/")[0]) if folder is not None]
            path = project.documents.path_of(option.value, launch.file, folders)
            if path:
                yield path, option.span, launch.script_file
    for kind in context.parameters["subjects"]:
        for subject in context.subjects(kind):
            for document in subject.extra.get("documents", ()):
                if document.carrier == "file" and subject.run is not None:
                    yield (
                        document.file,
                        subject.run.launch.span if subject.run.launch else None,
                        subject.run.script_file,
                    )
