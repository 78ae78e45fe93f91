"""Objects are prepared without a data loader although the batch size has to be taken from one."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.prepared import is_made_by, preparations
from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding, Related
from distlint.model.value import State


@check("prepare-without-loader")
def prepare_without_loader(context: CheckContext) -> Iterator[Finding]:
    """Calls that hand over no data loader, where the configuration leaves ``setting`` to it (*auto*).

    ``others`` are prefixes of what surely is no loader; anything else may be one.
    """
    parameters = context.parameters
    others = tuple(parameters["others"])
    for subject, found, arguments in preparations(context):
        setting = subject.settings.get(parameters["setting"])
        if setting is None or setting.value.state is not State.AUTO:
            continue
        if all(is_made_by(context.project, argument, others) for argument in arguments):
            yield context.finding(
                f"`prepare` gets no data loader, but `{parameters['setting']}` is to be taken from one",
                found.span,
                related=[Related(setting.key_span, f"`{parameters['setting']}` is left open here")],
                symbol=found.name,
                runs=(subject.label,),
            )
