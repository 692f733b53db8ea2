"""Fit results to a token budget: texts line by line, records list by list with the number left out, contexts."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.serialization import as_json
from phronesis.errors import BudgetTooSmall

Count = Callable[[str], int]
"""A function that counts the tokens of a text."""

LEFT_OUT: Final = "left_out"
"""Member of a cut record with the number of list members left out."""

OF_NO_USE: Final = frozenset(
    "data updated_at position field_origin payload matched degraded channels observations signals"
    " evidence_added evidence_removed edges_added edges_removed".split()
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
        """Return the line with as many words as fit into ``budget`` tokens; empty if even the rest does not fit."""
        whole = str(self)
        if count(whole) <= budget:
            return whole
        number = bisect_right(
            range(1, len(self.words) + 1), budget, key=lambda n: count(f"{self.before}{self.words[:n]}…{self.after}")
        )
        return f"{self.before}{self.words[:number]}…{self.after}" if number else ""


@dataclass(frozen=True, slots=True)
class ResultText:
    """A result as text: head, lines (best first) and tail."""

    head: str = ""
    lines: Sequence[Line] = ()
    tail: str = ""

    def within(self, budget: int, count: Count) -> tuple[str, int]:
        """Return the text in at most ``budget`` tokens, with the number of lines left out, and that of the others."""
        kept = [str(line) for line in self.lines]
        whole = _join_parts(self.head, *kept, self.tail)
        # An ASCII text has fewer tokens than characters, and loading a counter's vocabulary is slow.
        if (whole.isascii() and len(whole) < budget) or count(whole) <= budget:
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
        parts = list(_parts(plain))
        longest = max((one for *_, one in parts if isinstance(one, list)), key=_json_length, default=[])
        texts = [part for part in parts if isinstance(part[2], str)]
        holder, name, text = max(texts, key=lambda part: len(part[2]), default=(plain, "", ""))
        if longest and len(text) < _json_length(plain) / 2:
            number = max(1, int(len(longest) * share / 2))
            del longest[-number:]
            gone += number
            plain[LEFT_OUT] = gone
        elif len(text) < LEAST_TEXT:
            return {LEFT_OUT: gone} if gone else {}
        else:
            holder[name] = f"{text[: min(int(len(text) * (1 - share)), len(text) - 2)]}…"
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


LEAST_TEXT: Final = 40
"""Characters of a text that is no longer cut: ids and names."""


def _parts(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the lists and texts of a record, each with its container and its name or index there."""
    for name, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, str | list):
            yield value, name, one
        if isinstance(one, dict | list):
            yield from _parts(one)


def _json_length(value: Any) -> int:
    return len(_dump_json(value))


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


if TYPE_CHECKING:
    from phronesis.core.context import ContextPackage
    from phronesis.memory.runtime import Components

# A context: its text, id and citations within the requested budget.


def context_tail(context_id: str, token_count: int) -> str:
    """Return the text that follows a context."""
    return f"\n(context_id {context_id}, {token_count} tokens)"


TRIES: Final = 4
"""Maximum attempts to compose a context again, smaller, if its record was longer than expected."""

LONGEST_ID: Final = "1a" * 18
"""Stands for a context's id, which is new in each attempt: no other id of its length has more tokens."""


def compose_within(
    call: Callable[[dict[str, Any]], "ContextPackage"],
    given: dict[str, Any],
    budget: int,
    stages: "Components",
    *,
    records: bool,
) -> tuple[str, dict[str, Any]]:
    """Return a context's text and its record, whose ``text`` is the same.

    Some clients show a model the text, some the record. If the record is returned too, both count, so that the context
    itself gets less than half of ``budget``. How long the record is shows only when it is made: it is tried with dry
    runs, so that the activity log has one context for each call.

    Args:
        call: composes, given the arguments of ``Memory.compose_context``.
        given: the arguments except the budget.
        budget: tokens of the whole result; 0: those of the policy.
        stages: provide the policy and the token counter.
        records: whether the record is returned as well.

    Raises:
        BudgetTooSmall: the message alone takes more; it names the smallest sufficient budget of the tool.
    """
    count, total = stages.count_tokens, budget or stages.budget.total
    around = count(context_tail(LONGEST_ID, total)) + 2
    room = total - around

    def compose(**options: Any) -> tuple[str, dict[str, Any]]:
        try:
            package = call({**given, **options, "token_budget": max(1, room)})
        except BudgetTooSmall as error:
            raise _budget_error(error, total, around, records=records) from error
        text = package.text + context_tail(package.context_id, package.token_count)
        record = {"context_id": package.context_id, "token_count": package.token_count, "text": text}
        return text, {**record, "citations": as_json(package.citations)} if package.citations else record

    if records:
        room = room * 2 // 5 - around
        for _ in range(TRIES):
            text, record = compose(dry_run=True)
            shown = text + json.dumps(record, ensure_ascii=False)
            size = count(shown.replace(record["context_id"], LONGEST_ID)) + 1
            if size <= total:
                break
            room = min(room - 1, room * total // size - 1)
    return compose()


def _budget_error(error: BudgetTooSmall, total: int, around: int, *, records: bool) -> BudgetTooSmall:
    """Return the error in terms of the tool's budget, which also covers the text around a context."""
    least = error.details["minimum"] + around
    least = least * 3 if records else least
    return BudgetTooSmall(
        f"token_budget: {total} tokens cannot hold the user's message, which is never cut; give at least {least}",
        field="token_budget",
        details={**error.details, "token_budget": total, "minimum": least},
    )
