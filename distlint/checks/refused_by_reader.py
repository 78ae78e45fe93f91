"""What the reader of a carrier refuses before anything else is looked at.

Parameters: ``subject`` (a kind of subject whose ``extra`` may hold ``refusals``, a function) and ``fault`` (the kind of
refusal that the rule is about). Command lines that a parser in the project reads are judged by that parser alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.command_contract import contracts
from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding, Operation


@check("refused-by-reader")
def refused_by_reader(context: CheckContext) -> Iterator[Finding]:
    """A finding for everything of the one kind that a reader refuses."""
    read_here = {contract.launch for contract in contracts(context.project)}
    for subject in context.subjects(context.parameters["subject"]):
        find = subject.extra.get("refusals")
        if find is None or subject.extra.get("launch") in read_here:
            continue
        for refused in find():
            if refused.kind != context.parameters["fault"]:
                continue
            plan = None
            if refused.replacement:
                plan = context.plan(Operation("rename-option", refused.span, {"to": refused.replacement}))
            yield context.finding(
                refused.message,
                refused.span,
                related=refused.related,
                confidence=refused.confidence,
                plan=plan,
                symbol=refused.symbol,
                runs=(subject.label,) if subject.run is not None else (),
            )
