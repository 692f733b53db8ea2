"""One user whose model reflects by a script: memories, traits and reflections are called by the names of a test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from model_server import ModelServer
from phronesis.memory import Memory
from phronesis.traits.laws.records import ReflectionCycle, Trait
from scenarios.engines import Clock
from scripted_reflections import Script, policy

USER = "wen"


@dataclass
class Told:
    """A Memory, its clock and its model."""

    memory: Memory
    clock: Clock
    script: Script
    server: ModelServer

    @property
    def said(self) -> dict[str, str]:
        """By name, the sentences of traits."""
        return self.script.said

    @property
    def ids(self) -> dict[str, str]:
        """By name, the ids of memories and traits."""
        return self.script.ids

    @property
    def asked(self) -> list[str]:
        """The forms that the model was asked for, in order."""
        return [form for form, _ in self.script.asked]

    def remember(self, *names: str, days: float = 0, **more: Any) -> None:
        """State a memory for each name, so many days after what was last told."""
        self.clock.pass_days(days)
        for name in names:
            given = {"kind": "episodic", "session_id": f"s-{name}", "user_id": USER, **more}
            self.ids[name] = self.memory.add(f"Once more it was {name}, as ever", **given).items[0].id

    def reflect(self, *, days: float = 0, **given: Any) -> ReflectionCycle:
        """Reflect by force, the model wishing so; ``special`` is what it says of traits that too much contradicts."""
        self.operation(**{name: given.pop(name) for name in list(given) if name in WISHED})
        self.clock.pass_days(days)
        cycle = self.memory.reflect(USER, **({"force": True} | given))
        self.learn_names()
        return cycle

    def operation(self, special: Mapping[str, Any] | None = None, **lists: Any) -> None:
        """Let the model operation so from now on."""
        self.script.answer, self.script.special = lists, special or {}
        proposed = [operation for listed in lists.values() for operation in listed]
        proposed += [side for said in (special or {}).values() for side in said.get("split") or ()]
        self.said.update(
            {
                operation["as"]: operation.get("content") or operation["new_content"]
                for operation in proposed
                if "as" in operation
            }
        )

    def learn_names(self) -> None:
        """Find out the ids of what was made."""
        unknown = {words: name for name, words in self.said.items() if name not in self.ids}
        if unknown:
            for one in self.memory.get_all(user_id=USER, kinds=["trait"], limit=1000):
                if one.content in unknown:
                    self.ids[unknown.pop(one.content)] = one.id

    def trait(self, name: str, **when: Any) -> Trait:
        """Give a trait, whatever became of it."""
        found = self.memory.get(self.ids[name], **when)
        assert isinstance(found, Trait)
        return found

    def stands(self, name: str) -> tuple[str | None, float | None]:
        """Give a trait's stage and confidence."""
        found = self.trait(name)
        return found.stage, None if found.confidence is None else round(found.confidence, 4)

    def shown(self, min_stage: str = "trend", **asked: Any) -> list[str]:
        """Give the names of the traits that are listed."""
        self.learn_names()
        names = {item: name for name, item in self.ids.items()}
        return [names[one.id] for one in self.memory.get_user_traits(USER, min_stage, **asked)]

    def behave(self, name: str, *, cycles: int = 0, grade: str = "A", **more: Any) -> None:
        """Make a behaviour of three memories, and reinforce it in so many later cycles."""
        first = [f"{name}-{n}" for n in range(3)]
        self.remember(*first)
        self.reflect(new_behaviors=[behavior(name, *first, **more)])
        for n in range(cycles):
            self.remember(f"{name}-again-{n}", days=0.01)
            self.reflect(reinforcements=[again(name, f"{name}-again-{n}", grade=grade)])

    def differences(self) -> tuple[str, ...]:
        """Give what differs between the store and a replay of its log: nothing."""
        found = self.memory.admin.rebuild(verify=True)
        return () if found.equal else tuple(found.differences)


WISHED = ("special", "new_trends", "new_behaviors", "reinforcements", "contradictions", "upgrades")


@contextmanager
def telling(url: str, *roles: str, **more: Any) -> Iterator[Told]:
    """Open a store in which a scripted model has these roles."""
    script, clock = Script(), Clock()
    with ModelServer(script) as server, Memory.open(url, policy=policy(server, *roles, **more), clock=clock) as memory:
        yield Told(memory, clock, script, server)


def trend(name: str, *evidence: str, **more: Any) -> dict[str, Any]:
    """Give the operation of a trend."""
    return {"as": name, "content": words(name), "evidence_ids": list(evidence), **more}


def behavior(name: str, *evidence: str, **more: Any) -> dict[str, Any]:
    """Give the operation of a behaviour."""
    return {"as": name, "content": words(name), "evidence_ids": list(evidence), **more}


def again(name: str, *evidence: str, grade: str = "C") -> dict[str, Any]:
    """Give the operation of a reinforcement."""
    return {"trait_id": name, "new_evidence_ids": list(evidence), "quality_grade": grade}


def against(name: str, *evidence: str) -> dict[str, Any]:
    """Give the operation of a contradiction."""
    return {"trait_id": name, "contradicting_evidence_ids": list(evidence)}


def upgrade(name: str, *traits: str, subtype: str = "preference", **more: Any) -> dict[str, Any]:
    """Give the operation of an upgrade."""
    return {
        "as": name,
        "from_trait_ids": list(traits),
        "new_content": words(name),
        "new_subtype": subtype,
        "reasoning": "they point to it",
        **more,
    }


def words(name: str) -> str:
    """Give the sentence of a trait."""
    return f"Is given to {name}"
