"""A script folder with a file that is named like a framework's package, and so is imported in its place.

The packages are those of the frameworks' descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("shadowed-packages")
def shadowed_packages(context: CheckContext) -> Iterator[Finding]:
    """A finding for each import that means a framework and gets a file of the script's own folder."""
    project: Project = context.project
    packages = {package for spec in project.specs for package in spec.packages}
    scripts = {run.script_file for run in project.runs}
    for path in sorted(path for path in project.paths if path.endswith(".py")):
        folder, _, base = path.rpartition("/")
        name = base.removesuffix(".py")
        if name not in packages:
            continue
        for file in sorted(scripts):
            if file.rpartition("/")[0] == folder and (found := _shadowed(project, file, name, path)) is not None:
                yield context.finding(
                    f"`{name}` is imported here, but `{base}` of the same folder is found first",
                    ir.unpack(found.at, file),
                    related=[
                        Related(ir.unpack(project.module(path).body[0].at, path), "this file stands in for the package")
                    ],
                    symbol=name,
                )


def _shadowed(project: Project, script: str, name: str, path: str) -> ir.Import | None:
    """The import by which a script asks for something of the package that the file of its name does not have."""
    own = project.file_facts(path)
    facts = project.facts.get(script)
    if own is None or own.module is None or not own.module.body or facts is None or facts.module is None:
        return None
    itself = any(item.module.split(".")[0] == name and item.level == 0 for item in own.module.imports)
    for item in facts.module.imports:
        if item.level or item.module.split(".")[0] != name:
            continue
        lacking = "." in item.module or (
            item.name and item.name != "*" and project.modules.lookup(item.name, path) is None
        )
        if itself or lacking:
            return item
    return None
