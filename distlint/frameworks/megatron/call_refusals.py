"""Keyword arguments that a configuration object or function of ``megatron.core`` does not take, by release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.frameworks.general import argument_settings
from distlint.frameworks.megatron.command_line import PACKAGE
from distlint.frameworks.megatron.signatures import signature, table
from distlint.frameworks.megatron.versions import is_stated
from distlint.frameworks.refused import Refused
from distlint.knowledge.config_names import nearest
from distlint.link.modules import ClassRef, FunctionRef
from distlint.model.launch import Run
from distlint.model.subject import Versions
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

UNKNOWN, OTHER_RELEASE = "unknown-argument", "argument-of-another-release"


def call_refusals(project: Project, found: CallSite, run: Run | None, versions: Versions) -> Iterator[Refused]:
    """Every keyword of a call for which Python raises a TypeError.

    Nothing about classes and functions of the project, a copy of Megatron or a subclass with fields of its own.
    """
    target = project.modules.resolve(found.site.call.func, found.file)
    releases = table()
    if isinstance(target, (ClassRef, FunctionRef)) or f"{found.name}#" not in releases.names:
        return
    pinned = is_stated(versions)
    allowed = [
        index
        for index in releases.all
        if releases.entry(f"{found.name}#", index) is not None
        and (not pinned or versions.test(PACKAGE, f"=={releases.version(index)}") is not False)
    ]
    short = found.name.rpartition(".")[2]
    given, _ = argument_settings(project, found, [], run)
    for name, setting in given.items():
        path = f"{found.name}#{name}"
        if not setting.certain or not allowed or any(releases.entry(path, index) is not None for index in allowed):
            continue
        if path in releases.names:
            since, until = releases.since(path), releases.until(path)
            text = f"`{name}` of {short} came with {since}"
            if releases.first_index(path) < allowed[0]:
                text = f"{short} has had no `{name}` since {until}"
            yield Refused(OTHER_RELEASE, text, setting.key_span, name, confidence=Confidence.LIKELY)
            continue
        taken = signature(found.name, releases.version(allowed[-1]))
        near = nearest(name, taken.takes) if taken is not None else ""
        hint = f"; did you mean `{near}`?" if near else ""
        yield Refused(UNKNOWN, f"{short} takes no `{name}`{hint}", setting.key_span, name, confidence=Confidence.LIKELY)
