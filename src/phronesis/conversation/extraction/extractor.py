"""Extract names and memories from messages without a language model, and the outcomes that record them.

Memories are those of the reader, or of the starter where no encoder is installed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Final

from phronesis.conversation.extraction.extraction_rules import (
    STARTER_VERSION,
    add_relation,
    requests_in,
    said_at,
    starter_values,
)
from phronesis.conversation.extraction.gate import INJECTED, MAX_REFUSALS, USUAL, Gate, RetentionPolicy, refusal
from phronesis.conversation.extraction.memory_types import MemoryType, MemoryTypes, comparable_value, load_memory_types
from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.data_delimiters import StrippedText, strip_contexts
from phronesis.core.entries import Entry, Outcome, TurnPayload, is_erased, payload_of
from phronesis.core.items import PROSPECTIVE
from phronesis.core.lazy_loading import load_once
from phronesis.core.name_detection import RULES_VERSION, find_mentions
from phronesis.core.proposals import GATED, PROPOSALS, USER, Basis, Proposal, Refusal
from phronesis.core.statements import OCCASIONS, OPPOSITE, mark_future_effect
from phronesis.core.values import canonical_relative
from phronesis.engine.handler import PrepareContext
from phronesis.engine.prompt_injection import speaker_name
from phronesis.log.payloads import texts_of
from phronesis.models.reader import READER_VERSION, Reader, load_reader
from phronesis.models.reader.network import FoundValue
from phronesis.models.text_features import has_han, sentence_at, sentences

CONFIRMED: Final = 0.85
"""The least confidence of a value that both the reader and the starter find."""

DOUBTED: Final = 0.25
"""The least confidence of a value that is not sure enough to be kept and may still mark a held one as outdated."""

MAX_PROPOSALS: Final = 24
"""Proposals of one message."""

MAX_QUOTE: Final = 400
"""Characters of a quotation: of a longer sentence, what stands around the value."""

UNDATED: Final = frozenset({"birthday", "attribute", "favorite", "age", "timezone", "reply_style", "fact", "phone"})
"""Keys, and families, whose values may hold a time that says nothing of when they hold."""

NAMES: Final = frozenset(
    {"name", "alias", "partner", "child", "parent", "sibling", "friend", "colleague", "pet", "address_as"}
)
"""Keys of names: a day beside a name says nothing of when it holds."""

_RECORDED: Final = frozenset({"profile", "fact"})
"""Kinds that a tool may state; tastes, plans and doings are for people to tell."""

_COARSE: Final = frozenset({"month", "season", "year"})
_LIMITS: Final = ("by", "before", "until", "till")
_LIMITS_CHINESE: Final = ("前", "之前", "以前")
"""Words beside a time that make it a limit."""

_WRITER: Final = frozenset({"i", "me", "my", "we", "us", "our", "我", "我们", "咱", "咱们", "俺"})
"""Words by which a writer is meant."""

_STOPS: Final = " .!。！"
_EDGES: Final = " \t\n,，。.!！?？;；:：~-–—\"“”'‘’「」『』()（）"


@dataclass(frozen=True, slots=True)
class MessageExtractor:
    """Extracts what the messages of an entry state.

    ``load`` gives the reader when the first message is read; where it gives None, only plain sentences are understood.
    ``doubts``: whether every doubtful value is returned, for somebody to decide, and not only what may mark held ones.
    """

    types: MemoryTypes = field(default_factory=load_memory_types)
    gate: Gate = field(default_factory=Gate)
    load: Callable[[], Reader | None] = load_reader
    doubts: bool = False

    @property
    def version(self) -> str:
        """The version that outcomes record."""
        return STARTER_VERSION if self.load() is None else READER_VERSION

    def propose(self, entry: Entry, texts: Mapping[int, str]) -> tuple[list[Proposal], list[Refusal]]:
        """Return what the messages of an entry state, and what of them is refused, by number of the message."""
        proposals: list[Proposal] = []
        refusals: list[Refusal] = []
        for n, text in texts.items():
            message = entry.payload["messages"][n]
            if not text.strip() or is_erased(message):
                continue
            found, refused = self._read(n, message, text, said_at(entry, message), before=_question_before(entry, n))
            asked, told = requests_in(entry, {n: text})
            if asked:  # what is to be forgotten is not learned by being named
                found = [one for one in found if all(one.end <= ask.start or ask.end <= one.start for ask in asked)]
                refused = [one for one in refused if one.rule not in {"chit_chat", "question", "low_confidence"}]
            proposals += [*found, *asked]
            refusals += [*told, *refused][:MAX_REFUSALS]
        return proposals, refusals

    def read(
        self, n: int, message: Mapping[str, Any], text: str, at: datetime, *, before: str = ""
    ) -> tuple[list[Proposal], list[Refusal]]:
        """Return what one message states, and what of it is refused and why."""
        found, refused = self._read(n, message, text, at, before=before)
        return [one for one in found if not one.doubtful], refused

    def _read(
        self, n: int, message: Mapping[str, Any], text: str, at: datetime, *, before: str
    ) -> tuple[list[Proposal], list[Refusal]]:
        """Return what one message states, doubtful or not, and what of it is refused and why."""
        role = message["role"]
        if role == "assistant":
            return [], [refusal(n, text, "assistant")]
        if role not in {"user", "tool"}:
            return [], [refusal(n, text, "operator")]
        own = strip_contexts(text, hosts=role == "user")
        if text.strip() and not own.text.strip():
            return [], [refusal(n, text, INJECTED)]
        speaker = (speaker_name(message.get("name")) if role == "user" else None) or USER
        if role == "tool" and own.text.lstrip().startswith(("{", "[")):
            return [], [refusal(n, text, "code")]
        found, ends, rule = self._values(n, own.text, at, speaker=speaker, basis=role, before=before)
        found = [replace(one, doubtful=not self.gate.passes(one.basis, one.confidence)) for one in found]
        kept = [one for one in found if not one.doubtful][:MAX_PROPOSALS]
        refused = [refusal(n, one.quote, "low_confidence") for one in found if one.doubtful][:1]
        if not kept and not refused:
            refused = [refusal(n, text, rule)]
        marking = [one for one in found if one.doubtful and (self.doubts or may_mark(one))]
        doubted = [*marking, *ends] if role == "user" else []
        return [place_proposal(self._compared(one, at), own) for one in (*kept, *doubted[:MAX_PROPOSALS])], refused

    def _values(
        self, n: int, text: str, at: datetime, *, speaker: str, basis: Basis, before: str
    ) -> tuple[list[Proposal], list[Proposal], str]:
        """Return the proposals of a text, what it says to hold no more, and the rule that refuses it without any."""
        rule = "chit_chat"
        reader = self.load()
        ends: list[Proposal] = []
        if reader is None:
            values = starter_values(text)
        else:
            reading = reader(text, before)
            values, rule = _confirmed(reading.values, starter_values(text)), reading.gate or rule
            named = {value.subject for value in values}
            ends = [_make_end(n, text, place, speaker) for place in reading.ended if text[slice(*place)] not in named]
        found: dict[tuple[Any, ...], Proposal] = {}
        for value in values:
            one = self._proposal(n, text, at, value, speaker=speaker, basis=basis)
            if one is not None and (basis == "user" or (one.kind in _RECORDED and one.subject != USER)):
                key = (one.subject, one.kind, one.key, one.value, one.act)
                found[key] = max(found.get(key, one), one, key=lambda each: each.confidence)
        return list(found.values()), ends, rule

    def _proposal(
        self, n: int, text: str, at: datetime, value: FoundValue, *, speaker: str, basis: Basis
    ) -> Proposal | None:
        family, _, word = value.key.partition(".")
        row = self.types.find(value.key, value.kind)
        words = text[value.start : value.end].strip(_EDGES)
        if row is None or not words or not _in_form(row, words):
            return None
        start, end = _quotation(text, value.start, value.end)
        quote = text[start:end]
        named = None if value.subject is None or value.subject.lower() in _WRITER else value.subject.strip(_EDGES)
        subject = canonical_relative(named) if named else speaker
        times = [] if family in UNDATED or family in NAMES else _times_beside(text, value, at, row)
        dated = next((one for one in times if not _is_limit(text, one)), None)
        proposal = Proposal(
            n=n,
            quote=quote,
            start=start,
            end=end,
            kind=row.kind,
            subject=subject,
            key=row.key_of(word or None),
            content=_content(quote, subject, speaker, named),
            value=words,
            cardinality=row.cardinality,
            act="retract" if value.retracted else "assert",
            done=value.done,
            replaces=value.replaces,
            basis=basis,
            confidence=value.confidence,
            importance=row.importance,
            occurred_at=None if dated is None else _midnight(dated.first),
            due=_due(text, times, at) if row.kind in PROSPECTIVE else None,
        )
        return add_relation(proposal, quote, text[:start])

    def _compared(self, one: Proposal, at: datetime) -> Proposal:
        one = mark_future_effect(one, at)
        row = self.types.find(one.key, one.kind)
        if row is None or one.value is None:
            return one
        return replace(one, compared=comparable_value(row, one.value, at=at))


def _make_end(n: int, text: str, place: tuple[int, int], speaker: str) -> Proposal:
    """Return the doubtful end of whatever words of a text name."""
    start, end = _quotation(text, *place)
    quote = text[start:end]
    return Proposal(
        n=n,
        quote=quote,
        start=start,
        end=end,
        kind="",
        subject=speaker,
        key="",
        content=quote,
        value=text[slice(*place)].strip(_EDGES),
        act="retract",
        doubtful=True,
    )


def may_mark(one: Proposal) -> bool:
    """Return whether a doubtful value may mark what is held: it ends a value, takes its place, or names another day."""
    ends = one.act == "retract" or one.done or one.replaces is not None
    moves = one.kind in OCCASIONS and one.occurred_at is not None
    replaces = one.cardinality == "one" or one.key in OPPOSITE or moves
    return bool(one.doubtful) and (ends or replaces) and one.confidence >= DOUBTED


def _confirmed(values: Sequence[FoundValue], plain: Sequence[FoundValue]) -> list[FoundValue]:
    """Return the reader's values; those of a plain sentence that the starter knows are sure enough to be kept.

    Such a sentence also says where the value begins, and that it is said of the writer.
    """

    def confirm(one: FoundValue) -> FoundValue:
        same = (other for other in plain if (one.kind, one.key) == (other.kind, other.key))
        known = next((other for other in same if one.start <= other.start < one.end), None)
        if one.done or known is None:
            return one
        sure = max(one.confidence, CONFIRMED)
        return replace(one, retracted=False, confidence=sure, start=known.start, subject=known.subject)

    return [confirm(one) for one in values]


def place_proposal(one: Proposal, own: StrippedText) -> Proposal:
    """Return a proposal from what is left of a message, with its place in the whole message."""
    start = own.place(one.start)
    return replace(one, start=start, end=start + one.end - one.start)


def _question_before(entry: Entry, n: int) -> str:
    """Return the question that the assistant asked right before message ``n``; empty where it asked none."""
    before = entry.payload["messages"][n - 1] if n > 0 else None
    text = before.get("content") if before is not None and before.get("role") == "assistant" else None
    if not isinstance(text, str) or not text.rstrip().endswith(("?", "？")):
        return ""
    start, end = sentences(text)[-1]
    return text[start:end]


def _quotation(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the sentence of a value without its full stop; of a long one the words around the value."""
    first, last = sentence_at(text, start, end)
    last = max(end, first + len(text[first:last].rstrip(_STOPS)))
    room = max(0, (MAX_QUOTE - (end - start)) // 2)
    if last - first > MAX_QUOTE:
        first, last = max(first, start - room), min(last, end + room)
    return first, last


def _content(quote: str, subject: str, speaker: str, named: str | None) -> str:
    """Return a quotation as a sentence that can be understood alone: whom it is of stands before it where it must."""
    words = " ".join(quote.split())
    told = named in quote if named is not None else speaker == USER
    who = speaker if named is None else subject
    return words if told else f"{who}：{words}" if has_han(words) else f"{who}: {words}"


def _in_form(row: MemoryType, words: str) -> bool:
    """Return whether a value has the form of its key, where that can be seen: an address of mail, a number."""
    if row.form == "email":
        return "@" in words
    if row.form == "phone":
        return sum(letter.isdigit() for letter in words) >= 5  # noqa: PLR2004 - a short code
    return True


def _times_beside(text: str, value: FoundValue, at: datetime, row: MemoryType) -> Sequence[TimeSpan]:
    """Return the times in the sentence of a value, the nearest first."""
    start, end = sentence_at(text, value.start, value.end)
    lean = 1 if row.kind in PROSPECTIVE or row.key == "appointment" else -1 if row.kind in OCCASIONS else 0
    found = [
        replace(one, start=one.start + start, end=one.end + start) for one in find_times(text[start:end], at, lean=lean)
    ]
    return sorted(found, key=lambda one: max(one.start - value.end, value.start - one.end, 0))


def _is_limit(text: str, time: TimeSpan) -> bool:
    """Return whether a time is a limit rather than a day: "by June", 六月前."""
    word = text[: time.start].rstrip().rpartition(" ")[2].lower()
    return word in _LIMITS or text[time.end :].startswith(_LIMITS_CHINESE)


def _due(text: str, times: Sequence[TimeSpan], at: datetime) -> str | None:
    """Return the day that something is due: one that lies ahead, or today. A month is one only as a limit."""
    ahead = (one for one in times if one.first >= at.date())
    due = next((one for one in ahead if _is_limit(text, one) or one.precision not in _COARSE), None)
    return None if due is None else _midnight(due.first)


def _midnight(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


MENTIONS: Final = "mentions"
"""Role of the outcome with the names found."""


@dataclass(frozen=True, slots=True)
class LocalExtractor:
    """Extracts names and memories of each message without a language model; without ``memories`` only names.

    Memories are not extracted from an entry added with ``infer`` false. ``terms`` are the policy's rules for them.
    """

    memories: MessageExtractor | None
    terms: RetentionPolicy = USUAL

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the names, proposals and refusals as outcomes."""
        texts, withheld, refused = self.terms.split_readable(texts_of(entry))
        found = [
            {"n": n, "surface": one.surface, "kind": one.kind, "start": one.start, "end": one.end}
            for n, text in texts.items()
            for one in find_mentions(text)
        ]
        outcomes = [Outcome(role=MENTIONS, made_by=RULES_VERSION, body={"found": found}), *withheld]
        if self.memories is None or payload_of(entry, TurnPayload).get("infer") is False:
            return [*outcomes, *extraction_outcomes((), refused, RULES_VERSION)]
        proposals, refusals = self.terms.apply_retention(*self.memories.propose(entry, texts), texts)
        return [*outcomes, *extraction_outcomes(proposals, [*refused, *refusals], self.memories.version)]


@load_once
def _usual() -> LocalExtractor:
    return LocalExtractor(MessageExtractor())


def extract_locally(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Extract names and memories without a language model, behind the usual gate."""
    return _usual()(bench, entry)


def refusals_by(outcomes: Sequence[Outcome]) -> list[Refusal]:
    """Return the refusals in outcomes."""
    return [Refusal.from_dict(row) for one in outcomes if one.role == GATED for row in one.body["refusals"]]


def extraction_outcomes(proposals: Sequence[Proposal], refusals: Sequence[Refusal], made_by: str) -> list[Outcome]:
    """Return the outcomes for proposals and refusals; empty where there are none."""
    rows = ((PROPOSALS, "proposals", proposals), (GATED, "refusals", refusals))
    return [
        Outcome(role=role, made_by=made_by, body={name: [one.to_dict() for one in listed]})
        for role, name, listed in rows
        if listed
    ]
