"""Sources of an item that many runs judged: read without every verdict, and the same as with every one of them."""

import json
from typing import Any

from phronesis import Memory
from phronesis.recall import evidence
from phronesis.storage.deltas import deltas_of_items

CLAIM = {"claim_id": "c1", "status": "hypothesis", "facts": {"source_run_ids": ["x"]}, "inference": "Formate is made."}


def block(said: str) -> str:
    return f"RBMEM_CLAIMS_V1\nTOPIC={said}\nCLAIMS_JSON={json.dumps([CLAIM])}"


def test_first_words_and_last_edit_are_found_among_verdicts(database_url: str, monkeypatch: Any) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme") as memory:
        first, plain = (memory.add_reasoning(block(said), user_id="lin") for said in ("one", "two"))
        fact = memory.add("Lin lives in Rome", user_id="lin", kind="fact", subject="Lin").items[0]
        judged = memory.get(first.id).content
        test = {"metric": "activity", "op": ">", "value": 0}
        tested = judged.replace('"inference"', f'"test":{json.dumps(test)},"inference"')
        memory.update(first.id, content=tested)
        for n in range(3):
            memory.record_run({"run_id": f"r{n}", "raw": "x", "memory_ids": [first.id]}, user_id="lin")
            memory.run_feedback(f"r{n}", {"products": [{"name": "CO", "value": 1.0}]}, user_id="lin")
            memory.learn(f"r{n}", user_id="lin")
        memory.pin(plain.id)
        memory.update(fact.id, content="Lin lives in Oslo")

        def sources() -> list[list[dict[str, Any]]]:
            found = memory.search("formate Lin", user_id="lin")
            return [[one.to_dict() for one in hit.sources] for hit in found]

        told = sources()
        assert any(one["quote"] == judged for found in told for one in found)
        assert any(one["source_ref"] == "r2" for found in told for one in found)
        monkeypatch.setattr(evidence, "edits_of_items", deltas_of_items)
        assert sources() == told
