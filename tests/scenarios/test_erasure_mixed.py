"""Whatever was done before and after, an erasure leaves no trace and a store that its log explains."""

import contextlib
import random
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.errors import NotFound, RollbackConflict

VERBS = ("turn", "turn", "add", "fact", "update", "edit", "rollback", "rederive", "delete_all", "erase", "erase")


class Writer:
    """Calls verbs at random. Every text holds a number of its own, so that no two are alike by chance."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self.memory = memory
        self.chance = random.Random(seed)
        self.items: list[str] = []
        self.entries: list[str] = []
        self.n = 0

    def text(self, what: str) -> str:
        self.n += 1
        return f"{what} number {self.n} 第{self.n}句话，关于杭州 by Marguerite Duras of room {self.n}!"

    def step(self) -> None:
        verb, user = self.chance.choice(VERBS), self.chance.choice(["alice", "bob", None])
        with contextlib.suppress(NotFound, RollbackConflict, IndexError):  # nothing is there yet, or any more
            getattr(self, verb)(user)

    def turn(self, user: str | None) -> None:
        said = [{"role": "user", "content": self.text("Words")} for _ in range(self.chance.randint(1, 3))]
        if self.chance.random() < 0.5:
            said[0] |= {"id": "m1", "content": "A sentence that is said again and again"}
        wait = self.chance.random() < 0.8
        session = self.chance.choice(["s1", "s2"])
        made = self.memory.commit_turn(session, {"messages": said}, user_id=user, wait=wait)
        self.noted(made.entry_id, made.stored)

    def add(self, user: str | None) -> None:
        metadata = self.chance.choice([None, {"note": self.text("Note")}])
        session = self.chance.choice([None, "s1"])
        made = self.memory.add(self.text("Addition"), user_id=user, session_id=session, metadata=metadata)
        self.noted(made.entry_id, made.items)

    def fact(self, user: str | None) -> None:
        key = self.chance.choice(["alias", "city"])
        made = self.memory.add(
            self.text("Fact"),
            kind="fact",
            subject="Bob",
            key=key,
            value=self.text("Value"),
            user_id=user,
            session_id=self.chance.choice([None, "s1"]),
        )
        self.noted(made.entry_id, made.items)

    def update(self, _user: str | None) -> None:
        item = self.chance.choice(self.items)
        version = self.chance.choice([None, self.memory.get(item).version])
        made = self.memory.update(
            item, content=self.text("Change"), reason=self.text("Reason"), expected_version=version
        )
        self.entries.append(made.entry_id)

    def edit(self, _user: str | None) -> None:
        verb = self.chance.choice(["items.archive", "items.unarchive", "items.pin", "items.retract"])
        made = attrgetter(verb)(self.memory)(self.chance.choice(self.items), reason=self.text("Reason"))
        self.entries.append(made.entry_id)

    def rollback(self, _user: str | None) -> None:
        made = self.memory.rollback(self.chance.choice(self.entries), cascade=self.chance.random() < 0.5)
        self.entries.append(made.entry_id)

    def rederive(self, user: str | None) -> None:
        self.entries.append(self.memory.admin.rederive(user_id=user).entry_id)

    def delete_all(self, user: str | None) -> None:
        scope: dict[str, Any] = {"user_id": user} if user is not None else {"namespace": "default"}
        self.memory.items.delete_all(session_id="s1", **scope)

    def erase(self, user: str | None) -> None:
        named: dict[str, Any] = {} if user is None else {"user_id": user}
        what = self.chance.choice(["id", "id", "session", "user"])
        if what == "id":
            named = {"id": self.chance.choice(self.items)}
        elif what == "session" or user is None:
            named |= {"session_id": "s1"}
        before = {item: self.memory.get(item) for item in self.live()}
        certificate = self.memory.erase(**named)
        assert certificate.clean, (named, certificate.residue)
        result = self.memory.admin.rebuild(verify=True)
        assert result.equal, (named, result.differences)
        left = self.live()
        if what == "id":
            assert len(before) - len(left) == certificate.items_erased == 1
        for item in left:
            after = self.memory.get(item)
            assert (after.content, after.status, after.ended) == (
                before[item].content,
                before[item].status,
                before[item].ended,
            )

    def live(self) -> list[str]:
        out = []
        for item in self.items:
            try:
                self.memory.get(item)
            except NotFound:
                continue
            out.append(item)
        return out

    def noted(self, entry_id: str, made: Any) -> None:
        self.entries.append(entry_id)
        self.items += [item.id for item in made]


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_verbs(tmp_path: Path, seed: int) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy={"embedder": "none"}) as memory:
        writer = Writer(memory, seed)
        for _ in range(25):
            writer.step()
        result = memory.admin.rebuild(verify=True)
        assert result.equal, result.differences
