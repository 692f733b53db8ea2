"""Fit a tool's result to a token budget: texts line by line, records list by list, with the number left out."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

Count = Callable[[str], int]
"""A function that counts the tokens of a text."""

LEFT_OUT: Final = "left_out"
"""Member of a cut record with the number of list members left out."""

OF_NO_USE: Final = frozenset(
    {
        "data",
        "updated_at",
        "position",
        "field_origin",
        "payload",
        "matched",
        "degraded",
        "channels",
        "observations",
        "signals",
        "evidence_added",
        "evidence_removed",
        "edges_added",
        "edges_removed",
    }
)
"""Members of records omitted from a tool's result: bookkeeping, and fields that HTTP and Python return in full."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a result. Only ``words`` is ever cut, so that a fence that is opened is closed."""

    words: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.words}{self.after}"

    def within(self, budget: int, count: Count) -> str:
        """Return the line with as many of its words as fit into ``budget`` tokens.

        It is empty if even the rest does not fit.
        """
        whole = str(self)
        if count(whole) <= budget:
            return whole
        low, high = 0, len(self.words)
        while low < high:
            middle = (low + high + 1) // 2
            if count(f"{self.before}{self.words[:middle]}…{self.after}") <= budget:
                low = middle
            else:
                high = middle - 1
        return f"{self.before}{self.words[:low]}…{self.after}" if low else ""


@dataclass(frozen=True, slots=True)
class ResultText:
    """A result as text: head, lines (best first) and tail."""

    head: str = ""
    lines: Sequence[Line] = ()
    tail: str = ""

    def within(self, budget: int, count: Count) -> tuple[str, int]:
        """Return the text in at most ``budget`` tokens, and the number of its lines included.

        Lines are left out from the end, and their number is stated.
        """
        kept = [str(line) for line in self.lines]
        whole = _join_parts(self.head, *kept, self.tail)
        if _certainly_fits(whole, budget) or count(whole) <= budget:
            return whole, len(kept)
        used = count(_join_parts(self.head, _omission_line(len(kept)), self.tail)) + 2
        fitting = 0
        for line in kept:
            used += count(line) + 1
            if used > budget:
                break
            fitting += 1
        for number in range(fitting, 0, -1):
            text = _join_parts(self.head, *kept[:number], _omission_line(len(kept) - number), self.tail)
            if count(text) <= budget:
                return text, number
        return self._fit_first_line(budget, count), min(1, len(kept))

    def _fit_first_line(self, budget: int, count: Count) -> str:
        """Return the first line, cut, if not even that fits; or as much of the head as fits."""
        if self.lines:
            rest = len(self.lines) - 1
            around = count(_join_parts(self.head, _omission_line(rest), self.tail)) + 2
            first = self.lines[0].within(budget - around, count)
            text = _join_parts(self.head, first, _omission_line(rest if first else rest + 1), self.tail)
            if count(text) <= budget:
                return text
        whole = _join_parts(self.head, self.tail)
        if not self.lines or not self.tail:
            return Line(whole).within(budget, count)
        note = _omission_line(len(self.lines))  # a truncated cursor is useless: without room for it the tail is dropped
        head = Line(self.head).within(budget - count(note) - 1, count)
        return Line(_join_parts(head, note)).within(budget, count)


def _certainly_fits(text: str, budget: int) -> bool:
    """Return whether a text fits whatever its tokens are, since loading a counter's vocabulary is slow."""
    return text.isascii() and len(text) < budget


def _join_parts(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _omission_line(number: int) -> str:
    return f"({number} more left out: narrow the call, or give a larger token_budget)" if number else ""


def record_within(record: Any, budget: int, count: Count, *, lists: Sequence[str] = ()) -> dict[str, Any]:
    """Return a record as plain JSON, without empty or unneeded members, cut to ``budget`` tokens.

    A text that is more than half of it is shortened; otherwise lists lose their last members, the largest list first,
    and then texts are shortened; ``left_out`` counts the members. ``lists`` name lists that are included even when
    empty, if there is room.
    """
    plain: dict[str, Any] = {**{name: [] for name in lists}, **_compact(record)}
    gone = 0
    while (size := count(_dump_json(plain))) > budget:
        share = 1 - budget / size
        longest = max(_lists(plain), key=lambda found: len(_dump_json(found)), default=[])
        text = max((found[2] for found in _texts(plain)), key=len, default="")
        if longest and len(text) < len(_dump_json(plain)) / 2:
            number = max(1, int(len(longest) * share / 2))
            del longest[-number:]
            gone += number
            plain[LEFT_OUT] = gone
        elif not _shorten(plain, share):
            return {LEFT_OUT: gone} if gone else {}
    return plain


def rows_within(rows: Sequence[Any], budget: int, count: Count, *, next_page: Callable[[int], str]) -> str:
    """Return a list of records as JSON in at most ``budget`` tokens.

    If rows are left out, the last member has their number and the address of the next page. A first row that does not
    fit alone is cut as in `record_within`.
    """
    whole = _dump_json(list(rows))
    if len(whole) <= budget or count(whole) <= budget:
        return whole
    room = budget - count(_dump_json([{LEFT_OUT: len(rows), "next": next_page(len(rows))}])) - 1
    kept, room_alone = list[Any](), room
    for row in rows:
        room -= count(f"{_dump_json(row)}, ")
        if room < 0:
            break
        kept.append(row)
    if not kept:
        first = rows[0] if isinstance(rows[0], dict) else {"value": rows[0]}
        note = {"more": "HTTP and Python give it in full"}
        kept = [{**record_within(first, room_alone - count(_dump_json(note)) - 2, count), **note}]
    if len(kept) < len(rows):
        kept.append({LEFT_OUT: len(rows) - len(kept), "next": next_page(len(kept))})
    return _dump_json(kept)


def _compact(value: Any) -> Any:
    if isinstance(value, list):
        return [_compact(one) for one in value]
    if not isinstance(value, dict):
        return value
    members = ((name, _compact(one)) for name, one in value.items() if name not in OF_NO_USE)
    return {name: one for name, one in members if one is not None and one not in ("", [], {})}


def _lists(value: Any) -> Iterator[list[Any]]:
    """Yield the lists of a record, nested ones included."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, list):
        yield value
    for one in members:
        yield from _lists(one)


def _shorten(plain: dict[str, Any], share: float) -> bool:
    """Shorten the longest text of a record by ``share``; return False if none is worth cutting."""
    holder, name, text = max(_texts(plain), key=lambda found: len(found[2]), default=(plain, "", ""))
    kept = min(int(len(text) * (1 - share)), len(text) - 2)
    if len(text) < LEAST_TEXT:
        return False
    holder[name] = f"{text[: max(kept, 0)]}…"
    return True


LEAST_TEXT: Final = 40
"""Characters of a text that is no longer cut: ids and names."""


def _texts(value: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield the texts of a record, each with its container and its name or index there."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in members:
        if isinstance(one, str):
            yield value, name, one
        else:
            yield from _texts(one)


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
