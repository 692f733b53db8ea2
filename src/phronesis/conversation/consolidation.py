"""Consolidate an entry's statements with the held items of their subjects, in order.

A replay reads the same state and outcomes and gives the same result. Quarantined and archived items are not compared. A
model's judgement is used where it fits: its target is live and of the same subject, and no later or more trusted saying
is overridden. Otherwise the law decides (``conversation/laws``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from phronesis.conversation.consolidation_apply import (
    TASKS,
    ApplyState,
    PlacedProposal,
    contains_value,
    find_by_words,
    find_outdated,
    is_correction,
    source_messages,
    words_of,
)
from phronesis.conversation.entity_resolution import (
    ALIAS_KEY,
    NAMED,
    NameFamilies,
    ResolvedStatements,
    make_mention,
    names_stated,
    recorded_subject_name,
    resolve_subjects,
)
from phronesis.conversation.laws import NOTHING, Verdict, confirm, consolidate, enter, finish, retract
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, TurnPayload, item_timestamps, payload_of
from phronesis.core.items import DUE, UTC_OFFSET, Item, Trust
from phronesis.core.proposals import Outcomes, Proposal, echo_predicate, judgements_in, proposals_in
from phronesis.core.relations import OUTDATED_BY, EvidenceRow, Mention, normal_name
from phronesis.core.statements import (
    COMPARED,
    STATED,
    HeldStatement,
    Occurrence,
    Statement,
    compared_form,
    opposite_key,
    proposed_form,
    proposed_item_id,
)
from phronesis.core.timestamps import parse_moment
from phronesis.index.tokens import tokenize
from phronesis.store.lane_view import LaneView

TOLD: Final = frozenset({"task", "intention", "decision", "event"})
"""Kinds stated in free text: equal items are recognised by shared words."""

BY: Final = "by"
"""Member of an item's ``data`` that names the speaker, where the lane's messages name their speakers."""

MOST_TRUSTED: Final = {"user": Trust.OPERATOR, "tool": Trust.TOOL, "inferred": Trust.ASSISTANT}
"""Maximum trust of a proposal by its basis: what a model infers, the user has not said."""


def consolidate_all(view: LaneView, entry: Entry, stated: Sequence[PlacedProposal]) -> Changes:
    """Return the changes of an entry's statements, applied in order; nothing is read when there is none."""
    if not stated:
        return Changes()
    resolved = resolve_subjects(view, entry, stated)
    stated = resolved.stated
    names = NameFamilies(view, _named(one.proposal for one in stated), entry_id=entry.id)
    # Of whom nothing is held, nothing can be outdated.
    known = {entity.normal for entity in names.known}
    stated = [one for one in stated if not one.proposal.doubtful or normal_name(one.proposal.subject) in known]
    held, unproved = _held(view, resolved, stated, names)
    judging = _JudgementMatch(names, ApplyState(entry, held, unproved), stated)
    # What is sure comes first, since a message marks nothing that it states itself.
    doubted = [one for one in stated if not judging.take(one)]
    for one in doubted:
        judging.doubt(one)
    work = judging.work
    again = sorted(work.told.keys() - {*work.made})
    work.take_marks_off(view.edges_from(again, OUTDATED_BY) if again else ())
    return Changes(
        items=work.items,
        patches=[*resolved.patches(), *work.patches],
        edges=tuple(work.edges.values()),
        dropped_edges=tuple(work.dropped_edges.values()),
        evidence=tuple(work.evidence.values()),
        entities=[*names.changed, *resolved.entities],
        mentions=[*judging.mentions, *(one for item in work.items for one in resolved.mention(item, entry))],
    )


def stated_in_messages(
    view: LaneView, entry: Entry, outcomes: Outcomes, messages: Sequence[Item], ids: Sequence[str]
) -> list[PlacedProposal]:
    """Return the statements of an entry's messages, in the order of the text.

    ``messages`` are the items that the entry creates, ``ids`` the ids of all its messages by number. A message that is
    repeated, quarantined, an echo of a shown context, or without the quoted text states nothing.
    """
    if payload_of(entry, TurnPayload).get("infer") is False:
        return []
    judged, echoes = judgements_in(outcomes), echo_predicate(entry, outcomes)
    fresh = {message.id: message for message in messages if message.quarantine is None}
    found: list[PlacedProposal] = []
    for i, proposal in enumerate(proposals_in(outcomes)):
        message = fresh.get(ids[proposal.n]) if 0 <= proposal.n < len(ids) and not echoes(proposal) else None
        if message is not None and message.content[proposal.start : proposal.end] == proposal.quote:
            found.append(replace(_stated(view, entry, proposal, message), judgement=judged.get(i)))
    return sorted(found, key=lambda one: (one.proposal.n, one.proposal.start))


def _stated(view: LaneView, entry: Entry, proposal: Proposal, message: Item) -> PlacedProposal:
    said_at = message.occurred_at or entry.recorded_at
    since = said_at if proposal.occurred_at is None else parse_moment(proposal.occurred_at, field="occurred_at")
    trust = min(message.trust, MOST_TRUSTED[proposal.basis])
    by = message.name if message.role == "user" else message.name or message.agent_id
    said = proposal.content if proposal.value is None else proposal.value
    form = proposed_form(proposal)
    data = {
        BY: by,
        COMPARED: form if form != compared_form(said) else None,
        DUE: proposal.due,
        **proposal.notes,
        UTC_OFFSET: message.data.get(UTC_OFFSET),
    }
    item = Item(
        id=proposed_item_id(entry.id, proposal),
        kind=proposal.kind,
        content=proposal.content,
        subject=proposal.subject,
        key=proposal.key,
        value=proposal.value,
        metadata=message.metadata,
        importance=payload_of(entry, TurnPayload).get("importance") or proposal.importance,
        confidence=proposal.confidence,
        trust=trust,
        source_type="chat",
        agent_id=message.agent_id,
        session_id=message.session_id,
        run_id=message.run_id,
        message_id=message.message_id,
        valid_to=None if proposal.valid_to is None else parse_moment(proposal.valid_to, field="valid_to"),
        data={name: member for name, member in data.items() if member is not None},
        **item_timestamps(entry, since),
        **view.scope_fields(),
    )
    saying = Occurrence(at=said_at, trust=trust, by=by, began=since if since != said_at else None)
    quote = (proposal.start, proposal.end)
    return PlacedProposal(proposal=proposal, item=item, saying=saying, form=form, source=message.id, quote=quote)


@dataclass(slots=True)
class _JudgementMatch:
    names: NameFamilies
    work: ApplyState
    stated: Sequence[PlacedProposal]
    mentions: list[Mention] = field(default_factory=list)

    def doubt(self, one: PlacedProposal) -> None:
        """Mark what a doubtful statement may have outdated."""
        about = self._about(one.proposal)
        self.work.carry_out(one, Verdict(act="NONE", outdated=self._outdated(one, self._statement(one, about), about)))

    def take(self, one: PlacedProposal) -> bool:
        """Judge a statement and apply the verdict; return False, and change nothing, if it is doubtful."""
        proposal = one.proposal
        if proposal.doubtful:  # and sure after all if its message says that the value it replaces ended
            about = self._about(proposal)
            ends = [other for other in self.stated if other.source == one.source and other.proposal.act == "retract"]
            if not is_correction(one, self._statement(one, about), about, ends):
                return False
        if proposal.act == "assert" and not proposal.done:
            for name in _called(proposal):
                self.names.join(proposal.subject, name)
        subject = self.names.entity(proposal.subject)
        # A message's statement is stored under the first name used for its subject; a caller's statement under the
        # given name.
        called = subject if one.source is None else self.names.root(proposal.subject)
        data = one.item.data if called.normal == subject.normal else {**one.item.data, NAMED: proposal.subject}
        item = replace(one.item, id=self.work.free_id(one.item.id), subject=called.name, data=data)
        one = replace(one, item=item)
        about = self._about(proposal)
        statement = self._statement(one, about)
        verdict = (
            self._by_relation(one, statement, about)
            or _by_judgement(one, statement, about)
            or _by_rule(one, statement, about)
        )
        if verdict.act == "ADD" and proposal.doubtful is not None:
            verdict = replace(verdict, outdated=self._outdated(one, statement, about))
        if self.work.carry_out(one, verdict):
            self.mentions.append(make_mention(replace(subject, entry_id=self.work.entry.id), item.id, 0, 0))
        return True

    def _outdated(self, one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement]) -> list[str]:
        """Return what a statement may have outdated; never what its own message states."""
        others = [held for held in about if self.work.told.get(held.item.id) != one.source]
        return find_outdated(one, statement, others)

    def _by_relation(self, one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement]) -> Verdict | None:
        """Return the verdict on a statement that names held items; None where none of them is current.

        Items of other subjects are never touched.
        """
        proposal = one.proposal
        named = [held for held in about if held.item.id in proposal.held and held.current]
        if proposal.relation is None or not named:
            return None
        ids = frozenset(held.item.id for held in named)
        if proposal.relation == "replaces":
            return consolidate(replace(statement, against=statement.against | ids), about)
        if proposal.relation == "ends":
            if not proposal.done:
                return retract(statement, named, named=ids)
            patches = {name: fields for held in named for name, fields in finish(statement, held).patches.items()}
            return Verdict(act="RETRACT", patches=patches) if patches else NOTHING
        (target, *_) = named
        verdict = confirm(statement, target, ())
        fuller = proposal.relation == "refines" and statement.saying.trust >= target.item.trust
        if fuller and statement.until is not None and not statement.closed:
            verdict = replace(verdict, fields={"valid_to": statement.until})
        return replace(verdict, act="UPDATE" if fuller else "NONE", counted=verdict.counted or fuller)

    def _about(self, proposal: Proposal) -> list[HeldStatement]:
        if proposal.key == ALIAS_KEY:
            # Each alias is a statement of its own, so that retracting one leaves the others.
            own = normal_name(proposal.subject)
            return [one for one in self.work.held.values() if normal_name(recorded_subject_name(one.item)) == own]
        names = self.names.normals(proposal.subject)
        return [one for one in self.work.held.values() if normal_name(one.item.subject or "") in names]

    @staticmethod
    def _statement(one: PlacedProposal, about: Sequence[HeldStatement]) -> Statement:
        proposal, item = one.proposal, one.item
        return Statement(
            id=item.id,
            kind=item.kind,
            key=proposal.key,
            form=one.form,
            saying=one.saying,
            cardinality=proposal.cardinality,
            against=_replaced(proposal, about),
            until=item.valid_to,
            retention=proposal.retention,
            conflict=proposal.conflict,
            ahead=proposal.ahead,
        )


def _by_rule(one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement]) -> Verdict:
    proposal = one.proposal
    if proposal.done:
        task = find_by_words(
            source_messages(proposal), [held for held in about if held.item.key in {*TASKS, proposal.key}]
        )
        return finish(statement, task)
    if proposal.act == "assert":
        return consolidate(statement, about)
    verdict = retract(statement, about, whole=proposal.value is None)
    if verdict.act == "NONE" and proposal.kind in TOLD and proposal.value is not None:
        found = find_by_words(proposal.value, [held for held in about if held.item.key == proposal.key])
        return retract(statement, about, named=() if found is None else {found.item.id})
    return verdict


def _by_judgement(one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement]) -> Verdict | None:
    """Return the verdict of a model's judgement; None where there is none, or it does not fit the held items."""
    judgement = one.judgement
    if judgement is None:
        return None
    if judgement.act == "ADD":
        return enter(statement, ())
    target = next((held for held in about if held.item.id == judgement.target and held.current), None)
    if target is None:
        return None
    if judgement.act == "SUPERSEDE":
        return enter(statement, [target])
    if judgement.act == "RETRACT":
        return retract(statement, [target], named={target.item.id})
    if target.item.key != statement.key:
        return None
    verdict = confirm(statement, target, ())
    fuller = judgement.act == "UPDATE" and statement.saying.trust >= target.item.trust
    return replace(verdict, act="UPDATE" if fuller else "NONE", counted=verdict.counted or fuller)


def _replaced(proposal: Proposal, about: Sequence[HeldStatement]) -> frozenset[str]:
    """Return the items whose value a proposal names as replaced."""
    if proposal.replaces is None:
        return frozenset()
    among = [held for held in about if held.item.key == proposal.key and held.current]
    form = compared_form(proposal.replaces)
    exact = frozenset(held.item.id for held in among if form in {held.form, compared_form(words_of(held.item))})
    found = None if exact else find_by_words(proposal.replaces, among)
    return exact if found is None else frozenset({found.item.id})


def _held(
    view: LaneView, resolved: ResolvedStatements, stated: Sequence[PlacedProposal], names: NameFamilies
) -> tuple[dict[str, HeldStatement], set[str]]:
    """Return the items that the statements may be about, with their sayings, and the ids of those without evidence."""
    proposals = [one.proposal for one in stated]
    subjects = {entity.name for name in _named(proposals) for entity in names.family(name)} | {*resolved.names}
    keys = {key for p in proposals for key in (p.key, opposite_key(p.key), *(TASKS if p.done else ()))}
    found = {item.id: item for item in view.stated(subjects, keys, STATED)}
    ends = [p for p in proposals if p.doubtful and not p.key]
    if ends:  # whatever is held of a speaker may stand there
        spoken = {entity.name for end in ends for entity in names.family(end.subject)}
        current = [item for name in sorted(spoken) for item in view.find(kinds=tuple(STATED), subject=name)]
        words = [tokenize(source_messages(end)) for end in ends]
        found |= {item.id: item for item in current if any(contains_value(item, each) for each in words)}
    targets = [one.judgement.target for one in stated if one.judgement is not None and one.judgement.target is not None]
    targets += [item_id for proposal in proposals for item_id in proposal.held]
    if targets:
        found |= {item.id: item for item in view.items(targets).values() if item.kind in STATED}
    rows = view.evidence(found) if found else {}
    held: dict[str, HeldStatement] = {}
    unproved: set[str] = set()
    for item in map(resolved.with_subject, found.values()):
        sources = [row for row in rows.get(item.id, ()) if row.polarity == "source"]
        own = Occurrence(at=item.occurred_at or item.recorded_at, trust=item.trust, by=item.data.get(BY))
        held[item.id] = HeldStatement(item=item, sayings=tuple(_saying(item, row) for row in sources) or (own,))
        if not sources:
            unproved.add(item.id)
    return held, unproved


def _saying(item: Item, row: EvidenceRow) -> Occurrence:
    """Return the saying in an evidence row of an item: of the entry that created it, or a later one of the user."""
    at = row.occurred_at or row.recorded_at
    if row.source_entry_id != item.entry_id:
        return Occurrence(at=at, trust=max(item.trust, Trust.USER))
    began = item.valid_from if item.valid_from != at else None
    return Occurrence(at=at, trust=item.trust, by=item.data.get(BY), began=began)


def _called(proposal: Proposal) -> Sequence[str]:
    return names_stated(proposal.subject, proposal.key, _as_said(proposal), proposal.content)


def _named(proposals: Iterable[Proposal]) -> list[str]:
    return [name for proposal in proposals for name in (proposal.subject, *_called(proposal))]


def _as_said(proposal: Proposal) -> str | None:
    """Return a value as spelled in its quotation, if it occurs there: a name keeps its capitals."""
    value = proposal.value
    if value is None:
        return None
    start = proposal.quote.casefold().find(value.casefold())
    found = proposal.quote[start : start + len(value)] if start >= 0 else ""
    return found if found.casefold() == value.casefold() else value
