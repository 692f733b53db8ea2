"""Each rule refuses what it must by its name, and look-alikes pass, in both languages."""

import json
import tomllib
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.reasoning.claim_gate import RULES, fold, gate, load_wording, without_aliases
from phronesis.reasoning.laws.block_format import render
from phronesis.reasoning.laws.block_rules import MAX_VIOLATIONS, STRUCTURE
from phronesis.reasoning.laws.records import ReasoningBlock
from unit.core.blocks import BLOCKS, block, member

TABLE = tomllib.loads(resources.files("phronesis.reasoning").joinpath("examples.toml").read_text("utf-8"))
EXAMPLES = [
    (row["rule"], row["field"], value, key == "passes")
    for row in TABLE["examples"]
    for key in ("passes", "fails")
    for value in row[key]
]
NAMES = [rule.name for rule in RULES]
IN_LISTS = ("conditions", "limitations")


def found(field: str, value: Any) -> set[str]:
    """Give the names of the rules that a value breaks in a field of an otherwise lawful block."""
    if field == "block":
        text = value
    elif field == "topic":
        text = block(member(), topic=value)
    elif field == "claims":
        text = block(*(member(f"c{n}") for n in range(value)))
    elif field == "claim_ids":
        text = block(*map(member, value))
    elif field == "item_status":
        return {violation.rule for violation in gate(block(member()), value)}
    elif field in IN_LISTS and isinstance(value, str) and value not in ("pH above 7", "可见光"):
        text = block(member(**{field: [value]}))
    else:
        text = block(member(**{field: value}))
    return {violation.rule for violation in gate(text)}


def test_a_rule_refuses_its_examples_and_passes_look_alikes() -> None:
    for name in NAMES:
        examples = [(field, value, lawful) for rule, field, value, lawful in EXAMPLES if rule == name]
        wrong = [
            (field, value)
            for field, value, lawful in examples
            if (found(field, value) != set() if lawful else name not in found(field, value))
        ]
        assert wrong == [], name


def test_every_rule_has_examples_both_ways() -> None:
    for name in NAMES:
        for lawful in (True, False):
            values = [
                json.dumps(v, ensure_ascii=False) for r, _, v, passes in EXAMPLES if r == name and passes is lawful
            ]
            assert values, name
            if name not in ("claims_limit", "claim_status", "item_status"):
                assert any(not value.isascii() for value in values), name  # Chinese
                assert any(value.isascii() for value in values), name


def test_every_pattern_is_met_by_an_example() -> None:
    met = {
        n
        for rule, field, value, lawful in EXAMPLES
        if not lawful and isinstance(value, str) and field != "block"
        for n, pattern in enumerate(load_wording().patterns)
        if pattern.rule == rule and (pattern.fields is None or field in pattern.fields) and pattern.find(fold(value))
    }
    unmet = set(range(len(load_wording().patterns))) - met
    assert [load_wording().patterns[n].pattern.pattern[:60] for n in unmet] == []


def test_the_order_of_the_rules() -> None:
    assert NAMES == [
        "protocol",
        "claims_limit",
        "claim_status",
        "claim_id_unique",
        "facts_missing",
        "claim_fields",
        "tallies",
        "claim_test",
        "item_status",
        "kb_alias",
        "next_step",
        "positive_constraint",
    ]
    text = block(
        member(inference="As [C1] says. Next, try 3:1.", constraint="use Cu", status="Fact"), more="A=1\nA=2\n"
    )
    assert [violation.rule for violation in gate(text, "gone")] == [
        "protocol",
        "claim_status",
        "item_status",
        "kb_alias",
        "next_step",
        "positive_constraint",
    ]
    assert all(rule.asks for rule in RULES)


def test_a_violation_names_its_place() -> None:
    text = block(member("c1"), member("c2", limitations=["dry", "see [C3]"]), more="NOTE=as [C4]\n")
    note, claim = gate(text)
    assert (note.rule, note.line, note.key, note.claim_id) == ("kb_alias", 3, "NOTE", None)
    assert (claim.rule, claim.line, claim.key, claim.claim_id) == ("kb_alias", 4, "CLAIMS_JSON", "c2")
    assert claim.message.startswith("limitations[1] holds '[c3]'")
    [topic] = gate(block(member(), topic="What to try next: Zr"))
    assert (topic.rule, topic.line, topic.key) == ("next_step", 2, "TOPIC")


ALIASED = [
    block(member(), more="NOTE=[C1]\n"),
    block(member(test={"metric": "activity", "op": ">", "value": 1, "of": "[C1]"})),
    block(member(conditions=["[C1]"])),
    block(member(notes={"deep": [["[C1]"]]})),
    block("[C1]"),
    "words of [C1]",
    block(member()) + "\nof [C1]",
]


def test_an_alias_is_found_wherever_it_stands() -> None:
    for text in ALIASED:
        assert "kb_alias" in {violation.rule for violation in gate(text)}, text


def test_facts_quote_what_people_want_next() -> None:
    said = {"source_run_ids": ["r1"], "feedback_text": {"other": "Next, try 3:1. 下一步试试Zr。 Always use Cu."}}
    assert gate(block(member(facts=said))) == []
    assert [violation.rule for violation in gate(block(member(notes={"a": ["Next, try 3:1."]})))] == ["next_step"]
    assert [violation.rule for violation in gate(block(member(), more="NOTE=下一步试试Zr。\n"))] == ["next_step"]


POSITIVE_CONSTRAINT_EXCEPTION: list[tuple[object, object, bool]] = [
    (True, "asked for by the user", True),
    (True, "用户指定", True),
    (True, "", False),
    (True, "n/a", False),
    (True, None, False),
]


def test_a_positive_constraint_is_an_exception_with_a_reason() -> None:
    for allowed, reason, lawful in POSITIVE_CONSTRAINT_EXCEPTION:
        for fields in ({"constraint": "must use Cu"}, {"inference": "prefer[imidazole]"}):
            text = block(member(allow_positive=allowed, exception_reason=reason, **fields))
            assert [violation.rule for violation in gate(text)] == ([] if lawful else ["positive_constraint"]), allowed


def test_an_exception_covers_no_instruction() -> None:
    text = block(member(allow_positive=True, exception_reason="asked", constraint="Use Cu in the next round."))
    assert [violation.rule for violation in gate(text)] == ["next_step"]


def test_aliases_are_taken_out_of_what_people_said() -> None:
    assert without_aliases("As [C12] says,［C３］too; [Cu(NH3)4]2+ stays.") == "As  says,too; [Cu(NH3)4]2+ stays."
    assert without_aliases("İ [C1]ﬁ") == "İ fi"
    assert without_aliases("Ｃｕ 见[C2H4]") == "Ｃｕ 见[C2H4]"
    quoting = {"source_run_ids": ["r1"], "raw": without_aliases("见[C3]、【C7】和[C1,C2]")}
    assert gate(block(member(facts=quoting))) == []


@pytest.mark.slow
@given(BLOCKS, st.data())
def test_one_broken_rule_is_caught_by_its_name(lawful: ReasoningBlock, data: st.DataObject) -> None:
    text = render(lawful)
    before = {violation.rule for violation in gate(text)}
    assert before <= {"kb_alias", "next_step", "positive_constraint"}  # drawn words may happen to break one
    lines = text.split("\n")
    claims = [*json.loads(lines[-1].removeprefix("CLAIMS_JSON=")), member("last one")]
    last = claims[-1]
    rule = data.draw(st.sampled_from(NAMES))
    status = "active"
    match rule:
        case "protocol":
            lines.insert(data.draw(st.integers(0, 1)), data.draw(st.sampled_from(["no key", "TOPIC＝a", ""])) or "x")
        case "claims_limit":
            claims = [member(f"c{n}") for n in range(data.draw(st.integers(11, 20)))]
        case "claim_status":
            last["status"] = data.draw(st.sampled_from(["Fact", "deprecated", None, 1]))
        case "claim_id_unique":
            claims = [member("same"), *claims[:8], member("same")]
        case "facts_missing":
            last["facts"] = data.draw(st.sampled_from([None, {}, [], {"source_run_ids": []}]))
        case "claim_fields":
            last[data.draw(st.sampled_from(["claim_id", "inference", "constraint", "conditions", "limitations"]))] = 7
        case "tallies":
            last["contra"] = {"count": 0, "run_ids": ["r1"]}
        case "claim_test":
            last["test"] = {"metric": "activity", "op": ">"}
        case "item_status":
            status = data.draw(st.sampled_from(["", "deprecated", "Active"]))
        case "kb_alias":
            last["inference"] = f"Cu binds {data.draw(st.sampled_from(['[C12]', '［C3］', '见[C7]', '【c1】']))} well."
        case "next_step":
            last["inference"] = data.draw(st.sampled_from(["Next, try a 3:1 ratio.", "下一步建议测试Zr。"]))
        case "positive_constraint":
            last["constraint"] = data.draw(st.sampled_from(["must use Cu", "必须含有羧基", "prefer[Cu]"]))
    lines[-1] = "CLAIMS_JSON=" + json.dumps(claims, ensure_ascii=False)
    broken = {violation.rule for violation in gate("\n".join(lines), status)}
    assert rule in broken
    limit = {"claims_limit"} if len(claims) > 10 else set()  # the one more that was broken
    assert broken - before - limit == {rule} - before - limit


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_can_be_judged(text: str, status: str) -> None:
    names = {violation.rule for violation in gate(text, status)}
    assert names <= set(NAMES)
    assert names & {rule.name for rule in STRUCTURE}


HOSTILE = (
    "[c1,",
    "is recommended",
    "下一步应",
    "避免",
    "that must ",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear(piece: str) -> None:
    def saying(length: int) -> str:
        said = repeated(piece)(length)
        return block(member(inference=said, constraint=said))

    assert_linear(gate, saying, 32_000)


def test_the_list_ends() -> None:
    assert (
        len(gate(block(*(member(f"c{n}", inference="see [C1]", constraint="use Cu") for n in range(200)))))
        == MAX_VIOLATIONS
    )


@settings(max_examples=20)
@given(st.sampled_from(["\u200b", "\u2060", "\ufeff", "\u00ad"]), st.integers(0, 5))
def test_invisible_characters_hide_nothing(char: str, place: int) -> None:
    alias = "[C12]"
    assert "kb_alias" in found("inference", f"As {alias[:place]}{char}{alias[place:]} says.")
