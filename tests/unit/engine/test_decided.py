"""What the reader doubts is settled by the role decide: whether it is stated, and what it does to a held item."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from custom_store import open_with
from phronesis.conversation import handlers
from phronesis.conversation.extraction.context import DecidingExtractor
from phronesis.conversation.extraction.extractor import LocalExtractor, MessageExtractor
from phronesis.conversation.extraction.gate import Gate
from phronesis.engine.handler import PrepareContext
from phronesis.errors import ModelUnavailable
from phronesis.memory import Memory
from phronesis.models.decision import NOT_STATED, REPLACES, STATED, Decision, Question

KINDS = ["profile", "preference", "fact"]


@dataclass
class ScriptedDecider:
    options: Mapping[str, Decision | Exception]
    name: str = "test/decider"
    asked: list[Question] = field(default_factory=list)

    def decide(self, _tenant: str, question: Question) -> Decision:
        self.asked.append(question)
        step = self.options[question.kind]
        if isinstance(step, Exception):
            raise step
        return step


def find(bench: PrepareContext, _text: str) -> list[str]:
    with bench.view() as view:
        return [item.id for item in view.find(kinds=KINDS)]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[ScriptedDecider], Memory]]:
    stores: list[Memory] = []

    def make(decider: ScriptedDecider) -> Memory:
        # A gate that nothing passes by itself: the reader is sure of nothing.
        local = LocalExtractor(MessageExtractor(gate=Gate(user=0.999), doubts=True))
        prepare = DecidingExtractor(local, decider, find)
        stores.append(open_with(f"sqlite:///{tmp_path / f'{len(stores)}.db'}", handlers.handlers(prepare)))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def held(memory: Memory) -> list[str]:
    return [item.content for item in memory.get_all(user_id="lin", kinds=KINDS)]


def test_what_is_decided_to_be_stated_is_kept_and_a_replay_asks_nobody(
    opened: Callable[[ScriptedDecider], Memory],
) -> None:
    decider = ScriptedDecider({"gate": Decision(STATED, 0.95)})
    memory = opened(decider)
    memory.add("I live in Lyon.", user_id="lin")
    assert held(memory) == ["I live in Lyon"]
    asked = len(decider.asked)
    assert memory.admin.rebuild(verify=True).equal
    assert len(decider.asked) == asked


@pytest.mark.parametrize("decision", [Decision(NOT_STATED, 0.9), Decision(STATED, 0.6), ModelUnavailable("away")])
def test_what_is_not_surely_stated_makes_no_item(
    opened: Callable[[ScriptedDecider], Memory], decision: Decision | Exception
) -> None:
    memory = opened(ScriptedDecider({"gate": decision}))
    done = memory.add("I live in Lyon.", user_id="lin")
    assert held(memory) == []
    assert [one.role for one in done.degraded] == ["decide"] * isinstance(decision, Exception)


def test_a_similar_held_item_is_replaced_when_that_is_decided(opened: Callable[[ScriptedDecider], Memory]) -> None:
    memory = opened(ScriptedDecider({"gate": Decision(STATED, 0.9), "supersede": Decision(REPLACES, 0.9)}))
    memory.add("I like green tea.", user_id="lin")
    memory.add("I like coffee.", user_id="lin")
    assert held(memory) == ["I like coffee"]
    assert memory.admin.rebuild(verify=True).equal
