"""The one rewrite: form is put right, meaning is left alone, and what breaks a rule of wording stays refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.claim_repair import repair
from phronesis.reasoning.laws.block_format import parse, render
from phronesis.reasoning.laws.records import ReasoningBlock
from unit.core.blocks import BLOCKS, block, member

HEAD = "RBMEM_CLAIMS_V1\nTOPIC=Cu\n"
LAWFUL = parse(block(member(conditions=["dry"], support={"count": 1, "run_ids": ["r1"]})))
PRETTY = json.dumps([member(inference="a, “b”,\tc", conditions=["x,]"])], indent=2, ensure_ascii=False)
CURLED = "[{“claim_id”: “c1”, “status”: “fact”, “facts”: {“source_run_ids”: [“r1”]}, “inference”: “Cu binds.”}]"


def shaped(**fields: Any) -> str:
    return block(member(**fields))


FORMS = [
    (f"```\n{block(member())}\n```", ["code_fence"]),
    (f"\n```text\r\n{block(member())}\r\n```\n", ["code_fence"]),
    (f"\n\n {block(member())}", ["blank_start"]),
    (block(member()).replace("RBMEM_CLAIMS_V1", "rbmem_claims_v1 "), ["header"]),
    (block(member()).replace("RBMEM_CLAIMS_V1", "RBMEM-claims V1"), ["header"]),
    (block(member()).removeprefix("RBMEM_CLAIMS_V1\n"), ["header"]),
    (block(member()).replace("TOPIC=", "Topic: ").replace("CLAIMS_JSON=", "CLAIMS_JSON ＝"), ["key"]),
    (f"{HEAD}CLAIMS_JSON={PRETTY}\nOWNER=lab", ["one_line"]),
    (f"{HEAD}CLAIMS_JSON=\n{PRETTY}\n", ["one_line"]),
    (f"{HEAD}CLAIMS_JSON={CURLED}", ["curled_quotes"]),
    (f"{HEAD}CLAIMS_JSON={CURLED.replace('”}]', '”,},]')}", ["curled_quotes", "trailing_comma"]),
    (f"{HEAD}CLAIMS_JSON={json.dumps([member()])[:-1]} , ]", ["trailing_comma"]),
    (f"{HEAD}CLAIMS_JSON={json.dumps(member())}", ["claims_as_object"]),
    (f"{HEAD}CLAIMS_JSON={json.dumps({'claims': [member()]})}", ["claims_as_object"]),
    (f"{HEAD}CLAIMS_JSON={json.dumps({'c1': member(), 'c2': {k: v for k, v in member().items() if k != 'claim_id'}})}",
     ["claims_as_object"]),
    (f"{HEAD}CLAIMS_JSON={json.dumps(json.dumps([member()]))}", ["json_as_text"]),
    (shaped(status="Hypothesis"), ["status_case"]),
    (shaped(status=" FACT "), ["status_case"]),
    (shaped(allow_positive="true", constraint="use Cu", exception_reason="asked for"), ["truth_as_text"]),
    (shaped(allow_positive="false"), ["truth_as_text"]),
    (shaped(conditions="dry", limitations=" "), ["text_as_list"]),
    (shaped(facts={"source_run_ids": "r1"}), ["text_as_list"]),
    (shaped(support={"count": 1, "run_ids": ["r1", "r2"]}, contra={"run_ids": []}), ["tally_count"]),
    (shaped(support=["r1", "r2"]), ["tally_count"]),
    (block(member(claim_id=7)), ["id_as_number"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "repairs"), FORMS, ids=range(len(FORMS)))
def test_the_form_is_put_right(text: str, repairs: list[str]) -> None:
    assert gate(text)
    repaired = repair(text)
    assert repaired is not None
    assert list(repaired.repairs) == repairs
    assert gate(repaired.text) == []
    assert repair(repaired.text) is None


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


STAYS = [
    ("kb_alias", shaped(status="Fact", inference="As [C12] says.")),
    ("next_step", shaped(status="Fact", inference="Next, try a 3:1 ratio.")),
    ("positive_constraint", shaped(status="Fact", constraint="must use Cu")),
    ("positive_constraint", shaped(allow_positive="true", constraint="must use Cu")),
    ("claims_limit", "```\n" + block(*(member(f"c{n}") for n in range(11))) + "\n```"),
    ("claim_id_unique", "```\n" + block(member(), member()) + "\n```"),
    ("facts_missing", shaped(status="Fact", facts={})),
    ("facts_missing", shaped(status="Fact", facts="r1 gave 0.6")),
    ("claim_status", "```\n" + shaped(status="verified") + "\n```"),
    ("claim_status", "```\n" + shaped(status="假设") + "\n```"),
    ("tallies", shaped(status="Fact", support={"count": -1, "run_ids": []})),
    ("claim_test", shaped(status="Fact", test={"metric": "yield"})),
]


@pytest.mark.parametrize(("rule", "text"), STAYS, ids=range(len(STAYS)))
def test_what_is_no_matter_of_form_stays_refused(rule: str, text: str) -> None:
    repaired = repair(text)
    assert repaired is not None
    assert rule in {found.rule for found in gate(repaired.text)}
    assert len(parse_members(repaired.text)) == len(parse_members(text.strip("`\n")))


def parse_members(text: str) -> list[Any]:
    return list(json.loads(text.partition("CLAIMS_JSON=")[2]))


HOPELESS = [
    "",
    "words",
    "RBMEM_CLAIMS_V2\nCLAIMS_JSON=[]",
    HEAD,
    f"{HEAD}CLAIMS_JSON=[",
    f"{HEAD}CLAIMS_JSON=[1,,]",
    f"{HEAD}CLAIMS_JSON=5\n",
    f"{HEAD}CLAIMS_JSON={{}}",
    f'{HEAD}CLAIMS_JSON={{"a":1}}',
    f"{HEAD}CLAIMS_JSON=[NaN,]",
    f'{HEAD}CLAIMS_JSON={{"c1":{{"claim_id":"c2"}}}}',
    f"Topic=a\nTOPIC=b\n{block(member())}",
    "x" * 1_000_001,
    f"{HEAD}A=1\nA=2\nCLAIMS_JSON={{\n}}",
    block(member()),
    "```",
    f"Here it is:\n```\n{block(member())}\n```",
    f"{HEAD}CLAIMS_JSON=[“a,]",
]


@pytest.mark.parametrize("text", HOPELESS, ids=range(len(HOPELESS)))
def test_nothing_is_guessed(text: str) -> None:
    assert repair(text) is None


def test_what_is_no_claim_is_left_as_it_is() -> None:
    repaired = repair("```\n" + block("c1", member(support=None)) + "\n```")
    assert repaired is not None
    assert parse_members(repaired.text)[0] == "c1"


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
