"""What the reader of a carrier (a parser, a loader) does not take, as a framework hands it to the rules.

A subject's ``extra["refusals"]`` is a function that gives them; the check ``refused-by-reader`` reports those of one kind.
"""

from __future__ import annotations

from distlint.model.finding import Related
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Confidence


@dataclass(frozen=True, slots=True)
class Refused:
    """One thing that is refused: which kind of fault, what to say, and where.

    ``replacement`` is what the word at ``span`` has to be instead, where only that can be meant.
    """

    kind: str
    message: str
    span: Span
    symbol: str
    related: tuple[Related, ...] = ()
    confidence: Confidence = Confidence.CERTAIN
    replacement: str = ""
