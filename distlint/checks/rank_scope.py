"""Where an expression is evaluated for one process, and the objects that such an evaluation makes."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from distlint.link.flow import Env
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.model import python as ir
from distlint.model.record import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """A function (-1: the module), with what its parameters and the variables of comprehensions around are.

    ``given`` is ``None`` where nothing is known of the call; ``local`` are variables of comprehensions and lambdas;
    ``own`` is the object that the method belongs to.
    """

    file: str
    function: int
    given: dict[str, Any] | None = None
    local: dict[str, Any] = field(default_factory=dict)
    own: Made | None = None
    depth: int = 0

    def with_local(self, local: dict[str, Any]) -> Scope:
        """The same place with more variables."""
        return Scope(self.file, self.function, self.given, {**self.local, **local}, self.own, self.depth)


@dataclass(frozen=True, eq=False, slots=True)
class Made:
    """An object of a class of the project: the class, and the call that made it with where it stands."""

    owner: ClassRef
    call: ir.Call
    scope: Scope
    state: Env


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """A function or a lambda as a value; ``call`` holds the arguments that ``partial`` gave."""

    target: FunctionRef | External | ir.Lambda
    scope: Scope
    state: Env
    own: Made | None = None
    call: ir.Call | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """An object that has its keyword arguments as attributes."""

    fields: dict[str, Any]


class Common:
    """What all views of a project share: the answers that are the same on every process, whatever a view takes for granted."""

    def __init__(self) -> None:
        self.scopes: dict[tuple[str, int], Scope] = {}
        self.answers: dict[tuple[object, ...], Any] = {}
        self.outer: dict[tuple[int, int, int], tuple[Any, bool]] = {}
        self.alive: list[object] = []
