"""Calls that must be refused, each with the field that the refusal names."""

import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from phronesis.core.text import MAX_TEXT_LENGTH
from phronesis.memory import Memory
from scenarios.writers import POLICY

Call = Callable[[Any], object]
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


WRONG: Any = 5
LATER: Any = "soon"


def item_of(memory: Memory) -> str:
    return memory.get_all(user_id="alice")[0].id


def cyclic() -> Any:
    knot: dict[str, Any] = {}
    knot["knot"] = [knot]
    return knot


def deep(levels: int) -> Any:
    nest: Any = "x"
    for _ in range(levels):
        nest = {"a": nest}
    return nest


def nested_filters(levels: int) -> dict[str, Any]:
    nest: dict[str, Any] = {"kind": "fact"}
    for _ in range(levels):
        nest = {"AND": [nest]}
    return nest


def knotted_filters() -> dict[str, Any]:
    knot: dict[str, Any] = {}
    knot["OR"] = [knot]
    return knot


NO_TEXTS = [None, 5, 1.5, True, b"bytes", object(), {"a": 1}, "", "   ", "\n\t", "x" * (MAX_TEXT_LENGTH + 1)]
NO_IDS = [5, b"alice", ["alice"], object(), "", " ", "a\x00b", "\ud800", "x" * 257]
NO_TIMES = [
    math.nan,
    1e30,
    True,
    b"2026",
    object(),
    "",
    "yesterday",
    "2026-13-01",
    "2026-05-01T25:00",
    "0001-01-01T00:00+14:00",
    "\ud800",
    "９９９",
]
NO_JSON = [
    math.nan,
    math.inf,
    -math.inf,
    b"x",
    {1},
    object(),
    1 << 63,
    -(1 << 64),
    cyclic(),
    deep(70),
    {1: 2},
    {None: 1},
    {"a": [{"b": math.nan}]},
    datetime.now,
    NOW,
]
FUTURE = [NOW + timedelta(days=1, seconds=1), "9999-12-31T23:59:59Z", "2026-05-03"]
NO_TURNS: list[Any] = [None, 5, "", b"x", [], {}, {"messages": []}, {"massages": []}, {1: 2}]
IDS = ("user_id", "agent_id", "session_id", "run_id", "namespace")


def adding(name: str, bad: Any, /, **more: Any) -> tuple[str, Call]:
    return name, lambda memory: memory.add(**{"content": "x", **more, name: bad})


def committing(name: str, /, **more: Any) -> tuple[str, Call]:
    messages = [{"role": "user", "content": "x"}]
    return name, lambda memory: memory.commit_turn("s", {"messages": messages, **more})


def saying(name: str, /, **message: Any) -> tuple[str, Call]:
    return f"messages[0].{name}", lambda memory: memory.commit_turn(
        "s", {"messages": [{"role": "user", "content": "x", **message}]}
    )


def calling(name: str, /, **call: Any) -> tuple[str, Call]:
    return f"tool_calls[0].{name}", lambda memory: memory.commit_turn("s", {"tool_calls": [{"name": "f", **call}]})


def editing(name: str, bad: Any, /) -> tuple[str, Call]:
    return name, lambda memory: memory.update(item_of(memory), **{"content": "new", name: bad})


def searching(name: str, bad: Any, /, **more: Any) -> tuple[str, Call]:
    return name, lambda memory: memory.search(**{"query": "x", **more, name: bad})


REFUSED: list[tuple[str, Call]] = [
    *(adding("content", bad) for bad in NO_TEXTS if bad is not None),
    *(adding("content", bad, kind="fact") for bad in [*NO_TEXTS, ["x"], [{"role": "user", "content": "x"}]]),
    ("content", lambda m: m.add([])),
    ("content", lambda m: m.add(())),
    ("content", lambda m: m.add([{"content": "x"}] * 10_001)),
    ("content[0]", lambda m: m.add(["x"])),
    ("content[0]", lambda m: m.add(bytearray(b"x"))),
    ("content[1].content", lambda m: m.add([{"content": "x"}, {"content": " "}])),
    ("content[1].id", lambda m: m.add([{"content": "x", "id": "1"}, {"content": "y", "id": "1"}])),
    *(adding(name, bad) for name in IDS for bad in NO_IDS),
    *(adding(name, bad) for name in ("actor", "idempotency_key") for bad in NO_IDS),
    adding("actor", None),
    *(adding("metadata", bad) for bad in [5, "x", [1], b"x", {1}, object()]),
    *(
        ("metadata.bad", adding("metadata", {"bad": bad})[1])
        for bad in [math.nan, b"x", {1}, object(), 1 << 63, {1: 2}]
    ),
    *(adding("occurred_at", bad) for bad in [*NO_TIMES, *FUTURE]),
    *(adding("importance", bad) for bad in [0, 11, -1, True, 5.0, "5", math.nan, [5]]),
    *(adding("kind", bad) for bad in ["", "Fact", "message", "trait", "l1", "nothing", 5, b"fact", ["fact"], {"fact"}]),
    *(adding("subject", bad, kind="fact") for bad in NO_IDS),
    *(adding("key", bad, kind="fact") for bad in NO_IDS),
    *(adding(name, "x") for name in ("subject", "key", "value")),
    *(adding("infer", bad) for bad in [None, 0, "false", object()]),
    *(adding("wait", bad) for bad in [None, 0, "false", object()]),
    *(
        ("session_id", lambda m, bad=bad: m.commit_turn(bad, {"messages": [{"content": "x"}]}))
        for bad in [None, *NO_IDS]
    ),
    *(("turn_events", lambda m, bad=bad: m.commit_turn("s", bad)) for bad in NO_TURNS),
    *(committing("messages", messages=bad) for bad in [5, "", {}, 0, b"x", {"role": "user"}]),
    *(committing("messages[0]", messages=[bad]) for bad in [5, "x", None, [], {"content": "x", "$erased": True}]),
    *(saying("role", role=bad) for bad in ["", "robot", "User", 5, None, ["user"], {"user"}]),
    *(saying("content", content=bad) for bad in [*NO_TEXTS, [], [{"type": "image"}], [{"text": " "}], ["x"]]),
    saying("content[0].text", content=[{"text": "x" * (MAX_TEXT_LENGTH + 1)}]),
    *(saying(name, **{name: bad}) for name in ("id", "name", "model") for bad in NO_IDS),
    *(saying("created_at", created_at=bad) for bad in [*NO_TIMES, *FUTURE]),
    *(saying("metadata", metadata=bad) for bad in [5, "x", [1]]),
    *(saying("extra", extra=bad) for bad in [math.inf, {1}, b"x"]),
    *(committing("tool_calls", tool_calls=bad) for bad in [5, "x", {"name": "f"}, b"x", {1}, [{"name": "f"}] * 10_001]),
    *(committing("tool_calls[0]", tool_calls=[bad]) for bad in [5, "x", None, [], {"name": "f", "$erased": True}]),
    *(calling("name", name=bad) for bad in [None, *NO_IDS]),
    *(calling(name, **{name: bad}) for name in ("id", "status") for bad in NO_IDS),
    *(calling("created_at", created_at=bad) for bad in [*NO_TIMES, *FUTURE]),
    *(calling("args", args=bad) for bad in [math.nan, b"x", {1}, object()]),
    ("tool_calls[1].id", lambda m: m.commit_turn("s", {"tool_calls": [{"name": "f", "id": "1"}] * 2})),
    *(committing("refs", refs=bad) for bad in [5, "x", {"type": "url"}]),
    *(committing("refs[0].type", refs=[{"type": bad, "uri": "u"}]) for bad in [None, "", "link", 5, ["url"]]),
    *(committing("refs[0].uri", refs=[{"type": "url", "uri": bad}]) for bad in [*NO_TEXTS, "data:" + "x" * 2000]),
    *(committing("session_metadata", session_metadata=bad) for bad in [5, "x", [1]]),
    *(
        ("context_id", lambda m, bad=bad: m.commit_turn("s", {"messages": [{"content": "x"}]}, context_id=bad))
        for bad in NO_IDS
    ),
    *(
        ("id", lambda m, bad=bad, verb=verb: attrgetter(verb)(m)(bad))
        for verb in """
            get items.archive items.unarchive delete items.pin items.unpin items.retract history explain
            rollback
        """.split()
        for bad in [None, 5, b"x", "", "x", "mem:", "mem:mem:", ["x"], str(uuid.uuid4())[:-1], "\ud800"]
    ),
    ("content", lambda m: m.update(item_of(m))),
    *(editing("content", bad) for bad in NO_TEXTS if bad is not None),
    *(editing("metadata", bad) for bad in [5, "x", [1]]),
    *(editing("valid_to", bad) for bad in NO_TIMES),
    *(editing("expected_version", bad) for bad in [0, -1, True, 1.0, "1", [1]]),
    *(editing("reason", bad) for bad in NO_TEXTS if bad is not None),
    ("user_id", lambda m: m.items.delete_all()),
    *(("cascade", lambda m, bad=bad: m.rollback(item_of(m), cascade=bad)) for bad in [None, 0, "no", object()]),
    *(searching("query", bad) for bad in NO_TEXTS),
    *(searching(name, bad) for name in IDS for bad in NO_IDS),
    *(searching("across", bad) for bad in ["", "all", 5, True, ["tenant"]]),
    *(searching("kinds", bad) for bad in ["", "facts", 5, ["fact", "x"], [5], [["fact"]], {"fact": 1}, object()]),
    *(searching("limit", bad) for bad in [0, -1, True, 1.5, "10", None, 10_001, 1 << 70]),
    *(searching(name, bad) for name in ("as_of", "valid_at") for bad in NO_TIMES),
    *(searching("explain", bad) for bad in [None, 1, "yes"]),
    *(searching("filters", bad) for bad in [5, "x", "", [], [{"kind": "fact"}], {1: 2}, {None: 1}, b"x"]),
    *(
        (f"filters.{name}", searching("filters", {name: bad})[1])
        for name, bad in [
            ("importance", {"bigger": 5}),
            ("importance", "5"),
            ("importance", {"gt": None}),
            ("importance", {"contains": "5"}),
            ("kind", 5),
            ("kind", {"in": "fact"}),
            ("kind", {"in": {"fact"}}),
            ("kind", {"contains": 5}),
            ("kind", ["fact"]),
            ("kind", b"fact"),
            ("content", {"in": ["x"] * 10_001}),
            ("recorded_at", "yesterday"),
            ("recorded_at", True),
            ("trust", "stranger"),
            ("pinned", 1),
            ("topic", [1]),
            ("topic", object()),
            ("metadata.", 1),
            ("", 1),
            ("AND", "x"),
            ("OR", [5]),
            ("NOT", ["x"]),
            ("AND", None),
            ("a\x00b", 1),
        ]
    ),
    ("filters", lambda m: m.search("x", filters=nested_filters(20))),
    ("filters", lambda m: m.search("x", filters=knotted_filters())),
    ("filters", lambda m: m.search("x", filters={"OR": [{"importance": n} for n in range(501)]})),
    ("metadata", lambda m: m.add("x", metadata={f"k{n}": n for n in range(10_001)})),
    ("refs", lambda m: m.commit_turn("s", {"refs": [{"type": "file", "uri": f"{n}.md"} for n in range(1_001)]})),
    *(("limit", lambda m, bad=bad: m.get_all(limit=bad)) for bad in [0, -1, True, "x"]),
    *(("session_id", lambda m, bad=bad: m.sessions.turns(bad)) for bad in [None, *NO_IDS]),
    *(("tenant", lambda m, bad=bad: m.for_tenant(bad)) for bad in [None, 5, "", "a b", "a'b", "x" * 65, "租户", "a/b"]),
    *(("url", lambda _m, bad=bad: Memory.open(bad)) for bad in [5, b"sqlite://", object(), "nonsense", "mysql://x/y"]),
    *(("policy", lambda _m, bad=bad: Memory.open("sqlite://", policy=bad)) for bad in [5, "x", ["embedder"]]),
    ("policy.embedder", lambda _m: Memory.open("sqlite://", policy={"embedder": "gpt"})),
    ("policy.embeder", lambda _m: Memory.open("sqlite://", policy={"embeder": "none"})),
    ("clock", lambda _m: Memory.open("sqlite://", policy=POLICY, clock=WRONG)),
    ("clock", lambda _m: Memory.open("sqlite://", policy=POLICY, clock=lambda: LATER).add("x")),
]
