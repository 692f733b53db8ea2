"""A page is a sequence of what is listed, and says how to go on."""

from phronesis import Page


def test_a_page_is_a_sequence_and_plain_data() -> None:
    page = Page(("a", "b", "c"), "next")
    assert (len(page), page[0], page[1:], list(page), "b" in page) == (3, "a", ("b", "c"), ["a", "b", "c"], True)
    assert page.to_dict() == {"items": ["a", "b", "c"], "next_cursor": "next"}


def test_a_page_equals_any_list_of_the_same_members() -> None:
    page = Page(("a", "b"), "next")
    assert page == ["a", "b"]
    assert page == ("a", "b")
    assert page != ["a"]
    assert page != "ab"
    assert Page() == []
    assert page == Page(("a", "b"), "next")
    assert page != Page(("a", "b"))
    assert len({page, Page(("a", "b"), "next")}) == 1
