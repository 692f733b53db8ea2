"""phronesis plan: what would be looked for, as a person and as a program read it."""

import json
from typing import Any

from phronesis.core.retrieval_plan import RetrievalPlan

MESSAGE = "What did Zhang Wei say on 2026-05-04? And what does the manual say about port 443?"


def test_a_plan_is_shown(call: Any) -> None:
    shown = call("memory", "plan", MESSAGE, "--user", "lin", "--limit", "5")
    assert shown.code == 0
    for line in (
        "lookup, resources are needed  (rules)",
        "time: from 2026-05-04 until 2026-05-05 (2026-05-04)",
        "names: Zhang Wei",
        "memory, up to 5:",
        "resources, up to 6:",
    ):
        assert line in shown.out


def test_its_json_is_a_plan(call: Any) -> None:
    plan = RetrievalPlan.from_dict(json.loads(call("memory", "plan", MESSAGE, "--user", "lin", "--json").out))
    assert (plan.message, plan.scope.user_id, plan.resources_needed) == (MESSAGE, "lin", True)
    assert "time:" not in call("memory", "plan", "hello").out
