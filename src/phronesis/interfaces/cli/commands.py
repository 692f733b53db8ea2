"""The commands, in the order in which ``phronesis --help`` lists them."""

from typing import Final

import click

from phronesis import __version__
from phronesis.interfaces.cli import (
    batch,
    bench,
    chat,
    completion,
    demo,
    examples,
    experience,
    forgetting,
    importing,
    keeping,
    keys,
    mcp,
    migrating,
    planning,
    quarantine,
    reading,
    reasoning,
    resources,
    runs,
    serving,
    traits,
    writing,
)

SECTIONS: Final = {
    "See it work": (demo.demo, bench.bench),
    "Remember": (
        writing.add,
        writing.update,
        writing.delete,
        experience.ingest,
        resources.resource,
        reasoning.check_claims,
    ),
    "Recall": (
        chat.chat,
        reading.search,
        experience.query,
        reading.get,
        reading.list_items,
        reading.due,
        planning.plan,
        reading.context,
        reading.sessions,
        reading.turns,
    ),
    "Learn": (
        experience.aggregate,
        experience.abstract,
        experience.feedback,
        traits.reflect,
        traits.traits,
        runs.runs,
        runs.learn,
        batch.batch,
    ),
    "Account for it": (
        reading.explain,
        experience.source,
        reading.history,
        writing.rollback,
        quarantine.quarantine,
    ),
    "Serve": (serving.serve, mcp.mcp, keys.keys),
    "Keep in order": (
        keeping.doctor,
        keeping.rebuild,
        keeping.rederive,
        keeping.retry,
        keeping.jobs,
        keeping.reembed,
        reasoning.rebuild_claim_index,
        migrating.migrate_memories,
        forgetting.forget,
        forgetting.unarchive,
        keeping.erase,
        keeping.export,
        importing.import_,
        keeping.worker,
        keeping.db,
        completion.completion,
    ),
}


class Sections(click.Group):
    """A group whose help lists its commands under headings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names in the order of the headings."""
        _ = ctx
        return [command.name or "" for commands in SECTIONS.values() for command in commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading with its commands."""
        room = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(command.name or "", command.get_short_help_str(room)) for command in commands])


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="phronesis", message="%(prog)s %(version)s")
def cli() -> None:
    """A memory for AI agents: what happened, what was learned from it, and the evidence for every line."""


for _commands in SECTIONS.values():
    for _command in _commands:
        cli.add_command(_command)

examples.with_examples(cli)
