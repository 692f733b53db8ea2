"""The labelled sets keep their form: what is measured by them is only as good as they are."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS

ROOT = Path(__file__).parents[3]
LABELLED = LABELLED_TEXTS
STORY = ROOT / "tests" / "scenarios" / "data"
LANGUAGES = ("en", "zh")
GATES = {
    "question",
    "joke",
    "quotation",
    "hypothesis",
    "code",
    "chit_chat",
    "assistant",
    "third_party_unknown",
    "fiction",
    "instruction",
}


def memory_types() -> set[tuple[str, str]]:
    page = (ROOT / "src" / "phronesis" / "conversation" / "memory-types.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (?:one|many) \|", page, re.MULTILINE)
    assert len(rows) > 40
    return set(rows)


TYPES = memory_types()


def family(key: str) -> str:
    head, dot, _ = key.partition(".")
    return f"{head}.*" if dot else key


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / name).read_text(encoding="utf-8").splitlines()]


def holdings(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from case["live"]
    yield from case["ended"]
    for pair in case.get("disputed", []):
        yield from pair


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("name", "least"), [("turns", 150), ("changes", 40)])
def test_ids_are_unique_and_the_splits_alternate(name: str, least: int, language: str) -> None:
    cases = lines(f"{name}_{language}.jsonl")
    assert len(cases) >= least
    assert len({case["id"] for case in cases}) == len(cases)
    assert [case["split"] for case in cases] == ["dev", "test"] * (len(cases) // 2)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_turn_has_labels_or_a_gate(language: str) -> None:
    turns = lines(f"turns_{language}.jsonl")
    assert len({turn["text"] for turn in turns}) == len(turns)
    for turn in turns:
        assert datetime.fromisoformat(turn["at"]).utcoffset() is not None
        assert turn["role"] in {"user", "assistant", "tool"}
        assert turn["name"] is not None or turn["role"] != "tool"
        assert (turn["gate"] in GATES) != bool(turn["expect"]), turn["id"]
    for split in ("dev", "test"):
        gates = Counter(turn["gate"] for turn in turns if turn["split"] == split)
        assert set(gates) == {*GATES, None}
        assert 0.55 <= gates[None] / gates.total() <= 0.65


@pytest.mark.parametrize(
    "name",
    [
        "turns_en.jsonl",
        "more_en.jsonl",
        "more_zh.jsonl",
        "third_en.jsonl",
        "fifth_en.jsonl",
    ],
)
def test_a_label_is_a_memory_type_in_the_words_of_its_turn(name: str) -> None:
    for turn in lines(name):
        said = f"{turn['text']} {turn['name']}".casefold()
        for label in turn["expect"]:
            assert (family(label["key"]), label["kind"]) in TYPES, turn["id"]
            assert label.keys() <= {"kind", "subject", "key", "value", "act", "done", "replaces", "date"}
            assert label["value"].casefold() in said, turn["id"]
            assert label.get("replaces", "").casefold() in said, turn["id"]
            assert label["subject"] == "user" or label["subject"].casefold() in said, turn["id"]
            assert label.get("act", "retract") == "retract"
            assert label.get("done", True) is True
            date.fromisoformat(label.get("date", "2026-01-01"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("split", ["dev", "test"])
def test_both_splits_cover_every_memory_type(split: str, language: str) -> None:
    turns = [turn for turn in lines(f"turns_{language}.jsonl") if turn["split"] == split]
    assert {(family(label["key"]), label["kind"]) for turn in turns for label in turn["expect"]} == TYPES


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_held_after_changes_was_said_in_them(language: str) -> None:
    keys = {key for key, _ in TYPES}
    endings: Counter[str] = Counter()
    for case in lines(f"changes_{language}.jsonl"):
        for turn in case["turns"]:
            assert datetime.fromisoformat(turn["at"]).utcoffset() is not None
        said = " ".join(turn["text"] for turn in case["turns"]).casefold()
        for held in holdings(case):
            assert family(held["key"]) in keys, case["id"]
            assert held["value"].casefold() in said, case["id"]
        assert case["live"], case["id"]
        endings.update(held["ended"] for held in case["ended"])
        for first, second in case.get("disputed", []):
            assert (first["subject"], first["key"]) == (second["subject"], second["key"])
    assert set(endings) == {"superseded", "retracted", "retired"}


def test_the_story_tells_what_its_table_holds() -> None:
    story = json.loads((STORY / "story.json").read_text(encoding="utf-8"))
    table = json.loads((STORY / "story_items.json").read_text(encoding="utf-8"))
    assert len(story["sessions"]) == 12
    assert {session["language"] for session in story["sessions"]} == {"en", "zh", "mixed"}
    assert all(4 <= len(session["turns"]) <= 8 for session in story["sessions"])
    texts = [turn["text"] for session in story["sessions"] for turn in session["turns"]]
    assert all(item["value"] in "\n".join(texts) for item in table["items"])
    assert {(family(item["key"]), item["kind"]) for item in table["items"]} <= TYPES
    assert {item["status"] for item in table["items"]} == {"live", "superseded", "retracted", "retired", "disputed"}
    for item in table["items"]:
        date.fromisoformat(item.get("occurred_on", "2026-01-01"))
        assert not any(never in item["value"] for never in table["never"]), item
    assert set(table["quarantined"]) <= set(texts)
