"""Commands that install packages: ``pip install``, ``uv pip install``, ``conda install``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from distlint.model.span import Span
from distlint.read.pins.conda import add_conda
from distlint.read.pins.reading import Collector, PinReading

Words = Sequence[tuple[str | None, Span]]
"""The words of one command, quotes removed; ``None`` for a word that is not known."""

_PIP = re.compile(r"(?:.*/)?pip[0-9.]*")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[0-9.]*")
_CONDA = re.compile(r"(?:.*/)?(?:micro)?(?:conda|mamba)")
_WRAPPERS = frozenset({"sudo", "env", "time", "exec", "command", "nohup", "eatmydata"})
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)

_INCLUDES = {"-r": False, "--requirement": False, "--requirements": False, "-c": True, "--constraint": True}
_EDITABLE = frozenset({"-e", "--editable"})
# fmt: off
_PIP_VALUES = frozenset(
    {
        "--abi", "--allow-insecure-host", "--build-constraint", "--build-option", "--cache-dir", "--cert",
        "--client-cert", "--color", "--config-file", "--config-setting", "--config-settings", "--default-index",
        "--dest", "--directory", "--exclude-newer", "--exists-action", "--extra-index-url", "--find-links",
        "--fork-strategy", "--global-option", "--group", "--implementation", "--index", "--index-strategy",
        "--index-url", "--install-option", "--keyring-provider", "--link-mode", "--log", "--no-binary",
        "--no-binary-package", "--no-build-isolation-package", "--no-build-package", "--only-binary", "--override",
        "--overrides", "--platform", "--prefix", "--prerelease", "--progress-bar", "--project", "--proxy", "--python",
        "--python-platform", "--python-version", "--refresh-package", "--reinstall-package", "--report", "--resolution",
        "--retries", "--root", "--root-user-action", "--src", "--target", "--timeout", "--torch-backend",
        "--trusted-host", "--upgrade-package", "--upgrade-strategy", "--uploaded-prior-to", "--use-deprecated",
        "--use-feature", "-C", "-P", "-d", "-f", "-i", "-p", "-t"
    }
)
_CONDA_VALUES = frozenset(
    {
        "--channel", "--experimental", "--file", "--name", "--platform", "--prefix", "--repodata-fn", "--solver",
        "--subdir", "-c", "-f", "-n", "-p"
    }
)
# fmt: on


def pins_from_words(words: Words, origin: str, file: str) -> PinReading:
    """The pins of one simple command; an empty reading for a command that installs nothing.

    ``words`` are all of the command, its name and words such as ``sudo`` before it included. ``-r`` and ``-c`` become
    includes. A word that is not known is passed over.
    """
    collector = Collector(file, origin)
    texts = [text for text, _ in words]
    start = _command_start(texts)
    if (at := _after_pip_install(texts, start)) is not None:
        _read_pip(words[at:], collector)
    elif (at := _after_conda_install(texts, start)) is not None:
        _read_conda(words[at:], collector)
    return collector.reading()


def _command_start(texts: list[str | None]) -> int:
    at = 0
    while at < len(texts):
        text = texts[at]
        if text is None:
            break
        in_front = text in _WRAPPERS or text in _KEYWORDS or _ASSIGNMENT.fullmatch(text) is not None
        if not in_front and not (at > 0 and text.startswith("-")):
            break
        at += 1
    return at


def _after_pip_install(texts: list[str | None], at: int) -> int | None:
    """Where the arguments of ``pip install`` begin, or ``None`` if it is another command."""
    first = ((texts[at] if at < len(texts) else None) or "").lstrip("!%")
    if _PYTHON.fullmatch(first):
        at = _skip_switches(texts, at + 1)
        if texts[at : at + 2] != ["-m", "pip"]:
            return None
        at += 1
    elif first == "uv":
        at = _skip_switches(texts, at + 1)
        if texts[at : at + 1] == ["add"]:
            return at + 1
        if texts[at : at + 1] != ["pip"]:
            return None
    elif not _PIP.fullmatch(first):
        return None
    at = _skip_switches(texts, at + 1)
    return at + 1 if texts[at : at + 1] == ["install"] else None


def _after_conda_install(texts: list[str | None], at: int) -> int | None:
    first = texts[at] if at < len(texts) else None
    if not first or not _CONDA.fullmatch(first):
        return None
    at = _skip_switches(texts, at + 1)
    return at + 1 if texts[at : at + 1] in (["install"], ["create"]) else None


def _skip_switches(texts: list[str | None], at: int) -> int:
    """Passes over options between a program and its subcommand, with the values of those that take one."""
    while at < len(texts):
        text = texts[at]
        if text is None or not text.startswith("-") or text == "-m":
            break
        at += 2 if text in _PIP_VALUES and text != "-p" else 1
    return at


def _read_pip(words: Words, collector: Collector) -> None:
    at = 0
    while at < len(words):
        text, span = words[at]
        at += 1
        if text is None:
            continue
        flag, given, value = text.partition("=")
        if not text.startswith("-"):
            collector.add(text, span)
        elif flag in _INCLUDES or flag in _EDITABLE or text[:2] in ("-r", "-c", "-e"):
            if not given and flag not in _INCLUDES and flag not in _EDITABLE:
                flag, value = text[:2], text[2:]
            elif not given and at < len(words):
                value, span = words[at][0] or "", words[at][1]
                at += 1
            _read_named(flag, value, span, collector)
        elif text in _PIP_VALUES:
            at += 1


def _read_named(flag: str, value: str, span: Span, collector: Collector) -> None:
    if flag in _INCLUDES:
        collector.include(value, span, constraint=_INCLUDES[flag])
    elif value:
        collector.add(value, span)


def _read_conda(words: Words, collector: Collector) -> None:
    at = 0
    while at < len(words):
        text, span = words[at]
        at += 1
        if text is None:
            continue
        if text.startswith("-"):
            at += text in _CONDA_VALUES
            continue
        add_conda(text, span, collector)
