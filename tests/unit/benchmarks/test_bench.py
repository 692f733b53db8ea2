from pathlib import Path

from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.locomo import run_locomo
from phronesis_benchmarks.plot import write


def test_a_run_measures_ours_by_both_verbs_and_the_peers(locomo_file: Path, embedder: CachedEmbedder) -> None:
    done: list[str] = []
    report = run_locomo(
        locomo_file, peers=["bm25", "bm25"], embedder=embedder, on_progress=lambda what, *_: done.append(what)
    )
    names = ["phronesis-add", "phronesis-commit_turn", "phronesis-commit_turn-later", "bm25"]
    assert [outcome.name for outcome in report.outcomes] == names
    assert {outcome.encoded_while_timed for outcome in report.outcomes} == {0}
    assert (report.setting.turns, report.setting.questions, report.setting.dropped) == (4, 3, 3)
    assert [outcome.rankings[0].ranked[0] for outcome in report.outcomes] == ["D2:2"] * 4
    assert dict.fromkeys(done) == dict.fromkeys(["words", *(outcome.name for outcome in report.outcomes)])


# The plot of the README says what the table of the benchmarks says.


DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "benchmarks.md").read_text("utf-8")


def test_it_is_drawn_from_the_table(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text(PAGE, "utf-8")
    assert write(tmp_path).read_text("utf-8") == (DOCS / "images" / "recall.svg").read_text("utf-8"), (
        "make it anew: python -m phronesis_benchmarks.plot docs"
    )
