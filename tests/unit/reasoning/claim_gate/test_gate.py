"""Each rule refuses what it must by its name, and look-alikes pass, in both languages."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.reasoning.claim_gate import RULES, gate, strip_aliases
from phronesis.reasoning.laws.block_rules import STRUCTURE, read_draft
from unit.core.blocks import block, member

TABLE = tomllib.loads((Path(__file__).parent / "examples.toml").read_text("utf-8"))
EXAMPLES = [
    (row["rule"], row["field"], value, key == "passes")
    for row in TABLE["examples"]
    for key in ("passes", "fails")
    for value in row[key]
]
NAMES = [rule.__name__ for rule in RULES]
IN_LISTS = ("conditions", "limitations")


def breaks(rule: str, field: str, value: Any) -> bool:
    """Whether a value breaks a rule in a field of an otherwise lawful block. No other rule is asked: one encodes."""
    status = "active"
    if field == "block":
        text = value
    elif field == "topic":
        text = block(member(), topic=value)
    elif field == "claims":
        text = block(*(member(f"c{n}") for n in range(value)))
    elif field == "claim_ids":
        text = block(*map(member, value))
    elif field == "item_status":
        text, status = block(member()), value
    elif field in IN_LISTS and isinstance(value, str) and value not in ("pH above 7", "可见光"):
        text = block(member(**{field: [value]}))
    else:
        text = block(member(**{field: value}))
    [judge] = [one for one in RULES if one.__name__ == rule]
    draft = read_draft(text)
    draft.item_status = status
    return any(judge(draft))


WORDED = {"next_step": (0.8, 0.92), "positive_constraint": (0.85, 0.98)}
"""Shares of the examples that a rule of wording refuses and lets pass; every other rule is exact."""


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_refuses_its_examples_and_passes_look_alikes(name: str) -> None:
    examples = [(field, value, lawful) for rule, field, value, lawful in EXAMPLES if rule == name]
    if name in WORDED:
        examples = examples[::8]  # each is read by the encoder
    right = [(lawful, breaks(name, field, value) is not lawful) for field, value, lawful in examples]
    for lawful, least in zip((False, True), WORDED.get(name, (1.0, 1.0)), strict=True):
        judged = [one for kind, one in right if kind is lawful]
        assert sum(judged) >= least * len(judged), f"{name}: {sum(judged)} of {len(judged)}"


def test_a_violation_names_its_place() -> None:
    text = block(member("c1"), member("c2", limitations=["dry", "see [C3]"]), more="NOTE=as [C4]\n")
    note, claim = gate(text)
    assert (note.rule, note.line, note.key, note.claim_id) == ("kb_alias", 3, "NOTE", None)
    assert (claim.rule, claim.line, claim.key, claim.claim_id) == ("kb_alias", 4, "CLAIMS_JSON", "c2")
    assert claim.message.startswith("limitations[1] holds '[c3]'")
    [topic] = gate(block(member(), topic="What to try next: Zr"))
    assert (topic.rule, topic.line, topic.key) == ("next_step", 2, "TOPIC")


def test_an_alias_is_found_wherever_it_stands() -> None:
    cases = [
        block(member(), more="NOTE=[C1]\n"),
        block(member(test={"metric": "activity", "op": ">", "value": 1, "of": "[C1]"})),
        block(member(conditions=["[C1]"])),
        block(member(notes={"deep": [["[C1]"]]})),
        block("[C1]"),
        "words of [C1]",
        block(member()) + "\nof [C1]",
    ]
    for text in cases:
        assert "kb_alias" in {violation.rule for violation in gate(text)}, text


def test_facts_quote_what_people_want_next() -> None:
    said = {"source_run_ids": ["r1"], "feedback_text": {"other": "Next, try 3:1. 下一步试试Zr。 Always use Cu."}}
    assert gate(block(member(facts=said))) == []
    assert [violation.rule for violation in gate(block(member(notes={"a": ["Next, try 3:1."]})))] == ["next_step"]
    assert [violation.rule for violation in gate(block(member(), more="NOTE=下一步试试Zr。\n"))] == ["next_step"]


def test_a_positive_constraint_is_an_exception_with_a_reason() -> None:
    cases: list[tuple[object, object, bool]] = [
        (True, "asked for by the user", True),
        (True, "用户指定", True),
        (True, "", False),
        (True, "n/a", False),
        (True, None, False),
    ]
    for allowed, reason, lawful in cases:
        for fields in ({"constraint": "must use Cu"}, {"inference": "prefer[imidazole]"}):
            text = block(member(allow_positive=allowed, exception_reason=reason, **fields))
            assert [violation.rule for violation in gate(text)] == ([] if lawful else ["positive_constraint"]), allowed


def test_aliases_are_taken_out_of_what_people_said() -> None:
    assert strip_aliases("As [C12] says,［C３］too; [Cu(NH3)4]2+ stays.") == "As  says,too; [Cu(NH3)4]2+ stays."
    assert strip_aliases("İ [C1]ﬁ") == "İ fi"
    assert strip_aliases("Ｃｕ 见[C2H4]") == "Ｃｕ 见[C2H4]"
    quoting = {"source_run_ids": ["r1"], "raw": strip_aliases("见[C3]、【C7】和[C1,C2]")}
    assert gate(block(member(facts=quoting))) == []


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_can_be_judged(text: str, status: str) -> None:
    names = {violation.rule for violation in gate(text, status)}
    assert names <= set(NAMES)
    assert names & {rule.__name__ for rule in STRUCTURE}


HOSTILE = ("[c1,", "is recommended", "避免")


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear(piece: str) -> None:
    def saying(length: int) -> str:
        said = repeated(piece)(length)
        return block(member(inference=said, constraint=said))

    assert_linear(gate, saying, 32_000)


@settings(max_examples=20)
@given(st.sampled_from(["\u200b", "\u2060", "\ufeff", "\u00ad"]), st.integers(0, 5))
def test_invisible_characters_hide_nothing(char: str, place: int) -> None:
    alias = "[C12]"
    assert breaks("kb_alias", "inference", f"As {alias[:place]}{char}{alias[place:]} says.")
