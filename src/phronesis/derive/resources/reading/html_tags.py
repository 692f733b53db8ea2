"""The tags and words of an HTML page, in order.

``html.parser`` takes time with the square of a page that leaves comments or tags open, in the Pythons before the fixes
of 2025 (CPython gh-135462; measured: 30 s for 60,000 characters), and this reads pages that anybody wrote: here no
character is looked at more than a few times.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_TAG: Final = 20_000
"""Characters of a tag with its attributes; a "<" that is not closed by then is text."""

_OPENING: Final = re.compile(r"<(?:(!--)|([!?])|(/?)([A-Za-z][A-Za-z0-9:-]{0,40}))")
_STOP: Final = re.compile(r""">|=[ \t\r\n]{0,8}["']""")
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "noscript", "iframe", "xmp")
}
"""Elements whose content is no markup, by what ends it."""


class Tag(NamedTuple):
    """Words before a tag, and the tag: its name in small letters ("" at the page's end), its attributes as written.

    ``inner`` is the content of an element that holds no markup (``title``, ``script``).
    """

    words: str
    name: str
    closing: bool = False
    attributes: str = ""
    inner: str = ""


def tags_of(html: str) -> Iterator[Tag]:
    """Give the tags of a page with the words before them; comments and declarations are passed over."""
    place = start = 0
    close = -1
    while (opening := _OPENING.search(html, place)) is not None:
        if opening[1]:
            yield Tag(html[start : opening.start()], "")
            end = html.find("-->", opening.end())
            place = start = len(html) if end < 0 else end + 3
            continue
        if close < opening.end():
            close = html.find(">", opening.end())
        if close < 0:
            break
        if close - opening.start() > MAX_TAG:
            place = opening.end()
            continue
        end = close + 1 if opening[2] else _tag_end(html, opening.end(), close)
        words, name = html[start : opening.start()], (opening[4] or "").lower()
        inner = ""
        place = start = end
        if name in _RAW and not opening[3]:
            closed = _RAW[name].search(html, end)
            place = start = len(html) if closed is None else closed.start()
            inner = html[end:place]
        yield Tag(words, name, bool(opening[3]), html[opening.end() : end - 1], inner)
    yield Tag(html[start:], "")


def _tag_end(html: str, place: int, close: int) -> int:
    """Give where a tag ends whose first ">" is at ``close``: behind it, or behind a later one when it is in quotes."""
    limit = place + MAX_TAG
    while (stop := _STOP.search(html, place, limit)) is not None:
        if stop[0] == ">":
            return stop.end()
        closed = html.find(stop[0][-1], stop.end(), limit)
        if closed < 0:
            break
        place = closed + 1
    return close + 1
