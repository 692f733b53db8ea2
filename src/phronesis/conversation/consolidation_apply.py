"""Apply verdicts of consolidation, one statement after the other: items, patches, edges and evidence.

Where key and value do not tell which held items a statement is about, or may have outdated, items are compared by their
words (``index/tokens``); the laws of time and trust are those of ``conversation/laws``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.conversation.laws import Verdict, best_match, is_rescheduling, may_outdate
from phronesis.core.changes import Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import derived_id
from phronesis.core.items import CORRECTED, DUE, MEMBER_PREFIX, Item
from phronesis.core.proposals import Judgement, Proposal
from phronesis.core.relations import OUTDATED_BY, Edge, EvidenceRow, Polarity
from phronesis.core.statements import COMPARED, HeldStatement, Occurrence, Statement, opposite_key
from phronesis.index.tokens import tokenize


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedProposal:
    """A proposal with its source, and the item that it becomes if no held item says the same.

    ``form`` is its value normalised for comparison. ``source`` is the item of its message, None if the entry itself
    states it; ``quote`` the span there.
    """

    proposal: Proposal
    item: Item
    saying: Occurrence
    form: str
    source: str | None = None
    quote: tuple[int, int] | None = None
    judgement: Judgement | None = None


@dataclass(slots=True)
class ApplyState:
    """The held items while an entry is applied: each statement sees the effect of the one before.

    ``unproved`` are items without evidence rows: the entry that created them is their source. ``told`` are the
    items that the entry states, made or said again, each with the last message that does.
    """

    entry: Entry
    held: dict[str, HeldStatement]
    unproved: set[str]
    made: list[str] = field(default_factory=list)
    evidence: dict[tuple[str, ...], EvidenceRow] = field(default_factory=dict)
    edges: dict[tuple[str, ...], Edge] = field(default_factory=dict)
    dropped_edges: dict[tuple[str, ...], Edge] = field(default_factory=dict)
    told: dict[str, str | None] = field(default_factory=dict)
    _fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    @property
    def items(self) -> list[Item]:
        """The created items in their current state."""
        return [self.held[made].item for made in self.made]

    @property
    def patches(self) -> list[Patch]:
        """Patches of existing items; empty ones with a reason where only evidence or edges were added."""
        reasons = {one: reason for one, reason in self._reasons.items() if one not in self.made}
        return [Patch(one, self._fields.get(one, {}), reason) for one, reason in reasons.items()]

    def free_id(self, wanted: str) -> str:
        """Return an item's id, or a derived one if this entry already created that item ("Lyon … no, Paris … Lyon")."""
        while wanted in self.held:
            wanted = derived_id("item", wanted, "again")
        return wanted

    def carry_out(self, one: PlacedProposal, verdict: Verdict) -> bool:
        """Apply a verdict; return whether the statement became an item."""
        becomes = verdict.into is None and verdict.act in ("ADD", "SUPERSEDE")
        if becomes:
            self._make(one, verdict.fields)
        if verdict.into is not None:
            self._confirm(one, self.held[verdict.into].item, verdict)
        for item_id, fields in verdict.patches.items():
            self._end(one, item_id, fields)
        for link in verdict.unlinked:
            self._unlink(self._edge("supersedes", *link), "something came between")
        for link in verdict.supersedes:
            self._link(self._edge("supersedes", *link), "took the place of another")
        for link in verdict.contradicts:
            self._link(self._edge("contradicts", *link), "disputed")
        later = one.item.id if becomes else one.source
        if later is not None:
            said = {} if becomes or one.quote is None else {"start": one.quote[0], "end": one.quote[1]}
            for item_id in verdict.outdated:
                self._link(replace(self._edge(OUTDATED_BY, item_id, later), data=said), "possibly outdated")
        return becomes

    def take_marks_off(self, marks: Iterable[Edge]) -> None:
        """Take off the marks of earlier entries that what is said again is possibly outdated."""
        for mark in marks:
            self._unlink(mark, "said again")

    def _make(self, one: PlacedProposal, fields: Mapping[str, Any]) -> None:
        item = one.item.with_fields(fields)
        if item.ended is not None and item.ended_by is None:
            item = item.with_fields({"ended_by": self.entry.id})
        self.held[item.id] = HeldStatement(item=item, sayings=(one.saying,))
        self.made.append(item.id)
        self.told[item.id] = one.source
        if one.source is None:
            self.unproved.add(item.id)
        else:
            self._note(self._row(one, item.id, "source"))

    def _confirm(self, one: PlacedProposal, item: Item, verdict: Verdict) -> None:
        """Count one more saying: an evidence row, and one confirmation per session or entry that repeats it."""
        if verdict.act == "UPDATE":
            kept = {name: member for name, member in item.data.items() if name not in (COMPARED, CORRECTED)}
            data = kept | dict(one.item.data)
            said = {"content": one.item.content, "value": one.item.value, "data": data}
            self._patch(item.id, {**said, **verdict.fields}, "said more fully")
        if not verdict.counted:
            return
        self.told[item.id] = one.source
        self._put_off(one, item)
        if one.item.confidence > item.confidence:
            self._patch(item.id, {"confidence": one.item.confidence}, "said again")
        self.held[item.id] = replace(self.held[item.id], sayings=(*self.held[item.id].sayings, one.saying))
        row = self._row(one, item.id, "source")
        if item.id in self.made:
            if one.source is not None:
                self._note(row)
            return
        if item.id in self.unproved:  # with a second source, the first must be recorded too
            first = replace(row, source_key=item.entry_id, source_entry_id=item.entry_id, occurred_at=item.occurred_at)
            self._note(replace(first, source_item_id=None, span_start=None, span_end=None))
        self._note(row)
        session = one.item.session_id
        counted = derived_id("session", session) if session is not None else self.entry.id
        self._note(replace(row, polarity="support", source_key=counted))

    def _put_off(self, one: PlacedProposal, item: Item) -> None:
        """Take the due time of a task from its latest saying: a reminder for another day moves it."""
        due, held = one.item.data.get(DUE), self.held[item.id]
        if due is None or item.ended is not None or any(one.saying.at < saying.at for saying in held.sayings):
            return
        if (due, one.item.valid_to) != (item.data.get(DUE), item.valid_to):
            self._patch(item.id, {f"{MEMBER_PREFIX}{DUE}": due, "valid_to": one.item.valid_to}, "due at another time")

    def _end(self, one: PlacedProposal, item_id: str, fields: Mapping[str, Any]) -> None:
        ended = fields.get("ended")
        if ended is None:
            reason = "holds until another takes its place" if "valid_to" in fields else "said again"
            self._patch(item_id, fields, reason)
            return
        by = fields.get("ended_by") or self.entry.id
        self._patch(item_id, {**fields, "ended_by": by}, f"{ended} by what was said")
        if ended in ("retracted", "retired"):
            self._note(self._row(one, item_id, "contra"))

    def _patch(self, item_id: str, fields: Mapping[str, Any], reason: str) -> None:
        held = self.held[item_id]
        self.held[item_id] = replace(held, item=held.item.with_fields(fields))
        self._fields.setdefault(item_id, {}).update(fields)
        self._reasons[item_id] = reason

    def _note(self, row: EvidenceRow) -> None:
        self.evidence.setdefault(row.identity, row)
        self._reasons.setdefault(row.item_id, "said again")

    def _link(self, edge: Edge, reason: str) -> None:
        self.edges[edge.identity] = edge
        self._reasons.setdefault(edge.from_id, reason)

    def _unlink(self, edge: Edge, reason: str) -> None:
        if self.edges.pop(edge.identity, None) is None:
            self.dropped_edges[edge.identity] = edge
        self._reasons.setdefault(edge.from_id, reason)

    def _row(self, one: PlacedProposal, item_id: str, polarity: Polarity) -> EvidenceRow:
        start, end = one.quote if one.quote is not None else (None, None)
        return EvidenceRow(
            item_id=item_id,
            polarity=polarity,
            source_key=one.source or self.entry.id,
            entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at,
            source_entry_id=self.entry.id,
            source_item_id=one.source,
            span_start=start,
            span_end=end,
            occurred_at=one.saying.at,
        )

    def _edge(self, type_: str, start: str, end: str) -> Edge:
        return Edge.of_items(type_, start, end, entry_id=self.entry.id)


TASKS: Final = ("task", "reminder", "plan", "goal")
"""Keys whose values are things to do: a finished task is looked for under all of them."""

RESTATED: Final = frozenset({"task", "intention", "decision", "fact"})
"""Kinds of which a held text in much the same words may be an older state of a new one."""

LIKELY: Final = 0.5
"""The least confidence of a doubtful value that marks the held value of its key."""


def find_by_words(text: str, among: Sequence[HeldStatement]) -> HeldStatement | None:
    """Return the current item whose words a text shares most (``best_match``), or None."""
    ordered = sorted((held for held in among if held.current), key=lambda held: (held.item.recorded_at, held.item.id))
    current = {held.item.id: held for held in ordered}
    words = {name: frozenset(tokenize(words_of(held.item))) for name, held in current.items()}
    found = best_match(frozenset(tokenize(text)), words)
    return None if found is None else current[found]


def find_outdated(one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement]) -> list[str]:
    """Return the ids of the held items that a statement may have outdated, though nothing decides it."""
    proposal = one.proposal
    earlier = [held for held in about if may_outdate(statement, held)]
    same = [held for held in earlier if held.item.key == proposal.key]
    if proposal.done:
        task = find_by_words(
            source_messages(proposal), [held for held in earlier if held.item.key in {*TASKS, proposal.key}]
        )
        return [] if task is None else [task.item.id]
    if proposal.act == "retract":
        return [held.item.id for held in earlier if is_ended_by(one, held)]
    found = [held for held in earlier if held.item.key == opposite_key(proposal.key) and _overlap(one, held)]
    found += [held for held in same if is_rescheduling(statement, held)]
    if proposal.doubtful:
        likely = proposal.cardinality == "one" and proposal.confidence >= LIKELY
        found += [held for held in same if held.item.id in statement.against or (likely and held.form != one.form)]
    else:
        restated = find_by_words(source_messages(proposal), same) if proposal.kind in RESTATED else None
        found += [] if restated is None else [restated]
    return [held.item.id for held in found]


def is_correction(
    one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement], ends: Iterable[PlacedProposal]
) -> bool:
    """Return whether one of ``ends`` names the held value whose place a value takes: "Zara, not Sara"."""
    if one.proposal.act == "retract" or one.proposal.done or one.proposal.cardinality == "many":
        return False
    rivals = [held for held in about if held.item.key == statement.key and may_outdate(statement, held)]
    return any(is_ended_by(end, held) for end in ends for held in rivals if held.form != one.form)


def is_ended_by(end: PlacedProposal, held: HeldStatement) -> bool:
    """Return whether an end is that of a held item: it has its key and value, or without a key its words."""
    proposal, item = end.proposal, held.item
    if not proposal.key:
        return contains_value(item, tokenize(source_messages(proposal)))
    if item.key != proposal.key:
        return False
    return proposal.value is None or held.form == end.form or find_by_words(proposal.value, [held]) is not None


def contains_value(item: Item, words: Sequence[str]) -> bool:
    """Return whether an item's value stands among words in one piece."""
    value = tokenize(words_of(item))
    count = len(value)
    return count > 0 and any(words[n : n + count] == value for n in range(len(words) - count + 1))


def words_of(item: Item) -> str:
    """Return the text by which an item is compared: its value, or its content where that is none."""
    return item.value if isinstance(item.value, str) else item.content


def source_messages(proposal: Proposal) -> str:
    """Return the text by which a proposal is compared."""
    return proposal.content if proposal.value is None else proposal.value


def _overlap(one: PlacedProposal, held: HeldStatement) -> bool:
    """Return whether one of two values has all the words of the other."""
    words, others = frozenset(tokenize(source_messages(one.proposal))), frozenset(tokenize(words_of(held.item)))
    return bool(words and others) and (words <= others or others <= words)
