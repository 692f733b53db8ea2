"""What is taken out of payloads: parts that are erased, and secrets and personal numbers before they are recorded.

Entries and commitments stay, so that the chain verifies before and after an erasure without revealing the content.
``engine.writer`` redacts every write of text; quotations and positions refer to the redacted text.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Literal

from phronesis.core.entries import ERASED, ReadDocument, Section
from phronesis.core.ids import item_id
from phronesis.core.proposals import Gated
from phronesis.core.redaction import find_private, marker, redact_value
from phronesis.core.secret_formats import NUMBERS, Span
from phronesis.core.serialization import decode
from phronesis.errors import InputError
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.log.payloads import ENVELOPE, MEMBERS, METADATA, each_row, remaining_body
from phronesis.store.compiled_statements import batches
from phronesis.store.database import Unit
from phronesis.store.lanes import Lane
from phronesis.store.log import PartRow, delete_parts, read_blob, read_parts

Cut = Mapping[str, Collection[int]]
"""Parts to erase, by entry."""

_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MOMENT: Final = r"\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d\d:\d\d)"
_OUR_WORDS: Final = frozenset({"role", "kind", "type"})
"""Fields whose values the system chooses."""

_TELLS_NOTHING: Final = re.compile(f"(?:mem:)?{_UUID}|{_MOMENT}")


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """An entry as an erasure sees it: the remaining parts, and its envelope (the erased mark when it is gone)."""

    entry_id: str
    verb: str
    parent_id: str | None
    paths: tuple[str, ...]
    left: frozenset[int]
    envelope: Mapping[str, Any]

    def members(self) -> dict[str, int]:
        """Return the remaining part of each message or event, by the id of its item."""
        out: dict[str, int] = {}
        for n in self.left:
            name, _, place = self.paths[n].partition("/")
            if place and name in MEMBERS:
                out[item_id(self.entry_id, MEMBERS[name], place)] = n
        return out

    def part_of_message(self, n: int) -> int | None:
        """Return the part of the ``n``-th message, unless it is erased."""
        path = f"messages/{n}"
        number = self.paths.index(path) if path in self.paths else None
        return number if number in self.left else None

    def with_last_member(self, numbers: Collection[int]) -> frozenset[int]:
        """Return the parts that are erased with these messages or events.

        Metadata of all messages is erased with the last of them. The envelope stays in a session, where it marks the
        turn's place; elsewhere it is erased with the last message, event, call or ref.
        """
        going = frozenset(numbers) & self.left
        if any(self.paths[n].partition("/")[0] in MEMBERS for n in self.left - going):
            return going
        going |= {n for n in self.left if self.paths[n] == METADATA}
        if self.envelope.get("session_id") is None and self.left - going == {ENVELOPE}:
            going |= {ENVELOPE}
        return going


def read_logged(unit: Unit, lane: Lane, *, until: int | None = None) -> Iterator[LoggedEntry]:
    """Return every entry of a lane, in order, or those up to a seq."""
    for row, parts in each_row(unit, lane, until=lane.head_seq if until is None else until):
        body = next((remaining_body(unit, part) for part in parts if part.n == ENVELOPE), None)
        envelope = decode(body) if body is not None else ERASED
        left = frozenset(part.n for part in parts)
        yield LoggedEntry(row.entry_id, row.verb, row.parent_id, tuple(row.paths), left, envelope)


def words_of(unit: Unit, cut: Cut) -> tuple[list[str], list[bytes]]:
    """Return the texts in some parts, and the compressed bodies of those that are blobs.

    Ids and times in the system's own format are left out: they reveal nothing and occur in many places.
    """
    texts: dict[str, None] = {}
    compressed: list[bytes] = []
    for part in _remaining_parts(unit, cut):
        body = remaining_body(unit, part)  # a damaged part is erased all the same
        texts.update(dict.fromkeys(_texts(decode(body), depth=0) if body is not None else ()))
        blob = read_blob(unit, part.blob_id) if part.blob_id is not None else None
        compressed += [blob] if blob is not None else []
    return [text for text in texts if not _TELLS_NOTHING.fullmatch(text)], compressed


def _texts(value: Any, *, depth: int) -> Iterator[str]:
    """Yield every string in a part, and the keys that a caller chose: those below the part's own fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if depth:
                yield key
            if depth or key not in _OUR_WORDS:
                yield from _texts(inner, depth=depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth=depth)


def cut_out(unit: Unit, cut: Cut) -> None:
    """Delete parts with their salts, and blobs without references."""
    for entry_id, parts in groupby(_remaining_parts(unit, cut), key=attrgetter("entry_id")):
        delete_parts(unit, entry_id, [part.n for part in parts])


def left_of(unit: Unit, cut: Cut) -> list[str]:
    """Name the parts that should be gone and are not."""
    return [f"payload_parts/{part.entry_id}/{part.n}" for part in _remaining_parts(unit, cut)]


def _remaining_parts(unit: Unit, cut: Cut) -> Iterator[PartRow]:
    for batch in batches(cut):
        for entry_id, parts in read_parts(unit, batch).items():
            yield from (part for part in parts if part.n in cut[entry_id])


# Secrets and personal numbers, before they are recorded.

Action = Literal["redact", "keep", "refuse"]

SECRET: Final = "secret"  # noqa: S105 - the name of a rule
PERSONAL_NUMBER: Final = "personal_number"
"""The rules under which a result reports redactions of personal numbers."""

MAX_TOLD: Final = 100
"""Maximum number of places that a result names; all are redacted."""

_AS_GIVEN: Final = frozenset(
    {"session_id", "agent_id", "run_id", "context_id", "outcomes", "memory_ids", "external_id", "data"}
)
"""Payload members that are not redacted: identifiers, and a document's bytes, whose sections are checked when parsed.
"""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Redacts payloads by the policy. ``actions`` are those of kinds that are not redacted."""

    actions: Mapping[str, Action] = field(default_factory=dict)

    def __call__(self, payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Gated, ...]]:
        """Return a payload as it is recorded, and what was redacted: the kind and the place, never the value.

        InputError names the field and the kind where the policy refuses it.
        """
        found: dict[tuple[str, str], None] = {}

        def note(kind: str, place: str) -> None:
            if self.actions.get(kind) == "refuse":
                raise InputError(
                    f"{place} holds what the policy refuses ({_section(kind)}: refuse): {kind.replace('_', ' ')};"
                    " leave it out, or have it redacted",
                    field=place,
                )
            found[kind, place] = None

        changed = {}
        for name, value in payload.items():
            if name in _AS_GIVEN:
                continue
            under = str(payload.get("key") or name) if name == "value" else name
            looked_at = _without_external_ids(value) if name == "messages" else value
            made = redact_value(looked_at, self._is_kept, note, name=under, place=name)
            made = value if made is looked_at else _with_external_ids(made, value)
            if made is not value:
                changed[name] = made
        if not found:
            return payload, ()
        return {**payload, **changed}, tuple(_gated_report(kind, place) for kind, place in list(found)[:MAX_TOLD])

    def places(self, payload: Mapping[str, Any]) -> tuple[Gated, ...]:
        """Return the parts of a recorded payload that the present policy would not record, including refused kinds."""
        return Redactor({kind: action for kind, action in self.actions.items() if action == "keep"})(payload)[1]

    def cleaned(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a redacted payload."""
        return self(payload)[0]

    def document(self, found: ReadDocument) -> ReadDocument:
        """Return a parsed document with markers in its text, and its sections at their new positions."""
        spans = [span for span in find_private(found.text) if not self._is_kept(span.kind)]
        if not spans:
            return found
        places = [place for one in found.sections for place in (one.start, one.end)]
        text, moved = _replace_spans(found.text, spans, places)
        ends = zip(found.sections, moved[::2], moved[1::2], strict=True)
        sections = tuple(Section(path=one.path, start=start, end=end) for one, start, end in ends)
        return replace(found, text=text, sections=sections)

    def _is_kept(self, kind: str) -> bool:
        return self.actions.get(kind) == "keep"


def _without_external_ids(messages: Any) -> Any:
    """Return messages without the external ids of their items, which are looked up verbatim."""
    if not any(EXTERNAL_ID in one for one in messages):
        return messages
    return [{name: value for name, value in one.items() if name != EXTERNAL_ID} for one in messages]


def _with_external_ids(redacted: Any, given: Any) -> Any:
    if not isinstance(given, list):
        return redacted
    return [
        one if EXTERNAL_ID not in given[n] else {**one, EXTERNAL_ID: given[n][EXTERNAL_ID]}
        for n, one in enumerate(redacted)
    ]


def _section(kind: str) -> str:
    return f"privacy.{'personal_numbers' if kind in NUMBERS else 'secrets'}"


def _gated_report(kind: str, place: str) -> Gated:
    rule = PERSONAL_NUMBER if kind in NUMBERS else SECRET
    reason = (
        f"{kind.replace('_', ' ')} in {place}: replaced by this marker before it was stored; {_section(kind)}: keep"
        " in the policy stores it"
    )
    return Gated(marker(kind), rule, reason, place)


def _replace_spans(text: str, spans: Sequence[Span], places: Sequence[int]) -> tuple[str, list[int]]:
    """Return a text with redaction markers, and the new positions of given places.

    A place inside a redacted part moves behind its marker.
    """
    out: list[str] = []
    at = 0
    grown = [0]
    for span in spans:
        shown = marker(span.kind) + "\n" * text.count("\n", span.start, span.end)
        out += [text[at : span.start], shown]
        grown.append(grown[-1] + len(shown) - (span.end - span.start))
        at = span.end

    def moved(place: int) -> int:
        before = bisect_left(spans, place, key=attrgetter("start"))
        return max(place, spans[before - 1].end if before else 0) + grown[before]

    return "".join([*out, text[at:]]), [moved(place) for place in places]
