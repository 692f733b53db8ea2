"""The daemon process: it keeps one store open, and serves MCP and hooks over local connections while they are used."""

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import anyio
import anyio.to_thread
from anyio.abc import ByteStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from phronesis import __version__
from phronesis.adapters.agent_hooks import answer_hook
from phronesis.adapters.hook_call import HookCall
from phronesis.config.locations import StoreName
from phronesis.errors import InputError, PhronesisError
from phronesis.interfaces.daemon_endpoint import PROTOCOL, encode_line, make_folder, socket_path
from phronesis.interfaces.mcp import DeferredMemory, Options, make_mcp

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from phronesis.memory import Memory

CommandRunner: TypeAlias = "Callable[[Memory, Mapping[str, Any]], dict[str, Any]]"
"""Runs a command of the command line with the open store, for a client."""

IDLE_SECONDS: Final = 1_800.0
"""Seconds without a connection after which a daemon ends."""

WATCH_SECONDS: Final = 1.0
"""Seconds between two looks at whether the daemon is idle."""

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Longest line in bytes that a client may send."""


class Daemon:
    """Serves the connections of one store. ``run`` returns when the daemon was stopped, or idle for long enough."""

    def __init__(
        self,
        store: StoreName,
        open_memory: Callable[[], "Memory"],
        run_command: CommandRunner,
        *,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._store = store
        self._run_command = run_command
        self._log = sys.stderr  # which a command redirects while it runs
        self._memory = DeferredMemory(open_memory)
        self._idle_seconds = idle_seconds
        self._servers: dict[Options, MCPServer[Any]] = {}
        self._connections = 0
        self._started = self._last_seen = time.monotonic()
        self._stopped = anyio.Event()

    async def run(self) -> None:
        """Serve until a signal, the service ``stop`` or idleness ends it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_on_signal)
            await self.run_unsignalled()
            tasks.cancel_scope.cancel()

    async def run_unsignalled(self) -> None:
        """Serve as `run`, without a look at signals, which only a main thread receives."""
        path = socket_path(self._store)
        path.unlink(missing_ok=True)  # of a daemon that crashed: the lock says that none runs
        listener = await anyio.create_unix_listener(path, mode=0o600)
        try:
            async with listener, anyio.create_task_group() as tasks:
                tasks.start_soon(self._stop_when_idle)
                tasks.start_soon(listener.serve, self._serve)
                tasks.start_soon(anyio.to_thread.run_sync, self._warm_up)
                await self._stopped.wait()
                tasks.cancel_scope.cancel()
        finally:
            path.unlink(missing_ok=True)
            self._memory.close_if_opened()

    def _facts(self) -> dict[str, Any]:
        return {"protocol": PROTOCOL, "version": __version__, "pid": os.getpid(), "url": _without_password(self._store)}

    def _warm_up(self) -> None:
        """Open the store, interpret what a crash left, and load what a search needs, before a hook waits for it."""
        try:
            self._memory.flush()
            self._memory.search("warm up", limit=1)
        except PhronesisError as error:  # the first call raises it again, to its caller
            print(f"phronesis: {error}", file=self._log, flush=True)

    async def _stop_on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self._stopped.set()

    async def _stop_when_idle(self) -> None:
        while self._connections or time.monotonic() - self._last_seen < self._idle_seconds:  # noqa: ASYNC110 - the clock
            await anyio.sleep(min(WATCH_SECONDS, self._idle_seconds))
        self._stopped.set()

    async def _serve(self, stream: SocketStream) -> None:
        self._connections += 1
        try:
            async with stream:
                lines = BufferedByteReceiveStream(stream)
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for message in _objects(lines):
                        await self._answer(message, lines, stream)
                        break
        except Exception as error:  # noqa: BLE001 - one connection must not end those of others
            print(f"phronesis: connection: {type(error).__name__}: {error}", file=self._log, flush=True)
        finally:
            self._connections -= 1
            self._last_seen = time.monotonic()

    async def _answer(self, hello: Mapping[str, Any], lines: BufferedByteReceiveStream, stream: ByteStream) -> None:
        """Check the first line of a connection, and serve what it asks for."""
        refused = self._refusal(hello)
        if refused is not None:
            await stream.send(encode_line({"error": refused}))
            return
        await stream.send(encode_line({**self._facts(), "connections": self._connections, "uptime": self._uptime()}))
        service = hello.get("service")
        if service == "mcp":
            await self._serve_mcp(_options(hello), lines, stream)
        elif service == "hook":
            async for message in _objects(lines):
                await stream.send(encode_line(await anyio.to_thread.run_sync(self._hook, message)))
        elif service == "command":
            async for message in _objects(lines):
                await stream.send(encode_line(await anyio.to_thread.run_sync(self._command, message)))
        elif service == "stop":
            self._stopped.set()

    def _refusal(self, hello: Mapping[str, Any]) -> str | None:
        same = hello.get("phronesis") == PROTOCOL and hello.get("version") == __version__
        if same or hello.get("service") in {"status", "stop"}:
            try:
                _options(hello)
            except (InputError, TypeError) as error:
                return str(error)
            return None
        return (
            f"the daemon of this store is Phronesis {__version__} (process {os.getpid()}), and this is"
            f" {hello.get('version')!s:.40}: stop it with 'phronesis daemon stop'; the next session starts another"
        )

    def _uptime(self) -> int:
        return round(time.monotonic() - self._started)

    async def _serve_mcp(self, options: Options, lines: BufferedByteReceiveStream, stream: ByteStream) -> None:
        from phronesis.interfaces.mcp.server import serve_streams  # noqa: PLC0415 - the SDK, when it is first needed

        if options not in self._servers:
            self._servers[options] = await anyio.to_thread.run_sync(make_mcp, self._memory, options)
        await serve_streams(self._servers[options], _TextLines(lines), _TextSink(stream))

    def _hook(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a hook, or the reason why there is none: a hook must not stop its host."""
        try:
            return answer_hook(cast("Memory", self._memory), HookCall.read(message))
        except Exception as error:  # noqa: BLE001 - the interface edge: recorded in the daemon's log and in the answer
            print(f"phronesis: hook: {type(error).__name__}: {error}", file=self._log, flush=True)
            return {"error": f"{type(error).__name__}: {error}"}

    def _command(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Run a command for a client; return its exit code and what it printed."""
        try:
            return self._run_command(cast("Memory", self._memory), message)
        except Exception as error:  # noqa: BLE001 - the interface edge: recorded in the daemon's log and in the answer
            print(f"phronesis: command: {type(error).__name__}: {error}", file=self._log, flush=True)
            return {"code": 1, "stderr": f"phronesis: {type(error).__name__}: {error}\n"}


def _options(hello: Mapping[str, Any]) -> Options:
    given: dict[str, Any] = hello.get("options", {})
    options: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in given.items()}
    return Options(**options)


class _TextLines:
    """The lines of a connection, as the SDK reads those of a text file."""

    def __init__(self, lines: BufferedByteReceiveStream) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in _raw_lines(self._lines):
            yield line.decode("utf-8", errors="replace")


class _TextSink:
    """A connection, as the SDK writes to a text file."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def write(self, text: str) -> None:
        await self._stream.send(text.encode())

    async def flush(self) -> None:
        """Everything is sent already."""


async def _raw_lines(lines: BufferedByteReceiveStream) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await lines.receive_until(b"\n", LONGEST_LINE)
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.DelimiterNotFound):
            return


async def _objects(lines: BufferedByteReceiveStream) -> AsyncIterator[dict[str, Any]]:
    async for line in _raw_lines(lines):
        try:
            message = json.loads(line)
        except ValueError:
            return
        if isinstance(message, dict):
            yield message


def _without_password(store: StoreName) -> str:
    head, at, tail = store.url.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if at else store.url


@contextlib.contextmanager
def sole_daemon(store: StoreName) -> Iterator[bool]:
    """Hold the lock of a store's daemon; yields False if another process holds it."""
    with (make_folder() / f"{store.key}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


def run_daemon(
    store: StoreName,
    open_memory: Callable[[], "Memory"],
    run_command: CommandRunner,
    *,
    idle_seconds: float = IDLE_SECONDS,
) -> bool:
    """Run the daemon of a store until it is stopped or idle; return False at once if another process runs it."""
    with sole_daemon(store) as sole:
        if sole:
            anyio.run(Daemon(store, open_memory, run_command, idle_seconds=idle_seconds).run)
        return sole
