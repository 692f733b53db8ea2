"""What a caller states directly: an item with subject, key and value, merges and splits of entities, corrected texts.

Under a key of the memory types, a statement is consolidated with the held items of its subject, as statements in
conversations are: a new home city supersedes the old one. Under a custom key, or none, each statement is an item: only
the caller knows what a repeated statement means.

A merge states aliases: each is an item of its own, joins the names as one that was said does, and ends when the entry
is rolled back. A split takes statements of aliases back, or gives items another subject.

When the text of an item under a key of the memory types changes and no value is given, the extractor of conversations
reads it again; where it finds none, or more than one, the item has no value and its text is compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypedDict

from phronesis.conversation.consolidation import BY, consolidate_all
from phronesis.conversation.consolidation_apply import PlacedProposal
from phronesis.conversation.entity_resolution import (
    ALIAS_KEY,
    NAMED,
    NAMING,
    NameFamilies,
    make_mention,
    names_joined_by_item,
)
from phronesis.conversation.extraction.gate import INJECTED, USUAL, Gate, RetentionPolicy, refusal
from phronesis.conversation.extraction.memory_types import MemoryType, MemoryTypes, comparable_value, load_memory_types
from phronesis.core.changes import Changes, Patch
from phronesis.core.data_delimiters import has_context
from phronesis.core.entries import EditPayload, Entry, ItemPayload, Outcome, is_erased, item_timestamps, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import CORRECTED, DEFAULT_IMPORTANCE, DUE, MEMBER_PREFIX, UTC_OFFSET, Item, Trust
from phronesis.core.lazy_loading import lazy_module, load_once
from phronesis.core.proposals import GATED, USER, Proposal, refusals_in
from phronesis.core.relations import NAME, PERSON, normal_name
from phronesis.core.statements import COMPARED, OCCASIONS, STATED, Occurrence, form_of
from phronesis.core.timestamps import offset_minutes, parse_moment
from phronesis.engine.content_guards import suspected_texts, suspicion_outcomes
from phronesis.engine.entry_applier import end_replaced_items, is_taken, name_stated_item
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.store.lane_view import LaneView

if TYPE_CHECKING:
    from phronesis.conversation.extraction import extractor
else:
    extractor = lazy_module("phronesis.conversation.extraction.extractor")

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
        found = suspicion_outcomes({0: payload["content"]} if below else {})
        key = payload.get("key")
        known = _find_type(key, payload["kind"])
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
        return [*found, Outcome(role=TYPE, made_by=TYPES_VERSION, body=_without_none(body))]


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in members.items() if member is not None}


@load_once
def _load_types() -> MemoryTypes:
    return load_memory_types()


def _find_type(key: str | None, kind: str) -> MemoryType | None:
    """Return the memory type of a key, of the kind or of another."""
    return None if key is None else _load_types().find(key, kind) or _load_types().find(key)


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Create the item of an entry, or confirm a held one; its subject becomes an entity."""
    if is_erased(entry.payload) or any(one.rule == INJECTED for one in refusals_in(entry, outcomes)):
        return Changes()
    external_id = payload_of(entry, ItemPayload).get(EXTERNAL_ID)
    if external_id is not None and is_taken(view, entry, external_id):
        return Changes()
    return end_replaced_items(view, entry, name_stated_item(view, external_id, _make_changes(view, entry, outcomes)))


def _make_changes(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    item = suspected_texts(outcomes).quarantined_if_suspected(0, _make_item(view, entry))
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
        valid_to=None if "expires" not in payload else parse_moment(payload["expires"], field="expires"),
        data=_without_none(data),
        **item_timestamps(entry, at),
        **view.scope_fields(),
    )


def handlers(terms: RetentionPolicy = USUAL) -> list[Handler]:
    """Return the handlers of stated items, merges and splits; ``terms`` are the policy's rules for stated items.

    ``session_id`` on such an item says where it was learned; the item is no turn of that session.
    """
    return [
        Handler(verb="item", apply=apply, prepare=TypedItemPreparer(terms), quick=True),
        Handler(verb=MERGE, apply=apply_merge, quick=True),
        Handler(verb=SPLIT, apply=apply_split, quick=True),
    ]


MERGE: Final = "merge_entities"
SPLIT: Final = "split_entity"


class MergePayload(TypedDict, total=False):
    """The verb ``merge_entities``: the ids of the entities, and why."""

    ids: list[str]
    reason: str


class SplitPayload(TypedDict, total=False):
    """The verb ``split_entity``: the name that leaves, or the items that get another subject, and why."""

    entity_id: str
    alias: str
    item_ids: list[str]
    name: str
    reason: str


def apply_merge(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """State the other names as aliases of the first: the user's, then the fullest name, whatever order the ids have."""
    payload = payload_of(entry, MergePayload)
    ids = payload["ids"]
    rows = [row for row in view.families(ids) if row.kind == NAME and row.id in ids]
    names = [row.name for row in sorted(rows, key=lambda row: (row.normal != USER, -len(row.normal), row.normal))]
    aliases = [_alias(view, entry, names[0], other) for other in names[1:]]
    stated = [place_stated(entry, alias, {"cardinality": "many"}) for alias in aliases]
    changes = consolidate_all(view, entry, stated)
    reasons = [Patch(item.id, {}, payload.get("reason") or "merged") for item in changes.items]
    return replace(changes, patches=[*changes.patches, *reasons])


def _alias(view: LaneView, entry: Entry, name: str, other: str) -> Item:
    return Item(
        id=item_id(entry.id, "profile", f"{name}\n{ALIAS_KEY}\n{other}"),
        kind="profile",
        content=f"{other} = {name}",
        subject=name,
        key=ALIAS_KEY,
        value=other,
        importance=DEFAULT_IMPORTANCE["profile"],
        confidence=1.0,
        trust=Trust.USER,
        source_type="manual",
        **item_timestamps(entry),
        **view.scope_fields(),
    )


def apply_split(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Take the statements back that give an entity a name, or give items of it another subject."""
    payload = payload_of(entry, SplitPayload)
    row = next((one for one in view.families([payload["entity_id"]]) if one.id == payload["entity_id"]), None)
    if row is None:
        return Changes()
    reason = payload.get("reason") or "split"
    if "alias" in payload:
        joining = joining_items(view, row.name, payload["alias"])
        over = {"ended": "retracted", "ended_by": entry.id, "valid_to": entry.recorded_at}
        return Changes(patches=[Patch(item.id, over, reason) for item in joining])
    names = NameFamilies(view, [row.name, payload["name"]], entry_id=entry.id)
    family = names.normals(row.name)
    target = names.entity(payload["name"])
    found = [item for item in view.items(payload["item_ids"]).values() if normal_name(item.subject or "") in family]
    patches = [Patch(item.id, _moved(item, target.name, view), reason) for item in found]
    return Changes(patches=patches, entities=names.changed if found else ())


def joining_items(view: LaneView, name: str, alias: str) -> list[Item]:
    """Return the items that state a name of an entity, with which the name leaves it."""
    spelled = {entity.name for entity in NameFamilies(view, [name], entry_id="").family(name)}
    wanted = normal_name(alias)
    return [
        item
        for item in view.stated(spelled, NAMING, STATED)
        if any(wanted in {normal_name(one), normal_name(other)} for one, other in names_joined_by_item(item))
    ]


def _moved(item: Item, subject: str, view: LaneView) -> Mapping[str, str | None]:
    """Return the fields of an item that is about another entity than was held."""
    fields: dict[str, str | None] = {"subject": subject}
    if NAMED in item.data:
        fields[MEMBER_PREFIX + NAMED] = subject
    related = any(row.related for row in view.entities([normal_name(subject)]))
    if related or PERSON in item.data:
        fields[MEMBER_PREFIX + PERSON] = subject if related else None
    return fields


REREAD: Final = "reread"
"""Role of the outcome with the value of an item's new text: ``{value?, compared?}``."""


@load_once
def _load_extractor() -> "extractor.MessageExtractor":
    """Return the usual extractor. It ignores hedges, since a person wrote the text."""
    return extractor.MessageExtractor(gate=Gate(user=0.0))


def prepare_update(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Prepare an update: return the item's new value; nothing where its key does not define how values compare."""
    payload = payload_of(entry, EditPayload)
    if is_erased(entry.payload) or (payload.get("content") is None and "value" not in payload):
        return ()
    with bench.view() as view:
        item = view.item(payload["item_id"])
    known = None if item is None or item.kind not in STATED else _find_type(item.key, item.kind)
    if item is None or known is None:
        return ()
    if "value" in payload:
        value = payload["value"]
        form = comparable_value(known, value, at=item.occurred_at) if isinstance(value, str) else None
        body = {"compared": form}
    else:
        found = _find_stated(item, payload["content"])
        body = {} if found is None else {"value": found.value, "compared": found.compared}
    return [Outcome(role=REREAD, made_by=_load_extractor().version, body=_without_none(body))]


def _find_stated(item: Item, words: str) -> Proposal | None:
    """Return the single statement in a text on the item's subject under its key, or None."""
    message = {"role": "user", "name": item.data.get(BY)}
    proposals, _ = _load_extractor().read(0, message, words, item.occurred_at or item.recorded_at)
    subjects = {str(one).casefold() for one in (item.subject, item.data.get(NAMED)) if one is not None}
    found = [
        one
        for one in proposals
        if one.key == item.key and one.act == "assert" and not one.done and one.subject.casefold() in subjects
    ]
    return found[0] if len(found) == 1 else None


def extend_updates(update: Handler) -> Handler:
    """Return the handler of updates, extended by the value of an item's new text."""

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = update.apply(view, entry, outcomes)
        if not {"content", "value"} & {name for patch in changes.patches for name in patch.fields}:
            return changes
        held = view.items(patch.item_id for patch in changes.patches)
        patches = [
            replace(patch, fields=_valued(held[patch.item_id], patch.fields, entry, outcomes))
            for patch in changes.patches
        ]
        return replace(changes, patches=patches)

    return replace(update, apply=apply, prepare=prepare_update, quick=True)


def _valued(item: Item, given: Mapping[str, Any], entry: Entry, outcomes: Outcomes) -> dict[str, Any]:
    """Return the fields of an update with those that follow from its new text and value."""
    fields = dict(given)
    if "content" in fields and (item.kind == "message" or item.kind in STATED):
        fields[f"{MEMBER_PREFIX}{CORRECTED}"] = entry.id
    for outcome in outcomes.get(REREAD, ()):
        fields.setdefault("value", outcome.body.get("value"))
        fields[f"{MEMBER_PREFIX}{COMPARED}"] = outcome.body.get("compared")
    return fields
