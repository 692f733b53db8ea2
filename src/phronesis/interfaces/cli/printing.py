"""Lines, JSON and times on the terminal: what every command prints with."""

import json
from datetime import datetime
from typing import Any

import click

from phronesis.core.plain import as_json


def say(*lines: str) -> None:
    """Print lines."""
    for line in lines:
        click.echo(line)


def say_json(value: Any) -> None:
    """Print any result as JSON."""
    click.echo(json.dumps(as_json(value), ensure_ascii=False, indent=2))


def day(moment: datetime | None) -> str:
    """Give a date."""
    return "" if moment is None else moment.date().isoformat()


def second(moment: datetime) -> str:
    """Give a time to the second, in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")
