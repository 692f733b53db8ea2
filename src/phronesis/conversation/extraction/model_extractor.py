"""Extract names and memories by a model, whose every proposal must be quoted in the message.

A model's answer is recorded with the entry, rejected proposals included, so a rebuild calls no model. Where it gives
nothing usable, the local extractor takes over, and an outcome ``degraded`` records that. Entries that wait behind one
another are read in one call.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.conversation.extraction.context import (
    BUDGET,
    ExtractionContext,
    FindItems,
    gather_context,
    render_messages,
    render_request,
)
from phronesis.conversation.extraction.extraction_rules import FORGET_KEY, requests_in
from phronesis.conversation.extraction.extractor import (
    MENTIONS,
    LocalExtractor,
    MessageExtractor,
    extraction_outcomes,
    place_proposal,
    refusals_by,
)
from phronesis.conversation.extraction.gate import WITHHELD, GateInput, withheld_in
from phronesis.conversation.extraction.memory_types import MemoryTypes
from phronesis.conversation.extraction.proposed import (
    ExtractionAnswer,
    ModelGate,
    ProposedMemory,
    ProposedName,
    own_words,
)
from phronesis.core.data_delimiters import StrippedText, strip_contexts
from phronesis.core.entries import Entry, Outcome, TurnPayload, payload_of
from phronesis.core.ids import item_id
from phronesis.core.name_detection import MAX_MENTIONS, RULES_VERSION
from phronesis.core.proposals import Proposal, Refusal
from phronesis.core.text import UNSPACED
from phronesis.engine.handler import PrepareContext, answer_outcomes, degraded_outcome
from phronesis.log.payloads import fit, texts_of
from phronesis.models.structured_client import Answer, StructuredClient, Task, prompt

ROLE: Final = "extract"
REFUSED: Final = "refused"
"""Role of the outcome with refused names."""

PROMPT_VERSION: Final = "extract/3"
"""Version of ``prompts/extract.md``, recorded with every outcome."""

MAX_SHOWN: Final = 12_000
"""Maximum characters of the messages of one call. A longer turn is read in several calls, a longer message in parts."""

SHOWN_TOGETHER: Final = 6_000
"""Maximum characters of a call that reads several entries."""

MESSAGES: Final = 24
"""Messages that one call reads, unless the role says otherwise."""

OVERLAP: Final = 2
"""Messages of a call that the next call about the same entry is shown as earlier ones."""

ANSWER_TOKENS: Final = 250
"""Tokens of an answer for each message, about: a call reads no more messages than its answer has room for."""

MAX_AHEAD: Final = 500
"""Entries whose reading is kept until their turn comes."""

VERBS: Final = ("turn", "add")
"""Verbs whose entries are conversations."""

READ_ROLES: Final = frozenset({"user", "tool", "assistant"})
"""Roles of the messages shown to the model; what operators write is policy, not memory."""


@dataclass(slots=True)
class _Member:
    """An entry that a call reads, what the model may see of it, and what the calls gave."""

    entry: Entry
    said: Mapping[int, GateInput]
    own: Mapping[int, StrippedText]
    texts: Mapping[int, str]
    mentions: Outcome
    withheld: Sequence[Outcome]
    names: list[ProposedName] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    answers: list[Outcome] = field(default_factory=list)
    degraded: list[Outcome] = field(default_factory=list)
    unread: set[int] = field(default_factory=set)
    """Numbers of the messages that no call read."""

    @property
    def readable(self) -> bool:
        """Return whether somebody else than the assistant says something."""
        return _spoken(self.said) > 0


@dataclass(frozen=True, slots=True)
class _Call:
    """The messages of one call by the number under which they are shown, and whose each is."""

    said: Mapping[int, GateInput]
    places: Mapping[int, tuple[_Member, int]]

    @classmethod
    def of(cls, parts: Sequence[tuple[_Member, Mapping[int, GateInput]]]) -> "_Call":
        """Number the messages of several entries on from those of the first."""
        said, places, after = dict[int, GateInput](), dict[int, tuple[_Member, int]](), 0
        for i, (member, part) in enumerate(parts):
            for n, one in part.items():
                shown = n if i == 0 else after
                said[shown], places[shown] = one, (member, n)
                after = shown + 1
        return cls(said, places)

    @property
    def members(self) -> list[_Member]:
        """The entries, in order."""
        return list({id(member): member for member, _ in self.places.values()}.values())


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Extracts names and memories by a model; addresses, paths and handles by rules, which do not miss them.

    ``find`` searches for the held items that the model is shown, so that it can say which of them a message changes.
    ``messages`` and ``budget`` bound what one call reads, and what it is shown beside that.
    """

    asker: StructuredClient
    local: LocalExtractor
    find: FindItems = lambda _bench, _text: ()
    messages: int = MESSAGES
    budget: int = BUDGET
    _ahead: dict[str, _Member] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """The messages that one call reads at most."""
        return max(1, min(self.messages, self.asker.max_tokens // ANSWER_TOKENS))

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return what the model extracted and its answers; what the local extractor gives where it gave nothing."""
        known = self.local.memories
        member = self._ahead.pop(entry.id, None) or self._member(bench, entry)
        if known is None or member is None or not member.readable:
            return self.local(bench, entry)
        if not member.answers and not member.degraded:
            self._read(bench, member, known)
        if member.unread and member.unread >= {n for n, one in member.said.items() if one.role != "assistant"}:
            return [*self.local(bench, entry), *member.answers, *member.degraded]
        made_by = f"{self.asker.name} {PROMPT_VERSION}"
        found, refused = place_names(member.names, member.texts)
        others = [one for one in member.mentions.body["found"] if one["kind"] != "name"]
        outcomes = [Outcome(role=MENTIONS, made_by=made_by, body={"found": merge_names(others, found)})]
        outcomes += [*(one for one in member.withheld if one.role == WITHHELD), *member.answers, *member.degraded]
        if refused:
            outcomes.append(Outcome(role=REFUSED, made_by=made_by, body={"proposals": refused}))
        proposals, refusals = self.local.terms.apply_retention(*_with_local(member, known), member.texts)
        asked, unmet = requests_in(entry, {n: one.text for n, one in member.said.items()})
        refusals = [*refusals_by(member.withheld), *refusals, *unmet]
        return [*outcomes, *extraction_outcomes([*proposals, *asked], refusals, made_by)]

    def _member(self, bench: PrepareContext, entry: Entry) -> _Member | None:
        """Return what the model may see of an entry; None if nothing is to be inferred from it."""
        payload = payload_of(entry, TurnPayload)
        if payload.get("infer") is False:
            return None
        messages = payload.get("messages", ())
        mentions, *withheld = LocalExtractor(None, self.local.terms)(bench, entry)
        hidden = withheld_in({WITHHELD: [one for one in withheld if one.role == WITHHELD]})
        texts = {
            n: text for n, text in texts_of(entry).items() if n not in hidden and messages[n]["role"] in READ_ROLES
        }
        own = {n: strip_contexts(text, hosts=messages[n]["role"] == "user") for n, text in texts.items()}
        own = {n: one for n, one in own.items() if one.text.strip()}
        said = render_messages(entry, {n: one.text for n, one in own.items()})
        return _Member(entry, said, own, texts, mentions, withheld)

    def _read(self, bench: PrepareContext, member: _Member, known: MessageExtractor) -> None:
        """Ask the model about an entry, and about those that wait behind it where all fit into one call."""
        parts = list(parts_of(member.said, self.most))
        together = [(member, parts[0]), *self._following(bench, member)] if len(parts) == 1 else []
        if len(together) > 1 and self._ask(bench, _Call.of(together), known):
            for one, _ in together[1:]:
                self._ahead[one.entry.id] = one
            return
        overlap: Sequence[GateInput] = ()
        for part in parts:
            call = _Call.of([(member, part)])
            if not self._ask(bench, call, known, overlap):
                member.unread |= part.keys()
            overlap = list(part.values())[-OVERLAP:]

    def _following(self, bench: PrepareContext, member: _Member) -> list[tuple[_Member, Mapping[int, GateInput]]]:
        """Return the entries that wait behind one, as many as a call reads."""
        count, size = _spoken(member.said), sum(len(one.text) for one in member.said.values())
        if count >= self.most or size >= SHOWN_TOGETHER:
            return []
        if len(self._ahead) > MAX_AHEAD:  # another process took their turns
            self._ahead.clear()
        found: list[tuple[_Member, Mapping[int, GateInput]]] = []
        for entry in bench.list_following(VERBS, self.most - count):
            one = self._member(bench, entry)
            if one is None:
                break
            count += _spoken(one.said)
            size += sum(len(each.text) for each in one.said.values())
            if count > self.most or size > SHOWN_TOGETHER:
                break
            if one.readable:
                found.append((one, one.said))
        return found

    def _ask(
        self, bench: PrepareContext, call: _Call, known: MessageExtractor, overlap: Sequence[GateInput] = ()
    ) -> bool:
        """Ask once, and give each entry its part of the answer; return whether there was one.

        Where a call about several entries gives nothing, nothing is recorded: each is asked about alone.
        """
        members = call.members
        first, hides = members[0].entry, self.local.terms.hides
        context = gather_context(bench, first, call.said, find=self.find, hides=hides, budget=self.budget)
        request = render_request(first, call.said, context, overlap)
        task = Task(instructions(known.types), request, ExtractionAnswer)
        answer = self.asker.ask(bench.tenant, task)
        if answer.value is None and len(members) > 1:
            return False
        for member in members:
            _record(member, call, context, answer, by=self.asker.name)
        if answer.value is None:
            by, degraded = f"{RULES_VERSION} {known.version}", members[0].degraded
            degraded.append(degraded_outcome(ROLE, answer.reason, model=self.asker.name, by=by, after=degraded))
            return False
        entries = {n: member.entry.id for n, (member, _) in call.places.items()}
        earlier = "\n".join([*(item.content for item in context.earlier), *(one.text for one in overlap)])
        gate = ModelGate(known.types, known.gate, context.held, entries, earlier)
        proposals, refusals = gate(answer.value.memories, call.said)
        for one in proposals:
            member, n = call.places[one.n]
            member.proposals.append(place_proposal(replace(one, n=n), member.own[n]))
        for refusal in refusals:
            member, n = call.places.get(refusal.n, (members[0], refusal.n))
            member.refusals.append(replace(refusal, n=n))
        for name in answer.value.names:
            member, n = call.places.get(name.n, (members[0], name.n))
            member.names.append(name.model_copy(update={"n": n}))
        return True


def _with_local(member: _Member, known: MessageExtractor) -> tuple[list[Proposal], list[Refusal]]:
    """Return the model's proposals, with the local ones of messages of which all were refused, or no answer came.

    So a model that quotes what is not there suppresses nothing that the local extractor finds.
    """
    doubted = {one.n for one in member.refusals if one.rule in {"quotation", "value"}} & member.said.keys()
    doubted -= {one.n for one in member.proposals}
    texts = {n: member.texts[n] for n in sorted(doubted | member.unread)}
    if not texts:
        return member.proposals, member.refusals
    local, refusals = known.propose(member.entry, texts)
    held = {(one.n, one.subject, one.key) for one in member.proposals}
    kept = [one for one in local if (one.n, one.subject, one.key) not in held and one.key != FORGET_KEY]
    unread = [one for one in refusals if one.n in member.unread and one.rule != FORGET_KEY]
    return [*member.proposals, *kept], [*member.refusals, *unread]


def parts_of(said: Mapping[int, GateInput], messages: int = MESSAGES) -> Iterator[dict[int, GateInput]]:
    """Yield the messages of the calls: cut between messages, and within one that is too long at the end of a line.

    The assistant's messages do not count, and make no call of their own.
    """
    part: dict[int, GateInput] = {}
    size = 0
    for n, one in said.items():
        for start, end in _pieces(one.text):
            full = one.role != "assistant" and _spoken(part) >= messages
            if part and (n in part or full or size + end - start > MAX_SHOWN):
                if _spoken(part):
                    yield part
                part, size = {}, 0
            part[n] = replace(one, text=one.text[start:end], offset=start)
            size += end - start
    if _spoken(part):
        yield part


def _spoken(part: Mapping[int, GateInput]) -> int:
    """Return the number of messages that somebody else than the assistant says."""
    return sum(one.role != "assistant" for one in part.values())


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > MAX_SHOWN:
        least, most = start + MAX_SHOWN // 2, start + MAX_SHOWN
        end = max(text.rfind("\n", least, most), text.rfind(" ", least, most)) + 1 or most
        yield start, end
        start = end
    yield start, len(text)


def instructions(types: MemoryTypes) -> str:
    """Return the model's instructions with the keys of ``types``: the same in every call, for servers' caches."""
    text = prompt(ROLE)
    for cardinality in ("one", "many"):
        keys = dict.fromkeys(row.key for row in types if row.cardinality == cardinality)
        text = text.replace(f"{{{cardinality}}}", " ".join(keys))
    return text


_Row = dict[str, Any]
_WORD: Final = re.compile(rf"[^\W{UNSPACED}]")


def place_names(names: Sequence[ProposedName], texts: Mapping[int, str]) -> tuple[list[_Row], list[_Row]]:
    """Separate the names that occur in their message from those that do not, with the reason."""
    found: list[_Row] = []
    refused: list[_Row] = []
    for name in names:
        surface = fit(name.surface).strip()
        text = texts.get(name.n, "")
        start = _find_place(surface, text)
        if start is None:
            why = "there is no such message" if name.n not in texts else "it does not stand there"
            refused.append({"n": name.n, "surface": surface, "why": why})
        else:
            found.append({"n": name.n, "surface": surface, "kind": "name", "start": start, "end": start + len(surface)})
    return [place for n, place in enumerate(found) if place not in found[:n]], refused


def _find_place(surface: str, text: str) -> int | None:
    """Return the offset at which a name first occurs as a whole word, or None."""
    start = text.find(surface) if any(char.isalnum() for char in surface) else -1
    while start >= 0:
        end = start + len(surface)
        cut_before = _WORD.match(surface) and start > 0 and _WORD.match(text[start - 1])
        cut_after = _WORD.match(surface[-1]) and end < len(text) and _WORD.match(text[end])
        if not cut_before and not cut_after:
            return start
        start = text.find(surface, start + 1)
    return None


def merge_names(others: Sequence[Mapping[str, Any]], names: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return both lists without overlaps, in the order of the text: an address is one name, not three."""

    def overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        return bool(one["n"] == other["n"] and one["start"] < other["end"] and other["start"] < one["end"])

    kept = [*others, *(name for name in names if not any(overlap(one, name) for one in others))]
    return sorted(kept, key=lambda one: (one["n"], one["start"]))[: MAX_MENTIONS * max(1, len({o["n"] for o in kept}))]


def _record(
    member: _Member, call: _Call, context: ExtractionContext, answer: Answer[ExtractionAnswer], *, by: str
) -> None:
    """Record a call's answers with an entry: of a call about several entries, only what concerns this one.

    ``seen`` names what the answer has words of beside the entry's own: when that is erased, the entry is read again.
    """
    shown = {n for n, (whose, _) in call.places.items() if whose is member}
    found: list[ProposedMemory | ProposedName] = []
    if answer.value is not None:
        found += [*answer.value.memories, *answer.value.names]
    rows = [one for one in found if one.n in shown]
    elsewhere = {i: place for i, place in call.places.items() if i not in shown}
    others = {item_id(whose.entry.id, "message", str(n)): call.said[i].text for i, (whose, n) in elsewhere.items()}
    own = [call.said[n].text for n in shown]
    recorded = answer_outcomes(ROLE, answer, model=by, after=member.answers)
    for attempt, outcome in zip(answer.attempts, recorded, strict=True):
        body = dict(outcome.body)
        if len(call.members) > 1:
            given = [row.model_dump(exclude_defaults=True, exclude={"position"}) for row in rows]
            body["text"] = fit(json.dumps(given, ensure_ascii=False))
        words = body["text"] if answer.value is None or attempt.problem is not None else own_words(rows)
        seen = context.ids_of_quoted_items(words, own, others)
        member.answers.append(replace(outcome, body={**body, "seen": seen} if seen else body))
