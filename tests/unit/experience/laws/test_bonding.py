"""Merges and splits as pairs of events: few, free of contradictions, and what was said last holds."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.clustering import PairConstraints
from phronesis.experience.laws.feedback_weights import ImpliedPairs, link_events, resolve_pairs, separate_parts

IDS = [f"e{n}" for n in range(8)]
SOME = st.lists(st.sampled_from(IDS), min_size=2, unique=True)
SAID = st.lists(st.tuples(st.booleans(), SOME, st.integers(1, 7)), max_size=5)


def parts_of(ids: list[str], cut: int) -> list[list[str]]:
    place = min(cut, len(ids) - 1)
    return [ids[:place], ids[place:]]


def said(history: list[tuple[bool, list[str], int]]) -> ImpliedPairs:
    drawn = ImpliedPairs()
    for together, ids, cut in history:
        drawn = link_events(ids, drawn) if together else separate_parts(parts_of(ids, cut), drawn)
    return drawn


def agrees(drawn: ImpliedPairs) -> bool:
    part_of = drawn.part_of()
    return all(part_of[one] != part_of[other] for one, other in drawn.apart)


@given(history=SAID, ids=SOME)
def test_what_was_merged_last_is_together(history: list[tuple[bool, list[str], int]], ids: list[str]) -> None:
    before = said(history)
    after = link_events(ids, before)
    assert len({after.part_of()[one] for one in ids}) == 1
    assert len(after.together - before.together) < len(ids)
    assert agrees(after)


@given(history=SAID, ids=SOME, cut=st.integers(1, 7))
def test_what_was_split_last_is_apart_and_each_part_together(
    history: list[tuple[bool, list[str], int]], ids: list[str], cut: int
) -> None:
    before, parts = said(history), parts_of(ids, cut)
    after = separate_parts(parts, before)
    part_of = after.part_of()
    where = [{part_of[one] for one in part} for part in parts]
    assert [len(found) for found in where] == [1, 1]
    assert where[0] != where[1]
    assert any({part_of[one], part_of[other]} == where[0] | where[1] for one, other in after.apart)
    assert len(after.together - before.together) + len(after.apart - before.apart) <= len(ids)
    assert agrees(after)


def test_what_was_split_is_apart_only_where_both_are_in_one_group() -> None:
    drawn = separate_parts([["a", "b"], ["c", "d"]], link_events(["a", "b", "c", "d"], ImpliedPairs()))
    rows = {"a": 0, "b": 1, "c": 2}
    assert resolve_pairs(drawn, rows, {0: 7, 1: 7, 2: 7}) == PairConstraints(together=((0, 1),), apart=((0, 2),))
    assert resolve_pairs(drawn, rows, {0: 7, 1: 7, 2: 8}) == PairConstraints(together=((0, 1),), apart=())
    assert resolve_pairs(drawn, {"d": 4}, {4: 7}) == PairConstraints(together=(), apart=())
