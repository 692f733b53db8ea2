"""What is derived is stored and read alike on both databases: every column, every type, and names that SQL reserves."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis.core.changes import Changes, Delta, ResolvedChanges
from phronesis.core.entries import ConversationRows, MessageRow, RefRow, SessionRow, ToolCallRow, TurnRow
from phronesis.core.ids import LaneName
from phronesis.core.items import Item, Trust
from phronesis.core.relations import Edge, Entity, EvidenceRow, Mention
from phronesis.core.serialization import round_stored
from phronesis.core.timestamps import from_micros
from phronesis.store import conversations, documents, relations
from phronesis.store.database import Database, Unit, connect
from phronesis.store.deltas import deltas_of_entry, deltas_of_items, find_delta
from phronesis.store.documents import DocumentRow
from phronesis.store.items import insert_items, lane_of_item, read_items, read_where, update_items
from phronesis.store.lane_state import clear_lane, differences, make_equal, open_scratch, snapshot, write_settled
from phronesis.store.lanes import Lane, ensure_lane

AT = from_micros(1_750_000_000_123_456)
FULL = Item(
    id="i1",
    kind="fact",
    content="a\nb \U0001f469 绿茶 'quoted' \\ %",
    entry_id="e1",
    recorded_at=AT,
    updated_at=AT,
    version=3,
    subject="S",
    key="k",
    value={"a": [1, 1.5, None, True, "é", 1e16]},
    metadata={"z": 1, "a": {"b": []}},
    importance=9,
    status="archived",
    ended="superseded",
    ended_by="e9",
    confidence=0.123456789,
    trust=Trust.TOOL,
    quarantine="q",
    pinned=True,
    stage="core",
    label="success",
    source_type="run",
    source_ref="run:1",
    agent_id="ag",
    session_id="s",
    run_id="r",
    message_id="m",
    role="user",
    name="Ada",
    position=7,
    occurred_at=AT,
    valid_from=from_micros(-1),
    valid_to=from_micros(253_402_300_799_999_999),
    data={"claims": [{"id": "c1"}]},
    user_id="ada",
)
BARE = Item(id="i2", kind="message", content="", entry_id="e1", recorded_at=AT, updated_at=AT, user_id="ada")
EDGE = Edge(
    type="supports",
    from_kind="item",
    from_id="i1",
    to_kind="entry",
    to_id="e2",
    entry_id="e1",
    weight=0.5,
    grade="A",
    origin="human",
    data={"x": [1]},
)
EVIDENCE = EvidenceRow(
    item_id="i1",
    polarity="support",
    source_key="e2",
    entry_id="e1",
    recorded_at=AT,
    part="claim-1",
    source_entry_id="e2",
    source_item_id="i2",
    source_ref="run:1",
    span_start=0,
    span_end=5,
    grade="B",
    origin="model",
    weight=0.25,
    occurred_at=AT,
)
ENTITIES = [
    Entity(id="n1", name="Ada", normal="ada", kind="name", entry_id="e1", canonical_id=None),
    Entity(id="n2", name="Ada L.", normal="ada l.", kind="name", entry_id="e1", canonical_id="n1"),
]
MENTION = Mention(entity_id="n1", item_id="i1", start=0, end=3, entry_id="e1")
REPEAT = MessageRow(
    entry_id="e1", n=1, session_id="s/1", item_id="i0", role="user", message_id="m0", name="Ada", occurred_at=AT
)
CONVERSATION = ConversationRows(
    session=SessionRow(
        session_id="s/1", created_at=AT, updated_at=AT, turn_count=1, message_count=1, metadata={"k": 1}
    ),
    turn=TurnRow(entry_id="e1", session_id="s/1", number=1, recorded_at=AT),
    messages=(MessageRow(entry_id="e1", n=0, session_id="s/1", item_id="i1", role="user", message_id="m"), REPEAT),
    tool_calls=(ToolCallRow(entry_id="e1", n=0, session_id="s/1", name="look", call_id="c", status="ok"),),
    refs=(RefRow(entry_id="e1", n=0, session_id="s/1", ref_type="url", uri="https://example.org/" + "a" * 1900),),
)
DOCUMENT = DocumentRow(
    id="d1",
    item_id="i1",
    part="whole",
    version=1,
    kind="fact",
    session_id="s/1",
    position=7,
    speaker="Ada",
    text=None,
    terms=bytes(range(256)),
    marks=b"\x10\x01\0\0\0",
    current_from=5,
    current_to=None,
    changed_seq=2,
)
DELTA = Delta(
    id="x1",
    entry_id="e1",
    item_id="i1",
    n=0,
    op="update",
    patch={"value": [None, {"a": 1e16}], "content": ["a", "b"]},
    actor="agent",
    reason="why not",
    recorded_at=AT,
    version=2,
    evidence_added=({"item_id": "i1"},),
    evidence_removed=(),
    edges_added=(),
    edges_removed=({"type": "about", "data": {}},),
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = connect(database_url)
    yield database
    database.close()


@pytest.fixture
def lane(database: Database) -> Lane:
    with database.transaction("t", "derive") as unit:
        return ensure_lane(unit, LaneName("user", "ada"), new_id=1 << 61)


def _fill(unit: Unit, lane: Lane) -> None:
    changes = Changes(
        edges=[EDGE], evidence=[EVIDENCE], entities=ENTITIES, mentions=[MENTION], conversation=CONVERSATION
    )
    settled = ResolvedChanges(created=[FULL, BARE], updated=[], deltas=[DELTA], changes=changes)
    write_settled(unit, lane.lane_id, 2, settled, documents=[DOCUMENT], closed=[], at=9)


@pytest.mark.both_databases
def test_everything_comes_back_as_it_was_written(database: Database, lane: Lane) -> None:
    with database.transaction("t", "derive") as unit:
        _fill(unit, lane)
    with database.transaction("t", "read") as unit:
        assert read_items(unit, lane, ["i1", "i2", "i3"]) == {"i1": FULL, "i2": BARE}
        assert read_where(unit, lane) == [FULL, BARE]
        assert (lane_of_item(unit, "i1"), lane_of_item(unit, "i3")) == (lane.lane_id, None)
        assert relations.read_edges(unit, lane.lane_id, ["i1"]) == [EDGE]
        assert relations.read_edges(unit, lane.lane_id, ["e2"], incoming=True, types=["supports"]) == [EDGE]
        assert relations.read_edges(unit, lane.lane_id, ["i1"], types=["about"]) == []
        assert relations.read_evidence(unit, lane.lane_id, ["i1"]) == {"i1": [EVIDENCE]}
        assert relations.find_entities(unit, lane.lane_id, ["ada", "ada l."]) == ENTITIES
        assert relations.read_families(unit, lane.lane_id, ["n1"]) == ENTITIES
        assert relations.read_mentions(unit, lane.lane_id, ["n1"]) == [MENTION]
        assert conversations.find_session(unit, lane.lane_id, "s/1") == CONVERSATION.session
        assert conversations.list_turns(unit, lane.lane_id, "s/1", last=5) == [CONVERSATION.turn]
        assert conversations.repeats_of_entries(unit, ["e1"]) == [REPEAT]
        assert [
            DocumentRow(**{**_row(row), "text": None, "version": 1, "changed_seq": 2})
            for row in documents.changed_documents(unit, lane.lane_id, after=1)
        ] == [DOCUMENT]
        assert deltas_of_entry(unit, lane.lane_id, "e1") == [DELTA]
        assert deltas_of_items(unit, lane.lane_id, ["i1"]) == {"i1": [DELTA]}
        assert find_delta(unit, "x1") == (lane.lane_id, DELTA)


def _row(row: Any) -> dict[str, Any]:
    return {name: bytes(value) if name in ("terms", "marks") else value for name, value in row._asdict().items()}


@pytest.mark.both_databases
def test_a_snapshot_is_the_same_on_every_database(database: Database, lane: Lane) -> None:
    with database.transaction("t", "derive") as unit, open_scratch("t", lane) as scratch:
        _fill(unit, lane)
        _fill(scratch, lane)
        live, again = snapshot(unit, lane.lane_id), snapshot(scratch, lane.lane_id)
        assert differences(live, again) == []
        assert live.digest == again.digest
        update_items(unit, [dataclasses.replace(FULL, content="drifted")])
        relations.write_edges(unit, lane.lane_id, [], [EDGE])
        insert_items(unit, lane.lane_id, [dataclasses.replace(BARE, id="stray")])
        found = differences(snapshot(unit, lane.lane_id), again)
        assert [name.partition(": ")[2] for name in found] == ["missing", "altered", "stray"] or len(found) == 3
        assert make_equal(unit, scratch, lane.lane_id) == 3
        assert snapshot(unit, lane.lane_id).digest == again.digest


_NAMES = st.text('abé "\\', max_size=3)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).map(round_stored)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def scratch(lane: Lane) -> Iterator[Unit]:
    with open_scratch("t", lane) as unit:
        yield unit


@pytest.mark.both_databases
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=_JSON)
def test_any_json_comes_back_the_same_and_hashes_the_same(
    database: Database, lane: Lane, scratch: Unit, value: Any
) -> None:
    item = dataclasses.replace(BARE, value=value, metadata={"v": value})
    with database.transaction("t", "derive") as unit:
        for store in (unit, scratch):
            clear_lane(store, lane.lane_id)
            insert_items(store, lane.lane_id, [item])
        (back,) = read_where(unit, lane)
        assert repr(back.value) == repr(item.value) or _sorted(back.value) == _sorted(item.value)
        live, again = snapshot(unit, lane.lane_id), snapshot(scratch, lane.lane_id)
        assert live.tables["items"] == again.tables["items"]
        assert live.digest == again.digest


def _sorted(value: Any) -> str:
    if isinstance(value, dict):
        return repr(sorted((key, _sorted(inner)) for key, inner in value.items()))
    return repr([_sorted(inner) for inner in value]) if isinstance(value, list) else repr(value)
