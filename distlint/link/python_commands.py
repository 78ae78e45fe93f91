"""Commands that a Python program hands to ``subprocess`` or ``os``, as command lines with holes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.link.abstract import node_of
from distlint.link.arguments import find_argument
from distlint.link.program_environment import program_environment
from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_values import Chunk, Hole, Text
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.document import Sequence as Items
from distlint.model.launch import Launch
from distlint.model.span import Span
from distlint.model.value import State, Value

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_LISTS = frozenset({"run", "Popen", "call", "check_call", "check_output"})
_TEXTS = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"})
_EXECUTED = {"os.execv": 1, "os.execvp": 1, "os.execve": 1, "os.execvpe": 1}
_SPREAD = frozenset({"os.execl", "os.execlp"})
COMMANDS = frozenset({*(f"subprocess.{name}" for name in _LISTS), *_TEXTS, *_EXECUTED, *_SPREAD})
FUNCTIONS = frozenset({*_LISTS, *(name.rpartition(".")[2] for name in COMMANDS)})
BESIDE = frozenset({"subprocess.Popen"})
"""Those that don't wait for the command to end."""
_MAX_DEPTH = 6


def command_launches(project: Project, found: CallSite, before: Sequence[str] = ()) -> list[Launch]:
    """The launches that a call makes; ``before`` are words in front of the list that it is given."""
    launches = _launches(project, found, before)
    return [replace(one, background=True) for one in launches] if found.name in BESIDE else launches


def _launches(project: Project, found: CallSite, before: Sequence[str]) -> list[Launch]:
    from distlint.link.launches import launches_of_text, launches_of_words

    call = found.site.call
    reader = _Reader(project, found.file, found.site.function)
    environment = program_environment(
        project, found, lambda expr, file, function: _Reader(project, file, function).text(expr)
    )
    launchers = [launcher for spec in project.specs for launcher in spec.launchers]
    given = find_argument(call, "args", 0)[0]
    if found.name in _TEXTS:
        given = given or (call.args[0] if call.args else None)
        text = reader.text(given) if given is not None else None
        return launches_of_text(text, found.span, launchers, project, environment) if text is not None else []
    words: list[EvaluatedWord] | None
    if found.name in _SPREAD:
        words = [EvaluatedWord((reader.text(arg),), ir.unpack(arg.at, found.file)) for arg in call.args[1:]]
    elif found.name in _EXECUTED:
        words = reader.words(call.args[1]) if len(call.args) > 1 else None
    else:
        words = reader.words(given) if given is not None else None
        if words is None and given is not None:
            text = reader.text(given)
            if not any(isinstance(piece, Chunk) and piece.text for piece in text):
                return []
            return launches_of_text(text, found.span, launchers, project, environment)
    if not words:
        return []
    front = [EvaluatedWord(((Chunk(word),),), found.span) for word in before]
    return launches_of_words([*front, *words], found.span, launchers, project, environment)


class _Reader:
    """Turns expressions of a call into words; what is not known becomes a hole."""

    def __init__(self, project: Project, file: str, function: int) -> None:
        self._project = project
        self._file = file
        self._function = function
        self._evaluator = project.evaluator(None)

    def words(self, expr: ir.Expr, depth: int = 0) -> list[EvaluatedWord] | None:
        """The words of a list; ``None`` for what is no list."""
        if depth > _MAX_DEPTH:
            return None
        span = ir.unpack(expr.at, self._file)
        if type(expr) is ir.ListDisplay:
            words: list[EvaluatedWord] = []
            for item in expr.items:
                place = ir.unpack(item.at, self._file)
                if type(item) is ir.Starred:
                    words += self.words(item.value, depth + 1) or [_rest(place)]
                else:
                    words.append(EvaluatedWord((self.text(item, depth + 1),), place))
            return words
        if type(expr) is ir.Operation and set(expr.operators) == {"+"}:
            parts = [self.words(operand, depth + 1) for operand in expr.operands]
            if all(part is None for part in parts):
                return None
            return [word for part in parts for word in (part if part is not None else [_rest(span)])]
        if type(expr) is ir.Call and (split := self._split(expr)) is not None:
            return self._fields(self.text(split, depth + 1), span)
        node = node_of(self._evaluator.ask(expr, self._file, self._function), span)
        if isinstance(node, Items):
            words = [
                EvaluatedWord((_text(item.value if isinstance(item, Leaf) else None),), item.span)
                for item in node.items
            ]
            assigned = self._assigned(expr, listed=True)
            own = self.words(assigned, depth + 1) if assigned is not None else None
            if own is not None and len(own) == len(words):
                words = own
            return [*words, _rest(span)] if node.open else words
        assigned = self._assigned(expr, listed=True)
        return self.words(assigned, depth + 1) if assigned is not None else None

    def text(self, expr: ir.Expr, depth: int = 0) -> Text:
        """The text of an expression, with holes."""
        span = ir.unpack(expr.at, self._file)
        name = self._project.modules.dotted(expr, self._file)
        if name == "sys.executable":
            return (Chunk("python"),)
        value = self._evaluator.value(expr, self._file, self._function)
        if value.is_known or depth > _MAX_DEPTH:
            return _text(value)
        if type(expr) is ir.Formatted:
            return tuple(piece for part in expr.parts for piece in self.text(part, depth + 1))
        if type(expr) is ir.Operation and set(expr.operators) == {"+"}:
            return tuple(piece for operand in expr.operands for piece in self.text(operand, depth + 1))
        if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name == "join" and expr.args:
            words = self.words(expr.args[0], depth + 1)
            if words is not None:
                blank = (Chunk(" "),)
                return tuple(piece for word in words for piece in (*word.texts[0], *blank))
        if type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "str" and len(expr.args) == 1:
            return self.text(expr.args[0], depth + 1)
        assigned = self._assigned(expr)
        if assigned is not None:
            return self.text(assigned, depth + 1)
        last = name.rpartition(".")[2] if name else ""
        return (Hole(last.upper() if last.isidentifier() else "VALUE", "is only known when the program runs", (span,)),)

    def _split(self, call: ir.Call) -> ir.Expr | None:
        """The text that ``shlex.split(text)`` or ``text.split()`` takes apart."""
        if self._project.modules.dotted(call.func, self._file) == "shlex.split" and call.args:
            return call.args[0]
        if type(call.func) is ir.Attribute and call.func.name == "split" and not call.args:
            return call.func.base
        return None

    def _fields(self, text: Text, span: Span) -> list[EvaluatedWord]:
        from distlint.link.shell_fields import fields

        pieces = [piece._replace(split=True) if isinstance(piece, Chunk) else piece for piece in text]
        return [EvaluatedWord((field,), span) for field in fields(tuple(pieces))]

    def _assigned(self, expr: ir.Expr, *, listed: bool = False) -> ir.Expr | None:
        """What a variable was last set to, where a single statement of the function sets it; ``listed`` for a list."""
        if type(expr) is not ir.Name:
            return None
        module = self._project.module(self._file)
        index = self._function
        bodies = [module.functions[index].body, module.body] if index >= 0 else [module.body]
        for body in bodies:
            found = _statements(body)
            if not listed and any(_changes(statement, expr.id) for statement in found):
                return None
            values = [
                statement.value
                for statement in found
                if type(statement) is ir.Assign
                and any(type(target) is ir.Name and target.id == expr.id for target in statement.targets)
            ]
            if values:
                return values[0] if len(values) == 1 and values[0] is not expr else None
        return None


def _changes(statement: object, name: str) -> bool:
    """Whether a statement adds to a variable, or gives it another value in each turn of a loop."""
    target = statement.target if isinstance(statement, ir.AugAssign | ir.For) else None
    return type(target) is ir.Name and target.id == name


def _statements(body: Sequence[object]) -> list[object]:
    """The statements of a body, those inside of its blocks included."""
    found: list[object] = []
    stack: list[object] = list(body)
    while stack and len(found) < 2000:
        statement = stack.pop()
        found.append(statement)
        for name in getattr(statement, "__dataclass_fields__", ()):
            inner = getattr(statement, name)
            if isinstance(inner, tuple) and name in ("body", "orelse", "handlers", "finalbody", "branches"):
                stack += [one for one in inner if hasattr(one, "__dataclass_fields__")]
                stack += [one for pair in inner if isinstance(pair, tuple) for one in pair]
                stack += [
                    s
                    for pair in inner
                    if isinstance(pair, tuple)
                    for one in pair
                    if isinstance(one, tuple)
                    for s in one
                ]
    return found


def _text(value: Value | None) -> Text:
    if value is not None and value.state is State.KNOWN and isinstance(value.only, (str, int, float)):
        return (Chunk(str(value.only), sets=value.spans[:2], sure=value.confidence),)
    return (Hole("VALUE", "is only known when the program runs"),)


def _rest(span: Span) -> EvaluatedWord:
    return EvaluatedWord(((Hole("ARGS", "is only known when the program runs", many=True),),), span)
