"""Every command, called as a user would."""

import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from phronesis import Memory, __version__
from phronesis.core.ids import short_id
from phronesis.core.retrieval_plan import RetrievalPlan
from phronesis.interfaces.cli.command_tree import FORMER, SECTIONS
from phronesis.interfaces.cli.commands import cli, every_command, find_command, lines_of
from phronesis.interfaces.cli.dispatch import run
from phronesis.interfaces.cli.output import Progress, show_waiting

NOBODY = "00000000-0000-5000-8000-000000000000"


COMMANDS = [(tuple(path.split()), command) for path, command in every_command(cli)]

WITHOUT_JSON = {"demo": "a story told to a person; its store can be asked with --json"}
"""Commands that take no --json, each with the reason."""


def added(call: Any, *arguments: str) -> str:
    identity: str = call("add", *arguments, "--json").json["items"][0]["id"]
    return identity


def test_every_command_has_help_an_example_and_the_options_of_a_store(call: Any) -> None:
    for path, command in COMMANDS:
        named, shown = " ".join(path), call(*path, "--help")
        assert (shown.code, shown.err) == (0, ""), named
        assert not command.get_short_help_str(60).endswith("..."), "its first sentence is too long for the list"
        assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option)), named
        assert "\n\n" in str(command.help), "it needs a paragraph below its first sentence"
        if not isinstance(command, click.Group):
            assert lines_of(named), "it needs an example in phronesis.interfaces.cli.command_tree"
            assert all(f"    {line}\n" in shown.out for line in lines_of(named)), named
            options = {option for parameter in command.params for option in parameter.opts}
            assert ("--json" in options) is not (named in WITHOUT_JSON), named
            assert {"--url", "--tenant"} <= options or path[0] in {"demo", "bench"} or path[-1] == "check-claims", named


def test_version(call: Any) -> None:
    assert call("--version").out == f"phronesis {__version__}\n"


def test_the_help_lists_at_most_twenty_commands(call: Any) -> None:
    shown = call("--help").out
    listed = re.findall(r"^  ([a-z]+)  +[A-Z].*\.$", shown, re.MULTILINE)
    assert listed == [name for commands in SECTIONS.values() for name in commands]
    assert len(listed) <= 20
    assert all(f"\n{heading}:\n" in shown for heading in SECTIONS)
    assert not set(FORMER) & set(listed)


def test_the_benchmarks_are_listed_where_they_are_installed(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\n  bench " in call("--help").out
    monkeypatch.setattr("phronesis.interfaces.cli.commands.find_spec", lambda _: None)
    assert "bench" not in call("--help").out


def test_former_names_still_run(call: Any) -> None:
    names = [path.split()[-1] for path, command in every_command(cli) if not isinstance(command, click.Group)]
    for former, now in FORMER.items():
        assert (former == "completion") is not (call(former, "--help").code == 0), former
        assert find_command([former])[0].name in {*names, *now, "cli"}, former
    assert call("completion", "zsh").out == call("--completion", "zsh").out
    assert call("turns", "none").out == call("sessions", "show", "none").out == "no such conversation there\n"
    failed = call("learn", "run-17")
    assert (failed.code, "phronesis runs learn RUN" in failed.err) == (2, True)


def test_a_group_with_a_default_runs_it(call: Any) -> None:
    assert call("sessions", "--user", "lin").out == call("sessions", "list").out == "no conversation there\n"
    assert "Commands:" in call("sessions", "--help").out
    with pytest.raises(LookupError):
        find_command(["sessions", "nonsense"])


def test_ids_may_be_shortened(call: Any) -> None:
    first, second = (added(call, text, "--kind", "fact", "--user", "lin") for text in ("tea", "coffee"))
    for part in (first, first[-8:], first[-4:], f"mem:{first[-8:]}", first[-14:], first.replace("-", "").upper()[-20:]):
        assert call("get", part, "--json").json["id"] == first, part
    assert call("get", first[:-1], "--json").json["id"] == first
    assert f"{short_id(second)}\n" in call("list", "--user", "lin").out
    entry = re.findall(r"rollback (\w{8})$", call("delete", second[-8:]).out, re.MULTILINE)[0]
    assert call("rollback", entry).code == 0
    change = re.findall(r"change (\w{8}) ", call("memory", "history", second[-8:]).out)[-1]
    assert call("rollback", change).code == 0
    assert call("add", "cocoa", "--kind", "fact", "--user", "lin", "--supersedes", first[-8:]).code == 0
    assert call("get", first, "--json").json["ended"] == "superseded"


def test_an_id_that_means_several_or_none_is_an_error(call: Any) -> None:
    ids = [added(call, f"fact {n}", "--kind", "fact") for n in range(2)]
    many = call("get", ids[0][:4])
    assert (many.code, many.out) == (2, "")
    assert many.err.startswith(f"phronesis: {ids[0][:4]} is the beginning or the end of 4 ids; give more of it [input")
    for identity, words in zip(ids, ("fact 0", "fact 1"), strict=True):
        assert f"    {short_id(identity)}  fact: {words}\n" in many.err
    none = call("get", "0000")
    assert (none.code, none.err) == (1, "phronesis: no id here begins or ends with 0000 [not_found]\n")
    assert call("get", "000", "--url", "sqlite://").code == 2  # too short to be a part of an id
    assert call("get", ids[0], "--tenant", "other").code == call("get", ids[0][-8:], "--tenant", "other").code == 1


def test_add_says_what_was_learned_and_what_was_not(call: Any, tmp_path: Path) -> None:
    learned = call("add", "I live in Lyon.", "--user", "lin").out.splitlines()
    assert [line.split("  ", 1)[1] for line in learned] == ["message  I live in Lyon.", "profile  Home city: Lyon"]
    moved = call("add", "I live in Paris now.", "--user", "lin").out
    assert re.search(r"^\w{8}  superseded  Home city: Lyon$", moved, re.MULTILINE)
    assert (
        "not learned: hello (chit_chat: not recognised as something to keep"
        in call("add", "hello", "--user", "lin").out
    )
    said = [{"role": "user", "content": text} for text in ("I live in Oslo.", "hm", "well", "so", "right")]
    (tmp_path / "said.json").write_text(json.dumps(said), "utf-8")
    lines = call("add", "--messages", str(tmp_path / "said.json"), "--user", "ann").out.splitlines()
    assert lines[0] == "5 messages remembered, 1 memory learned from them"
    assert lines[1].endswith("  profile  Home city: Oslo")
    assert lines[2].startswith("not learned: 4 × chit_chat: not recognised as something to keep")


def test_add_and_search(call: Any) -> None:
    call("add", "I drink green tea", "--user", "lin")
    call("add", "我喜欢绿茶", "--user", "lin")
    found = call("search", "绿茶", "--user", "lin")
    assert found.out.splitlines()[0].endswith("喜欢：绿茶")  # the statement of what was extracted
    assert "user lin" in found.out
    assert call("search", "green tea", "--user", "lin", "--json").json["evidence"][0]["item"]["user_id"] == "lin"
    assert call("search", "green tea", "--json").json["evidence"] == []


def test_add_takes_a_stated_item(call: Any) -> None:
    arguments = ("--kind", "preference", "--subject", "Lin", "--key", "drink", "--value", '{"hot": true}')
    identity = added(call, "Lin drinks tea", *arguments, "--importance", "8", "--occurred-at", "2025-03-01")
    item = call("get", identity, "--json").json
    assert (item["kind"], item["value"], item["importance"]) == ("preference", {"hot": True}, 8)
    assert item["occurred_at"] == "2025-03-01T00:00:00Z"
    assert "Lin drinks tea" in call("get", f"mem:{identity}").out
    for given, stored in (("tea", "tea"), ("7", 7), ("007", "007"), ("[1, 2]", [1, 2])):  # JSON, or plain text
        identity = added(call, "x", "--kind", "fact", "--key", "k", "--value", given)
        assert call("get", identity, "--json").json["value"] == stored


def test_due_lists_what_is_due(call: Any) -> None:
    assert call("memory", "due", "--user", "lin").out == "nothing is due\n"
    stated = ("--kind", "task", "--user", "lin", "--due")
    call("add", "Call the landlord", *stated, "2026-04-03T10:00:00Z", "--expires", "9999-01-01")
    call("add", "In the far future", *stated, "9998-01-01")
    assert [item["content"] for item in call("memory", "due", "--user", "lin", "--json").json] == ["Call the landlord"]
    assert call("memory", "due", "--json").json == []
    lines = call("memory", "due", "--user", "lin", "--as-of", "9998-01-01", "--within", "1").out.splitlines()
    assert lines[0] == "Call the landlord"
    assert "was due 2026-04-03 10:00 UTC" in lines[1]
    assert lines[2] == "In the far future"
    assert lines[3].startswith("   due 9998-01-01  task")
    call("add", "In some years", *stated, "2100-01-01")
    ahead = call("memory", "due", "--user", "lin", "--upcoming").out.splitlines()
    assert [line for line in ahead if not line.startswith(" ")] == ["In some years"]
    assert call("add", "x", "--due", "2026-04-03").code != 0


MESSAGES = [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize(
    "text", [json.dumps(MESSAGES), "\n".join(map(json.dumps, MESSAGES)), json.dumps(MESSAGES, indent=2)]
)
def test_add_reads_messages(call: Any, tmp_path: Path, text: str) -> None:
    file = tmp_path / "messages.json"
    file.write_text(text, "utf-8")
    call("add", "--messages", str(file), "--session", "s/1")
    (turn,) = call("sessions", "show", "s/1", "--json").json
    assert turn["messages"] == MESSAGES
    assert "user: 你好" in call("sessions", "show", "s/1").out
    assert call("sessions").out.splitlines()[1].split()[:5] == ["s/1", "shared", "default", "1", "2"]


def test_change_history_and_rollback(call: Any) -> None:
    identity = added(call, "tea", "--kind", "fact")
    call("update", identity, "coffee", "--reason", "changed my mind", "--metadata", '{"a": 1}')
    shown = call("memory", "history", identity).out
    assert "content: tea → coffee" in shown
    assert "changed my mind" in shown
    deltas = [event["delta_id"] for event in call("memory", "history", identity, "--json").json]
    assert call("rollback", deltas[-1]).code == 0
    item = call("get", identity, "--json").json
    assert (item["content"], item["metadata"], item["version"]) == ("tea", {}, 3)


def test_explain_reaches_the_log_and_counts_what_answers_used(store: str, call: Any) -> None:
    identity = added(call, "the words", "--session", "monday")
    shown = call("explain", identity).out
    assert "session monday" in shown
    assert "“the words”" in shown
    assert call("explain", identity, "--json").json["sources"][0]["quote"] == "the words"
    with Memory.open(store, policy={"embedder": "none"}) as memory:
        (item,) = memory.add("The key is brass.", kind="fact", user_id="lin").items
        package = memory.compose_context("s", "Of what is the key?", user_id="lin")
        said = [{"role": "assistant", "content": "Brass [m1]."}]
        memory.commit_turn("s", said, user_id="lin", context_id=package.context_id)
    assert "shown 1×, used 1×, contradicted 0×" in call("explain", item.id).out


def test_list_narrows(call: Any) -> None:
    call("add", "a", "--kind", "fact", "--importance", "9", "--agent", "x")
    call("add", "b", "--kind", "task", "--run", "r")
    for arguments in (
        ("--kind", "fact"),
        ("--filters", '{"importance": {"gte": 9}}'),
        ("--agent", "x"),
        ("--limit", "5", "--across", "tenant", "--kind", "fact"),
    ):
        assert [item["content"] for item in call("list", *arguments, "--json").json] == ["a"]


def test_context_keeps_its_budget_and_cites(call: Any) -> None:
    identity = added(call, "Clean the electrodes with ethanol.", "--user", "lin", "--session", "s1")
    arguments = ("context", "How do we clean the electrodes?", "--user", "lin", "--session", "s2", "--budget", "600")
    shown = call(*arguments, "--explain")
    assert "\n[m1] (" in shown.out
    assert f"m1={short_id(identity)}" in shown.err
    assert "of 600 tokens" in shown.err
    package = call(*arguments, "--json").json
    assert package["token_count"] <= 600
    assert json.loads(call(*arguments, "--form", "messages").out)[-1]["role"] == "user"
    assert call("context", "x" * 5000, "--budget", "10").code == 2


def test_errors_are_one_line(call: Any) -> None:
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("search",), 2, "QUERY"),
        (("nonsense",), 2, "nonsense"),
        (("add", "--messages", __file__), 2, "line 1 is not JSON"),
        (("add", "x", "--kind", "nonsense"), 2, "kind"),
        (("add", "x", "--occurred-at", "yesterday"), 2, "occurred_at"),
        (("list", "--filters", "{"), 2, "not JSON"),
        (("list", "--url", "mysql://x"), 2, "mysql"),
        (("get", NOBODY), 1, "not_found"),
    ]
    for arguments, code, names in cases:
        failed = call(*arguments)
        assert failed.code == code
        assert failed.out == ""
        assert failed.err.startswith("phronesis")
        assert failed.err.count("\n") == 1
        assert names in failed.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("add",),
        ("add", "--messages", __file__),
        ("add", "x", "--kind", "reasoning", "--agent", "a"),
        ("update", "x", "-"),
        ("resources", "add"),
        ("runs", "add", __file__),
        ("runs", "feedback", "r1", __file__),
        ("store", "export", "x", "--user", "lin"),
        ("store", "rebuild", "--verify", "--claims"),
        ("store", "migrate-memories", __file__),
    ],
)
def test_a_command_that_is_called_wrongly_opens_no_store(call: Any, tmp_path: Path, arguments: Sequence[str]) -> None:
    assert call(*arguments, stdin=b"\xff").code == 2
    assert not (tmp_path / "cli.db").exists()


def test_input_that_is_not_text_or_closed_is_an_error(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = call("add", "-", stdin=b"a\xff")
    assert (failed.code, "UTF-8" in failed.err) == (2, True)
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["add", "-", "--user", "lin"]) == 2


def test_an_interruption_has_the_shells_code(monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("phronesis.memory.Memory.open", interrupted)
    assert run(["list"]) == 130


def test_remembered_text_cannot_paint_the_terminal(call: Any) -> None:
    identity = added(call, "red \x1b[31m and \u202ereversed\u202c")
    for arguments in (("list",), ("get", identity), ("explain", identity), ("history", identity), ("search", "red")):
        shown = call(*arguments).out
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    identity = added(call, "half \ud83d")
    assert call("list").code == 0
    assert call("get", identity, "--json").json["content"].startswith("half ")


def test_a_group_without_a_command_shows_its_help_as_it_is_laid_out(call: Any) -> None:
    cases: list[tuple[str, ...]] = [(), ("runs",), ("memory",)]
    for path in cases:
        shown, asked = call(*path), call(*path, "--help")
        assert (shown.code, shown.out) == (2, "")
        assert shown.err == asked.out


def test_a_plan_is_shown(call: Any) -> None:
    message = "What did Zhang Wei say on 2026-05-04? And what does the manual say about port 443?"
    shown = call("memory", "plan", message, "--user", "lin", "--limit", "5").out
    for line in (
        "lookup, resources are needed  (rules)",
        "time: from 2026-05-04 until 2026-05-05 (2026-05-04)",
        "names: Zhang Wei",
        "memory, up to 5:",
        "resources, up to 6:",
    ):
        assert line in shown
    plan = RetrievalPlan.from_dict(call("memory", "plan", message, "--user", "lin", "--json").json)
    assert (plan.message, plan.scope.user_id, plan.resources_needed) == (message, "lin", True)
    assert "time:" not in call("memory", "plan", "hello").out


class Terminal(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_pipe_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress, show_waiting("working"):
        progress("encoding", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_a_bar_for_each_thing_done_and_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress() as progress:
        for done in (1, 2):
            progress("encoding", done, 2)
        progress("searching", 3, 3)
    assert all(word in terminal.getvalue() for word in ("encoding", "100%", "searching"))
    with show_waiting("replaying"):
        assert terminal.getvalue().endswith("replaying …")
    assert terminal.getvalue().endswith("\r\x1b[K")
