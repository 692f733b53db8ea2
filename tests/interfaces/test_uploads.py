"""Names under which uploaded files are kept while they are read."""

import pytest

from phronesis.interfaces.uploads import stored_name


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("report.PDF", "upload.PDF"),
        ("中" * 100 + ".md", "upload.md"),
        ("aaa." + "b" * 300, "upload"),
        ("..", "upload"),
        ("notes", "upload"),
        ("a/../x.t xt", "upload"),
        ("a.md\0", "upload"),
    ],
)
def test_only_an_ending_that_says_something_is_kept(given: str, stored: str) -> None:
    assert stored_name(given) == stored
