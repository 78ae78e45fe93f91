"""A script that takes its rank from the environment, started by something that does not set it.

Parameters: ``launchers`` (plain starters), ``schedulers`` (what may stand around these: they set variables of their own
only), ``variables`` (what a process of a job needs), ``callees`` (library functions that read them), and ``given-by``
(of a callee: arguments any of which makes it do without); ``discoverers`` (library functions that ask the scheduler's
message passing for what is missing, and set the variables); ``callees-only`` (whether the program's own reads of the
variables are left out); ``unless-pinned`` (packages with which the callees do without); ``read`` (what the callees read, if not the
variables of torch's rendezvous); ``hints`` (words in the file of the launch after which something else may set the variables).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from distlint.checks.execution import Execution, body_of
from distlint.checks.registry import CheckContext, check
from distlint.frameworks.witnessed import witnessed_calls
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related, Severity
from distlint.model.launch import Launch, Run
from distlint.model.span import Span
from distlint.model.value import Confidence
from distlint.rehearsal.witness import Seen, SeenCall

_STORES = frozenset({"setdefault", "update", "putenv"})
_SPAWNERS = frozenset({"spawn", "start_processes", "Process", "Popen", "check_call", "run", "call", "elastic_launch"})


_READ_BY_CALLEES = frozenset({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})


class Need(NamedTuple):
    """A place that fails without a variable of the environment."""

    span: Span
    what: str
    function: int
    at: ir.Position


@check("rank-environment")
def rank_environment(context: CheckContext) -> Iterator[Finding]:
    """A finding for every plain start of a script that certainly comes to a place which needs a rank."""
    project: Project = context.project
    parameters = context.parameters
    needs: dict[str, list[Need]] | None = None
    discovering = {site.file for site in project.calls_to(set(parameters.get("discoverers", ())))}
    for run in project.runs:
        launch = run.launch
        if launch is None or launch.launcher not in parameters["launchers"]:
            continue
        if launch.outer is not None and launch.outer.launcher not in parameters.get("schedulers", ()):
            continue
        if needs is None:
            needs = _needs(context)
        if any(hint in project.text_of(launch.file) for hint in parameters.get("hints", ())):
            continue
        missing = [
            name for name in parameters["variables"] if name not in launch.provides and name not in launch.environment
        ]
        if not missing:
            continue
        closure = project.closure(run.script_file)
        view = project.environments.for_file(run.script_file)
        if any(view.span(package) is not None for package in parameters.get("unless-pinned", ())):
            continue
        if _provided_by_program(project, closure) or (launch.outer is not None and discovering & closure):
            continue
        read = frozenset(parameters.get("read", _READ_BY_CALLEES))
        need = _first_reached(project, run, needs, missing, read)
        if need is None and read & set(missing):
            need = _seen(context, run, closure)
        if need is not None:
            yield _finding(context, launch, need)


def _finding(context: CheckContext, launch: Launch, need: Need) -> Finding:
    starter = f"plain `{launch.launcher}`" if launch.outer is None else f"`{launch.outer.launcher}`"
    return context.finding(
        f"{need.what}, but {starter} does not set it",
        launch.span,
        # The environment that a job is submitted with may hold more than we see.
        severity=None if launch.outer is None else Severity.WARNING,
        related=[Related(need.span, "needed here")],
        confidence=Confidence.LIKELY,
        symbol=launch.script_file,
    )


def _first_reached(
    project: Project, run: Run, needs: Mapping[str, list[Need]], missing: list[str], read: frozenset[str]
) -> Need | None:
    execution = Execution(project, run)
    for file in sorted(project.closure(run.script_file), key=lambda path: (path != run.script_file, path)):
        for need in needs.get(file, ()):
            named = need.what.split("`")[1]
            needed = {named} if named.isupper() else read
            if needed & set(missing) and execution.reaches(file, need.function, need.at):
                return need
    return None


def _seen(context: CheckContext, run: Run, closure: frozenset[str]) -> Need | None:
    """The first call that the run was seen to make by another name (``LAUNCHERS[name](...)``), where such names are handed around."""
    project: Project = context.project
    callees = set(context.parameters["callees"])
    lasts = {name.rpartition(".")[2] for name in callees}
    if not any(_is_handed_around(project.text_of(file), name) for file in sorted(closure) for name in sorted(lasts)):
        return None
    direct = {site.span for site in project.calls_to(callees)}
    for found, one, seen in witnessed_calls(project, callees, direct):
        without = tuple(context.parameters.get("given-by", {}).get(seen.name, ()))
        if one is run and not seen.is_open and _asks_environment(seen, without):
            return Need(found.span, _what(context, seen.name), found.site.function, found.site.call.at)
    return None


def _asks_environment(seen: SeenCall, without: tuple[str, ...]) -> bool:
    """Whether nothing that a call got stands in for the environment."""
    given = dict(seen.keywords)
    method = given.get("init_method", Seen("plain", None))
    if method is None or method.kind != "plain" or not str(method.value or "env://").startswith("env://"):
        return False
    return not given.keys() & set(without) and not (without and len(seen.positional) > 1)


def _is_handed_around(text: str, name: str) -> bool:
    """Whether a name stands somewhere else than in imports and in front of arguments."""
    found = re.finditer(rf"^(?!\s*(?:from|import)\b).*\b{name}\b(?!\s*\()", text, re.MULTILINE) if name in text else ()
    return any(True for _ in found)


def _what(context: CheckContext, callee: str) -> str:
    given = context.parameters.get("read")
    return f"`{callee.rpartition('.')[2]}` takes rank and world size from {f'`{given[0]}`' if given else 'the environment'}"


def _needs(context: CheckContext) -> dict[str, list[Need]]:
    """The places that need a rank, by file."""
    found: dict[str, list[Need]] = {}
    project: Project = context.project
    variables = frozenset(context.parameters["variables"])
    for file in () if context.parameters.get("callees-only") else project.python_files:
        module = project.module(file)
        if "environ" not in module.attributes and not any(item.name == "environ" for item in module.imports):
            continue
        for function in range(-1, len(module.functions)):
            for span, name, at in _subscripts(project, file, function):
                if name in variables:
                    found.setdefault(file, []).append(
                        Need(span, f"the script reads `{name}` from the environment", function, at)
                    )
    for site in project.calls_to(set(context.parameters["callees"])):
        without = context.parameters.get("given-by", {}).get(site.name, ())
        if _reads_environment(project, site.site, site.file, tuple(without)):
            need = Need(site.span, _what(context, site.name), site.site.function, site.site.call.at)
            found.setdefault(site.file, []).append(need)
    return found


def _reads_environment(project: Project, site: ir.Site, file: str, without: tuple[str, ...]) -> bool:
    """Whether a call certainly takes the rank from the environment: nothing given stands in for it."""
    call = site.call
    if any(keyword.name is None or keyword.name in without for keyword in call.keywords):
        return False
    if any(type(argument) is ir.Starred for argument in call.args) or (without and len(call.args) > 1):
        return False
    for keyword in call.keywords:
        if keyword.name == "init_method":
            value = project.evaluator(None).value(keyword.value, file, site.function)
            return value.is_known and (value.only is None or str(value.only).startswith("env://"))
    return True


def _subscripts(project: Project, file: str, function: int) -> Iterator[tuple[Span, str, ir.Position]]:
    """The reads ``os.environ["NAME"]`` in a function, those that a store targets left out."""
    for statement in statements(body_of(project, file, function)):
        targets = statement.targets if type(statement) is ir.Assign else ()
        for expr in expressions_of(statement):
            if any(expr is target for target in targets):
                continue
            for part in below(expr):
                if (
                    type(part) is ir.Subscript
                    and type(part.index) is ir.Constant
                    and _is_environment(project, part.base, file)
                ):
                    yield ir.unpack(part.at, file), str(part.index.value), part.at


def _is_environment(project: Project, expr: ir.Expr, file: str) -> bool:
    return project.modules.dotted(expr, file) == "os.environ"


def _provided_by_program(project: Project, files: frozenset[str]) -> bool:
    """Whether the program may set the variables itself, or starts processes that it may set them for."""
    for file in files:
        facts = project.file_facts(file)
        module = facts.module if facts is not None else None
        if module is None:
            continue
        if any(name in module.calls for name in _SPAWNERS):
            return True
        mentioned = "environ" in module.attributes or any(item.name == "environ" for item in module.imports)
        if mentioned and _stores(project, module, file):
            return True
    return False


def _stores(project: Project, module: ir.Module, file: str) -> bool:
    for name in _STORES:
        for site in module.calls.get(name, ()):
            func = site.call.func
            if type(func) is ir.Attribute and (_is_environment(project, func.base, file) or name == "putenv"):
                return True
    for body in (module.body, *(function.body for function in module.functions)):
        for statement in statements(body):
            for target in statement.targets if type(statement) is ir.Assign else ():
                if type(target) is not ir.Subscript or not _is_environment(project, target.base, file):
                    continue
                if type(target.index) is not ir.Constant or _concerns_ranks(str(target.index.value)):
                    return True
    return False


def _concerns_ranks(name: str) -> bool:
    return any(word in name for word in ("RANK", "WORLD_SIZE", "MASTER_"))
