"""Commands that install packages: those of pip, uv, conda, Poetry and their like; and those that start containers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from distlint.knowledge.distributions import exactly
from distlint.model.span import Span
from distlint.read.pins.conda import add_conda
from distlint.read.pins.poetry import version_specifier
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, RequirementError, normalise_name
from distlint.read.pins.requirements import INDEXES

Words = Sequence[tuple[str | None, Span]]
"""The words of one command, quotes removed; ``None`` for a word that is not known."""

_PIP = re.compile(r"(?:.*/)?pip[0-9.]*")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[0-9.]*")
_CONDA = re.compile(r"(?:.*/)?(?:micro)?(?:conda|mamba)")
_RUNNERS = frozenset({"conda", "mamba", "micromamba", "poetry", "pdm", "pipenv", "hatch", "pixi", "rye"})
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


_PIPS = frozenset({"pip", "pip3", "python -m pip", "python3 -m pip"})
_OTHER_PLACES = frozenset({"-t", "--target", "--prefix", "--root", "--python", "-p", "--dry-run", "-c", "--constraint"})


def pins_from_words(words: Words, origin: str, file: str, group: str = "") -> PinReading:
    """The pins of one simple command; an empty reading for a command that installs nothing.

    ``words`` are all of the command, its name and words such as ``sudo`` before it included. ``-r`` and ``-c`` become
    includes. A word that is not known is passed over. ``group`` is that of the pins, as in ``Pin``.
    """
    collector = Collector(file, origin)
    texts = [text for text, _ in words]
    start = _command_start(texts)
    first = (texts[start] if start < len(texts) else None) or ""
    kind, at = _installer(texts, start, first.lstrip("!%"))
    if kind == "pip":
        _read_pip(words[at:], collector, group)
    elif kind == "conda":
        _read_conda(words[at:], collector, group)
    elif kind == "poetry":
        _read_poetry(words[at:], collector, group)
    elif kind == "with":
        _read_with(words[at:], collector, group)
    elif kind == "environment":
        _read_environment(words[at:], collector, group)
    elif kind == "python":
        _read_python(words[at:], collector, group)
    elif kind == "index":
        for text, span in words[at:]:
            if text is None or "/" in text:
                collector.add_index(text or "", span, group)
    elif kind == "container":
        _read_container(words[at:], collector, group)
    if collector.pins:
        # Where its first word stands tells a command from the others.
        command, alone = f"{words[0][1].line}:{words[0][1].column}", "--no-deps" in texts or "--nodeps" in texts
        sequence = _place(texts) if kind == "pip" else ""
        collector.pins = [replace(pin, command=command, alone=alone, sequence=sequence) for pin in collector.pins]
    return collector.reading()


def _place(texts: list[str | None]) -> str:
    """What stands for the place that a command installs into: the words that name the installer; ``""``: not known."""
    at = next((at for at, text in enumerate(texts) if text in ("install", "add")), 0)
    words = [text for text in texts[:at] if text is not None]
    if len(words) < at or any(text is None or text.partition("=")[0] in _OTHER_PLACES for text in texts):
        return ""
    name = " ".join(words).lstrip("!%")
    return "pip" if name in _PIPS else name


def _command_start(texts: list[str | None]) -> int:
    at = 0
    while at < len(texts):
        text = texts[at]
        if text is None:
            break
        if text in _RUNNERS and texts[at + 1 : at + 2] == ["run"]:
            at = _skip_options(texts, at + 2, _CONDA_VALUES)
            continue
        in_front = text in _WRAPPERS or text in _KEYWORDS or _ASSIGNMENT.fullmatch(text) is not None
        if not in_front and not (at > 0 and text.startswith("-")):
            break
        at += 1
    return at


def _installer(texts: list[str | None], at: int, first: str) -> tuple[str, int]:
    """What kind of command it is, ``""`` if it installs nothing, and where its arguments begin."""
    if _PYTHON.fullmatch(first):
        at = _skip_switches(texts, at + 1)
        module = texts[at + 1 : at + 2]
        if texts[at : at + 1] != ["-m"] or module not in (["pip"], ["uv"], ["pipx"], ["poetry"], ["pipenv"], ["pdm"]):
            return "", 0
        at, first = at + 1, str(module[0])
    second = _skip_switches(texts, at + 1)
    word = (texts[second] if second < len(texts) else None) or ""
    if _PIP.fullmatch(first):
        return ("index", second + 1) if word == "config" else _if(word == "install", "pip", second)
    if first == "uv":
        return _uv(texts, second, word)
    if first in ("uvx", "pipx"):
        return (
            ("with", at + 1) if first == "uvx" or word == "run" else _if(word in ("install", "inject"), "pip", second)
        )
    if _CONDA.fullmatch(first) or first == "pixi":
        if word == "env":
            third = _skip_switches(texts, second + 1)
            return _if(texts[third : third + 1] in (["create"], ["update"]), "environment", third)
        return _if(word in (("add",) if first == "pixi" else ("install", "create")), "conda", second)
    if first in ("poetry", "pdm", "rye", "pipenv", "hatch"):
        return _if(word in ("add", "install") and (word == "add" or first == "pipenv"), "poetry", second)
    if first == "pip-sync":
        return "environment", at + 1
    if first in (
        "docker",
        "podman",
        "nerdctl",
        "srun",
        "singularity",
        "apptainer",
        "enroot",
        "nvidia-docker",
        "sbatch",
    ):
        return "container", at + 1
    return "", 0


def _if(holds: bool, kind: str, at: int) -> tuple[str, int]:
    return (kind, at + 1) if holds else ("", 0)


def _uv(texts: list[str | None], at: int, word: str) -> tuple[str, int]:
    """The commands of uv: it also makes environments with a Python, and runs with packages added."""
    if word == "pip":
        at = _skip_switches(texts, at + 1)
        return _if(texts[at : at + 1] == ["install"], "pip", at)
    if word == "add":
        return "pip", at + 1
    if word in ("run", "tool"):
        return "with", at + 1
    return _if(word == "venv", "python", at)


def _skip_switches(texts: list[str | None], at: int) -> int:
    """Passes over options between a program and its subcommand, with the values of those that take one."""
    while at < len(texts):
        text = texts[at]
        if text is None or not text.startswith("-") or text == "-m":
            break
        at += 2 if text in _PIP_VALUES and text != "-p" else 1
    return at


def _skip_options(texts: list[str | None], at: int, valued: frozenset[str]) -> int:
    while at < len(texts) and (texts[at] or "").startswith("-"):
        at += 2 if texts[at] in valued else 1
    return at


def _read_pip(words: Words, collector: Collector, group: str) -> None:
    at = 0
    while at < len(words):
        text, span = words[at]
        at += 1
        if not text or "{{" in text or "}}" in text:
            continue  # not known, or a template's hole
        flag, given, value = text.partition("=")
        if not text.startswith("-"):
            collector.add(text, span, group)
        elif flag in INDEXES:
            if not given and at < len(words):
                value, span = words[at][0] or "", words[at][1]
                at += 1
            collector.add_index(value, span, group)
        elif flag in _INCLUDES or flag in _EDITABLE or text[:2] in ("-r", "-c", "-e"):
            if not given and flag not in _INCLUDES and flag not in _EDITABLE:
                flag, value = text[:2], text[2:]
            elif not given and at < len(words):
                value, span = words[at][0] or "", words[at][1]
                at += 1
            _read_named(flag, value, span, collector, group)
        elif text in _PIP_VALUES:
            at += 1


def _read_named(flag: str, value: str, span: Span, collector: Collector, group: str) -> None:
    if flag in _INCLUDES:
        collector.include(value, span, group, constraint=_INCLUDES[flag])
    elif value:
        collector.add(value, span, group)


def _values(words: Words, flags: tuple[str, ...]) -> Iterator[tuple[str, Span]]:
    """The values of options, joined by ``=`` or as the next word."""
    for position, (text, span) in enumerate(words):
        flag, given, value = (text or "").partition("=")
        if flag in flags and given:
            yield value, span
        elif text in flags and position + 1 < len(words):
            yield words[position + 1][0] or "", words[position + 1][1]


def _read_with(words: Words, collector: Collector, group: str) -> None:
    """``uv run --with torch==2.1 train.py``: what is added for one run."""
    for value, span in _values(words, ("--with", "--from", "--spec")):
        for part in (
            value.split(",") if re.fullmatch(r"[\w.-]+(?:==[\w.+]+)?(?:,[\w.-]+(?:==[\w.+]+)?)+", value) else [value]
        ):
            collector.add(part, span, group)
    for value, span in _values(words, ("--with-requirements",)):
        collector.include(value, span, group)
    _read_python(words, collector, group)


def _read_environment(words: Words, collector: Collector, group: str) -> None:
    """``conda env create -f environment.yml`` and ``pip-sync requirements.txt`` name the file."""
    for value, span in _values(words, ("-f", "--file")):
        collector.include(value, span, group)
    for text, span in words:
        if text and not text.startswith("-") and text.endswith((".txt", ".in")):
            collector.include(text, span, group)


def _read_python(words: Words, collector: Collector, group: str) -> None:
    """``uv venv --python 3.10``: the Python that an environment is made with."""
    for value, span in _values(words, ("--python", "-p")):
        if match := re.fullmatch(r"(?:cpython-?|python)?(3\.\d+(?:\.\d+)?)", value):
            collector.add_parsed(Requirement("python", exactly(match[1])), span, group)


def _read_poetry(words: Words, collector: Collector, group: str) -> None:
    """``poetry add torch@^2.1 numpy==1.26``: Poetry's own constraints, or those of PEP 508."""
    skip = False
    for text, span in words:
        if skip or text is None:
            skip = False
        elif text.startswith("-"):
            skip = text in ("--group", "-G", "--source", "-E", "--extras", "--index", "-i", "--platform", "-p")
        elif match := re.fullmatch(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?@([\^~<>=!\d*][^/]*|latest)", text):
            try:
                collector.add_parsed(Requirement(normalise_name(match[1]), version_specifier(match[2])), span, group)
            except RequirementError as error:
                collector.error(span, str(error))
        else:
            collector.add(text, span, group)


def _read_container(words: Words, collector: Collector, group: str) -> None:
    """``docker run image …``, ``srun --container-image=…``: the first image that is known to bring something."""
    for text, span in words:
        word = (text or "").partition("=")[2] if (text or "").startswith("--") else text or ""
        if ("/" in word or ":" in word) and collector.add_image(word, span, f"{group}#image".lstrip("#")):
            return


def _read_conda(words: Words, collector: Collector, group: str) -> None:
    at = 0
    while at < len(words):
        text, span = words[at]
        at += 1
        if text is None:
            continue
        if text.startswith("-"):
            if text in ("-f", "--file") and at < len(words) and words[at][0]:
                collector.include(words[at][0] or "", words[at][1], group)
            at += text in _CONDA_VALUES
            continue
        add_conda(text, span, collector, group, optional=False)
