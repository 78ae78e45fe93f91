"""Python files of the project that a program executes or imports by a path or name that it has made, in the rehearsal of a known run.

What stands at the top of such a file is followed as that of any module; nothing is ever executed for real.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.entities import FunctionValue, Library, ModuleValue
from distlint.rehearsal.known_files import file_at, plain
from distlint.rehearsal.known_texts import OfText
from distlint.rehearsal.stage import MAX_CALLS, Scope
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Table

if TYPE_CHECKING:
    from distlint.rehearsal.calls import Calls
    from distlint.rehearsal.stage import Stage

OF_VARIABLES = frozenset({"update", "get"})
"""Methods of ``globals()`` that are followed."""
_CODE = "builtins.compile()"
_FROM_SPECS = frozenset({"importlib.util.module_from_spec", "importlib._bootstrap.module_from_spec"})


class FileSpec(Made):
    """What says where a module lies (``importlib.util.spec_from_file_location``)."""

    __slots__ = ("module",)

    def __init__(self, module: str, call: ir.Call, given: Given) -> None:
        super().__init__("importlib.util.spec_from_file_location()", call, given)
        self.module = module

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """What loads it."""
        return FileLoader(self.name, self.call, self.arguments) if name == "loader" else NotImplemented


class FileLoader(Made):
    """What executes a module: that is followed once somebody asks for what is in it."""

    __slots__ = ()

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Nothing is left to be done, or the module itself is made."""
        return None if name == "exec_module" else NotImplemented


def called(player: Calls, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
    """What a function gives that imports or executes a file of the project; ``NotImplemented`` for others, and for files not known."""
    if given.open or not given.positional:
        return NotImplemented
    first = given.positional[0]
    if name == "runpy.run_path":
        file = _file_of(player.stage, plain(first), scope)
        return NotImplemented if file is None else player.stage.made(Table(dict(player.module_scope(file).variables)))
    if name == "importlib.import_module" and isinstance(first, str) and len(given.positional) == 1:
        found = player.stage.project.modules.find(first, scope.file)
        if found is not None or first.startswith("."):
            return NotImplemented if found is None else ModuleValue(found)
        if player.stage.witness is not None and call.args:
            player.stage.witness.asks(first, call, scope.file, scope.function, is_import=True)
        return Library(first)
    if name == "importlib.util.spec_from_file_location":
        file = _file_of(player.stage, plain(given.get("location", 1)), scope)
        return NotImplemented if file is None else FileSpec(file, call, given)
    if name in _FROM_SPECS and isinstance(first, FileSpec):
        return ModuleValue(first.module)
    return NotImplemented


def compiled(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    """``compile(text, name, "exec")``."""
    return OfText(_CODE, values[0], call, given) if values and isinstance(values[0], str) else UNKNOWN


def executed(player: Calls, values: list[Any], given: Given, call: ir.Call, scope: Scope) -> Any:
    """``exec(text, namespace)``: the text of a file of the project is followed as that file, any other may set everything."""
    first = next(iter(values), UNKNOWN)
    first = first.text if isinstance(first, OfText) and first.name == _CODE else first
    target = given.get("globals", 1, None)
    if target is None and scope.function >= 0:
        return None  # what it sets is gone when the function ends, as far as one can rely on it
    into = _variables(player, target, scope)
    file = _file_with(player.stage, first) if isinstance(first, str) else None
    if file is None or into is None or given.get("locals", 2, None) is not None or player.stage.depth >= MAX_CALLS:
        _forget(player, target, scope)
        return None
    inner = Scope(file, -1)
    inner.variables = into
    modules = player.stage.modules
    before, modules[file] = modules.get(file), inner
    player.stage.depth += 1
    try:
        player.play(player.stage.project.module(file).body, inner)
    finally:
        player.stage.depth -= 1
        if before is not None:
            modules[file] = before
    return None


def missing(player: Any, module: ModuleValue, name: str, call: ir.Expr, scope: Scope) -> Any:
    """What a module gives for a name that it does not have by a function of its own (``__getattr__``); ``NotImplemented`` without one."""
    own = player.module_scope(module.file).variables.get("__getattr__")
    if not isinstance(own, FunctionValue) or name.startswith("__"):
        return NotImplemented
    return player.apply(own, Given([name], {}), ir.Call(call, (), (), call.at), scope)


def of_variables(player: Calls, module: ModuleValue, name: str, given: Given) -> Any:
    """``globals().update(settings)`` and ``globals().get(name)``."""
    variables = player.module_scope(module.file).variables
    first = given.positional[0] if given.positional else None
    if name == "get":
        if not isinstance(first, str) or given.open:
            return UNKNOWN
        return variables.get(first, given.get("default", 1, None))
    settings = first if isinstance(first, Table) else Table()
    if given.open or settings.open or (first is not None and not isinstance(first, Table)):
        player.store_global(module, UNKNOWN, UNKNOWN)
    for key, value in {**settings.items, **given.keywords}.items():
        player.store_global(module, key, value)
    return None


def _variables(player: Calls, target: Any, scope: Scope) -> dict[str, Any] | None:
    """The variables that a text sees and sets; ``None`` where these are not known."""
    if target is None:
        return player.module_scope(scope.file).variables
    if isinstance(target, ModuleValue):
        return player.module_scope(target.file).variables
    return target.items if isinstance(target, Table) else None


def _forget(player: Calls, target: Any, scope: Scope) -> None:
    """Any variable may have been set."""
    if isinstance(target, Table):
        target.opens()
    if target is None or isinstance(target, ModuleValue):
        player.store_global(target or ModuleValue(scope.file), UNKNOWN, UNKNOWN)


def _file_of(stage: Stage, path: Any, scope: Scope) -> str | None:
    file = file_at(stage, path, scope) if isinstance(path, str) else None
    return file if file is not None and _is_python(stage, file) else None


def _is_python(stage: Stage, file: str) -> bool:
    return file.endswith(".py") and stage.project.modules.module(file) is not None


def _file_with(stage: Stage, text: str) -> str | None:
    """The Python file of the project in which exactly this stands."""
    files = sorted(file for file in stage.project.paths if file.endswith(".py")) if "\n" in text else ()
    found = (file for file in files if stage.project.text_of(file) == text and _is_python(stage, file))
    return next(found, None)
