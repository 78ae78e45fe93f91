"""Calls of a framework's own classes and functions in projects that hold a copy of the framework.

There an import leads to a file of the project instead of to a library, so the library's name has to be told from the
file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from distlint.link.modules import ClassRef, FunctionRef

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


def copied_calls(project: Project, places: Mapping[str, str]) -> Iterator[CallSite]:
    """The calls of classes and functions that a copy in the project defines.

    ``places`` maps the dotted name under which rules know each to the file that defines it, relative to the folder that
    holds the package (``"pkg/module.py"``).
    """
    for name, path in places.items():
        last = name.rpartition(".")[2]
        for found in project.sites(last):
            target = project.modules.resolve(found.site.call.func, found.file)
            if isinstance(target, (ClassRef, FunctionRef)) and f"/{target.file}".endswith(f"/{path}"):
                named = project.class_(target) if isinstance(target, ClassRef) else project.function(target)
                if named.name == last:
                    yield found._replace(name=name)
