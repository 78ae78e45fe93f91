"""Embeddings that are made of a tensor with their rows, in the rehearsal of a program.

Source: torch 2.13, ``nn/modules/sparse.py``, ``from_pretrained``: the weight is that tensor, frozen unless said otherwise.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_modules import Layer, trained
from distlint.model import python as ir
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Tensor, combined, source_of

KINDS = ("Embedding", "EmbeddingBag")


def made(player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """``torch.nn.Embedding.from_pretrained(...)``; ``NotImplemented`` for others."""
    kind, _, last = name.partition(".")
    if kind not in KINDS or last != "from_pretrained" or given.open:
        return NotImplemented
    rows = given.get("embeddings", 0, UNKNOWN)
    shape = rows.shape if isinstance(rows, Tensor) and rows.shape is not None and len(rows.shape) == 2 else None
    found = Layer(kind, call, Given(list(shape or (UNKNOWN, UNKNOWN)), {}))
    found.file, found.function = scope.file, scope.function
    found.place = (scope.file, call.at, player.stage.chain)
    found.sign, found.source = combined(kind, [rows]), source_of([rows])
    wanted = given.get("freeze", 1, True)
    if wanted is not False:
        trained(player, found, not wanted if isinstance(wanted, bool) else UNKNOWN, ir.unpack(call.at, scope.file))
    return found
