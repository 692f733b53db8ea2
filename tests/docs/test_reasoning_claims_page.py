"""docs/reasoning-claims.md tells the truth: its block is lawful, its Python runs, its rules are the gate's."""

import re
from pathlib import Path

from phronesis.reasoning.claim_gate import RULES, gate
from phronesis.reasoning.laws.block_format import parse
from phronesis.reasoning.laws.records import MEMBERS

PAGE = (Path(__file__).parents[2] / "docs" / "reasoning-claims.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return [body.rstrip("\n") for body in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)]


def test_its_block_is_lawful() -> None:
    [text] = blocks("text")
    assert gate(text) == []
    assert [claim.status for claim in parse(text).claims] == ["hypothesis", "fact"]


def test_its_python_runs_in_order() -> None:
    names: dict[str, object] = {}
    assert len(blocks("python")) == 2
    for block in blocks("python"):
        exec(compile(block, "reasoning-claims.md", "exec"), names)  # noqa: S102 - our own words


def test_every_rule_and_every_member_is_there() -> None:
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE) == [rule.name for rule in RULES]
    assert all(f"`{name}`" in PAGE for name in MEMBERS)
