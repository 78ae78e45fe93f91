"""A source file without the bodies of its functions and classes, for modules of which only the names are kept: quick to parse."""

from __future__ import annotations

import ast
import re

_DEFINITION = re.compile(r"(async\s+def|def|class)\s+(\w+)")
_RUN_TIME = re.compile(
    r"\bglobal |import_structure|_LazyModule|lazy_loader|sys\.modules|(globals|vars|locals)\(\)|def __getattr__|\bexec\(|_C\._\w+_init\("
)


def parsed(source: bytes) -> ast.Module | None:
    """The tree of the outline; ``None`` if a body may matter or the text can't be cut by its indentation."""
    try:
        text = source.decode()
    except UnicodeDecodeError:
        return None
    if _RUN_TIME.search(text):
        return None
    try:
        return ast.parse(_cut(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _cut(text: str) -> str:
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        if inside and (not line or line[0] in " \t#)\f"):
            continue
        found = _DEFINITION.match(line)
        inside = found is not None
        if found:
            out.append(f"class {found[2]}: pass" if found[1] == "class" else f"def {found[2]}(): pass")
        else:
            out.append(line)
    return "\n".join(out)
