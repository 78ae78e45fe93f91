"""Options that a launch gives, that a lenient parser leaves over, and that nobody reads afterwards.

Parameters: ``launcher-options`` (by ``dest``: the launcher's own, about which another rule speaks).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.command_contract import Contract, contracts
from distlint.checks.execution import body_of
from distlint.checks.launcher_words import launcher_flags, plain_flag
from distlint.checks.registry import CheckContext, check
from distlint.judge.suggestion import did_you_mean
from distlint.link.options import parsers_of
from distlint.link.parsers import KNOWN_ONLY
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("dropped-options")
def dropped_options(context: CheckContext) -> Iterator[Finding]:
    """A finding for each option that no parser of the program defines, where what is left over is thrown away."""
    project: Project = context.project
    for contract in contracts(project, strict=False):
        if contract.strict or not contract.complete or not _rest_is_dropped(project, contract):
            continue
        if _may_read_elsewhere(project, contract):
            continue
        meant = launcher_flags(project, contract.launch, frozenset(context.parameters["launcher-options"]))
        flags = sorted({flag for option in contract.parser.options for flag in option.flags})
        for given in contract.reading().options:
            if given.option is not None or not given.flag.startswith("--") or plain_flag(given.flag) in meant:
                continue
            if not _defined(project, contract, given.flag):
                yield context.finding(
                    f"no parser of the program defines `{given.flag}`{did_you_mean(given.flag, flags)}",
                    given.span,
                    related=[Related(contract.parse.span, "parsed here; what is left over is not looked at")],
                    symbol=given.flag,
                )


def _rest_is_dropped(project: Project, contract: Contract) -> bool:
    """Whether the second result of the parsing call is certainly unused."""
    file, function, call = contract.parse.file, contract.parse.site.function, contract.parse.site.call
    func = call.func
    if type(func) is not ir.Attribute or func.name not in KNOWN_ONLY:
        return False
    body = body_of(project, file, function)
    for statement in statements(body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Subscript and part.base is call:
                    return type(part.index) is ir.Constant and part.index.value == 0
        if type(statement) is ir.Assign and statement.value is call:
            target = statement.targets[0]
            if len(statement.targets) != 1 or type(target) is not ir.ListDisplay or len(target.items) != 2:
                return False
            rest = target.items[1]
            return type(rest) is ir.Name and not _is_used(project, file, function, rest)
    return False


def _is_used(project: Project, file: str, function: int, name: ir.Name) -> bool:
    module = project.module(file)
    bodies = [body_of(project, file, function)]
    if function < 0:
        bodies += [one.body for one in module.functions]
    else:
        bodies += [one.body for one in module.functions if one.parent == function]
    return any(
        type(part) is ir.Name and part.id == name.id and part is not name
        for body in bodies
        for statement in statements(body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def _may_read_elsewhere(project: Project, contract: Contract) -> bool:
    """Whether a file of the program looks at the raw arguments, or a parser of it may have more options than we see."""
    closure = project.closure(contract.run.script_file)
    if any(parser.open and parser.span.file in closure for parser in parsers_of(project).all()):
        return True
    for file in closure:
        facts = project.file_facts(file)
        module = facts.module if facts is not None else None
        if module is not None and ("argv" in module.attributes or any(item.name == "argv" for item in module.imports)):
            return True
    return False


def _defined(project: Project, contract: Contract, flag: str) -> bool:
    closure = project.closure(contract.run.script_file)
    return any(parser.span.file in closure and parser.find(flag) is not None for parser in parsers_of(project).all())
