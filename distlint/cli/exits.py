"""Exit codes, the same for every command and every format."""

from __future__ import annotations

CLEAN = 0
"""Nothing at or above ``--fail-on`` is left."""
FOUND = 1
"""Findings at or above ``--fail-on`` are left."""
FAILED = 2
"""The call or a setting is wrong, a named file cannot be read, or distlint itself failed."""
INTERRUPTED = 130
