"""``phronesis demo``: a story is told, and what is remembered of it is shown and checked."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import click

from phronesis.interfaces.cli.options import URL
from phronesis.interfaces.cli.output import say, show_waiting


@click.command()
@URL
@click.option("--tenant", metavar="NAME", help="Tenant of the store; default: a new one.")
@click.pass_context
def demo(ctx: click.Context, *, url: str | None, tenant: str | None) -> None:
    """Replay a story, and show what is remembered and why.

    Six conversations of two colleagues, in English and Chinese, in a new store that is kept. Each step checks its
    result; the exit code is 1 when a check fails.
    """
    from phronesis.interfaces.cli.demo_steps import STEPS, DemoNarrator  # noqa: PLC0415 - not for --help
    from phronesis.memory import Memory  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    begun = perf_counter()
    if url is None:
        url = f"sqlite:///{Path(tempfile.mkdtemp(prefix='phronesis-demo-')) / 'memory.db'}"
    elif tenant is None:
        tenant = f"demo-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    stage = DemoNarrator()
    say("Six conversations of two colleagues, in two languages, remembered with their evidence.")
    with closing(Memory.open(url, tenant=tenant)) as memory:
        for title, step in STEPS:
            with show_waiting(title):
                step(memory, stage)
            stage.end(title)
    option = "" if tenant is None else f" --tenant {tenant}"
    say("", "The store is kept. Ask it yourself, or look at its pages:")
    say(f"   phronesis search peanuts --user tom --url {url}{option}", f"   phronesis serve --url {url}{option}")
    _verdict(stage.checks, stage.failed, perf_counter() - begun)
    ctx.exit(1 if stage.failed else 0)


def _verdict(checks: int, failed: Sequence[str], took: float) -> None:
    if failed:
        say(f"{len(failed)} of {checks} checks FAILED: {'; '.join(failed)}")
    else:
        say(f"All {checks} checks of this demo hold. {took:.1f} s in all.")
