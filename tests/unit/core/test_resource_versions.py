"""What became of sections between two versions of a document."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.resources.laws.records import Difference, SectionText, difference

WORDS = st.builds(
    SectionText, path=st.lists(st.sampled_from("AB"), max_size=2).map(tuple), text=st.sampled_from(["", "x", "y", "z"])
)


def test_rewritten_words_take_the_place_of_those_under_the_same_headings() -> None:
    """The headings say which section it is."""
    held = {"1": SectionText(("A",), "x"), "2": SectionText(("B",), "y")}
    assert difference(held, [SectionText(("A",), "x"), SectionText(("B",), "z")]) == Difference({0: "1"}, {1: "2"})


def test_what_is_no_more_is_gone_and_what_is_new_is_in_neither() -> None:
    """A heading that went, and one that came."""
    held = {"1": SectionText(("A",), "x"), "2": SectionText(("B",), "y")}
    assert difference(held, [SectionText(("A",), "x"), SectionText(("C",), "z")]) == Difference({0: "1"}, {}, ("2",))


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6))
def test_every_section_is_matched_at_most_once(old: list[SectionText], new: list[SectionText]) -> None:
    """Those held are kept, replaced or gone, each once; as many words as can be are kept."""
    held = {str(n): words for n, words in enumerate(old)}
    found = difference(held, new)
    used = [*found.kept.values(), *found.replaced.values(), *found.gone]
    assert sorted(used) == sorted(held)
    assert not found.kept.keys() & found.replaced.keys()
    assert all(held[one].text == new[n].text for n, one in found.kept.items())
    assert all(held[one].path == new[n].path for n, one in found.replaced.items())
    shared = sum(
        min(sum(w.text == t for w in old), sum(w.text == t for w in new)) for t in {w.text for w in (*old, *new)}
    )
    assert len(found.kept) == shared
