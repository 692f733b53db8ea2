"""Two defects that other memories of traits are known to have; other tests here hold that we have none of the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from told_traits import Told, again, against, telling, trend, upgrade, words


@pytest.fixture
def told(database_url: str) -> Iterator[Told]:
    with telling(database_url) as opened:
        yield opened
        assert opened.differences() == ()


@dataclass
class _Finding:
    topic: str


class _Watchful:
    """A guard that knows one matter, in a trait's words or in those of what shows it."""

    version = "watchful/1"

    def of_trait(self, content: str, evidence: Sequence[str]) -> _Finding | None:
        return _Finding("health") if any("malady" in text for text in (content, *evidence)) else None


def test_what_is_sensitive_is_refused_alone_and_its_words_are_not_kept(told: Told) -> None:
    """A list of words let paraphrases pass, and blocked what only sounded alike."""
    handler = told.memory.admin.components.writer.interpreter.stepper.registry["reflect"]
    object.__setattr__(handler, "prepare", replace(handler.prepare, guard=_Watchful()))  # type: ignore[type-var]
    told.behave("tea", cycles=1)
    told.behave("walks", cycles=1)
    told.remember("a", "b", "c", days=0.01)
    told.remember("malady", days=0.01)
    cycle = told.reflect(
        new_trends=[{"content": "Quokka of late has the malady", "evidence_ids": ["a"]}, trend("fine", "a")],
        new_behaviors=[
            {"content": "Quokka lives with a malady", "evidence_ids": ["a", "b", "c"]},
            {"content": "Quokka rests a lot", "evidence_ids": ["a", "b", "malady"]},
        ],
        reinforcements=[again("tea", "b")],
        upgrades=[
            {
                "from_trait_ids": ["tea", "walks"],
                "new_content": "Quokka fights a malady",
                "new_subtype": "preference",
                "reasoning": "both do",
            },
            upgrade("calm", "tea", "walks", reasoning="Quokka and the malady"),
        ],
    )
    assert cycle.status == "completed"
    assert {(one.operation, one.rule, one.content) for one in cycle.refused} == {
        (name, "sensitive", "") for name in ("new_trends", "new_behaviors", "upgrades")
    }
    assert len(cycle.refused) == 5
    assert cycle.refused[0].reason == "it speaks of health"
    assert (cycle.traits_created, cycle.traits_reinforced) == (1, 1)
    told.remember("no-1", days=0.01)
    told.reflect(contradictions=[against("tea", "no-1")])
    told.remember("no-2", days=0.01)
    for said in (
        {"action": "modify", "new_content": "Quokka drinks for the malady", "reasoning": "so it is"},
        {"action": "modify", "new_content": "Drinks less tea", "reasoning": "Quokka has the malady"},
        {
            "action": "split",
            "new_content": "",
            "reasoning": "",
            "split": [{"content": "Drinks tea", "context": "work"}, {"content": "Quokka malady", "context": "social"}],
        },
    ):
        cycle = told.reflect(contradictions=[against("tea", "no-2")], special={"tea": said})
        told.remember("no-more", days=0.01)
        assert ("special_reflection", "sensitive") in [(one.operation, one.rule) for one in cycle.refused]
        assert told.trait("tea").content == words("tea")
    told.memory.flush()
    assert "Quokka" not in _everything_in(told)


def _everything_in(told: Told) -> str:
    with told.memory.admin.components.database.transaction(told.memory.admin.tenant, "read") as unit:
        query = (
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            if unit.dialect == "sqlite"
            else "SELECT table_name FROM information_schema.tables WHERE starts_with(table_schema, 'phronesis')"
        )
        names = [str(name) for name in unit.connection.exec_driver_sql(query).scalars()]
        rows = [str(unit.connection.exec_driver_sql(f"SELECT * FROM {name}").all()) for name in names]
    return "\n".join(rows)
