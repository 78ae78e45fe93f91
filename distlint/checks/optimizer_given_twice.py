"""An optimizer made in the program is prepared although the configuration brings one."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.prepared import is_made_by, preparations
from distlint.checks.registry import CheckContext, check
from distlint.model import python as ir
from distlint.model.finding import Finding, Operation, Related


@check("optimizer-given-twice")
def optimizer_given_twice(context: CheckContext) -> Iterator[Finding]:
    """Calls that hand over what ``makers`` (prefixes) made, where the configuration has the block ``setting``.

    The block can go where no ``scheduler`` stands beside it, which would need it.
    """
    setting_name, makers = context.parameters["setting"], tuple(context.parameters["makers"])
    for subject, found, arguments in preparations(context):
        setting = subject.settings.get(setting_name)
        if setting is None or not setting.certain or (setting.value.is_known and setting.value.only is None):
            continue
        for expr, value in zip(found.site.call.args, arguments, strict=True):
            if is_made_by(context.project, value, makers):
                removal = Operation("remove-key", setting.key_span)
                yield context.finding(
                    f"an optimizer of the program is prepared, but the configuration has `{setting_name}` as well",
                    ir.unpack(expr.at, found.file),
                    related=[Related(setting.key_span, f"`{setting_name}` is configured here")],
                    plan=context.plan(removal) if "scheduler" not in subject.settings else None,
                    symbol=found.name,
                    runs=(subject.label,),
                )
