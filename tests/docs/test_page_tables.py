"""The tables, files and lists on the pages of docs/ are those of the code."""

import re
from dataclasses import fields
from pathlib import Path

import yaml

from phronesis.config import ROLES
from phronesis.core import confidence
from phronesis.core.context import SLOTS, Budget
from phronesis.core.retrieval_plan import RetrievalPlan
from phronesis.experience.sources.port import SOURCES
from phronesis.forgetting.policy_section import ForgettingRules
from phronesis.interfaces.cli.commands import cli, every_command
from phronesis.interfaces.reference import PAGES, write_pages
from phronesis.reasoning.claim_gate import RULES, gate
from phronesis.reasoning.laws.claim_status import parse
from phronesis.reasoning.laws.records import MEMBERS
from phronesis.traits.policy_section import TraitPolicy, TraitRules
from phronesis.wiring import find_engines, read_settings

DOCS = Path(__file__).parents[2] / "docs"
THREE_CELLS = r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text("utf-8")


def blocks(name: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)
    assert found, (name, language)
    return [body.rstrip("\n") for body in found]


def test_contexts() -> None:
    told = page("how-to/context")
    assert tuple(re.findall(THREE_CELLS, told, re.MULTILINE)[: len(SLOTS)]) == SLOTS
    budget = Budget()
    for default in (budget.total, budget.evidence, budget.recent_turns, budget.system_blocks, budget.working_summary):
        assert f"{default:,}" in told


def test_plans() -> None:
    told = page("reference/records").partition("\n## RetrievalPlan\n")[2].partition("\n## ")[0]
    assert re.findall(THREE_CELLS, told.replace("\\|", "or"), re.MULTILINE) == [
        one.name for one in fields(RetrievalPlan)
    ]


def test_sources_of_experience() -> None:
    told = re.findall(r"^\| `(\w+)` \| .* \|$", page("how-to/experience"), re.MULTILINE)
    assert sorted(told) == sorted(SOURCES)


def test_the_policy_of_forgetting() -> None:
    [block] = blocks("how-to/forgetting", "yaml")
    assert ForgettingRules.model_validate(yaml.safe_load(block)["forgetting"]).keep == ForgettingRules().keep


def test_models_and_every_file_that_is_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    for name in ("how-to/models", "how-to/documents", "operations"):
        for block in blocks(name, "yaml"):
            path.write_text(block, "utf-8")
            assert read_settings("sqlite://", tenant=None, policy=path).policy.version == 1, block
    assert [role for role in ROLES if f"`{role}`" not in page("how-to/models")] == []


def test_traits(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    path.write_text(blocks("how-to/traits", "yaml")[0], "utf-8")
    assert read_settings("sqlite://", tenant=None, policy=path).policy.of(TraitPolicy).traits == TraitRules()
    told = page("how-to/traits")
    assert all(f"{share:.2f} ({grade}" in told for grade, share in confidence.GRADE_SHARES.items())
    assert all(f"{rate} {subtype}" in told for subtype, rate in confidence.DECAY_RATES.items() if subtype != "behavior")


def test_claims() -> None:
    [text] = blocks("how-to/claims", "text")
    assert gate(text) == []
    assert [claim.status for claim in parse(text).claims] == ["hypothesis", "fact"]
    told = page("how-to/claims")
    assert re.findall(THREE_CELLS, told, re.MULTILINE) == [rule.__name__ for rule in RULES]
    assert all(f"`{name}`" in told for name in MEMBERS)


def test_each_section_of_a_policy_is_on_the_page_of_policies_and_each_field_says_what_it_is() -> None:
    policy = find_engines().policy
    assert [name for name in policy.model_fields if f"`{name}`" not in page("how-to/policies")] == []
    schema = policy.model_json_schema()
    parts = [schema, *schema["$defs"].values()]
    undescribed = [
        f"{part['title']}.{name}"
        for part in parts
        for name, field in part.get("properties", {}).items()
        if not field.get("description") and "$ref" not in field
    ]
    assert undescribed == []


def test_the_reference_is_what_the_code_gives(tmp_path: Path) -> None:
    for path, made in PAGES.items():
        assert (DOCS / path).read_text("utf-8") == made(), "run: python -m phronesis.interfaces.reference docs"
    write_pages(tmp_path)
    assert {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.*")} == set(PAGES)
    assert all(f"\n### phronesis {path}\n" in page("reference/cli") for path, _ in every_command(cli))
