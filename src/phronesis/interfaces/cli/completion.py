"""``phronesis completion``: what a shell needs to finish commands, options, kinds and file names."""

from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

PROGRAM: Final = "phronesis"
VARIABLE: Final = "_PHRONESIS_COMPLETE"
"""The variable through which click is asked; its name follows from the program's."""

SHELLS: Final = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print what makes a shell complete this command.

    Commands, options, their values, kinds of memories and files are completed. SHELL is bash (4.4 or newer), zsh or
    fish; what is printed goes into its start file, or is read at once as in the examples. It asks 'phronesis' itself,
    so that it need not be printed again after an upgrade. Users and sessions are not completed: no key press opens a
    store.
    """
    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click knows the three
        raise click.UsageError(f"no completion for {shell}")
    # The class's own source() would first run the shell to ask for its version.
    click.echo(ShellComplete.source(made(ctx.find_root().command, {}, PROGRAM, VARIABLE)))
