"""``phronesis chat`` with scripted input, with a scripted server of models and with none."""

import sys
from pathlib import Path
from typing import Any

import pytest

import model_server as servers
from model_server import ModelServer
from phronesis.interfaces.cli.chat import Conversation, _lines

POLICY = """\
version: 1
embedder: none
gateways:
  lab: {{kind: openai, base_url: "{url}", timeout: 30, tries: 1}}
roles:
  chat: {{gateway: lab, model: small}}
"""
ARGUMENTS = ("chat", "--user", "lin", "--session", "s")


@pytest.fixture
def talk(call: Any) -> Any:
    def talk(*lines: str, extra: tuple[str, ...] = ()) -> Any:
        return call(*ARGUMENTS, *extra, stdin="".join(f"{line}\n" for line in lines).encode())

    return talk


@pytest.fixture
def brain(tmp_path: Path) -> Any:
    def write(url: str) -> tuple[str, str]:
        path = tmp_path / "brain.yml"
        path.write_text(POLICY.format(url=url), encoding="utf-8")
        return "--policy", str(path)

    return write


def turns(call: Any) -> list[list[str]]:
    found = call("sessions", "show", "s", "--user", "lin", "--json").json
    return [[message["content"] for message in turn["messages"]] for turn in found]


def test_without_a_model_what_would_be_sent_is_shown_and_what_was_said_is_kept(call: Any, talk: Any) -> None:
    call("add", "Likes tea.", "--kind", "preference", "--user", "lin")
    told = talk("我住在北京。", "", "Where do I live?", "/quit", "never read")
    assert told.code == 0
    assert told.err.strip() == "no model has the role chat: what would be sent to one is shown"
    assert "Preferences:\n[m1] " in told.out
    assert told.out.endswith("# User message\nWhere do I live?\n")
    assert "\x1b" not in told.out
    assert turns(call) == [["我住在北京。"], ["Where do I live?"]]


def test_a_model_answers_from_the_context_and_both_are_kept(call: Any, talk: Any, brain: Any) -> None:
    call("add", "My cat is called Miso.", "--user", "lin", "--session", "old")
    with ModelServer(servers.chat("Miso! \x1b[2J"), servers.chat("好的。")) as server:
        extra = brain(server.base_url)
        told = talk("What is my cat called?", "请用中文。", extra=extra)
        bodies = [request.body for request in server.requests]
    assert (told.code, told.err) == (0, "")
    assert told.out == "Miso! \ufffd[2J\n好的。\n"
    assert "Pet: Miso" in bodies[0]["messages"][0]["content"]
    assert "response_format" not in bodies[0]
    assert [one["role"] for one in bodies[1]["messages"]][-3:] == ["user", "assistant", "user"]
    kept = turns(call)
    assert [said[0] for said in kept] == ["What is my cat called?", "请用中文。"]
    assert kept[1][1] == "好的。"
    with ModelServer(servers.status(500)) as server:  # away: one line, and what was said is kept until it is undone
        told = talk("Hello there", "/undo", extra=brain(server.base_url))
    assert (told.code, told.err.strip()) == (0, "chat: lab/small gave no answer (model.unavailable)")
    assert told.out == "the last turn is not remembered any more\n"
    assert "Hello there" not in {item["content"] for item in call("list", "--user", "lin", "--json").json}


def test_why_quotes_the_sources_and_context_shows_what_was_sent(call: Any, talk: Any) -> None:
    call("add", "My cat is called Miso.", "--user", "lin", "--session", "old")
    told = talk("/why", "/context", "What is my cat called?", "/context", "/why")
    assert told.err.splitlines()[1:] == ["nothing was asked yet", "nothing was asked yet"]
    first, _, rest = told.out.partition("My cat is called Miso\n   profile")
    assert first.count("# User message\nWhat is my cat called?") == 2
    assert "“My cat is called Miso”" in rest
    assert "session old" in rest
    assert talk("zzz", "/why", extra=("--user", "nobody")).out.endswith("the last context cites no memory\n")


def test_forget_shows_asks_and_archives_and_undo_brings_it_back(call: Any, talk: Any) -> None:
    added = call("add", "门禁卡编号是 4711x。", "--user", "lin", "--session", "old", "--json").json
    told = talk("/forget 门禁卡", "no", "/forget 门禁卡", "all")
    assert "1. 门禁卡编号是 4711x。" in told.out
    assert "forget which? numbers, all, or anything else for none\nnothing was forgotten\n" in told.out
    assert told.out.endswith("forgotten: 2; /undo takes it back\n")  # the message, and the number taken from it
    citation = f"mem:{added['items'][0]['id']}"
    assert call("get", citation, "--json").json["status"] == "archived"
    assert "4711x" not in talk("门禁卡编号是多少？").out
    call("add", "A second secret.", "--user", "lin")
    told = talk("/forget second secret", "all", "/undo", "/undo", "/forget nothing of the kind", "/forget")
    assert "what was forgotten is remembered again\nthere is nothing to take back\n" in told.out
    assert told.err.splitlines()[-1].startswith("phronesis: forget what?")
    (identity,) = (one["id"] for one in call("list", "--user", "lin", "--json").json if "second" in one["content"])
    another = identity[:-1] + ("0" if identity[-1] != "0" else "1")
    told = talk(f"/forget {identity[-8:]}", "yes", f"/forget mem:{another}", "/nonsense", "/help")
    assert "forgotten: 1" in told.out
    assert "/undo" in told.out
    assert "[not_found]" in told.err
    assert "there is no /nonsense; /help lists what there is" in told.err


def test_ctrl_c_ends_the_prompt_and_only_interrupts_an_answer(
    call: Any, talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def interrupted(self: Any, line: str, following: Any) -> bool:
        taken.append(line)
        raise KeyboardInterrupt

    monkeypatch.setattr(Conversation, "take", interrupted)
    told = talk("one", "two")
    assert (told.code, taken) == (0, ["one", "two"])
    assert told.err.splitlines()[-2:] == ["interrupted", "interrupted"]

    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert list(_lines()) == []
