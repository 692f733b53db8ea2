"""What the child processes of the scenarios do. They say what was acknowledged with one `os.write` a line."""

import json
import os
import random
import sys
import time
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from unittest.mock import patch

from coverage import Coverage

from phronesis.errors import PhronesisError
from phronesis.memory import Memory

POLICY = {"embedder": "none", "extraction": False}  # what they write is about the log, not about what a text says
VERBS = ("turn", "add", "fact", "later", "update", "archive", "rollback")


def forks() -> ForkServerContext:
    """Give the context whose server has done once what every child would, so that a child costs a fork."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["scenarios.writers", "scenarios.warmed"])
    return context


def start(target: Any, *arguments: Any) -> ForkServerProcess:
    process = forks().Process(target=target, args=arguments, daemon=True)
    # Before Python 3.13 the server is not told where modules are (its preloading passes over what it does not find).
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))):
        # The server is not to be counted, which doubles the time of its preloading; its children still are.
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
        process.start()
    return process


class Said:
    """A file of lines, each whole or not there, whatever kills the writer."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, **fact: Any) -> None:
        os.write(self._file, json.dumps(fact).encode() + b"\n")


def sum_judgements(path: Path) -> list[dict[str, Any]]:
    """Give the whole lines of such a file."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def turn_of(name: str, n: int) -> dict[str, Any]:
    return {
        "messages": [
            {"role": "user", "content": f"{name} asks number {n} about Kyoto 北京 🎉", "id": f"{name}-{n}"},
            {"role": "assistant", "content": f"answer {n}"},
        ],
        "tool_calls": [{"name": "look", "args": {"n": n}}],
        "session_metadata": {"last": n},
    }


FOREVER = 300.0
"""Seconds after which a writer stops that nobody killed: its test was interrupted."""


def commit_forever(url: str, path: str, name: str, seed: int) -> None:
    """Write with every verb until killed, in the lane of user `u` that all writers share and in one of its own."""
    if counting := Coverage.current():
        counting.stop()  # a killed process saves no counts, and counting takes two thirds of its time
    say, chance = Said(path), random.Random(seed)
    with Memory.open(url, policy=POLICY) as memory:
        entries: list[str] = []
        items: list[str] = []
        n = 0
        end = time.monotonic() + FOREVER
        while time.monotonic() < end:
            n += 1
            verb = chance.choice(VERBS)
            user = chance.choice(["u", name])
            if verb in {"update", "archive", "rollback"} and not items:
                verb = "turn"
            if verb == "turn":
                turn = memory.commit_turn(f"s/{name}", turn_of(name, n), user_id=user)
                entries.append(turn.entry_id)
                items += [item.id for item in turn.stored]
                say(verb=verb, entry=turn.entry_id, n=n, user=user)
            elif verb == "later":
                later = memory.commit_turn(f"s/{name}", turn_of(name, n), user_id=user, wait=False)
                say(verb="turn", entry=later.entry_id, n=n, user=user)
            elif verb in {"add", "fact"}:
                kind: dict[str, Any] = {"kind": "fact", "subject": name, "key": "number"} if verb == "fact" else {}
                added = memory.add(f"{name} notes {n}", user_id=user, idempotency_key=f"{name}{seed}-{n}", **kind)
                items += [item.id for item in added.items]
                say(verb="add", entry=added.entry_id, item=added.items[0].id, content=f"{name} notes {n}", user=user)
            elif verb == "rollback" and entries:
                undone = memory.rollback(entries.pop(chance.randrange(len(entries))), cascade=True)
                say(verb="edit", entry=undone.entry_id)
            else:
                item = chance.choice(items)
                edit = (
                    memory.items.archive(item) if verb == "archive" else memory.update(item, content=f"{name} now {n}")
                )
                if edit.items:  # an edit that changed nothing leaves nothing to take back
                    entries.append(edit.entry_id)
                say(verb="edit", entry=edit.entry_id)


COUNTED = 20
"""Turns of a writer whose lines are still counted as covered: more repeat them, at three times the time."""


def commit_some(url: str, path: str, name: str, count: int, barrier: Barrier) -> None:
    """Open together with the others, then write `count` turns, half of them in a lane that all share."""
    if count > COUNTED and (counting := Coverage.current()):
        counting.stop()
    say = Said(path)
    barrier.wait()
    try:
        with Memory.open(url, policy=POLICY) as memory:
            for n in range(count):
                user = "shared" if n % 2 else name
                wait = n % 5 != 0
                done = memory.commit_turn(f"s-{name}", turn_of(name, n), user_id=user, wait=wait)
                say(entry=done.entry_id, n=n, user=user)
                raced = memory.add(f"once and for all {n}", user_id="raced", idempotency_key=f"once-{n}")
                say(raced=raced.entry_id, items=[item.to_dict() for item in raced.items], n=n)
    except PhronesisError as error:
        say(error=error.to_dict())


def verify_copy(url: str, path: str) -> None:
    """Verify a store as a machine without an encoder does."""
    with Memory.open(url, policy=POLICY) as memory:
        Said(path)(**memory.admin.rebuild(verify=True).to_dict())


def try_to_write(url: str, path: str, uid: int) -> None:
    """Write as a user who may not."""
    if os.getuid() != uid:
        os.setuid(uid)
    try:
        with Memory.open(url, policy=POLICY) as memory:
            memory.add("x", user_id="u")
    except PhronesisError as error:
        Said(path)(**error.to_dict())
    else:
        Said(path)(code="written")
