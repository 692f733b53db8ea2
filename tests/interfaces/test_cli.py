"""Every command, called as a user would."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from phronesis import __version__
from phronesis.interfaces.cli.commands import EXAMPLES, cli, every_command, lines_of
from phronesis.interfaces.cli.exit_codes import run

NOBODY = "00000000-0000-5000-8000-000000000000"


COMMANDS = [(tuple(path.split()), command) for path, command in every_command(cli)]

WITHOUT_JSON = {
    "demo": "a story told to a person; its store can be asked with --json",
    "completion": "prints a script for a shell",
}
"""Commands that take no --json, each with the reason."""


def added(call: Any, *arguments: str) -> str:
    identity: str = call("add", *arguments, "--json").json["items"][0]["id"]
    return identity


def test_every_command_has_help(call: Any) -> None:
    for path, command in COMMANDS:
        shown = call(*path, "--help")
        assert shown.code == 0, path
        assert command.help, path
        assert not command.get_short_help_str(60).endswith("..."), "its first sentence is too long for the list"
        assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option)), path
        assert "\n\n" in str(command.help), "it needs a paragraph below its first sentence"
        if not isinstance(command, click.Group):
            assert lines_of(" ".join(path)), "it needs an example in phronesis.interfaces.cli.commands"
            assert all(f"    {line}\n" in shown.out for line in lines_of(" ".join(path))), path


def test_every_example_can_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("fixtures", "alfworld", "project"):
        Path(folder).mkdir()
    for line in (line for path in EXAMPLES for line in lines_of(path)):
        take(line)


def take(line: str) -> None:
    """Parse a line as the shell and click would, which refuse what does not exist."""
    words = shlex.split(re.split(r'\)"|  +#| >', line)[0].removeprefix('eval "$('))
    for word in words:
        if re.search(r"\w\.(jsonl?|md|txt|xml|yml)$", word) and "://" not in word:
            Path(word).write_text("{}", "utf-8")
    command: click.Command = cli
    context = click.Context(cli, info_name="phronesis")
    rest = words[1:]
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None, line
        command, context = found, click.Context(found, info_name=name, parent=context)
    with command.make_context(command.name, rest, parent=context.parent):
        pass


def test_every_command_answers_in_json_or_says_why_not() -> None:
    for path, command in COMMANDS:
        options = {option for parameter in command.params for option in parameter.opts}
        named = " ".join(path)
        assert isinstance(command, click.Group) or ("--json" in options) is not (named in WITHOUT_JSON), named
    assert all(WITHOUT_JSON.values())


def test_version(call: Any) -> None:
    assert call("--version").out == f"phronesis {__version__}\n"


def test_every_command_on_a_store_takes_url_tenant_and_json() -> None:
    for path, command in COMMANDS:
        options = {option for parameter in command.params for option in parameter.opts}
        if path[0] not in {"demo", "bench", "check-claims", "completion"} and not isinstance(command, click.Group):
            assert {"--url", "--tenant", "--json"} <= options, path


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


def test_due_lists_what_is_due(call: Any) -> None:
    assert call("due", "--user", "lin").out == "nothing is due\n"
    stated = ("--kind", "task", "--user", "lin", "--due")
    call("add", "Call the landlord", *stated, "2026-04-03T10:00:00Z", "--expires", "9999-01-01")
    call("add", "In the far future", *stated, "9998-01-01")
    assert [item["content"] for item in call("due", "--user", "lin", "--json").json] == ["Call the landlord"]
    assert call("due", "--json").json == []
    lines = call("due", "--user", "lin", "--as-of", "9998-01-01", "--within", "1").out.splitlines()
    assert lines[0] == "Call the landlord"
    assert "was due 2026-04-03 10:00 UTC" in lines[1]
    assert lines[2] == "In the far future"
    assert lines[3].startswith("   due 9998-01-01  task")
    assert call("add", "x", "--due", "2026-04-03").code != 0


def test_a_value_is_json_or_plain_text(call: Any) -> None:
    cases: list[tuple[str, Any]] = [("tea", "tea"), ("7", 7), ("007", "007"), ("[1, 2]", [1, 2])]
    for given, stored in cases:
        identity = added(call, "x", "--kind", "fact", "--key", "k", "--value", given)
        assert call("get", identity, "--json").json["value"] == stored


MESSAGES = [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize(
    "text", [json.dumps(MESSAGES), "\n".join(map(json.dumps, MESSAGES)), json.dumps(MESSAGES, indent=2)]
)
def test_add_reads_messages(call: Any, tmp_path: Path, text: str) -> None:
    file = tmp_path / "messages.json"
    file.write_text(text, "utf-8")
    call("add", "--messages", str(file), "--session", "s/1")
    (turn,) = call("turns", "s/1", "--json").json
    assert turn["messages"] == MESSAGES
    assert "user: 你好" in call("turns", "s/1").out
    assert call("sessions").out.splitlines()[1].split()[:5] == ["s/1", "shared", "default", "1", "2"]


def test_change_history_and_rollback(call: Any) -> None:
    identity = added(call, "tea", "--kind", "fact")
    call("update", identity, "coffee", "--reason", "changed my mind", "--metadata", '{"a": 1}')
    shown = call("history", identity).out
    assert "content: tea → coffee" in shown
    assert "changed my mind" in shown
    deltas = [event["delta_id"] for event in call("history", identity, "--json").json]
    assert call("rollback", deltas[-1]).code == 0
    item = call("get", identity, "--json").json
    assert (item["content"], item["metadata"], item["version"]) == ("tea", {}, 3)


def test_explain_reaches_the_log(call: Any) -> None:
    identity = added(call, "the words", "--session", "monday")
    shown = call("explain", identity).out
    assert "session monday" in shown
    assert "“the words”" in shown
    assert call("explain", identity, "--json").json["sources"][0]["quote"] == "the words"


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
    assert f"m1=mem:{identity}" in shown.err
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


def test_input_that_is_not_text_is_an_error(call: Any) -> None:
    failed = call("add", "-", stdin=b"a\xff")
    assert failed.code == 2
    assert "UTF-8" in failed.err


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


def test_a_lone_surrogate_is_shown_and_stays_json(call: Any) -> None:
    identity = added(call, "half \ud83d")
    assert call("list").code == 0
    assert call("get", identity, "--json").json["content"].startswith("half ")


def test_a_group_without_a_command_shows_its_help_as_it_is_laid_out(call: Any) -> None:
    cases: list[tuple[str, ...]] = [(), ("runs",), ("quarantine",)]
    for path in cases:
        shown, asked = call(*path), call(*path, "--help")
        assert (shown.code, shown.out) == (2, "")
        assert shown.err == asked.out
