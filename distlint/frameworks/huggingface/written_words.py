"""The words that a program gives to its parser of training arguments itself, in place of those of the command line or beside them.

transformers 5.23.0, hf_argparser.py, ``parse_args_into_dataclasses``: ``args`` is what argparse parses; without it the
process's own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.model import python as ir
from distlint.model.document import Leaf, Sequence, node_value
from distlint.model.launch import Argument, Launch
from distlint.model.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distlint.link.flow import Env
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run

PARSING = ("parse_args_into_dataclasses", "parse_args_and_config")
"""The methods that read words; the first parameter of both are the words."""


class WrittenWords(NamedTuple):
    """The words; ``open`` where there may be others, ``by_caller`` where these are words of whoever starts the program alone."""

    words: tuple[Argument, ...]
    open: bool
    by_caller: bool


def written_words(project: Project, run: Run, files: Iterable[str]) -> WrittenWords | None:
    """The words that the only such call in some files is given; ``None`` where it is given none and reads the process's."""
    sites = [one for name in PARSING for one in project.sites(name) if one.file in files]
    given = [(one, *find_argument(one.site.call, "args", 0)) for one in sites]
    if len(given) != 1:
        return WrittenWords((), True, False) if any(expr is not None for _, expr, _ in given) else None
    site, expr, certain = given[0]
    if expr is None:
        return None if certain else WrittenWords((), True, False)
    words: list[Argument] = []
    is_open, by_caller = False, True
    before = project.flow(site.file, site.site.function).before(site.site.call.at)
    for part in _parts(expr, before):
        found = _words(project, run, part, site)
        if found is not None:
            words += found
        else:
            is_open = True
            by_caller = by_caller and _is_command_line(project, run, part, site)
    return WrittenWords(tuple(words), is_open, is_open and by_caller and only_by_caller(run.launch))


def only_by_caller(launch: Launch | None) -> bool:
    """Whether the words of a launch that we do not see are those that whoever calls its script adds, and nothing else."""
    return launch is None or launch.is_open_to_caller_only


def _parts(expr: ir.Expr, before: Env) -> list[ir.Expr]:
    """The lists that are joined to one."""
    joined = followed(expr, before)
    if type(joined) is ir.Operation and set(joined.operators) == {"+"}:
        return [part for operand in joined.operands for part in _parts(operand, before)]
    if type(joined) is ir.ListDisplay and any(type(one) is ir.Starred for one in joined.items):
        return [
            part for one in joined.items for part in (_parts(one.value, before) if type(one) is ir.Starred else [one])
        ]
    return [expr]


def _words(project: Project, run: Run, expr: ir.Expr, site: CallSite) -> list[Argument] | None:
    """The words of a list, or the one word that a text is; ``None`` where there may be any."""
    options = options_of(project.evaluator(run).ask(expr, site.file, site.site.function))
    if len(options) != 1:
        return None
    only = options[0]
    if isinstance(only, Sequence) and not only.open:
        return [Argument(_as_text(value := node_value(one)), (value.spans or (one.span,))[0]) for one in only.items]
    if isinstance(only, Leaf) and isinstance(only.value.only, str):
        return [Argument(only.value, (only.value.spans or (only.span,))[0])]
    return None


def _as_text(value: Value) -> Value:
    return value.map(str)


def _is_command_line(project: Project, run: Run, expr: ir.Expr, site: CallSite) -> bool:
    """Whether something that is not known is the process's own words, as the program was handed them."""
    options = options_of(project.evaluator(run).ask(expr, site.file, site.site.function))
    places = [place for one in options if isinstance(one, Leaf) for place in one.value.spans]
    if len(options) != 1 or not places:
        return False
    lines = [project.text_of(place.file).split("\n")[place.line - 1 : place.end_line] for place in places]
    return all(any("sys.argv" in line for line in one) for one in lines)
