"""How the layers of a model are shared out among pipeline stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distlint.model.subject import Subject

_MOST_STAGES = 4096


def layers_of_stages(plugin: Subject, layers: object) -> list[int]:
    """How many layers of the model each stage holds, as Colossal-AI shares them out; nothing where that is not known.

    What does not divide goes to the stages in the middle (``pipeline/stage_manager.py``, ``distribute_layers``).
    """
    given = plugin.settings.get("num_layers_per_stage")
    if given is not None:
        written = given.value.only if given.certain else None
        return [one for one in written if type(one) is int] if isinstance(written, list | tuple) else []
    sizes = [
        one.value if (one := plugin.settings.get(name)) is not None and one.certain else plugin.default(name)
        for name in ("pp_size", "num_model_chunks")
    ]
    stages, chunks = (size.only if type(size.only) is int else 0 for size in sizes)
    places = stages * chunks
    if type(layers) is not int or places <= 0 or places > _MOST_STAGES:
        return []
    share, rest = divmod(layers, places)
    first = places // 2 - rest // 2
    return [share + (first <= place < first + rest) for place in range(places)]
