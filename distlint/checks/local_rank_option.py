"""A local rank that comes from an option alone, which no launcher passes to a program of today.

Parameters: ``option`` (where the parser stores it), ``joins`` (functions that join the job and ask the environment for the
rank unless they are given it: parameter and position), ``variables`` (whose mention anywhere in the program says that the
local rank may come from there).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of
from distlint.checks.local_rank import mentions
from distlint.checks.programs import family
from distlint.checks.rank_names import PER_PROCESS
from distlint.checks.registry import CheckContext, check
from distlint.judge.versions import satisfies
from distlint.link.arguments import find_argument
from distlint.link.mentions import mentioned_beside
from distlint.link.options import Option, Parser, parsers_of
from distlint.link.project import Project
from distlint.link.walking import expressions_below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.value import State

_DEFAULTS = (0, -1, None)
_SETTING = frozenset({"set_defaults", "Namespace", "SimpleNamespace", "update", "replace", "_replace"})
"""Calls that store under the names of their keywords."""
_STARTING = ("subprocess", "os.system", "Popen")
"""What a program uses that starts others."""
MAX_READ = 3
"""Places where the option is read that a finding shows."""


@check("local-rank-option")
def local_rank_option(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such option of a program that is started by a launcher, as far as can be seen by none that passes it."""
    project: Project = context.project
    joining = _joining(context)
    if not joining:
        return
    for parser in parsers_of(project).all():
        option = parser.by_dest(context.parameters["option"])
        if option is None or not option.flags or not _is_fixed(option):
            continue
        file = option.span.file
        files = family(project, file)
        if joining.isdisjoint(files) or not _by_nobody(context, option, parser, file):
            continue
        read = _reads(project, files, option.dest)
        if not read or _comes_otherwise(context, files, option) or _starts_with_it(project, files, option):
            continue
        yield context.finding(
            f"no launcher passes `{option.flags[0]}` to this program, so it is {option.default.only} in every process",
            option.span,
            related=[Related(span, "it is taken for the process's own here") for span in read[:MAX_READ]],
            symbol=option.dest,
        )


def _joining(context: CheckContext) -> frozenset[str]:
    """The files that join a job whose ranks come from the environment, where a launcher has put them."""
    project: Project = context.project
    joins = context.parameters["joins"]
    found = set()
    for site in project.calls_to(set(joins)):
        given, certain = find_argument(site.site.call, *joins[site.name])
        if given is None and certain:
            found.add(site.file)
    return frozenset(found)


def _is_fixed(option: Option) -> bool:
    """Whether the option may be left out, and is then known to be what no single process is told."""
    if option.required.state is not State.ABSENT and option.required.only is not False:
        return False
    if option.default.state is State.ABSENT:
        return True
    return option.default.state is State.KNOWN and option.default.only in _DEFAULTS and option.default.only is not False


def _by_nobody(context: CheckContext, option: Option, parser: Parser, file: str) -> bool:
    """Whether no launcher is known to pass the option, in one of its spellings, to a program with these packages."""
    project: Project = context.project
    if project.runs_reaching(file) or not all(span.file in family(project, file) for span in parser.parsed_at):
        return False
    versions = project.environments.for_file(file)
    texts = [project.text_of(one) for one in sorted(family(project, file))]
    for spec in project.specs:
        used = any(name in text for name in spec.modules for text in texts)
        for launcher in spec.launchers:
            passed = [spelling for spelling in launcher.appends if spelling in option.flags]
            conditions = {spelling: (package, specifier) for spelling, package, specifier in launcher.appends_when}
            for spelling in passed:
                if spelling not in conditions:
                    if used:
                        return False
                elif satisfies(versions, *conditions[spelling]) is not False:
                    return False
    return True


def _comes_otherwise(context: CheckContext, files: frozenset[str], option: Option) -> bool:
    """Whether the program asks the environment for the number, stores another one, or starts its processes itself."""
    project: Project = context.project
    if mentions(project, files, frozenset(context.parameters["variables"])):
        return True
    if any(file in files for file, _ in project.outside_stores(option.dest)):
        return True
    if any(name in project.module(file).calls for file in sorted(files) for name in PER_PROCESS):
        return True
    words = (*option.flags, option.dest)
    for file in sorted(files):
        defined = [site.call.at for site in project.module(file).calls.get("add_argument", ())]
        for part in _expressions(project, file):
            if type(part) is ir.Constant and isinstance(part.value, str) and part.value.startswith(words):
                if not any(ir.encloses(at, part.at) for at in defined):
                    return True
            if type(part) is ir.Call and _sets(part, option.dest):
                return True
    return False


def _starts_with_it(project: Project, files: frozenset[str], option: Option) -> bool:
    """Whether a script or configuration of the project, or a program that starts others, has a word about the option."""
    if mentioned_beside(project, option.flags):
        return True
    for path in sorted(path for path in project.paths if path.endswith(".py") and path not in files):
        text = project.text_of(path)
        if any(flag in text for flag in option.flags) and any(word in text for word in _STARTING):
            return True
    return False


def _sets(call: ir.Call, name: str) -> bool:
    """Whether a call puts something into a namespace (``parser.set_defaults(local_rank=...)``)."""
    last = call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
    return last in _SETTING and any(keyword.name in (name, None) for keyword in call.keywords)


def _expressions(project: Project, file: str) -> Iterator[ir.Expr]:
    for function in range(-1, len(project.module(file).functions)):
        yield from expressions_below(body_of(project, file, function))


def _reads(project: Project, files: frozenset[str], name: str) -> list[Span]:
    """Where an attribute of this name is read."""
    found = {
        ir.unpack(part.at, file)
        for file in files
        for part in _expressions(project, file)
        if type(part) is ir.Attribute and part.name == name
    }
    return sorted(found, key=lambda span: (span.file, span.line, span.column))
