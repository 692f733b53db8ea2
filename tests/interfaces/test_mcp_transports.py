"""MCP as a client meets it: a process over stdio, and a server over HTTP."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from loopback_server import free_port, served_api
from mcp_talk import ACCEPTS, HELLO, Talk, keyed
from phronesis import Memory
from phronesis.errors import InputError
from phronesis.interfaces.mcp import Caller, DeferredMemory, Options, bearer, make_mcp, mcp_app
from phronesis.interfaces.mcp.server import refusal

PROGRAM = ("-c", "from phronesis.interfaces.cli import main; main()", "mcp")


def environment() -> dict[str, str]:
    counted = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return {**counted, "PHRONESIS_EMBEDDER": "none"}


def started(*arguments: str, program: tuple[str, ...] = PROGRAM) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    called = [sys.executable, *program, *arguments]
    return subprocess.Popen(called, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", env=environment())


@pytest.mark.slow
def test_stdout_is_the_protocol_alone_and_the_end_of_stdin_ends_it(sqlite_url: str) -> None:
    lines = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines.append(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_memory", "arguments": {"id": "x"}}}
    )
    for id_, arguments in ((3, [1]), (4, {"query": "x" * 200_000, "token_budget": 1}), (5, {"query": {"a": []}})):
        params: dict[str, object] = {"name": "search_memories", "arguments": arguments}
        lines.append({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})
    half = {"name": "add_memory", "arguments": {"content": "x\ud800y"}}
    asked = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines) + "no json\n\n"
    asked += json.dumps({"jsonrpc": "2.0", "id": "half", "method": "tools/call", "params": half}) + "\n"
    with started("--url", sqlite_url) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(asked)
        process.stdin.flush()
        answers: dict[object, dict[str, object]] = {}
        while not {1, 2, 3, 4, 5, None, "half"} <= set(answers):
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        assert [answers[one]["error"]["code"] for one in (None, "half")] == [-32700, -32700]  # type: ignore[index]
        for id_, names in ((2, "Unknown tool"), (3, "params.arguments"), (4, "token_budget"), (5, "(field query)")):
            assert names in json.dumps(answers[id_]), "a hostile call is answered by its field, and the next one too"
        process.stdin.close()
        assert process.wait(120) == 0
        rest = process.stdout.read().splitlines()
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest)
        assert "Traceback" not in process.stderr.read()


def test_what_cannot_be_read_is_answered() -> None:
    cases: list[tuple[str, int, object]] = [
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"\\ud800"}}', -32700, 7),
        ("no json", -32700, None),
        ("[" * 100_000, -32700, None),
        ('{"jsonrpc":"2.0","id":7,"result":{"x":"\\ud800"}}', -32700, None),
        ('{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
    ]
    for line, code, named in cases:
        with pytest.raises(ValidationError) as unread:
            jsonrpc_message_adapter.validate_json(line, by_name=False)
        answer = refusal(unread.value)
        assert answer is not None
        assert (answer.error.code, answer.id) == (code, named)
    with pytest.raises(ValidationError) as unread:
        jsonrpc_message_adapter.validate_json("\n", by_name=False)
    assert refusal(unread.value) is refusal(OSError()) is None  # an empty line needs no answer


HEAVY = ("numpy", "sqlalchemy", "phronesis.memory", "phronesis.store", "phronesis.engine", "phronesis.models")


@pytest.mark.slow
def test_the_tools_are_told_before_the_store_and_its_packages_are_loaded(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    watching = (
        "import atexit, sys; from phronesis.interfaces.cli import main;"
        f" atexit.register(lambda: print(*[one for one in {HEAVY!r} if one in sys.modules], file=sys.stderr)); main()"
    )
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with started("--url", sqlite_url, program=("-c", watching, "mcp")) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, listing]
        process.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
        process.stdin.flush()
        assert [json.loads(process.stdout.readline())["id"] for _ in range(2)] == [1, 2]
        _, err = process.communicate(timeout=120)
    assert (err.strip(), process.returncode) == ("", 0)
    assert not path.exists()


def test_a_store_that_cannot_be_opened_is_told_by_the_call_and_tried_again(memory: Memory) -> None:
    tries: Iterator[Memory | InputError] = iter([InputError("url: is not one", field="url"), memory])

    def open_memory() -> Memory:
        given = next(tries)
        if isinstance(given, InputError):
            raise given
        return given

    with Talk(make_mcp(DeferredMemory(open_memory))) as talk:
        assert "add_memory" in talk.tools()
        assert talk.refused("search_memories", query="tea")["field"] == "url"
        assert talk.text("search_memories", query="tea").startswith("Nothing")


@pytest.mark.slow
def test_the_command_serves_http_until_it_is_told_to_stop(sqlite_url: str) -> None:
    with started("--url", sqlite_url, "--http", "--port", str(free_port()), "--read-only", "--tools", "all") as process:
        assert process.stderr is not None
        url = next(line.split()[-1] for line in process.stderr if "MCP at" in line)
        with Talk(url) as talk:
            assert "add_memory" not in talk.tools()
            assert talk.call("list_memories") == {"items": []}
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
        assert (out, "Traceback" in err) == ("", False)


@pytest.mark.slow
def test_a_larger_application_takes_it_in_and_each_caller_has_its_own_memory(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"version": 1, "embedder": "none"}) as memory:
        tenants = {"k1": Caller(memory.for_tenant("one"), role="write"), "k2": Caller(memory, role="read")}

        def caller(context: object) -> Caller:
            try:
                return tenants[bearer(context) or ""]
            except KeyError:
                raise InputError("give a key", field="Authorization") from None

        mcp = mcp_app(make_mcp(caller, Options(tools="all")), hosts=("memory.example",))

        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            async with mcp.router.lifespan_context(mcp):
                yield

        whole = Starlette(
            routes=[Route("/", lambda _request: PlainTextResponse("home")), *mcp.routes], lifespan=lifespan
        )
        with served_api(whole) as url:
            assert httpx2.get(url).text == "home"
            with Talk(keyed(f"{url}/mcp", "k1")) as one, Talk(keyed(f"{url}/mcp", "k2"), mode="legacy") as two:
                one.call("add_memory", content="我喜欢绿茶")
                assert one.call("search_memories", query="绿茶")["evidence"]
                assert two.call("search_memories", query="绿茶")["evidence"] == []
                assert two.refused("add_memory", content="x")["code"] == "access.role"
                assert "add_memory" in one.tools()
                assert "add_memory" not in two.tools()
            with Talk(keyed(f"{url}/mcp", "k3")) as nobody:
                assert nobody.refused("search_memories", query="x")["field"] == "Authorization"
            check_guard(f"{url}/mcp")


def check_guard(url: str) -> None:
    codes = {
        host: httpx2.post(url, json=HELLO, headers={**ACCEPTS, "Host": host, "Origin": f"https://{host}"}).status_code
        for host in ("evil.example", "memory.example", "localhost:1234")
    }
    assert codes == {"evil.example": 421, "memory.example": 200, "localhost:1234": 200}
    origin = httpx2.post(url, json=HELLO, headers={**ACCEPTS, "Origin": "https://evil.example"})
    assert origin.status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.com", ""])  # noqa: S104 - refused
def test_addresses_that_others_reach_are_refused(call: Callable[..., object], host: str) -> None:
    outcome = call("mcp", "--http", "--host", host)
    assert (outcome.code, outcome.out) == (2, "")  # type: ignore[attr-defined]
    assert f"host: {host}".strip() in outcome.err  # type: ignore[attr-defined]


def test_without_the_sdk_the_extra_is_named() -> None:
    program = """
import sys
sys.modules |= dict.fromkeys(("anyio", "mcp", "mcp.server"))
from phronesis.interfaces.cli.dispatch import run
sys.exit(run(["mcp", "--url", "sqlite://"]))
"""
    told = subprocess.run([sys.executable, "-c", program], input="", capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr.count("\n")) == (1, "", 1), told.stderr
    assert 'pip install "phronesis[mcp]" [missing_extra]' in told.stderr


def test_a_port_that_is_taken_is_told_before_any_address(call: Callable[..., object]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = call("mcp", "--http", "--port", str(taken.getsockname()[1]))
    assert outcome.code == 2  # type: ignore[attr-defined]
    assert "cannot listen" in outcome.err  # type: ignore[attr-defined]
    assert "MCP at" not in outcome.err  # type: ignore[attr-defined]
