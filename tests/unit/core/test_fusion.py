"""The laws of fusion: the order within a source, the bounds of diversity, the ratio, and that nothing is chance."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from found_evidence import candidate, memory, part, section
from phronesis.core.results import Evidence
from phronesis.recall.fusion import (
    Candidate,
    Fate,
    FusedEvidence,
    candidates_of,
    deduplicate_candidates,
    fuse,
    reranked,
    site_of,
)
from phronesis.recall.scoring.weights import FusionRules, isotonic_decrease, support

SHARES = st.floats(0, 1)
MANY = FusionRules(per_document=1000, per_domain=1000)


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    """Candidates of both sides, of a few documents and hosts."""
    memories = [memory(n, draw(SHARES)) for n in range(draw(st.integers(0, 12)))]
    sections = [
        section(n, draw(SHARES), document=f"d{n % 4}", uri=f"https://host{n % 3}.example/{n % 4}")
        for n in range(draw(st.integers(0, 12)))
    ]
    abstained = draw(st.booleans())
    return candidates_of([part("memory", *memories, abstained=abstained), part("resources", *sections)])


def ids(fused: FusedEvidence) -> list[str]:
    return [one.item.id for one in fused.evidence]


def fate_of(fused: FusedEvidence, identity: str) -> str:
    [found] = [fate.what for fate in fused.fates if fate.candidate.evidence.item.id == identity]
    return found


# Relevance.


@given(st.lists(st.floats(-5, 5, allow_subnormal=False), max_size=30))
def test_the_fit_never_rises_and_keeps_the_mean(values: list[float]) -> None:
    fitted = isotonic_decrease(values)
    assert len(fitted) == len(values)
    assert all(first >= second for first, second in pairwise(fitted))
    assert sum(fitted) == pytest.approx(sum(values), abs=1e-9)
    if sorted(values, reverse=True) == values:
        assert fitted == pytest.approx(values)


@given(st.dictionaries(st.sampled_from(["covered", "outlying", "timed", "mentioned", "dense"]), st.floats(-9, 9)))
def test_support_is_a_share_and_no_reason_lowers_it(why: dict[str, float]) -> None:
    assert 0.0 <= support(why) <= 1.0
    for name, value in why.items():
        assert support({**why, name: value + 1}) >= support(why)
    assert support({"dense": 9.0}) == 0.0


# Fusion.


@given(pools(), st.integers(1, 20), SHARES)
def test_the_order_within_a_source_is_kept(pool: list[Candidate], limit: int, share: float) -> None:
    fused = fuse(pool, FusionRules(memory_share=share), limit=limit)
    rank = {one.evidence.item.id: one.rank for one in pool}
    for letter in "ms":
        ranks = [rank[one] for one in ids(fused) if one.startswith(letter)]
        assert ranks == sorted(ranks)


@given(pools(), st.integers(1, 20), st.integers(1, 5), st.integers(1, 8))
def test_no_more_of_a_document_and_a_site_than_the_rules_say(
    pool: list[Candidate], limit: int, per_document: int, per_domain: int
) -> None:
    fused = fuse(pool, FusionRules(per_document, per_domain), limit=limit)
    documents = Counter(one.item.data["document_id"] for one in fused.evidence if one.item.kind == "section")
    sites = Counter(str(one.item.source_ref).split("/")[2] for one in fused.evidence if one.item.kind == "section")
    assert max(documents.values(), default=0) <= per_document
    assert max(sites.values(), default=0) <= per_domain


@given(st.floats(0.05, 0.95), st.integers(1, 20), st.lists(st.floats(0.2, 1), min_size=40, max_size=40))
def test_both_sides_have_their_share_at_every_place(share: float, limit: int, scores: list[float]) -> None:
    memories = [memory(n, one) for n, one in enumerate(scores[:20])]
    sections = [section(n, one, document=f"d{n}", uri=None) for n, one in enumerate(scores[20:])]
    pool = candidates_of([part("memory", *memories), part("resources", *sections)])
    shown = ids(fuse(pool, replace(MANY, memory_share=share), limit=limit))
    assert len(shown) == limit
    for end in range(1, limit + 1):
        count = sum(one.startswith("m") for one in shown[:end])
        assert abs(count - share * end) < 1 + 1e-6


@given(pools(), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_says_nothing(
    pool: list[Candidate], limit: int, chance: random.Random
) -> None:
    shuffled = list(pool)
    chance.shuffle(shuffled)
    assert fuse(pool, FusionRules(), limit=limit) == fuse(shuffled, FusionRules(), limit=limit)


@given(pools(), st.integers(1, 20))
def test_every_candidate_has_one_fate(pool: list[Candidate], limit: int) -> None:
    fused = fuse(pool, FusionRules(), limit=limit)
    assert Counter(id(fate.candidate.evidence) for fate in fused.fates) == Counter(id(one.evidence) for one in pool)
    kept = [fate for fate in fused.fates if fate.what == "kept"]
    assert [fate.place for fate in kept] == list(range(1, len(kept) + 1))
    assert [fate.candidate.evidence.item.id for fate in kept] == ids(fused)
    places = fused.to_dict()["places"]
    assert places["memory"] + places["resources"] == len(fused.evidence) == min(limit, len(fused.evidence))


@given(pools(), st.lists(SHARES, min_size=24, max_size=24), st.integers(1, 20))
def test_a_reranker_orders_each_side_by_its_scores(pool: list[Candidate], scores: list[float], limit: int) -> None:
    fused = fuse(reranked(pool, scores), replace(MANY, memory_share=0.5), limit=limit)
    for kind in ("fact", "section"):
        given_scores = [one.score for one in fused.evidence if one.item.kind == kind]
        assert given_scores == sorted(given_scores, reverse=True)
    assert all((one.why or {})["rerank"] == one.score for one in fused.evidence)


def test_why_something_is_not_there_is_said() -> None:
    memories = [memory(n, 0.9) for n in range(5)]
    sections = [section(n, 0.3, document="d1") for n in range(4)]
    sections += [section(n, 0.3, document=f"d{n}", uri=f"https://www.a.example/{n}") for n in range(4, 7)]
    pool = candidates_of([part("memory", *memories), part("resources", *sections)])
    fused = fuse(pool, FusionRules(per_document=2, per_domain=3), limit=5)
    assert ids(fused) == ["m0", "s0", "m1", "s1", "s4"]
    assert [fate_of(fused, one) for one in ("m4", "s3", "s5")] == ["ratio", "document", "domain"]
    told = {one["citation"]: one for one in fused.to_dict()["candidates"]}
    assert (told["mem:s3"]["of"], told["mem:s3"]["most"]) == ("d1", 2)
    assert (told["mem:s5"]["of"], told["mem:s5"]["most"]) == ("a.example", 3)
    assert (told["mem:m0"]["place"], told["mem:m0"]["retriever"], told["mem:m0"]["rank"]) == (1, "memory", 1)
    short = fuse(pool[:3], FusionRules(), limit=2)
    assert fate_of(short, "m2") == "limit"


# Each thing once: by key, by message, by words; and what is a document's, and whose.


LONG = "Fill the kettle with vinegar and boil it twice to remove the limescale."
CHINESE = "每月用柠檬酸清洗水壶一次，可以去除水垢，然后用清水冲洗。"


def ranked(*found: Evidence) -> list[Candidate]:
    return [candidate(one, n + 1, 1.0 - n / 100) for n, one in enumerate(found)]


def names(kept: Sequence[Candidate]) -> list[str]:
    return [one.evidence.item.id for one in kept]


def told(dropped: Sequence[Fate]) -> list[tuple[str, str | None, str]]:
    return [(one.candidate.evidence.item.id, one.of, one.why["because"]) for one in dropped]


def test_one_key_is_shown_once() -> None:
    kept, dropped = deduplicate_candidates(ranked(section(1), section(2), section(1, text="other words"), memory(1)))
    assert names(kept) == ["s1", "s2", "m1"]
    assert told(dropped) == [("s1", "mem:s1", "same key")]
    two, _ = deduplicate_candidates(ranked(section(1, text=""), section(1, text="b b b", part="chunk:3000")))
    assert len(two) == 2


def test_what_is_under_the_key_that_is_asked_for_comes_first() -> None:
    held = memory(9, 0.2)
    pool = candidates_of(
        [
            part("memory", memory(1, 0.9), replace(held, why={**(held.why or {}), "key": 4.0})),
            part("resources", section(1, 0.8)),
        ]
    )
    assert ids(fuse(pool, MANY, limit=2)) == ["m9", "m1"]


def test_a_memory_and_its_message_are_one() -> None:
    message = memory("message", kind="message", message_id="a", messages=["a"])
    kept, dropped = deduplicate_candidates(ranked(memory(1, messages=["a", "b"]), message, memory(2, messages=["c"])))
    assert names(kept) == ["m1", "m2"]
    assert told(dropped) == [("mmessage", "mem:m1", "same message")]
    kept, _ = deduplicate_candidates(ranked(message, memory(1, messages=["a", "b"])))
    assert names(kept) == ["mmessage", "m1"]


@pytest.mark.parametrize("words", [LONG, CHINESE])
def test_the_same_words_in_two_documents_are_shown_once(words: str) -> None:
    other = section(2, document="d2", text=f"  {words.upper()} \n")
    kept, dropped = deduplicate_candidates(ranked(section(1, text=words), other))
    assert names(kept) == ["s1"]
    assert told(dropped) == [("s2", "mem:s1", "same words")]
    kept, dropped = deduplicate_candidates(ranked(section(1, text=words, uri=None), other))
    assert names(kept) == ["s2"]
    assert told(dropped) == [("s1", "mem:s2", "same words")]


def test_a_section_stands_for_the_message_that_quotes_it_at_its_place() -> None:
    kept, dropped = deduplicate_candidates(ranked(memory(1, text=LONG), memory(2), section(1, text=LONG)))
    assert names(kept) == ["s1", "m2"]
    assert kept[0].relevance == 1.0
    assert told(dropped) == [("m1", "mem:s1", "same words")]
    first, _, last = ranked(memory(1, text=LONG), memory(2), section(1, text=LONG))
    kept, _ = deduplicate_candidates([replace(first, judged=0.9), replace(last, judged=0.4)])
    assert kept[0].judged == 0.9


def test_whose_a_document_is() -> None:
    cases: list[tuple[str, str | None]] = [
        ("https://www.a.example/b?c", "a.example"),
        ("file:///manuals/kettle/one.md", "/manuals/kettle"),
        ("C:\\manuals\\one.md", "\\manuals".replace("\\", "/")),
        ("mailto:a@b.example", None),
        ("http://[bad", None),
    ]
    for uri, site in cases:
        assert site_of(uri) == site, uri


@given(st.text(max_size=200))
def test_any_address_can_be_read(uri: str) -> None:
    site = site_of(uri)
    assert site is None or site
