"""Headings are compared by their words, and a labelled section by the headings that tell it from others."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis_benchmarks.labelled_documents import answers, names_of

HEADINGS = st.lists(st.text("ab3. `中：", min_size=1), min_size=1, max_size=4)


HEADINGS_SAME: list[tuple[str, str]] = [
    ("3.1 `中文数字` => `阿拉伯数字`", "中文数字 => 阿拉伯数字"),
    ("## Use", "use"),
    ("``asyncio``", "asyncio"),
    ("Borax.FestivalLibrary：内置节日库", "Borax.FestivalLibrary: 内置节日库"),
    ("2) Index command:", "Index command"),
    ("ＦＡＱ", "FAQ"),
]


def test_headings_are_the_same() -> None:
    for one, other in HEADINGS_SAME:
        assert names_of([one], python=False) == names_of([other], python=False), one


HEADINGS_DIFFER: list[tuple[str, str]] = [("Section 3", "Section 4"), ("安装", "使用"), ("3.1", "3.2"), ("=>", "<=")]


def test_headings_differ() -> None:
    for one, other in HEADINGS_DIFFER:
        assert names_of([one], python=False) != names_of([other], python=False), one


def test_a_section_is_told_by_those_above_it() -> None:
    path = ["pgvector-python", "SQLAlchemy", "Half-Precision Indexing"]
    assert answers(path, [("Nothing",), ("SQLAlchemy", "Half-Precision Indexing")], python=False)
    assert answers(path, [("Half-Precision Indexing",)], python=False)
    for other in [("Django", "Half-Precision Indexing"), ("SQLAlchemy",), ("Half-Precision Indexing", "SQLAlchemy")]:
        assert not answers(path, [other], python=False)
    assert not answers([], [("SQLAlchemy",)], python=False)


@given(HEADINGS, st.booleans())
def test_law_a_path_answers_itself_and_its_own_ends(path: list[str], python: bool) -> None:
    if all(names_of([one], python=python) for one in path):
        for n in range(len(path)):
            assert answers(path, [tuple(path[n:])], python=python)
