"""What annotations and ``isinstance`` tests say of the library class of a variable or an attribute.

An annotation is a promise of the author: the object may also be of a class below the one that is named, which is for
whoever asks to think of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.link.library_scopes import LibraryScopes, Meaning
from distlint.link.version_paths import Condition, Test, Unless, conditions_to
from distlint.link.walking import bodies_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 4
"""So deep may the wrappers of an annotation (``Final[Optional[X]]``) be."""

_WRAPPERS = frozenset({"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired"})
_UNIONS = frozenset({"Union"})
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PARTS = re.compile(r"(?:\w+\.)*(Optional|Annotated|Final|ClassVar|Union)\[(.*)\]", re.DOTALL)


class LibraryTypes:
    """Answers for a project; they are remembered by file."""

    def __init__(self, project: Project, scopes: LibraryScopes) -> None:
        self.project = project
        self.scopes = scopes
        self._declared: dict[str, dict[tuple[int, str], tuple[Meaning, ...]]] = {}
        self._attributes: dict[str, dict[tuple[int, str], tuple[Meaning, ...]]] = {}
        self._narrowed: dict[str, frozenset[str]] = {}

    def of(self, expr: ir.Expr, file: str, function: int) -> tuple[Meaning, ...]:
        """The class that a name or ``self.name`` surely has an object of; ``()`` where nothing says so."""
        last = expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""
        if last in self._tested(file) and (found := self._narrowed_to(expr, file, function)):
            return found
        if type(expr) is ir.Name:
            return self._of_name(expr.id, file, function)
        if type(expr) is ir.Attribute and type(expr.base) is ir.Name:
            return self._of_attribute(expr, file, function)
        return ()

    # Variables ---------------------------------------------------------------------------------------------------

    def _of_name(self, name: str, file: str, function: int) -> tuple[Meaning, ...]:
        declared = self._variables(file)
        if not declared:
            return ()
        while True:
            scope = self.scopes.scope(file, function)
            if name in scope.bindings and name not in scope.foreign:
                return declared.get((function, name), ()) if len(scope.bindings[name]) == 1 else ()
            if function < 0:
                return ()
            function = self.project.module(file).functions[function].parent

    def _variables(self, file: str) -> dict[tuple[int, str], tuple[Meaning, ...]]:
        """The variables with an annotation that names a class of a library, by the function that binds them."""
        if file not in self._declared:
            module = self.project.module(file)
            found: dict[tuple[int, str], tuple[Meaning, ...]] = {}
            for index, function in enumerate(module.functions):
                for one in function.parameters:
                    if one.annotation is not None and not one.kind.startswith("var-"):
                        if meanings := self.named_class(one.annotation, file, function.parent):
                            found[index, one.name] = meanings
            for index, body in bodies_of(module):
                for statement in statements(body):
                    if type(statement) is ir.Assign and statement.annotation is not None:
                        target = statement.targets[0]
                        if type(target) is ir.Name and statement.value is not None:
                            if meanings := self.named_class(statement.annotation, file, index):
                                found[index, target.id] = meanings
            self._declared[file] = found
        return self._declared[file]

    # Attributes --------------------------------------------------------------------------------------------------

    def _of_attribute(self, expr: ir.Attribute, file: str, function: int) -> tuple[Meaning, ...]:
        """``self.name`` in a method whose class says what it is: by annotation, or by an annotated parameter."""
        owner, own_name = self._enclosing(file, function)
        if owner < 0 or type(expr.base) is not ir.Name or expr.base.id != own_name:
            return ()
        return self._attributes_of(file).get((owner, expr.name), ())

    def _enclosing(self, file: str, function: int) -> tuple[int, str]:
        functions = self.project.module(file).functions
        while function >= 0:
            one = functions[function]
            if one.owner >= 0:
                return one.owner, one.parameters[0].name if one.parameters else ""
            function = one.parent
        return -1, ""

    def _attributes_of(self, file: str) -> dict[tuple[int, str], tuple[Meaning, ...]]:
        if file not in self._attributes:
            module = self.project.module(file)
            told: dict[tuple[int, str], list[tuple[Meaning, ...]]] = {}
            for index, owner in enumerate(module.classes):
                for statement in statements(owner.body):
                    if type(statement) is ir.Assign and statement.annotation is not None:
                        target = statement.targets[0]
                        if type(target) is ir.Name:
                            meanings = self.named_class(statement.annotation, file, owner.parent)
                            told.setdefault((index, target.id), []).append(meanings)
            for index, function in enumerate(module.functions):
                if function.owner >= 0 and function.parameters:
                    for name, meanings in self._stored(function, file, index):
                        told.setdefault((function.owner, name), []).append(meanings)
            self._attributes[file] = {key: found[0] for key, found in told.items() if found[0] and len(set(found)) == 1}
        return self._attributes[file]

    def _stored(self, function: ir.Function, file: str, index: int) -> Iterator[tuple[str, tuple[Meaning, ...]]]:
        """What a method stores into attributes of its object, and what that is of; ``None`` does not count."""
        own = function.parameters[0].name
        for statement in statements(function.body):
            if type(statement) is ir.Assign:
                for target in statement.targets:
                    for name in _own_attributes(target, own):
                        value = statement.value
                        if target is not statement.targets[0] or type(target) is ir.ListDisplay:
                            yield name, ()
                        elif statement.annotation is not None:
                            yield name, self.named_class(statement.annotation, file, index)
                        elif type(value) is ir.Name:
                            yield name, self._of_name(value.id, file, index)
                        elif type(value) is not ir.Constant or value.value is not None:
                            yield name, ()
            elif type(statement) is ir.AugAssign or type(statement) is ir.For:
                for name in _own_attributes(statement.target, own):
                    yield name, ()
            elif type(statement) is ir.With:
                for _, bound in statement.items:
                    for name in _own_attributes(bound, own) if bound is not None else ():
                        yield name, ()

    # Annotations -------------------------------------------------------------------------------------------------

    def named_class(self, annotation: ir.Expr, file: str, function: int) -> tuple[Meaning, ...]:
        """The library's class that an annotation names, alone or with ``None``."""
        return self._named_class(annotation, file, function, 0)

    def _named_class(self, annotation: ir.Expr, file: str, function: int, depth: int) -> tuple[Meaning, ...]:
        if depth > MAX_DEPTH:
            return ()
        kind = type(annotation)
        if kind is ir.Name or kind is ir.Attribute:
            found = self.scopes.meanings(annotation, file, function)
            return found if len(found) == 1 and found[0].name.rpartition(".")[2][:1].isupper() else ()
        parts: Iterable[ir.Expr] = ()
        if kind is ir.Constant and type(annotation.value) is str:  # type: ignore[union-attr]
            parts = _parsed(annotation.value, annotation.at)  # type: ignore[union-attr]
        elif kind is ir.Subscript:
            base, index = annotation.base, annotation.index  # type: ignore[union-attr]
            name = base.name if type(base) is ir.Attribute else base.id if type(base) is ir.Name else ""
            items = index.items if type(index) is ir.ListDisplay else (index,)
            parts = items if name in _UNIONS else items[:1] if name in _WRAPPERS else ()
        elif kind is ir.Operation and set(annotation.operators) == {"|"}:  # type: ignore[union-attr]
            parts = annotation.operands  # type: ignore[union-attr]
        wanted = [part for part in parts if type(part) is not ir.Constant or part.value is not None]
        return self._named_class(wanted[0], file, function, depth + 1) if len(wanted) == 1 else ()

    # Tests -------------------------------------------------------------------------------------------------------

    def _tested(self, file: str) -> frozenset[str]:
        """The last names of what a file asks for its class."""
        if file not in self._narrowed:
            found = set()
            for site in self.project.module(file).calls.get("isinstance", ()):
                subject = site.call.args[0] if site.call.args else None
                if type(subject) is ir.Name:
                    found.add(subject.id)
                elif type(subject) is ir.Attribute:
                    found.add(subject.name)
            self._narrowed[file] = frozenset(found)
        return self._narrowed[file]

    def _narrowed_to(self, expr: ir.Expr, file: str, function: int) -> tuple[Meaning, ...]:
        """The class that a test on the way to a place found an object to be of."""
        spelt = _spelt(expr)
        root = spelt.partition(".")[0]
        if not spelt or len(self.scopes.scope(file, function).bindings.get(root, ())) > 1:
            return ()
        module = self.project.module(file)
        body = module.functions[function].body if function >= 0 else module.body
        for condition in reversed(conditions_to(body, expr.at)):
            for call in _isinstance_calls(condition):
                if len(call.args) == 2 and _spelt(call.args[0]) == spelt:
                    classes = call.args[1]
                    if type(classes) is ir.ListDisplay and len(classes.items) == 1:
                        classes = classes.items[0]
                    return self.named_class(classes, file, function)
        return ()


def _isinstance_calls(condition: Condition) -> Iterator[ir.Call]:
    """The ``isinstance`` calls that a condition says to be true."""
    holds = True
    if type(condition) is Unless and len(condition.parts) == 1:
        condition, holds = condition.parts[0], False
    if type(condition) is not Test:
        return
    stack = [(condition.expr, condition.holds is holds)]
    while stack:
        expr, wanted = stack.pop()
        if type(expr) is ir.Call:
            if wanted and type(expr.func) is ir.Name and expr.func.id == "isinstance":
                yield expr
        elif type(expr) is ir.Operation:
            if expr.operators == ("not",):
                stack.append((expr.operands[0], not wanted))
            elif set(expr.operators) == {"and" if wanted else "or"}:
                stack.extend((one, wanted) for one in expr.operands)


def _own_attributes(target: ir.Expr, own: str) -> Iterator[str]:
    stack = [target]
    while stack:
        one = stack.pop()
        if type(one) is ir.Attribute and type(one.base) is ir.Name and one.base.id == own:
            yield one.name
        elif type(one) is ir.ListDisplay:
            stack.extend(one.items)
        elif type(one) is ir.Starred:
            stack.append(one.value)


def _spelt(expr: ir.Expr) -> str:
    """A dotted expression as text; ``""`` for any other."""
    parts: list[str] = []
    while type(expr) is ir.Attribute:
        parts.append(expr.name)
        expr = expr.base
    return ".".join([expr.id, *reversed(parts)]) if type(expr) is ir.Name else ""


def _parsed(text: str, at: ir.Position) -> list[ir.Expr]:
    """The parts of an annotation that is written as a text: ``"Optional[X]"``, ``"a.b.X | None"``."""
    text = text.strip()
    match = _PARTS.fullmatch(text)
    if match is not None:
        words = match[2].split(",")
        words = words[:1] if match[1] != "Union" else words
    else:
        words = text.split("|")
    return [part for word in words if (part := _expression(word.strip(), at)) is not None]


def _expression(text: str, at: ir.Position) -> ir.Expr | None:
    """The expression of a dotted name; a constant for ``None`` and for what is no plain name."""
    if text == "None":
        return None
    if not _DOTTED.fullmatch(text):
        return ir.Constant(0, at)
    first, *rest = text.split(".")
    expr: ir.Expr = ir.Name(first, at)
    for name in rest:
        expr = ir.Attribute(expr, name, at)
    return expr
