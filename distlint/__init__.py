"""distlint: finds what will crash, hang or be silently ignored in code that trains or serves large models.

``check`` is the whole of it for Python programs; the command line is ``distlint``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from distlint.model.report import Report
    from distlint.settings import Settings

__version__ = "0.1.0"
__all__ = ["__version__", "check"]


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = ".",
    *,
    settings: Settings | Mapping[str, object] | None = None,
    overlays: Mapping[str, str] | None = None,
    jobs: int | None = None,
    use_cache: bool = True,
) -> Report:
    """Analyses files and folders and gives everything that was found.

    ``paths`` is one path or several. ``settings`` are those of ``distlint.settings.load_settings``; a mapping holds
    values by key (``{"world-size": 8, "select": ["DS1"]}``) that win over the nearest settings file. ``overlays`` are
    texts that stand for files on disk, by path relative to the project root. ``jobs`` limits the processes that read.

    Raises ``OSError`` for a path that can't be reached, ``ValueError`` (``distlint.settings.SettingsError`` or one
    of its like for selectors and rule files) for settings that are wrong. What goes wrong within the project is in the
    report's ``errors``.
    """
    import os
    from pathlib import Path

    from distlint.engine import Request, analyse
    from distlint.settings import Settings, load_settings

    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    absolute = tuple(Path(os.path.abspath(path)) for path in given)  # noqa: PTH100
    for path in absolute:
        path.stat()
    if not isinstance(settings, Settings):
        settings = load_settings(Path(os.path.commonpath(absolute)), overrides=settings)
    return analyse(
        Request(
            paths=absolute, settings=settings, jobs=jobs, use_cache=use_cache, overlays=overlays or {}, progress=None
        )
    )
