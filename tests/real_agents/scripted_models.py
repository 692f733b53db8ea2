"""Model servers with scripted answers, for agents that take the address of their model from the environment.

A prompt that holds ``RUN: command END`` is answered with a call of the shell; any other with "Noted.".
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from threading import Thread
from typing import Any


def command_in(text: str) -> str | None:
    """Return the command that a prompt asks for."""
    _, mark, rest = text.rpartition("RUN: ")
    return rest.partition(" END")[0] if mark else None


def messages_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stream that answers a request of Anthropic's Messages API."""
    asked = [one for one in body["messages"] if one["role"] != "system"]
    users = list(takewhile(lambda one: one["role"] == "user", reversed(asked)))
    parts = [part for one in users if isinstance(one["content"], list) for part in one["content"]]
    said = [part["text"].strip('"') for part in parts if part["type"] == "text"]  # opencode quotes a prompt
    prompt = next((text for text in said if text.startswith("RUN: ")), json.dumps(users))  # and not what is recalled
    command = None if any(part["type"] == "tool_result" for part in parts) else command_in(prompt)
    shells = [tool["name"] for tool in body.get("tools", ()) if tool["name"] in {"Bash", "bash", "exec"}]
    if command is None or not shells:  # without a shell: a request for the session's title
        begin: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "Noted."}
    else:
        begin = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "name": shells[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": command, "description": "a test"})}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": begin},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn" if begin["type"] == "text" else "tool_use", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]


def responses_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stream that answers a request of OpenAI's Responses API."""
    asked = [json.dumps(one) for one in body["input"] if one.get("role") == "user"]
    command = None if body["input"][-1].get("type") == "function_call_output" else command_in(asked[-1])
    if command is None:
        text = {"type": "output_text", "text": "Noted.", "annotations": []}
        item: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "content": [text]}
    else:
        call_id = f"call_{len(body['input'])}"
        arguments = json.dumps({"cmd": command})
        item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "exec_command"}
        item["arguments"] = arguments
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}  # type: ignore[dict-item]
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


@contextmanager
def scripted_model() -> Iterator[tuple[str, list[str]]]:
    """Serve both APIs on loopback; yields the address, and the requests as text, which grow as they come."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: Any) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self.send_response(404)
            self.end_headers()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(json.dumps(body, ensure_ascii=False))
            events = messages_events(body) if "messages" in body else responses_events(body)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        server.server_close()
