"""The LangGraph store beside LangGraph's own `InMemoryStore`: the same operations, the same answers."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from phronesis import Memory
from phronesis.adapters.langgraph import PhronesisStore
from phronesis.errors import InputError
from set_clock import Clock

EXAMPLES = itertools.count()
LABELS = st.sampled_from(["用户", "alice", "a", "ab", "a/b", "a:b", "%"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "prefs", "..", "a.b", "钥匙", ""])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-3, 3), "colour": st.sampled_from(["red", "blau", "红"])},
    optional={
        "inner": st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 2)),
        "any": LEAVES,
        "many": st.lists(st.integers(0, 2), max_size=2),
    },
)
FILTERS = st.none() | st.one_of(
    st.fixed_dictionaries({"colour": st.sampled_from(["red", "红", {"$ne": "red"}, {"$eq": "blau"}])}),
    st.fixed_dictionaries(
        {"n": st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.integers(-3, 3), min_size=1)}
    ),
    st.fixed_dictionaries({"inner": st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 2))}),
    st.fixed_dictionaries({"many": st.lists(st.integers(0, 2), max_size=2)}),
    st.fixed_dictionaries({"any": LEAVES}),
    st.fixed_dictionaries({"any": st.fixed_dictionaries({"$eq": LEAVES})}),
)
PATHS = st.lists(LABELS | st.just("*"), min_size=1, max_size=2).map(tuple)


def shown(items: list[Any]) -> set[tuple[Any, ...]]:
    return {(item.namespace, item.key, repr(sorted(item.value.items()))) for item in items}


@cache
def shared_memory() -> Memory:
    return Memory.open("sqlite://", policy={"embedder": "none"})


class SameAsInMemory(RuleBasedStateMachine):
    """Whatever is put, deleted and asked, both stores say the same; order within a search is each store's own."""

    def __init__(self) -> None:
        super().__init__()
        namespace = f"example {next(EXAMPLES)}"
        self.ours, self.theirs = PhronesisStore(shared_memory(), namespace=namespace), InMemoryStore()

    @rule(namespace=NAMESPACES, key=KEYS, value=VALUES, index=st.sampled_from([None, False, ["colour"]]))
    def put(self, namespace: Any, key: str, value: Any, index: Any) -> None:
        for store in (self.ours, self.theirs):
            store.put(namespace, key, value, index=index)
        assert self.ours.get(namespace, key).value == value

    @rule(namespace=NAMESPACES, key=KEYS)
    def delete(self, namespace: Any, key: str) -> None:
        for store in (self.ours, self.theirs):
            store.delete(namespace, key)
        assert self.ours.get(namespace, key) is None

    @rule(puts=st.lists(st.tuples(NAMESPACES, KEYS, st.none() | VALUES), max_size=4), prefix=PREFIXES)
    def batch(self, puts: Any, prefix: Any) -> None:
        ops = [*(PutOp(*one) for one in puts), SearchOp(prefix, limit=1000), *(GetOp(one[0], one[1]) for one in puts)]
        ours, theirs = self.ours.batch(ops), self.theirs.batch(ops)
        assert shown(ours[len(puts)]) == shown(theirs[len(puts)])
        assert [one and one.value for one in ours[len(puts) + 1 :]] == [
            one and one.value for one in theirs[len(puts) + 1 :]
        ]

    @rule(prefix=PREFIXES, wanted=FILTERS, query=st.sampled_from([None, "", "red", "红", "什么 colour"]))
    def search(self, prefix: Any, wanted: Any, query: str | None) -> None:
        asked = {"filter": wanted, "query": query, "limit": 1000}
        assert shown(self.ours.search(prefix, **asked)) == shown(self.theirs.search(prefix, **asked))

    @rule(prefix=PREFIXES, limit=st.integers(0, 3), offset=st.integers(0, 3), query=st.sampled_from([None, "red"]))
    def pages(self, prefix: Any, limit: int, offset: int, query: str | None) -> None:
        whole = self.ours.search(prefix, limit=1000, query=query)
        page = self.ours.search(prefix, limit=limit, offset=offset, query=query)
        assert page == whole[offset : offset + limit]
        assert len(page) == len(self.theirs.search(prefix, limit=limit, offset=offset))

    @rule(
        prefix=st.none() | PATHS,
        suffix=st.none() | PATHS,
        depth=st.none() | st.integers(1, 3),
        limit=st.integers(1, 4),
        offset=st.integers(0, 3),
    )
    def namespaces(self, prefix: Any, suffix: Any, depth: int | None, limit: int, offset: int) -> None:
        for namespace in [one for one, documents in self.theirs._data.items() if not documents]:
            del self.theirs._data[namespace]  # it lists namespaces that were once asked for
        asked = {"prefix": prefix, "suffix": suffix, "max_depth": depth, "limit": limit, "offset": offset}
        assert self.ours.list_namespaces(**asked) == self.theirs.list_namespaces(**asked)

    @invariant()
    def all_is_there(self) -> None:
        assert shown(self.ours.search((), limit=1000)) == shown(self.theirs.search((), limit=1000))


TestSameAsInMemory = SameAsInMemory.TestCase
TestSameAsInMemory.settings = settings(max_examples=20, stateful_step_count=20, deadline=None, derandomize=True)


def test_a_document_keeps_its_versions_and_can_be_taken_back(memory: Memory) -> None:
    store = PhronesisStore(memory)
    store.put(("users", "李雷"), "prefs", {"theme": "dark"})
    first = store.get(("users", "李雷"), "prefs")
    store.put(("users", "李雷"), "prefs", {"theme": "light"})
    now = store.get(("users", "李雷"), "prefs")
    assert now.created_at == first.created_at
    assert now.updated_at > first.updated_at
    added, changed = store.history(("users", "李雷"), "prefs")
    assert (added.op, changed.op) == ("create", "update")
    memory.rollback(changed.delta_id)
    assert store.get(("users", "李雷"), "prefs").value == {"theme": "dark"}
    assert memory.admin.rebuild(verify=True).equal


def test_a_query_ranks_by_the_fields_that_are_indexed(memory: Memory) -> None:
    store = PhronesisStore(memory, index={"fields": ["text"]})
    store.put(("m",), "tea", {"text": "我喜欢喝茶", "note": "咖啡"})
    store.put(("m",), "coffee", {"text": "I drink coffee"})
    store.put(("m",), "hidden", {"text": "coffee, coffee and more coffee"}, index=False)
    store.put(("m",), "title", {"text": "x", "title": "coffee beans"}, index=["title"])
    found = store.search(("m",), query="coffee")
    assert {item.key for item in found if item.score} == {"coffee", "title"}
    assert [(item.key, item.score) for item in found[2:]] == [("tea", 0.0), ("hidden", None)]
    assert store.search(("m",), query="咖啡", limit=1)[0].score == 0.0
    assert store.search(("m",), query="喝茶", limit=1)[0].key == "tea"


def test_a_filter_names_a_member_or_its_path(memory: Memory) -> None:
    store = PhronesisStore(memory)
    store.put(("d",), "nested", {"user": {"city": "上海", "age-now": 40}, "n": 1})
    store.put(("d",), "flat", {"user.city": "上海", "n": 2})
    store.put(("d",), "other", {"user": "上海"})
    assert {item.key for item in store.search(("d",), filter={"user.city": "上海"})} == {"nested", "flat"}
    assert [item.key for item in store.search(("d",), filter={"user.age-now": {"$gt": 39}, "n": 1})] == ["nested"]
    assert [item.key for item in store.search(("d",), filter={"user.city.name": None, "n": 2})] == ["flat"]


def test_documents_live_as_long_as_their_ttl_says() -> None:
    clock = Clock()
    with Memory.open("sqlite://", policy={"embedder": "none"}, clock=clock) as memory:
        store = PhronesisStore(memory, ttl={"default_ttl": 10, "refresh_on_read": True})
        store.put(("t",), "read", {"n": 1})
        store.put(("t",), "unread", {"n": 2})
        store.put(("t",), "short", {"n": 3}, ttl=1)
        store.put(("t",), "for ever", {"n": 4}, ttl=None)
        store.put(("t", "gone"), "short", {"n": 5}, ttl=1)
        assert store.list_namespaces(max_depth=1) == [("t",)]
        clock.pass_hours(2 / 60)
        assert store.list_namespaces() == [("t",)]
        assert store.get(("t",), "short") is None
        assert [item.key for item in store.search(("t",), filter={"n": {"$lt": 4}}, refresh_ttl=False)] == [
            "unread",
            "read",
        ]
        assert [item.key for item in store.search(("t",), query="1", limit=1, refresh_ttl=False)] == ["read"]
        assert len(store.history(("t",), "read")) == 1
        clock.pass_hours(4 / 60)
        assert store.get(("t",), "read") is not None
        assert len(store.history(("t",), "read")) == 2
        clock.pass_hours(8 / 60)
        assert {item.key for item in store.search(("t",), refresh_ttl=False)} == {"read", "for ever"}
        assert (store.sweep_ttl(), store.sweep_ttl()) == (3, 0)
        store.put(("t",), "read", {"n": 5}, ttl=None)
        clock.pass_hours(60 / 60)
        assert {item.key for item in store.search(("t",))} == {"read", "for ever"}


def test_a_sweeper_archives_on_a_thread_until_it_is_stopped(memory: Memory) -> None:
    store = PhronesisStore(memory, ttl={"default_ttl": 0.0005, "sweep_interval_minutes": 0.001})
    running = store.start_ttl_sweeper()
    assert store.start_ttl_sweeper() is running
    store.put(("t",), "k", {"n": 1})
    deadline = time.monotonic() + 20
    while memory.get_all(namespace="langgraph").items and time.monotonic() < deadline:
        time.sleep(0.02)
    assert memory.get_all(namespace="langgraph").items == ()
    assert not running.done()
    assert store.stop_ttl_sweeper(timeout=20)
    assert running.result() is None


def test_what_is_wrong_stores_nothing(memory: Memory) -> None:
    store = PhronesisStore(memory)
    with pytest.raises(InputError, match="value"):
        store.batch([PutOp(("a",), "fine", {"x": 1}), PutOp(("a",), "k", {"x": object()})])
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"x": 1})])
    with pytest.raises(InputError, match="operator"):
        store.put(("b",), "k", {"x": 1}) or store.search(("b",), filter={"x": {"$near": 1}})
    assert store.search(("a",)) == []


def test_threads_that_put_one_key_leave_one_document(tmp_path: Path) -> None:
    with PhronesisStore.from_conn_string(f"sqlite:///{tmp_path / 'm.db'}") as store:
        threads = [threading.Thread(target=store.put, args=(("t",), "k", {"n": n})) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.search(("t",))) == 1
        assert len(store.history(("t",), "k")) == 6
    with PhronesisStore.from_conn_string(f"sqlite:///{tmp_path / 'm.db'}", index={"fields": ["n"]}) as store:
        assert store.get(("t",), "k") is not None


def test_async_verbs_leave_the_loop_free(memory: Memory) -> None:
    store = PhronesisStore(memory)

    async def use() -> None:
        await store.aput(("a",), "k", {"x": "你好"})
        assert (await store.aget(("a",), "k")).value == {"x": "你好"}
        assert [item.key for item in await store.asearch(("a",), query="你好")] == ["k"]
        assert await store.alist_namespaces() == [("a",)]
        await store.adelete(("a",), "k")
        assert await store.aget(("a",), "k") is None

    asyncio.run(use())


class State(TypedDict):
    """What the graph passes on."""

    said: Annotated[list[str], lambda before, after: before + after]


def test_a_graph_remembers_between_its_runs(memory: Memory) -> None:
    def greet(_state: State, *, store: BaseStore) -> dict[str, list[str]]:
        known = store.search(("people",), query="name")
        store.put(("people",), "name", {"text": "the name is 小明"})
        return {"said": [item.value["text"] for item in known]}

    graph = StateGraph(State).add_node("greet", greet).add_edge(START, "greet").add_edge("greet", END)
    runnable = graph.compile(store=PhronesisStore(memory))
    assert runnable.invoke({"said": []}) == {"said": []}
    assert runnable.invoke({"said": []}) == {"said": ["the name is 小明"]}


def test_the_page_tells_the_truth(run_page: Callable[..., None]) -> None:
    run_page("langgraph")
