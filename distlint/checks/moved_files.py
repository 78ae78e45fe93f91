"""Files that are written under one name and then given another: the first is not the one that is read later."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.model_states import ModelStates
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import calls_in, last_name
from distlint.model import python as ir

_FUNCTIONS = frozenset(
    {
        "os.replace",
        "os.rename",
        "os.renames",
        "os.link",
        "shutil.move",
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
    }
)
_METHODS = frozenset({"replace", "rename"})


def moved_paths(
    project: Project, states: ModelStates, site: CallSite, path: str, body: tuple[ir.Stmt, ...]
) -> list[str]:
    """The paths that what a call writes under one gets in the same function, behind the call."""
    frame = project.evaluator(None).frame(site.file, site.site.function)
    found = []
    for call in calls_in(body):
        if call.at <= site.site.call.at:
            continue
        for old, new in _moves(project, site.file, call):
            if states.path(old, frame) == path and (to := states.path(new, frame)):
                found.append(to)
    return found


def _moves(project: Project, file: str, call: ir.Call) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What a call gives another name: the old one and the new one."""
    func, args = call.func, call.args
    if any(type(one) is ir.Starred for one in args):
        return
    if project.modules.dotted(func, file) in _FUNCTIONS:
        old, new = find_argument(call, "src", 0)[0], find_argument(call, "dst", 1)[0]
        if old is not None and new is not None:
            yield old, new
    elif type(func) is ir.Attribute and last_name(func) in _METHODS and len(args) == 1:
        yield func.base, args[0]
