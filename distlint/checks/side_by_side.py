"""Whether two jobs that files of a project start run at the same time on one host.

Shells run a command beside the next one behind ``&``, Python behind ``Popen``, and a composition of containers runs all
services at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from distlint.checks.written_commands import commands_in, loops_around
from distlint.link.process_loops import loop_count
from distlint.link.project import CallSite, Project
from distlint.link.python_commands import BESIDE
from distlint.link.walking import guards_of, statements
from distlint.model import python as ir
from distlint.model.launch import Launch, exclusive
from distlint.model.shell import Carried, For, ShellFacts, While
from distlint.model.span import Span

_WAITS = frozenset({"wait", "fg", "kill", "pkill", "killall"})
_WAITING = re.compile(r"wait|join|communicate|kill|terminate|poll|stop|finish|shut|close|exit|result|drain")


def run_side_by_side(project: Project, first: Launch, second: Launch) -> bool:
    """Whether the second, which stands behind the first in a file, is started while that one runs."""
    if first.span == second.span or exclusive(first, second):
        return False
    if _in_services(project, first, second):
        return True
    if not first.background or first.branch != second.branch:
        return False
    shell = _shell_around(project, first)
    if shell is not None:
        between = (first.span.end, second.span.start)
        is_one = any(command.span == second.span for command in commands_in(shell.statements))
        return is_one and not any(between[0] <= span.start <= between[1] for span in _waits(shell.statements))
    return _in_program(project, first, second)


def loop_of_jobs(project: Project, launch: Launch) -> Span | None:
    """The loop that starts a launch in the background again and again, without waiting for the one before."""
    if not launch.background:
        return None
    shell = _shell_around(project, launch)
    if shell is None:
        return _loop_of_program(project, launch)
    for loop in loops_around(shell, launch.span):
        literal = isinstance(loop, For) and loop.words is not None and all(w.literal is not None for w in loop.words)
        words = loop.words if isinstance(loop, For) and literal else ()
        several = words is not None and (len(words) > 1 or any("{" in (word.literal or "") for word in words))
        if several and not any(True for _ in _waits(loop.body)) and _is_fixed(launch, loop):
            return loop.span
    return None


def _shell_around(project: Project, launch: Launch) -> ShellFacts | None:
    """The script in which a command stands: a file of its own, or a part of another file."""
    facts = project.facts.get(launch.file)
    if facts is None:
        return None
    if facts.shell is not None:
        return facts.shell
    carried = _carried_around(project, launch)
    return carried.facts if carried is not None else None


def _carried_around(project: Project, launch: Launch) -> Carried | None:
    facts = project.facts.get(launch.file)
    for carried in facts.carried if facts is not None else ():
        if any(command.span == launch.span for command in commands_in(carried.facts.statements)):
            return carried
    return None


def _waits(body: object) -> Iterator[Span]:
    """The commands that let time pass until jobs end: ``wait`` by any form, ``fg``, ``kill``."""
    for command in commands_in(body):
        if command.words and command.words[0].literal in _WAITS:
            yield command.span


def _is_fixed(launch: Launch, loop: For | While) -> bool:
    """Whether the port is written as it is in a loop: it has no part that a turn of the loop may change."""
    given = launch.options.get("port")
    if given is None:
        return True
    commands = [command for command in commands_in(loop.body) if command.span == launch.span]
    words = [word for command in commands for word in command.words if word.span.start >= given.span.start]
    return bool(words) and all(word.literal is not None for word in words if word.span.end <= given.span.end)


# Containers ----------------------------------------------------------------------------------------------------------


def _in_services(project: Project, first: Launch, second: Launch) -> bool:
    """Whether both are services of one composition that use the network of the host."""
    one, other = _carried_around(project, first), _carried_around(project, second)
    return one is not None and other is not None and one is not other and one.on_host and other.on_host


# Python --------------------------------------------------------------------------------------------------------------


def _call_of(project: Project, launch: Launch) -> CallSite | None:
    """The call by which a program starts a command beside itself."""
    if launch.file not in project.python_files:
        return None
    return next((found for found in project.calls_to(BESIDE) if found.span.contains(launch.span)), None)


def _body(project: Project, found: CallSite) -> tuple[ir.Stmt, ...]:
    module = project.module(found.file)
    return module.body if found.site.function < 0 else module.functions[found.site.function].body


def _in_program(project: Project, first: Launch, second: Launch) -> bool:
    found = _call_of(project, first)
    if found is None or first.file != second.file:
        return False
    body, at = _body(project, found), found.site.call.at
    later = ir.pack(*second.span.start, *second.span.end)
    before, after = guards_of(body, at), guards_of(body, later)
    if before is None or after is None or any(guard.kind in ("for", "while", "except") for guard in after):
        return False
    path = [(guard.at, guard.holds) for guard in after]
    if [(guard.at, guard.holds) for guard in before] != path[: len(before)] or _is_left(body, at, later):
        return False
    return not any(first.span.start <= place < second.span.start for place in _waiting_calls(project, found.file))


def _is_left(body: tuple[ir.Stmt, ...], at: ir.Position, later: ir.Position) -> bool:
    """Whether a ``with`` around the first call ends, which waits for it, before the second."""
    return any(
        isinstance(statement, ir.With)
        and any(ir.encloses(item.at, at) for item, _ in statement.items)
        and not ir.encloses(statement.at, later)
        for statement in statements(body)
    )


def _waiting_calls(project: Project, file: str) -> Iterator[tuple[int, int]]:
    """Where calls start that may let time pass until processes end."""
    for name, sites in project.module(file).calls.items():
        if _WAITING.search(name.lower()):
            yield from (ir.unpack(site.call.at, file).start for site in sites)


def _loop_of_program(project: Project, launch: Launch) -> Span | None:
    found = _call_of(project, launch)
    if found is None:
        return None
    count = loop_count(project, found)
    if count is None:
        return None
    turns = project.evaluator(None).value(count, found.file, found.site.function).only
    loops = [
        loop
        for loop in statements(_body(project, found))
        if isinstance(loop, ir.For) and ir.encloses(loop.at, found.site.call.at)
    ]
    around = ir.unpack(loops[-1].at, found.file) if loops else found.span
    waits = any(around.start <= place <= around.end for place in _waiting_calls(project, found.file))
    return around if isinstance(turns, int) and turns > 1 and not waits and len(loops) < 2 else None
