"""A store with a clock that tests move, and the engines' entry points on one lane of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from claim_blocks import record_verdict
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.engine.edits import Call
from phronesis.engine.writer import WriteResult
from phronesis.experience.laws.records import L1Event
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import find_lane
from plain_mind import install

USER = "alice"

BESIDE = ("cycle", "mark")
"""Kinds that say what was done, and nothing of the world."""


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


class EngineStore:
    """One user's lane in a fresh SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.memory = Memory.open(f"sqlite:///{folder / 'engines.db'}", policy={"embedder": "none"}, clock=self.clock)
        self.mind = install(self.memory)
        self.call = Call(self.memory.admin.tenant, actor="tester")
        self.lane = LaneName("user", USER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.memory.close()

    @property
    def writer(self) -> Any:
        return self.memory._runtime._components.writer

    def reason(self, *claims: str | Mapping[str, Any], topic: str = "", scope: str | None = None) -> Item:
        made = self.memory.reasoning.add(block(*claims, topic=topic, scope=scope), user_id=USER)
        assert made.item is not None
        return made.item

    def judge(self, run_id: str, item: Item | str, **judgements: str) -> WriteResult:
        item_id = item if isinstance(item, str) else item.id
        rows = [{"item_id": item_id, "claim_id": claim, "judgement": said} for claim, said in judgements.items()]
        return record_verdict(self.writer, self.call, self.lane, run_id=run_id, judgements=rows)

    def state(self, value: str = "tea", *, times: int = 1, key: str = "drink") -> list[Item]:
        return [
            self.memory.add(
                f"Alice takes {value}", user_id=USER, kind="preference", subject=USER, key=key, value=value
            ).items[0]
            for _ in range(times)
        ]

    def reflect(self) -> WriteResult:
        """Reflect whatever is new; gives what was written, with the cycle among what it made."""
        seen = self.memory._runtime._components.reflector.current_view(self.memory.admin.tenant, self.lane)
        written: WriteResult = self.writer.write(
            self.call.tenant, self.lane, verb="reflect", payload={"force": True, **seen}, actor="tester"
        )
        return written

    def experience(self, attempt: str, label: Any = "success", **given: Any) -> L1Event:
        number = len(self.live("l1"))
        full = {"attempt": attempt, "label": label, "source_ref": f"log:{number}", **given}
        return self.memory.ingest(full, user_id=USER)[0][0]

    def aggregate(self, *, full: bool = False) -> WriteResult:
        payload = {"full": True} if full else {}
        written: WriteResult = self.writer.write(
            self.call.tenant, self.lane, verb="aggregate", payload=payload, actor="tester"
        )
        return written

    def live(self, *kinds: str) -> list[Item]:
        return [*self.memory.get_all(user_id=USER, kinds=list(kinds), limit=1000)]

    def evidence(self, item_id: str) -> Sequence[EvidenceRow]:
        with self.memory._runtime._components.database.transaction(self.memory.admin.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            assert lane is not None
            return LaneView(unit, lane).evidence([item_id]).get(item_id, [])

    def verified(self) -> bool:
        result = self.memory.admin.rebuild(verify=True)
        assert result.differences == ()
        return result.equal


def block(*claims: str | Mapping[str, Any], topic: str = "", scope: str | None = None) -> str:
    """A block of claims; of an id alone, one that holds."""
    full = [{"claim_id": one, "inference": f"{one} holds."} if isinstance(one, str) else dict(one) for one in claims]
    usual = {"status": "hypothesis", "facts": {"source_run_ids": ["r0"]}}
    lines = ["RBMEM_CLAIMS_V1", f"TOPIC={topic}", *([] if scope is None else [f"SCOPE={scope}"])]
    return "\n".join([*lines, "CLAIMS_JSON=" + json.dumps([usual | one for one in full], ensure_ascii=False)])


def made(written: WriteResult) -> list[Item]:
    assert written.applied is not None
    return [item for item in written.applied.settled.created if item.kind not in BESIDE]


def deltas(written: WriteResult) -> int:
    assert written.applied is not None
    settled = written.applied.settled
    beside = {item.id for item in settled.created if item.kind in BESIDE}
    beside |= {item.id for item in settled.updated if item.kind in BESIDE}
    beside |= {edge.from_id for edge in settled.changes.edges if edge.type == "similar"}  # memories that are linked
    return sum(delta.item_id not in beside for delta in settled.deltas)
