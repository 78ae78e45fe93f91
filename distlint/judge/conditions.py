"""The condition language of rule files: a total, side-effect-free subset of Python expressions over setting paths.

A text is parsed once and compiled to closures; evaluation is three-valued (Kleene) and true only where the condition
holds for every possible value. ``docs/conditions.md`` is the reference.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from distlint.judge import kleene
from distlint.judge.frame import Evaluator, Frame, Outcome, outcomes
from distlint.judge.predicates import PATH_PREDICATES, PREDICATES, VERSION_PREDICATES, PredicateError, call_of_subject
from distlint.judge.suggestion import did_you_mean
from distlint.judge.view import Used, View
from distlint.model.record import dataclass
from distlint.model.subject import Subject, SubjectKind
from distlint.model.value import Confidence, Value, join, known

MAX_LENGTH = 4000
MAX_DEPTH = 40

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "==",
    ast.IsNot: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_SPELLINGS = {"true": "True", "false": "False", "null": "None", "none": "None"}


class ConditionError(ValueError):
    """A text that is no condition. ``line`` counts from 0 within the text."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a condition: whether it holds (``None``: not known), and everything that this rests on."""

    holds: bool | None
    used: tuple[Used, ...] = ()
    reason: str = ""

    @property
    def confidence(self) -> Confidence:
        """The weakest confidence among the values that the verdict rests on."""
        return min((used.value.confidence for used in self.used), default=Confidence.CERTAIN)


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled expression, with the paths, the subject's own functions and the packages that occur in it."""

    text: str
    evaluate: Evaluator
    paths: frozenset[str]
    functions: frozenset[str]
    packages: frozenset[str]

    def judge(self, subject: Subject | View, versions: Mapping[str, str] | None = None) -> Verdict:
        """Whether the condition holds for every possible value; ``versions`` fixes versions that are open otherwise."""
        found = outcomes(self.evaluate, View.of(subject), versions or {})
        answers = {kleene.truth(outcome.value) for outcome in found}
        used = tuple({item.path: item for outcome in found for item in outcome.used}.values())
        if len(answers) == 1 and None not in answers:
            return Verdict(answers.pop(), used)
        reasons = (outcome.value.reason for outcome in found if outcome.value.reason)
        return Verdict(None, used, next(reasons, "differs by value"))

    def compute(self, subject: Subject | View, versions: Mapping[str, str] | None = None) -> Value:
        """The value of the expression, over all possible values of the settings in it."""
        return join(outcome.value for outcome in outcomes(self.evaluate, View.of(subject), versions or {}))

    def check_names(self, kind: SubjectKind) -> None:
        """Raises ``ConditionError`` for a path or a function that subjects of this kind don't have."""
        for path in sorted(self.paths):
            if not kind.known(path):
                hint = f"; write `{_SPELLINGS[path]}`" if path in _SPELLINGS else ""
                raise ConditionError(f"unknown setting `{path}` of subject `{kind.name}`{hint}")
        for name in sorted(self.functions - kind.functions):
            raise ConditionError(f"unknown function `{name}`{did_you_mean(name, _function_names() | kind.functions)}")


@lru_cache(maxsize=4096)
def compile_condition(text: str) -> Condition:
    """Compiles an expression. Raises ``ConditionError`` where it is not one, or uses more of Python than is allowed."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(f"a condition may have {MAX_LENGTH} characters, not {len(text)}")
    try:
        tree = ast.parse(f"({text}\n)", mode="eval")
    except SyntaxError as error:
        line = min(max((error.lineno or 1) - 1, 0), text.count("\n"))
        raise ConditionError(f"not an expression: {error.msg}", line) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConditionError(f"not an expression: {error or 'nested too deeply'}") from None
    compiler = _Compiler()
    evaluate = compiler.compile(tree.body)
    return Condition(
        text, evaluate, frozenset(compiler.paths), frozenset(compiler.functions), frozenset(compiler.packages)
    )


def _function_names() -> frozenset[str]:
    return frozenset({*PREDICATES, *PATH_PREDICATES, *VERSION_PREDICATES, "setting"})


class _Compiler:
    """Turns syntax nodes into evaluators and notes which names occur."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.functions: set[str] = set()
        self.packages: set[str] = set()
        self._depth = 0

    def compile(self, node: ast.expr) -> Evaluator:
        if self._depth > MAX_DEPTH:
            raise _error(node, f"nested deeper than {MAX_DEPTH} levels")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise _error(node, f"`{_source(node)}` is more Python than a condition may use")
        self._depth += 1
        evaluate: Evaluator = method(node)
        self._depth -= 1
        return evaluate

    def _constant(self, node: ast.Constant) -> Evaluator:
        if not (node.value is None or isinstance(node.value, (bool, int, float, str))):
            raise _error(node, f"`{_source(node)}` is no number, string, boolean or None")
        outcome = Outcome(known(node.value))
        return lambda _: outcome

    def _name(self, node: ast.Name) -> Evaluator:
        return self._read(node)

    def _attribute(self, node: ast.Attribute) -> Evaluator:
        return self._read(node)

    def _read(self, node: ast.expr) -> Evaluator:
        path = self._path(node)
        return lambda frame: frame.read(path)

    def _path(self, node: ast.expr) -> str:
        path = _dotted(node)
        if path is None:
            raise _error(node, f"`{_source(node)}` is no path of a setting")
        self.paths.add(path)
        return path

    def _boolop(self, node: ast.BoolOp) -> Evaluator:
        return _all_or_any([self.compile(item) for item in node.values], decisive=isinstance(node.op, ast.Or))

    def _unaryop(self, node: ast.UnaryOp) -> Evaluator:
        operand = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda frame: _negate(operand(frame))
        if isinstance(node.op, ast.USub):
            zero = known(0)
            return lambda frame: _calculate("-", Outcome(zero), operand(frame))
        raise _error(node, f"`{_source(node)}`: the only unary operators are `not` and `-`")

    def _binop(self, node: ast.BinOp) -> Evaluator:
        sign = _ARITHMETIC.get(type(node.op))
        if sign is None:
            raise _error(node, f"`{_source(node)}`: the operators are {' '.join(_ARITHMETIC.values())}")
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda frame: _calculate(sign, left(frame), right(frame))

    def _ifexp(self, node: ast.IfExp) -> Evaluator:
        test, body, orelse = (self.compile(part) for part in (node.test, node.body, node.orelse))
        return lambda frame: _either(frame, test, body, orelse)

    def _compare(self, node: ast.Compare) -> Evaluator:
        operands = [node.left, *node.comparators]
        links = [
            self._link(sign, left, right) for sign, left, right in zip(node.ops, operands, operands[1:], strict=False)
        ]
        return links[0] if len(links) == 1 else _all_or_any(links, decisive=False)

    def _link(self, sign: ast.cmpop, left: ast.expr, right: ast.expr) -> Evaluator:
        word = _COMPARISONS[type(sign)]
        if isinstance(sign, (ast.Is, ast.IsNot)) and not _is_none(right):
            raise _error(right, "`is` compares with None only; write `==`")
        if word in ("in", "not in"):
            return self._membership(word == "in", left, right)
        if word in ("==", "!=") and (_is_none(left) or _is_none(right)):
            operand = self.compile(left if _is_none(right) else right)
            return _nothing(operand, word == "==")
        first, second = self.compile(left), self.compile(right)
        return _comparison(word, first, second)

    def _membership(self, positive: bool, left: ast.expr, right: ast.expr) -> Evaluator:
        item = self.compile(left)
        if isinstance(right, (ast.List, ast.Tuple, ast.Set)):
            members = [self.compile(element) for element in right.elts]
            return _one_of_these(positive, item, members)
        return _in_list(positive, item, self.compile(right))

    def _call(self, node: ast.Call) -> Evaluator:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise _error(node, f"`{_source(node)}`: a call is a function's name and its arguments in order")
        name = node.func.id
        try:
            if name == "setting":
                path = self._argument_path(name, node)
                return lambda frame: frame.read(path)
            if name in PATH_PREDICATES:
                return PATH_PREDICATES[name](self._argument_path(name, node))
            if name in VERSION_PREDICATES:
                words = [self._word(argument) for argument in node.args]
                self.packages.update(words[:1])
                return VERSION_PREDICATES[name](words)
            arguments = [self.compile(argument) for argument in node.args]
            if name in PREDICATES:
                return PREDICATES[name](node.args, arguments)
        except PredicateError as error:
            raise _error(node, str(error)) from None
        self.functions.add(name)
        return call_of_subject(name, arguments)

    def _argument_path(self, name: str, node: ast.Call) -> str:
        if len(node.args) != 1:
            raise PredicateError(f"`{name}` takes one path")
        argument = node.args[0]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            self.paths.add(argument.value)
            return argument.value
        return self._path(argument)

    def _word(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise _error(node, f"`{_source(node)}` has to be a string")


def _error(node: ast.expr, message: str) -> ConditionError:
    return ConditionError(message, max(node.lineno - 1, 0))


def _source(node: ast.expr) -> str:
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted(node: ast.expr) -> str | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(names)])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _all_or_any(parts: list[Evaluator], *, decisive: bool) -> Evaluator:
    """``and`` (``decisive`` is false) or ``or`` (true): the first operand of decisive truth decides."""

    def evaluate(frame: Frame) -> Outcome:
        used: tuple[Used, ...] = ()
        doubt: Value | None = None
        for part in parts:
            outcome = part(frame)
            answer = kleene.truth(outcome.value)
            if answer is decisive:
                return Outcome(kleene.boolean(answer), outcome.used)
            used += outcome.used
            if answer is None and doubt is None:
                doubt = outcome.value
        if doubt is not None:
            return Outcome(kleene.boolean(None, doubt.reason or "not known"), used)
        return Outcome(kleene.boolean(not decisive), used)

    return evaluate


def _negate(outcome: Outcome) -> Outcome:
    answer = kleene.truth(outcome.value)
    reason = outcome.value.reason or "not known"
    return Outcome(kleene.boolean(None if answer is None else not answer, reason), outcome.used)


def _calculate(sign: str, left: Outcome, right: Outcome) -> Outcome:
    return Outcome(kleene.arithmetic(sign, left.value, right.value), left.used + right.used)


def _either(frame: Frame, test: Evaluator, body: Evaluator, orelse: Evaluator) -> Outcome:
    chosen = test(frame)
    answer = kleene.truth(chosen.value)
    if answer is None:
        return Outcome(kleene.boolean(None, chosen.value.reason or "not known"), chosen.used)
    result = body(frame) if answer else orelse(frame)
    return Outcome(result.value, chosen.used + result.used)


def _comparison(sign: str, left: Evaluator, right: Evaluator) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        first, second = left(frame), right(frame)
        answer = kleene.compare(sign, first.value, second.value)
        return Outcome(kleene.boolean(answer, _doubt(first, second)), first.used + second.used)

    return evaluate


def _nothing(operand: Evaluator, positive: bool) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        outcome = operand(frame)
        answer = kleene.is_none(outcome.value)
        return Outcome(kleene.boolean(None if answer is None else answer is positive, _doubt(outcome)), outcome.used)

    return evaluate


def _one_of_these(positive: bool, item: Evaluator, members: list[Evaluator]) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        first, others = item(frame), [member(frame) for member in members]
        answer = kleene.member(first.value, [other.value for other in others])
        used = first.used + tuple(used for other in others for used in other.used)
        return Outcome(kleene.boolean(None if answer is None else answer is positive, _doubt(first, *others)), used)

    return evaluate


def _in_list(positive: bool, item: Evaluator, container: Evaluator) -> Evaluator:
    def evaluate(frame: Frame) -> Outcome:
        first, second = item(frame), container(frame)
        answer: bool | None = None
        if isinstance(second.value.only, (list, tuple)):
            answer = kleene.member(first.value, [known(element) for element in second.value.only])
        decided = None if answer is None else answer is positive
        return Outcome(kleene.boolean(decided, _doubt(first, second)), first.used + second.used)

    return evaluate


def _doubt(*outcomes_used: Outcome) -> str:
    for outcome in outcomes_used:
        if outcome.value.reason:
            return outcome.value.reason
        if outcome.value.is_absent:
            return "is absent, and its default is not known"
    return "compares values of different kinds"
