"""The verb ``migrate``: one old memory becomes claims, in one entry that ``rollback`` takes back (RB-23).

The memory is an item of the lane, or stands in the payload, where it came from a file: then it is kept as an item too,
archived from the start. Preparing rewrites it; applying makes the items of claims, archives the old one and joins them:
an edge ``supersedes``, and a source that quotes the old text whole. A memory that cannot be rewritten changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.ids import citation, item_id
from phronesis.core.instants import parse_moment
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.reasoning.records import REASONING
from phronesis.core.reasoning.standing import WRITTEN, written_of
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.derive.handler import Bench, Handler, Outcomes, Prepare
from phronesis.derive.migrating.by_model import PROMPT_VERSION, MemoryAsker, ask
from phronesis.derive.migrating.rewriting import RULES, OldMemory, Rewriting, rewrite_by_rules
from phronesis.storage.lane_view import LaneView

MIGRATE: Final = "migrate"

WRITTEN_ROLE: Final = "rewritten"
TAKEN_OUT: Final = "taken_out"
REFUSED: Final = "refused"
"""The roles of outcomes: one for each block, what was taken out, and why a memory stays as it is."""

SOURCE_TYPE: Final = "migration"
REASON: Final = "rewritten as claims"
_TITLES: Final = ("title", "topic")


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rewrites old memories: by a model where there is one, and by rules where it gives nothing fit."""

    asker: MemoryAsker | None = None

    @property
    def how(self) -> str:
        """Who rewrites, in which version: what a refusal depends on."""
        return RULES if self.asker is None else f"{self.asker.name} {PROMPT_VERSION} {RULES}"

    def rewrite(self, tenant: str, old: OldMemory) -> tuple[Rewriting, list[Outcome]]:
        """Give what a memory becomes, and the outcomes that say what a model said."""
        asked = None if self.asker is None else ask(self.asker, tenant, old)
        said = [] if asked is None else list(asked.outcomes)
        if asked is not None and asked.made is not None:
            return asked.made, said
        return rewrite_by_rules(old), said

    def __call__(self, bench: Bench, entry: Entry) -> Sequence[Outcome]:
        """Prepare an entry: nothing where the item that it names is gone."""
        with bench.view() as view:
            item = view.item(entry.payload["item_id"]) if "item_id" in entry.payload else None
        if item is None and "content" not in entry.payload:
            return ()
        old = memory_of(entry.payload, item, entry_id=entry.id)
        made, said = self.rewrite(bench.tenant, old)
        bodies: list[tuple[str, Mapping[str, Any]]] = [
            (WRITTEN_ROLE, {"written": {name: value for name, value in written_of(block).items() if value is not None}})
            for block in made.blocks
        ]
        bodies += [(TAKEN_OUT, one.to_dict()) for one in made.taken_out]
        bodies += [
            (REFUSED, {"how": self.how, **{name: value for name, value in asdict(one).items() if value is not None}})
            for one in made.violations
        ]
        numbers: dict[str, int] = {}
        out = list(said)
        for role, body in bodies:
            n = numbers.get(role, 0)
            numbers[role] = n + 1
            out.append(Outcome(role=role, made_by=made.made_by, body=body, n=n))
        return out


def memory_of(payload: Mapping[str, Any], item: Item | None, *, entry_id: str) -> OldMemory:
    """Give the memory that an entry is about: an item of the lane, or the one in its payload."""
    if item is None:
        origin = payload.get("source_ref") or citation(old_id(entry_id))
        return OldMemory(
            text=payload["content"], origin=origin, title=payload.get("title") or "", scope=payload.get("scope"),
            run_ids=payload.get("run_ids", ()),
        )  # fmt: skip
    title = next((value for name in _TITLES if isinstance(value := item.metadata.get(name), str)), "")
    listed = item.metadata.get("run_ids")
    runs = [item.run_id, item.metadata.get("run_id"), *(listed if isinstance(listed, list) else ())]
    known = tuple(dict.fromkeys(run for run in runs if isinstance(run, str) and run))
    return OldMemory(text=item.content, origin=item.citation, title=title, scope=payload.get("scope"), run_ids=known)


def old_id(entry_id: str) -> str:
    """Give the id of the item that keeps the old text of an entry whose memory came from a file."""
    return item_id(entry_id, "old memory", "")


def apply_migrate(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Make the items of claims and put the old memory away; nothing when there are none, or it is away already."""
    payload = entry.payload
    prepared = outcomes.get(WRITTEN_ROLE, ())
    if is_erased(payload) or not prepared:
        return Changes()
    kept = [] if "item_id" in payload else [_old(view, entry)]
    old = kept[0] if kept else view.item(payload["item_id"])
    if old is None or not (kept or old.live):
        return Changes()
    made = [_made(view, entry, old, outcome) for outcome in prepared]
    return Changes(
        items=[*kept, *made],
        patches=[*([] if kept else [Patch(old.id, {"status": "archived", "pinned": False}, REASON)]),
                 *(Patch(item.id, {}, REASON) for item in made)],
        edges=[Edge(type="supersedes", from_kind="item", from_id=item.id, to_kind="item", to_id=old.id,
                    entry_id=entry.id) for item in made],
        evidence=[_quoted(entry, item, old) for item in made],
    )  # fmt: skip


def _old(view: LaneView, entry: Entry) -> Item:
    """The old memory of a file, as the item that keeps its text."""
    payload = entry.payload
    at = parse_moment(payload["occurred_at"], field="occurred_at") if "occurred_at" in payload else entry.recorded_at
    kind = payload.get("kind", "procedure")
    return Item(
        id=old_id(entry.id), kind=kind, content=payload["content"], entry_id=entry.id, recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at, metadata=payload.get("metadata") or {}, importance=DEFAULT_IMPORTANCE[kind],
        status="archived", trust=Trust.USER, source_type=SOURCE_TYPE, source_ref=payload.get("source_ref"),
        occurred_at=at, valid_from=at, **view.scope_fields(),
    )  # fmt: skip


def _made(view: LaneView, entry: Entry, old: Item, outcome: Outcome) -> Item:
    written = outcome.body["written"]
    by_model = outcome.made_by != RULES
    return Item(
        id=item_id(entry.id, REASONING, str(outcome.n)), kind=REASONING, content="", entry_id=entry.id,
        recorded_at=entry.recorded_at, updated_at=entry.recorded_at, metadata=old.metadata,
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=min(old.trust, Trust.ASSISTANT if by_model else Trust.USER), pinned=old.pinned,
        source_type=SOURCE_TYPE, source_ref=old.source_ref, agent_id=old.agent_id, occurred_at=old.occurred_at,
        valid_from=old.valid_from,
        data={**{name: written[name] for name in WRITTEN if name in written}, "made_by": outcome.made_by},
        **view.scope_fields(),
    )  # fmt: skip


def _quoted(entry: Entry, item: Item, old: Item) -> EvidenceRow:
    return EvidenceRow(
        item_id=item.id, polarity="source", source_key=old.id, entry_id=entry.id, recorded_at=entry.recorded_at,
        source_entry_id=old.entry_id, source_item_id=old.id, source_ref=old.source_ref, span_start=0,
        span_end=len(old.content), occurred_at=old.occurred_at,
    )  # fmt: skip


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Give the handler of ``migrate``, prepared so."""
    return (Handler(verb=MIGRATE, apply=apply_migrate, prepare=prepare),)
