"""JSON files with exact spans, in whatever dialect they are written, and whatever is wrong with them.

One tolerant scan accepts strict JSON, comments, trailing commas and placeholders, keeps going after any mistake, and
notes the first place that strict JSON would refuse. A text that is not strict JSON is then tried as Hjson. Values are
those of the real loaders; a text that no loader takes gives the tree of what could be read.
"""

from __future__ import annotations

import json
from dataclasses import replace

from distlint.model.document import Leaf, Mapping, Node
from distlint.model.facts import ReadError
from distlint.model.span import Span
from distlint.model.value import unknown
from distlint.read.config import HOLE, ConfigReading, Places, Refusal
from distlint.read.hjson import PLACEHOLDER, HjsonScanner, Refused
from distlint.read.json_scan import JsonScanner


def read_json(text: str, file: str, *, line_offset: int = 0, carrier: str = "file") -> ConfigReading:
    """The document that a JSON or Hjson text holds, and which loaders take it.

    ``line_offset`` is the number of lines of ``file`` above the text, for a text that is embedded (``carrier`` says
    in what). Numbers, duplicates and ``NaN`` follow Python's ``json`` where that takes the text, else ``hjson`` where
    that does. Never raises.
    """
    places = Places(text, file, line_offset)
    scanner = JsonScanner(text, places)
    root = scanner.scan()
    if scanner.cut:
        taken = ("json",) if _is_json(text) else ()
        return ConfigReading((places.document(root, carrier, "json"),), (), taken, (), scanner.template)
    loaders, refusals = _strict_loaders(scanner, places)
    errors = [ReadError(places.span(*place), message) for place, message in scanner.errors]
    format_ = "json"
    if scanner.plain or scanner.statements:
        loaders += ["hjson"] if scanner.plain else []
    else:
        try:
            hjson_root = HjsonScanner(text, places).scan()
        except Refused as refused:
            refusal = Refusal("hjson", places.span(refused.offset, refused.offset), refused.message)
            refusals.append(refusal)
            if not (errors or loaders or scanner.template):
                errors = [ReadError(refusal.span, refusal.message)]
        else:
            loaders.append("hjson")
            if "json" not in loaders and not (scanner.template and not scanner.errors and not scanner.loose):
                root, format_ = hjson_root, "hjson"
            errors = []
    if scanner.placeholders:
        root = _without_quoted_placeholders(root)
    document = places.document(root, carrier, format_)
    return ConfigReading((document,), tuple(errors), tuple(loaders), tuple(refusals), scanner.template)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _strict_loaders(scanner: JsonScanner, places: Places) -> tuple[list[str], list[Refusal]]:
    """What the tolerant scan alone says of ``json`` and ``jsonc``."""
    loaders, refusals = [], []
    for loader, refused in (("json", scanner.not_json), ("jsonc", scanner.not_jsonc)):
        if refused is None:
            loaders.append(loader)
        else:
            refusals.append(Refusal(loader, _point(places, refused[0]), refused[1]))
    return loaders, refusals


def _point(places: Places, offset: int) -> Span:
    return places.span(offset, offset)


def _without_quoted_placeholders(node: Node) -> Node:
    """In a text with bare placeholders, a string that looks like one is one too (``"metric": "CL_METRIC_NAME"``)."""
    if isinstance(node, Leaf):
        plain = node.value.only
        if isinstance(plain, str) and "_" in plain and PLACEHOLDER.fullmatch(plain):
            return Leaf(unknown(HOLE, node.span), node.span)
        return node
    if isinstance(node, Mapping):
        entries = tuple(replace(entry, node=_without_quoted_placeholders(entry.node)) for entry in node.entries)
        return replace(node, entries=entries)
    return replace(node, items=tuple(_without_quoted_placeholders(item) for item in node.items))
