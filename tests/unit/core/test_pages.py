"""A page is a sequence of what is listed, and says how to go on."""

from phronesis import Page
from phronesis.core.reports import Job, Jobs


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


def test_jobs_are_a_sequence_with_totals() -> None:
    job = Job(state="pending", work="add")
    jobs = Jobs((job,), pending=1)
    assert (len(jobs), jobs[0], list(jobs), jobs.pending) == (1, job, [job], 1)
