"""Tests that a suite leaves out for some releases: ``skipif`` and its like, on functions, classes and modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.modules import GlobalRef
from distlint.link.version_bindings import bindings_of
from distlint.link.version_paths import Test, last_name
from distlint.link.version_values import PROBE
from distlint.link.walking import below
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.link.version_tests import VersionTests

_WHEN = frozenset({"skipif", "skipIf", "skip_if"})
_UNLESS = frozenset({"skipUnless", "skip_unless", "runIf"})
_VERSION = re.compile(r"(?:[a-z-]+\s*[<>=]=?\s*)?\d+\.\d+(?:\.\d+)?(?:\w+)?", re.IGNORECASE)


class Skips:
    """Whether decorators let a function run with a release."""

    def __init__(self, project: Project, tests: VersionTests) -> None:
        self._project = project
        self._tests = tests

    def runs(self, file: str, function: int, version: str) -> bool | None:
        """Whether the decorators of a function and of its class, and the marks of its module, let it run."""
        answer: bool | None = True
        for decorator in self._marks(file, function):
            one = self._allows(decorator, file, version, 0)
            if one is False:
                return False
            answer = None if one is None else answer
        return answer

    def _marks(self, file: str, function: int) -> Iterator[ir.Expr]:
        module = self._project.module(file)
        definition = module.functions[function]
        yield from definition.decorators
        if definition.owner >= 0:
            yield from module.classes[definition.owner].decorators
        for binding in bindings_of(self._project, file, -1).get("pytestmark", ()):
            if binding.expr is not None:
                yield from binding.expr.items if type(binding.expr) is ir.ListDisplay else (binding.expr,)

    def _allows(self, mark: ir.Expr, file: str, version: str, depth: int) -> bool | None:
        name = last_name(mark)
        if type(mark) is not ir.Call:
            target = self._project.modules.resolve(mark, file)
            if isinstance(target, GlobalRef) and depth < 3:
                known = bindings_of(self._project, target.file, -1).get(target.name, ())
                if len(known) == 1 and known[0].expr is not None:
                    return self._allows(known[0].expr, target.file, version, depth + 1)
            return None if self._tests.names.is_probe(name) or name == "skip" else True
        condition = next((k.value for k in mark.keywords if k.name == "condition"), mark.args[0] if mark.args else None)
        if name in _WHEN | _UNLESS and condition is not None:
            if type(condition) is ir.Constant and isinstance(condition.value, str):
                return None
            answer = self._tests.answer(Test(condition, name in _UNLESS), file, -1, version)
            return None if answer is PROBE else answer is not False
        if name == "skip":
            return None
        asked = self._tests.names.asks(name)
        if asked is not None and asked.operator in (">=", "") and mark.args and type(mark.args[0]) is ir.Constant:
            wanted = self._tests.answer(
                Test(_question(asked.operator or ">=", self._tests.package, mark), True), file, -1, version
            )
            return None if wanted is PROBE else wanted is not False
        if self._tests.names.is_probe(name) or name.lower().startswith(("skip", "require", "xfail")):
            return None if self._is_about_versions(mark, name) else True
        return True

    def _is_about_versions(self, mark: ir.Call, name: str) -> bool:
        parts = [part for part in below(mark) if part is not mark.func]
        return (
            self._tests.names.is_probe(name)
            or any(type(p) is ir.Constant and isinstance(p.value, str) and _VERSION.fullmatch(p.value) for p in parts)
            or any(self._tests.names.is_probe(last_name(part)) for part in parts)
        )


def _question(operator: str, package: str, mark: ir.Call) -> ir.Expr:
    """``compare_version("package", operator, wanted)`` for a mark that names the least version."""
    words = [ir.Constant(package, mark.at), ir.Constant(operator, mark.at), mark.args[0]]
    return ir.Call(ir.Name("compare_version", mark.at), tuple(words), (), mark.at)
