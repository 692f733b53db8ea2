"""What code writes when a conclusion falls back: facts alone, in the claim's language."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.laws.claim_status import MAX_NAME, limitation_from
from phronesis.reasoning.laws.facts import FactsView
from phronesis.reasoning.laws.records import Claim, Product

TEST = {"metric": "fraction", "product": "formate", "op": ">=", "value": 0.6}
ENGLISH = Claim(claim_id="c1", status="conclusion", facts={}, inference="Formate is at least 0.6.", test=TEST)
CHINESE = Claim(claim_id="c1", status="conclusion", facts={}, inference="甲酸占比不低于 0.6。")


def run(run_id: str, share: float | None = 0.41, label: str = "Cu–Zn 3:1, imidazole") -> FactsView:
    return FactsView(run_id=run_id, label=label, products=(Product(name="formate", value=2.0, fraction=share),))


def test_english() -> None:
    assert limitation_from(ENGLISH, [run("rb-run-13")]) == (
        "Not held in run rb-run-13 (Cu–Zn 3:1, imidazole): fraction of formate 0.41."
    )
    assert limitation_from(ENGLISH, [run("a", label=""), run("b", None)]) == (
        "Not held in run a: fraction of formate 0.41; in run b (Cu–Zn 3:1, imidazole)."
    )
    assert limitation_from(ENGLISH, [run("a")], {"metric": "activity", "op": ">", "value": 9}) == (
        "Not held in run a (Cu–Zn 3:1, imidazole): total activity 2."
    )


def test_no_alias_comes_in_by_a_name() -> None:
    said = limitation_from(ENGLISH, [run("[C12]", label="Cu [C3]\n【C4】")])
    assert said == "Not held in run (C12) (Cu (C3) (C4)): fraction of formate 0.41."


@given(st.text(max_size=400), st.text(max_size=400), st.sampled_from([ENGLISH, CHINESE]))
@pytest.mark.parametrize("test", [TEST, None])
def test_it_is_one_short_line_without_brackets(
    test: dict[str, object] | None, name: str, label: str, claim: Claim
) -> None:
    said = limitation_from(claim, [run(name, label=label)], test)
    assert said == limitation_from(claim, [run(name, label=label)], test)
    assert not re.search(r"[\[\]\n\r【】]", said)
    assert len(said) < 3 * MAX_NAME + 80


def test_chinese() -> None:
    assert limitation_from(CHINESE, [run("rb-run-13")], {**TEST, "product": "FORMATE"}) == (
        "在运行 rb-run-13（Cu–Zn 3:1，imidazole）中不成立：FORMATE 的占比为 0.41。"
    )
    assert limitation_from(CHINESE, [run("a", label="")], {**TEST, "metric": "value"}) == (
        "在运行 a 中不成立：formate 的数值为 2。"
    )
    assert limitation_from(CHINESE, [run("a")], {"metric": "activity", "op": ">", "value": 9}) == (
        "在运行 a（Cu–Zn 3:1，imidazole）中不成立：总活性为 2。"
    )
    assert limitation_from(CHINESE, [run("a")]) == "在运行 a（Cu–Zn 3:1，imidazole）中不成立。"
