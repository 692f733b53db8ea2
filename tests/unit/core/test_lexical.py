"""BM25 equals the textbook's, whatever was added, removed and merged on the way."""

from collections import Counter
from math import log
from struct import pack

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core import lexical_index
from phronesis.core.lexical_index import K1, B, ScopeIndex, unpack_terms
from phronesis.errors import InputError
from phronesis.recall.scoring import lexical_scores
from phronesis.recall.scoring.lane_arrays import (
    ALONE,
    BONUSES,
    IMPORTANCE,
    RECENCY,
    Layout,
    best_of,
    bonus_shares,
    make_layout,
)
from phronesis.recall.scoring.lexical_scores import frequencies, pair_scores, text_scores, window_scores
from phronesis.recall.scoring.text_properties import TRAIT_BOOSTS

Document = list[int]
Floats = npt.NDArray[np.float32]

TERMS = st.integers(min_value=0, max_value=11)
DOCUMENTS = st.lists(TERMS, max_size=8)


def packed(document: Document) -> bytes:
    counts = sorted((term << 48, tf) for term, tf in Counter(document).items())
    return b"".join(pack("<QH", term, tf) for term, tf in counts)


def hashes(terms: list[int]) -> list[int]:
    return [term << 48 for term in terms]


def index_of(*documents: Document) -> ScopeIndex:
    index = ScopeIndex()
    index.add([(number, packed(document)) for number, document in enumerate(documents)])
    return index


def floats(*values: float) -> Floats:
    return np.asarray(values, dtype=np.float32)


def assemble_rows(index: ScopeIndex, sessions: list[int] | None = None) -> Layout:
    """Lay out an index; ``sessions`` are those of its rows, by default none; rows follow one another in them."""
    size = index.row_count
    return make_layout(
        sessions=np.asarray([ALONE] * size if sessions is None else sessions, dtype=np.int64),
        positions=np.arange(size, dtype=np.int64),
        offsets=np.zeros(size, dtype=np.int64),
        alive=index.alive,
        lengths=index.lengths,
    )


def bm25(indexes: list[ScopeIndex], query: list[int]) -> list[Floats]:
    """Score the live rows of indexes whose documents were said in no session."""
    lanes = [(index, assemble_rows(index)) for index in indexes]
    found = frequencies(lanes, query)
    return text_scores([(layout, one) for (_, layout), one in zip(lanes, found, strict=True)])


def coverage(indexes: list[ScopeIndex], query: list[int]) -> list[Floats]:
    lanes = [(index, assemble_rows(index)) for index in indexes]
    return [
        lexical_scores.coverage(layout, one) for (_, layout), one in zip(lanes, frequencies(lanes, query), strict=True)
    ]


def naive(lanes: list[list[Document | None]], query: list[int]) -> list[list[float]]:
    """Score with dictionaries, straight from the formula; None is a removed document."""
    live = [document for lane in lanes for document in lane if document is not None]
    df = {term: sum(term in document for document in live) for term in query}
    average = sum(map(len, live)) / len(live) if live else 0.0

    def score(document: Document | None) -> float:
        total = 0.0
        for term in query:
            tf = document.count(term) if document else 0
            if document and tf:
                length = len(document) / average
                idf = log(1 + (len(live) - df[term] + 0.5) / (df[term] + 0.5))
                total += idf * tf / (tf + K1 * (1 - B + B * length))
        return total

    return [[score(document) for document in lane if document is not None] for lane in lanes]


@settings(max_examples=50)
@given(
    steps=st.lists(
        st.one_of(st.lists(DOCUMENTS, min_size=1, max_size=6), st.sets(st.integers(0, 40), max_size=5)), max_size=12
    ),
    lane_of=st.lists(st.integers(0, 1), min_size=12, max_size=12),
    query=st.lists(st.integers(0, 13), max_size=6),
    tail=st.sampled_from([1, 8, 4096]),
)
def test_equals_a_naive_bm25_after_any_adds_removes_and_merges(
    *, steps: list[list[Document] | set[int]], lane_of: list[int], query: list[int], tail: int
) -> None:
    indexes, lanes = [ScopeIndex(), ScopeIndex()], [list[Document | None](), list[Document | None]()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical_index, "TAIL_POSTINGS", tail)
        for step, which in zip(steps, lane_of, strict=False):
            index, lane = indexes[which], lanes[which]
            if isinstance(step, list):
                index.add([(len(lane) + i, packed(document)) for i, document in enumerate(step)])
                lane.extend(step)
            else:
                rows = [row for row in step if row < len(lane)]
                index.remove(rows)
                for row in rows:
                    lane[row] = None
    for index, lane in zip(indexes, lanes, strict=True):
        live = [document for document in lane if document is not None]
        assert (index.row_count, index.doc_count) == (len(lane), len(live))
        assert index.alive.tolist() == [document is not None for document in lane]
    expected = naive(lanes, query)
    for score, wanted in zip(bm25(indexes, hashes(query)), expected, strict=True):
        assert score.dtype == np.float32
        np.testing.assert_allclose(score, wanted, rtol=1e-4, atol=1e-6)


@given(documents=st.lists(DOCUMENTS, max_size=10), query=st.lists(TERMS, max_size=5))
def test_coverage_lies_in_zero_to_one_and_is_one_for_who_holds_all(documents: list[Document], query: list[int]) -> None:
    known = {term for document in documents for term in document}
    asked = set(query) & known
    for document, share in zip(documents, coverage([index_of(*documents)], hashes(query))[0], strict=True):
        assert 0.0 <= share <= 1.0
        assert (share > 0.0) == bool(asked & set(document))
        if asked and asked <= set(document):
            assert share == pytest.approx(1.0)


def test_empty_scopes_and_queries_give_empty_or_zero_scores() -> None:
    assert bm25([], hashes([1])) == []
    assert bm25([ScopeIndex()], hashes([1]))[0].shape == (0,)
    assert bm25([index_of([], [])], hashes([1]))[0].tolist() == [0.0, 0.0]
    assert bm25([index_of([1])], [])[0].tolist() == [0.0]
    assert coverage([index_of([1])], [])[0].tolist() == [0.0]
    index = ScopeIndex()
    index.add([])
    index.remove([])
    assert (index.row_count, index.nbytes) == (0, 0)


def test_many_small_adds_merge_the_tail_into_the_main_segment() -> None:
    index, documents = ScopeIndex(), [[n % 12, (n * 7) % 12] for n in range(3000)]
    for number, document in enumerate(documents):
        index.add([(number, packed(document))])
    assert index.nbytes < 40 * 2 * 3000
    whole = bm25([index_of(*documents)], hashes([1, 5]))[0]
    assert (bm25([index], hashes([1, 5]))[0] == whole).all()


def test_rows_must_follow_one_another() -> None:
    cases: list[list[int]] = [[1], [0, 2], [-1], [0, 0]]
    for numbers in cases:
        index = ScopeIndex()
        with pytest.raises(InputError, match="number rows consecutively") as caught:
            index.add([(number, packed([1])) for number in numbers])
        assert caught.value.field == "doc_no", numbers
        assert index.row_count == 0, numbers


def test_a_torn_blob_is_refused_and_nothing_changes() -> None:
    index = ScopeIndex()
    with pytest.raises(InputError, match="rebuild the search document"):
        index.add([(0, packed([1])), (1, b"123")])
    assert (index.row_count, index.nbytes) == (0, 0)
    with pytest.raises(InputError, match="10-byte"):
        unpack_terms(b"1")


@pytest.mark.parametrize("row", [-1, 1])
def test_removing_an_unknown_row_is_refused(row: int) -> None:
    with pytest.raises(InputError, match="never added"):
        index_of([1]).remove([row])


# Windows and pairs are scored as the documents they would be.


TALKS = st.lists(st.lists(st.integers(0, 6), max_size=40), max_size=12)


@given(documents=TALKS, query=st.lists(st.integers(0, 8), max_size=5), sessions=st.integers(0, 3))
def test_windows_and_pairs_are_scored_like_texts_of_their_own(
    documents: list[list[int]], query: list[int], sessions: int
) -> None:
    index = index_of(*documents)
    layout = assemble_rows(index, [n * sessions // max(len(documents), 1) for n in range(len(documents))])
    lane = (layout, frequencies([(index, layout)], hashes(query))[0])
    known = {term for document in documents for term in document}
    bounds = zip(layout.windows.start, layout.windows.stop, strict=True)
    windows = [[term for one in documents[start:stop] for term in one] for start, stop in bounds]
    pairs = [documents[n - 1] + documents[n] if layout.pairs.joined[n] else documents[n] for n in range(len(documents))]
    scored = (text_scores([lane]), window_scores([lane]), pair_scores([lane]))
    for scores, texts in zip(scored, (documents, windows, pairs), strict=True):
        np.testing.assert_allclose(
            scores[0], naive([[*texts]], [term for term in query if term in known])[0], rtol=1e-4, atol=1e-5
        )


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(1, 14))
def test_the_best_are_those_a_stable_sort_puts_first(values: list[int], count: int) -> None:
    wanted = sorted(sorted(range(len(values)), key=lambda n: -values[n])[:count])
    assert best_of(floats(*values), count).tolist() == wanted


# What lifts a result: bounds, and that a bonus never lowers a score nor turns equals round.


BASES = st.floats(-60, 60, width=32)
EACH = {"recency": RECENCY, "importance": IMPORTANCE, "trait_boost": max(TRAIT_BOOSTS.values())}


def final(base: float, **bonuses: float) -> float:
    shares = bonus_shares(floats(base), {name: floats(bonuses.get(name, 0.0)) for name in BONUSES})
    return base + sum(float(share[0]) for share in shares.values())


@pytest.mark.parametrize("base", [0.5, 4.0])
def test_above_nought_it_is_the_formula_of_the_requirement(base: float) -> None:
    given_bonuses = {"recency": 0.1, "importance": 0.05, "trait_boost": 0.25}
    assert final(base, **given_bonuses) == pytest.approx(base * (1 + 0.1 + 0.05 + 0.25))


@given(BASES, st.sampled_from(BONUSES), st.data())
def test_more_of_a_bonus_never_lowers_a_score(base: float, name: str, data: st.DataObject) -> None:
    others = {other: data.draw(st.floats(0, most)) for other, most in EACH.items() if other != name}
    less, more = sorted(data.draw(st.tuples(st.floats(0, EACH[name]), st.floats(0, EACH[name]))))
    slack = 1e-5 * abs(base)
    assert base <= final(base, **others, **{name: less}) + slack
    assert final(base, **others, **{name: less}) <= final(base, **others, **{name: more}) + slack
