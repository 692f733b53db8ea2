"""Claims: arithmetic decides verdicts, FACTS are bounded, a block is read leniently and checked strictly."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.errors import InputError
from phronesis.reasoning.laws.block_format import claim_text, core_sentence, member_of, parse, prose_of, render, told
from phronesis.reasoning.laws.block_rules import Unreadable, leaves, read_draft, read_json, structure_violations
from phronesis.reasoning.laws.claim_status import (
    CLAIMS_FOLD,
    current_block,
    described,
    holds,
    limitation_from,
    measured,
    plain_limitation,
    rewritten,
    standings,
    status_of,
    verdict,
    written_of,
    written_state,
)
from phronesis.reasoning.laws.facts import FactsView, GenericFacts, excerpt, mistakes_of_test, summary_of, top_products
from phronesis.reasoning.laws.records import (
    Claim,
    Feedback,
    Product,
    ReasoningBlock,
    Run,
    Tally,
    checked_feedback,
    checked_run,
    folded_name,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EPSILON = 1e-10


def claim(name: str = "c1", **given: Any) -> Claim:
    return Claim(
        **{"claim_id": name, "status": "hypothesis", "facts": {"source_run_ids": ["r"]}, "inference": "x", **given}
    )


def view(run: str = "r", **values: float | None) -> FactsView:
    products = tuple(Product(name=name, value=value, fraction=0.25) for name, value in values.items())
    return FactsView(run_id=run, named={"M1": "Cu", "modifier": "KI"}, numbers={"ratio": 3.0}, products=products)


# Verdicts.


@pytest.mark.parametrize(
    ("op", "less", "same", "more"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
        ("==", False, True, False),
        ("!=", True, False, True),
    ],
)
def test_numbers_within_the_tolerance_are_equal(op: Any, *, less: bool, same: bool, more: bool) -> None:
    assert (holds(1, op, 2), holds(1 + EPSILON, op, 1), holds(2, op, 1)) == (less, same, more)
    assert holds(1 + 1e-8, op, 1) is more
    assert holds(0.0, op, 1e-300) is less


def test_a_metric_is_the_sum_of_all_products_or_one_products_number() -> None:
    run = view(CO=1.5, H2=2.0, CH4=None)
    assert measured(run, "activity") == 3.5
    assert measured(run, "value", "ｃｏ") == 1.5
    assert measured(run, "fraction", "CO") == 0.25
    assert measured(run, "value", "CH4") is None
    assert measured(run, "value", "other") is None
    assert measured(view(CH4=None), "activity") is None


def test_a_run_is_described_by_what_it_states() -> None:
    run = view()
    assert described({}, run)
    assert described({"M1": "cu", "small_molecule_modifier": "ki"}, run)
    assert described({"ratio": {"op": ">=", "value": 3}}, run)
    assert not described({"ratio": {"op": ">", "value": 3}}, run)
    assert not described({"M1": "Zn"}, run)
    assert not described({"M2": "Cu"}, run)
    assert not described({"ratio": {"op": ">", "value": 0}}, FactsView(run_id="r"))
    assert not described({"ratio": {"op": ">=", "value": 3}, "M1": "Zn"}, run)


def test_a_verdict_compares_with_a_value_or_with_the_mean_of_earlier_runs() -> None:
    test = {"metric": "value", "product": "CO", "op": ">", "value": 1}
    assert verdict(test, view(CO=2)) == "support"
    assert verdict(test, view(CO=1)) == "contra"
    assert verdict(test, view(H2=1)) == "irrelevant"
    assert verdict({**test, "given": {"M1": "Zn"}}, view(CO=2)) == "irrelevant"
    versus = {"metric": "value", "product": "CO", "op": ">", "versus": {"M1": "Cu"}}
    earlier = [view("a", CO=1.0), view("b", CO=3.0), view("c", H2=9.0), view("r", CO=99.0), FactsView(run_id="z")]
    assert verdict(versus, view(CO=2.1), earlier) == "support"
    assert verdict(versus, view(CO=2.0), earlier) == "contra"
    assert verdict(versus, view(CO=2.1)) == "irrelevant"


# Status.


def item(block: ReasoningBlock, **standing: Any) -> Item:
    data = {**written_of(block), "standing": standing}
    return Item(
        id="i", kind="reasoning", content="x", entry_id="e", recorded_at=NOW, updated_at=NOW, data=data
    )  # fmt: skip


def row(polarity: Any, run: str, part: str = "c1") -> EvidenceRow:
    return EvidenceRow(item_id="i", polarity=polarity, source_key=run, entry_id="e", recorded_at=NOW, part=part)


def test_a_status_is_a_fold_over_written_and_learned_runs() -> None:
    written = claim(support=Tally(count=3, run_ids=("a",)), contra=Tally(count=1, run_ids=()))
    state = written_state(written)
    assert (state.unnamed_support, state.unnamed_contra, state.support) == (2, 1, ("a",))
    counted = standings(
        [claim()], [row("support", "a"), row("support", "b"), row("source", "c"), row("contra", "d", "x")]
    )
    assert counted == {
        "c1": {
            "status": "conclusion",
            "support": {"count": 2, "run_ids": ["a", "b"]},
            "contra": {"count": 0, "run_ids": []},
        }
    }


def test_a_current_block_has_the_folded_states() -> None:
    standing = {
        "status": "conclusion",
        "support": {"count": 2, "run_ids": ["a"]},
        "contra": {"count": 1, "run_ids": []},
    }
    block = ReasoningBlock(topic="t", claims=(claim(), claim("c2")))
    held = item(block, c1=standing)
    first, second = current_block(held).claims
    assert (first.status, first.support.count, first.contra.count) == ("conclusion", 2, 1)
    assert second == claim("c2")
    assert (status_of(held, "c1"), status_of(held, "c9")) == ("conclusion", "")
    assert rewritten(held, current_block(held)) == {}
    changed = rewritten(held, ReasoningBlock(topic="t", claims=(claim(inference="y"), claim("c2"))))
    assert set(changed) == {"data.claims"}
    assert [one["support"]["count"] for one in changed["data.claims"]] == [0, 0]
    kept = rewritten(held, ReasoningBlock(topic="u", claims=current_block(held).claims))
    assert kept == {"data.topic": "u"}


def test_the_fold_writes_states_text_and_scope_whatever_the_order_of_members() -> None:
    written = item(
        ReasoningBlock(topic="t", scope="s", claims=(claim(facts={"source_run_ids": ["r"], "b": [{"d": 1, "c": 2}]}),))
    )
    folded = CLAIMS_FOLD(written, [row("contra", "a"), row("support", "b")])
    assert (folded.label, folded.data["standing"]["c1"]["contra"]["count"]) == ("s", 1)
    assert parse(folded.content).claims[0].support == Tally(count=1, run_ids=("b",))
    assert '"facts":{"b":[{"c":2,"d":1}],"source_run_ids":["r"]}' in folded.content


def test_an_edit_that_changes_one_count_starts_the_claim_anew() -> None:
    standing = {
        "status": "hypothesis",
        "support": {"count": 1, "run_ids": ["a"]},
        "contra": {"count": 1, "run_ids": ["b"]},
    }
    held = item(ReasoningBlock(claims=(claim(),)), c1=standing)
    [shown] = current_block(held).claims
    edited = replace(shown, contra=Tally(count=2, run_ids=("b",)))
    [stored] = rewritten(held, ReasoningBlock(claims=(edited,)))["data.claims"]
    assert (stored["support"]["count"], stored["contra"]["count"]) == (1, 2)


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
    assert plain_limitation(claim(), 1) == "Not held in 1 run."
    assert plain_limitation(claim(), 2) == "Not held in 2 runs."
    assert plain_limitation(claim(conditions=("铜",)), 2) == "在 2 次运行中不成立。"


# FACTS.


def test_the_largest_products_are_listed_and_texts_are_cut() -> None:
    many = [Product(name=f"p{n}", value=float(n)) for n in range(12)]
    assert [one.name for one in top_products(many)] == [f"p{n}" for n in range(11, 3, -1)]
    ties = [Product(name="b"), Product(name="a"), Product(name="c", fraction=0.5), Product(name="d", value=0.0)]
    assert [one.name for one in top_products(ties)] == ["d", "c", "a", "b"]
    assert excerpt(" abcd ", 4) == "abcd"
    assert excerpt("abcde", 4) == "abc…"
    assert excerpt("ab cde", 4) == "ab…"


def test_generic_facts_keep_the_scalar_fields_of_a_run() -> None:
    output = {"name": " x ", "flag": True, "count": 3, "list": [1], "raw": "no", "empty": " "}
    run = Run(run_id="r", output=output, raw="r" * 1001, trace={"final_output": {"count": 1, "more": 0.5}})
    feedback = Feedback(products=(Product(name="CO", value=2.0, fraction=0.5),), pros="p" * 501)
    facts = GenericFacts().facts(run, feedback)
    assert facts.run_output["raw"] == "r" * 999 + "…"
    assert {name: facts.run_output[name] for name in ("count", "more", "flag")} == {
        "count": 3,
        "more": 0.5,
        "flag": True,
    }
    assert "list" not in facts.run_output
    assert facts.feedback_text["pros"] == "p" * 499 + "…"
    assert facts.to_json()["source_run_ids"] == ["r"]
    assert facts.activity_total_value == 2.0
    seen = GenericFacts().view(run, feedback)
    assert (seen.named, seen.numbers, seen.label) == ({"name": "x"}, {"count": 3.0, "more": 0.5}, "name x")
    summary = GenericFacts().summary(facts)
    assert summary.startswith(
        "count 3, more 0.5, name x, flag True, empty \nCO 2 (fraction 0.5)\ntotal activity 2\nppp"
    )
    bare = GenericFacts().facts(Run(raw="only raw"), Feedback())
    assert GenericFacts().summary(bare) == "only raw"
    assert "raw" not in GenericFacts().facts(Run(raw=" ", output={"a": 1}), Feedback()).run_output
    wide = Run(output={f"f{n}": "v" * 201 for n in range(21)})
    kept = GenericFacts().facts(wide, Feedback()).run_output
    assert (len(kept), kept["f0"]) == (20, "v" * 199 + "…")
    assert len(GenericFacts().view(wide, Feedback()).label) == 200
    assert len(summary_of(facts, "l" * 2000)) == 1000


@pytest.mark.parametrize(
    ("changed", "mistakes"),
    [
        ({}, 0),
        ({"metric": "other"}, 1),
        ({"metric": "activity", "product": None}, 0),
        ({"metric": "activity"}, 1),
        ({"product": " "}, 1),
        ({"op": "="}, 1),
        ({"value": None}, 1),
        ({"value": True}, 1),
        ({"value": None, "versus": {"M1": "x"}}, 0),
        ({"versus": {"M1": "x"}}, 1),
        ({"value": None, "versus": {}}, 1),
        ({"given": []}, 1),
        ({"given": {"M1": "", "M3": 1}}, 2),
        ({"given": {"modifier": "a", "small_molecule_modifier": "a"}}, 1),
        ({"given": {"ratio": {"op": ">", "value": 1}}}, 0),
        ({"given": {"ratio": {"op": ">"}}}, 1),
        ({"given": {"ratio": {"op": "=", "value": 1}}}, 1),
        ({"given": {"ratio": 1}}, 1),
    ],
)
def test_a_test_must_be_able_to_judge_a_run(changed: dict[str, Any], mistakes: int) -> None:
    test = {"metric": "value", "product": "CO", "op": ">", "value": 1, **changed}
    assert len(list(mistakes_of_test(test))) == mistakes
    assert len(list(mistakes_of_test([]))) == 1


# Blocks.


def block(*claims: Any, head: str = "RBMEM_CLAIMS_V1\nTOPIC=t\n", tail: str = "") -> str:
    return f"{head}CLAIMS_JSON={json.dumps(list(claims))}{tail}"


def rules(text: str) -> list[tuple[str, int | None]]:
    return [(found.rule, found.line) for found in structure_violations(read_draft(text))]


GOOD: dict[str, Any] = {"claim_id": "c", "status": "fact", "facts": {"source_run_ids": ["r"]}, "inference": "x"}


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ({}, []),
        ({"status": "Fact"}, ["claim_status"]),
        ({"claim_id": ""}, ["claim_fields"]),
        ({"facts": None}, ["facts_missing"]),
        ({"facts": []}, ["facts_missing"]),
        ({"facts": {"source_run_ids": []}}, ["facts_missing"]),
        ({"facts": {"source_run_ids": ["r", ""]}}, ["facts_missing"]),
        ({"facts": {"source_run_ids": "r"}}, ["facts_missing"]),
        ({"inference": " "}, ["claim_fields"]),
        ({"inference": "", "constraint": "x"}, []),
        ({"inference": 7, "constraint": "x"}, ["claim_fields"]),
        ({"conditions": ["a"], "limitations": None}, []),
        ({"conditions": ["a", ""]}, ["claim_fields"]),
        ({"conditions": "a"}, ["claim_fields"]),
        ({"allow_positive": 1}, ["claim_fields"]),
        ({"support": {"count": 1, "run_ids": ["r"]}}, []),
        ({"support": {"count": 2, "run_ids": ["r", "r"]}}, ["tallies"]),
        ({"support": {"count": 0, "run_ids": ["r"]}}, ["tallies"]),
        ({"contra": {"count": True}}, ["tallies"]),
        ({"contra": {"count": 0}}, []),
        ({"contra": {"count": 0, "run_ids": "r"}}, ["tallies"]),
        ({"contra": [1]}, ["tallies"]),
        ({"test": {}}, ["claim_test"] * 4),
        ({"test": {"metric": "activity", "op": ">", "value": 1}}, []),
    ],
)
def test_each_structure_rule_finds_its_violation(changed: dict[str, Any], broken: list[str]) -> None:
    assert [rule for rule, _ in rules(block({**GOOD, **changed}))] == broken


def test_a_block_has_at_most_ten_claims_with_ids_of_their_own() -> None:
    ten = [{**GOOD, "claim_id": f"c{n}"} for n in range(10)]
    assert rules(block(*ten)) == []
    assert rules(block(*ten, GOOD)) == [("claims_limit", 3)]
    assert rules(block(GOOD, GOOD)) == [("claim_id_unique", 3)]
    assert rules(block(7, GOOD)) == [("claim_fields", 3)]
    assert len(rules(block(*[7] * 200))) == 100
    assert rules(block()) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (block(GOOD), []),
        ("\ufeff" + block(GOOD).replace("\n", "\r\n"), []),
        (block(GOOD, head="OTHER\n"), [1]),
        (block(GOOD, head="TOPIC=t\n"), [1]),
        ("RBMEM_CLAIMS_V1", [None]),
        (block(GOOD, head="RBMEM_CLAIMS_V1\nTOPIC=a\nTOPIC=b\n"), [3]),
        (block(GOOD, head="RBMEM_CLAIMS_V1\ntopic=a\n"), [2]),
        (block(GOOD, head="RBMEM_CLAIMS_V1\nTOPIC＝a\n"), [2]),
        (block(GOOD, head="RBMEM_CLAIMS_V1\n1KEY=a\n"), [2]),
        (block(GOOD, head="RBMEM_CLAIMS_V1\nTOPIC=a\x07\n"), [2]),
        (block(GOOD, head=f"RBMEM_CLAIMS_V1\n{'K' * 64}=a\n"), []),
        (block(GOOD, head=f"RBMEM_CLAIMS_V1\n{'K' * 65}=a\n"), [2]),
        (block(GOOD, tail="\n]"), [3 + 1]),
        ("RBMEM_CLAIMS_V1\nCLAIMS_JSON={}", [2]),
        ("RBMEM_CLAIMS_V1\nCLAIMS_JSON=[", [2]),
    ],
)
def test_a_block_is_read_as_far_as_possible(text: str, lines: list[int | None]) -> None:
    assert [line for rule, line in rules(text) if rule == "protocol"] == lines


def test_long_and_hopeless_blocks_are_not_read_to_the_end() -> None:
    padded = block(GOOD, tail="\n" + " " * 1_000_000)
    assert rules(padded[:1_000_000]) == []
    assert [rule for rule, _ in rules(padded[:1_000_001])] == ["protocol"]
    assert len(rules("RBMEM_CLAIMS_V1\n" + "?\n" * 300)) == 100
    two = read_draft(block(GOOD, tail="\n]\n]"))
    assert "lines from 4 on are" in two.mistakes[0].message
    assert "line 4 is" in read_draft(block(GOOD, tail="\n]")).mistakes[0].message


def test_json_is_strict_and_bounded() -> None:
    deepest = next(depth for depth in range(1, 999) if not _readable("[" * depth + "]" * depth))
    assert _readable("[" * (deepest - 1) + "]" * (deepest - 1) + " ")
    assert _readable(json.dumps("[" * 2 * deepest))
    assert _readable("[[],[],[]" + ",{}" * 2 * deepest + "]")
    for bad in ("NaN", '{"a":1,"a":2}', '"\\u0000"', "1e999", str(1 << 63), str(-(1 << 63)), "9" * 9999, "[1"):
        assert not _readable(bad), bad
    for good in (str((1 << 63) - 1), str(1 - (1 << 63)), "1e308", '{"a":1,"b":1}'):
        assert _readable(good), good
    assert list(leaves({"a": [1, {"b": None}], "c": True})) == ["a", 1, "b", None, "c", True]
    with pytest.raises(Unreadable, match="character 2"):
        read_json("[")


def _readable(text: str) -> bool:
    try:
        read_json(text)
    except Unreadable:
        return False
    return True


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
    assert told(parsed) == "t\nc (fact, 2 for and 0 against): x k (conditions: d) (limitations: l)"
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


# Runs and feedback.


def refused(check: Any, given: Any) -> str | None:
    try:
        check(given)
    except InputError as error:
        return error.field
    return None


def test_a_run_says_which_member_is_wrong() -> None:
    assert folded_name(" Ｃｏ‐  x ") == "co- x"
    for given, field in [
        ({"raw": "x"}, None),
        ({"output": {"a": 1}}, None),
        ({}, "run.output"),
        ({"raw": " "}, "run.output"),
        ({"output": "x"}, "run.output"),
        (7, "run"),
        ({"raw": "x", "memory_ids": "m"}, "run.memory_ids"),
        ({"raw": "x", "memory_ids": ["m", ""]}, "run.memory_ids[1]"),
        ({"raw": "x", "memory_ids": ["m"] * 10_000}, None),
        ({"raw": "x", "memory_ids": ["m"] * 10_001}, "run.memory_ids"),
    ]:
        assert refused(checked_run, given) == field, given
    run = checked_run({"raw": "x", "memory_ids": ["a", "a"], "more": 1, "run_id": "r"})
    assert (run.memory_ids, run.extra, run.to_json()["run_id"]) == (("a",), {"more": 1}, "r")
    assert "run_id" not in checked_run({"raw": "x"}).to_json()
    assert checked_run({"output": {"a": None, "b": 1}, "trace": {"final_output": {"a": 2}}}).fields() == {
        "a": 2,
        "b": 1,
    }


def test_feedback_says_which_product_is_wrong() -> None:
    def products(*given: Any) -> dict[str, Any]:
        return {"products": list(given)}

    for given, field in [
        ({}, None),
        (products({"name": "a", "value": 0}), None),
        (products({"name": "a", "value": -1}), "feedback.products[0].value"),
        (products({"name": "a", "fraction": True}), "feedback.products[0].fraction"),
        (products({"name": "a", "value": float("nan")}), "feedback.products[0].value"),
        (products({"name": "a", "value": 10**400}), "feedback.products[0].value"),
        (products({"name": "a"}, {"name": "Ａ"}), "feedback.products[1].name"),
        ({"products": "a"}, "feedback.products"),
        (products(*({"name": str(n)} for n in range(1000))), None),
        (products(*({"name": str(n)} for n in range(1001))), "feedback.products"),
        ({"pros": 7}, "feedback.pros"),
    ]:
        assert refused(checked_feedback, given) == field, field
    feedback = checked_feedback({"products": [{"name": " a ", "value": 1, "x": 2}], "pros": "p", "y": 3})
    assert feedback.products == (Product(name="a", value=1.0, extra={"x": 2}),)
    assert feedback.to_json() == {
        "products": [{"name": "a", "value": 1.0, "fraction": None, "x": 2}],
        "pros": "p",
        "cons": "",
        "other": "",
        "y": 3,
    }
    assert feedback.total() == 1.0
    assert Feedback(products=(Product(name="a"),)).total() is None
