"""The tables, files and lists of commands on the pages of docs/ are those of the code."""

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

import click
import pytest
import yaml

from phronesis import Client, Memory, errors
from phronesis.compose.budget_selection import COUNT_LIMIT, SHOWN_ALREADY, SLOT_BUDGET, TOTAL_BUDGET
from phronesis.config import ROLES
from phronesis.core.context import SLOTS, Budget
from phronesis.core.retrieval_plan import INTENTS, MODES, ORIGINS, RetrievalPlan
from phronesis.experience.sources.port import SOURCES
from phronesis.forgetting.policy_section import ForgettingRules
from phronesis.interfaces.cli import experience
from phronesis.interfaces.cli.commands import FORMER, cli, every_command, find_command
from phronesis.interfaces.http.problems import status_of
from phronesis.interfaces.reference import GROUPS, PAGES
from phronesis.interfaces.reference.__main__ import write_pages
from phronesis.reasoning.claim_gate import RULES, gate
from phronesis.reasoning.laws.block_format import parse
from phronesis.reasoning.laws.records import MEMBERS
from phronesis.wiring.engines import read_settings

DOCS = Path(__file__).parents[2] / "docs"
TWO_CELLS = r"^\| `(\w+)` \| (.*) \|$"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text("utf-8")


def blocks(name: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)
    assert found, (name, language)
    return [body.rstrip("\n") for body in found]


def rows(name: str, pattern: str) -> list[tuple[str, str]]:
    return re.findall(pattern, page(name), re.MULTILINE)


COMMANDS: dict[str, set[str]] = {
    "experience": {"ingest", "aggregate", "abstract", "query", "feedback", "forget"},
    "forgetting": {"forget", "unarchive"},
    "http": {"serve", "keys"},
    "resources": {"resource", "plan"},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    _, _, end = page(name).partition("## On the command line")
    told = re.findall(r"phronesis (\w+)(?: (\w+))?", end) or rows(name, r"^phronesis (\w+)(?: (\w+))?")
    assert {command for command, _ in told} == COMMANDS[name] <= {*cli.commands, *FORMER}
    if name == "resources":
        group, _ = find_command(["resource"])
        assert isinstance(group, click.Group)
        assert {inner for command, inner in told if command == "resource"} == set(group.commands) - {"source"}


def test_contexts() -> None:
    told = page("context-package")
    assert tuple(re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", told, re.MULTILINE)[: len(SLOTS)]) == SLOTS
    assert [name for name, default in asdict(Budget()).items() if f"| `{name}` | {default} |" not in told] == []
    assert all(f"`{reason}`" in told for reason in (COUNT_LIMIT, SHOWN_ALREADY, SLOT_BUDGET, TOTAL_BUDGET))
    assert ", ".join(f"`{slot}`" for slot in SLOTS) in page("design")


def test_plans() -> None:
    [text] = blocks("retrieval-plan", "json")
    given = json.loads(text)
    assert RetrievalPlan.from_dict(given).to_dict() == given
    told = dict(rows("retrieval-plan", TWO_CELLS))
    assert list(given) == list(told) == [one.name for one in fields(RetrievalPlan)]
    for name, words in (("intent", INTENTS), ("modes", MODES), ("queries", ORIGINS)):
        assert all(f"`{word}`" in told[name] for word in words)


def test_sources_of_experience() -> None:
    assert sorted(name for name, _ in rows("experience", TWO_CELLS)) == sorted(SOURCES) == sorted(experience.SOURCES)


def test_the_policy_of_forgetting() -> None:
    [block] = blocks("forgetting", "yaml")
    told = yaml.safe_load(block)["forgetting"]
    assert ForgettingRules.model_validate(told) == ForgettingRules()
    assert set(told) == set(ForgettingRules.model_fields) - {"hours"}


def test_models(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    for block in blocks("models", "yaml"):
        path.write_text(block, "utf-8")
        assert read_settings("sqlite://", tenant=None, policy=path).policy.version == 1, block
    assert [role for role in ROLES if f"`{role}`" not in page("models")] == []


def test_claims() -> None:
    [text] = blocks("reasoning-claims", "text")
    assert gate(text) == []
    assert [claim.status for claim in parse(text).claims] == ["hypothesis", "fact"]
    told = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", page("reasoning-claims"), re.MULTILINE)
    assert told == [rule.name for rule in RULES]
    assert all(f"`{name}`" in page("reasoning-claims") for name in MEMBERS)


def test_what_the_client_lacks(tmp_path: Path) -> None:
    named = set(re.findall(r"`([\w.]+)`", page("client").split("is not there:")[1].split("; nor keys")[0]))
    with (
        Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as memory,
        Client("http://127.0.0.1:8765") as client,
    ):
        ours, theirs = ({name for name in verbs_of(one) if name != "open"} for one in (memory, client))
    assert named == ours - theirs


def verbs_of(face: Memory | Client) -> Iterator[str]:
    for group, one in {"": face, **{name: getattr(face, name, None) for name in GROUPS}}.items():
        for name, _ in inspect.getmembers(type(one), inspect.isfunction):
            if one is not None and not name.startswith("_"):
                yield f"{group}.{name}".lstrip(".")


def kinds(kind: type[errors.PhronesisError] = errors.PhronesisError) -> Iterator[type[errors.PhronesisError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from kinds(below)


def test_every_error_stands_under_its_status() -> None:
    codes = {kind.code for kind in kinds()}
    told: dict[int, set[str]] = defaultdict(set)
    for status, named in rows("http", r"^\| (\d{3}) \| (.+) \|$"):
        told[int(status)] |= {code for code in re.findall(r"`([a-z_.]+)`", named) if "." in code or code in codes}
    for kind in set(kinds()) - {errors.ServerUnavailable}:  # raised by a client alone
        assert kind.code in told[int(status_of(kind("x")))]
    known = codes | {"details.mistakes"}
    assert {code for codes in told.values() for code in codes if not code.startswith("http.")} <= known


def test_the_reference_is_what_the_code_gives(tmp_path: Path) -> None:
    for path, made in PAGES.items():
        assert (DOCS / path).read_text("utf-8") == made(), "run: python -m phronesis.interfaces.reference docs"
    write_pages(tmp_path)
    assert {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.*")} == set(PAGES)
    assert all(f"\n### phronesis {path}\n" in page("reference/cli") for path, _ in every_command(cli))
