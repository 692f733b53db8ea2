"""The verb ``learn``: what a run says of the bank's claims, in one entry that can be taken back whole (RB-17 … RB-20).

Preparing assembles FACTS, gathers candidates, sifts proposals and weighs claims; all of it stands in outcomes, so that
a replay asks nobody. Applying adds a row of evidence for each claim on which the run bears, at most one of a run;
counts and statuses are the fold's. A conclusion that falls gains a limitation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.reasoning.records import REASONING, Claim, ReasoningBlock
from phronesis.core.reasoning.runs import Feedback
from phronesis.core.reasoning.standing import (
    STANDING,
    WRITTEN,
    current_block,
    rewritten,
    standing_of,
    written_block,
    written_of,
)
from phronesis.core.relations import Edge, EvidenceRow, Polarity
from phronesis.derive.handler import Bench, Handler, Outcomes, Prepare
from phronesis.derive.learning.candidates import Candidates, used_ids
from phronesis.derive.learning.proposing import RULES, Proposal, propose_by_rules
from phronesis.derive.learning.sifting import Sieve, Taken
from phronesis.derive.learning.telling import Telling
from phronesis.derive.learning.weighing import BY_RULE, Scales, contradicting_runs, limitation_for, limited, may_fall
from phronesis.derive.runs import RUN, feedback_of, find_run, run_of
from phronesis.storage.lane_view import LaneView

LEARN: Final = "learn"

FACTS: Final = "facts"
CANDIDATES: Final = "candidates"
VERDICTS: Final = "verdicts"
PROPOSED: Final = "proposed"
DROPPED: Final = "dropped"
"""The roles of a learn's outcomes: one of FACTS, one of candidates, and one for each item or proposal."""

_COUNTED: Final[Mapping[str, Polarity]] = {"support": "support", "contra": "contra"}
_EDGE_OF: Final = {"support": "supports", "contra": "contradicts"}


@dataclass(frozen=True, slots=True)
class Learning:
    """Prepares learns, by rules."""

    telling: Telling
    candidates: Candidates

    def __call__(self, bench: Bench, entry: Entry) -> Sequence[Outcome]:
        """Give what applying needs: FACTS, candidates, proposals taken and dropped, and a verdict on every claim."""
        payload = entry.payload
        with bench.view() as view:
            lane, item = view.lane, view.item(payload["item_id"])
        if item is None or item.kind != RUN:
            return ()
        found = self.candidates.found(bench.tenant, lane, self.telling.summary(item))
        with bench.view() as view:
            used = used_ids(run_of(item), payload.get("read", ()))
            chosen, ways = self.candidates.chosen(view, used, found, before=entry.recorded_at)
            return self._outcomes(view, entry, item, chosen, ways)

    def _outcomes(
        self, view: LaneView, entry: Entry, run: Item, chosen: Sequence[Item], ways: Mapping[str, str]
    ) -> list[Outcome]:
        feedback, facts, told = feedback_of(run), self.telling.facts(run), self.telling.view(run)
        scales = Scales(told, feedback is not None, lambda: self.telling.earlier(view, run))
        known = {item.id: current_block(item) for item in chosen}
        proposals = self._proposals(feedback, run, known.values())
        sieve = Sieve(entry_id=entry.id, facts=facts, candidates={item.id: item for item in chosen},
                      agree=lambda claim: scales.weigh(claim) != "contra")  # fmt: skip
        taken, dropped = sieve.sift(proposals)
        blocks = known | {one.item_id: one.block for one in taken}
        held = {item.id: item for item in chosen}
        rows = [self._weighed(view, scales, held.get(item_id), item_id, block) for item_id, block in blocks.items()]
        bodies: list[tuple[str, Sequence[Mapping[str, Any]]]] = [
            (FACTS, [{"facts": facts}]),
            (CANDIDATES, [{"items": [{"item_id": item.id, "by": ways[item.id]} for item in chosen]}]),
            (PROPOSED, [_taken(one) for one in taken]),
            (DROPPED, [one.to_json() for one in dropped]),
            (VERDICTS, rows),
        ]
        return [Outcome(role=role, made_by=RULES, body=body, n=n)
                for role, listed in bodies for n, body in enumerate(listed)]  # fmt: skip

    def _proposals(self, feedback: Feedback | None, run: Item, known: Iterable[ReasoningBlock]) -> list[Proposal]:
        if feedback is None:
            return []
        return propose_by_rules(feedback, self.telling.view(run), (claim for block in known for claim in block.claims))

    def _weighed(
        self, view: LaneView, scales: Scales, item: Item | None, item_id: str, block: ReasoningBlock
    ) -> dict[str, Any]:
        claims = []
        for claim in block.claims:
            row: dict[str, Any] = {"claim_id": claim.claim_id, "verdict": scales.weigh(claim), "by": BY_RULE}
            if row["verdict"] == "contra" and item is not None and may_fall(item, claim.claim_id, scales.run.run_id):
                row["limitation"] = self._limitation(view, scales, item, block, claim)
            claims.append(row)
        return {"item_id": item_id, "claims": claims}

    def _limitation(self, view: LaneView, scales: Scales, item: Item, block: ReasoningBlock, claim: Claim) -> str:
        runs = contradicting_runs(item, claim.claim_id, scales.run.run_id)
        earlier = [found for one in runs[:-1] if (found := find_run(view, one)) is not None]
        return limitation_for(block, claim, [*(self.telling.view(one) for one in earlier), scales.run])


def _taken(one: Taken) -> dict[str, Any]:
    written = {name: value for name, value in written_of(one.block).items() if value is not None}
    return {"action": one.proposal.action, "item_id": one.item_id, "written": written, "made_by": one.proposal.made_by}


def apply_learn(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Store what was taken, count what the run says, and note what it contradicts."""
    payload = entry.payload
    run = None if is_erased(payload) else view.item(payload["item_id"])
    if run is None or run.kind != RUN or run.run_id is None:
        return Changes()
    judged = {outcome.body["item_id"]: outcome.body["claims"] for outcome in outcomes.get(VERDICTS, ())}
    taken = {outcome.body["item_id"]: outcome.body for outcome in outcomes.get(PROPOSED, ())}
    present = view.items(judged)
    evidence = view.evidence(present)
    learned = Edge(type="derived_from", from_kind="entry", from_id=entry.id, to_kind="item", to_id=run.id,
                   entry_id=entry.id)  # fmt: skip
    parts = [Changes(edges=[learned])]
    for item_id, claims in judged.items():
        proposed = taken.get(item_id)
        item = present.get(item_id)
        if item is not None and item.live and item.kind == REASONING:
            block = written_block(proposed["written"]) if proposed is not None else None
            parts.append(_Bearing(entry, run, item, claims).on_held(block, evidence.get(item_id, ())))
        elif item is None and proposed is not None and proposed["action"] == "add":
            made = _made(view, entry, run, proposed)
            parts.append(_Bearing(entry, run, made, claims).on_new())
    return Changes(
        items=[item for part in parts for item in part.items],
        patches=[patch for part in parts for patch in part.patches],
        edges=[edge for part in parts for edge in part.edges],
        evidence=[row for part in parts for row in part.evidence],
    )


def _made(view: LaneView, entry: Entry, run: Item, proposed: Mapping[str, Any]) -> Item:
    written = proposed["written"]
    return Item(
        id=proposed["item_id"],
        kind=REASONING,
        content="",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=Trust.USER if proposed["made_by"] == RULES else Trust.ASSISTANT,
        source_type=RUN,
        source_ref=run.run_id,
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={**{name: written[name] for name in WRITTEN if name in written}, "made_by": proposed["made_by"]},
        **view.scope_fields(),
    )


@dataclass(frozen=True, slots=True)
class _Bearing:
    """What the run of a learn does to one item."""

    entry: Entry
    run: Item
    item: Item
    claims: Sequence[Mapping[str, Any]]

    def on_new(self) -> Changes:
        """Give the item that was proposed, with where it comes from and what the run says of it."""
        rows = self._rows(written_block(self.item.data), ())
        source = replace(
            self._row("", "source"), source_entry_id=self.run.data.get("feedback_entry") or self.run.entry_id,
            source_item_id=None,
        )  # fmt: skip
        return Changes(
            items=[self.item],
            patches=[Patch(self.item.id, {}, self._reason)],
            edges=[self._edge("derived_from"), *self._edges(rows)],
            evidence=[source, *rows],
        )

    def on_held(self, proposed: ReasoningBlock | None, evidence: Sequence[EvidenceRow]) -> Changes:
        """Give what changes of an item that is there: words that were proposed, evidence, limitations."""
        fields = {} if proposed is None else rewritten(self.item, proposed)
        block = written_block(self.item.with_fields(fields).data)
        rows = self._rows(block, evidence)
        fallen = self._fallen(fields, [*evidence, *rows])
        for claim_id in fallen:
            block = limited(block, claim_id, self._limitations()[claim_id])
        if fallen:
            fields = fields | {"data.claims": written_of(block)["claims"]}
        if not fields and not rows:
            return Changes()
        return Changes(patches=[Patch(self.item.id, fields, self._reason)], edges=self._edges(rows), evidence=rows)

    @property
    def _reason(self) -> str:
        return f"learned from run {self.run.run_id}"

    def _rows(self, block: ReasoningBlock, evidence: Sequence[EvidenceRow]) -> list[EvidenceRow]:
        """Give a row for each claim on which the run bears and for which it does not count yet."""
        counted = {row.part for row in evidence if row.source_key == self.run.run_id and row.polarity in _COUNTED}
        named = {claim.claim_id: {*claim.support.run_ids, *claim.contra.run_ids} for claim in block.claims}
        return [
            self._row(row["claim_id"], _COUNTED[row["verdict"]])
            for row in self.claims
            if row["verdict"] in _COUNTED
            and row["claim_id"] not in counted
            and row["claim_id"] in named
            and self.run.run_id not in named[row["claim_id"]]
        ]

    def _fallen(self, fields: Mapping[str, Any], evidence: Sequence[EvidenceRow]) -> list[str]:
        """Give the claims that were conclusions and are none any more, and that nobody said more of."""
        limitations = self._limitations()
        if not limitations:
            return []
        after = self.item.with_fields(fields)
        ordered = sorted(evidence, key=lambda row: (row.recorded_at, row.identity))
        standing = standing_of(after, ordered)[STANDING]
        before = {claim.claim_id: claim for claim in current_block(self.item).claims}
        return [
            claim.claim_id
            for claim in written_block(after.data).claims
            if claim.claim_id in limitations
            and (old := before.get(claim.claim_id)) is not None
            and old.status == "conclusion"
            and standing[claim.claim_id]["status"] == "hypothesis"
            and (old.conditions, old.limitations) == (claim.conditions, claim.limitations)
        ]

    def _limitations(self) -> dict[str, str]:
        return {row["claim_id"]: row["limitation"] for row in self.claims if "limitation" in row}

    def _row(self, claim_id: str, polarity: Polarity) -> EvidenceRow:
        run_id = str(self.run.run_id)
        return EvidenceRow(
            item_id=self.item.id, part=claim_id, polarity=polarity, source_key=run_id, entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at, source_entry_id=self.run.entry_id, source_item_id=self.run.id,
            source_ref=run_id, occurred_at=self.run.occurred_at,
        )  # fmt: skip

    def _edges(self, rows: Sequence[EvidenceRow]) -> list[Edge]:
        return [self._edge(_EDGE_OF[polarity]) for polarity in dict.fromkeys(row.polarity for row in rows)]

    def _edge(self, kind: str) -> Edge:
        return Edge(type=kind, from_kind="item", from_id=self.item.id, to_kind="item", to_id=self.run.id,
                    entry_id=self.entry.id)  # fmt: skip


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Give the handler of ``learn``, prepared so."""
    return (Handler(verb=LEARN, apply=apply_learn, prepare=prepare),)
