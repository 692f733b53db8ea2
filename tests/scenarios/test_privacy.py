"""Secrets and personal numbers: what a write stores of them, what contexts show, and what the policy changes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.errors import IdempotencyConflict, InputError

PASSWORD = "hunter22"  # noqa: S105
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
CARD = "4111 1111 1111 1111"
LEAKS = (PASSWORD, TOKEN, CARD)
SAID = f"my database password is {PASSWORD}, the token {TOKEN}, the card {CARD}"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path}/m.db") as opened:
        yield opened


def logged(memory: Memory, tmp_path: Path) -> str:
    """Give all that the log holds, as it is exported."""
    memory.export(tmp_path / "log.jsonl")
    return (tmp_path / "log.jsonl").read_text("utf-8")


def turn(memory: Memory) -> Any:
    call = {
        "name": "login",
        "args": {"password": PASSWORD, "n": [SAID]},
        "result": {"stdout": SAID},
        "status": "ok",
        "metadata": {"note": SAID},
    }
    refs = [{"type": "url", "uri": f"https://bob:{PASSWORD}@example.com/", "metadata": {"token": TOKEN}}]
    events = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": SAID}], "metadata": {"pw": PASSWORD}}],
        "tool_calls": [call],
        "refs": refs,
        "session_metadata": {"api_key": TOKEN},
    }
    return memory.commit_turn("s", events, user_id="lin")


def rewritten(memory: Memory) -> Any:
    item = memory.add("The database is on db1.", user_id="lin", kind="fact").items[0]
    return memory.update(item.id, content=SAID, metadata={"note": SAID}, reason=SAID)


def run(memory: Memory) -> Any:
    given = {"run_id": "r", "output": {"M1": "Cu", "note": SAID}, "raw": SAID, "trace": {"steps": [SAID]}}
    assert memory.runs.record(given) == memory.runs.record(given) == "r"
    memory.runs.feedback("r", {"products": [], "pros": SAID, "cons": "", "other": ""})
    return None


WRITES: dict[str, Callable[[Memory], Any]] = {
    "add": lambda m: m.add(SAID, user_id="lin"),
    "item": lambda m: m.add(SAID, user_id="lin", kind="fact", key="password", value=PASSWORD),
    "turn": turn,
    "update": rewritten,
    "ingest": lambda m: m.ingest(
        {
            "situation": SAID,
            "attempt": SAID,
            "label": "success",
            "source_ref": "ci/1",
            "payload": {"env": {"DB_PASSWORD": PASSWORD}, "log": SAID},
        }
    ),
    "source": lambda m: m.resources.ingest_source(f"$ deploy\n{SAID}\nerror: exit 1\n", source_type="log"),
    "resource": lambda m: m.resources.ingest(f"# Access\n\n{SAID}\n\n# Next\n\nHarbour.", metadata={"note": SAID}),
    "run": run,
}


@pytest.mark.parametrize("verb", WRITES)
def test_no_write_stores_a_secret(verb: str, memory: Memory, tmp_path: Path) -> None:
    done = WRITES[verb](memory)
    log = logged(memory, tmp_path)
    assert not [one for one in LEAKS if one in log]
    assert "[secret: password]" in log
    if done is not None:
        told = {(one.rule, one.text) for one in done.gated if one.place}
        assert {
            ("secret", "[secret: password]"),
            ("secret", "[secret: github token]"),
            ("personal_number", "[card number]"),
        } <= told
        assert not [leak for leak in LEAKS if leak in str(done.gated)]
    assert memory.admin.rebuild(verify=True).equal


def test_the_place_is_named_and_the_rest_of_the_text_stays(memory: Memory) -> None:
    done = memory.commit_turn(
        "s", {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": f"It is {TOKEN}, ok?"}]}
    )
    assert [(one.place, one.text) for one in done.gated if one.place] == [
        ("messages[1].content", "[secret: github token]")
    ]
    assert memory.sessions.turns("s")[0].messages[1]["content"] == "It is [secret: github token], ok?"


def test_nothing_is_learned_from_a_marker_and_the_rest_of_the_message_is(memory: Memory) -> None:
    done = memory.add(f"I live in Lyon. My wifi password is {PASSWORD}.", user_id="lin")
    assert [(one.key, one.value) for one in done.items if one.kind != "message"] == [("home_city", "Lyon")]


def test_the_same_call_again_is_the_same_entry(memory: Memory) -> None:
    first, again = (memory.add(SAID, user_id="lin", idempotency_key="k") for _ in range(2))
    assert (first.entry_id, first.gated) == (again.entry_id, again.gated)
    with pytest.raises(IdempotencyConflict):
        memory.add("something else", user_id="lin", idempotency_key="k")


def test_sections_of_a_document_stand_where_their_text_does(memory: Memory) -> None:
    done = memory.resources.ingest(f"# A\n\npassword: {PASSWORD}\n\n# B\n\nThe harbour opens at nine.", uri="a.md")
    assert [one.content for one in done.sections] == ["password: [secret: password]", "The harbour opens at nine."]


def test_what_the_policy_keeps_is_stored_and_masked_in_contexts_until_it_shows_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory.open(url, policy={"privacy": {"secrets": "keep", "personal_numbers": "keep"}}) as memory:
        assert not [one for one in memory.add(SAID, user_id="lin", session_id="s").gated if one.place]
        memory.add("The harbour password is " + PASSWORD, user_id="lin", kind="fact", key="password", value=PASSWORD)
        assert PASSWORD in memory.search("database password", user_id="lin")[0].item.content
    with Memory.open(url) as memory:  # as what an older version stored
        check = next(one for one in memory.admin.doctor().checks if one.name == "secrets")
        assert (check.ok, check.level, check.detail.partition(" entries")[0]) == (False, "warning", "2")
        assert PASSWORD not in check.detail
        for session in ("s", "t"):
            package = memory.compose_context(session, "What is the database password?", user_id="lin")
            assert not [one for one in LEAKS if one in str(package.to_dict()) or one in package.text]
            assert "[secret: password]" in package.text
    with Memory.open(url, policy={"privacy": {"contexts": "show"}}) as memory:
        assert PASSWORD in memory.compose_context("t", "What is the database password?", user_id="lin").text


def test_the_policy_refuses_by_kind(tmp_path: Path) -> None:
    policy = {"privacy": {"secrets": "keep", "kinds": {"github_token": "refuse", "card_number": "keep"}}}
    with Memory.open(f"sqlite:///{tmp_path}/m.db", policy=policy) as memory:
        with pytest.raises(InputError, match=r"github token.*leave it out") as refused:
            memory.commit_turn("s", {"tool_calls": [{"name": "sh", "args": {"env": TOKEN}}]})
        assert refused.value.field == "tool_calls[0].args.env"
        assert TOKEN not in str(refused.value)
        assert not memory.sessions.list()
        memory.add(f"password: {PASSWORD} {CARD} DE89370400440532013000", user_id="lin")
        assert memory.get_all(user_id="lin")[0].content == f"password: {PASSWORD} {CARD} [iban]"
