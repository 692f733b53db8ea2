"""The plot of the README says what the table of the benchmarks says."""

from pathlib import Path
from xml.etree import ElementTree as ET

from phronesis_benchmarks.plot import SHOWN, Bar, bars_of, drawn, write

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "benchmarks.md").read_text("utf-8")


def test_it_is_drawn_from_the_table(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text(PAGE, "utf-8")
    assert write(tmp_path).read_text("utf-8") == (DOCS / "images" / "recall.svg").read_text("utf-8"), (
        "make it anew: python -m phronesis_benchmarks.plot docs"
    )


def test_every_system_is_there_with_its_figures() -> None:
    bars = bars_of(PAGE)
    assert {bar.name for bar in bars} == set(SHOWN.values())
    assert all(0 < bar.low <= bar.recall <= bar.high < 1 for bar in bars)
    shown = "".join(ET.fromstring(drawn(bars)).itertext())  # noqa: S314 - our own words
    assert all(f"{bar.recall:.3f}" in shown and bar.name in shown for bar in bars)


def test_a_name_cannot_break_it() -> None:
    ET.fromstring(drawn([Bar("a<b>&", 0.5, 0.4, 0.6)]))  # noqa: S314
