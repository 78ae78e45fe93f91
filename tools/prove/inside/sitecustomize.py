"""Runs in every process of a case, before anything of the case: it shortens waiting and notes what is printed as a result.

Python imports a module of this name by itself. Nothing happens until the library that is meant is imported, so that
launchers start as usual.
"""

from __future__ import annotations

import faulthandler
import importlib.abc
import importlib.machinery
import json
import os
import re
import signal
import sys
from datetime import timedelta
from typing import Any

_LIBRARY = "torch.distributed.distributed_c10d"
_RESULT = re.compile(r"result ([^\s=]+)=(\S+)")
_TIMEOUT = timedelta(seconds=float(os.environ.get("PROVE_TIMEOUT", "10")))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the library as usual, and changes it when it has run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != _LIBRARY:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _shorten(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _shorten(library: Any) -> None:
    """No collective waits longer than the limit, whatever the script asks for; a script that starts itself gets a port of its own."""
    library._get_default_timeout = lambda backend: _TIMEOUT
    for name in ("init_process_group", "new_group"):
        _limit(library, name)


def _limit(library: Any, name: str) -> None:
    function = getattr(library, name)

    def limited(*given: Any, **named: Any) -> Any:
        if named.get("timeout") is not None:
            named["timeout"] = min(named["timeout"], _TIMEOUT)
        port = os.environ.get("PROVE_PORT")
        if port and "MASTER_PORT" in os.environ:
            os.environ["MASTER_PORT"] = port
        for key, value in [*named.items()]:
            if port and key == "init_method" and isinstance(value, str) and value.startswith("tcp://"):
                named[key] = re.sub(r":\d+$", f":{port}", value)
        return function(*given, **named)

    limited.__doc__ = function.__doc__
    setattr(library, name, limited)


def _rank() -> int:
    library = sys.modules.get(_LIBRARY)
    if library is not None and library.is_initialized():
        return int(library.get_rank())
    return int(os.environ.get("RANK", "-1"))


class _Noting:
    """A stream that also writes the lines ``result NAME=VALUE`` to the file of results, with the rank."""

    def __init__(self, stream: Any, notes: str) -> None:
        self._stream = stream
        self._notes = notes
        self._line = ""
        self._known = -1

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            found = _RESULT.search(line)
            if found:
                rank = _rank()
                self._known = rank if rank >= 0 else self._known
                note = json.dumps([self._known, found[1], found[2]])
                with open(self._notes, "a", encoding="utf-8") as notes:  # noqa: PTH123
                    notes.write(f"{note}\n")
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


if "PROVE_NOTES" in os.environ:
    sys.meta_path.insert(0, _Finder())
    sys.stdout = _Noting(sys.stdout, os.environ["PROVE_NOTES"])
    faulthandler.register(signal.SIGUSR1, all_threads=False)
