"""Reflection by rules: what a user's memories say three times over is a trait; what they say again reinforces it.

Traits come from here alone (requirement NM-13). A reflection looks at what was learned since the one before; its
watermark is that entry in the log, so a replay and another machine see the same one.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from phronesis.core.canonical import dumps
from phronesis.core.changes import Changes, Fold, Patch
from phronesis.core.entities import normal_name
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.ids import item_id
from phronesis.core.instants import isoformat
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.scope import LaneName
from phronesis.core.traits.strength import DECAYED_TO, FIRST_CONFIDENCE, MIN_MEMORIES, TRAIT, TRAITS_FOLD, stage_at
from phronesis.derive.editor import Call
from phronesis.derive.handler import FAILED_ROLE, Bench, Handler, Outcomes
from phronesis.derive.writer import Writer, Written
from phronesis.errors import InputError
from phronesis.storage.lane_view import LaneView

RULES_VERSION: Final = "reflection-rules/1"
MEMORY_KINDS: Final = ("fact", "episodic", "preference")
"""What a reflection looks at."""

GRADE: Final = "C"
"""Quality of a memory that states the same again (NM-06): plain, neither elaborated (A, B) nor vague (D)."""

_Signature = tuple[str, str, str]
_NONE: Final[frozenset[str]] = frozenset()


def reflect_payload(*, force: object = False, session_ended: object = False) -> dict[str, Any]:
    """Check how a reflection was asked for."""
    for name, value in (("force", force), ("session_ended", session_ended)):
        if not isinstance(value, bool):
            raise InputError(f"{name} must be True or False, not {value!r:.40}", field=name)
    return {"force": force, "session_ended": session_ended}


def record_reflect(
    writer: Writer, call: Call, lane: LaneName | int, *, force: bool = False, session_ended: bool = False
) -> Written:
    """Record a request to reflect on a user's lane."""
    return writer.write(
        call.tenant, lane, verb="reflect", payload=reflect_payload(force=force, session_ended=session_ended),
        actor=call.actor, idempotency_key=call.idempotency_key, wait=call.wait,
    )  # fmt: skip


def prepare(bench: Bench, entry: Entry) -> Sequence[Outcome]:
    """Group the memories that state the same, where something new is among them; the outcome holds ids alone.

    What is already a trait is for ``apply`` to see. So an older entry that is prepared again, after an erasure or with
    other rules, groups what was there at its time, whatever has become of the lane since.
    """
    with bench.view() as view:
        since = view.last_recorded("reflect", before=entry.seq, without=FAILED_ROLE)
        memories = [memory for memory in view.find(kinds=MEMORY_KINDS) if memory.recorded_at < entry.recorded_at]
    new = {memory.id for memory in memories if since is None or memory.recorded_at > since}
    groups: dict[_Signature, list[str]] = {}
    for memory in memories:
        groups.setdefault(_signature(memory), []).append(memory.id)
    patterns = [{"memories": ids, "grade": GRADE} for _, ids in sorted(groups.items()) if new.intersection(ids)]
    body = {"since": isoformat(since), "scanned": len(new), "patterns": patterns}
    return [Outcome(role="reflection", made_by=RULES_VERSION, body=body)]


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Make traits, reinforce them, and let time move those that were not reinforced over borders."""
    if is_erased(entry.payload):
        return Changes()
    traits = {trait.id: trait for trait in view.find(kinds=(TRAIT,), live=False)}
    counted = {trait: frozenset(row.source_key for row in rows) for trait, rows in view.evidence(traits).items()}
    items: list[Item] = []
    rows: list[EvidenceRow] = []
    patches: list[Patch] = []
    for pattern in (pattern for outcome in outcomes.get("reflection", ()) for pattern in outcome.body["patterns"]):
        holders = [
            trait for trait in traits.values() if not counted.get(trait.id, _NONE).isdisjoint(pattern["memories"])
        ]
        alive = next((trait for trait in holders if trait.live), None)
        known = _NONE.union(*(counted[trait.id] for trait in ([alive] if alive is not None else holders)))
        memories = _memories(view, pattern["memories"], but=known)
        if alive is not None and memories:
            patches.append(Patch(alive.id, {}, "reinforced"))
            rows += [_evidence(alive.id, entry, memory, pattern["grade"]) for memory in memories]
        elif len(memories) >= MIN_MEMORIES and all(trait.ended == "dissolved" for trait in holders):
            # What a person ended stays so; what time dissolved may begin anew, with memories that never counted.
            items.append(_behaviour(view, entry, memories))
            rows += [_evidence(items[-1].id, entry, memory, pattern["grade"]) for memory in memories]
    reinforced = {row.item_id for row in rows}
    patches += [_faded(entry, trait) for trait in traits.values() if trait.live and trait.id not in reinforced
                and stage_at(trait, entry.recorded_at) != trait.stage]  # fmt: skip
    return Changes(items=items, evidence=rows, patches=patches)


def _signature(memory: Item) -> _Signature:
    """What a memory states; spelling and spaces aside. Not ``normal_name`` for the words: that one is cut short."""
    words = " ".join(unicodedata.normalize("NFKC", memory.content).casefold().split())
    said = words if memory.value is None else dumps(memory.value)
    return (normal_name(memory.subject or ""), normal_name(memory.key or ""), said)


def _memories(view: LaneView, ids: Sequence[str], *, but: AbstractSet[str]) -> list[Item]:
    """Those of ``ids`` that are memories and not counted yet, oldest first; what does not exist adds nothing."""
    found = [item for item in view.items(ids).values() if item.live and item.kind in MEMORY_KINDS]
    return sorted((item for item in found if item.id not in but), key=lambda item: (item.recorded_at, item.id))


def _behaviour(view: LaneView, entry: Entry, memories: Sequence[Item]) -> Item:
    """A trait in the words of the oldest memory that states it, trusted no more than the least trusted of them."""
    first = memories[0]
    observed = min(memory.occurred_at or memory.recorded_at for memory in memories)
    return Item(
        id=item_id(entry.id, TRAIT, "\n".join(_signature(first))),
        kind=TRAIT,
        content=first.content,
        subject=first.subject,
        key=first.key,
        value=first.value,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[TRAIT],
        confidence=FIRST_CONFIDENCE,
        trust=min(memory.trust for memory in memories),
        source_type="reflection",
        occurred_at=observed,
        valid_from=observed,
        data={"subtype": "behavior", "context": "general", "first_observed": isoformat(observed), "derived": "rule"},
        **view.scope_fields(),
    )


def _evidence(trait_id: str, entry: Entry, memory: Item, grade: str) -> EvidenceRow:
    return EvidenceRow(
        item_id=trait_id, polarity="support", source_key=memory.id, entry_id=entry.id, recorded_at=entry.recorded_at,
        source_entry_id=memory.entry_id, source_item_id=memory.id, source_ref=memory.source_ref, grade=grade,
        occurred_at=memory.occurred_at,
    )  # fmt: skip


def _faded(entry: Entry, trait: Item) -> Patch:
    fields: dict[str, Any] = {DECAYED_TO: isoformat(entry.recorded_at)}
    if stage_at(trait, entry.recorded_at) == "dissolved":
        fields |= {"ended": "dissolved", "ended_by": entry.id, "valid_to": entry.recorded_at}
    return Patch(trait.id, fields, "faded")


HANDLERS: Final = (Handler(verb="reflect", apply=apply, prepare=prepare),)
FOLDS: Final[Mapping[str, Fold]] = {TRAIT: TRAITS_FOLD}
