"""A little of everything that reads or writes items, for the tests of what the database is asked."""

import json

from phronesis.memory import Memory


def worked(memory: Memory) -> None:
    """Do a little of everything that reads or writes items."""
    for n in range(3):
        said = [{"role": "user", "content": f"I live in Kyoto {n}. My sister Anna likes green tea.", "id": f"m{n}"}]
        memory.commit_turn("s", {"messages": said}, user_id="ann")
    memory.commit_turn("s", {"messages": said}, user_id="ann")  # a message that the session holds already
    fact = memory.add("Anna's cat is called Mio", kind="fact", user_id="ann").items[0]
    memory.update(fact.id, content="Anna's cat is called Momo")
    memory.runs.record({"run_id": "r1", "raw": "x"}, user_id="ann")
    memory.resources.ingest("# Tea\n\nSteep it for two minutes.", uri="notes.md", user_id="ann")
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
    memory.sessions.turns("s", user_id="ann")
    memory.items.pin(fact.id)
    memory.rollback(memory.items.archive(fact.id).entry_id)
    memory.get_user_traits(user_id="ann")
    claim = {"claim_id": "c1", "status": "hypothesis", "facts": {"source_run_ids": ["r0"]}, "inference": "Tea cools."}
    claims = memory.reasoning.add(f"RBMEM_CLAIMS_V1\nTOPIC=tea\nCLAIMS_JSON={json.dumps([claim])}", user_id="ann")
    memory.mem_search("tea", user_id="ann", run_id="r2")
    memory.runs.feedback("r1", {"products": [{"name": "CO", "value": 1.0}]}, user_id="ann")
    memory.learn("r1", user_id="ann")
    memory.get(claims.id)
    memory.forget(user_id="ann")
    memory.admin.overview(user_id="ann")
    memory.admin.doctor()
