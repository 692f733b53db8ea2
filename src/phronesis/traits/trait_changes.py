"""Reflection steps 5 to 7: upgrades of traits (NM-07), contradictions and revisions (NM-10); corrections by people.

The first contradiction is only counted. When more than 0.3 of the evidence found since then contradicts a trait, a
special reflection modifies it, dissolves it, or splits it into two sides that hold in different situations. If that
reflection fails, the trait stays as it is and the next reflection tries again.

A model or rules name the traits that point to one tendency; code checks the conditions. Behaviours become a preference,
preferences a core trait. The original traits stay, joined to the new one, which has all their evidence, for and
against: it begins 0.1 above the best confidence among them, and at stage emerging at most until memories of its own
reinforce it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import EditPayload, Entry, is_erased, payload_of
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.text import check_text
from phronesis.core.timestamps import isoformat
from phronesis.engine.edits import Form, edited_fields, is_stale
from phronesis.engine.handler import Handler, Outcomes
from phronesis.errors import InputError
from phronesis.store.lane_view import LaneView
from phronesis.traits.behaviours import KNOWN, is_trend
from phronesis.traits.laws.records import CONTEXTS, TraitContradiction, TraitRevision, TraitSide, Upgrade
from phronesis.traits.laws.strength import MEMORY_KINDS, SIDE_OF, TRAIT, confidence_at
from phronesis.traits.reflection_state import (
    MAX_CONTENT,
    NO_NEW_EVIDENCE,
    NO_SUCH_TRAIT,
    NO_WORDS,
    SIDES,
    TAKEN_BACK,
    ReflectionState,
    context_of,
    form_of,
)

# Steps 5 and 6: upgrades.

PARENT: Final = "parent_of"
"""Type of the edge from an upgrade to its source traits."""

SOURCES: Final = {"preference": ("behavior", 0.5), "core": ("preference", 0.6)}
"""Subtype of an upgrade, mapped to that of its sources and their minimum confidence (NM-07)."""

MIN_TRAITS: Final = 2
UPGRADE_RISE: Final = 0.1
"""Confidence by which an upgrade begins above the best of its two or more sources (NM-07)."""

TOO_FEW: Final = "too_few_traits"
TOO_UNSURE: Final = "too_unsure"
WRONG_SUBTYPE: Final = "wrong_subtype"


def upgrade(work: ReflectionState, proposed: Iterable[Upgrade], *, subtype: str) -> None:
    """Apply the upgrades to one subtype."""
    for operation in proposed:
        if operation.new_subtype == subtype:
            refusal = _upgrade_refusal(work, operation)
            if refusal is None:
                _make_upgrade(work, operation)
            else:
                work.refuse("upgrades", *refusal, operation.new_content)


def refuse_others(work: ReflectionState, proposed: Iterable[Upgrade]) -> None:
    """Refuse upgrades to unknown subtypes."""
    for operation in proposed:
        if operation.new_subtype not in SOURCES:
            reason = f"a trait becomes a preference or core, not {operation.new_subtype}"
            work.refuse("upgrades", WRONG_SUBTYPE, reason, operation.new_content)


def _upgrade_refusal(work: ReflectionState, operation: Upgrade) -> tuple[str, str] | None:
    """Return the rule that an upgrade breaks, and how; None if it is valid."""
    wanted, least = SOURCES[operation.new_subtype]
    members = _sources(work, operation)
    if not operation.new_content.strip():
        return NO_WORDS, "an upgrade says nothing"
    if len(members) < len(set(operation.from_trait_ids)):
        return NO_SUCH_TRAIT, "some of its traits are not there, or live no more"
    if len(members) < MIN_TRAITS:
        return TOO_FEW, f"it is made of {len(members)} traits, and needs {MIN_TRAITS}"
    if any(trait.data["subtype"] != wanted or is_trend(trait) for trait in members):
        return WRONG_SUBTYPE, f"a {operation.new_subtype} is made of traits of subtype {wanted}"
    low = [trait for trait in members if _confidence(work, trait) < least]
    if low:
        return TOO_UNSURE, f"{len(low)} of its traits are below {least}"
    wanted_ids = set(operation.from_trait_ids)
    made = any(wanted_ids <= set(trait.data.get("children", ())) for trait in work.traits.values())
    if made or work.find_same_text(operation.new_content) is not None:
        return KNOWN, "the same traits, or the same words, made one already"
    ids = frozenset().union(*(work.supporting(trait.id) for trait in members))
    if work.was_retracted(operation.new_content, ids, subtype=operation.new_subtype):
        return TAKEN_BACK, "a person took it back"
    return None


def _make_upgrade(work: ReflectionState, operation: Upgrade) -> None:
    members = _sources(work, operation)
    best = max(_confidence(work, trait) for trait in members)
    rows = [row for trait in members for row in work.rows.get(trait.id, ()) if row.polarity in ("support", "contra")]
    memories = work.evidence(row.source_key for row in rows if row.polarity == "support")
    contexts = {trait.data["context"] for trait in members}
    made = work.begin(
        operation.new_content.strip(),
        memories,
        subtype=operation.new_subtype,
        of=members,
        context=context_of(operation.context or (contexts.pop() if len(contexts) == 1 else None)),
        begun={"confidence": round(min(1.0, best + UPGRADE_RISE), 6), "cap": "emerging"},
        children=sorted(trait.id for trait in members),
        reasoning=operation.reasoning.strip() or None,
        facet=(operation.facet or "personality") if operation.new_subtype == "core" else None,
    )
    work.inherit(made, rows)
    work.edges += [
        Edge.of_items(PARENT, made, trait.id, entry_id=work.entry.id, origin=work.origin) for trait in members
    ]
    work.counts["traits_promoted"] += len(members)


def _sources(work: ReflectionState, operation: Upgrade) -> Sequence[Item]:
    """Return the live source traits of an upgrade. Subtypes only rise, so an upgrade cannot contain itself."""
    listed = [work.traits[one] for one in dict.fromkeys(operation.from_trait_ids) if one in work.traits]
    return [trait for trait in listed if not trait.data.get(SIDES)]


def _confidence(work: ReflectionState, trait: Item) -> float:
    return confidence_at(trait, work.entry.recorded_at) or 0.0


# Evidence of a retracted memory no longer counts for or against a trait, whatever verb retracted it.

_COUNTED: Final = frozenset({"support", "contra"})


def withdraw_trait_evidence(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return the changes extended by the withdrawal of the traits' evidence. ``held`` are the items that they touch."""
    by_hand = entry.verb in ("archive", "archive_all")
    gone = {
        patch.item_id
        for patch in changes.patches
        if (item := held.get(patch.item_id)) is not None
        and item.kind in MEMORY_KINDS
        and ((by_hand and patch.fields.get("status") == "archived") or patch.fields.get("ended") == "retracted")
    }
    if not gone:
        return changes
    rows = [row for row in view.evidence_from(sorted(gone)) if row.source_key in gone and row.polarity in _COUNTED]
    traits = {item.id: item for item in view.items(row.item_id for row in rows).values() if item.kind == TRAIT}
    going = {row.identity: row for row in rows if row.item_id in traits}
    if not going:
        return changes
    left = view.evidence(traits)
    over = {"ended": "dissolved", "ended_by": entry.id, "valid_to": entry.recorded_at}
    ended = [
        Patch(trait.id, over, "what supported it was taken back")
        for trait in traits.values()
        if trait.ended is None
        and all(row.polarity != "support" or row.identity in going for row in left.get(trait.id, ()))
    ]
    dropped = (*changes.dropped_evidence, *(row for row in rows if row.item_id in traits))
    return replace(changes, dropped_evidence=dropped, patches=(*changes.patches, *ended))


SPECIAL: Final = "special_reflection"
"""Name of the operation of a special reflection in a refusal."""

DOUBTFUL_SHARE: Final = 0.3
FIRST_FREE: Final = 1
"""Contradictions ignored when the share of contradicting evidence is computed: the first never triggers a revision
(NM-10).
"""

CORRECTED: Final = "corrected"
"""Member of a trait's ``data`` with the fields a person wrote: no reflection overwrites them."""

ONE_SIDED: Final = "one_sided"
_NO_SIDES: Final = 2
_EVEN: Final = 0.5


def contradict(work: ReflectionState, proposed: Iterable[TraitContradiction]) -> None:
    """Count contradictions of traits: one per operation, strong where it names several memories."""
    for operation in proposed:
        trait = work.traits.get(operation.trait_id)
        if trait is None:
            work.refuse("contradictions", NO_SUCH_TRAIT, f"there is no trait {operation.trait_id} that lives")
            continue
        memories = work.evidence(operation.contradicting_evidence_ids, but=work.known(operation.trait_id))
        if not memories:
            reason = "none of its evidence is a memory that does not count for or against the trait already"
            work.refuse("contradictions", NO_NEW_EVIDENCE, reason, trait.content)
            continue
        work.count(operation.trait_id, memories, "contra", None)
        work.tally("traits_contradicted", operation.trait_id)


def contradicted_traits(work: ReflectionState) -> list[str]:
    """Return the traits for which a special reflection is due, oldest first; none that a person wrote."""
    found = []
    for trait_id, trait in work.traits.items():
        if not (trait.data.get(SIDES) or trait.data.get(CORRECTED) or is_trend(trait)):
            strength = trait.data["strength"]
            against, total = strength["contradictions"], strength["contradictions"] + strength["reinforcements"]
            found += [trait_id] if against > FIRST_FREE and against / total > DOUBTFUL_SHARE else []
    return found


def reconsider(work: ReflectionState, trait_id: str, said: TraitRevision) -> None:
    """Apply the answer of a special reflection to a trait, if one is still due."""
    trait = work.traits.get(trait_id)
    if trait is None or trait_id not in contradicted_traits(work):
        return
    content = said.new_content.strip()
    if said.action == "dissolve":
        work.end(trait_id, "dissolved", said.reasoning or "contradicted")
    elif said.action == "split":
        _split(work, trait, said)
    elif not content or content == trait.content:
        work.refuse(SPECIAL, NO_WORDS, "it gives no other words", trait.content)
    else:  # the confidence is that of its support: contradictions so far are settled
        work.change(trait.id, {"content": content, **_settled(work)}, said.reasoning or "contradicted")
        work.counts["traits_modified"] += 1


def _split(work: ReflectionState, trait: Item, said: TraitRevision) -> None:
    """Split a trait into two sides and divide its evidence between them, as `_sides` says."""
    sides = _sides(work, trait, said.sides)
    if len(sides) < _NO_SIDES:
        work.refuse(SPECIAL, ONE_SIDED, "it does not name two sides, each with memories", trait.content)
        return
    content = said.new_content.strip() or "; ".join(side.content for side, _ in sides)
    work.change(trait.id, {"content": content, **_settled(work)}, said.reasoning or "depends on the situation")
    begun = {
        "confidence": round(confidence_at(work.traits[trait.id], work.entry.recorded_at) or 0.0, 6),
        "cap": "core" if work.traits[trait.id].data["strength"]["reinforcements"] else "candidate",
    }
    made = []
    for n, (side, rows) in enumerate(sides):
        memories = work.evidence(row.source_key for row in rows)
        made.append(
            work.begin(
                side.content.strip(),
                memories,
                subtype=trait.data["subtype"],
                context=context_of(side.context),
                of=[] if memories else [trait],
                begun=begun if n == 0 else None,
                **{SIDE_OF: trait.id},
            )
        )
        work.inherit(made[-1], [replace(row, polarity="support") for row in rows])  # contra rows support this side
    work.change(trait.id, {f"data.{SIDES}": made}, said.reasoning or "depends on the situation")
    work.counts["traits_modified"] += 1


def _sides(work: ReflectionState, trait: Item, given: Sequence[TraitSide]) -> list[tuple[TraitSide, list[EvidenceRow]]]:
    """Return the two sides with the evidence named for each, the better supported one first.

    Without named evidence, one side has the supporting rows and the other the contradicting ones.
    """
    rows = work.rows.get(trait.id, [])
    by_words = {form_of(side.content): side for side in given if side.content.strip()}
    named = [*by_words.values()][:_NO_SIDES]
    if len(named) < _NO_SIDES:
        return []
    chosen = [[row for row in rows if row.source_key in set(side.evidence_ids)] for side in named]
    if not any(chosen):
        chosen = [_half(rows, "support"), _half(rows, "contra")]
    chosen = [
        found or _half(rows, "support" if _against(other) > _EVEN else "contra")  # opposite of the other side
        for found, other in zip(chosen, chosen[::-1], strict=True)
    ]
    pairs = sorted(zip(named, chosen, strict=True), key=lambda pair: _against(pair[1]))
    return [(side, found) for side, found in pairs if found]


def _half(rows: Sequence[EvidenceRow], polarity: str) -> list[EvidenceRow]:
    return [row for row in rows if row.polarity == polarity]


def _against(rows: Sequence[EvidenceRow]) -> float:
    return len(_half(rows, "contra")) / len(rows) if rows else 0.0


def _settled(work: ReflectionState) -> dict[str, Any]:
    return {"data.settled": isoformat(work.entry.recorded_at)}


# Corrections of traits by people: they take precedence over later inferences (requirement NM-15).


class CorrectionPayload(EditPayload, total=False):
    """The verb ``correct_trait``: the trait's sentence, context or facet as a person puts it."""

    context: str
    facet: str


CORRECT: Final = "correct_trait"
FACETS: Final = ("personality", "value")

_FIELDS: Final = {"content": "content", "context": "data.context", "facet": "data.facet"}


def correction_payload(*, content: object = None, context: object = None, facet: object = None) -> dict[str, Any]:
    """Return the payload of a correction; InputError names the field."""
    given: dict[str, Any] = {}
    if content is not None:
        words = check_text(content, field="content").strip()
        if not words or len(words) > MAX_CONTENT:
            raise InputError(f"content must be one sentence of 1 to {MAX_CONTENT} characters", field="content")
        given["content"] = words
    for name, value, known in (("context", context, CONTEXTS), ("facet", facet, FACETS)):
        if value is not None and value not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r:.40}", field=name)
    return given | {name: one for name, one in (("context", context), ("facet", facet)) if one is not None}


def apply_correction(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Apply a person's correction of a trait, and mark the fields as corrected."""
    payload = payload_of(entry, CorrectionPayload)
    trait = None if is_erased(payload) else view.item(payload["item_id"])
    if trait is None or trait.kind != TRAIT or is_stale(trait, payload, outcomes):
        return Changes()
    fields = {field: entry.payload[name] for name, field in _FIELDS.items() if name in payload}
    fields |= edited_fields(trait, payload)
    said = sorted({*trait.data.get(CORRECTED, ()), *(name for name in _FIELDS if name in payload)})
    if said:
        fields[f"data.{CORRECTED}"] = said
    return Changes(patches=[Patch(trait.id, fields, payload.get("reason") or "corrected")])


HANDLERS: Final = (Handler(verb=CORRECT, apply=apply_correction),)
FORMS: Final[Mapping[str, Form]] = {TRAIT: Form(CORRECT, lambda content: correction_payload(content=content))}
"""An ``update`` of a trait's content is a correction."""
