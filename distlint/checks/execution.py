"""Which places of a program a run certainly reaches, as far as that can be told without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.arithmetic import truth
from distlint.link.modules import FunctionRef
from distlint.link.walking import Guard, asks_for_main, blocks_of, guards_of
from distlint.model import python as ir
from distlint.model.launch import Run

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_CALL_CHAIN = 8
"""Calls that are followed backwards from a place to the script's own top level."""


class Execution:
    """Answers for one run whether a place is reached whatever the data say.

    A place is reached if no test around it can be false for this run, and the function that holds it is called from
    such a place; the chain ends at the top level of the script, or of a module that it imports.
    """

    def __init__(self, project: Project, run: Run) -> None:
        self._project = project
        self._run = run
        self._evaluator = project.evaluator(run)
        self._closure = project.closure(run.script_file)
        self._functions: dict[tuple[str, int], bool] = {}

    def reaches(self, file: str, function: int, at: ir.Position) -> bool:
        """Whether an expression of a function (-1: the module's top level) is certainly evaluated."""
        return self._reaches(file, function, at, 0)

    def _reaches(self, file: str, function: int, at: ir.Position, depth: int) -> bool:
        if file not in self._closure or depth > MAX_CALL_CHAIN:
            return False
        body = body_of(self._project, file, function)
        guards = guards_of(body, at)
        if guards is None or handles_errors_around(body, at):
            return False
        return all(self._passes(guard, file, function) for guard in guards) and self._entered(file, function, depth)

    def _passes(self, guard: Guard, file: str, function: int) -> bool:
        if guard.test is None or guard.kind == "for":
            return False
        if asks_for_main(guard.test):
            return guard.holds is (file == self._run.script_file)
        return truth(self._evaluator.ask(guard.test, file, function)) is guard.holds

    def _entered(self, file: str, function: int, depth: int) -> bool:
        if function < 0:
            return True
        key = (file, function)
        if key not in self._functions:
            self._functions[key] = False  # a function that only calls itself is never entered
            self._functions[key] = any(
                self._reaches(caller.file, caller.site.function, caller.site.call.at, depth + 1)
                for caller in self._project.callers(FunctionRef(file, function))
                if caller.shift == 0
            )
        return self._functions[key]


def body_of(project: Project, file: str, function: int) -> tuple[ir.Stmt, ...]:
    """The statements of a function, or of a module's top level (-1)."""
    return project.body(file, function)


def handles_errors_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
    """Whether a place lies in the body of a ``try`` that handles exceptions."""
    while True:
        holder = next((one for one in body if ir.encloses(one.at, at)), None)
        if holder is None:
            return False
        if type(holder) is ir.Try and holder.handlers and _holds(holder.body, at):
            return True
        body = next((block for block in blocks_of(holder) if _holds(block, at)), ())


def _holds(block: tuple[ir.Stmt, ...], at: ir.Position) -> bool:
    return any(ir.encloses(one.at, at) for one in block)
