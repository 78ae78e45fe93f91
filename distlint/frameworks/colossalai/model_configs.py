"""Configurations of transformers' models, however they are made: by their class, from a dictionary, or from a file of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.link.abstract import Instance, node_of, options_of
from distlint.link.modules import External
from distlint.link.paths import folders_around
from distlint.model.document import Mapping, node_value
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.abstract import Abstract
    from distlint.link.evaluate import Evaluator

_FILE = "config.json"
_KEPT = (
    "config_dict",
    "json_file",
    "pretrained_model_name_or_path",
    "return_unused_kwargs",
    "cache_dir",
    "force_download",
    "local_files_only",
    "token",
    "revision",
    "subfolder",
)
"""Arguments that say how a configuration is found, and are no part of it."""


class Configuration(NamedTuple):
    """The family of a model (``llama``), what its configuration is given, and where that is made.

    ``first`` is what it is made with, before further arguments are put over it: what follows from other sizes by default follows it.
    """

    family: str
    given: Mapping
    first: Mapping
    place: Span


def configuration(evaluator: Evaluator, config: Abstract | None) -> Configuration | None:
    """What is known of a configuration (``transformers/configuration_utils.py``); ``None`` where that is nothing."""
    options = options_of(config) if config is not None else ()
    if len(options) != 1 or not isinstance(options[0], Instance) or not isinstance(options[0].callee, External):
        return None
    made = options[0]
    parts = made.callee.name.split(".") if isinstance(made.callee, External) else []
    classes = [part for part in parts if part.endswith("Config") and part[:1].isupper()]
    if parts[:1] != ["transformers"] or len(classes) != 1 or made.part:
        return None
    family = classes[0].removesuffix("Config").lower()
    method = parts[-1] if parts[-1] != classes[0] else ""
    keywords = evaluator.keyword_mapping(made.call, made.frame, made.state, made.span())
    first = _first(evaluator, made, method) if method else None if made.call.args else keywords
    if not isinstance(first, Mapping):
        return None
    if family == "auto":
        told = first.entry("model_type")
        family = str(node_value(told.node).only or "") if told is not None and told.certain else ""
    return Configuration(family, _with(first, keywords) if method else first, first, made.span())


def _first(evaluator: Evaluator, made: Instance, method: str) -> Abstract | None:
    """The dictionary that a class method makes a configuration of; ``None`` for other methods."""
    if method == "from_dict":
        return evaluator.argument(made.call, "config_dict", 0, made.frame, made.state)
    if method == "from_json_file":
        return _read(evaluator, made, "json_file", "")
    return _read(evaluator, made, "pretrained_model_name_or_path", _FILE) if method == "from_pretrained" else None


def _read(evaluator: Evaluator, made: Instance, argument: str, below: str) -> Abstract | None:
    """What stands in a JSON file of the project, or in the file of a fixed name in a folder of it."""
    path = evaluator.argument(made.call, argument, 0, made.frame, made.state)
    if path is None:
        return None
    value = node_value(node_of(path, made.span()))
    if below:
        value = value.map(lambda text: f"{text}/{below}")
    file = made.frame.file
    document = evaluator.project.documents.found(value, file, folders_around(file)) if value.is_known else None
    return document.root if document is not None else None


def _with(held: Mapping, keywords: Mapping) -> Mapping:
    """A dictionary with what keywords put over it; those that say how it is found are no part of it."""
    over = [entry for entry in keywords.entries if entry.key not in _KEPT]
    names = {entry.key for entry in over}
    entries = (*(entry for entry in held.entries if entry.key not in names), *over)
    return Mapping(entries, held.span, held.open or keywords.open)


__all__ = ["Configuration", "configuration"]
