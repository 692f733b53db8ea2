"""RBMEM_CLAIMS_V1: what is written is read again, and every mistake is named with its place."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core.confidence import CLAIM_STATUSES, ClaimStatus
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.serialization import decode, encode
from phronesis.errors import ClaimsRefused, Violation
from phronesis.reasoning.laws.block_rules import MAX_BLOCK, STRUCTURE
from phronesis.reasoning.laws.claim_status import (
    CLAIMS_FOLD,
    current_block,
    parse,
    render,
    replaced_fields,
    written_block,
    written_of,
)
from phronesis.reasoning.laws.records import Claim, ReasoningBlock, Tally
from unit.core.blocks import BLOCKS, block, member
from unit.core.kept_lane import item_of, piece

TEST = {"metric": "fraction", "product": "formate", "op": ">=", "value": 0.6, "given": {"M1": "Cu"}}


def violations(text: str) -> tuple[Violation, ...]:
    with pytest.raises(ClaimsRefused) as refused:
        parse(text)
    return refused.value.violations


@given(BLOCKS)
@settings(max_examples=15)  # a block is large
def test_what_is_written_is_read_again(lawful: ReasoningBlock) -> None:
    text = render(lawful)
    assert parse(text) == lawful
    assert render(parse(text)) == text
    assert [key for key, _ in parse(text).extra] == [key for key, _ in lawful.extra]
    assert parse("\ufeff" + text.replace("\n", "\r\n") + "\r\n \r\n\n") == lawful


HEAD = "RBMEM_CLAIMS_V1\n"


def test_what_is_no_block_is_refused_with_its_place() -> None:
    cases = [
        ("", 1, None, "first line"),
        ("\nRBMEM_CLAIMS_V1\nCLAIMS_JSON=[]", 1, None, "first line"),
        (HEAD + "TOPIC=a", None, "CLAIMS_JSON", "no line"),
        (HEAD + "TOPIC＝a=b\nCLAIMS_JSON=[]", 2, "TOPIC", "full-width"),
        (HEAD + "NOTE＝a\nCLAIMS_JSON=[]", 2, None, "full-width"),
        (HEAD + "CLAIMS_JSON =[]", 2, "CLAIMS_JSON", "without spaces"),
        (HEAD + "A=1\nA=2\nCLAIMS_JSON=[]", 3, "A", "twice"),
        (HEAD + "CLAIMS_JSON=[]\nCLAIMS_JSON=[]", 3, "CLAIMS_JSON", "twice"),
        (HEAD + "=a\nCLAIMS_JSON=[]", 2, None, "KEY="),
        (HEAD + "CLAIMS_JSON=[\n]", 3, "CLAIMS_JSON", "one line"),
        (HEAD + "TOPIC=a\tb\x0bc\nCLAIMS_JSON=[]", 2, "TOPIC", "control"),
        (HEAD + "CLAIMS_JSON={}", 2, "CLAIMS_JSON", "array"),
        (HEAD + "CLAIMS_JSON=[NaN]", 2, "CLAIMS_JSON", "NaN"),
        (HEAD + "CLAIMS_JSON=[1e999]", 2, "CLAIMS_JSON", "double"),
        (HEAD + f"CLAIMS_JSON=[{2**63}]", 2, "CLAIMS_JSON", "64"),
        (HEAD + f"CLAIMS_JSON=[{'9' * 9999}]", 2, "CLAIMS_JSON", "digits"),
        (HEAD + 'CLAIMS_JSON=[{"a":1,"a":2}]', 2, "CLAIMS_JSON", "'a' twice"),
        (HEAD + r'CLAIMS_JSON=["\ud800"]', 2, "CLAIMS_JSON", "surrogate"),
        (HEAD + "CLAIMS_JSON=" + "[" * 100_000, 2, "CLAIMS_JSON", "64 levels"),
        (HEAD + "CLAIMS_JSON=" + " " * MAX_BLOCK, None, None, "characters"),
    ]
    for text, line, key, words in cases:
        found = violations(text)[0]
        assert (found.rule, found.line, found.key) == ("protocol", line, key), text
        assert words in found.message, text


RATIO = {"op": ">", "value": "2"}
NOTHING: list[Any] = [None, [], {}]
BROKEN: dict[str, list[dict[str, Any]]] = {
    "claim_status": [{"status": one} for one in ("Hypothesis", "verified", "", None, ["fact"], "deprecated", "事实")],
    "facts_missing": [
        *({"facts": one} for one in NOTHING),
        {"facts": "r1"},
        *({"facts": {"source_run_ids": one}} for one in ([], "r1", [1], [""])),
    ],
    "claim_fields": [
        *({"claim_id": one} for one in (1, "", "a\nb")),
        *({"inference": one} for one in (1, " ", None)),
        *({"constraint": ["avoid[x]"]}, {"exception_reason": True}, {"limitations": [1]}),
        *({"conditions": one} for one in ("dry", ["dry", " "])),
        *({"allow_positive": one} for one in ("true", 1)),
    ],
    "tallies": [
        *({"support": one} for one in (1, *NOTHING[1:])),
        *({"support": {"count": one}} for one in (-1, 1.0, True, "1")),
        *({"support": {"count": None, "run_ids": []}}, {"support": {"count": 0, "run_ids": ["r1"]}}),
        *({"support": {"count": 2, "run_ids": one}} for one in ("r1", ["r1", "r1"], [1])),
        {"contra": {"count": 1, "run_ids": ["r1", "r2"]}},
    ],
    "claim_test": [
        *({"test": one} for one in ("x", *NOTHING[1:])),
        *({"test": {**TEST, "product": one}} for one in (" ", None)),
        *({"test": {**TEST, "value": one}} for one in ("0.6", True, None)),
        {"test": {**TEST, "value": None, "versus": {}}},
        {"test": {**TEST, "value": None, "versus": "Ni"}},
        *({"test": {**TEST, "given": one}} for one in (["Cu"], {"M1": 1}, {"M3": "Cu"}, {"ratio": 2})),
        *({"test": {**TEST, "given": {"ratio": {**RATIO, **one}}}} for one in ({}, {"op": "=>", "value": 2})),
        *({"test": {**TEST, **one}} for one in ({"metric": "yield"}, {"op": "≥"}, {"versus": {"M1": "Ni"}})),
        {"test": {"metric": "activity", "product": "formate", "op": ">", "value": 1}},
    ],
}


def test_a_claim_that_breaks_a_rule_is_refused_by_its_name() -> None:
    for rule, broken in BROKEN.items():
        for fields in broken:
            found = violations(block(member("c0"), member(**fields)))
            assert {violation.rule for violation in found} == {rule}, fields
            assert (found[0].line, found[0].key) == (3, "CLAIMS_JSON"), fields
            assert "claims[1]" in found[0].message, fields
            named = fields.get("claim_id", "c1")
            assert found[0].claim_id == (named if isinstance(named, str) else None), fields


def test_the_rules_of_the_whole_list() -> None:
    assert [found.rule for found in violations(block(*(member(f"c{n}") for n in range(11))))] == ["claims_limit"]
    assert len(parse(block(*(member(f"c{n}") for n in range(10)))).claims) == 10
    [twice] = violations(block(member(), member("c2"), member(inference="copied", status="conclusion")))
    assert (twice.rule, twice.claim_id) == ("claim_id_unique", "c1")
    assert [found.rule for found in violations(block(1, "c", None, []))] == ["claim_fields"] * 4


LAWFUL = Claim(claim_id="c1", status="fact", facts={"source_run_ids": ["r1"]}, inference="a")


def test_what_would_not_come_back_is_not_written() -> None:
    cases: list[ReasoningBlock] = [
        ReasoningBlock(topic="a\nb"),
        ReasoningBlock(topic="a\r"),
        ReasoningBlock(extra=(("TOPIC", "a"),)),
        ReasoningBlock(extra=(("a key", "a"),)),
        ReasoningBlock(scope="\ud800"),
        ReasoningBlock(claims=(LAWFUL, LAWFUL)),
        *(
            ReasoningBlock(claims=(replace(LAWFUL, **fields),))
            for fields in (
                {"facts": {"source_run_ids": ("r1",)}},
                {"facts": {"source_run_ids": ["r1"], "x": float("nan")}},
                {"facts": {"source_run_ids": ["r1"], "x": object()}},
                {"facts": {"source_run_ids": ["r1"], 1: 2}},
                {"extra": {"inference": "b"}},
                {"status": "Fact"},
                {"inference": "\0"},
                {"support": Tally(count=-1)},
            )
        ),
    ]
    for wrong in cases:
        with pytest.raises(ClaimsRefused):
            render(wrong)


PIECES = st.sampled_from(
    [
        *'\n[]{}":,\\=＝ \ufeff\ud800\u2028',
        *"RBMEM_CLAIMS_V1 \r\n TOPIC= CLAIMS_JSON= claim_id null 1e9 SCOPE".split(" "),
        json.dumps(member()),
    ]
)


@given(st.text() | st.lists(PIECES | st.text(max_size=3), max_size=20).map("".join))
def test_any_text_is_a_block_or_refused(text: str) -> None:
    try:
        lawful = parse(text)
    except ClaimsRefused as error:
        refused = error
    else:
        assert parse(render(lawful)) == lawful
        return
    assert {found.rule for found in refused.violations} <= {rule.__name__ for rule in STRUCTURE}


def test_one_form_is_written() -> None:
    text = block(member(inference="铜 binds."), more="OWNER=lab 3\nSCOPE=tio2\n")
    assert render(parse(text)) == (
        'RBMEM_CLAIMS_V1\nTOPIC=Cu\nSCOPE=tio2\nOWNER=lab 3\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis",'
        '"facts":{"source_run_ids":["r1"],"run_id":"r1"},"inference":"铜 binds.","constraint":"","conditions":[],'
        '"limitations":[],"support":{"count":0,"run_ids":[]},"contra":{"count":0,"run_ids":[]}}]'
    )
    assert render(ReasoningBlock()) == "RBMEM_CLAIMS_V1\nTOPIC=\nCLAIMS_JSON=[]"
    assert parse("RBMEM_CLAIMS_V1\nCLAIMS_JSON=[]") == ReasoningBlock()
    written = render(parse(block(member(inference="a\u2028b"))))
    assert len(written.splitlines()) == 3
    assert parse(written).claims[0].inference == "a\u2028b"


# Where verdicts bring claims, what an edit changes of that, and that the block always says it.


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
