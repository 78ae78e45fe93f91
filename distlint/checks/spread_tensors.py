"""Which expressions are tensors on the device of another one: views, results and parts of it, but no sizes, and nothing that is moved.

Operations take tensors of one device only, so what is computed of a tensor is where that is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from distlint.link.arguments import find_argument
from distlint.link.project import Project
from distlint.link.walking import statements
from distlint.model import python as ir

Holds = Callable[[ir.Expr], bool]

NO_ARITHMETIC = frozenset({"and", "or", "not", "in", "not in", "is", "is not"})
"""Operators that don't compute with tensors."""

_NO_TENSORS = """
shape size ndim dim device dtype layout names numel nelement element_size item tolist numpy keys items values __len__ len stride is_cuda
is_leaf is_contiguous is_floating_point is_complex requires_grad get_device storage type cpu cuda is_tensor save manual_seed compile
device finfo iinfo result_type promote_types allclose equal is_nonzero
"""

NO_TENSORS = frozenset(_NO_TENSORS.split())
"""What a tensor is asked for, or a function gives, that is no tensor of its device."""


class Spread:
    """Tells the tensors that come from some others (``is_base``); ``more`` knows further calls that give such."""

    def __init__(
        self, project: Project, file: str, taking: Collection[str], is_base: Holds, more: Holds | None = None
    ) -> None:
        self._project = project
        self._file = file
        self._taking = taking
        self._is_base = is_base
        self._more = more

    def holds(self, expr: ir.Expr) -> bool:
        """Whether an expression is such a tensor."""
        if self._is_base(expr):
            return True
        if type(expr) is ir.Subscript:
            return self.holds(expr.base)
        if type(expr) is ir.Attribute:
            return expr.name not in NO_TENSORS and self.holds(expr.base)
        if type(expr) is ir.Operation:
            return expr.operators[0] not in NO_ARITHMETIC and any(map(self.holds, expr.operands))
        if type(expr) is ir.Conditional:
            return self.holds(expr.body) and self.holds(expr.orelse)
        return type(expr) is ir.Call and self._is_given(expr)

    def _is_given(self, call: ir.Call) -> bool:
        return self._stays(call) or (self._more is not None and self._more(call))

    def _stays(self, call: ir.Call) -> bool:
        """Whether what a call gives is where its tensors are."""
        device, _ = find_argument(call, "device", None)
        if device is not None:
            return type(device) is ir.Attribute and device.name == "device" and self.holds(device.base)
        name = call.func.name if type(call.func) is ir.Attribute else ""
        if takes_tensors(self._project, call, self._file, self._taking):
            return name not in NO_TENSORS and any(map(self.holds, tensors_given(call)))
        if type(call.func) is not ir.Attribute or not self.holds(call.func.base):
            return False
        return name not in NO_TENSORS and (name != "to" or self._is_like(call))

    def _is_like(self, call: ir.Call) -> bool:
        """Whether ``to`` is told a type, or to go where something of the same device is."""
        return all(map(self._is_here, (*call.args, *(word.value for word in call.keywords))))

    def _is_here(self, expr: ir.Expr) -> bool:
        if type(expr) is ir.Attribute and expr.name in ("dtype", "device"):
            return expr.name == "dtype" or self.holds(expr.base)
        return self._project.modules.dotted(expr, self._file).startswith("torch.") and type(expr) is not ir.Call


def tensors_given(call: ir.Call) -> Iterator[ir.Expr]:
    """What a call is given, also in lists."""
    for one in (*call.args, *(word.value for word in call.keywords)):
        if type(one) is ir.ListDisplay:
            yield from one.items
        else:
            yield one


def takes_tensors(project: Project, call: ir.Call, file: str, taking: Iterable[str]) -> bool:
    """Whether a call is one of a library's functions (prefixes ``taking``) that compute with the tensors that they are given."""
    dotted = project.modules.dotted(call.func, file)
    for prefix in taking:
        rest = dotted.removeprefix(prefix)
        if rest != dotted and "." not in rest and rest.islower():
            return True
    return False


def stored(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[str, ir.Expr | None, bool]]:
    """The variables that a function binds, with what is written there; the last says whether the value is taken apart."""
    for statement in statements(body):
        pairs: list[tuple[ir.Expr, ir.Expr | None, bool]] = []
        if type(statement) is ir.Assign:
            pairs = [(target, statement.value, False) for target in statement.targets]
        elif type(statement) is ir.For:
            pairs = [(statement.target, statement.iterable, True)]
        for target, value, parts in pairs:
            if type(target) is ir.Name:
                yield target.id, value, parts
            elif type(target) is ir.ListDisplay:
                yield from _apart(target, value)


def _apart(target: ir.ListDisplay, value: ir.Expr | None) -> Iterator[tuple[str, ir.Expr | None, bool]]:
    alike = type(value) is ir.ListDisplay and len(value.items) == len(target.items)
    for at, item in enumerate(target.items):
        if type(item) is ir.Name:
            yield item.id, value.items[at] if alike else value, not alike  # type: ignore[union-attr]
        elif type(item) is ir.ListDisplay:
            yield from _apart(item, value.items[at] if alike else value)  # type: ignore[union-attr]
