"""Which call defines the option that an expression reads: ``args.seed`` is as much as ``add_argument("--seed", default=0)`` tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Instance, options_of
from distlint.link.parsers import PARSE_CALLS, method_of, parsers_of, receiver_of

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project
    from distlint.model import python as ir
    from distlint.model.span import Span

_ADDING = "add_argument"


class _Definitions(dict[str, dict["Span", "CallSite"]]):
    """The calls that define options, by what they are stored as and where they stand."""


def option_definition(project: Project, read: ir.Attribute, file: str, function: int) -> CallSite | None:
    """The call that defines what an attribute of a parsed namespace holds, if that can be told and nothing else is known to fill it.

    What a program stores into it later is for the caller to look at (``Project.outside_stores``).
    """
    known = _definitions(project)
    if read.name not in known:
        return None
    evaluator = project.evaluator(None)
    options = options_of(evaluator.ask(read.base, file, function))
    parsed = options[0] if len(options) == 1 else None
    if not isinstance(parsed, Instance) or method_of(parsed) not in PARSE_CALLS:
        return None
    receiver = receiver_of(evaluator, parsed)
    parser = parsers_of(project).get(evaluator, receiver) if receiver is not None else None
    option = parser.by_dest(read.name) if parser is not None else None
    if parser is None or option is None or read.name in parser.defaults:
        return None
    return known[read.name].get(option.span)


def _definitions(project: Project) -> _Definitions:
    known: _Definitions | None = project.kept.get(_Definitions)
    if known is None:
        known = project.kept[_Definitions] = _Definitions()
        sites = {site.span: site for site in project.sites(_ADDING)}
        for parser in parsers_of(project).all() if sites else ():
            for option in parser.options:
                if option.span in sites:
                    known.setdefault(option.dest, {})[option.span] = sites[option.span]
    return known
