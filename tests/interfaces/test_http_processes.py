"""Servers as processes: they listen, stop gracefully, refuse to be reached without keys, and serve one another."""

import contextlib
import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from phronesis import Memory
from served import PROGRAM, serving

pytestmark = pytest.mark.slow

POLICY = {"embedder": "none"}
HANDBOOK = "# Kiln\n\nFire the kiln at 1280 degrees for six hours. 窑温一千二百八十度，烧六个小时。\n"


def test_a_server_stops_when_it_is_asked_and_nothing_is_left_pending(sqlite_url: str) -> None:
    with serving(sqlite_url) as server:
        with httpx.Client(base_url=server.url) as client:
            assert client.get("/readyz").json() == {"status": "ready", "pending": 0}
            made = client.post("/api/v1/memories?wait=false", json={"content": "我住在杭州。", "user_id": "lin"})
        assert (made.status_code, made.json()["pending"]) == (201, True)
        called = [*PROGRAM, "serve", "--url", sqlite_url, "--port", server.url.rpartition(":")[2]]
        refused = subprocess.run(called, capture_output=True, text=True, check=False, timeout=120)
        assert (refused.returncode, "--port 0" in refused.stderr) == (2, True)  # the port is taken
        assert server.stop(signal.SIGINT) == 0
        assert server.process.stderr is not None
        lines = [json.loads(line) for line in server.process.stderr.read().splitlines()]
    assert [(line["route"], line["status"]) for line in lines] == [("/readyz", 200), ("/api/v1/memories", 201)]
    assert "杭州" not in str(lines)
    with Memory.open(sqlite_url, policy=POLICY) as memory:
        assert memory.admin.jobs().pending == 0
        assert [item.content for item in memory.get_all(user_id="lin", kinds=["message"])] == ["我住在杭州。"]


def test_requests_that_run_are_finished(sqlite_url: str) -> None:
    answered: list[int] = []

    def send(url: str) -> None:
        turn = {"messages": [{"role": "user", "content": f"note {n} of tea"} for n in range(40)]}
        with httpx.Client(base_url=url, timeout=60) as client:
            said = {"session_id": threading.current_thread().name, "turn_events": turn}
            with contextlib.suppress(httpx.HTTPError):  # it came when the server listened no more
                answered.append(client.post("/api/v1/turns", json=said).status_code)

    with serving(sqlite_url) as server:
        threads = [threading.Thread(target=send, args=(server.url,), name=f"s{n}") for n in range(3)]
        for thread in threads:
            thread.start()
        while not httpx.get(f"{server.url}/api/v1/sessions").json():
            pass  # the first of them is in the log, and the others are on their way or done
        assert server.stop() == 0
        for thread in threads:
            thread.join()
    assert answered.count(201) >= 1
    with Memory.open(sqlite_url, policy=POLICY) as memory:
        assert len(memory.sessions.list()) >= answered.count(201)
        assert memory.admin.rebuild(verify=True).equal


def test_one_server_is_the_resources_of_another(tmp_path: Path) -> None:
    """SB-08: two processes; the one that is asked has the conversation, the other the handbook."""
    library, own = f"sqlite:///{tmp_path / 'library.db'}", f"sqlite:///{tmp_path / 'own.db'}"
    with Memory.open(library, policy=POLICY) as memory:
        memory.resources.ingest(HANDBOOK, uri="file:///kiln.md", title="Kiln handbook")
        token, _ = memory.admin.keys.create("read", label="the other server")
    with serving(library) as librarian:
        policy = tmp_path / "brain.yml"
        policy.write_text(
            f"version: 1\nembedder: none\nresources:\n  remote: {{url: '{librarian.url}', api_key_env: LIBRARY_KEY}}\n",
            "utf-8",
        )
        with (
            serving(own, "--policy", str(policy), LIBRARY_KEY=token) as server,
            httpx.Client(base_url=server.url, timeout=60) as client,
        ):
            question = {"message": "What does the handbook say: how hot is the kiln? 窑温是多少？"}
            asked = client.post("/api/v1/plan", json=question)
            assert asked.json()["resources_needed"] is True
            pack: dict[str, Any] = client.post("/api/v1/retrieve", json=asked.json()).json()
            assert any("1280" in one["item"]["content"] for one in pack["evidence"])
            assert all(one["item"]["id"].startswith("remote:") for one in pack["evidence"])
            assert pack["degraded"] == []
            librarian.stop()
            away = client.post("/api/v1/retrieve", json=asked.json())
            assert away.status_code == 200
            assert [one["reason"] for one in away.json()["degraded"]] == ["remote.unavailable"]
