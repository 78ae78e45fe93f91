"""Adding and removing items of a bracketed list: JSON objects, flow mappings, inline tables, dict displays, calls.

All of them are items with commas, line breaks and comments between. One piece of code serves them, so that a removed
key takes its comma and its line along everywhere, and a new one looks like its neighbours.
"""

from __future__ import annotations

from distlint.fix.edits import Patch, begins_line, indentation, line_end, line_start, newline_of, next_line
from distlint.model.record import dataclass


@dataclass(frozen=True, slots=True)
class ItemList:
    """A bracketed list in a text: ``start`` is behind the opening bracket, ``end`` before the closing one.

    ``items`` are the regions of the items in order, ``comments`` the marks that begin a comment up to the end of the
    line; ``/* */`` counts as a comment where ``//`` does. ``bare`` says that line breaks separate items too, so that an
    item needs no comma.
    """

    text: str
    start: int
    end: int
    items: tuple[tuple[int, int], ...]
    comments: tuple[str, ...] = ()
    bare: bool = False

    def skip(self, at: int, limit: int) -> int:
        """The offset of the next character, from ``at``, that is neither white space nor in a comment."""
        while at < limit:
            if self.text[at].isspace():
                at += 1
            elif self.text.startswith(self.comments, at):
                at = line_end(self.text, at)
            elif "//" in self.comments and self.text.startswith("/*", at):
                close = self.text.find("*/", at + 2)
                at = close + 2 if 0 <= close < limit else limit
            else:
                break
        return min(at, limit)

    def comma_after(self, number: int) -> int:
        """The offset of the comma behind an item, or -1."""
        limit = self.items[number + 1][0] if number + 1 < len(self.items) else self.end
        at = self.skip(self.items[number][1], limit)
        return at if at < limit and self.text[at] == "," else -1

    def ends_line(self, at: int) -> bool:
        """Whether nothing but white space and a comment follows on the line of ``at``, within the list."""
        end = line_end(self.text, at)
        return end < self.end and self.skip(at, end) >= end

    @property
    def multiline(self) -> bool:
        """Whether items stand on lines of their own."""
        return bool(self.items) and begins_line(self.text, self.items[-1][0])


def without_item(items: ItemList, number: int) -> list[Patch]:
    """Removes an item with its comma, and with its lines where it stands alone on them. Other comments stay."""
    text = items.text
    start, end = items.items[number]
    comma = items.comma_after(number)
    if len(items.items) == 1:
        return _without_only_item(items, comma + 1 if comma >= 0 else end)
    if number == len(items.items) - 1 and comma < 0:
        return _without_last_item(items)
    after = comma + 1 if comma >= 0 else end
    if begins_line(text, start) and items.ends_line(after):
        return [Patch(line_start(text, start), next_line(text, after), "")]
    if number + 1 < len(items.items):
        following = items.items[number + 1][0]
        if not text[after:following].strip() and (number == 0 or "\n" not in text[after:following]):
            return [Patch(start, following, "")]
    if number and not text[items.items[number - 1][1] : start].strip(" \t,"):
        before = text.rindex(",", 0, start) + 1 if "," in text[items.items[number - 1][1] : start] else start
        return [Patch(before, after, "")]
    return [Patch(start, after, "")]


def _without_only_item(items: ItemList, after: int) -> list[Patch]:
    text, (start, _) = items.text, items.items[0]
    if not (text[items.start : start] + text[after : items.end]).strip():
        return [Patch(items.start, items.end, "")]
    if begins_line(text, start) and items.ends_line(after):
        return [Patch(line_start(text, start), next_line(text, after), "")]
    return [Patch(start, after, "")]


def _without_last_item(items: ItemList) -> list[Patch]:
    text = items.text
    start, end = items.items[-1]
    previous_end = items.items[-2][1]
    alone = begins_line(text, start) and items.ends_line(end)
    if not text[previous_end:start].replace(",", "", 1).strip():
        return [Patch(previous_end, line_end(text, end) if alone else end, "")]
    comma = items.comma_after(len(items.items) - 2)
    region = Patch(line_start(text, start), next_line(text, end), "") if alone else Patch(start, end, "")
    return [Patch(comma, comma + 1, ""), region] if comma >= 0 else [region]


def with_item(items: ItemList, item: str, *, spread: bool = False, outer: str = "", step: str = "  ") -> list[Patch]:
    """Adds an item behind the last one, in the manner of the list.

    ``spread`` says whether an empty list is opened up over several lines; its item is then indented by ``outer`` (the
    indentation of the line with the opening bracket) and ``step``.
    """
    text, newline = items.text, newline_of(items.text)
    if not items.items:
        return _into_empty(items, item, spread, outer, step)
    end = items.items[-1][1]
    comma = items.comma_after(len(items.items) - 1)
    if not items.multiline:
        return [Patch(end, end, f", {item}")]
    fresh = newline + indentation(text, items.items[-1][0]) + item
    after = comma + 1 if comma >= 0 else end
    if not items.ends_line(after):
        at_end = line_end(text, after) == items.end and items.skip(after, items.end) == items.end
        if not at_end:
            return [Patch(end, end, f",{fresh}")]
    rest = line_end(text, after)
    if comma >= 0:
        return [Patch(rest, rest, f"{fresh},")]
    if items.bare:
        return [Patch(rest, rest, fresh)]
    return [Patch(end, end, ","), Patch(rest, rest, fresh)] if rest > end else [Patch(end, end, f",{fresh}")]


def _into_empty(items: ItemList, item: str, spread: bool, outer: str, step: str) -> list[Patch]:
    text, newline = items.text, newline_of(items.text)
    inside = text[items.start : items.end]
    if inside.strip():
        last = items.start + len(inside.rstrip())
        tail = "" if "\n" in inside[len(inside.rstrip()) :] else newline + outer
        return [Patch(last, last, newline + outer + step + item + tail)]
    if spread or "\n" in inside:
        return [Patch(items.start, items.end, newline + outer + step + item + newline + outer)]
    return [Patch(items.start, items.end, item)]
