"""The words by which commands that install something are found."""

from __future__ import annotations

INSTALLERS = (
    "install",
    " add ",
    "uv run",
    "uvx",
    "uv venv",
    "a create",
    "env create",
    "env update",
    "pip-sync",
    "--container-image",
    "docker run",
    "podman run",
    "docker://",
)
"""One of these stands in every text whose commands install something or start a container."""
