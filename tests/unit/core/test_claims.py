"""What a claim must be, what is searched of it, and where verdicts bring it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.claims import CLAIMS_FOLD, MAX_CLAIMS, check_claims, claim_text, claims_of, core_sentence
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.state_machine import CLAIM_STATUSES, ClaimStatus
from phronesis.errors import InputError
from unit.core.kept_lane import item_of, piece


def reasoning(*claims: dict[str, Any]) -> Item:
    return item_of("i1", kind="reasoning", data={"claims": check_claims(claims)})


def stated(claim_id: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"claim_id": claim_id, "inference": "It holds.", **fields}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("c1", "claims"), (None, "claims"), ([], "claims"), ([stated(str(n)) for n in range(11)], "claims"),
        (["c1"], "claims[0]"), ([stated(), stated("c2"), stated()], "claims[2].claim_id"),
        ([{"inference": "no id"}], "claims[0].claim_id"), ([{"claim_id": "c"}], "claims[0].inference"),
        ([stated(inference=" ")], "claims[0].inference"), ([stated(status="Fact")], "claims[0].status"),
        ([stated(status=["fact"])], "claims[0].status"),
        ([stated(support={"count": 1})], "claims[0].support"), ([stated(contra=[])], "claims[0].contra"),
        ([stated(conditions="dry")], "claims[0].conditions"),
        ([stated(conditions=["dry", 1])], "claims[0].conditions[1]"),
        ([stated(limits={1, 2})], None),
    ],
)  # fmt: skip
def test_what_is_no_claim_is_refused_by_name(value: object, field: str | None) -> None:
    with pytest.raises(InputError) as refused:
        check_claims(value)
    assert field is None or refused.value.field == field


def test_ten_claims_are_lawful_and_further_members_are_kept() -> None:
    claims = check_claims([stated(f"c{n}", constraint="avoid[x]") for n in range(MAX_CLAIMS)])
    assert claims[0] == {"claim_id": "c0", "inference": "It holds.", "constraint": "avoid[x]", "status": "hypothesis",
                         "conditions": []}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mg helps. It was dry.", "Mg helps."), ("pH 7.4 is best! Yes", "pH 7.4 is best!"),
        (" 镁提高产率。其余未变。", "镁提高产率。"),
        ("no end", "no end"), ("first line\nsecond", "first line"), ("Really?", "Really?"),
    ],
)  # fmt: skip
def test_the_core_sentence(text: str, expected: str) -> None:
    assert core_sentence(text) == expected


def test_the_conditions_are_searched_with_it_and_the_rest_is_not() -> None:
    assert claim_text(stated(inference="A. B.", conditions=["dry", "cold"], limits="never")) == "A.\ndry\ncold"
    assert claim_text(stated(inference="A. B.")) == "A."


ROWS = st.lists(
    st.builds(
        piece, st.just("i1"), st.sampled_from(["r1", "r2", "r3"]), at=st.integers(0, 5),
        part=st.sampled_from(["c1", "c2", "gone"]), polarity=st.sampled_from(["support", "contra", "source", "useful"]),
    ),
    max_size=8, unique_by=lambda row: row.identity,
)  # fmt: skip


@given(ROWS, st.sampled_from(CLAIM_STATUSES))
def test_each_claim_stands_on_its_own_verdicts(rows: list[EvidenceRow], start: ClaimStatus) -> None:
    item = reasoning(stated("c1", status=start), stated("c2"))
    folded = CLAIMS_FOLD(item, rows)
    alone = CLAIMS_FOLD(reasoning(stated("c1", status=start)), [row for row in rows if row.part == "c1"])
    assert claims_of(folded)[0] == claims_of(alone)[0]
    for claim in claims_of(folded):
        assert not set(claim.support) & set(claim.contra)  # a run counts once
        kept = {row.source_key for row in rows if row.part == claim.claim_id and row.polarity in ("support", "contra")}
        assert {*claim.support, *claim.contra} == kept
    assert start != "fact" or claims_of(folded)[0].status == "fact"


def test_an_item_without_claims_has_none() -> None:
    assert claims_of(CLAIMS_FOLD(item_of("i1", kind="reasoning"), ())) == []
