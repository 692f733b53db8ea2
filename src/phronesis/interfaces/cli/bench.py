"""The benchmark on real conversations."""

from pathlib import Path

import click

from phronesis.interfaces.cli import render
from phronesis.interfaces.cli.progress import Progress


@click.group()
def bench() -> None:
    """Measure recall and speed on real conversations."""


@bench.command()
@click.option("--data", required=True, metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The conversations, as LoCoMo publishes them.")  # fmt: skip
@click.option("--corrections", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="An audit's corrections of the evidence.")  # fmt: skip
@click.option("--peers", default="", metavar="A,B", help="Also measure: bm25, chromadb, mem0, langgraph.")
@click.option("--limit", type=int, metavar="N", help="The first N conversations only.")
@click.option("--seed", type=int, default=0, show_default=True, help="Rankings and intervals repeat with it.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, every ranking included.")
def locomo(data: Path, *, corrections: Path | None, peers: str, limit: int | None, seed: int, as_json: bool) -> None:
    """Recall, speed and memory on LoCoMo."""
    from phronesis.evals.bench import run_locomo  # noqa: PLC0415 - numpy and the encoders: not for --help

    names = [name.strip() for name in peers.split(",") if name.strip()]
    with Progress() as progress:
        report = run_locomo(data, peers=names, limit=limit, corrections=corrections, seed=seed, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown().rstrip())


@bench.command()
@click.option("--items", type=int, default=10_000, show_default=True, help="Memories of the one user.")
@click.option("--calls", type=int, default=100, show_default=True, help="Searches and contexts that are timed.")
@click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def scale(items: int, *, calls: int, url: str | None, as_json: bool) -> None:
    """Search, compose and verify with many memories of one user."""
    from phronesis.evals.scale import run_scale  # noqa: PLC0415 - numpy: not for --help

    report = run_scale(items=items, calls=calls, url=url)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option(
    "--data",
    required=True,
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Labelled turns; may stand several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def extraction(data: tuple[Path, ...], *, as_json: bool) -> None:
    """What rules make of labelled messages: precision and recall."""
    from phronesis.evals.extraction import run_extraction  # noqa: PLC0415 - the tables: not for --help

    report = run_extraction(data)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())
