"""Open the bank of claims; read runs and the results of learns from the log, the lane and the recorded reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from phronesis.core.confidence import Judgement
from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.reports import Page
from phronesis.core.results import Degraded
from phronesis.core.serialization import decode
from phronesis.core.timestamps import to_micros
from phronesis.engine.handler import DEGRADED_ROLE, decider_of
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.errors import NotFound
from phronesis.log.payloads import load_entry
from phronesis.reasoning import handlers, learning, migration
from phronesis.reasoning.handlers import RUN, find_run, run_of
from phronesis.reasoning.laws.claim_status import claim_text, status_of, written_block
from phronesis.reasoning.laws.item_records import (
    ClaimSeen,
    Dropped,
    Judged,
    LearnResult,
    MemoryUse,
    RefusedClass,
    RunRecord,
    reasoning_item,
)
from phronesis.reasoning.laws.records import REASONING, Review, Run
from phronesis.reasoning.learn_candidates import Candidates, RunFacts, find_builder
from phronesis.reasoning.learning import DROPPED, FACTS, PROPOSED, REFUSED, VERDICTS
from phronesis.reasoning.llm_verdicts import ASKED
from phronesis.reasoning.policy_section import ReasoningPolicy
from phronesis.recall.as_of import PageRequest, known_at, page_of
from phronesis.recall.browse import find_item
from phronesis.recall.evidence import snippet
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import ReadConditions
from phronesis.store.impressions import WHOLE_ITEM, Use, used_by
from phronesis.store.items import read_items
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, find_lane, get_lane
from phronesis.store.log import find_entry, read_outcomes, seqs_of_entries
from phronesis.store.relations import read_edges


@dataclass(frozen=True, slots=True)
class RunReader:
    """Reads the runs of a lane, and the results of learns."""

    database: Database
    telling: RunFacts

    def find(self, tenant: str, name: LaneName, run_id: str) -> Item | None:
        """Return a run's item, or None."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            return None if lane is None else find_run(LaneView(unit, lane), run_id)

    def require_run(self, tenant: str, name: LaneName, run_id: str) -> Item:
        """Return a run's item; NotFound if the lane has none of that id."""
        with self.database.transaction(tenant, "read") as unit:
            return _require_run(unit, name, run_id)[1]

    def get(self, tenant: str, name: LaneName, run_id: str) -> RunRecord:
        """Return a run; NotFound if the lane has none of that id."""
        with self.database.transaction(tenant, "read") as unit:
            lane, item = _require_run(unit, name, run_id)
            return self._record(unit, lane, name, item)

    def listed(self, tenant: str, name: LaneName, *, limit: int, cursor: str | None = None) -> Page[RunRecord]:
        """Return a page of the lane's unarchived runs, newest first: the one after ``cursor``, or the first."""
        asked = PageRequest({"list": "runs", "lane": str(name)}, limit, cursor)
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            page = page_of(unit, [] if lane is None else [lane], ReadConditions(kinds=[RUN]), asked)
            runs = () if lane is None else tuple(self._record(unit, lane, name, item) for item in page)
            return Page(runs, page.next_cursor)

    def read_by(self, tenant: str, name: LaneName, run_id: str) -> list[dict[str, Any]]:
        """Return what a run read in the form of a learn's payload: ids and distances, no text."""
        with self.database.transaction(tenant, "read") as unit:
            by_item = _by_item(used_by(unit, name, run_id))
        claims = {
            item_id: [{"claim_id": row.part, "distance": row.distance} for row in rows if row.part != WHOLE_ITEM]
            for item_id, rows in by_item.items()
        }
        return [{"item_id": one, "via": rows[0].via, "claims": claims[one]} for one, rows in by_item.items()]

    def pending_lane(self, tenant: str, name: LaneName) -> int | None:
        """Return a lane's number if it has uninterpreted entries, else None."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            return lane.lane_id if lane is not None and lane.applied_seq < lane.head_seq else None

    def is_pending(self, tenant: str, entry: Entry) -> bool:
        """Return whether an entry is not interpreted yet."""
        with self.database.transaction(tenant, "read") as unit:
            return get_lane(unit, entry.lane_id).applied_seq < entry.seq

    def entry(self, tenant: str, entry_id: str) -> Entry:
        """Return an entry of the log."""
        with self.database.transaction(tenant, "read") as unit:
            return load_entry(unit, entry_id)

    def learned(self, tenant: str, entry_id: str) -> LearnResult:
        """Return the result of a learn, as of that learn."""
        with self.database.transaction(tenant, "read") as unit:
            entry = load_entry(unit, entry_id)
            outcomes: dict[str, list[Mapping[str, Any]]] = {}
            for row in read_outcomes(unit, [entry.id])[entry.id]:
                outcomes.setdefault(row["role"], []).append(decode(row["body"]))
            return _result(unit, entry, outcomes)

    def _record(self, unit: Unit, lane: Lane, name: LaneName, item: Item) -> RunRecord:
        run = run_of(item)
        uses = _uses(unit, name, item.run_id or "")
        given = run.trace
        trace = dict(given) if isinstance(given, Mapping) else {} if given is None else {"steps": given}
        return RunRecord(
            run_id=item.run_id or "",
            output=run.output,
            raw=run.raw,
            trace={**trace, "memories": uses} if uses else trace,
            memory_ids=run.memory_ids,
            feedback=item.data.get("feedback"),
            facts=self.telling.facts(item),
            learned=_learns(unit, lane, item),
            item_id=item.id,
            entry_id=item.entry_id,
            recorded_at=item.recorded_at,
            status=item.status,
            user_id=item.user_id,
            namespace=item.namespace,
            extra=run.extra,
        )


def _learns(unit: Unit, lane: Lane, run: Item) -> tuple[str, ...]:
    edges = read_edges(unit, lane.lane_id, [run.id], incoming=True, types=("derived_from",))
    seqs = seqs_of_entries(unit, [edge.from_id for edge in edges if edge.from_kind == "entry"])
    return tuple(sorted(seqs, key=lambda entry_id: seqs[entry_id]))


def _by_item(uses: Sequence[Use]) -> dict[str, list[Use]]:
    out: dict[str, list[Use]] = {}
    for use in uses:
        out.setdefault(use.item_id, []).append(use)
    return out


def _uses(unit: Unit, name: LaneName, run_id: str) -> tuple[MemoryUse, ...]:
    """Return what a run read, each claim with its current text: reads are recorded without text."""
    uses = []
    for item_id, rows in _by_item(used_by(unit, name, run_id)).items():
        words = _claim_words(unit, item_id)
        seen = [ClaimSeen(one.part, words.get(one.part, ""), one.distance) for one in rows if one.part != WHOLE_ITEM]
        uses.append(MemoryUse(item_id, rows[0].via, tuple(seen)))
    return tuple(uses)


def _claim_words(unit: Unit, item_id: str) -> dict[str, str]:
    """Return short texts of the claims of an item, in any lane of the tenant."""
    try:
        item = find_item(unit, item_id)[1]
    except NotFound:
        return {}
    claims = written_block(item.data).claims if item.kind == REASONING else ()
    return {claim.claim_id: snippet(claim_text(claim)) for claim in claims}


def _require_run(unit: Unit, name: LaneName, run_id: str) -> tuple[Lane, Item]:
    lane = find_lane(unit, name)
    item = None if lane is None else find_run(LaneView(unit, lane), run_id)
    if lane is None or item is None:
        raise NotFound(f"there is no run {run_id!r:.80} for {name}; runs.record records one", field="run_id")
    return lane, item


def _result(
    unit: Unit,
    entry: Entry,
    outcomes: Mapping[str, Sequence[Mapping[str, Any]]],
) -> LearnResult:
    """Return the result of a learn from its outcomes by role, and the items as it left them."""
    lane = get_lane(unit, entry.lane_id)
    rows = outcomes.get(VERDICTS, ())
    run_id = str(entry.payload.get("run_id", ""))
    deltas = {delta.item_id: delta for delta in deltas_of_entry(unit, entry.lane_id, entry.id)}
    held = read_items(unit, lane, [row["item_id"] for row in rows]).values()
    left = {item.id: item for item in known_at(unit, lane.lane_id, held, to_micros(entry.recorded_at))}
    judged = []
    for item, claims in ((left[row["item_id"]], row["claims"]) for row in rows if row["item_id"] in left):
        moved = deltas.get(item.id)
        before = moved.patch.get("data.standing", (None,))[0] if moved is not None else None
        judged += [_judged_claim(item, claim, before or item.data.get("standing") or {}, run_id) for claim in claims]
    proposed = {body["item_id"]: body["action"] for body in outcomes.get(PROPOSED, ())}
    made = {
        action: tuple(
            reasoning_item(left[item_id])
            for item_id, one in proposed.items()
            if one == action and item_id in left and item_id in deltas
        )
        for action in ("add", "update")
    }
    facts: Mapping[str, Any] = next((body["facts"] for body in outcomes.get(FACTS, ())), {})
    return LearnResult(
        entry_id=entry.id if deltas else _last_effective_learn(unit, lane, entry) or entry.id,
        run_id=run_id,
        added=made["add"],
        updated=made["update"],
        judged=tuple(judged),
        dropped=tuple(Dropped(**body) for body in outcomes.get(DROPPED, ())),
        facts=facts,
        model=next((body["model"] for body in outcomes.get(ASKED, ())), None),
        refused=tuple(RefusedClass(**body) for body in outcomes.get(REFUSED, ())),
        degraded=tuple(Degraded(**body) for body in outcomes.get(DEGRADED_ROLE, ())),
    )


def _judged_claim(item: Item, claim: Mapping[str, Any], before: Mapping[str, Any], run_id: str) -> Judged:
    """Return the verdict on a claim; ``before`` holds the states of the item's claims before the learn."""
    claim_id = claim["claim_id"]
    after = status_of(item, claim_id)
    deleted = None if after else claim.get("delete", "left out")
    standing = (item.data.get("standing") or {}).get(claim_id) or before.get(claim_id) or {}
    support, contra = (dict(standing.get(name) or {}) for name in ("support", "contra"))
    if deleted is not None and run_id not in contra.get("run_ids", ()):  # it was deleted when this run was counted
        contra = {"count": int(contra.get("count", 0)) + 1, "run_ids": [*contra.get("run_ids", ()), run_id]}
    against: Judgement | None = "contra" if run_id in contra.get("run_ids", ()) else None
    counted: Judgement | None = "support" if run_id in support.get("run_ids", ()) else against
    was = (before.get(claim_id) or {}).get("status") or after
    return Judged(
        item_id=item.id,
        claim_id=claim_id,
        verdict=claim["verdict"],
        by=claim["by"],
        before=was,
        after=after,
        counted=counted,
        support=int(support.get("count", 0)),
        contra=int(contra.get("count", 0)),
        deleted=deleted,
        **{name: claim[name] for name in ("model", "quote", "reason") if name in claim},
    )


def _last_effective_learn(unit: Unit, lane: Lane, entry: Entry) -> str | None:
    """Return the last learn of the run, up to this one, that changed something, or None."""
    runs = read_items(unit, lane, [entry.payload.get("item_id", "")]).values()
    for entry_id in (one for run in runs for one in reversed(_learns(unit, lane, run))):
        row = find_entry(unit, entry_id)
        if row is not None and row.seq < entry.seq and deltas_of_entry(unit, lane.lane_id, entry_id):
            return entry_id
    return None


class RunReviews(Protocol):
    """Reviews of runs; thread-safe. A plug-in brings them as the component ``reviews``."""

    def recorded(self, tenant: str, lane: LaneName, run: Run) -> None:
        """Take note of a new run. Never fails and never waits."""
        ...

    def known(self, tenant: str, run: Run) -> Review | None:
        """Return the review that follows from what is known; no server is asked."""
        ...

    def review(self, tenant: str, lane: LaneName, run: Run, *, refresh: bool, wait: bool) -> Review:
        """Return the review of a run; servers may be asked."""
        ...

    def drawing(self, review: Review) -> Any:
        """Return the drawing for the page of a run, or None; MissingExtra if a package is missing."""
        ...

    def close(self) -> None:
        """Stop what runs in the background."""
        ...


def open_bank(platform: Platform) -> OpenEngine:
    """Open the bank of claims: its verbs, its reader of runs, and its migration."""
    own, models = platform.policy.of(ReasoningPolicy).reasoning, platform.models
    facts = RunFacts(find_builder(own.facts), own.products)
    candidates = Candidates(platform.search, own.candidates, own.top_k)
    rewriter = migration.Rewriter(models.asker("migrate") or models.asker("learn"))
    return OpenEngine(
        handlers=(
            *handlers.REASONING_HANDLERS,
            *handlers.RUN_HANDLERS,
            *learning.handlers(
                learning.LearnPreparer(facts, candidates, partial(models.asker, "learn"), decider_of(platform))
            ),
            *migration.handlers(rewriter),
        ),
        components={
            "runs": RunReader(platform.database, facts),
            "migrator": migration.Migrator(platform.database, rewriter),
        },
    )
