"""Random candidates and budgets by seed: what `drawn` draws, a hundred times as fast and without shrinking."""

import random
import uuid
from datetime import UTC, datetime, timedelta

from phronesis.core.context import Block, Budget, Candidates
from phronesis.core.items import Item, Trust
from phronesis.core.results import Evidence, Match
from unit.compose.drawn import HOSTILE, LEARNED, SHARED

ROLES = ("user", "assistant", "system", "developer", "tool", "User", 'user" x="', "")
NAMES = (None, "Anna", "system", "ＳＹＳＴＥＭ", "管理员", "小明")
LABELS = (None, "Profile", "Noted", "Due", "Profile:\n# Memory", "", "other")
RANGES = (
    (0x20, 0x7F),
    (0x20, 0x7F),
    (0xA0, 0x24F),
    (0x4E00, 0x9FFF),
    (0x0, 0xD7FF),
    (0xD800, 0xDFFF),
    (0xE000, 0x10FFFF),
)


class Made:
    """One package's candidates and budget; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def candidates(self) -> Candidates:
        chance = self._chance
        taken = {
            self._shared(): [self._shared() for _ in range(chance.randint(0, 2))] for _ in range(chance.randint(0, 6))
        }
        return Candidates(
            user_message=self.text(),
            system_blocks=self._blocks(5),
            working_summary=self._blocks(5),
            recent_turns=self._blocks(6),
            evidence=[self._evidence() for _ in range(chance.randint(0, 6))],
            taken_from=taken,
        )

    def budget(self) -> Budget:
        chance = self._chance
        slots = ("system_blocks", "working_summary", "recent_turns", "evidence")
        return Budget(
            total=chance.randint(0, 3_000),
            **{slot: chance.randint(-1, 1_500) for slot in slots},
            snippet_tokens=chance.randint(-1, 400),
            evidence_count=chance.randint(-1, 8),
            recent_turn_count=chance.randint(-1, 8),
        )

    def text(self) -> str:
        chance = self._chance
        parts = [
            chance.choice(HOSTILE) if chance.random() < 0.5 else self._letters() for _ in range(chance.randint(0, 8))
        ]
        return "".join(parts)

    def _letters(self) -> str:
        # `randint` for every letter took half the time of the laws.
        chance = self._chance
        ranges = chance.choices(RANGES, k=chance.randint(0, 30))
        return "".join([chr(low + int(chance.random() * (high - low + 1))) for low, high in ranges])

    def _name(self) -> str | None:
        return self._chance.choice(NAMES) if self._chance.random() < 0.7 else self.text()

    def _id(self) -> str:
        chance = self._chance
        return (
            chance.choice(SHARED) if chance.random() < 0.5 else str(uuid.UUID(int=chance.getrandbits(128), version=5))
        )

    def _shared(self) -> str:
        return f"mem:{self._chance.choice(SHARED)}"

    def _time(self) -> datetime | None:
        chance = self._chance
        return (
            datetime(1, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(300_000_000_000))
            if chance.random() < 0.7
            else None
        )

    def _blocks(self, most: int) -> list[Block]:
        return [self._block() for _ in range(self._chance.randint(0, most))]

    def _block(self) -> Block:
        chance = self._chance
        return Block(
            text=self.text(),
            citations=[f"mem:{self._id()}" for _ in range(chance.randint(0, 5))],
            role=chance.choice(ROLES),
            name=self._name(),
            fenced=chance.random() < 0.5,
            label=chance.choice(LABELS),
            about=self.text() if chance.random() < 0.5 else "",
            place=chance.randint(-2, 2),
        )

    def _reference(self) -> str | None:
        chance = self._chance
        return (
            f"{chance.choice(['', 'file:///'])}{self.text()}{chance.choice(['', '#L7-L12'])}"
            if chance.random() < 0.7
            else None
        )

    def _section(self) -> dict[str, object]:
        path = [self._name() for _ in range(self._chance.randint(0, 4))]
        return {"title": self._name(), "path": path, "uri": self._reference()}

    def _evidence(self) -> Evidence:
        chance = self._chance
        content = self.text()
        start = chance.randint(0, max(0, len(content) - 1))
        item = Item(
            id=self._id(),
            kind=chance.choice(["message", "fact", "section"]),
            content=content,
            entry_id="e",
            recorded_at=LEARNED,
            data=self._section(),
            source_ref=self._reference(),
            updated_at=LEARNED,
            trust=chance.choice(list(Trust)),
            role=chance.choice([None, *ROLES]),
            name=self._name(),
            occurred_at=self._time(),
            ended=chance.choice([None, "superseded"]),
            valid_to=self._time(),
            session_id=self._name(),
        )
        snippet = chance.choice([content[start : start + 40], self.text()])
        part = chance.choice(["whole", f"chunk:{start}"])
        matched = [Match("m", part, snippet, 0.5)] if chance.random() < 0.5 else []
        return Evidence(item, 1.0, matched, conflicts=[self._id() for _ in range(chance.randint(0, 5))])
