"""A configuration that is given as text: a path, the JSON itself, or its base64 form.

Who takes which: DeepSpeed a path or base64 (``runtime/config.py``, ``DeepSpeedConfig``), accelerate and transformers also
the JSON itself (``HfDeepSpeedConfig``; JSON from accelerate 1.2 on).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.python_dicts import dumped_document
from distlint.model.document import Document, Mapping
from distlint.model.span import Span, whole_line
from distlint.model.value import Value

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_TEXT = 100_000

_ENCODED = re.compile(r"[A-Za-z0-9_+/-]{16,}={0,2}\Z")


def named_document(
    project: Project, value: Value, near: str, folders: tuple[str, ...] = (), text: str = ""
) -> Document | None:
    """The configuration that a path or a text means for a file of the project; ``None`` if it is not in the project."""
    found = project.documents.found(value, near, folders, text)
    if found is not None or not value.is_known or not isinstance(value.only, str):
        return found
    span = value.spans[0] if value.spans else whole_line(near)
    return dumped_document(project, value.only, near, folders) or written_out(project, value.only, span)


def written_out(project: Project, text: str, span: Span) -> Document | None:
    """The configuration that a text itself is: JSON, or JSON in base64. Every place in it is the text."""
    source = text.strip()
    if not source.startswith("{"):
        decoded = _decoded(source)
        if decoded is None:
            return None
        source = decoded.strip()
    root = project.documents.parsed(source, "json", span) if source.startswith("{") else None
    return Document(root, span, "argv", "json") if isinstance(root, Mapping) else None


def _decoded(text: str) -> str | None:
    if len(text) > MAX_TEXT or not _ENCODED.match(text):
        return None
    try:
        return base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_")).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
