"""A local rank that is asked for under the names of other launchers only, in a program that one starts which sets none of these.

Parameters: ``setters`` (library functions that choose a device: parameters with their positions), ``told`` (the variables that the
launcher sets: ``rank``, ``world`` and ``local``), ``words`` (how its launches are written), ``schedulers`` (words of other launches),
``joins`` (library functions that join the job), ``hiding`` (variables that say which devices a process sees).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from distlint.checks.asked_variables import Asked, asked_variables
from distlint.checks.devices_by_rank import index_in_text, on_device
from distlint.checks.environment_stores import environment_stores
from distlint.checks.programs import family
from distlint.checks.rank_names import PER_PROCESS
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.mentions import mentioned_beside
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, expressions_below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related, Severity
from distlint.model.launch import Launch

_NOTHING = frozenset({0, "0", -1, "-1"})
"""What a process takes for its local rank where nobody tells it."""


class _Kinds(NamedTuple):
    """The variables of other launchers with the local rank, and those with the rank."""

    local: frozenset[str]
    rank: frozenset[str]


@check("foreign-local-rank")
def foreign_local_rank(context: CheckContext) -> Iterator[Finding]:
    """A finding for each choice of a device by such a number."""
    project: Project = context.project
    told = set(context.parameters["told"].values())
    sources = {name[1:]: kind for spec in project.specs for name, kind in spec.rank_sources if name.startswith("$")}
    kinds = _Kinds(
        *(
            frozenset(name for name, kind in sources.items() if kind == wanted and name not in told)
            for wanted in ("local-rank", "rank")
        )
    )
    asking = {file for file in project.python_files if any(name in project.text_of(file) for name in kinds.local)}
    if not asking:
        return
    seen = set()
    said: dict[str, AbstractSet[str]] = {}
    wanted = {*told, *kinds.local, *kinds.rank, *context.parameters["hiding"], *_options(context)}
    for site, index in _indexes(context):
        files = family(project, site.file)
        if asking.isdisjoint(files):
            continue
        for file in files - said.keys():
            text = project.text_of(file)
            named = {word for word in wanted if word in text}
            said[file] = named.intersection(_texts(project, file)) if named else frozenset()
        words = frozenset[str]().union(*(said[file] for file in files))
        if not words & kinds.local or _comes_otherwise(context, files, words, told | kinds.local):
            continue
        asked = asked_variables(project, index, site.file, site.site.function)
        if asked is None or not asked.names or not set(asked.names) <= kinds.local or not asked.defaults & _NOTHING:
            continue
        first = min(asked.names.values(), key=lambda span: (span.file, span.line, span.column))
        if first in seen:
            continue
        shown = _shown(context, site.file, files, words, kinds)
        if shown is not None:
            seen.add(first)
            yield _finding(context, site, index, asked, shown)


def _finding(context: CheckContext, site: CallSite, index: ir.Expr, asked: Asked, shown: Launch | str) -> Finding:
    first = min(asked.names.values(), key=lambda span: (span.file, span.line, span.column))
    names = ", ".join(f"`{name}`" for name in asked.names)
    related = [
        Related(ir.unpack(index.at, site.file), "this is the number of the device, the same in all processes of a node")
    ]
    local = context.parameters["told"]["local"]
    if isinstance(shown, Launch):
        related.append(Related(shown.span, f"`{shown.launcher}` tells each process its local rank by `{local}`"))
        message = f"the local rank is looked for under {names} only, and `{shown.launcher}` sets `{local}`"
        return context.finding(message, first, related=related)
    message = (
        f"the local rank is looked for under {names} only, and the rank under `{shown}` too, which comes with `{local}`"
    )
    return context.finding(message, first, related=related, severity=Severity.WARNING)


def _shown(
    context: CheckContext, file: str, files: frozenset[str], words: frozenset[str], kinds: _Kinds
) -> Launch | str | None:
    """What shows that the program is started by who sets none of the variables: a launch, or the name under which it asks for the rank."""
    project: Project = context.project
    told = context.parameters["told"]
    runs = project.runs_reaching(file)
    for run in runs:
        launch = run.launch
        if launch is None or not set(told.values()) <= launch.provides or kinds.local & launch.environment.keys():
            continue
        processes = launch.processes_per_node.only
        if isinstance(processes, int) and processes > 1:
            return launch
    if runs or not {told["rank"], told["world"]} <= words:
        return None
    if not any(site.file in files for site in project.calls_to(set(context.parameters["joins"]))):
        return None
    written = any(word in project.text_of(one) for word in context.parameters["words"] for one in files)
    if not written and (not words & kinds.rank or mentioned_beside(project, context.parameters["schedulers"])):
        return None
    return str(told["rank"])


def _comes_otherwise(context: CheckContext, files: frozenset[str], words: frozenset[str], names: set[str]) -> bool:
    """Whether the program asks for the local rank in another way, is told it, starts its processes, or hides devices from them."""
    project: Project = context.project
    local = context.parameters["told"]["local"]
    if {local, *_options(context), *context.parameters["hiding"]} & words:
        return True
    if mentioned_beside(project, context.parameters["hiding"]):
        return True
    if any(name in project.module(file).calls for file in files for name in PER_PROCESS):
        return True
    return any(store.file in files for store in environment_stores(project, names))


def _options(context: CheckContext) -> tuple[str, str]:
    """The options by which a launcher may tell the local rank."""
    option = f"--{context.parameters['told']['local'].lower()}"
    return option, option.replace("_", "-")


def _texts(project: Project, file: str) -> Iterator[str]:
    """The texts that stand in a file."""
    for _, body in bodies_of(project.module(file)):
        for part in expressions_below(body):
            if type(part) is ir.Constant and isinstance(part.value, str):
                yield part.value


def _indexes(context: CheckContext) -> Iterator[tuple[CallSite, ir.Expr]]:
    """The numbers of devices that a program gives to library calls, by themselves or in the name of a device."""
    project: Project = context.project
    setters = context.parameters["setters"]
    for site in project.calls_to(set(setters)):
        for name, position in setters[site.name]:
            given, _ = find_argument(site.site.call, name, position)
            if given is None:
                continue
            given = on_device(given)
            if type(given) is ir.ListDisplay and len(given.items) == 1:
                given = given.items[0]
            written = followed(given, project.flow(site.file, site.site.function).before(site.site.call.at))
            inner = index_in_text(on_device(written))
            if inner is not None:
                yield site, inner
            elif type(given) is not ir.Constant:
                yield site, given
