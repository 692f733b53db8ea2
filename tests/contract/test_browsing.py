"""Listing page by page: every item once, in one order, whatever comes and goes between two pages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minute_clock import Clock
from phronesis import Item, Memory, Page
from phronesis.errors import InputError
from phronesis.store.schema import lanes

USER = "lin"
BLOCK = """RBMEM_CLAIMS_V1
TOPIC=Cu and formate
CLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis","facts":{"source_run_ids":["r1"]},\
"inference":"Formate comes from *OCHO on copper next to titanium."},\
{"claim_id":"c2","status":"fact","facts":{"source_run_ids":["r2"]},"inference":"三比一时甲酸占比为 0.41。"}]"""


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme", clock=Clock()) as opened:
        yield opened


def pages(memory: Memory, *, limit: int, **wanted: Any) -> Iterator[Page[Item]]:
    cursor = None
    while True:
        page = memory.get_all(user_id=USER, limit=limit, cursor=cursor, **wanted)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


def listed(memory: Memory, *, limit: int, **wanted: Any) -> list[str]:
    return [item.id for page in pages(memory, limit=limit, **wanted) for item in page]


def fill(memory: Memory) -> None:
    """Turns with several messages, one call without a session, facts, a block of claims; in two lanes."""
    for n in range(3):
        said = [{"role": "user", "content": f"note {n}.{k}", "id": f"m{k}"} for k in range(4)]
        memory.commit_turn(f"s{n}", {"messages": said}, user_id=USER)
    memory.add([{"role": "user", "content": f"loose {k}"} for k in range(5)], user_id=USER, infer=False)
    for n in range(4):
        memory.add(f"fact {n}", user_id=USER, kind="fact")
        memory.add(f"shared {n}", kind="procedure")
    memory.reasoning.add(BLOCK, user_id=USER)


@pytest.mark.both_databases
def test_pages_of_any_size_are_the_whole_list(memory: Memory) -> None:
    fill(memory)
    whole = memory.get_all(user_id=USER)
    assert whole.next_cursor is None
    assert len({item.id for item in whole}) == len(whole) == 12 + 5 + 8 + 1
    assert [item.recorded_at for item in whole] == sorted((item.recorded_at for item in whole), reverse=True)
    turn = [item.content for item in whole if item.session_id == "s1"]
    assert turn == [f"note 1.{k}" for k in (3, 2, 1, 0)]  # within a call, what was said last comes first
    for limit in (1, 2, 3, 7, len(whole) - 1, len(whole)):
        assert listed(memory, limit=limit) == [item.id for item in whole], limit
    narrowed: list[dict[str, Any]] = [
        {"kinds": ["fact"]},
        {"kinds": ["procedure", "fact"]},
        {"kinds": ["message", "reasoning"]},
        {"kinds": []},
        {"session_id": "s1"},
        {"filters": {"content": {"contains": "2"}}},
        {"as_of": whole[5].recorded_at},
        {"filters": {"status": "active"}},
        {"valid_at": whole[9].recorded_at},
    ]
    for wanted in narrowed:
        assert listed(memory, limit=2, **wanted) == listed(memory, limit=100, **wanted), wanted
    assert len(listed(memory, limit=2, kinds=["procedure", "fact"])) == 8
    assert [item.kind for item in whole if "::claim::" in item.id] == []


def test_a_cursor_is_good_for_its_own_listing_alone(memory: Memory) -> None:
    fill(memory)
    cursor = memory.get_all(user_id=USER, limit=2, kinds={"fact", "procedure"}).next_cursor  # type: ignore[arg-type]
    assert cursor is not None
    assert len(memory.get_all(user_id=USER, limit=5, kinds=["procedure", "fact"], cursor=cursor)) == 5
    others: list[dict[str, Any]] = [
        {},
        {"kinds": ["fact"]},
        {"kinds": ["fact", "procedure"], "filters": {"pinned": False}},
        {"kinds": ["fact", "procedure"], "session_id": "s1"},
        {"kinds": ["fact", "procedure"], "namespace": "lab"},
        {"kinds": ["fact", "procedure"], "as_of": "2026-03-01T12:00:00Z"},
    ]
    for wanted in others:
        with pytest.raises(InputError, match="cursor is of another listing") as refused:
            memory.get_all(user_id=USER, cursor=cursor, **wanted)
        assert refused.value.field == "cursor"
    with pytest.raises(InputError, match="of another listing"):
        memory.runs.list(user_id=USER, cursor=cursor)


def test_a_text_that_is_no_cursor_is_refused(memory: Memory) -> None:
    fill(memory)
    cursor = str(memory.get_all(user_id=USER, limit=2).next_cursor)
    rival = memory.for_tenant("rival")
    with pytest.raises(InputError, match="none that this memory gave"):
        rival.get_all(user_id=USER, cursor=cursor)  # nothing was ever stored there
    rival.add("tea", user_id=USER, kind="fact")
    for foreign in (memory, rival):
        for text in ("", "x", "!!", "a" * 600, "é", cursor[:-1], cursor + "A", cursor + "=", cursor.swapcase()):
            with pytest.raises(InputError, match="leave cursor out to begin with the newest"):
                foreign.get_all(user_id=USER, cursor=text)
    for place in range(0, len(cursor), 7):
        changed = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        with pytest.raises(InputError, match="none that this memory gave"):
            memory.get_all(user_id=USER, cursor=changed)
    with pytest.raises(InputError, match="not int"):
        memory.get_all(user_id=USER, cursor=7)  # type: ignore[arg-type]


def test_a_search_has_no_pages(memory: Memory) -> None:
    fill(memory)
    for given_too in ({"cursor": "abc"}, {"offset": 0}, {"offset": 20}, {"cursor": ""}):
        for search in (memory.search, memory.mem_search):
            with pytest.raises(InputError, match=r"Refine the query, or raise limit") as refused:
                search("note", user_id=USER, **given_too)
            assert refused.value.field == next(iter(given_too))


def test_reasoning_alone_is_searched_by_claims_whichever_verb_asks(memory: Memory) -> None:
    fill(memory)
    memory.add("copper and OCHO, said in passing", user_id=USER)
    asked = "copper OCHO titanium 甲酸占比"
    found, same = memory.search(asked, user_id=USER, kinds=["reasoning"]), memory.mem_search(asked, user_id=USER)
    assert found.to_dict() == same.to_dict()
    assert [one.item.kind for one in found] == ["reasoning"]
    assert {match.claim_id for match in found[0].matched_claims} == {"c1", "c2"}
    assert found.channels == ("lexical",)
    assert found.to_dict()["channels"] == ["lexical"]  # no encoder is there
    earlier = memory.search(asked, user_id=USER, kinds=["reasoning"], as_of=found[0].item.recorded_at)
    assert [match.claim_id for match in earlier[0].matched_claims] == [one.claim_id for one in found[0].matched_claims]


def test_with_an_encoder_the_search_says_so(database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "hashing"}, tenant="acme") as memory:
        memory.reasoning.add(BLOCK, user_id=USER)
        memory.flush()
        assert memory.search("copper", user_id=USER, kinds=["reasoning"]).channels == ("dense", "lexical")
        assert memory.search("copper", user_id="nobody").channels == ("lexical",)


_STEPS = st.lists(st.sampled_from(["page", "add", "archive", "unarchive", "turn"]), max_size=14)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 6), steps=_STEPS)
def test_law_a_walk_meets_once_each_what_was_there_throughout(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, limit: int, steps: list[str]
) -> None:
    path = tmp_path_factory.mktemp("walk") / "memory.db"
    path.write_bytes(sqlite_template.read_bytes())
    with Memory.open(f"sqlite:///{path}", policy={"embedder": "none", "extraction": False}, clock=Clock()) as memory:
        fill(memory)
        start = [item.id for item in memory.get_all(user_id=USER)]
        walk, seen, touched, gone = pages(memory, limit=limit), list[str](), set[str](), list[str]()
        for n, step in enumerate(steps):
            if step == "page":
                seen += [item.id for page in [next(walk, Page())] for item in page]
            elif step == "add":
                memory.add(f"new {n}", user_id=USER, kind="fact")
            elif step == "turn":
                memory.commit_turn(f"new{n}", {"messages": [{"role": "user", "content": "hm"}]}, user_id=USER)
            elif step == "archive":
                gone.append(start[(n * 5) % len(start)])
                memory.items.archive(gone[-1])
                touched.add(gone[-1])
            elif gone:
                memory.items.unarchive(gone.pop())
        seen += [item.id for page in walk for item in page]
        assert len(seen) == len(set(seen))
        assert [one for one in seen if one in start and one not in touched] == [
            one for one in start if one not in touched
        ]


@pytest.mark.both_databases
def test_a_page_is_read_in_the_order_of_an_index(tmp_path: Path) -> None:
    seen: list[tuple[str, Any]] = []
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as memory:
        fill(memory)
        cursor = memory.get_all(user_id=USER, limit=2).next_cursor
        of_kind = memory.get_all(user_id=USER, limit=2, kinds=["fact"]).next_cursor

        def note(_c: Any, _k: Any, statement: str, parameters: Any, *_more: Any) -> None:
            seen.append((statement, parameters))

        sa.event.listen(sa.engine.Engine, "before_cursor_execute", note)
        try:
            memory.get_all(user_id=USER, limit=2)
            memory.get_all(user_id=USER, limit=2, cursor=cursor)
            memory.get_all(user_id=USER, limit=2, kinds=["fact"], cursor=of_kind)
            memory.get_all(user_id=USER, limit=2, session_id="s1")
        finally:
            sa.event.remove(sa.engine.Engine, "before_cursor_execute", note)
        listings = [(text, bound) for text, bound in seen if "FROM items" in text]
        with memory.admin.components.database.transaction("default", "read") as unit:
            plans = [
                " ".join(row[3] for row in unit.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", bound))
                for text, bound in listings
            ]
    newest, after, kinds, session = plans[::2]  # the user's lane, then the shared one
    assert newest == "SEARCH items USING INDEX ix_items_newest (tenant_id=? AND lane_id=?)"
    assert after == "SEARCH items USING INDEX ix_items_newest (tenant_id=? AND lane_id=? AND recorded_at<?)"
    assert kinds.startswith(
        "SEARCH items USING INDEX ix_items_kind (tenant_id=? AND lane_id=? AND kind=? AND recorded_at<?)"
    )
    assert "session_id=?" in session


@pytest.mark.both_databases
def test_sessions_of_more_lanes_than_a_statement_may_name_are_listed(database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        memory.commit_turn("s", {"messages": [{"role": "user", "content": "Hello."}]}, user_id="u")
        fresh: dict[str, Any] = {
            "tenant_id": "default",
            "kind": "user",
            "head_seq": 0,
            "applied_seq": 0,
            "documents_seq": 0,
            "epoch": 0,
            "last_recorded_at": 0,
            "head_hash": "",
        }
        with memory.admin.components.database.transaction("default", "derive") as unit:
            numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
            numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 70_000))
            values = [sa.literal(value).label(name) for name, value in fresh.items()]
            made = sa.select(*values, numbers.c.n.label("lane_id"), ("u" + sa.cast(numbers.c.n, sa.Text)).label("name"))
            unit.run(sa.insert(lanes).from_select([*fresh, "lane_id", "name"], made))
        (session,) = memory.sessions.list(across="tenant")
        assert (session.session_id, session.user_id) == ("s", "u")
