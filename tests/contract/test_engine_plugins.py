"""An engine is one object that a registry finds: the spine carries one that it has never heard of."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

import toy_engine
from custom_store import USER, write
from phronesis.core.items import Item
from phronesis.errors import HandlerMissing, InputError, MissingExtra, PluginBroken
from phronesis.interfaces.authentication import Authenticator
from phronesis.interfaces.web.mounting import mount
from phronesis.memory import Memory
from phronesis.store.items import read_where
from phronesis.store.lanes import find_lane
from phronesis.wiring import find_engines
from toy_engine import KIND, VERB, installed, without

PLAIN = {"embedder": "none"}
CATALYST = {"run_id": "r1", "output": {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "modifier": "urea"}}


@pytest.fixture
def teapot(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path / "teapot"):
        yield


def teas(memory: Memory) -> list[Item]:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        lane = find_lane(unit, USER)
        assert lane is not None
        return [item for item in read_where(unit, lane) if item.kind == KIND]


def drink(memory: Memory) -> Item:
    for tea in ("oolong", "sencha", "oolong"):
        write(memory, VERB, {"tea": tea})
    return next(tea for tea in teas(memory) if tea.content == "oolong")


def test_a_part_is_opened_at_its_first_use_and_brings_what_it_names(database_url: str, tmp_path: Path) -> None:
    lazy = installed(tmp_path / "teapot", engines="lazy = toy_engine:LAZY")
    with lazy, Memory.open(database_url, policy=PLAIN) as memory:
        toy_engine.OPENED.clear()
        memory.add("I live in Oslo", user_id="alice")
        assert toy_engine.OPENED == []
        write(memory, VERB, {"tea": "oolong"})
        assert toy_engine.OPENED == ["sips"]
        assert memory.admin.components.extensions["pot"] == "pot"
        assert toy_engine.OPENED == ["sips", "pot"]
        with pytest.raises(PluginBroken, match=r"the engine lazy names .* and brings"):
            _ = memory.admin.components.extensions["odd"]


@pytest.mark.usefixtures("teapot")
def test_an_engine_of_another_distribution_is_carried_by_the_spine(database_url: str, tmp_path: Path) -> None:
    with Memory.open(database_url, policy=PLAIN) as memory:
        oolong = drink(memory)
        assert oolong.data["sips"] == 2
        assert memory.search("cup of oolong", user_id="alice")[0].item.id == oolong.id
        assert memory.admin.components.extensions == {"clock_of_tea": memory.admin.components.clock}
        assert "default drinks tea with 0 lumps" in [check.detail for check in memory.admin.doctor().checks]
        assert memory.admin.rebuild(verify=True).equal
        log = tmp_path / "log.jsonl"
        memory.export(log)
    with Memory.open(f"sqlite:///{tmp_path}/again.db", policy=PLAIN) as again:
        again.import_(log)
        again.flush()
        assert {tea.content: tea.data["sips"] for tea in teas(again)} == {"oolong": 2, "sencha": 1}
        last = again.history(oolong.id)[-1]
        undone = again.rollback(last.delta_id)
        assert next(tea for tea in teas(again) if tea.id == oolong.id).data["sips"] == 1
        again.rollback(undone.entry_id)
        assert next(tea for tea in teas(again) if tea.id == oolong.id).data["sips"] == 2
        assert again.erase(id=oolong.id).clean
        assert [tea.content for tea in teas(again)] == ["sencha"]
        assert again.admin.rebuild(verify=True).equal


def test_an_engine_brings_a_section_of_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"

    def refused(text: str) -> str:
        path.write_text(text, "utf-8")
        with pytest.raises(InputError) as error:
            Memory.open("sqlite://", policy=path)
        return error.value.message.removeprefix(f"{path}, ")

    path.write_text("embedder: none\ntea:\n  sugar: 2\n", "utf-8")
    with installed(tmp_path / "teapot"):
        with Memory.open("sqlite://", policy=path) as memory:
            assert "default drinks tea with 2 lumps" in [check.detail for check in memory.admin.doctor().checks]
            assert ("tea.sugar", 2, f"{path}, line 3") in [
                (one.path, one.value, one.source) for one in memory.admin.doctor().policy
            ]
        assert refused("embedder: none\ntea:\n  sugar: 10\n") == "line 3: tea.sugar must be at most 9, not 10"
        assert refused("tea:\n  suger: 1\n") == "line 2: tea: unknown field 'suger'; did you mean 'sugar'?"
        assert refused("teas: {sugar: 1}\n") == "line 1: unknown field 'teas'; did you mean 'tea'?"
    assert refused("embedder: none\ntea:\n  sugar: 2\n").startswith("line 2: unknown field 'tea'")


def pages(memory: Memory) -> TestClient:
    app = FastAPI(openapi_url=None)
    mount(app, Authenticator(memory, keys_required=False))
    return TestClient(app)


@pytest.mark.usefixtures("teapot")
def test_an_engine_brings_a_page_with_an_entry_in_the_menu(sqlite_url: str, tmp_path: Path) -> None:
    with Memory.open(sqlite_url, policy=PLAIN) as memory:
        write(memory, VERB, {"tea": "<oolong>"})
        browser = pages(memory)
        assert '<a href="/teas"' in browser.get("/jobs").text
        shown = browser.get("/teas", params={"user": "alice"})
        assert '<a href="/teas" aria-current="page">' in shown.text
        assert "<h1>Teas &amp; cups</h1>\n<ul><li>&lt;oolong&gt;</li></ul>" in shown.text
        assert "default-src 'self'" in shown.headers["Content-Security-Policy"]
        assert "&lt;b&gt;&lt;oolong&gt;&lt;/b&gt;" in browser.get("/teas", params={"user": "alice", "plain": 1}).text
        assert "oolong" not in browser.get("/teas", params={"user": "bob"}).text
        taken = installed(tmp_path / "taken", engines="taken = toy_engine:TAKEN", name="taken")
        with taken, pytest.raises(PluginBroken, match="phronesis and taken both bring '/memories'"):
            pages(memory)


def test_an_index_of_another_distribution_is_asked_for_claims(tmp_path: Path) -> None:
    policy = {**PLAIN, "reasoning": {"index": {"backend": "pot", "url": "http://127.0.0.1:1"}}}
    plugins = "tea = toy_engine:ENGINE\n[phronesis.indexes]\npot = toy_engine:make_index"
    with installed(tmp_path / "teapot", engines=plugins), Memory.open("sqlite://", policy=policy) as memory:
        checks = {check.name: check.detail for check in memory.admin.doctor().checks}
        assert checks["index"].startswith("claims are searched in http://127.0.0.1:1:")
    with pytest.raises(InputError, match=r"policy\.reasoning\.index\.backend is 'pot', which no .* of native, chroma"):
        Memory.open("sqlite://", policy=policy)


def test_a_log_of_an_absent_engine_is_refused_whole(database_url: str, tmp_path: Path) -> None:
    with installed(tmp_path / "teapot"), Memory.open(database_url, policy=PLAIN) as memory:
        memory.add("I live in Oslo", user_id="alice")
        oolong = drink(memory)
    with Memory.open(database_url, policy=PLAIN) as memory:
        before = memory.get_all(user_id="alice"), teas(memory)
        calls: list[Callable[[], object]] = [
            memory.admin.rebuild,
            lambda: memory.admin.rebuild(verify=True),
            lambda: memory.admin.rederive(user_id="alice"),
            lambda: memory.erase(id=oolong.id),
        ]
        for call in calls:
            with pytest.raises(HandlerMissing, match="'sip': install the package that brings it") as error:
                call()
            assert error.value.code == "entry.no_handler"
        assert (memory.get_all(user_id="alice"), teas(memory)) == before
        assert memory.admin.jobs().pending == 0
        assert memory.add("I like tea", user_id="alice").items
        assert memory.erase(user_id="alice").clean


def test_a_store_without_one_of_our_engines_refuses_what_is_its_own(database_url: str) -> None:
    with without("traits"), Memory.open(database_url, policy=PLAIN) as memory:
        memory.add("I live in Oslo", user_id="alice")
        assert memory.get_all(user_id="alice").items
        with pytest.raises(PluginBroken, match="no installed engine brings 'reflector'"):
            memory.should_reflect("alice")
        with pytest.raises(HandlerMissing, match="'reflect'"):
            write(memory, "reflect", {})


def test_a_store_opens_without_the_plugins_of_fields_of_work(database_url: str) -> None:
    with without("catalysis", "lean", "log", "math_proof"), Memory.open(database_url, policy=PLAIN) as memory:
        assert "catalysis" not in [engine.name for engine in find_engines()]
        memory.add("I live in Oslo", user_id="alice")
        run_id = memory.runs.record(CATALYST, user_id="alice")
        record = memory.runs.get(run_id, user_id="alice")
        assert record.facts["run_output"] == CATALYST["output"]
        assert record.review is None
        assert (
            memory.resources.ingest_source(source_type="manual", text="It failed: no space left.", user_id="alice")
            is not None
        )
        with pytest.raises(InputError, match="source_type must be one of chat, manual, run; got 'lean'"):
            memory.resources.ingest_source(source_type="lean", text="x", user_id="alice")
        with pytest.raises(MissingExtra, match="no installed package reviews runs"):
            memory.runs.review(run_id, user_id="alice")
        assert memory.admin.rebuild(verify=True).equal
    with without("catalysis"), pytest.raises(InputError, match="'catalysis', which no installed package brings"):
        Memory.open(database_url, policy={**PLAIN, "reasoning": {"facts": "catalysis"}})


@pytest.mark.parametrize(
    ("engines", "message"),
    [
        ("tea = toy_engine_of_nobody:ENGINE", r"'tea' of teapot .* cannot be loaded \(ModuleNotFoundError"),
        ("tea = toy_engine:NO_ENGINE", "'tea' of teapot .* is no Engine but a str"),
        ("traits = toy_engine:ENGINE", "phronesis and teapot both bring 'traits'|teapot and phronesis both bring"),
        ("clash = toy_engine:CLASH", "clash and conversation both bring 'turn'|conversation and clash both bring"),
        ("tea = toy_engine:ENGINE\ncopy = toy_engine:COPY", "engines (copy|tea) and (tea|copy) both bring 'tea'"),
        ("more = toy_engine:ENGINE", "'more' of teapot .* has the name 'tea'"),
    ],
)
def test_a_broken_plugin_is_named(database_url: str, tmp_path: Path, engines: str, message: str) -> None:
    with installed(tmp_path / "teapot", engines=engines), pytest.raises(PluginBroken, match=message) as error:
        Memory.open(database_url, policy=PLAIN)
    assert "uninstall" in error.value.message


def test_metadata_of_an_older_version_is_told(database_url: str) -> None:
    names = [engine.name for engine in find_engines()]
    with without(*names), pytest.raises(PluginBroken, match="install it again"):
        Memory.open(database_url, policy=PLAIN)
