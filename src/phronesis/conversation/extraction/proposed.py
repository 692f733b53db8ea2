"""What a model proposes to remember, and the gate it has to pass: nothing is taken that the message does not hold."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, cast

import pydantic
from pydantic.json_schema import SkipJsonSchema

from phronesis.conversation.extraction.extraction_rules import add_relation
from phronesis.conversation.extraction.gate import INFERRED_AT_MOST, MAX_EXCERPT, Gate, GateInput
from phronesis.conversation.extraction.memory_types import MemoryType, MemoryTypes, comparable_value
from phronesis.core.items import PROSPECTIVE, Item
from phronesis.core.name_detection import MAX_SURFACE
from phronesis.core.proposals import USER, Basis, Proposal, Refusal, Relation
from phronesis.core.statements import OCCASIONS, mark_future_effect, proposed_item_id
from phronesis.core.timestamps import isoformat
from phronesis.core.values import canonical_relative
from phronesis.index.tokens import tokenize
from phronesis.models.structured_client import drop_invalid
from phronesis.models.text_features import has_han, sentence_at, sentences

BEGAN_PRECISION: Final = "began_precision"
"""The member of an item's ``data`` that says how exact the time is from which it holds: ``year`` or ``month``."""

_When = Annotated[str, pydantic.Field(max_length=40)] | None


class _AnswerPart(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")


class ProposedTimes(_AnswerPart):
    """When something happened, begins, is due, ends and recurs, as far as the message says."""

    happened: _When = None
    starts: _When = None
    due: _When = None
    ends: _When = None
    recurs: Annotated[str, pydantic.Field(max_length=200)] | None = None

    def read(self, at: datetime, *, past: bool) -> tuple[dict[str, str | None], dict[str, str]]:
        """Return those times that are dates as fields of a proposal, and how exact they are; ``at`` is its time."""
        began = PartialDate.parse(self.starts or self.happened, at)
        ends, due = PartialDate.parse(self.ends, at), PartialDate.parse(self.due, at)
        over = None if ends is None else ends.first if ends.precision == "minute" else ends.after
        if past and (over is None or over > at):
            over = at if began is None else max(at, began.first)
        fields = {
            "occurred_at": None if began is None or began.first == at else isoformat(began.first),
            "valid_to": isoformat(over),
            "due": None if due is None or due.is_past(at) else isoformat(due.last),
        }
        dates = ((BEGAN_PRECISION, began), ("ends_precision", ends), ("due_precision", due))
        return fields, {name: one.precision for name, one in dates if one and one.precision in {"year", "month"}}


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A year, a month, a day or a minute: its first moment, the one after it, and how exact it is."""

    first: datetime
    after: datetime
    precision: Literal["year", "month", "day", "minute"]

    @classmethod
    def parse(cls, text: str | None, at: datetime) -> "PartialDate | None":
        """Return the date that a text in ISO 8601 says, in the time zone of ``at``; None if it says none."""
        parts = _DATE.fullmatch((text or "").strip())
        if parts is None:
            return None
        year, month, day, clock = parts.groups()
        try:
            if clock is not None:
                first = datetime.fromisoformat(f"{year}-{month}-{day}T{clock}").replace(tzinfo=at.tzinfo or UTC)
                return cls(first, first + timedelta(minutes=1), "minute")
            first = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
            if day is not None:
                return cls(first, first + timedelta(days=1), "day")
            if month is not None:
                return cls(first, (first + timedelta(days=31)).replace(day=1), "month")
            return cls(first, first.replace(year=first.year + 1), "year")
        except (ValueError, OverflowError):
            return None

    @property
    def last(self) -> datetime:
        """The last day, at midnight; the minute itself."""
        return self.first if self.precision == "minute" else self.after - timedelta(days=1)

    def is_past(self, at: datetime) -> bool:
        """Return whether all of it lies before a moment, or before its day."""
        return self.after <= at if self.precision == "minute" else self.after.date() <= at.date()


_DATE: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d)(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?)?)?")


MAX_LISTED: Final = 200
"""Maximum names, and memories, in one answer."""

CONFIDENCE: Final = {"stated": 0.9, "reported": 0.85, "inferred": INFERRED_AT_MOST, "hedged": 0.5}
"""How sure a proposal is, by what the model says of it. A model's own figures are not calibrated, so it is not asked
for one; what is hedged lies below every threshold of the gate."""

RELATIONS: Final[Mapping[str, Relation]] = {
    "repeat": "repeats",
    "refine": "refines",
    "replace": "replaces",
    "end": "ends",
    "done": "ends",
}
"""What a statement does to the held items that it names, by its act."""

GROUNDED: Final = 0.5
"""Share of a value's words that its message, or a held item that it names, must hold: half allows for inflection, and
for a number in figures. One that is found only in what was shown besides counts as inferred; one found nowhere is
refused."""

SCOPE: Final = "scope"
RECURS: Final = "recurs"
"""Members of an item's ``data``: where alone it holds, and when it recurs, in words."""

FALLBACK_KEY: Final = "fact"
"""The key of a memory for which the model made up a key."""

DENIED: Final = "not"
"""The family of keys that deny another key: ``not.allergy``."""


class ProposedName(_AnswerPart):
    """A name as a model gives it: the number of its message, and its letters."""

    n: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    surface: Annotated[str, pydantic.Field(min_length=1, max_length=MAX_SURFACE)]


class ProposedMemory(_AnswerPart):
    """A memory as a model gives it."""

    n: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    quote: Annotated[str, pydantic.Field(min_length=1, max_length=2000)]
    subject: Annotated[str, pydantic.Field(min_length=1, max_length=200)]
    key: Annotated[str, pydantic.Field(min_length=1, max_length=100)]
    value: Annotated[str, pydantic.Field(min_length=1, max_length=500)]
    content: Annotated[str, pydantic.Field(min_length=1, max_length=1000)]
    act: Literal["new", "repeat", "refine", "replace", "end", "done", "past"] = "new"
    held: Annotated[list[Annotated[int, pydantic.Field(ge=0, le=10_000)]], pydantic.Field(max_length=20)] = []
    sure: Literal["stated", "reported", "hedged", "inferred"] = "stated"
    source: Annotated[str, pydantic.Field(max_length=200)] | None = None
    scope: Annotated[str, pydantic.Field(max_length=200)] | None = None
    times: ProposedTimes | None = None
    position: SkipJsonSchema[int] = 0
    """Its number in the answer, from 0; the model does not give it."""


class ExtractionAnswer(_AnswerPart, title="Found"):
    """The answer asked for."""

    memories: Annotated[list[ProposedMemory], drop_invalid(ProposedMemory), pydantic.Field(max_length=MAX_LISTED)] = []
    names: Annotated[list[ProposedName], drop_invalid(ProposedName), pydantic.Field(max_length=MAX_LISTED)] = []

    @pydantic.field_validator("memories", mode="before")
    @classmethod
    def _number(cls, rows: object) -> object:
        """Number the memories before the invalid ones are left out."""
        if not isinstance(rows, list):
            return rows
        return [{**row, "position": i} if isinstance(row, dict) else row for i, row in enumerate(rows)]


@dataclass(frozen=True, slots=True)
class ModelGate:
    """Separates what a model proposes by the keys there are, the thresholds, and the held items that it was shown.

    ``entries`` are the ids of the messages' entries. Memories of one answer are numbered on from the held items, so
    that a later one can change an earlier one. ``earlier`` is the text of the messages shown from before.
    """

    types: MemoryTypes
    gate: Gate
    held: Mapping[int, Item] = field(default_factory=dict)
    entries: Mapping[int, str] = field(default_factory=dict)
    earlier: str = ""

    def __call__(
        self, proposed: Sequence[ProposedMemory], messages: Mapping[int, GateInput]
    ) -> tuple[list[Proposal], list[Refusal]]:
        """Return what may be remembered, and what may not with the reason."""
        kept: dict[tuple[Any, ...], Proposal] = {}
        refused: list[Refusal] = []
        shown = dict(self.held)
        first = max(shown, default=0) + 1
        for one in proposed:
            said = messages.get(one.n)
            place = None if said is None else find_quote(said.text, one.quote, one.value)
            if said is None or place is None:
                why = "there is no such message" if said is None else "it does not stand there"
                refused.append(_refuse(one, "message" if said is None else "quotation", why))
                continue
            named, others = _find_named(one, shown, said)
            found = self._grounds(one, said, place, [*named, *itertools.chain(*others)])
            proposal = self._proposal(one, said, place, named, inferred=one.sure == "inferred" or found == "elsewhere")
            problem = _UNGROUNDED if found is None else self._problem(one, proposal, said)
            if problem is not None:
                refused.append(_refuse(one, *problem))
                continue
            proposal = mark_future_effect(proposal, said.at)
            for each in (proposal, *(_make_ending(proposal, group) for group in others)):
                kept.setdefault((each.n, each.subject, each.key, each.value, each.act), each)
            if one.n in self.entries and proposal.act == "assert" and not proposal.done:
                shown[first + one.position] = Item(  # as far as a later memory of the answer needs it
                    id=proposed_item_id(self.entries[one.n], proposal),
                    kind=proposal.kind,
                    content=proposal.content,
                    entry_id=self.entries[one.n],
                    recorded_at=said.at,
                    updated_at=said.at,
                    subject=proposal.subject,
                    key=proposal.key,
                )
        return list(kept.values()), refused

    def _grounds(
        self, one: ProposedMemory, said: GateInput, place: tuple[int, int], named: Sequence[Item]
    ) -> Literal["said", "elsewhere"] | None:
        """Return where the value comes from: what was said, only what was shown beside it, or nowhere.

        What ends a held item needs no value of its own.
        """
        if named and one.act in {"end", "done"}:
            return "said"
        quote, held = said.text[slice(*place)], [item.content for item in named]
        if max(_measure_grounding(one.value, text) for text in ("\n".join([quote, *held]), said.text)) >= GROUNDED:
            return "said"
        shown = "\n".join([said.text, self.earlier, *held, *(item.content for item in self.held.values())])
        grounded = _measure_grounding(one.value, quote) or _measure_grounding(one.value, shown) >= GROUNDED
        return "elsewhere" if grounded else None

    def _problem(self, one: ProposedMemory, proposal: Proposal, said: GateInput) -> tuple[str, str] | None:
        if said.role == "assistant" and not self.gate.passes("assistant", proposal.confidence):
            return "assistant", "what the assistant says is no source about the person"
        if not self.gate.passes(proposal.basis, proposal.confidence):
            return "low_confidence", f"{one.sure}, by the {said.role}"
        return None

    def _proposal(
        self, one: ProposedMemory, said: GateInput, place: tuple[int, int], named: Sequence[Item], *, inferred: bool
    ) -> Proposal:
        start, end = place
        quote = said.text[start:end]
        known = self._type(one, named)
        inferred = inferred or said.role not in _BASIS
        given = one.times or ProposedTimes()
        times, exactness = given.read(said.at, past=one.act == "past" and known.kind not in OCCASIONS)
        notes = {SCOPE: one.scope, "source": one.source if one.sure == "reported" else None, RECURS: given.recurs}
        proposal = Proposal(
            n=one.n,
            quote=quote,
            start=start + said.offset,
            end=end + said.offset,
            kind=known.kind,
            subject=self._subject(one, said, named),
            key=named[0].key or "" if named and one.act != "replace" else _choose_key(one.key, known),
            value=one.value.strip(),
            compared=comparable_value(known, one.value, at=said.at),
            content=one.content.strip() if has_han(quote) == has_han(one.content) else quote,  # where it translated
            cardinality="many" if one.scope else known.cardinality,
            act="retract" if one.act == "end" else "assert",
            done=one.act == "done",
            basis="inferred" if inferred else _BASIS[said.role],
            confidence=min(CONFIDENCE[one.sure], INFERRED_AT_MOST if inferred else 1.0),
            importance=known.importance,
            occurred_at=times["occurred_at"],
            valid_to=times["valid_to"],
            due=times["due"] if known.kind in PROSPECTIVE else None,
            doubtful=False,
            relation=RELATIONS[one.act] if named else None,
            held=tuple(item.id for item in named),
            notes={name: note for name, note in (notes | exactness).items() if note},
        )
        first, last = sentence_at(said.text, start, end)
        return add_relation(proposal, said.text[first:last], said.text[:first])

    def _type(self, one: ProposedMemory, named: Sequence[Item]) -> MemoryType:
        """Return the type of a memory: that of the item it repeats, refines or ends, or of its key."""
        if named and one.act != "replace" and named[0].key is not None:
            row = self.types.find(named[0].key, named[0].kind)
            if row is not None:
                return row
        # Two kinds share the key ``uses``: a person's is a preference, a thing's a fact.
        kind = "preference" if one.subject == USER else "fact"
        found = self.types.find(one.key, kind) or self.types.find(one.key) or self.types.find(FALLBACK_KEY)
        return cast("MemoryType", found)

    @staticmethod
    def _subject(one: ProposedMemory, said: GateInput, named: Sequence[Item]) -> str:
        """Return whom a memory is about: a held item's subject as it is known, the speaker, or the name given."""
        if named and named[0].subject is not None:
            return named[0].subject
        if one.subject.strip().casefold() == USER:
            return (said.name if said.role == "user" else None) or USER  # a tool's name is no person's
        return canonical_relative(one.subject.strip())


def _find_named(
    one: ProposedMemory, shown: Mapping[int, Item], said: GateInput
) -> tuple[Sequence[Item], Sequence[Sequence[Item]]]:
    """Return the items that a memory names: those of its own subject, and those of others, which it only ends.

    What is said of the speaker concerns no item of others, and the reverse.
    """
    speaker = {USER} if said.name is None or said.role != "user" else {USER, said.name.casefold()}
    found = [shown[n] for n in dict.fromkeys(one.held) if n in shown] if one.act in RELATIONS else []
    subject = one.subject.strip().casefold()
    groups: dict[str, list[Item]] = {}
    for item in found:
        name = (item.subject or "").casefold()
        if (name in speaker) == (subject in speaker):
            groups.setdefault(USER if name in speaker else name, []).append(item)
    own = next((name for name in groups if subject in speaker or name in subject or subject in name), None)
    if own is None and one.act != "replace":
        own = next(iter(groups), None)
    others = [group for name, group in groups.items() if name != own and one.act in {"replace", "end", "done"}]
    return groups.get(own or "", []), others


def _make_ending(one: Proposal, items: Sequence[Item]) -> Proposal:
    """Return the end of another subject's items, which a memory replaces or ends besides."""
    first = items[0]
    return replace(
        one,
        subject=first.subject or USER,
        kind=first.kind,
        key=first.key or "",
        act="assert" if one.done else "retract",
        relation="ends",
        held=tuple(item.id for item in items),
        notes={},
    )


_BASIS: Final[Mapping[str, Basis]] = {"user": "user", "tool": "tool"}
_UNGROUNDED: Final = ("value", "its value is not in what it quotes")


def _refuse(one: ProposedMemory, rule: str, reason: str) -> Refusal:
    return Refusal(n=one.n, text=one.quote[:MAX_EXCERPT], rule=rule, reason=reason)


def _choose_key(given: str, known: MemoryType) -> str:
    """Return the key of a memory under its type: with the model's word in a family, else the type's own."""
    family, _, word = given.casefold().partition(".")
    if family == DENIED and known.key == f"{DENIED}.*":
        return f"{DENIED}.{word or FALLBACK_KEY}"
    return known.key_of(word if known.key.startswith(f"{family}.") else given) if known.family else known.key


def find_quote(text: str, quote: str, value: str) -> tuple[int, int] | None:
    """Return the place of a quotation in a message, whatever its white space and case; None if it does not stand there.

    A quotation of several sentences is narrowed to the one that holds the value.
    """
    start = text.find(quote)
    end = start + len(quote)
    if start < 0:
        words = [re.escape(word) for word in quote.split()]
        found = re.search(r"\s+".join(words), text, re.IGNORECASE) if words else None
        if found is None:
            return None
        start, end = found.span()
    inside = text.find(value, start, end)
    if inside >= 0 and len(sentences(text[start:end])) > 1:
        first, last = sentence_at(text, inside, inside + len(value))
        start, end = max(start, first), min(end, last)
    return start, end


def _measure_grounding(value: str, text: str) -> float:
    """Return the share of a value's words that a text holds; 1 where it holds the value itself."""
    if any(map(str.isalnum, value)) and value.strip().casefold() in text.casefold():
        return 1.0
    words = set(tokenize(value))
    return len(words.intersection(tokenize(text))) / len(words) if words else 0.0


def own_words(rows: Iterable[ProposedMemory | ProposedName]) -> str:
    """Return the texts of an answer that may repeat what the model was shown beside the messages."""
    return "\n".join(
        row.surface if isinstance(row, ProposedName) else f"{row.subject}\n{row.value}\n{row.content}" for row in rows
    )
