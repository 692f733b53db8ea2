"""What of the evidence found a context shows: what bears on the message, each fact once, until nothing is gained."""

import dataclasses
from datetime import timedelta
from typing import Any

from found_evidence import AT, memory, section
from phronesis.compose.evidence_selection import NEAR, choose_evidence
from phronesis.core.results import Evidence

ASKED = "When does the harbour open?"


def said(
    n: int, text: str, *, strength: float = 1.0, covered: float = 0.5, mentioned: float = 0.0, **fields: Any
) -> Evidence:
    fields = {"kind": "message", "role": "user", **fields}
    one = memory(n, covered, text=text, **fields)
    return dataclasses.replace(one, why={**(one.why or {}), "coverage": strength, "mentioned": mentioned})


def shown(*found: Evidence, asked: str = ASKED, **more: Any) -> list[str]:
    return [one.item.id for one in choose_evidence(found, asked=asked, **more).shown]


def reasons(*found: Evidence, asked: str = ASKED, **more: Any) -> list[str]:
    return [reason for _, reason in choose_evidence(found, asked=asked, **more).left_out]


def test_nothing_is_shown_of_a_store_that_abstains() -> None:
    harbour, manual = said(1, "The harbour opens at nine."), section(1, text="Harbours open at nine.")
    assert shown(harbour, manual, abstaining={"memory", "resources"}) == []
    assert shown(harbour, manual, abstaining={"memory"}) == ["s1"]


def test_a_message_without_content_is_no_evidence() -> None:
    cases: list[str] = ["OK.", "好的", "👍", "…", "Sure, will do."]
    for text in cases:
        found = said(1, text, covered=0.0, strength=9.0)
        assert reasons(found) == ["no content"]


def test_the_question_and_tool_chatter_are_no_evidence() -> None:
    found = [
        said(1, "when does the harbour open"),
        said(2, "harbour open 24h", role="tool"),
        said(3, "The harbour opens at nine."),
    ]
    assert shown(*found) == ["m3"]
    assert reasons(*found) == ["question", "tool"]
    assert shown(*found, tools=True) == ["m2", "m3"]


def test_a_composed_context_that_came_back_is_no_evidence() -> None:
    context = "<memory-123456789>\n[m1] (2026-05-01, user) The harbour opens at nine.\n</memory-123456789>"
    assert reasons(said(1, context)) == ["no content"]


def test_it_stops_where_the_rest_is_much_weaker_whatever_the_scale() -> None:
    cases: list[float] = [0.01, 1.0, 250.0]
    for scale in cases:
        found = [
            said(1, "The harbour opens at nine.", strength=scale),
            said(2, "On Sundays only the northern gate is used.", strength=scale * (NEAR + 0.1)),
            *(said(n, f"Ship number {n} left for Porto.", strength=scale * (NEAR - 0.1)) for n in range(3, 30)),
        ]
        assert shown(*found) == ["m1", "m2"]
        assert set(reasons(*found)) == {"weak"}


def test_what_is_under_the_key_that_is_asked_for_is_shown() -> None:
    ships = [said(n, f"Ship number {n} left for Porto.", strength=5.0) for n in range(3, 30)]
    best, held = (
        said(1, "The harbour opens at nine.", strength=9.0),
        said(2, "On Sundays only the northern gate is used.", strength=9.0 * (NEAR - 0.1)),
    )
    assert shown(best, held, *ships)[:2] == ["m1"]
    assert shown(best, dataclasses.replace(held, why={**(held.why or {}), "key": 0.1}), *ships)[:2] == ["m1", "m2"]


def test_what_holds_more_of_the_question_than_the_best_is_not_weak() -> None:
    found = [
        said(1, "Harbour: opens late.", strength=9.0, covered=0.2, mentioned=1.0),
        said(2, "Correction: the harbour now opens at nine.", strength=9.0 * (NEAR - 0.1), covered=0.3),
        *(said(n, f"Ship number {n} left for Porto.", strength=4.0, covered=0.1) for n in range(3, 30)),
    ]
    assert shown(*found) == ["m1", "m2"]


def test_what_adds_no_new_words_is_left_out() -> None:
    found = [
        said(1, "The harbour opens at nine every day."),
        said(2, "Every day the harbour opens at nine!", strength=0.9),
    ]
    assert (shown(*found), reasons(*found)) == (["m1"], ["nothing new"])


def test_one_fact_in_several_wordings_is_one_line_with_all_citations_and_the_newest_date() -> None:
    later = AT + timedelta(days=3)
    found = [
        said(1, "I prefer aisle seats.", occurred_at=AT),
        said(2, "I prefer aisle seats", occurred_at=later, strength=0.9),
        memory(3, text="I prefer aisle seats", key="prefers", value="aisle seats", kind="preference"),
    ]
    (line,) = choose_evidence(found, asked="Which seat?", origins={"m3": ["m1", "m2"]}).shown
    assert {line.item.id, *line.same} == {"m1", "m2", "m3"}
    assert line.item.occurred_at == later


def test_a_message_that_only_asks_is_no_evidence() -> None:
    found = [
        said(1, "Is the harbour open today? And tomorrow?"),
        said(2, "港口几点开门？"),
        said(3, "Is the harbour shut? It opens at nine."),
    ]
    assert shown(*found) == ["m3"]
    assert reasons(*found) == ["question", "question"]
