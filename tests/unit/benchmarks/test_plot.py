"""The plot of the README says what the table of the benchmarks says."""

from pathlib import Path

from phronesis_benchmarks.plot import write

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "benchmarks.md").read_text("utf-8")


def test_it_is_drawn_from_the_table(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text(PAGE, "utf-8")
    assert write(tmp_path).read_text("utf-8") == (DOCS / "images" / "recall.svg").read_text("utf-8"), (
        "make it anew: python -m phronesis_benchmarks.plot docs"
    )
