"""What SQLite is asked for by a list of ids it looks up by these ids, however much the lane holds."""

import re
from pathlib import Path
from uuid import UUID

import sqlalchemy as sa

from phronesis.memory import Memory
from worked_memory import worked

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


def test_no_statement_that_names_ids_walks_a_lane(tmp_path: Path) -> None:
    seen: set[str] = set()
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", tenant="acme", policy={"embedder": "hashing"}) as memory:
        engine = memory.admin.components.database.engine
        sa.event.listen(engine, "checkout", lambda driver, *_: driver.set_trace_callback(seen.add))
        worked(memory)
        asked = ("SELECT", "UPDATE", "DELETE")
        named = sorted(text for text in seen if text.startswith(asked) and NAMED.search(text))
        with memory.admin.components.database.transaction("acme", "read") as unit:
            unit.driver.set_trace_callback(None)
            walks = [
                (step, text)
                for text in (LISTED.sub(f"IN ({MANY})", text) for text in named)
                for _, _, _, step in unit.driver.execute(f"EXPLAIN QUERY PLAN {text}")
                if step.endswith(WHOLE) or (step.startswith("SCAN") and not SELECTED.search(step))
            ]
    assert len(named) > 10
    assert [walk for walk in walks if walk[0] != ERASING] == []
