"""Filters mean the same on both databases: what a few lines of Python say they mean."""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.ids import LaneName
from phronesis.core.items import TIME_FIELDS, Item, Trust
from phronesis.core.timestamps import from_micros
from phronesis.errors import InputError
from phronesis.store.database import Database, connect
from phronesis.store.eligible import ReadConditions, eligible_ids
from phronesis.store.filters import FILTERABLE, OPERATORS, compile_filters
from phronesis.store.items import insert_items, read_where
from phronesis.store.lanes import Lane, ensure_lane

METADATA: list[dict[str, Any]] = [
    *({}, {"x": None}, {"x": True}, {"x": False}, {"x": 0}, {"x": 1}, {"x": 1.0}, {"x": 1.5}, {"x": -3}),
    *({"x": 1e16}, {"x": 9_007_199_254_740_993}, {"x": 1e-7}, {"x": "1"}, {"x": "1.5"}, {"x": "true"}),
    *({"x": "null"}, {"x": ""}, {"x": "apple"}, {"x": "Apple"}, {"x": "ÄPFEL 50%"}, {"x": "äpfel_"}, {"x": "苹果 派"}),
    *({"x": "\U0001f34f"}, {"x": "\ufffd"}, {"x": []}, {"x": ["apple"]}, {"x": {}}, {"x": {"y": 1}}),
    *({"y": "apple"}, {"x.y": "dotted"}, {"ключ 键": "apple"}, {"x'; --": "apple"}, {"$": "apple"}),
    *({"0": "apple"}, {"[0]": "apple"}),
]
VALUES: list[Any] = [
    *(True, False, 0, 1, 1.0, 1.5, -3, 1e16, 9_007_199_254_740_993, 1e-7, "1", "1.5", "true", "null", "", "apple"),
    *("Apple", "ÄPFEL 50%", "äpfel", "%", "_", "pple", "苹果", "\U0001f34f", "\x00", "\ud800", "'", "\\", "zzz"),
]
KEYS = ["x", "metadata.x", "x.y", "metadata.x.y", "ключ 键", "x'; --", "$", "0", "[0]", "missing"]
MOMENT = 1_750_000_000_000_000


def _item(n: int, **fields: Any) -> Item:
    at = from_micros(MOMENT + n)
    defaults = {"kind": "fact", "content": f"item {n}", "entry_id": "e", "recorded_at": at, "updated_at": at}
    return Item(id=f"{n:04}", **{**defaults, **fields})


ITEMS = [_item(n, metadata=metadata) for n, metadata in enumerate(METADATA)] + [
    _item(100, subject="Ada", key="drink", importance=1, confidence=0.25, trust=Trust.EXTERNAL, pinned=True),
    _item(101, subject="ada", key="Drink", importance=10, confidence=1.0, trust=Trust.OPERATOR, version=3),
    _item(102, subject="阿达", content="绿茶 100% _tea_", importance=7, role="user", session_id="S", run_id="r/1"),
    _item(103, subject="", content="GRÜNER TEE", occurred_at=datetime(2020, 5, 1, tzinfo=UTC), kind="event"),
    _item(104, subject="Z", agent_id="ada", message_id="m", label="success", stage="core", source_ref="mem:1"),
    _item(105, status="archived", ended="retracted", quarantine="instruction", source_type="chat"),
]


@pytest.fixture
def store(database_url: str) -> Iterator[tuple[Database, Lane]]:
    database = connect(database_url)
    with database.transaction("t", "derive") as unit:
        lane = ensure_lane(unit, LaneName("user", "ada"), new_id=1)
        insert_items(unit, lane.lane_id, ITEMS)
    yield database, lane
    database.close()


def _found(store: tuple[Database, Lane], filters: dict[str, Any]) -> set[str]:
    database, lane = store
    with database.transaction("t", "read") as unit:
        condition = compile_filters(filters)
        return {item.id for item in read_where(unit, lane, *([] if condition is None else [condition]))}


def _means(item: Item, name: str, operation: str, wanted: Any) -> bool:
    value: Any = _value(item, name)
    if operation in ("in", "nin"):
        among = any(_means(item, name, "eq", member) for member in wanted)
        return among if operation == "in" else not among
    if wanted is None:
        return (value is None) == (operation == "eq")
    wanted = wanted.translate({0: 0xFFFD, 0xD800: 0xFFFD}) if isinstance(wanted, str) else wanted
    same_type = _type(value) == _type(wanted)
    if operation == "ne":
        return not (same_type and value == wanted)
    if not same_type:
        return False
    if operation == "contains":
        return wanted in value
    if operation == "icontains":
        return wanted.lower() in value.lower()
    compare = {"eq": operator.eq, "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return bool(compare[operation](float(value), float(wanted)))
    return bool(compare[operation](value, wanted))


def _value(item: Item, name: str) -> Any:
    if name in FILTERABLE:
        value = getattr(item, name)
        return int(value) if name == "trust" else value
    return item.metadata.get(name.removeprefix("metadata."))


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _expect(store: tuple[Database, Lane], name: str, operation: str, wanted: Any) -> None:
    expected = {item.id for item in ITEMS if _means(item, name, operation, wanted)}
    assert _found(store, {name: {operation: wanted}}) == expected, (name, operation, wanted)


@pytest.mark.both_databases
def test_metadata_of_every_type_against_values_of_every_type(store: tuple[Database, Lane]) -> None:
    scalar = [operation for operation in OPERATORS if operation not in ("in", "nin")]
    odd_keys = itertools.product(KEYS, ["eq", "ne"], ["apple", 1])
    for name, operation, wanted in [*itertools.product(["metadata.x"], scalar, VALUES), *odd_keys]:
        unordered = isinstance(wanted, bool) and operation not in ("eq", "ne")
        if unordered or (operation.endswith("contains") and not isinstance(wanted, str)):
            with pytest.raises(InputError, match=r"takes a string|no order"):
                _found(store, {name: {operation: wanted}})
        else:
            _expect(store, name, operation, wanted)


@pytest.mark.both_databases
def test_lists_of_mixed_types_and_null(store: tuple[Database, Lane]) -> None:
    for operation, wanted in itertools.product(
        ("in", "nin"), ([], [1], ["1", 1, True, None], ["apple", "zzz"], [None], [1.5, -3], VALUES)
    ):
        _expect(store, "metadata.x", operation, wanted)
    for operation in ("eq", "ne"):
        for name in (*KEYS, "subject", "ended", "occurred_at"):
            _expect(store, name, operation, None)


@pytest.mark.both_databases
def test_texts_and_numbers_of_items(store: tuple[Database, Lane]) -> None:
    numbers: tuple[float, ...] = (1, 7, 7.5, 0.25, 2**70, -1)
    for operation in ("eq", "ne", "gt", "gte", "lt", "lte"):
        for wanted in ("Ada", "ada", "B", "", "阿", "Z"):
            _expect(store, "subject", operation, wanted)
        for name, number in itertools.product(("importance", "version", "confidence"), numbers):
            _expect(store, name, operation, number)
    for operation, wanted in itertools.product(("contains", "icontains"), ("tea", "TEE", "grüner", "100%", "_", "茶")):
        _expect(store, "content", operation, wanted)
    for name in ("role", "session_id", "run_id", "agent_id", "message_id", "label", "stage", "source_ref", "id", "key"):
        for wanted in ("user", "S", "r/1", "ada", "m", "success", "core", "mem:1", "0104", "drink"):
            _expect(store, name, "eq", wanted)


@pytest.mark.both_databases
def test_times_trust_and_truth_values(store: tuple[Database, Lane]) -> None:
    for operation in ("eq", "ne", "gt", "gte", "lt", "lte"):
        moment = datetime(2020, 5, 1, tzinfo=UTC)
        for name in TIME_FIELDS:
            _expect(store, name, operation, moment)
        assert _found(store, {"occurred_at": {operation: "2020-05-01"}}) == {
            item.id for item in ITEMS if _means(item, "occurred_at", operation, moment)
        }
        for name in ("tool", "USER"):
            expected = {item.id for item in ITEMS if _means(item, "trust", operation, int(Trust[name.upper()]))}
            assert _found(store, {"trust": {operation: name}}) == expected
    assert _found(store, {"pinned": True}) == {"0100"}
    assert "0100" not in _found(store, {"pinned": {"ne": True}})


@pytest.mark.both_databases
def test_empty_and_or_not_are_what_logic_says(store: tuple[Database, Lane]) -> None:
    everything = {item.id for item in ITEMS}
    every: tuple[dict[str, Any], ...] = (
        {"AND": []},
        {"NOT": []},
        {"NOT": {"OR": []}},
        {"OR": [{}, {"x": 1}]},
        {"OR": [{"AND": []}]},
    )
    for filters in every:
        assert _found(store, filters) == everything, filters
    none: tuple[dict[str, Any], ...] = (
        {"OR": []},
        {"NOT": {}},
        {"NOT": [{"AND": []}]},
        {"AND": [{"OR": []}]},
        {"OR": [], "x": 1},
    )
    for nothing in none:
        assert _found(store, nothing) == set(), nothing


def test_a_filter_may_repeat_the_scope_and_not_change_it(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        memory.add("I live in France.", user_id="a", agent_id="bot")
        asked = "Where do I live?"
        for own in ({"user_id": "a"}, {"AND": [{"user_id": {"in": ["a"]}}, {"agent_id": "bot"}]}):
            assert memory.search(asked, user_id="a", filters=own)
            assert memory.get_all(user_id="a", filters=own)
            plan = dataclasses.replace(memory.plan(asked, user_id="a"), filters=own)
            assert memory.retrieve(plan)
        assert not memory.search(asked, user_id="a", filters={"agent_id": "other"})
        refused: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
            ({}, {"user_id": "a"}),
            ({"user_id": "a"}, {"OR": [{"user_id": "b"}]}),
            ({"user_id": "a"}, {"NOT": {"namespace": "x"}}),
            ({"across": "tenant"}, {"user_id": "a"}),
        )
        for scope, other in refused:
            for verb in (functools.partial(memory.search, asked), memory.get_all):
                with pytest.raises(InputError, match=r"filters.*(user_id|namespace).*argument") as raised:
                    verb(**scope, filters=other)
                assert str(raised.value.field).startswith("filters")


@pytest.mark.both_databases
def test_long_lists(store: tuple[Database, Lane]) -> None:
    assert _found(store, {"id": {"in": [f"{n:04}" for n in range(10_000)]}}) == {item.id for item in ITEMS}
    with pytest.raises(InputError, match="10,001"):
        _found(store, {"id": {"in": ["x"] * 10_001}})


def test_what_is_not_understood_is_named() -> None:
    cases: list[tuple[Any, str]] = [
        (["kind"], "filters"),
        ({"kind": {"like": "f"}}, "filters.kind"),
        ({"kind": 1}, "filters.kind"),
        ({"recorded_at": "soon"}, "filters.recorded_at"),
        ({'a"b': 1}, 'filters.a"b'),
        ({"x": float("nan")}, "filters.x"),
        ({"x": [1]}, "filters.x"),
        ({"x": {"in": "abc"}}, "filters.x"),
    ]
    for filters, field in cases:
        with pytest.raises(InputError) as refused:
            compile_filters(filters)
        assert refused.value.field == field


@pytest.mark.both_databases
def test_eligible_reads_leave_out_what_ended_unless_filters_ask(store: tuple[Database, Lane]) -> None:
    database, lane = store
    with database.transaction("t", "derive") as unit:
        insert_items(unit, lane.lane_id, [_item(106, status="archived")])
    with database.transaction("t", "read") as unit:
        ordinary = eligible_ids(unit, lane, ReadConditions(attributes={"run_id": "r/1"}))
        asked = eligible_ids(unit, lane, ReadConditions(filters={"OR": [{"status": "archived"}, {"run_id": "r/1"}]}))
        past = eligible_ids(unit, lane, ReadConditions(as_of=MOMENT + 2))
        held = eligible_ids(unit, lane, ReadConditions(filters={"quarantine": "instruction"}))
    # 0105 is archived and in quarantine: no filter brings it out.
    assert (ordinary, asked, past, held) == ({"0102"}, {"0102", "0106"}, {"0000", "0001", "0002"}, set())
