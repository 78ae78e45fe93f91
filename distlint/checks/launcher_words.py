"""Options of the launcher that stand behind the script, where they are the script's.

Parameters: ``options`` (by ``dest``: those that nobody means for a script).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.command_contract import contracts
from distlint.checks.registry import CheckContext, check
from distlint.link.options import parsers_of, split_flag
from distlint.link.project import Project
from distlint.model.finding import Finding, Related
from distlint.model.framework import LauncherSpec
from distlint.model.launch import Launch, Run


@check("launcher-words")
def launcher_words(context: CheckContext) -> Iterator[Finding]:
    """A finding for the first such option of each run whose script certainly does nothing with it.

    Where a strict parser refuses the word, another rule says so.
    """
    project: Project = context.project
    wanted = frozenset(context.parameters["options"])
    runs = [run for run in project.runs if run.launch is not None and run.script_file in project.facts]
    strict = {id(contract.run) for contract in contracts(project)} if runs else set()
    for run in runs:
        assert run.launch is not None  # noqa: S101 - filtered above
        if id(run) in strict:
            continue
        flags = launcher_flags(project, run.launch, wanted)
        for argument in run.launch.arguments if flags else ():
            flag, _ = split_flag(argument)
            if plain_flag(flag) in flags and not _is_of_script(project, run, flag):
                yield context.finding(
                    f"`{flag}` stands behind the script, so `{run.launch.launcher}` does not see it",
                    argument.span,
                    related=[
                        Related(run.launch.span, f"what is in front of the script is for `{run.launch.launcher}`")
                    ],
                    symbol=flag,
                )
                break


def launcher_flags(project: Project, launch: Launch, wanted: frozenset[str]) -> set[str]:
    """The spellings of the launcher's options that matter, those left out that it is given as well."""
    specs: list[LauncherSpec] = [one for spec in project.specs for one in spec.launchers if one.name == launch.launcher]
    return {
        plain_flag(flag)
        for spec in specs
        if not spec.prefix
        for option in spec.options
        if option.dest in wanted and option.dest not in launch.options
        for flag in option.flags
        if flag.startswith("--")
    }


def plain_flag(flag: str) -> str:
    """A flag with dashes in place of underscores, as some launchers take both."""
    return flag.replace("_", "-")


def _is_of_script(project: Project, run: Run, flag: str) -> bool:
    """Whether the program may take the option: a parser defines it, or a name in it or its raw arguments are used."""
    name = flag.lstrip("-").replace("-", "_")
    closure = project.closure(run.script_file)
    for parser in parsers_of(project).all():
        if parser.span.file in closure and (parser.open or parser.find(flag) is not None):
            return True
    for file in closure:
        facts = project.file_facts(file)
        module = facts.module if facts is not None else None
        if module is None:
            continue
        if {name, "argv"} & module.attributes or any(item.name == "argv" for item in module.imports):
            return True
        if any(parameter.name == name for function in module.functions for parameter in function.parameters):
            return True
    return False
