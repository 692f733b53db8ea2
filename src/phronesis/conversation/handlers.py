"""Handlers of turns and added messages: each message becomes an item, verbatim.

Sessions, calls and references are stored. Statements in the messages become separate items
(``conversation/consolidation``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from phronesis.config import ExtractRole
from phronesis.conversation.consolidation import consolidate_all, stated_in_messages
from phronesis.conversation.entity_resolution import make_entity, make_mention
from phronesis.conversation.extraction.extractor import MENTIONS, LocalExtractor, MessageExtractor, extract_locally
from phronesis.conversation.extraction.gate import Gate, terms_of, withheld_in
from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.conversation.summaries import SessionSummarizer, add_summary
from phronesis.core.changes import Changes
from phronesis.core.entries import (
    ConversationRows,
    Entry,
    MessageRow,
    Outcome,
    RefRow,
    SessionRow,
    ToolCallRow,
    TurnPayload,
    TurnRow,
    is_erased,
    item_timestamps,
    payload_of,
)
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, UTC_OFFSET, Item, Trust
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.proposals import PROPOSALS
from phronesis.core.relations import BY_CITATION, CONTEXT_ID, CONTEXT_OUTCOME, OUTCOMES, Edge, Entity, Mention
from phronesis.core.timestamps import local_isoformat, offset_minutes, parse_moment, parse_zone
from phronesis.engine.content_guards import guard_prepare, suspected_texts, unlearned_messages
from phronesis.engine.entry_applier import NAMED_SINCE, end_replaced_items, is_taken
from phronesis.engine.handler import Handler, Outcomes, Prepare, PrepareContext
from phronesis.engine.prompt_injection import find_order
from phronesis.engine.rollback import is_undone
from phronesis.errors import InputError
from phronesis.log.inputs import EXTERNAL_ID, TIME_ZONE
from phronesis.log.payloads import message_text
from phronesis.store.lane_view import LaneView


def outcome_edges(entry: Entry, made: Sequence[Item]) -> Sequence[Edge]:
    """Return the edges to the items that a turn's reply used, ignored or contradicted.

    They go from the last reply among the items ``made`` of its messages, or from the last message. A turn whose
    messages were recorded before makes none, so its outcomes count once. Citations in a reply that is in quarantine are
    not counted.
    """
    payload = payload_of(entry, TurnPayload)
    said = payload.get("outcomes")
    if not said or not made:
        return ()
    reply = next((one for one in reversed(made) if one.role == "assistant"), made[-1])
    by_citation = said.get("by") == BY_CITATION
    if by_citation and reply.quarantine is not None:
        return ()
    return [
        Edge.of_items(
            CONTEXT_OUTCOME,
            reply.id,
            item_id,
            entry_id=entry.id,
            grade=outcome,
            origin="model" if by_citation else "rule",
            data={CONTEXT_ID: payload.get("context_id")},
        )
        for outcome in OUTCOMES
        for item_id in said.get(outcome, ())
    ]


if TYPE_CHECKING:
    from phronesis.conversation.extraction import context, model_extractor
    from phronesis.engine.plugin import Platform
else:
    context = lazy_module("phronesis.conversation.extraction.context")
    model_extractor = lazy_module("phronesis.conversation.extraction.model_extractor")

TRUST_OF_ROLE: Final = {
    "user": Trust.USER,
    "assistant": Trust.ASSISTANT,
    "tool": Trust.TOOL,
    "system": Trust.OPERATOR,
    "developer": Trust.OPERATOR,
}

OFFSETS: Final = "offsets"
"""Role of the outcome with the UTC offsets, in minutes east, of messages recorded without one."""

OFFSETS_VERSION: Final = "offsets/1"


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Create the items and rows of a turn.

    A message whose id and text its session already holds is the same message and creates no second item; if it was
    deleted, it stays deleted. A message that was rolled back may be added again.
    """
    payload = payload_of(entry, TurnPayload)
    messages: Sequence[Mapping[str, Any]] = payload.get("messages", ())
    session_id: str | None = payload.get("session_id")
    session, known = _session_so_far(view, session_id, messages)
    start = session.message_count if session is not None else 0
    suspects, withheld = suspected_texts(outcomes), withheld_in(outcomes)
    offsets = {n: minutes for one in outcomes.get(OFFSETS, ()) for n, minutes in one.body["minutes"]}
    made: dict[int, Item] = {}
    rows: list[MessageRow] = []
    for n, message in enumerate(messages):
        if is_erased(message):
            continue
        text = message_text(message)
        if not text.strip():
            continue
        given = message.get("id")
        same = known.get((given, text)) if given is not None else None
        if same is not None:
            said_at = message_time(entry, message)
            rows.append(_message_row(entry, n, message, same, session_id=session_id, at=said_at))
            continue
        external_id = _external_id(entry, message)
        if n in withheld or (external_id is not None and is_taken(view, entry, external_id)):
            continue  # kept in the log only
        item = _message_item(view, entry, n, message, position=start + n)
        if n in offsets:
            item = replace(item, data={**item.data, UTC_OFFSET: offsets[n]})
        item = suspects.quarantined_if_suspected(n, item)
        made[n] = item
        rows.append(_message_row(entry, n, message, item.id, session_id=session_id, at=item.occurred_at))
    items = list(made.values())
    entities, mentions = _mentions(view, entry, outcomes, made)
    ids = [item_id(entry.id, "message", str(n)) for n in range(len(messages))] if PROPOSALS in outcomes else []
    unread = unlearned_messages(outcomes)
    stated = [one for one in stated_in_messages(view, entry, outcomes, items, ids) if one.proposal.n not in unread]
    learned = consolidate_all(view, entry, stated)
    spoken = _conversation(entry, session, rows) if session_id is not None else None
    changes = replace(
        learned,
        items=[*items, *learned.items],
        edges=[*outcome_edges(entry, items), *learned.edges],
        # Aliases come last: of two, the one with a canonical entity is kept.
        entities=[*entities, *learned.entities],
        mentions=[*mentions, *learned.mentions],
        conversation=add_summary(view, entry, outcomes, spoken),
    )
    return end_replaced_items(view, entry, changes)


def message_time(entry: Entry, message: Mapping[str, Any]) -> datetime:
    """Return when a message was said: its own time, the call's, or when it was recorded."""
    given = _given_time(entry, message)
    return entry.recorded_at if given is None else parse_moment(given, field="created_at")


def _given_time(entry: Entry, message: Mapping[str, Any]) -> Any:
    return message.get("created_at") or payload_of(entry, TurnPayload).get("occurred_at")


def _session_so_far(
    view: LaneView, session_id: str | None, messages: Sequence[Mapping[str, Any]]
) -> tuple[SessionRow | None, dict[tuple[str, str], str]]:
    """Return the session, and its items that these messages may repeat, by message id and original text.

    Rolled-back items are excluded; archived and retracted ones are included.
    """
    if session_id is None:
        return None, {}
    ids = [message["id"] for message in messages if message.get("id") is not None]
    session, holds = view.session_holding(session_id, ids)
    found = [item for item in view.messages_by_id(session_id, ids) if not is_undone(view, item)] if holds else []
    edited = [item.id for item in found if item.version > 1]
    changed = view.deltas(edited) if edited else {}
    known: dict[tuple[str, str], str] = {}
    for item in found:
        edits = [delta.patch["content"] for delta in changed.get(item.id, ()) if "content" in delta.patch]
        words = edits[0][0] if edits else item.content
        known.setdefault((str(item.message_id), words), item.id)
    return session, known


def _message_item(view: LaneView, entry: Entry, n: int, message: Mapping[str, Any], *, position: int) -> Item:
    payload = payload_of(entry, TurnPayload)
    at, offset = message_time(entry, message), offset_minutes(_given_time(entry, message))
    return Item(
        id=item_id(entry.id, "message", str(n)),
        kind="message",
        content=message_text(message),
        metadata={**(payload.get("metadata") or {}), **(message.get("metadata") or {})},
        importance=payload.get("importance") or DEFAULT_IMPORTANCE["message"],
        trust=TRUST_OF_ROLE[message["role"]],
        source_type="chat",
        external_id=_external_id(entry, message),
        agent_id=payload.get("agent_id"),
        session_id=payload.get("session_id"),
        run_id=payload.get("run_id"),
        message_id=message.get("id"),
        role=message["role"],
        name=message.get("name"),
        position=position if payload.get("session_id") is not None else None,
        data={} if offset is None else {UTC_OFFSET: offset},
        **item_timestamps(entry, at),
        **view.scope_fields(),
    )


def _external_id(entry: Entry, message: Mapping[str, Any]) -> str | None:
    """Return the caller's own id of a message's item; older entries may hold any value in that member."""
    return message.get(EXTERNAL_ID) if entry.handler_version >= NAMED_SINCE else None


def _message_row(
    entry: Entry, n: int, message: Mapping[str, Any], item: str, *, session_id: str | None, at: datetime | None
) -> MessageRow:
    return MessageRow(
        entry_id=entry.id,
        n=n,
        session_id=session_id or "",
        item_id=item,
        role=message["role"],
        message_id=message.get("id"),
        name=message.get("name"),
        occurred_at=at,
    )


def _conversation(entry: Entry, session: SessionRow | None, rows: list[MessageRow]) -> ConversationRows:
    payload = payload_of(entry, TurnPayload)
    session_id: str = payload["session_id"]
    calls = [
        ToolCallRow(
            entry_id=entry.id,
            n=n,
            session_id=session_id,
            name=call["name"],
            call_id=call.get("id"),
            status=call.get("status"),
        )
        for n, call in enumerate(payload.get("tool_calls", ()))
        if not is_erased(call)
    ]
    refs = [
        RefRow(entry_id=entry.id, n=n, session_id=session_id, ref_type=ref["type"], uri=ref["uri"])
        for n, ref in enumerate(payload.get("refs", ()))
        if not is_erased(ref)
    ]
    count = session.message_count if session is not None else 0
    number = session.turn_count + 1 if session is not None else 1
    return ConversationRows(
        session=SessionRow(
            session_id=session_id,
            created_at=session.created_at if session is not None else entry.recorded_at,
            updated_at=entry.recorded_at,
            turn_count=number,
            message_count=count + len(payload.get("messages", ())),
            metadata={**(session.metadata if session else {}), **(payload.get("session_metadata") or {})},
        ),
        turn=TurnRow(entry_id=entry.id, session_id=session_id, number=number, recorded_at=entry.recorded_at),
        messages=tuple(rows),
        tool_calls=tuple(calls),
        refs=tuple(refs),
    )


def _mentions(
    view: LaneView, entry: Entry, outcomes: Outcomes, made: Mapping[int, Item]
) -> tuple[list[Entity], list[Mention]]:
    """Return entities and mentions of the names found, by message; references of a turn belong to its first message."""
    entities: dict[str, Entity] = {}
    mentions: list[Mention] = []

    def add(item: Item, name: str, kind: str, start: int, end: int) -> None:
        entity = make_entity(view.lane_id, name, kind, entry_id=entry.id)
        entities.setdefault(entity.id, entity)
        mentions.append(make_mention(entity, item.id, start, end))

    for outcome in outcomes.get(MENTIONS, ()):
        for found in outcome.body["found"]:
            item = made.get(found["n"])
            if item is not None and item.content[found["start"] : found["end"]] == found["surface"]:
                add(item, found["surface"], found["kind"], found["start"], found["end"])
    for first in list(made.values())[:1]:
        for ref in payload_of(entry, TurnPayload).get("refs", ()):
            if not is_erased(ref):
                add(first, ref["uri"], ref["type"], 0, 0)
    for name in dict.fromkeys(item.name for item in made.values() if item.name is not None):
        # The speaker is stored on the message and its search document; no mention is needed to find it.
        speaker = make_entity(view.lane_id, name, "name", entry_id=entry.id)
        entities.setdefault(speaker.id, speaker)
    return list(entities.values()), mentions


@dataclass(frozen=True, slots=True)
class ZonedPreparer:
    """Prepares messages whose times are in UTC, or absent, as said in the speaker's time zone.

    The zone is that of the call, else ``zone``. Each message's UTC offset is recorded as an outcome: zones change, and
    a replay must not depend on this machine's zone data.
    """

    prepare: Prepare
    zone: str

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcomes of the inner prepare, and the offsets if there are any."""
        bench = replace(bench, adapt=lambda following: self._localised(following)[0])
        said, offsets = self._localised(entry)
        if not offsets:
            return self.prepare(bench, entry)
        body = {"zone": self._zone_of(entry), "minutes": [list(one) for one in offsets]}
        return [*self.prepare(bench, said), Outcome(role=OFFSETS, made_by=OFFSETS_VERSION, body=body)]

    def _zone_of(self, entry: Entry) -> str:
        return payload_of(entry, TurnPayload).get(TIME_ZONE) or self.zone

    def _localised(self, entry: Entry) -> tuple[Entry, list[tuple[int, int]]]:
        """Return an entry with its messages' local times, and the offsets of those that had none."""
        messages = list(payload_of(entry, TurnPayload).get("messages", ()))
        offsets: list[tuple[int, int]] = []
        for n, message in enumerate(messages):
            local = _local(entry, message, self._zone_of(entry))
            if local is not None:
                messages[n] = {**message, "created_at": local}
                offsets.append((n, offset_minutes(local) or 0))
        return (replace(entry, payload={**entry.payload, "messages": messages}) if offsets else entry), offsets


def _local(entry: Entry, message: Mapping[str, Any], name: str) -> str | None:
    """Return a message's local time in a zone; None if it has an offset, or the zone is unknown."""
    if is_erased(message) or offset_minutes(_given_time(entry, message)) is not None:
        return None
    try:
        local = message_time(entry, message).astimezone(parse_zone(name))
    except (InputError, OverflowError):  # a zone unknown on this machine; a time at the calendar's first day
        return None
    return local_isoformat(local) if local.utcoffset() else None


def handlers(extract: Prepare | None = None) -> list[Handler]:
    """Return the handlers of turns and added messages; ``extract`` replaces the default rules."""
    quick = extract is None or isinstance(
        extract.prepare if isinstance(extract, ZonedPreparer) else extract, LocalExtractor
    )
    prepare = guard_prepare(extract or extract_locally)
    return [
        Handler(verb=verb, version=NAMED_SINCE, apply=apply, older={1: apply}, prepare=prepare, quick=quick)
        for verb in ("turn", "add")
    ]


# Choosing how turns are prepared, by the policy: rules, or the models of the roles.


def prepare_turns(platform: "Platform") -> Prepare:
    """Return the extractor for turns, with session summaries where a model makes them."""
    model_registry, policy = platform.models, platform.policy
    stated = policy.of(ConversationPolicy)
    gates, terms = stated.gates, terms_of(stated)
    gate = Gate(user=gates.user, tool=gates.tool, inferred=gates.inferred, assistant=gates.assistant)
    names, lines = model_registry.asker("extract"), model_registry.asker("summarise")
    decider = model_registry.decider() if names is None and policy.gateways else None
    reader = MessageExtractor(gate=gate, doubts=decider is not None) if stated.extraction else None
    local = LocalExtractor(reader, terms)

    def find(bench: PrepareContext, text: str) -> Sequence[str]:
        return context.find_held(platform, bench, text)

    prepare: Prepare = local if decider is None else context.DecidingExtractor(local, decider, find)
    role = policy.roles.extract
    if names is not None and isinstance(role, ExtractRole):
        prepare = model_extractor.ModelExtractor(names, local, find, messages=role.messages, budget=role.context)
    if lines is not None:
        own = stated.summary
        prepare = SessionSummarizer(
            prepare, lines, own.every_turns, own.max_tokens, suspicious=find_order, hides=terms.hides
        )
    return ZonedPreparer(prepare, policy.time_zone)
