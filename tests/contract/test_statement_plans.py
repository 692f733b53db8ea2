"""What SQLite is asked for by a list of ids it looks up by these ids, however much the lane holds."""

import json
import re
from pathlib import Path
from uuid import UUID

import sqlalchemy as sa

from phronesis.memory import Memory

WHOLE = ("(tenant_id=? AND lane_id=?)", "(tenant_id=?)")
"""How a plan tells that a step goes through all that a table holds of a lane, or of a tenant."""

NAMED = re.compile(r"json_each| IN \('[0-9a-f]{8}-|id = '[0-9a-f]{8}-")
"""What names rows: a list of texts, or ids."""

LISTED = re.compile(r"IN \((?:'[0-9a-f]{8}-[^']*'(?:, )?)+\)")
MANY = ", ".join(f"'{UUID(int=n)}'" for n in range(200))
"""A list of a few ids is looked up where one of many may not be."""

ERASING = "SEARCH evidence USING PRIMARY KEY (tenant_id=?)"
"""What rests on a source that is erased, or forgotten for good, is sought in all of a tenant's evidence."""

SELECTED = re.compile(r"json_each|subquery|anon_")
"""What may be gone through: a list that was given, and what a statement selected itself."""


def worked(memory: Memory) -> None:
    """Do a little of everything that reads or writes items."""
    for n in range(3):
        said = [{"role": "user", "content": f"I live in Kyoto {n}. My sister Anna likes green tea.", "id": f"m{n}"}]
        memory.commit_turn("s", {"messages": said}, user_id="ann")
    fact = memory.add("Anna's cat is called Mio", kind="fact", user_id="ann").items[0]
    memory.update(fact.id, content="Anna's cat is called Momo")
    memory.record_run({"run_id": "r1", "raw": "x"}, user_id="ann")
    memory.ingest_resource("# Tea\n\nSteep it for two minutes.", uri="notes.md", user_id="ann")
    for n in range(3):
        tried = {"attempt": f"simp fails {n}", "source_type": "manual", "source_ref": f"log{n}", "label": "failure"}
        memory.ingest(tried, user_id="ann")
    memory.flush()
    memory.aggregate(user_id="ann")
    memory.reflect(user_id="ann", force=True)
    memory.search("where does Anna live", user_id="ann", explain=True)
    memory.search("green tea", user_id="ann", as_of="2100-01-01T00:00:00Z")
    memory.compose_context("s", "What about tea, Anna?", user_id="ann")
    memory.query(situation="simp fails", user_id="ann")
    memory.history(fact.id)
    memory.explain(fact.id)
    memory.get_turns("s", user_id="ann")
    memory.pin(fact.id)
    memory.rollback(memory.archive(fact.id).entry_id)
    memory.get_user_traits(user_id="ann")
    claim = {"claim_id": "c1", "status": "hypothesis", "facts": {"source_run_ids": ["r0"]}, "inference": "Tea cools."}
    claims = memory.add_reasoning(f"RBMEM_CLAIMS_V1\nTOPIC=tea\nCLAIMS_JSON={json.dumps([claim])}", user_id="ann")
    memory.mem_search("tea", user_id="ann")
    memory.run_feedback("r1", {"products": [{"name": "CO", "value": 1.0}]}, user_id="ann")
    memory.learn("r1", user_id="ann")
    memory.get(claims.id)
    memory.forget(user_id="ann")
    memory.overview(user_id="ann")
    memory.doctor()


def test_no_statement_that_names_ids_walks_a_lane(tmp_path: Path) -> None:
    seen: set[str] = set()
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", tenant="acme", policy={"embedder": "hashing"}) as memory:
        engine = memory.stages.database.engine
        sa.event.listen(engine, "checkout", lambda driver, *_: driver.set_trace_callback(seen.add))
        worked(memory)
        asked = ("SELECT", "UPDATE", "DELETE")
        named = sorted(text for text in seen if text.startswith(asked) and NAMED.search(text))
        with memory.stages.database.transaction("acme", "read") as unit:
            unit.driver.set_trace_callback(None)
            walks = [
                (step, text)
                for text in (LISTED.sub(f"IN ({MANY})", text) for text in named)
                for _, _, _, step in unit.driver.execute(f"EXPLAIN QUERY PLAN {text}")
                if step.endswith(WHOLE) or (step.startswith("SCAN") and not SELECTED.search(step))
            ]
    assert len(named) > 10
    assert [walk for walk in walks if walk[0] != ERASING] == []
