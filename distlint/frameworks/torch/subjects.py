"""What rules of this framework see beyond calls and launches."""

from __future__ import annotations

from distlint.frameworks.torch.layout import KIND
from distlint.model.subject import SubjectKind

KINDS: tuple[SubjectKind, ...] = (KIND,)
