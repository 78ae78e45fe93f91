"""distlint: finds what will crash, hang or be silently ignored in code that trains or serves large models."""

from __future__ import annotations

__version__ = "0.1.0"
