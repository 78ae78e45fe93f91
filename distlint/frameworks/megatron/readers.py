"""Which options of Megatron's command line are read by Megatron alone, and not by the project's own code as well.

What the releases read under which condition is known of their sources. A project may extend them: its own code that asks
for ``args.name`` gives an option a meaning that we don't know.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distlint.frameworks.megatron.command_line import CommandSettings
    from distlint.link.project import Project
    from distlint.model.launch import Launch
    from distlint.model.subject import Setting

_READ = re.compile(r"""\bargs\.(\w{2,80})|\b(?:get|has)attr\(\s*\w*args\w*(?:\(\))?,\s*["'](\w{2,80})["']""")

_FOLDERS = frozenset({"megatron", "tests", "tools", "tasks"})
"""Folders of a checkout that hold what the releases hold."""

_SCRIPTS = frozenset(
    {
        "pretrain_gpt.py",
        "pretrain_mamba.py",
        "pretrain_hybrid.py",
        "pretrain_bert.py",
        "pretrain_t5.py",
        "pretrain_ict.py",
        "pretrain_retro.py",
        "pretrain_vlm.py",
        "pretrain_vision_classify.py",
        "pretrain_vision_dino.py",
        "pretrain_vision_inpaint.py",
        "gpt_builders.py",
        "mamba_builders.py",
        "hybrid_builders.py",
        "model_provider.py",
        "train_rl.py",
    }
)
"""Scripts of the releases: what they read is known."""

_known: WeakKeyDictionary[Project, dict[str, frozenset[str]]] = WeakKeyDictionary()


def only_framework_reads(project: Project, launch: Launch, read: CommandSettings) -> Callable[[Setting], bool]:
    """Whether a setting is an option of the release in use, and one that no code of the project itself asks for.

    Where the script is in the project, its own code is what the script imports; else all files that are not Megatron's.
    An option that lacks its word is none: the run ends there.
    """
    wordless = {one.word.span for one in read.given if not one.words and one.inline is None}

    def judge(setting: Setting) -> bool:
        flag = read.view.find(setting.written) if setting.written else None
        if flag is None or (not flag.is_switch and setting.key_span in wordless):
            return False
        return not {flag.dest, setting.path} & _own_reads(project, launch.script_file or "")

    return judge


def _own_reads(project: Project, script: str) -> frozenset[str]:
    """The names that the project's own code asks the parsed arguments for."""
    known = _known.setdefault(project, {})
    if script not in known:
        files = sorted(project.closure(script)) if script else project.python_files
        known[script] = frozenset(name for file in files if _is_own(file) for name in _names(project.text_of(file)))
    return known[script]


def _is_own(file: str) -> bool:
    *folders, name = file.split("/")
    return name not in _SCRIPTS and not _FOLDERS.intersection(folders)


def _names(text: str) -> Iterator[str]:
    for found in _READ.finditer(text):
        yield found.group(1) or found.group(2)
