"""The reader's training: what is learned from is what the labels say, and the network is the one that reads."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phronesis.errors import InputError
from phronesis.models.reader import ENCODER, make_reader, store_reader
from phronesis.models.reader.network import Heads, Labels
from phronesis.models.reader.token_encoder import (
    TokenEncoder,
    Tokenizer,
    Tokens,
    parse_weights,
    shipped_weights,
    vocabulary,
)
from phronesis_benchmarks.reader_data import UNCOUNTED, Augmenter, Turn, encode, load_turns
from phronesis_benchmarks.reader_fitting import run_reader
from phronesis_benchmarks.reader_training import FROZEN, Settings, Trainer, begun, embedded, forward

LABELS = Labels(["fact/attribute", "profile/home_city", "profile/sibling", "#S", "#K", "#R"], ["question"])
SISTER = Turn(
    "My sister Anna moved from Rome to Oslo.",
    [
        {"kind": "profile", "subject": "user", "key": "sibling", "value": "Anna"},
        {"kind": "profile", "subject": "Anna", "key": "home_city", "value": "Oslo", "replaces": "Rome"},
    ],
)


def words(text: str) -> Tokens:
    """Part a text at its blanks, and the marks off."""
    spans, at = [], 0
    for word in text.replace(".", " .").split(" "):
        at = text.index(word, at)
        spans.append((at, at + len(word)))
        at += len(word)
    return Tokens(range(len(spans)), [start for start, _ in spans], [end for _, end in spans])


def test_a_turn_is_written_as_tags_and_what_they_point_at() -> None:
    one = encode(SISTER, words, LABELS, (8, 9))
    names = ["O" if tag == 0 else LABELS.names[(tag - 1) // 2] for tag in one.tags]
    assert names[1:-1] == ["O", "O", "profile/sibling", "O", "O", "#R", "O", "profile/home_city", "O"]
    assert one.points[3] == (0, UNCOUNTED, 0)
    assert one.points[8] == (3, UNCOUNTED, 6)
    assert (one.holds, one.gate, one.read_from) == (1, 0, 1)


def test_a_question_before_is_read_and_not_learned() -> None:
    one = encode(Turn("Oslo.", (), "question", before="Where to?"), words, LABELS, (8, 9))
    assert (one.ids, one.read_from, one.holds, one.gate) == ([8, 0, 1, 9, 0, 1, 9], 4, 0, 1)


def test_turns_are_made_of_turns() -> None:
    other = Turn("I live in Paris.", [{"kind": "profile", "subject": "user", "key": "home_city", "value": "Paris"}])
    augmenter = Augmenter([SISTER, other], seed=1)
    for turn in augmenter.round():
        assert all(str(label["value"]) in turn.text for label in turn.expect)
    assert {len(augmenter.joined().expect) for _ in range(20)} == {2, 3, 4}
    framed = [augmenter.wrapped() for _ in range(40)]
    assert any(not turn.expect for turn in framed)
    assert any(turn.expect for turn in framed)


def test_a_file_without_turns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "turns_en.jsonl"
    path.write_text(
        json.dumps({"split": "test", "role": "user", "name": None, "text": "a", "expect": [], "gate": None})
    )
    assert load_turns([path]) == []
    with pytest.raises(InputError, match="no turns"):
        run_reader([path], [])


@pytest.mark.encoder
def test_the_network_that_learns_is_the_one_that_reads() -> None:
    pytest.importorskip("jax")
    image = shipped_weights()
    file, tokenizer = parse_weights(image), Tokenizer(vocabulary(image))
    trainer = Trainer(file, LABELS, Settings(layers=FROZEN + 1))
    rng = np.random.default_rng(0)
    params: dict[str, Any] = {
        name: value + 0.02 * rng.standard_normal(value.shape).astype(np.float32)
        for name, value in begun(LABELS, file.width, FROZEN + 1, 0).items()
    }
    example = encode(SISTER, tokenizer, LABELS, (tokenizer.begin, tokenizer.end))
    there = np.ones((1, len(example.ids)), np.float32)
    scores = forward(trainer.jax, trainer.base, params, embedded(file, example.ids)[None], there, heads=file.heads)
    states = TokenEncoder(file, params, FROZEN + 1)(example.ids)
    found = Heads(LABELS, params).scores(states, 1)
    tags = np.asarray(scores["tag"])[0, 1:-1]
    tags = tags - np.log(np.exp(tags).sum(axis=-1, keepdims=True))
    assert np.abs(found.tags - tags).max() < 0.02
    assert np.abs(found.pointers["whose"] - np.asarray(scores["whose"])[0, 1:-1, :-1]).max() < 0.05
    stored = {
        ENCODER + name if name in {**trainer.base} or ".down" in name or ".up" in name else name: value
        for name, value in params.items()
    }
    reader = make_reader(store_reader(LABELS, stored, layers=FROZEN + 1, thresholds={"": 0.8}), image)
    assert reader(SISTER.text).holds == pytest.approx(found.holds, abs=0.01)
