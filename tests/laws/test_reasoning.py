"""Claims: arithmetic decides verdicts, FACTS are bounded, a block is read leniently and checked strictly."""

import json
from datetime import UTC, datetime
from typing import Any

from phronesis.reasoning.claim_effects import limitation_from
from phronesis.reasoning.laws.block_rules import read_draft, structure_violations
from phronesis.reasoning.laws.claim_status import (
    claim_text,
    core_sentence,
    member_of,
    parse,
    prose_of,
    readable_block,
    render,
)
from phronesis.reasoning.laws.facts import FactsView
from phronesis.reasoning.laws.records import Claim, Product

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claim(name: str = "c1", **given: Any) -> Claim:
    return Claim(
        **{"claim_id": name, "status": "hypothesis", "facts": {"source_run_ids": ["r"]}, "inference": "x", **given}
    )


def view(run: str = "r", **values: float | None) -> FactsView:
    products = tuple(Product(name=name, value=value, fraction=0.25) for name, value in values.items())
    return FactsView(run_id=run, named={"M1": "Cu", "modifier": "KI"}, numbers={"ratio": 3.0}, products=products)


# Limitations.


def test_a_limitation_names_the_last_three_runs_and_counts_the_others() -> None:
    runs = [view(name, CO=n) for n, name in enumerate("abcde")]
    test = {"metric": "value", "product": "CO"}
    text = limitation_from(claim(), runs, test)
    assert text == "Not held in run c: value of CO 2; in run d: value of CO 3; in run e: value of CO 4; and in 2 more."
    assert limitation_from(claim(), runs[:3]) == "Not held in run a; in run b; in run c."
    assert limitation_from(claim(), runs[1:2], {"metric": "activity"}) == "Not held in run b: total activity 1."
    chinese = limitation_from(claim(inference="铜"), runs[:4], {"metric": "fraction", "product": "CO"})
    assert chinese.startswith("在运行 b 中不成立：CO 的占比为 0.25；")
    assert chinese.endswith("；另有 1 次运行。")
    named = FactsView(run_id="[C1]" + "x" * 80, label="Cu, Zn")
    assert limitation_from(claim(), [named]) == f"Not held in run (C1){'x' * 55}… (Cu, Zn)."
    assert limitation_from(claim(inference="铜"), [named]).endswith("（Cu，Zn）中不成立。")
    assert limitation_from(claim(inference="铜"), runs[:1], {"metric": "activity"}) == "在运行 a 中不成立：总活性为 0。"
    zinc = [FactsView(run_id="a", products=(Product(name="锌", value=1.0),))]
    assert "：锌的数值为 1" in limitation_from(claim(inference="铜"), zinc, {"metric": "value", "product": "锌"})
    own = claim(test={"metric": "activity"})
    assert limitation_from(own, runs[:1]) == "Not held in run a: total activity 0."


# Blocks.


def block(*claims: Any, head: str = "RBMEM_CLAIMS_V1\nTOPIC=t\n", tail: str = "") -> str:
    return f"{head}CLAIMS_JSON={json.dumps(list(claims))}{tail}"


def rules(text: str) -> list[tuple[str, int | None]]:
    return [(found.rule, found.line) for found in structure_violations(read_draft(text))]


GOOD: dict[str, Any] = {"claim_id": "c", "status": "fact", "facts": {"source_run_ids": ["r"]}, "inference": "x"}


def test_long_and_hopeless_blocks_are_not_read_to_the_end() -> None:
    padded = block(GOOD, tail="\n" + " " * 1_000_000)
    assert rules(padded[:1_000_000]) == []
    assert [rule for rule, _ in rules(padded[:1_000_001])] == ["protocol"]
    assert len(rules("RBMEM_CLAIMS_V1\n" + "?\n" * 300)) == 100
    two = read_draft(block(GOOD, tail="\n]\n]"))
    assert "lines from 4 on are" in two.mistakes[0].message
    assert "line 4 is" in read_draft(block(GOOD, tail="\n]")).mistakes[0].message


def test_a_block_comes_back_as_it_was_written() -> None:
    full = {
        **GOOD,
        "constraint": "k\u2028",
        "allow_positive": True,
        "exception_reason": "why",
        "conditions": ["d"],
        "limitations": ["l"],
        "support": {"count": 2, "run_ids": ["r"], "more": 1},
        "contra": {"count": 0, "run_ids": []},
        "test": {"metric": "activity", "op": ">", "value": 1},
        "other": 1,
    }
    parsed = parse(block(full, head="RBMEM_CLAIMS_V1\nTOPIC=t\nSCOPE=s\nX=y\n"))
    assert member_of(parsed.claims[0]) == full
    assert parsed.extra == (("X", "y"),)
    assert parse(render(parsed)) == parsed
    assert "\\u2028" in render(parsed)
    assert prose_of(parsed) == "t\nx\nk"
    assert readable_block(parsed) == "t\nc (fact, 2 for and 0 against): x k (conditions: d) (limitations: l)"
    bare = member_of(parse(block(GOOD)).claims[0])
    assert "allow_positive" not in bare
    assert "test" not in bare


def test_the_searched_text_of_a_claim_is_its_first_sentence_and_short_conditions() -> None:
    assert claim_text(claim(inference="One, e.g. this. Two.", conditions=("a", "b"))) == "One, e.g. this.\na; b"
    assert claim_text(claim(inference="", constraint="Only. This.")) == "Only."
    assert core_sentence("一。二。") == "一。"
    assert core_sentence("x" * 400) == "x" * 400
    assert core_sentence("x" * 401) == "x" * 399 + "…"
    assert claim_text(claim(conditions=("y" * 200,))).endswith("\n" + "y" * 200)
    assert claim_text(claim(conditions=("y" * 201,))).endswith("\n" + "y" * 199 + "…")
