"""The options that a project's own code adds to Megatron's parser, and the parser of a copy of Megatron in the project.

A program may hand ``extra_args_provider`` to ``pretrain``, ``initialize_megatron`` or ``parse_args``: a function that gets
the parser and adds options. A copy of Megatron's sources (``megatron/training/arguments.py``) is the parser itself, and a
fork changes it. Both are read as what every file that the script imports defines: at least what the parser gets.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from distlint.frameworks.megatron.flags import Flag, own_name
from distlint.link.argument_options import read_options
from distlint.link.modules import FunctionRef
from distlint.link.parser_model import Option
from distlint.link.parsers import parsers_of
from distlint.link.process_arguments import any_rewrites
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.project import Project

COPIES = ("megatron/training/arguments.py", "megatron/arguments.py")
"""Where a copy of Megatron has its parser."""

_FACTORY = "megatron/training/argument_utils.py"
"""Where core 0.16 and later make options of the fields of dataclasses."""

_PROVIDER = "extra_args_provider"
_TAKES_PARSER = frozenset({"initialize_megatron", "parse_args", "parse_and_validate_args"})
_KINDS = {"": "str", "str": "str", "int": "int", "float": "float", "bool": "bool"}
_NEGATED = re.compile(r"no_|disable_")
_FIELD = re.compile(r"^ {4,}(\w+):", re.MULTILINE)
_WRITTEN_FLAG = re.compile(r"""["'](--[\w-]+)["']""")


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """What the files that a script imports say about the parser.

    ``defined`` has every option that one of them defines, ``copy`` the file of a copy's parser (``""`` without one).
    ``open``: there may be options that can't be seen. ``fields`` are the names of which the copy may make options
    besides: those of dataclasses, and flags that are written out for some of them.
    """

    defined: dict[str, tuple[Option, ...]]
    copy: str
    open: bool
    fields: frozenset[str] = frozenset()

    @property
    def is_parser(self) -> bool:
        """Whether all options of the parser are seen here: those of a copy."""
        return bool(self.copy) and not self.open

    def may_define(self, flag: str) -> bool:
        """Whether the parser of the copy may have an option."""
        return flag in self.defined or self.may_be_field(flag)

    def may_be_field(self, flag: str) -> bool:
        """Whether a copy may make an option of a dataclass."""
        if not self.fields:
            return False
        name = own_name(flag)
        negated = _NEGATED.match(name)
        return (
            flag in self.fields or name in self.fields or (bool(negated) and _NEGATED.sub("", name, 1) in self.fields)
        )

    def judges(self, flag: str, released: Container[str]) -> bool:
        """Whether an option is judged by what is seen here: all are by a copy, and else those that Megatron has not."""
        return self.is_parser or (flag in self.defined and (bool(self.copy) or flag not in released))

    def flags(self, name: str) -> list[Flag | None]:
        """How each definition of an option reads its words; ``None`` for one that can't be told."""
        return [_flag(name, option) for option in self.defined.get(name, ())]


_READ: WeakKeyDictionary[Project, dict[str, ProgramOptions]] = WeakKeyDictionary()


def program_options(project: Project, script: str) -> ProgramOptions:
    """What a script's own files add to Megatron's parser, or have for one."""
    known = _READ.setdefault(project, {})
    if script not in known:
        known[script] = _program_options(project, script)
    return known[script]


def _program_options(project: Project, script: str) -> ProgramOptions:
    from distlint.link.project import CallSite

    files = project.closure(script)
    own = [project.module(file) for file in sorted(files) if file == script or not is_of_copy(file)]
    files |= _copy_beside(project, files) | _extras(project, script)
    copy = next((file for file in sorted(files) if file.endswith(COPIES)), "")
    is_open = script != copy and not _starts_megatron(own)
    is_open = is_open or any_rewrites(project, (file for file in files if not is_of_copy(file)), {})
    is_open = is_open or any(_takes_anything(module) for module in own)
    defined: dict[str, list[Option]] = {}
    factory = False
    evaluator = project.evaluator(None)
    for file in sorted(files):
        module = project.module(file)
        for site in module.calls.get("add_argument", ()):
            for option in read_options(CallSite(file, site), evaluator):
                if option is not None:
                    for flag in option.flags:
                        defined.setdefault(flag, []).append(option)
                elif file.endswith(_FACTORY):
                    factory = True
                else:
                    is_open = True
        is_open = is_open or _loses_parser(project, file, module)
        is_open = is_open or any(
            _is_out_of_sight(project, file, module, found.function, given) for found, given in _providers(module)
        )
    if any(found.file in files for found in project.calls_to(set(parsers_of(project).adders))):
        for adder in parsers_of(project).adders.values():
            for flag, _ in adder.options:
                defined.setdefault(flag, [])
    fields = frozenset().union(*(_fields_in(project, file) for file in files)) if factory else frozenset()
    frozen = {flag: tuple(options) for flag, options in defined.items()}
    return ProgramOptions(frozen, copy, is_open, fields)


_FIELDS: WeakKeyDictionary[Project, dict[str, frozenset[str]]] = WeakKeyDictionary()


def _fields_in(project: Project, file: str) -> frozenset[str]:
    """The names that a file annotates, as dataclasses do with their fields, and the flags that it writes out for them."""
    known = _FIELDS.setdefault(project, {})
    if file not in known:
        text = project.text_of(file)
        flags = _WRITTEN_FLAG.findall(text) if "argparse_meta" in text else []
        known[file] = frozenset((*_FIELD.findall(text), *flags))
    return known[file]


def _copy_beside(project: Project, files: frozenset[str]) -> frozenset[str]:
    """The files of the only copy in the project, where no import is seen to lead to it."""
    if any(file.endswith(COPIES) for file in files):
        return frozenset()
    copy = lone_copy(project)
    return project.closure(copy) | _extras(project, copy) if copy else frozenset()


def _extras(project: Project, copy: str) -> frozenset[str]:
    """What the entry scripts of a copy give as ``extra_args_provider``."""
    path = copy.replace("/training/arguments.py", "/post_training/arguments.py")
    return project.closure(path) if path != copy and path in project.facts else frozenset()


def lone_copy(project: Project) -> str:
    """The only parser of a copy in the project, or ``""``."""
    copies = [file for file in project.python_files if file.endswith(COPIES)]
    return copies[0] if len(copies) == 1 else ""


_STARTS = ("pretrain", "initialize_megatron", "parse_and_validate_args")


def _starts_megatron(own: Sequence[ir.Module]) -> bool:
    """Whether the program lets Megatron read the command line, and no parser of its own takes a part of it."""
    if any("parse_known_args" in module.calls for module in own):
        return False
    if any(name in module.calls for module in own for name in _STARTS):
        return True
    return any(type(site.call.func) is ir.Name for module in own for site in module.calls.get("parse_args", ()))


def is_of_copy(file: str) -> bool:
    """Whether a file belongs to a copy of Megatron."""
    return f"/{file}".rfind("/megatron/") >= 0


def _takes_anything(module: ir.Module) -> bool:
    """Whether a call makes Megatron leave unknown options alone (``ignore_unknown_args=True``)."""
    for name in (*_TAKES_PARSER, "pretrain"):
        for site in module.calls.get(name, ()):
            given = [keyword.value for keyword in site.call.keywords if keyword.name == "ignore_unknown_args"]
            given += site.call.args[1:] if type(site.call.func) is ir.Name else ()
            if any(type(one) is ir.Constant and one.value is True for one in given):
                return True
    return False


def _providers(module: ir.Module) -> Iterator[tuple[ir.Site, ir.Expr]]:
    """What is given as ``extra_args_provider``."""
    for name, sites in module.calls.items():
        for site in sites:
            for keyword in site.call.keywords:
                if keyword.name == _PROVIDER:
                    yield site, keyword.value
            position = 0 if name == "initialize_megatron" else 5 if name == "pretrain" else None
            if position is not None and len(site.call.args) > position:
                yield site, site.call.args[position]


def _is_out_of_sight(project: Project, file: str, module: ir.Module, function: int, given: ir.Expr) -> bool:
    """Whether a function that adds options can't be read."""
    if isinstance(given, ir.Conditional):
        return any(_is_out_of_sight(project, file, module, function, one) for one in (given.body, given.orelse))
    if isinstance(given, ir.Call) and given.args and _last(given.func) == "partial":
        return _is_out_of_sight(project, file, module, function, given.args[0])
    if isinstance(given, ir.Constant | ir.Lambda):
        return False
    name = given.func if isinstance(given, ir.Call) else given
    if isinstance(project.modules.resolve(name, file), FunctionRef):
        return False
    return not (isinstance(name, ir.Name) and _is_local(module, function, name.id))


def _is_local(module: ir.Module, function: int, name: str) -> bool:
    """Whether a name is a parameter, whose callers are looked at as well, or a function of the same file."""
    around = module.functions[function] if function >= 0 else None
    if around is not None and any(parameter.name == name for parameter in around.parameters):
        return True
    return any(one.name == name for one in module.functions)


def _loses_parser(project: Project, file: str, module: ir.Module) -> bool:
    """Whether a parser is handed to what can't be read."""
    names = {
        _last(site.call.func.base)
        for kind in ("add_argument", "add_argument_group")
        for site in module.calls.get(kind, ())
        if type(site.call.func) is ir.Attribute
    } - {""}
    adders = parsers_of(project).adders
    for sites in module.calls.values() if names else ():
        for site in sites:
            if not any(type(one) is ir.Name and one.id in names for one in site.call.args):
                continue
            func = site.call.func
            if isinstance(project.modules.resolve(func, file), FunctionRef):
                continue
            if type(func) is ir.Name and (_is_local(module, site.function, func.id) or func.id in _HARMLESS):
                continue
            if project.modules.dotted(func, file) in adders or _last(func) in _OF_FACTORY:
                continue
            return True
    return False


_HARMLESS = frozenset({"print", "vars", "isinstance", "hasattr", "getattr", "id", "type", "len"})
_OF_FACTORY = frozenset({"build_group"})
"""Methods of Megatron's own factory."""


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""


def _flag(name: str, option: Option) -> Flag | None:
    """An option of the project as one of the table; ``None`` if its words can't be judged."""
    if option.kind not in _KINDS or not isinstance(option.arity, int | str):
        return None
    action = "store"
    if option.arity == 0:
        action = "true" if option.constant is None or option.constant.only is not False else "false"
    return Flag(
        name=name,
        dest=option.dest,
        action=action,
        type=_KINDS[option.kind],
        nargs=None if option.arity == 1 and not option.listed else option.arity,
        choices=option.choices,
        default=None,
        computed=True,
        flags=option.flags,
        off=False,
        perhaps=not option.always,
    )
