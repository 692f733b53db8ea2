"""What rules propose of the sentences that people wrote about a run."""

from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.laws.block_format import parse
from phronesis.reasoning.laws.facts import FactsView
from phronesis.reasoning.laws.records import Claim, Feedback
from phronesis.reasoning.learn_candidates import propose_by_rules

VIEW = FactsView(run_id="r1", label="Cu–Zn 3:1", named={"M1": "Cu", "M2": "Zn", "colour": "red"})


def claims(feedback: Feedback, view: FactsView = VIEW, known: tuple[Claim, ...] = ()) -> list[Claim]:
    made = propose_by_rules(feedback, view, known)
    assert all(gate(one.content) == [] for one in made)
    return [claim for one in made for claim in parse(one.content).claims]


def test_what_states_no_comparison_is_none() -> None:
    cases: list[str] = [
        "",
        "gas bags tight",
        "signal drift in the second hour",
        "活性明显下降",
        "未检出 H2",
        "Is the selectivity of formate at least 0.6?",
    ]
    for text in cases:
        assert claims(Feedback(pros=text, cons=text)) == [], text


def test_a_comparison_becomes_a_hypothesis_about_such_runs() -> None:
    [one] = claims(Feedback(other="It smelt. The selectivity of formate [C2] is at least 0.6."))
    assert "[C2]" not in one.inference
    assert (one.status, one.conditions) == ("hypothesis", ("Cu–Zn",))
    assert one.test is not None
    assert one.test["given"] == {"M1": "Cu", "M2": "Zn"}


def test_what_it_names_itself_is_not_narrowed() -> None:
    [one] = claims(Feedback(pros="With Cu–Ag the total activity is at least 6."))
    assert one.conditions == ()
    assert one.test is not None
    assert one.test["given"] == {"M1": "Cu", "M2": "Ag"}


def test_the_same_is_not_proposed_twice() -> None:
    said = Feedback(pros="The total activity is at least 6.", cons="the  total activity IS at least 6")
    [one] = claims(said)
    assert claims(said, known=(one,)) == []
