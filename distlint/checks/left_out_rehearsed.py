"""Layers that forward passes leave out: what the code of the forward pass shows, and what the rehearsal of the program shows besides.

The parameters are those of ``left-out-layers`` and of ``rehearsed``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.left_out_layers import left_out_layers
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.checks.unused_parameters import unused_parameters
from distlint.model.finding import Finding


@check("left-out-rehearsed")
def left_out_rehearsed(context: CheckContext) -> Iterator[Finding]:
    """What is found in the code, and what the rehearsal finds of wrappers of which nothing was found there."""
    known = {related.span for finding in unused_parameters(context) for related in finding.related}
    for finding in left_out_layers(context):
        known |= {related.span for related in finding.related}
        yield finding
    for finding in rehearsed(context):
        if not any(related.span in known for related in finding.related):
            yield finding
