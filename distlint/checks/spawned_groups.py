"""Processes that a program starts itself, and that meet at an address which nobody gives.

Parameters: ``starters`` (library functions that start processes), ``groups`` (functions that join the group by the
environment), ``given-by`` (arguments any of which gives the address), ``variables`` (that hold it), ``of-nodes`` (variables that tell
a process which node it is on: who sets one for each node gives the address with it).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.local_rank import mentions
from distlint.checks.registry import CheckContext, check
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("spawned-groups")
def spawned_groups(context: CheckContext) -> Iterator[Finding]:
    """A finding for each group that spawned processes join by variables which neither program nor launch sets."""
    project: Project = context.project
    parameters = context.parameters
    variables = frozenset(parameters["variables"])
    for starter in project.calls_to(set(parameters["starters"])):
        closure = project.closure(starter.file)
        groups = [site for site in project.calls_to(set(parameters["groups"])) if site.file in closure]
        if not groups or not all(_by_environment(context, site) for site in groups):
            continue
        if mentions(project, closure, variables | set(parameters["of-nodes"])) or not _is_plain(
            project, starter.file, variables
        ):
            continue
        yield context.finding(
            f"the spawned processes look for `{min(variables)}`, which nothing in the program sets",
            groups[0].span,
            related=[Related(starter.span, "the processes are started here, with the environment as it is")],
        )


def _by_environment(context: CheckContext, site: CallSite) -> bool:
    """Whether a call certainly takes the address from the environment."""
    call = site.site.call
    if any(type(argument) is ir.Starred for argument in call.args) or len(call.args) > 1:
        return False
    given = {keyword.name: keyword.value for keyword in call.keywords}
    if None in given or any(name in given for name in context.parameters["given-by"]):
        return False
    method = given.get("init_method")
    return method is None or (type(method) is ir.Constant and str(method.value) in ("env://", "None"))


def _is_plain(project: Project, file: str, variables: frozenset[str]) -> bool:
    """Whether every launch that reaches a file leaves the variables unset; a program that nobody starts counts too."""
    launches = [run.launch for run in project.runs_reaching(file) if run.launch is not None]
    return not any(name in launch.environment or name in launch.provides for launch in launches for name in variables)
