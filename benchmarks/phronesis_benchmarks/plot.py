"""The plot of the README, drawn from the table of docs/benchmarks.md, so that it can say nothing else.

``python -m phronesis_benchmarks.plot docs`` writes ``docs/images/recall.svg``.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

TABLE: Final = "| system | recall@10 | 95 % |"
"""How the header of the table begins that is drawn: the first of the page."""

SHOWN: Final = {
    "phronesis-add": "Phronesis",
    "bm25": "BM25",
    "mem0": "mem0",
    "langgraph": "LangGraph store",
    "chromadb": "Chroma",
}
"""The rows that are drawn, by the name they have in the table, and what the plot calls them."""

LEFT, WIDTH, ROW, TOP = 132, 520, 34, 40
"""Pixels: the names' column, the axis from 0 to 1, a bar with its gap, the title."""

STYLE: Final = (
    "<style>text{fill:#1b2033}.axis{stroke:#c9cede}@media(prefers-color-scheme:dark)"
    "{text{fill:#e8ebf5}.axis{stroke:#3a4258}}</style>"
)
TITLE: Final = "recall@10 on LoCoMo, the same vectors for all (95 % intervals)"
_FONT: Final = 'font-family="system-ui, sans-serif" font-size="14"'


@dataclass(frozen=True, slots=True)
class Bar:
    """One system: recall@10 and the borders of its interval, from 0 to 1."""

    name: str
    recall: float
    low: float
    high: float


def bars_of(page: str) -> list[Bar]:
    """Return the bars of a page of benchmarks; ValueError where it has no such table."""
    lines = page[page.index(TABLE) :].splitlines()[2:]
    out = []
    for line in lines:
        if not line.startswith("|"):
            break
        name, recall, interval = (cell.strip() for cell in line.strip("|").split("|")[:3])
        if name in SHOWN:
            low, _, high = interval.partition("–")
            out.append(Bar(SHOWN[name], float(recall), float(low), float(high)))
    return out


def drawn(bars: Sequence[Bar]) -> str:
    """Return the bars as an SVG that is legible on light and dark."""
    height = TOP + ROW * len(bars) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 80} {height}" role="img" {_FONT}>',
        "<title>Evidence found among the first ten results, LoCoMo, six conversations</title>",
        STYLE,
        f'<text x="{LEFT}" y="22" font-weight="600">{TITLE}</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = LEFT + WIDTH * share
        parts.append(f'<line class="axis" x1="{x:g}" y1="{TOP}" x2="{x:g}" y2="{height - 26}"/>')
        parts.append(f'<text x="{x:g}" y="{height - 8}" text-anchor="middle" font-size="12">{share:g}</text>')
    for n, bar in enumerate(bars):
        y = TOP + ROW * n + 6
        colour = "#3f5bd8" if n == 0 else "#9aa3bd"
        parts.append(f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{escape(bar.name)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH * bar.recall:g}" height="22" rx="4" fill="{colour}"/>')
        parts.append(
            f'<line x1="{LEFT + WIDTH * bar.low:g}" y1="{y + 11}" x2="{LEFT + WIDTH * bar.high:g}" y2="{y + 11}"'
            ' stroke="#e0a030" stroke-width="3"/>'
        )
        parts.append(f'<text x="{LEFT + WIDTH * bar.high + 8:g}" y="{y + 16}">{bar.recall:.3f}</text>')
    return "\n".join([*parts, "</svg>", ""])


def write(docs: Path) -> Path:
    """Write the plot below a folder of documents; gives its path."""
    path = docs / "images" / "recall.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(drawn(bars_of((docs / "benchmarks.md").read_text("utf-8"))), "utf-8")
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]))
