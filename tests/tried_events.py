"""Events of a few matters that group by their words alone, patterns made of them, and a principle drawn by hand."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from phronesis import wiring
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName, item_id
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.engine.handler import Handler, Outcomes
from phronesis.engine.plugin import Engine, EngineSet, OpenEngine
from phronesis.experience.event_views import item_edge
from phronesis.experience.laws.records import L1Event, Pattern, Principle
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.wiring import find_engines

USER = "alice"
MATTERS: Mapping[str, tuple[str, str]] = {
    "token": ("Refreshing the gmail token before sending the newsletter", "failure"),
    "kernel": ("Pinning the kernel module version in the initramfs image", "failure"),
    "bread": ("Letting the sourdough proof in the cold fridge overnight", "success"),
    "scales": ("Practising the violin scales slowly with a metronome", "success"),
}


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


def attempt(matter: str, n: int, **given: Any) -> dict[str, Any]:
    text, label = MATTERS[matter]
    return {
        "attempt": f"{text} attempt number{n}",
        "result": f"{matter} ended with detail{n}",
        "label": label,
        "source_type": "manual",
        "source_ref": f"{matter}/{n}",
        **given,
    }


def apply_principle(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make a principle of the patterns that an entry names, and say what contradicts what."""
    said, at = entry.payload, entry.recorded_at
    known: dict[str, Any] = {"entry_id": entry.id, "recorded_at": at}
    made = Item(
        id=item_id(entry.id, "principle", ""),
        kind="principle",
        content=said["text"],
        updated_at=at,
        label=said.get("label"),
        data={"action": said["text"], **said.get("data", {})},
        **known,
        **view.scope_fields(),
    )
    named = {"item_id": made.id, "source_ref": said.get("ref"), "weight": said.get("weight", 1.0), **known}
    rows = [
        EvidenceRow(polarity=side, source_key=one, source_item_id=one, **named)
        for side in ("support", "contra")
        for one in said.get(side, ())
    ]
    edges = [item_edge("supports", row.source_key, made.id, entry.id) for row in rows]
    edges += [item_edge("contradicts", one, other, entry.id) for one, other in said.get("contradicts", ())]
    return Changes(items=[made], evidence=rows, edges=edges)


class Tried:
    """A store with the events of all matters, four of each, and their patterns by matter."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self.memory, self.clock = memory, clock
        self.events: dict[str, str] = {}
        self.try_(*((matter, n) for matter in MATTERS for n in range(4)))
        self.memory.aggregate(user_id=USER)

    def try_(self, *which: tuple[str, int], **given: Any) -> None:
        told = self.memory.ingest([attempt(matter, n, **given) for matter, n in which], user_id=USER)
        self.events |= {event.source_ref or "": event.id for event, _ in told}

    def patterns(self) -> list[Pattern]:
        found = self.memory.get_all(user_id=USER, kinds=["pattern"], limit=100)
        book = self.memory.admin.components.experience
        return [one for item in found if isinstance(one := book.record(self.memory.admin.tenant, item), Pattern)]

    def pattern(self, *matters: str) -> Pattern:
        """The pattern whose members are of exactly these matters."""
        [found] = [one for one in self.patterns() if self.matters(one) == set(matters)]
        return found

    def matters(self, pattern: Pattern) -> set[str]:
        names = {one: ref for ref, one in self.events.items()}
        return {names[one].partition("/")[0] for one, _ in pattern.members}

    def groups(self) -> list[list[str]]:
        """The source references of each pattern's members."""
        names = {one: ref for ref, one in self.events.items()}
        return sorted(sorted(names[one] for one, _ in pattern.members) for pattern in self.patterns())

    def again(self, item_id: str) -> Any:
        return self.memory.admin.components.experience.record(self.memory.admin.tenant, self.memory.get(item_id))

    def event(self, ref: str) -> L1Event:
        found: L1Event = self.again(self.events[ref])
        return found

    def principle(self, text: str, patterns: Sequence[str]) -> Principle:
        """Draw a principle from patterns."""
        written = self.memory.admin.components.writer.write(
            self.memory.admin.tenant,
            LaneName("user", USER),
            verb="draw",
            payload={"text": text, "support": list(patterns), "weight": 2.0},
            actor="tester",
        )
        changed = self.memory.admin.components.browser.made_by(self.memory.admin.tenant, written.entry)
        [made] = [one for one in changed if one.kind == "principle"]
        found: Principle = self.again(made.id)
        return found


@contextmanager
def trying(url: str, policy: Mapping[str, Any] | None = None) -> Iterator[Tried]:
    """Open a store of events by words alone, which knows a verb that draws principles."""
    clock = Clock()
    draw = Engine(name="draw", open=lambda _: OpenEngine(handlers=[Handler(verb="draw", apply=apply_principle)]))
    with mock.patch.object(wiring, "find_engines", return_value=EngineSet.of([*find_engines(), draw])):
        memory = Memory.open(url, policy={"embedder": "none", **(policy or {})}, clock=clock)
    with memory:
        yield Tried(memory, clock)
        assert memory.admin.rebuild(verify=True).equal
