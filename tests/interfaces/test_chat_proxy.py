"""Chat completions with memory: what is sent on, what comes back, and what is recorded."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from loopback_server import served_api
from phronesis import Memory
from phronesis.config.server import Serving, UpstreamServer
from phronesis.errors import InputError
from phronesis.interfaces.http.app import make_app

Ask = Callable[..., httpx2.Response]
SYSTEM = {"role": "system", "content": "You are a helper."}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def complete(request: Request) -> Response:
    """Answer "Noted.", at once or in two parts; keep what was sent."""
    body = await request.json()
    request.app.state.asked.append((dict(request.headers), body))
    if "cite" in str(body["messages"][-1]):
        return JSONResponse({"choices": [{"message": {"role": "assistant", "content": "Acetone [m1]."}}]})
    if "fail" in str(body["messages"][-1]):
        return JSONResponse({"error": {"message": "too many"}}, 429, {"Retry-After": "7", "Server-Timing": "x"})
    if not body.get("stream"):
        return JSONResponse({"choices": [{"message": {"role": "assistant", "content": "Noted."}}]})

    def events() -> Iterator[str]:
        for choices in ([{"delta": {"content": "No"}}], [7], [{"index": 1, "delta": {"content": "Another."}}], []):
            yield f"data: {json.dumps({'choices': choices})}\n\n"
        yield 'data:{"choices": [{"index": 0, "delta": {"content": "ted."}}]}\n\ndata: [DONE]\n\n'

    return StreamingResponse(events(), media_type="text/event-stream")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as opened:
        opened.add("I'm allergic to acetone.", user_id="lin", session_id="s0")
        yield opened


@pytest.fixture
def asked() -> list[tuple[dict[str, str], dict[str, Any]]]:
    """What the server of models was sent: headers and body."""
    return []


@pytest.fixture
def ask(
    memory: Memory, asked: list[tuple[dict[str, str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ask]:
    """Return a function that sends messages as a client of OpenAI's API does, and waits for what is recorded."""
    monkeypatch.setenv("UPSTREAM_KEY", "sk-none")
    models = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    models.state.asked = asked
    models.add_middleware(GZipMiddleware, minimum_size=1)  # as servers of models do where the client takes it
    with served_api(models) as upstream:
        serving = Serving(upstream=UpstreamServer(base_url=f"{upstream}/v1", api_key_env="UPSTREAM_KEY"))
        with served_api(make_app(memory, serving)) as address:

            def send(*messages: Any, session: str = "s1", **more: Any) -> httpx2.Response:
                body = {"model": "m", "user": "lin", "messages": list(messages), **more}
                headers = {"X-Phronesis-Session": session}
                answer = httpx2.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=30)
                time.sleep(0.2)
                memory.flush()
                return answer

            yield send


def said(memory: Memory, session: str) -> list[str]:
    return [one["content"] for turn in memory.sessions.turns(session, user_id="lin") for one in turn.messages]


def test_a_message_is_answered_with_memory_and_recorded(ask: Ask, memory: Memory, asked: Any) -> None:
    first = ask(SYSTEM, user("The staging server is called preprod."))
    assert first.json()["choices"][0]["message"]["content"] == "Noted."
    headers, body = asked[0]
    assert headers["authorization"] == "Bearer sk-none"
    assert [one["role"] for one in body["messages"]] == ["system", "system", "user"]
    assert "acetone" in body["messages"][1]["content"]
    assert said(memory, "s1") == ["The staging server is called preprod.", "Noted."]
    earlier = (user("Hello."), {"role": "assistant", "content": "Hi."})
    second = ask(SYSTEM, *earlier, user("Which is the staging server?"), session="s2")
    sent = [one["content"] for one in asked[1][1]["messages"]]
    assert sent[0] == SYSTEM["content"]
    assert sent[2:4] == ["Hello.", "Hi."]
    assert "called preprod" in sent[4]
    assert sent[5] == "Which is the staging server?"
    ask(SYSTEM, user("The staging server is called preprod."), user("And the other one?"))
    assert asked[2][1]["messages"][:2] == body["messages"][:2]  # what a prompt cache keeps
    assert second.headers["X-Phronesis-Context"]


def test_an_answer_that_cites_says_which_memory_helped(ask: Ask, memory: Memory) -> None:
    (fact,) = (one for one in memory.get_all(user_id="lin") if one.kind != "message")
    ask(user("What am I allergic to? Please cite."))
    assert memory.explain(fact.id).use.used == 1


def test_a_stream_passes_through_as_it_comes(ask: Ask, memory: Memory) -> None:
    parts = [{"type": "text", "text": "I live in Kiel."}, {"type": "image_url", "image_url": {}}]
    answer = ask(user(parts), stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("data: [DONE]\n\n")
    assert said(memory, "s1") == ["I live in Kiel.", "Noted."]


def test_the_result_of_a_tool_goes_on_with_its_turn(ask: Ask, memory: Memory, asked: Any) -> None:
    result = {"role": "tool", "tool_call_id": "c", "content": "4"}
    ask(user("Call it."), {"role": "assistant", "tool_calls": []}, result)
    assert len(asked[0][1]["messages"]) == 3
    assert said(memory, "s1") == ["Noted."]


def test_an_error_of_the_server_is_passed_on_and_nothing_recorded(ask: Ask, memory: Memory) -> None:
    answer = ask(user("Please fail."))
    assert (answer.status_code, answer.json()) == (429, {"error": {"message": "too many"}})
    assert (answer.headers["Retry-After"], "Server-Timing" in answer.headers) == ("7", False)
    assert memory.sessions.list(user_id="lin")[0].session_id == "s0"
    assert ask().status_code == 400
    assert ask("text").json()["field"] == "messages"
    assert ask(user("Hi."), user={"id": 1}).json()["field"] == "user"


def test_the_budget_is_of_what_is_added_to_a_message_of_any_script(ask: Ask) -> None:
    assert ask(user("𓀀" * 800)).status_code == 200  # four tokens a character


def test_an_upstream_that_is_away_or_has_no_key_is_named(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with served_api(make_app(memory, Serving(upstream=UpstreamServer(base_url="http://127.0.0.1:9/v1")))) as address:
        answer = httpx2.post(f"{address}/v1/chat/completions", json={"messages": [user("Hi.")]}, timeout=30)
    assert answer.status_code >= 500
    assert "server.upstream gave no answer" in answer.text
    monkeypatch.delenv("UPSTREAM_KEY", raising=False)
    with pytest.raises(InputError, match=r"server\.upstream takes its key from the environment variable UPSTREAM_KEY"):
        make_app(memory, Serving(upstream=UpstreamServer(base_url="http://127.0.0.1:9/v1", api_key_env="UPSTREAM_KEY")))
