"""The labelled experience keeps its form: what is measured by it is only as good as it is."""

import json
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS

SET = LABELLED_TEXTS / "experience"
SPLITS = ("dev", "test")
TEXTS = ("situation", "goal", "attempt", "result", "reflection")
FIELDS = {"id", "patterns", "lang", "domain", "label", *TEXTS, "source_type", "source_ref"}


def events(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SET / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]


def members(split: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for event in events(split):
        for pattern in event["patterns"]:
            found.setdefault(pattern, []).append(event)
    return found


def text(event: dict[str, Any]) -> str:
    return " ".join(event[field] for field in TEXTS if field in event)


@pytest.mark.parametrize("split", SPLITS)
def test_an_event_has_its_fields_and_a_lawful_label(split: str) -> None:
    told = events(split)
    assert len(told) >= 180
    for name in ("id", "source_ref"):
        assert len({event[name] for event in told}) == len(told)
    assert len({text(event) for event in told}) == len(told)
    for event in told:
        assert FIELDS - set(TEXTS) | {"attempt"} <= event.keys() <= FIELDS, event["id"]
        assert all(event[field].strip() == event[field] != "" for field in FIELDS - {"patterns"} if field in event)
        assert event["label"] in {"success", "failure", "unknown"}
        chinese = any("\u4e00" <= letter <= "\u9fff" for letter in text(event))
        assert event["lang"] == ("zh" if chinese else "en"), event["id"]
        assert len(set(event["patterns"])) == len(event["patterns"]) <= 2, event["id"]


def test_a_pattern_has_enough_members_of_one_label_in_one_domain() -> None:
    for split in SPLITS:
        patterns = members(split)
        assert len(patterns) >= 24, split
        assert sum({event["lang"] for event in told} == {"en", "zh"} for told in patterns.values()) >= 3, split
        for name, told in patterns.items():
            assert 4 <= len(told) <= 12, name
            assert len({event["label"] for event in told} - {"unknown"}) == 1, name
            assert len({event["domain"] for event in told if len(event["patterns"]) == 1}) == 1, name


def test_what_is_tuned_on_and_what_is_measured_are_apart() -> None:
    dev, test = members("dev"), members("test")
    assert not dev.keys() & test.keys()
    assert not {event["attempt"] for event in events("dev")} & {event["attempt"] for event in events("test")}
