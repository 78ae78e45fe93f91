"""Whether the model that an engine gets was made under ``zero.Init``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.frameworks.general import argument_settings
from distlint.link.modules import FunctionRef
from distlint.link.walking import guards_of
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run

INIT = "deepspeed.zero.Init"
INITIALIZE = "deepspeed.initialize"
SIGNATURE = [
    "module", "data_parallel_group", "mem_efficient_linear", "remote_device", "pin_memory", "config_dict_or_path",
    "config", "enabled",
]  # fmt: skip
"""deepspeed/runtime/zero/partition_parameters.py, ``Init`` (0.6 to 0.19)."""


def init_context(project: Project, engine: CallSite, run: Run | None) -> Value:
    """True, with the place of the context, where every way to the engine leads through an enabled ``zero.Init``.

    Looked for in the function around ``deepspeed.initialize`` only, and not where a file starts several engines: which
    model is whose is not told apart. Unknown where a condition stands in the way or the switch is not known.
    """
    inits = [found for found in project.calls_to({INIT}) if found.file == engine.file]
    if not inits:
        return known(False)
    engines = [found for found in project.calls_to({INITIALIZE}) if found.file == engine.file]
    here = [found for found in inits if found.site.function == engine.site.function and found.span < engine.span]
    if len(engines) != 1 or len(here) != 1 or len(inits) != 1:
        return unknown("several models or engines")
    found = here[0]
    settings, is_open = argument_settings(project, found, SIGNATURE, run)
    enabled = settings.get("enabled")
    if is_open or (enabled is not None and not (enabled.value.is_known and enabled.value.only is True)):
        return unknown("it may be switched off", found.span)
    if not _is_straight(project, found):
        return unknown("it may not be reached", found.span)
    return known(True, found.span)


def _is_straight(project: Project, found: CallSite) -> bool:
    function = found.site.function
    body = project.module(found.file).body if function < 0 else project.function(FunctionRef(found.file, function)).body
    guards = guards_of(body, found.site.call.at)
    return guards is not None and not guards
