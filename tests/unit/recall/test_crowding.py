"""A session that said much of the same does not fill the result."""

import pytest

from phronesis import Memory
from phronesis.core.results import Evidence
from phronesis.recall.scoring.weights import WORDS


def _total(one: Evidence) -> float:
    return sum((one.why or {}).values())


def found_with(crowding: float) -> list[tuple[str, float]]:
    formula = {"provenance": "words alone", "weights": {"coverage": 1.0}, "crowding": crowding}
    policy = {"embedder": "none", "extraction": False, "ranking": {"words": formula}}
    with Memory.open("sqlite://", tenant="t", policy=policy) as memory:
        memory.add("Nobody mends boats in the harbour.", user_id="u", session_id="first")
        memory.add(
            [{"role": "user", "content": f"The harbour has {n} boats."} for n in (3, 5, 7)],
            user_id="u",
            session_id="later",
        )
        found = memory.search("harbour boats", user_id="u", explain=True)
    for one in found:
        ratio = WORDS.score(_total(one)) / WORDS.score(_total(found[0]))
        assert one.score / found[0].score == pytest.approx(ratio, abs=1e-4)
    return [(str(one.item.session_id), round((one.why or {}).get("crowding", 0.0), 6)) for one in found]


def test_of_results_that_are_as_good_one_of_another_session_comes_earlier() -> None:
    assert found_with(0.05) == [("later", 0.0), ("first", 0.0), ("later", -0.05), ("later", -0.1)]


def test_without_crowding_what_was_said_later_stands_first() -> None:
    assert found_with(0.0) == [("later", 0.0), ("later", 0.0), ("later", 0.0), ("first", 0.0)]
