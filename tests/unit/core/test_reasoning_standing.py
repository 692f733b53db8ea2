"""Where verdicts bring claims, what an edit changes of that, and that the block always says it."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core.confidence import CLAIM_STATUSES, ClaimStatus
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.serialization import decode, encode
from phronesis.reasoning.laws.block_format import parse
from phronesis.reasoning.laws.claim_status import CLAIMS_FOLD, current_block, replaced_fields, written_block, written_of
from phronesis.reasoning.laws.records import Claim, ReasoningBlock
from unit.core.blocks import BLOCKS
from unit.core.kept_lane import item_of, piece

FACTS = {"source_run_ids": ["r0"]}


def written(block: ReasoningBlock, rows: tuple[EvidenceRow, ...] = ()) -> Item:
    """The item that a block makes, its data once through a log, folded over some evidence."""
    data = {name: value for name, value in written_of(block).items() if value is not None}
    return CLAIMS_FOLD(item_of("i1", kind="reasoning", data=decode(encode(data))), rows)


def claim(claim_id: str = "c1", **fields: Any) -> Claim:
    return Claim(claim_id=claim_id, **{"status": "hypothesis", "facts": FACTS, "inference": "It holds.", **fields})


def edited(item: Item, block: ReasoningBlock, rows: tuple[EvidenceRow, ...] = ()) -> Item:
    return CLAIMS_FOLD(item.with_fields(replaced_fields(item, block)), rows)


ROWS = st.lists(
    st.builds(
        piece,
        st.just("i1"),
        st.sampled_from(["r1", "r2", "r3", "r4"]),
        at=st.integers(0, 5),
        part=st.sampled_from(["c1", "c2", "gone"]),
        polarity=st.sampled_from(["support", "contra", "source", "useful"]),
    ),
    max_size=8,
    unique_by=lambda row: (row.part, row.source_key),
).map(tuple)


@given(BLOCKS)
@settings(max_examples=15)  # a block is large
def test_a_block_is_kept_and_the_content_says_it(block: ReasoningBlock) -> None:
    item = written(block)
    assert parse(item.content) == block
    assert current_block(item) == written_block(item.data) == block
    assert written(parse(item.content)).content == item.content


@given(ROWS, st.sampled_from(CLAIM_STATUSES))
def test_each_claim_stands_on_its_own_verdicts(rows: tuple[EvidenceRow, ...], start: ClaimStatus) -> None:
    first = claim("c1", status=start)
    both = current_block(written(ReasoningBlock(claims=(first, claim("c2"))), rows)).claims
    alone = current_block(written(ReasoningBlock(claims=(first,)), rows)).claims
    assert both[0] == alone[0]
    for one in both:
        kept = {row.source_key for row in rows if row.part == one.claim_id and row.polarity in ("support", "contra")}
        assert {*one.support.run_ids, *one.contra.run_ids} == kept
        assert one.support.count + one.contra.count == len(kept)
    assert start != "fact" or both[0].status == "fact"


@given(ROWS)
def test_what_is_set_by_hand_is_a_new_start_in_which_named_runs_count_once(rows: tuple[EvidenceRow, ...]) -> None:
    item = written(ReasoningBlock(claims=(claim("c1"),)), rows)
    shown = current_block(item).claims[0]
    hand = replace(shown, support=replace(shown.support, count=shown.support.count + 1))
    after = edited(item, ReasoningBlock(claims=(hand,)), rows)
    assert current_block(after).claims == (hand,)
    assert replaced_fields(after, parse(after.content)) == {}
