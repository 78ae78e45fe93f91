"""YAML files with exact spans: values as ``yaml.safe_load`` gives them (YAML 1.1), any number of documents.

The text is read as it stands; where that fails and template markup is in it, it is read once more with the markup
blanked out.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from distlint.model.facts import ReadError
from distlint.model.record import dataclass
from distlint.read.config import TOO_DEEP, ConfigReading, Places, Refusal
from distlint.read.markup import Masked, mask
from distlint.read.yaml_tree import TooDeep, YamlTree

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_ERRORS = 20
"""No more are reported of one text."""

_DEPTH = "maximum nesting depth"
"""How the parser's own limit reads, which it has since PyYAML 6.0.4."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Attempt:
    tree: YamlTree
    errors: list[tuple[int, int, str]]


def read_yaml(text: str, file: str, *, line_offset: int = 0, carrier: str = "file") -> ConfigReading:
    """The documents of a YAML text; ``loaders`` is ``("yaml",)`` if ``yaml.safe_load_all`` takes it as it is.

    ``line_offset`` is the number of lines of ``file`` above the text, for a text that is embedded (``carrier`` says
    in what). Placeholders (``{{ x }}``, ``${x}``), values with tags of applications and what is too large or refers
    to itself are unknown. A broken text gives the documents before the error, and what precedes the error in its own.
    A text that is cut for its size is not tried to its end, so ``loaders`` is empty. Never raises.
    """
    places = Places(text, file, line_offset)
    attempt = _read(text, text, places, None)
    masked = mask(text, "x") if attempt.errors else None
    refusals = _refusals(attempt, places)
    errors = attempt.errors
    if masked is not None:
        attempt = _read(masked.text, text, places, masked)
        errors = [] if masked.hides else attempt.errors
    roots = attempt.tree.roots
    documents = tuple(places.document(root, carrier, "yaml", index) for index, root in enumerate(roots))
    found = tuple(ReadError(places.span(start, end), message) for start, end, message in errors)
    loaders = () if refusals or attempt.tree.full else ("yaml",)
    return ConfigReading(documents, found, loaders, refusals, masked is not None)


def _read(text: str, original: str, places: Places, masked: Masked | None) -> _Attempt:
    loader = _LOADER(_SURROGATE.sub("\ufffd", text))
    tree = YamlTree(original, places, loader, masked)
    errors = tree.errors
    try:
        while not tree.full and loader.check_event():
            tree.take(loader.get_event())
    except TooDeep as deep:
        errors.append((deep.offset, deep.offset + 1, str(deep)))
    except yaml.YAMLError as error:
        errors.append(_place(error, text))
    finally:
        loader.dispose()
    tree.break_off()
    return _Attempt(tree, sorted(errors)[:MAX_ERRORS])


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int, str]:
    """Where the parser gave up, and its reason."""
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark or error.context_mark):
        reason = ", ".join(part for part in (error.problem, error.context) if part)
        if _DEPTH in reason:
            reason = TOO_DEEP
        return min(mark.index, len(text)), min(mark.index, len(text)), reason
    found = _UNPRINTABLE.search(text)
    at = found.start() if found else 0
    return at, at + (found is not None), "a control character" if found else "not readable as YAML"


def _refusals(attempt: _Attempt, places: Places) -> tuple[Refusal, ...]:
    """The first thing that ``yaml.safe_load_all`` does not take."""
    found = [(start, message) for start, _, message in attempt.errors]
    if attempt.tree.refused is not None:
        found.append(attempt.tree.refused)
    if not found:
        return ()
    offset, message = min(found)
    return (Refusal("yaml", places.span(offset, offset), message),)
