"""The daemon: sessions of a user share one process, which starts when it is needed and loses nothing when it dies."""

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import anyio
import pytest
from mcp import StdioServerParameters

from mcp_talk import Talk
from phronesis import Memory
from phronesis.config.locations import daemon_enabled, login_name, runtime_folder, store_name
from phronesis.errors import DaemonMismatch
from phronesis.interfaces import daemon_endpoint, daemon_server
from phronesis.interfaces.cli import dispatch
from phronesis.interfaces.cli.dispatch import run_for_client, run_in_daemon

pytestmark = pytest.mark.skipif(not daemon_endpoint.UNIX, reason="there are no Unix sockets")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a store; a socket's path may have about 100 characters, so its folder is not the test's."""
    folder = tempfile.mkdtemp(prefix="ph-")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    monkeypatch.delenv("PHRONESIS_URL", raising=False)
    monkeypatch.delenv("PHRONESIS_DAEMON", raising=False)
    given = f"sqlite:///{tmp_path / 'd.db'}"
    yield given
    command("daemon", "stop", "--url", given)
    shutil.rmtree(folder, ignore_errors=True)


def command(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``phronesis`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "phronesis", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        errors="surrogateescape",
        env={**os.environ, **environment},
    )


def hook(url: str, event: str, session: str = "s1", **payload: Any) -> dict[str, Any]:
    """Call a hook in a process of its own, as a host does."""
    given = json.dumps({"session_id": session, "cwd": "/home/lin/engine", **payload})
    done = command("hook", event, "--user", "lin", "--url", url, stdin=given)
    assert done.returncode == 0
    assert done.stderr == ""
    return dict(json.loads(done.stdout)) if done.stdout else {}


def wait_for_context(url: str, session: str, prompt: str) -> str:
    """Return what a prompt recalls, once what was recorded before is interpreted."""
    for _ in range(100):
        answer = hook(url, "prompt", session, prompt=prompt)
        if answer:
            return str(answer["hookSpecificOutput"]["additionalContext"])
        time.sleep(0.1)
    raise AssertionError("nothing was recalled")


def mcp(url: str, *options: str) -> StdioServerParameters:
    """Return the command of an MCP server that a client starts."""
    words = ["-m", "phronesis", "mcp", "--user", "lin", "--url", url, *options]
    return StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))


@pytest.mark.slow
def test_sessions_share_one_process_and_lose_nothing_when_it_is_killed(url: str) -> None:
    assert command("daemon", "status", "--url", url).stdout == "No daemon runs for this store.\n"
    pid = json.loads(command("daemon", "start", "--json", "--url", url).stdout)["pid"]
    hook(url, "prompt", prompt="The staging server is called preprod.")
    assert "preprod" in wait_for_context(url, "s2", "Which is the staging server?")
    server = mcp(url)
    with subprocess.Popen(
        [server.command, *server.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as waiting:  # a session that is asked nothing
        with Talk(server) as first, Talk(mcp(url, "--tools", "search_memories,get_memory")) as second:
            assert len(second.tools()) == 2
            assert "noon" in first.text("add_memory", content="The backup runs at noon.")
            assert "at noon" in second.text("search_memories", query="backup at noon")
            assert json.loads(command("daemon", "start", "--json", "--url", url).stdout)["pid"] == pid
        hook(url, "prompt", "s3", prompt="The lab is in Kiel.")
        os.kill(pid, signal.SIGKILL)  # nothing is lost
        assert waiting.wait(20) == 0  # a session ends with its daemon, though its host keeps stdin open
    assert "Kiel" in wait_for_context(url, "s4", "Where is the lab?")
    assert "stops" in command("daemon", "stop", "--url", url).stdout


@pytest.mark.slow
def test_without_a_daemon_processes_work_alone(url: str) -> None:
    given = json.dumps({"session_id": "s1", "prompt": "The staging server is called preprod."})
    done = command("hook", "prompt", "--user", "lin", "--url", url, stdin=given, PHRONESIS_DAEMON="off")
    assert (done.returncode, done.stderr) == (0, "")
    assert command("daemon", "status", "--json", "--url", url).stdout == '{\n  "running": false\n}\n'
    with Talk(mcp(url, "--alone")) as session:
        assert "preprod" in session.text("search_memories", query="staging server")
    broken = command("hook", "prompt", "--url", url, stdin="{", PHRONESIS_DAEMON="off")
    assert (broken.returncode, broken.stdout) == (0, "")
    assert broken.stderr.startswith("phronesis: JSONDecodeError")
    assert command("hook", "lunch").returncode == command("hook", "prompt", "--lunch").returncode == 1  # 2 would block


@pytest.fixture
def running(url: str) -> Iterator[daemon_server.Daemon]:
    """A daemon in a thread of this process; it ends when it was idle for two seconds."""
    store = store_name(url, None, None)
    daemon_endpoint.make_folder()
    daemon = daemon_server.Daemon(store, lambda: Memory.open(url), run_for_client, idle_seconds=2)
    thread = threading.Thread(target=anyio.run, args=(daemon.run_unsignalled,))
    thread.start()
    while (probe := daemon_endpoint.connect(store, {"service": "status"})) is None:
        time.sleep(0.01)
    probe.close()
    yield daemon
    thread.join(20)
    assert not thread.is_alive()
    assert not daemon_endpoint.socket_path(store).exists()


@pytest.mark.usefixtures("running")
def test_a_daemon_answers_hooks_one_after_another_and_ends_when_it_is_idle(url: str) -> None:
    connection = daemon_endpoint.connect(store_name(url, None, None), {"service": "hook"})
    assert connection is not None
    prompt = {"event": "prompt", "user_id": "lin", "payload": {"session_id": "s", "prompt": "I live in Kiel."}}
    for message, answer in ((prompt, {}), ({"event": "lunch"}, "error")):
        connection.send_line(message)
        got = connection.receive_line()
        assert got == answer or answer in got
    connection.close()
    with Memory.open(url) as memory:
        memory.flush()
        assert [one.messages[0]["content"] for one in memory.sessions.turns("s", user_id="lin")] == ["I live in Kiel."]


@pytest.mark.usefixtures("running")
def test_a_command_runs_in_the_daemon_as_in_a_process_of_its_own(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [
        ["search", "-n", "1", "--user", "lin", "where do I live?"],
        ["list", "--user", "lin", "--json"],
        ["context", "--user", "lin", "where do I live?"],
        ["get", "ffff"],
        ["list", "--lunch"],
        ["add", "-", "--user", "lin"],
    ]
    open_one = daemon_endpoint.connect(store_name(url, None, None), {"service": "hook"})
    assert open_one is not None  # so that no command finds the daemon idle
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"I live in Kiel.")))
    assert run_in_daemon(["add", "-", "--user", "lin", "--url", url]) == 0
    assert "Home city: Kiel" in capsys.readouterr().out
    for words in cases:
        given = [*words, "--url", url]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
        attached = run_in_daemon(given)
        shown = capsys.readouterr()
        alone = command(*given, stdin="\udcff", PHRONESIS_DAEMON="off")
        assert (attached, shown.out, shown.err) == (alone.returncode, alone.stdout, alone.stderr), words
    assert run_in_daemon(["search", "--url"]) is None
    assert run_in_daemon(["doctor", "--url", url]) is None
    monkeypatch.setattr(dispatch, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("我住在基尔".encode()), encoding="utf-8"))
    with dispatch._ONE_AT_A_TIME:
        assert run_in_daemon(["add", "-", "--url", url]) is None
    assert sys.stdin.read() == "我住在基尔"  # the command that runs here still has its input
    for error, code in ((KeyboardInterrupt(), 130), (BrokenPipeError(), 1)):
        with monkeypatch.context() as patch:
            patch.setattr("click.echo", Mock(side_effect=error))
            assert dispatch.run(["list", "--url", url]) == code
    assert run_in_daemon(["add", "--messages", "m.json", "--url", url]) is None
    monkeypatch.setattr(daemon_endpoint, "__version__", "9.9")
    assert run_in_daemon(["list", "--url", url]) is None
    assert "this command opens the store itself" in capsys.readouterr().err
    open_one.close()


@pytest.mark.usefixtures("running")
def test_another_version_is_refused_with_the_remedy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_name(url, None, None)
    with pytest.raises(DaemonMismatch, match="tools: 'lunch' is no tool"):
        daemon_endpoint.connect(store, {"service": "mcp", "options": {"tools": ["lunch"]}})
    with pytest.raises(DaemonMismatch, match="user_id must not be empty"):
        daemon_endpoint.connect(store, {"service": "mcp", "options": {"user_id": ""}})
    monkeypatch.setattr(daemon_endpoint, "__version__", "9.9")
    with pytest.raises(DaemonMismatch, match=r"this is 9\.9: stop it with 'phronesis daemon stop'"):
        daemon_endpoint.connect(store, {"service": "hook"})
    stopped = daemon_endpoint.connect(store, {"service": "stop"})
    assert stopped is not None
    stopped.close()


def test_a_socket_of_somebody_else_is_not_used(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_name(url, None, None)
    runtime_folder().mkdir()
    monkeypatch.setattr(os, "getuid", lambda: -1)
    with pytest.raises(DaemonMismatch, match="belongs to another user; set XDG_RUNTIME_DIR"):
        daemon_endpoint.connect(store, {"service": "hook"})


def test_without_a_folder_for_sockets_or_an_answer_processes_work_alone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_name(url, None, None)
    monkeypatch.setattr(daemon_endpoint, "ANSWER_SECONDS", 0.01)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(daemon_endpoint.make_folder() / f"{store.key}.sock"))
    listener.listen()
    with listener, pytest.raises(DaemonMismatch, match="does not answer: end its process"):
        daemon_endpoint.connect(store, {"service": "hook"})
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    assert daemon_endpoint.connect(store, {"service": "hook"}, start_seconds=1) is None


def test_without_the_sdk_the_daemon_names_its_extra(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(daemon_endpoint, "find_spec", lambda _name: None)
    for verb in ("start", "run"):
        assert dispatch.run(["daemon", verb, "--url", url]) == 1
        assert "phronesis[mcp]" in capsys.readouterr().err
    assert not list(Path(os.environ["XDG_RUNTIME_DIR"]).rglob("*.log"))  # none was launched


def test_a_store_has_one_name_however_it_is_given_and_one_daemon(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_name(url, None, None)
    with daemon_server.sole_daemon(store) as sole:
        assert sole
        assert not daemon_server.run_daemon(store, lambda: Memory.open(url), run_for_client)
    monkeypatch.chdir(tmp_path)
    named = store_name(f"sqlite:///{tmp_path / 'a.db'}", None, tmp_path / "brain.yml")
    assert store_name("sqlite:///a.db", "default", "brain.yml") == named
    monkeypatch.setenv("PHRONESIS_URL", "sqlite:///a.db")
    monkeypatch.setenv("PHRONESIS_POLICY", "brain.yml")
    assert store_name(None, None, None).key == named.key
    assert store_name(None, "acme", None).key != named.key
    monkeypatch.setenv("PHRONESIS_DAEMON", "off")
    assert not daemon_enabled()
    with monkeypatch.context() as patch:
        patch.delenv("XDG_RUNTIME_DIR")
        assert str(os.getuid()) in runtime_folder().name
    monkeypatch.setattr("getpass.getuser", lambda: (_ for _ in ()).throw(KeyError("no name")))
    assert login_name() == "user"
