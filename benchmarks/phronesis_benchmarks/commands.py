"""Benchmarks of speed: stores that are made up, and grow."""

from typing import Any

import click

from phronesis.interfaces.cli.output import Progress
from phronesis_benchmarks import quality_commands
from phronesis_benchmarks.quality_commands import AS_JSON, URL, show


@click.command()
@click.option("--items", type=int, default=10_000, show_default=True, help="Memories of the one user.")
@click.option("--calls", type=int, default=100, show_default=True, help="Searches and contexts that are timed.")
@URL
@AS_JSON
def scale(items: int, *, calls: int, url: str | None, as_json: bool) -> None:
    """Search, compose and verify with many memories of one user.

    The memories are made up, in both languages. Tells times and sizes, and whether a replay of the log gives the same.
    """
    from phronesis_benchmarks.scale import run_scale  # noqa: PLC0415 - numpy: not for --help

    report = run_scale(items=items, calls=calls, url=url)
    show(report, as_json=as_json)


@click.command("http")
@click.option("--memories", type=int, default=1_000, show_default=True, help="Memories that are searched.")
@click.option("--calls", type=int, default=200, show_default=True, help="Searches that are timed, one at a time.")
@click.option("--clients", type=int, default=20, show_default=True, help="Clients at once.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="How long they call.")
@URL
@AS_JSON
def over_http(*, as_json: bool, **given: Any) -> None:
    """Start, search and many clients, over HTTP.

    The server is one of its own on this machine; nine calls in ten are searches.
    """
    from phronesis_benchmarks.http_load import run_http_load  # noqa: PLC0415 - SQLAlchemy: not for --help

    report = run_http_load(**given)
    show(report, as_json=as_json)


@click.command()
@click.option("--items", type=int, default=10_000, show_default=True, help="Items of the bank.")
@click.option("--claims", type=int, default=5, show_default=True, help="Claims of each.")
@click.option("--runs", type=int, default=1_000, show_default=True, help="Runs that the bank has already.")
@click.option("--calls", type=int, default=100, show_default=True, help="Searches and learns that are timed.")
@URL
@AS_JSON
def reasoning(items: int, *, claims: int, runs: int, calls: int, url: str | None, as_json: bool) -> None:
    """Search and learn with many claims.

    The bank is made up. Tells how long a search and a learn take, and how much is read for one.
    """
    from phronesis_benchmarks.reasoning_scale import run_reasoning_scale  # noqa: PLC0415 - numpy: not for --help

    with Progress() as progress:
        report = run_reasoning_scale(items=items, claims=claims, runs=runs, calls=calls, url=url, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@click.option("--events", type=int, default=20_000, show_default=True, help="Events of the experience base.")
@click.option("--calls", type=int, default=50, show_default=True, help="Events more, and queries, that are timed.")
@click.option(
    "--encoders",
    type=click.Choice(["one", "auto"]),
    default="one",
    show_default=True,
    help="Compare them by one hashing encoder, or by stand-ins for all that auto loads.",
)
@URL
@AS_JSON
def patterns(events: int, *, calls: int, encoders: str, url: str | None, as_json: bool) -> None:
    """Group and query with many events.

    The events are made up, in both languages. Tells how long all of them take to group, one more, and a query.
    """
    from phronesis_benchmarks.experience_scale import run_experience_scale  # noqa: PLC0415 - numpy: not for --help

    with Progress() as progress:
        report = run_experience_scale(events=events, calls=calls, encoders=encoders, url=url, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@click.option("--items", type=int, default=100_000, show_default=True, help="Memories of the one user.")
@click.option("--sections", type=int, default=10_000, show_default=True, help="Sections of documents.")
@click.option("--calls", type=int, default=100, show_default=True, help="Retrieves and contexts that are timed.")
@URL
@AS_JSON
def compose(items: int, *, sections: int, calls: int, url: str | None, as_json: bool) -> None:
    """Retrieve and compose with many memories and documents.

    Both are made up. Tells how long a plan, a retrieve and a context take.
    """
    from phronesis_benchmarks.compose_scale import run_compose_scale  # noqa: PLC0415 - numpy: not for --help

    with Progress() as progress:
        report = run_compose_scale(items=items, sections=sections, calls=calls, url=url, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@click.option("--memories", type=int, default=100_000, show_default=True, help="Memories of the store.")
@click.option("--calls", type=int, default=5, show_default=True, help="How often each page is asked for, once warm.")
@URL
@AS_JSON
def pages(memories: int, *, calls: int, url: str | None, as_json: bool) -> None:
    """How long each page takes over many memories.

    The store is made up, of fifty people. Tells the first time and the median, slowest page first.
    """
    from phronesis_benchmarks.page_scale import run_page_scale  # noqa: PLC0415 - SQLAlchemy: not for --help

    with Progress() as progress:
        report = run_page_scale(memories=memories, calls=calls, url=url, on_progress=progress)
    show(report, as_json=as_json)


# The benchmarks: of quality on data that one has, and of speed on stores that are made up.


@click.group()
def bench() -> None:
    """Measure recall and speed.

    Each benchmark reads data that you have, or makes up its own, and prints a table. Nothing of your own store is read
    or changed, unless --url names it.
    """


for _command in (
    *(
        quality_commands.locomo,
        quality_commands.extraction,
        quality_commands.reading,
        quality_commands.roles,
        quality_commands.traits,
        quality_commands.experience,
    ),
    quality_commands.sensitive,
    quality_commands.next_steps,
    quality_commands.showing,
    quality_commands.lesson_map,
    quality_commands.reader,
    *(quality_commands.refit, quality_commands.ablate, quality_commands.precisionmembench, quality_commands.lessons),
    quality_commands.resources,
    *(scale, compose, reasoning, patterns),
    *(over_http, pages),
):
    bench.add_command(_command)
