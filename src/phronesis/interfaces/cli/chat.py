"""``phronesis chat``: a conversation on the terminal, over any configured model or none."""

import sys
from collections.abc import Iterator
from typing import Final

import click

from phronesis.interfaces.cli.conversation import Conversation
from phronesis.interfaces.cli.options import Scope, Store, with_scope_of_context, with_store

PROMPT: Final = "> "


@click.command()
@with_scope_of_context
@click.option("--show", is_flag=True, help="Print each composed context before its answer.")
@with_store
def chat(*, store: Store, scope: Scope, show: bool) -> None:
    """Talk, with all that is remembered at hand.

    Each line is a message: the context for it is composed, the model of the role chat answers, and both are remembered.
    Without a model what would be sent is shown. /help lists what else a line may be; the input's end, Ctrl-C or /quit
    ends it. In a pipe only the answers are printed; with --json each is one line of JSON.
    """
    with store.open() as memory:
        talk = Conversation(memory, scope, show=show, as_json=store.as_json)
        talk.greet(told=sys.stdin.isatty())
        lines = _lines()
        for line in lines:
            try:
                if not talk.take(line, lines):
                    break
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
        memory.flush()


def _lines() -> Iterator[str]:
    """Give the input line by line, with a prompt on a terminal; it ends with the input, or with Ctrl-C."""
    asked = sys.stdin.isatty()
    while True:
        if asked:
            click.echo(PROMPT, nl=False, err=True)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            if asked:
                click.echo(err=True)
            return
        if line.strip():
            yield line.strip()
