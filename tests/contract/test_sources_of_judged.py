"""Sources of an item that many runs judged: read without every verdict, and the same as with every one of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.reasoning.handlers import find_run
from phronesis.recall import evidence
from phronesis.store.deltas import deltas_of_items, edits_of_items
from phronesis.store.documents import documents_of_items
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes
from phronesis.store.relations import find_entities, read_edges

CLAIM = {"claim_id": "c1", "status": "hypothesis", "facts": {"source_run_ids": ["x"]}, "inference": "Formate is made."}


def block(said: str) -> str:
    return f"RBMEM_CLAIMS_V1\nTOPIC={said}\nCLAIMS_JSON={json.dumps([CLAIM])}"


def test_first_words_and_last_edit_are_found_among_verdicts(database_url: str, monkeypatch: Any) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme") as memory:
        first, plain = (memory.reasoning.add(block(said), user_id="lin") for said in ("one", "two"))
        fact = memory.add("Lin lives in Rome", user_id="lin", kind="fact", subject="Lin").items[0]
        judged = memory.get(first.id).content
        test = {"metric": "activity", "op": ">", "value": 0}
        tested = judged.replace('"inference"', f'"test":{json.dumps(test)},"inference"')
        memory.update(first.id, content=tested)
        for n in range(3):
            memory.runs.record({"run_id": f"r{n}", "raw": "x", "memory_ids": [first.id]}, user_id="lin")
            memory.runs.feedback(f"r{n}", {"products": [{"name": "CO", "value": 1.0}]}, user_id="lin")
            memory.learn(f"r{n}", user_id="lin")
        memory.items.pin(plain.id)
        memory.update(fact.id, content="Lin lives in Oslo")

        def sources() -> list[list[dict[str, Any]]]:
            found = memory.search("formate Lin", user_id="lin")
            return [[one.to_dict() for one in hit.sources] for hit in found]

        told = sources()
        assert any(one["quote"] == judged for found in told for one in found)
        assert any(one["source_ref"] == "r2" for found in told for one in found)
        monkeypatch.setattr(evidence, "edits_of_items", deltas_of_items)
        assert sources() == told


def test_edges_that_were_drawn_to_an_item_are_no_edits_of_it(database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme") as memory:
        tried = {"situation": "the socket is closed", "attempt": "restart the parser", "label": "failure"}
        memory.ingest([{**tried, "source_ref": f"log:{n}"} for n in range(2)], user_id="lin")
        ids = [item.id for item in memory.get_all(user_id="lin", kinds=["l1"])]
        memory.aggregate(user_id="lin")
        with memory.admin.components.database.transaction("acme", "read") as unit:
            [lane] = [one for one in list_lanes(unit) if one.user_id == "lin"]
            every, edits = (read(unit, lane.lane_id, ids) for read in (deltas_of_items, edits_of_items))
    for one in ids:
        assert [delta.op for delta in edits[one]] == ["create"]
        assert all(delta.edges_added and not delta.patch for delta in every[one][1:])
        assert len(every[one]) > 1


@pytest.mark.both_databases
def test_histories_runs_and_names_are_looked_up_and_no_lane_is_walked(tmp_path: Path) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}, tenant="acme") as memory:
        ids = [memory.reasoning.add(block(said), user_id="lin").id for said in ("one", "two", "three")]
        memory.runs.record({"run_id": "r1", "raw": "x"}, user_id="lin")
        seen: list[str] = []
        with memory.admin.components.database.transaction("acme", "read") as unit:
            [lane] = [one for one in list_lanes(unit) if one.user_id == "lin"]
            unit.driver.set_trace_callback(seen.append)
            assert edits_of_items(unit, lane.lane_id, ids) == deltas_of_items(unit, lane.lane_id, ids)
            assert find_run(LaneView(unit, lane, unit), "r1") is not None
            assert find_entities(unit, lane.lane_id, ["lin", "wang"]) == []
            assert read_edges(unit, lane.lane_id, ids) == []
            assert read_edges(unit, lane.lane_id, ids, incoming=True, types=("supports", "contradicts")) == []
            assert {row.item_id for row in documents_of_items(unit, lane.lane_id, ids)} == {*ids}
            unit.driver.set_trace_callback(None)
            plans = {
                text: [row[3] for row in unit.driver.execute(f"EXPLAIN QUERY PLAN {text}")]
                for text in seen
                if text.startswith("SELECT")
            }
    steps = {step for plan in plans.values() for step in plan if step.startswith(("SEARCH", "SCAN"))}
    assert {step.partition(" (")[0] for step in steps if "json_each" not in step} == {
        "SEARCH deltas USING INDEX ix_deltas_tenant_id_item_id_version",
        "SEARCH other USING INDEX ix_deltas_tenant_id_item_id_version",
        "SEARCH creations USING PRIMARY KEY",
        "SEARCH items USING INDEX sqlite_autoindex_items_1",
        "SEARCH items USING INDEX ix_items_run",
        "SEARCH entities USING PRIMARY KEY",
        "SEARCH edges USING PRIMARY KEY",
        "SEARCH near USING COVERING INDEX ix_edges_out",
        "SEARCH near USING COVERING INDEX ix_edges_in",
        "SEARCH search_documents USING INDEX sqlite_autoindex_search_documents_1",
        "SEARCH named USING COVERING INDEX ix_entities_tenant_id_lane_id_normal",
    }
    assert all("AND to_id=?)" in step for step in steps if "edges USING PRIMARY" in step)  # the whole of it
    assert not [step for step in steps if step.endswith("(tenant_id=?)")]
