"""Items that a caller states explicitly: a fact, a preference, a task … with subject, key and value.

Under a key of the memory types, a statement is consolidated with the held items of its subject, as statements in
conversations are: a new home city supersedes the old one. Under a custom key, or none, each statement is an item: only
the caller knows what a repeated statement means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.conversation.consolidation import BY, consolidate_all
from phronesis.conversation.consolidation_apply import PlacedProposal
from phronesis.conversation.entity_resolution import NameFamilies, make_mention
from phronesis.conversation.extraction.gate import INJECTED, USUAL, RetentionPolicy, refusal
from phronesis.conversation.extraction.memory_types import MemoryTypes, comparable_value, load_memory_types
from phronesis.core.changes import Changes
from phronesis.core.data_delimiters import has_context
from phronesis.core.entries import Entry, ItemPayload, Outcome, is_erased, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, UTC_OFFSET, Item, Trust
from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import GATED, USER, Proposal, refusals_in
from phronesis.core.prospective import DUE
from phronesis.core.statements import COMPARED, OCCASIONS, Occurrence, form_of
from phronesis.core.timestamps import offset_minutes, parse_moment
from phronesis.engine.content_guards import suspected_texts, suspicions
from phronesis.engine.entry_applier import is_taken, with_name, with_replaced
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.store.lane_view import LaneView

TYPES_VERSION: Final = "memory-types/1"
INJECTED_VERSION: Final = "injected/1"

TYPE: Final = "memory_type"
"""Role of the outcome with the memory type of a key: ``{cardinality, compared?, retention?, conflict?}``."""


@dataclass(frozen=True, slots=True)
class TypedItemPreparer:
    """Prepares a stated item: the memory type of its key, and the policy's rules."""

    terms: RetentionPolicy = USUAL

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Look the key up in the memory types, and check text trusted less than the user's for orders to a model.

        An item that contains a composed context, or a line of one, is refused.
        """
        payload = payload_of(entry, ItemPayload)
        if has_context(payload["content"]):
            refused = refusal(0, payload["content"], INJECTED)
            return [Outcome(role=GATED, made_by=INJECTED_VERSION, body={"refusals": [refused.to_dict()]})]
        below = _parse_trust(payload) < Trust.USER
        found = suspicions({0: payload["content"]} if below else {})
        key = payload.get("key")
        known = None if key is None else _load_types().find(key, payload["kind"]) or _load_types().find(key)
        if key is None or known is None:
            return found
        value = payload.get("value")
        form = comparable_value(known, value) if isinstance(value, str) else None
        retention, conflict = self.terms.of(key, payload["kind"])
        body = {
            "cardinality": known.cardinality,
            "compared": form,
            "retention": retention if retention != "versioned" else None,
            "conflict": conflict if conflict != "occurred" else None,
        }
        body = {name: value for name, value in body.items() if value is not None}
        return [*found, Outcome(role=TYPE, made_by=TYPES_VERSION, body=body)]


@load_once
def _load_types() -> MemoryTypes:
    return load_memory_types()


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Create the item of an entry, or confirm a held one; its subject becomes an entity."""
    if is_erased(entry.payload) or any(one.rule == INJECTED for one in refusals_in(entry, outcomes)):
        return Changes()
    external_id = payload_of(entry, ItemPayload).get(EXTERNAL_ID)
    if external_id is not None and is_taken(view, entry, external_id):
        return Changes()
    return with_replaced(view, entry, with_name(view, external_id, _make_changes(view, entry, outcomes)))


def _make_changes(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    item = suspected_texts(outcomes).held(0, _make_item(view, entry))
    if item.subject is None or item.quarantine is not None:
        return Changes(items=[item])
    for outcome in outcomes.get(TYPE, ()):
        return consolidate_all(view, entry, [place_stated(entry, item, outcome.body)])
    names = NameFamilies(view, [item.subject], entry_id=entry.id)
    mention = make_mention(names.entity(item.subject), item.id, 0, 0)
    return Changes(items=[item], entities=names.changed, mentions=[mention])


def natural_key(payload: ItemPayload) -> str:
    """Return the identity of an item within its entry: subject and key, or its text."""
    named = [str(payload.get(name) or "") for name in ("subject", "key")]
    return "\n".join(named) if any(named) else str(payload["content"])


def place_stated(entry: Entry, item: Item, known: Mapping[str, Any]) -> PlacedProposal:
    """Return the statement of an item that the entry itself states, under a key of a memory type."""
    proposal = Proposal(
        n=0,
        quote=item.content,
        start=0,
        end=len(item.content),
        kind=item.kind,
        subject=item.subject or USER,
        key=item.key or "",
        content=item.content,
        value=item.value if isinstance(item.value, str) else None,
        cardinality=known["cardinality"],
        retention=known.get("retention", "versioned"),
        conflict=known.get("conflict", "occurred"),
    )
    if "compared" in known:
        item = item.with_fields({f"data.{COMPARED}": known["compared"]})
    at = item.occurred_at or entry.recorded_at
    began = at if item.kind in OCCASIONS else None
    saying = Occurrence(at=at, trust=item.trust, by=item.data.get(BY), began=began)
    return PlacedProposal(proposal=proposal, item=item, saying=saying, form=form_of(item))


def _parse_trust(payload: ItemPayload) -> Trust:
    return Trust[payload.get("trust", "USER").upper()]


def _make_item(view: LaneView, entry: Entry) -> Item:
    payload = payload_of(entry, ItemPayload)
    given = payload.get("occurred_at")
    at = entry.recorded_at if given is None else parse_moment(given, field="occurred_at")
    kind, key, agent = payload["kind"], payload.get("key"), payload.get("agent_id")
    subject = payload.get("subject")
    if subject is None and key is not None and view.lane.user_id is not None:
        subject = USER
    named = key is not None and agent is not None and view.lane.user_id is None
    data = {BY: agent if named else None, DUE: payload.get("due"), UTC_OFFSET: offset_minutes(given)}
    return Item(
        id=item_id(entry.id, kind, natural_key(payload)),
        kind=kind,
        content=payload["content"],
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        subject=subject,
        key=key,
        value=payload.get("value"),
        metadata=payload.get("metadata") or {},
        importance=payload.get("importance") or DEFAULT_IMPORTANCE[kind],
        confidence=1.0,
        trust=_parse_trust(payload),
        source_type="manual",
        external_id=payload.get(EXTERNAL_ID),
        agent_id=agent,
        session_id=payload.get("session_id"),
        run_id=payload.get("run_id"),
        occurred_at=at,
        valid_from=at,
        valid_to=None if "expires" not in payload else parse_moment(payload["expires"], field="expires"),
        data={name: member for name, member in data.items() if member is not None},
        **view.scope_fields(),
    )


def handlers(terms: RetentionPolicy = USUAL) -> list[Handler]:
    """Return the handler of stated items; ``terms`` are the policy's rules for them.

    ``session_id`` on such an item says where it was learned; the item is no turn of that session.
    """
    return [Handler(verb="item", apply=apply, prepare=TypedItemPreparer(terms), quick=True)]
