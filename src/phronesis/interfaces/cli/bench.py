"""``phronesis bench``: benchmarks, which come with the distribution ``phronesis-benchmarks``."""

import importlib

import click


class Benchmarks(click.Group):
    """A group whose commands are imported from ``phronesis_benchmarks`` when one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the benchmarks."""
        return _load_benchmarks().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the benchmark of a name."""
        return _load_benchmarks().get_command(ctx, cmd_name)


@click.group(cls=Benchmarks)
def bench() -> None:
    """Measure recall and speed.

    Each benchmark reads data that you have, or makes up its own, and prints a table. Nothing of your own store is read
    or changed, unless --url names it. The benchmarks are a distribution of their own, in the repository's folder
    ``benchmarks``.
    """


def _load_benchmarks() -> click.Group:
    try:
        group: click.Group = importlib.import_module("phronesis_benchmarks.commands").bench
    except ModuleNotFoundError as missing:
        if missing.name != "phronesis_benchmarks":
            raise
        raise click.UsageError("the benchmarks are not installed: pip install ./benchmarks in a checkout") from None
    return group
