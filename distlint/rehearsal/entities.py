"""What a rehearsed program names, calls and waits for: modules, classes, functions, groups of processes, operations under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.modules import ClassRef, FunctionRef
    from distlint.model import python as ir
    from distlint.rehearsal.defaults import Defaults
    from distlint.rehearsal.values import Given, Tensor


class Library(NamedTuple):
    """Something of a library, by its dotted name."""

    name: str


class ModuleValue(NamedTuple):
    """A module of the project."""

    file: str


class ClassValue(NamedTuple):
    """A class of the project."""

    ref: ClassRef


class Special(NamedTuple):
    """A function under a decorator: ``static``, ``class``, ``property``.

    ``first`` if only the main process executes it, ``remembering`` if it is executed once for the same arguments.
    """

    kind: str
    callee: Any


OF_FUNCTIONS = "attributes of functions"
"""In ``Stage.kept`` what a program stores in its functions (``function.name = value``), by function."""


class FunctionValue(NamedTuple):
    """A function of the project, with the scope it was defined in and the object that it is bound to.

    ``defaults`` are those of a function in another, which each turn of a loop may give others.
    """

    ref: FunctionRef
    scope: Any = None
    receiver: Any = None
    defaults: Defaults | None = None


class LambdaOf(NamedTuple):
    """A lambda, with the scope it was made in."""

    expr: ir.Lambda
    scope: Any
    defaults: Defaults | None = None


class Partial(NamedTuple):
    """A callable with some of its arguments."""

    callee: Any
    given: Given


class Reader(NamedTuple):
    """A function of the program that reads the text of an option, what the option is without one, and the call that declares that."""

    function: FunctionValue | ClassValue | LambdaOf | Partial | MethodOf
    default: Any
    call: ir.Call
    scope: Any


class MethodOf(NamedTuple):
    """A method of a value that is no object of a class of the project."""

    receiver: Any
    name: str


class Group:
    """A group of processes: its ranks (``None``: not known), where it was made, and which one it is of those with the same ranks."""

    __slots__ = ("along", "ended", "number", "ranks", "span")

    def __init__(self, ranks: tuple[int, ...] | None, span: Span | None = None, number: int = -1) -> None:
        self.ranks = ranks
        self.span = span
        self.number = number
        self.ended: Span | None = None
        """Where it was certainly destroyed."""
        self.along: tuple[Any, ...] = ()
        """The names of the dimensions of a grid of all processes along which its members lie."""

    @property
    def key(self) -> tuple[tuple[int, ...] | None, int]:
        """Equal for the same group on all of its members: they make groups in the same order."""
        return self.ranks, self.number


class Outside(int):
    """The -1 that stands for the place in a group, or its size, on a process that is not in it."""

    group: Group

    @classmethod
    def of(cls, group: Group) -> Outside:
        """That of a group."""
        made = cls(-1)
        made.group = group
        return made


class Work:
    """An operation under way. ``loose`` where it may have been waited for out of our sight.

    ``way`` are the tests that were not known and behind which it was begun (``Stage.way``), ``lent`` the tensors that it only reads.
    """

    __slots__ = ("done", "event", "lent", "loose", "tensors", "way")

    def __init__(self, event: Any, tensors: list[Tensor], lent: list[Tensor], way: tuple[Any, ...]) -> None:
        self.event = event
        self.tensors = tensors
        self.lent = lent
        self.way = way
        self.done = False
        self.loose = False

    @property
    def begun(self) -> Work:
        """The operation itself, of which a future may be all that a program holds."""
        return self

    @property
    def is_over(self) -> bool:
        """Whether it has been waited for."""
        return self.begun.done


class Promise(Work):
    """What an operation under way will give (``work.get_future()``), or what a function makes of that (``future.then(function)``)."""

    __slots__ = ("function", "work")

    def __init__(self, work: Work, function: Any = None) -> None:
        super().__init__(work.event, work.tensors, work.lent, work.way)
        self.work = work.begun
        self.function = function

    @property
    def begun(self) -> Work:
        """The operation itself."""
        return self.work


class Nothing:
    """The ``None`` that an operation gave back."""

    __slots__ = ("event",)

    def __init__(self, event: Any) -> None:
        self.event = event
