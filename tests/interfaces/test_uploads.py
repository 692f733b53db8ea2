"""Names under which uploaded files are kept while they are read."""

from phronesis.interfaces.uploads import stored_name


def test_only_an_ending_that_says_something_is_kept() -> None:
    cases: list[tuple[str, str]] = [
        ("report.PDF", "upload.PDF"),
        ("中" * 100 + ".md", "upload.md"),
        ("aaa." + "b" * 300, "upload"),
        ("a/../x.t xt", "upload"),
    ]
    for given, stored in cases:
        assert stored_name(given) == stored
