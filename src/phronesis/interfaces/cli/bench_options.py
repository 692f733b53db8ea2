"""Options that benchmarks share, and how a report is shown."""

from typing import Final, Protocol

import click

from phronesis.interfaces.cli.printing import say, say_json

AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
URL: Final = click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")


class Report(Protocol):
    """What a benchmark measured."""

    def to_markdown(self) -> str:
        """Give a table."""
        ...


def show(report: Report, *, as_json: bool) -> None:
    """Print a report, as a table or in JSON."""
    if as_json:
        say_json(report)
    else:
        say(report.to_markdown().rstrip())
