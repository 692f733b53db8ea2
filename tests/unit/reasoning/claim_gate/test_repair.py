"""The one rewrite: form is put right, meaning is left alone, and what breaks a rule of wording stays refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.laws.block_repair import repair
from phronesis.reasoning.laws.claim_status import parse, render
from phronesis.reasoning.laws.records import ReasoningBlock
from unit.core.blocks import BLOCKS, block, member

HEAD = "RBMEM_CLAIMS_V1\nTOPIC=Cu\n"
PRETTY = json.dumps([member(inference="a, “b”,\tc", conditions=["x,]"])], indent=2, ensure_ascii=False)


def shaped(**fields: Any) -> str:
    return block(member(**fields))


def test_the_form_is_put_right() -> None:
    cases = [
        (block(member()).replace("TOPIC=", "Topic: ").replace("CLAIMS_JSON=", "CLAIMS_JSON ＝"), ["key"]),
        (f"{HEAD}CLAIMS_JSON={PRETTY}\nOWNER=lab", ["one_line"]),
        (f"{block(member())[:-2]},}},]", ["trailing_comma"]),
        (shaped(support=["r1", "r2"]), ["tally_count"]),
        (f"  \nrbmem claims v1\n{block(member()).partition(chr(10))[2]}", ["blank_start", "header"]),
    ]
    for text, repairs in cases:
        assert gate(text), text
        repaired = repair(text)
        assert repaired is not None, text
        assert list(repaired.repairs) == repairs, text
        assert gate(repaired.text) == [], text
        assert repair(repaired.text) is None, text


def test_words_and_values_stay_as_they_were() -> None:
    repaired = repair(f"```\n{HEAD}NOTE=a  b\nCLAIMS_JSON={PRETTY}\n```")
    assert repaired is not None
    read = parse(repaired.text)
    assert read.extra == (("NOTE", "a  b"),)
    assert (read.claims[0].inference, read.claims[0].conditions) == ("a, “b”,\tc", ("x,]",))
    broken = repair(
        f'{HEAD}CLAIMS_JSON=[{{"claim_id":"c1","status":"Fact","facts":{{"source_run_ids":["r1"]}},\n"inference":"a\nb"}}]'
    )
    assert broken is not None
    assert parse(broken.text).claims[0].inference == "a\nb"
    tally = repair(shaped(status="Fact", support={"count": 5, "run_ids": ["r1"], "note": 1}))
    assert tally is not None
    assert (parse(tally.text).claims[0].support.count, parse(tally.text).claims[0].support.extra) == (5, {"note": 1})


def test_what_is_no_matter_of_form_stays_refused() -> None:
    cases = [
        ("next_step", shaped(status="Fact", inference="Next, try a 3:1 ratio.")),
        ("positive_constraint", shaped(status="Fact", constraint="must use Cu")),
        ("claim_id_unique", "```\n" + block(member(), member()) + "\n```"),
        ("facts_missing", shaped(status="Fact", facts="r1 gave 0.6")),
        ("claim_status", "```\n" + shaped(status="假设") + "\n```"),
        ("tallies", shaped(status="Fact", support={"count": -1, "run_ids": []})),
        ("claim_test", shaped(status="Fact", test={"metric": "yield"})),
    ]
    for rule, text in cases:
        repaired = repair(text)
        assert repaired is not None, rule
        assert rule in {found.rule for found in gate(repaired.text)}, rule
        assert len(parse_members(repaired.text)) == len(parse_members(text.strip("`\n"))), rule


def parse_members(text: str) -> list[Any]:
    return list(json.loads(text.partition("CLAIMS_JSON=")[2]))


def test_nothing_is_guessed() -> None:
    cases = [
        "",
        f'{HEAD}CLAIMS_JSON={{"a":1}}',
        f"{HEAD}CLAIMS_JSON=[NaN,]",
        f"Topic=a\nTOPIC=b\n{block(member())}",
        "x" * 1_000_001,
        f"{HEAD}A=1\nA=2\nCLAIMS_JSON={{\n}}",
        f"Here it is:\n```\n{block(member())}\n```",
    ]
    for text in cases:
        assert repair(text) is None, text


@pytest.mark.slow
@given(BLOCKS)
def test_any_block_comes_out_of_a_fence_as_it_was(lawful: ReasoningBlock) -> None:
    text = render(lawful)
    repaired = repair(f"```\n{text}\n```")
    assert repaired is not None
    assert parse(repaired.text) == lawful


@given(
    st.text()
    | st.lists(st.sampled_from(["```", "\n", "CLAIMS_JSON=", "[", "]", "{", "}", '"', "“", ",", "a"]), max_size=20).map(
        "".join
    )
)
def test_any_text_is_repaired_or_not(text: str) -> None:
    repaired = repair(text)
    assert repaired is None or {found.rule for found in gate(repaired.text)} & {"protocol"} == set()
