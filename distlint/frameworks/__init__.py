"""What each framework means: how it is recognised and launched (``spec``), and what its rules see (``subjects``).

The only place that knows a framework's name. The early steps get the descriptions as data through ``specs``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module

from distlint.model.framework import FrameworkSpec
from distlint.model.subject import SubjectKind

NAMES = ("torch", "deepspeed", "megatron", "colossalai", "huggingface")
"""The framework folders, in the order in which their rules are judged."""


@cache
def specs() -> tuple[FrameworkSpec, ...]:
    """The descriptions of all frameworks, and of what starts any of them: schedulers, and front ends with launchers."""
    from distlint.frameworks.front_ends import SPEC as FRONT_ENDS
    from distlint.frameworks.python_library import SPEC as PYTHON_LIBRARY
    from distlint.frameworks.schedulers import SPEC as SCHEDULERS

    own = (import_module(f"{__name__}.{name}.spec").SPEC for name in NAMES)
    return (*own, FRONT_ENDS, SCHEDULERS, PYTHON_LIBRARY)


def subject_kinds(names: Collection[str] = NAMES) -> dict[str, SubjectKind]:
    """The kinds of subject that rules about some frameworks can use, by name; loads the modelling code of these only."""
    kinds: dict[str, SubjectKind] = {}
    for name in (*(name for name in NAMES if name in names), "general"):
        module = f"{__name__}.{name}.subjects" if name != "general" else f"{__name__}.general"
        for kind in import_module(module).KINDS:
            kinds[kind.name] = kind
    return kinds
