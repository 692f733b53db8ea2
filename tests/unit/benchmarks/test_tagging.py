"""Fitting the network that tags messages."""

import json
from pathlib import Path

import numpy as np
import pytest

from phronesis.conversation.extracting.tagging.network import Network
from phronesis.conversation.extracting.tagging.opinion import TaggedValue, tagged_in
from phronesis.errors import InputError
from phronesis_benchmarks.tagging import Pieces, exchanged, fit, load_learned, run_tagger

CITIES = ["杭州", "北京", "上海", "成都", "南京", "苏州", "厦门", "长沙"]
FOODS = ["辣椒", "香菜", "榴莲", "火锅", "米粉", "豆腐", "芒果", "羊肉"]


def turn(text: str, *labels: dict[str, object]) -> dict[str, object]:
    return {
        "id": text,
        "split": "dev",
        "at": "2026-06-10T09:00:00Z",
        "role": "user",
        "text": text,
        "expect": list(labels),
        "gate": None if labels else "unsaid",
    }


def lives(city: str, subject: str = "user", **more: object) -> dict[str, object]:
    return {"kind": "profile", "subject": subject, "key": "home_city", "value": city, **more}


def likes(food: str) -> dict[str, object]:
    return {"kind": "preference", "subject": "user", "key": "likes", "value": food}


TURNS = [
    *(turn(f"我住{city}", lives(city)) for city in CITIES),
    *(turn(f"你去过{city}吗") for city in CITIES),
    *(turn(f"老王住{city}", lives(city, "老王")) for city in CITIES),
    *(turn(f"不住{city}了", lives(city, act="retract")) for city in CITIES),
    *(turn(f"我爱吃{food}", likes(food)) for food in FOODS),
    *(turn(f"{food}怎么做") for food in FOODS),
]


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    """Cities have one vector and foods another."""
    names = {name: n for n, name in enumerate([*CITIES, "广州", *FOODS], start=1)}
    vectors = np.zeros((len(names) + 1, 8), np.float32)
    vectors[1 : len(CITIES) + 2, :4] = 1
    vectors[len(CITIES) + 2 :, 4:] = 1
    return Pieces(names, vectors)


@pytest.fixture(scope="module")
def network(pieces: Pieces) -> Network:
    return fit(TURNS, pieces=pieces, rounds=40)


def found(network: Network, text: str) -> list[TaggedValue]:
    seen = network.vocabulary.encode(text)
    return tagged_in(text, seen, network.chances(seen), network)


@pytest.mark.slow
def test_it_tells_what_it_was_shown_of_a_word_that_it_never_saw(network: Network) -> None:
    [own] = found(network, "我住广州")
    assert (own.key, own.subject, own.value, own.retracts) == ("home_city", "user", "广州", False)
    [his] = found(network, "老王住广州")
    assert his.subject == "老王"
    [gone] = found(network, "不住广州了")
    assert gone.retracts


def test_a_turn_comes_again_with_other_values_of_its_keys() -> None:
    again = exchanged(TURNS, seed=1)
    assert 0 < len(again) < len(TURNS)
    for one in again:
        [label] = one["expect"]
        assert str(label["value"]) in one["text"]
        assert str(label["value"]) in (CITIES if label["key"] == "home_city" else FOODS)
    assert exchanged(TURNS, seed=1) == again
    assert {one["text"] for one in again} - {str(one["text"]) for one in TURNS} == set()


def test_only_what_may_be_learned_from_is(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    turns = [turn("我住杭州"), {**turn("我住北京"), "split": "test"}, turn("I live in Leeds")]
    path.write_text("".join(json.dumps(one) + "\n" for one in turns), "utf-8")
    assert [one["text"] for one in load_learned([path], "zh")] == ["我住杭州"]
    assert [one["text"] for one in load_learned([path], "en")] == ["I live in Leeds"]
    path.write_text(json.dumps(turn("I live in Leeds")) + "\n", "utf-8")
    with pytest.raises(InputError, match="no turns in 'zh'"):
        run_tagger([path], [])
