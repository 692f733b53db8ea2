"""Windows and pairs are scored as the documents they would be."""

from collections import Counter
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.lexical_index import K1, B, ScopeIndex, idf_of
from phronesis.recall.scoring import lexical_scores
from phronesis.recall.scoring.lexical_scores import frequencies, pair_scores, text_scores, window_scores
from unit.core.lanes import laid_out

DOCUMENTS = st.lists(st.lists(st.integers(0, 6), max_size=40), max_size=12)


def index_of(documents: list[list[int]]) -> ScopeIndex:
    index = ScopeIndex()
    packed = [b"".join(pack("<QH", term, tf) for term, tf in sorted(Counter(one).items())) for one in documents]
    index.add(list(enumerate(packed)))
    return index


def naive(documents: list[list[int]], query: list[int], known: set[int]) -> list[float]:
    """BM25 over texts, by its formula; terms that the scope does not know are left out."""
    average = sum(map(len, documents)) / len(documents) if documents else 0.0
    out = []
    for document in documents:
        total = 0.0
        for term in query:
            df, tf = sum(term in one for one in documents), document.count(term)
            if term in known and tf:
                total += idf_of(len(documents), df) * tf / (tf + K1 * (1 - B + B * len(document) / average))
        out.append(total)
    return out


@pytest.mark.parametrize("rare", [False, True], ids=["everywhere", "around each place"])
@given(documents=DOCUMENTS, query=st.lists(st.integers(0, 8), max_size=5), sessions=st.integers(0, 3))
def test_windows_and_pairs_are_scored_like_texts_of_their_own(
    rare: bool, documents: list[list[int]], query: list[int], sessions: int
) -> None:
    index = index_of(documents)
    layout = laid_out(index, [n * sessions // max(len(documents), 1) for n in range(len(documents))])
    lane = (layout, frequencies([(index, layout)], query)[0])
    known = {term for document in documents for term in document}
    bounds = zip(layout.windows.start, layout.windows.stop, strict=True)
    windows = [[term for one in documents[start:stop] for term in one] for start, stop in bounds]
    pairs = [documents[n - 1] + documents[n] if layout.pairs.joined[n] else documents[n] for n in range(len(documents))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical_scores, "RARE_FROM", -1_000 * lexical_scores.RARE if rare else 1_000)
        patch.setattr(lexical_scores, "COMMON", 0 if rare else 1_000)
        scored = (text_scores([lane]), window_scores([lane]), pair_scores([lane]))
    for scores, texts in zip(scored, (documents, windows, pairs), strict=True):
        np.testing.assert_allclose(scores[0], naive(texts, query, known), rtol=1e-4, atol=1e-5)
