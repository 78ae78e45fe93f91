"""What a framework may say of its functions and objects in a rehearsal; what it does not say is not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.values import Given, Made, Tensor

if TYPE_CHECKING:
    from distlint.link.project import Project


class Models:
    """The questions that the rehearsal asks of every framework (``FrameworkSpec.rehearsed``), with no answers."""

    def owns(self, name: str) -> bool:
        """Whether a function is followed here with all that it does, though descriptions name it as well."""
        return False

    def call(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a library function gives; ``NotImplemented`` where that is not known."""
        return NotImplemented

    def method(self, player: Any, receiver: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a method gives; ``NotImplemented`` where that is not known."""
        return NotImplemented

    def called_object(self, player: Any, callee: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What calling an object gives; ``NotImplemented`` where that is not known."""
        return NotImplemented

    def called_thing(self, player: Any, thing: Any, method: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """What calling an object of the project gives, by the method of its class that does it."""
        return NotImplemented

    def inherited(self, player: Any, thing: Any, name: str) -> Any:
        """What an object of a class of the project has from a library's class; ``NotImplemented`` where that is not known."""
        return NotImplemented

    def encloses(self, name: str) -> bool:
        """Whether a library's decorator executes a function inside the context that calling the decorator makes."""
        return False

    def constant(self, player: Any, name: str) -> Any:
        """What a library's name stands for where that is known on the way that the process has gone; ``NotImplemented`` for others."""
        return NotImplemented

    def told(self, player: Any, name: str, call: ir.Call, scope: Any) -> Any:
        """A function is called that tells a process its place; ``NotImplemented`` where that is all."""
        return NotImplemented

    def drawn(self, name: str, given: Given, value: Any, span: Span) -> Any:
        """What a generator of random numbers gives, of which ``value`` says what tells it; ``NotImplemented`` where no more is known."""
        return NotImplemented

    def harmless(self, name: str) -> bool:
        """Whether a library's function that is not followed certainly does nothing to what processes have together."""
        return False

    def built(self, player: Any, thing: Any, given: Given) -> None:
        """An object of the project is made by the constructor of a library's class."""

    def holds_buffers(self, made: Made) -> bool:
        """Whether the module that an object wraps certainly holds buffers."""
        return False

    def stored(self, player: Any, base: Any, name: str, value: Any, span: Span) -> None:
        """A value becomes an attribute of an object."""

    def handed(self, player: Any, values: Iterable[Any]) -> None:
        """Values go where nobody sees what is done with them."""

    def unfollowed(self, player: Any, items: Iterable[Any]) -> None:
        """The turns of a loop that goes through these items are not followed: they do with them what the first ones do with theirs."""

    def missed(self, player: Any, callee: Any) -> None:
        """Something is called that nobody sees."""

    def changed(self, player: Any, tensor: Tensor, how: str, others: list[Any], span: Span | None = None) -> None:
        """A tensor was changed in place."""

    def follows_rows(self, project: Project) -> bool:
        """Whether a program may put rows together that stand in different orders (``rehearsal.row_orders``)."""
        return False

    def rows(self, player: Any, callee: Any, given: Given, found: Any, span: Span) -> None:
        """A function, a method or an object of a library was called: says in which order the rows of its result stand."""

    def attribute_rows(self, player: Any, base: Any, name: str) -> Any:
        """In which order the rows of ``base.name`` stand (``rehearsal.row_orders.Mark``); ``None`` where that is not known."""
        return None

    def is_data(self, value: Any) -> bool:
        """Whether something is a data set of a library, whose rows are asked for by their numbers."""
        return False

    def is_table(self, value: Any) -> bool:
        """Whether something is a table whose columns are as long as it is."""
        return False

    def entered(self, player: Any, manager: Any, span: Span) -> None:
        """A context manager is entered."""

    def left(self, player: Any, manager: Any, span: Span) -> None:
        """A context manager is left."""
