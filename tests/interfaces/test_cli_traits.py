"""The commands of traits: from memories that repeat to a trait that is read, corrected and taken away."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, status
from phronesis import Memory
from phronesis.traits.laws.records import Trait
from phronesis.traits.rule_reflection import RULES_VERSION
from scripted_reflections import Script, policy
from set_clock import Clock

SAID = "I ran along the river on Monday morning."
NOBODY = "00000000-0000-5000-8000-000000000000"


@pytest.fixture
def weeks() -> Clock:
    """A clock that begins some weeks ago."""
    return Clock(datetime.now(UTC) - timedelta(weeks=8))


@pytest.fixture
def trait(store: str, weeks: Clock) -> Trait:
    """A trait by rules: the same is told in four sessions, a week apart."""
    with Memory.open(store, clock=weeks) as memory:
        for n in range(4):
            weeks.pass_days(7)
            memory.add(SAID, user_id="lin", session_id=f"run/{n}")
            weeks.pass_hours(1)
            memory.reflect("lin")
        (found,) = memory.get_user_traits("lin")
    return found


def test_from_memories_to_a_trait(call: Any) -> None:
    check = ("reflect", "--user", "lin", "--check")
    assert call(*check).out.startswith("not due: nothing new was learned\n    0 new memories, importance 0 of 30; ")
    assert call("learn", "traits", "--user", "lin").out == "no trait is known there\n"
    assert call("learn", "traits", "cycles", "--user", "lin").out == "nobody reflected there\n"
    for n in range(3):
        call("add", SAID, "--user", "lin", "--session", f"run/{n}", "--occurred-at", f"2026-01-{5 + 7 * n:02}T08:00")
    due = call(*check, "--json").json
    assert (due["due"], due["reason"], due["new_memories"]) == (True, "first", 3)
    assert call(*check).out.startswith("due: the first time\n    3 new memories, importance ")
    done = call("learn", "reflect", "--user", "lin").out.splitlines()
    assert done[0] == "reflected on 3 new memories (the first time): 1 created"
    assert done[2] == f"    by {RULES_VERSION}; no model was asked"
    assert done[3].startswith("new: candidate 0.40  ")
    assert call("learn", "reflect", "--user", "lin", "--json").json["status"] == "not_due"
    call("add", SAID, "--user", "lin", "--session", "run/3", "--occurred-at", "2026-01-26T08:00")
    assert call("learn", "reflect", "--user", "lin").out.startswith("not due: too little is new, and too soon\n")
    ended = call("learn", "reflect", "--user", "lin", "--session-ended").out
    assert ended.startswith("reflected on 1 new memory (a session ended): 1 reinforced\n")
    assert "candidate 0.40 → emerging 0.49  " in ended
    assert call("rollback", ended.split()[-1]).code == 0
    (row,) = call("learn", "traits", "--user", "lin", "--min-stage", "trend", "--json").json
    assert (row["stage"], len(row["evidence"])) == ("candidate", 3)


def test_a_trait_is_shown_with_its_evidence(call: Any, trait: Trait, weeks: Clock) -> None:
    listed = call("learn", "traits", "--user", "lin").out.splitlines()
    assert listed[0].split() == ["trait", "stage", "confidence", "subtype", "context", "for:against"]
    assert listed[1].split()[:4] == [trait.id[-8:], "emerging", "0.48", "behavior"]
    assert listed[1].endswith(trait.content)
    shown = call("learn", "traits", "show", trait.citation).out.splitlines()
    assert shown[0] == trait.content
    assert "confidence  0.478, as of the last reflection" in shown
    first = shown.index("for it: 4")
    assert [line.split()[0:3:2] for line in shown[first + 1 :]] == [["C", f"run/{n}"] for n in range(4)]
    assert all("along the river" in line for line in shown[first + 1 :])
    read = call("learn", "traits", "show", trait.id, "--json").json
    assert [row["session_id"] for row in read["evidence"]] == [f"run/{n}" for n in range(4)]
    past = (weeks.now - timedelta(days=3)).isoformat()
    assert "stage       candidate" in call("learn", "traits", "show", trait.id, "--as-of", past).out
    assert call("learn", "traits", "list", "--user", "lin", "--as-of", past).out == "no trait is known there\n"
    assert call("learn", "traits", "--user", "lin", "--as-of", past, "--min-stage", "candidate", "--json").json
    assert call("learn", "traits", "--user", "lin", "--subtype", "core").out == "no trait is known there\n"
    got = call("get", trait.id).out
    assert "stage       emerging\n" in got
    assert "for it: 4\n" in got
    assert "{" not in got
    explained = call("explain", trait.id).out
    assert f"trait  emerging  inferred  {trait.first_observed:%Y-%m-%d}  user lin  {trait.id[-8:]}" in explained
    assert "run/3" in explained.partition("history")[0]
    changes = call("memory", "history", trait.id).out
    assert "cap candidate → core, " in changes
    assert changes.count("    evidence: + support C 20") == 4
    assert "reflection on 1 new memory (elapsed 169): 1 reinforced" in call("list", "--user", "lin").out
    cycle = call("list", "--user", "lin", "--kind", "cycle", "--json").json[0]["id"]
    assert call("get", cycle).out.startswith("reflection on 1 new memory (elapsed 169): 1 reinforced\n")
    rows = call("learn", "traits", "cycles", "--user", "lin").out.splitlines()
    assert [line.split()[2] for line in rows[1:]] == ["completed"] * 4
    assert "1 created" in rows[2]
    cycles = call("learn", "traits", "cycles", "--user", "lin", "--json").json
    assert [row["traits_reinforced"] for row in cycles] == [1, 0, 0, 0]


def test_a_person_corrects_a_trait_and_takes_it_away(call: Any, trait: Trait) -> None:
    asked = ("traits", "correct", trait.id, "--content", "Runs before work", "--context", "personal")
    assert "v3  active  Runs before work" in call(*asked, "--reason", "more exact").out
    shown = call("learn", "traits", "show", trait.id).out
    assert "corrected   by a person: content, context\n" in shown
    assert "correct_trait by user: more exact" in call("memory", "history", trait.id).out
    assert call("learn", "traits", "--user", "lin", "--context", "personal").out.endswith("Runs before work\n")
    gone = call("learn", "traits", "delete", trait.id, "--reason", "not me")
    assert "retracted  Runs before work" in gone.out
    assert call("learn", "traits", "--user", "lin", "--min-stage", "trend").out == "no trait is known there\n"
    assert "ended       retracted 20" in call("learn", "traits", "show", trait.id).out
    call("add", SAID, "--user", "lin", "--session", "run/4")
    assert "new:" not in call("learn", "reflect", "--user", "lin", "--force").out
    assert call("rollback", gone.out.split()[-1]).code == 0
    assert call("learn", "traits", "--user", "lin", "--min-stage", "trend").out.count("\n") == 2


@pytest.fixture
def model(tmp_path: Path) -> Iterator[tuple[ModelServer, Script, str]]:
    script = Script()
    with ModelServer(script) as server:
        brain = tmp_path / "brain.yml"
        brain.write_text(json.dumps(policy(server)), "utf-8")  # JSON is YAML
        yield server, script, str(brain)


def test_a_model_is_asked_and_its_failures_are_said(call: Any, model: tuple[ModelServer, Script, str]) -> None:
    server, script, brain = model
    stated = ("--kind", "episodic", "--user", "lin", "--json")
    ids = [call("add", f"Lin tested before merging, {n}", *stated).json["items"][0]["id"] for n in range(3)]
    asked = ("reflect", "--user", "lin", "--force", "--policy", brain)
    server.answers(status(500))
    away = call(*asked)
    assert (away.code, away.err) == (1, "")
    assert away.out.startswith("the round was skipped (model.unavailable): nothing changed, and the next one")
    assert "rollback" not in away.out
    assert call(*asked, "--json").code == 1
    server.answers(script)
    script.answer = {
        "new_trends": [{"content": "Tests more of late", "evidence_ids": ids[:1], "window_days": 14}],
        "new_behaviors": [{"content": "Sings", "evidence_ids": ids[:2]}],
    }
    done = call(*asked).out.splitlines()
    assert done[0] == "reflected on 3 new memories (forced): 1 created"
    assert done[2] == "    by scripted/m reflect/2; 1 call, 120 tokens"
    assert done[3].startswith("new: trend to 20")
    assert done[4].startswith("refused (too_few_memories) of new_behaviors: Sings; it names 2 memories")
    shown = call("learn", "traits", "--user", "lin", "--min-stage", "trend", "--json").json[0]["id"]
    assert ", 14 days\n" in call("learn", "traits", "show", shown).out
    rows = call("learn", "traits", "cycles", "--user", "lin").out.splitlines()
    assert ["model.unavailable" in line for line in rows[1:]] == [False, True, True]
    assert call("list", "--user", "lin").out.count("skipped (model.unavailable)") == 2


def test_mistakes(call: Any, trait: Trait) -> None:
    memory = trait.evidence[0].memory_id
    for arguments, code in (
        (("reflect",), 2),
        (("traits",), 2),
        (("traits", "--user", "lin", "--min-stage", "sure"), 2),
        (("traits", "shwo"), 2),
        (("traits", "show", "nonsense"), 2),
        (("traits", "show", memory), 2),
        (("traits", "delete", memory), 2),
        (("traits", "correct", trait.id), 2),
        (("traits", "correct", memory, "--content", "x"), 2),
        (("traits", "show", NOBODY), 1),
        (("traits", "delete", NOBODY), 1),
        (("traits", "cycles", "--user", "lin", "--limit", "0"), 2),
    ):
        done = call(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (code, "", 1), arguments
