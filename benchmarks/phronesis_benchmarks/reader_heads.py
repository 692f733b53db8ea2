"""Fit the reader's heads for signs and for whose a value is anew, over the states of a fitted encoder.

What they tell apart is rare in messages: a value that holds no more, one of somebody else. Fitted beside the tags, on
all messages, they stay unsure ("I moved to Porto."); on the messages and templates that hold such values they do not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from phronesis.core.vectors import Floats
from phronesis.models.reader import Reader
from phronesis.models.reader.network import POINTERS, WHOSE
from phronesis_benchmarks.optional import import_optional
from phronesis_benchmarks.reader_data import Augmenter, Example, Turn, encode
from phronesis_benchmarks.reader_training import POINT, SIGNS
from phronesis_benchmarks.text_classifier_training import Params, drop, minimise

PLAIN: Final = 4000
MADE: Final = 2500
TIMES: Final = 14
NAMED: Final = 25
"""Messages without a rare value, joined and coordinated messages, and how often each template is filled."""

LONGEST: Final = 120
"""Tokens of a message that is learned from."""

ROUNDS: Final = 12
RATE: Final = 1e-3
DECAY: Final = 1e-3
DROPPED: Final = 0.1
_BATCH: Final = 256
_OUT: Final = -1e9


@dataclass(slots=True)
class Gathered:
    """States to learn from: of values with their signs, and of values with whose they may be."""

    signed: list[tuple[Floats, Floats, tuple[float, float]]] = field(default_factory=list)
    """A value's token, the whole, and its signs."""
    owned: list[tuple[Floats, int, int]] = field(default_factory=list)
    """The states of a message, the place of a value, and that of the one whom it is of: the first for the writer."""

    def take(self, one: Example, states: Floats) -> None:
        """Take what one message teaches."""
        several = sum(tag % 2 for tag in one.tags) > 1
        for n, counted in enumerate(one.counted):
            if not counted:
                continue
            self.signed.append((states[n], states[0], one.signs[n]))
            whose = one.points[n][POINTERS.index(WHOSE)]
            if several and whose >= 0:
                self.owned.append((states, n, whose))


def select_turns(turns: Sequence[Turn], seed: int) -> list[Turn]:
    """Return the messages that hold rare values, as many others, and what is made for the heads."""
    augmenter = Augmenter(turns, seed)

    def is_rare(turn: Turn) -> bool:
        return any(one["subject"] != "user" or one.get("act") or one.get("done") for one in turn.expect)

    rare = [turn for turn in turns if is_rare(turn)]
    others = [turn for turn in turns if turn.expect and not is_rare(turn)]
    augmenter.dice.shuffle(others)
    made = [turn for _ in range(MADE) for turn in (augmenter.coordinated(), augmenter.joined()) if is_rare(turn)]
    stated = [turn for turn in augmenter.stated(TIMES) if turn.expect]
    return [*rare, *others[:PLAIN], *made, *stated, *augmenter.of_others(NAMED)]


def gather(reader: Reader, turns: Sequence[Turn]) -> Gathered:
    """Return the states of messages by the reader's encoder."""
    tokenizer, found = reader.tokenizer, Gathered()
    for turn in turns:
        one = encode(turn, tokenizer, reader.heads.labels, (tokenizer.begin, tokenizer.end))
        if len(one.ids) <= LONGEST and any(one.counted):
            found.take(one, reader.encoder(one.ids).astype(np.float16))
    return found


def fit_heads(gathered: Gathered, width: int, *, seed: int = 0) -> Params:
    """Return the weights of the signs and of the pointer to whose a value is."""
    jax = import_optional("jax", "jax", field="data")
    rng = np.random.default_rng(seed)
    owner = _fit_owner(jax, gathered.owned, width, rng) if gathered.owned else {}
    return _fit_signs(jax, gathered, width, rng) | {f"{WHOSE}.{name[:-2]}": value for name, value in owner.items()}


def _fit_signs(jax: Any, gathered: Gathered, width: int, rng: np.random.Generator) -> Params:
    jnp = jax.numpy
    begun = {
        "sign.mix.w": _drawn(rng, 2 * width, SIGNS),
        "sign.mix.b": np.zeros(SIGNS, np.float32),
        "sign.w": _drawn(rng, SIGNS, 2),
        "sign.b": np.zeros(2, np.float32),
    }
    given = np.array([np.concatenate([own, whole]) for own, whole, _ in gathered.signed])
    right = np.array([signs for *_, signs in gathered.signed], np.float32)

    def loss(params: Params, batch: Any, key: Any) -> Any:
        states = drop(batch[0].astype(jnp.float32), DROPPED, key)
        mixed = jax.nn.gelu(states @ params["sign.mix.w"] + params["sign.mix.b"], approximate=True)
        odds = mixed @ params["sign.w"] + params["sign.b"]
        return (jnp.logaddexp(0, odds) - odds * batch[1]).sum(axis=1).mean()

    return _learn(loss, begun, [given, right], rng)


def _fit_owner(jax: Any, rows: Sequence[tuple[Floats, int, int]], width: int, rng: np.random.Generator) -> Params:
    jnp = jax.numpy
    owners = np.array([place for *_, place in rows])
    places = np.array([n for _, n, _ in rows])
    sizes = np.array([len(states) for states, *_ in rows])
    numbers = np.arange(len(rows))

    def padded(chosen: Any) -> Any:
        out = np.zeros((len(chosen), LONGEST, width), np.float16)
        for row, n in enumerate(chosen):
            out[row, : sizes[n]] = rows[n][0]
        return out

    def loss(params: Params, batch: Any, key: Any) -> Any:
        states, place, size, owner = batch
        states = drop(states.astype(jnp.float32), DROPPED, key)
        own = jnp.take_along_axis(states, place[:, None, None], axis=1)[:, 0] @ params["from.w"]
        likeness = jnp.einsum("nd,nkd->nk", own, states @ params["to.w"]) / np.sqrt(POINT)
        likeness += jnp.where(jnp.arange(LONGEST) < size[:, None] - 1, 0.0, _OUT)
        return -jnp.take_along_axis(jax.nn.log_softmax(likeness), owner[:, None], axis=1).mean()

    begun = {name: _drawn(rng, width, POINT) for name in ("from.w", "to.w")}
    return _learn(loss, begun, [numbers, places, sizes, owners], rng, first=padded)


def _learn(
    loss: Any,
    begun: Params,
    arrays: Sequence[Any],
    rng: np.random.Generator,
    *,
    first: Callable[[Any], Any] | None = None,
) -> Params:
    """Learn from rows of arrays; ``first`` makes what is learned from of those of the first one."""
    size = len(arrays[0])
    batch = min(_BATCH, size)

    def batches() -> Iterator[Any]:
        for _ in range(ROUNDS):
            order = rng.permutation(size)
            for begin in range(0, size - batch + 1, batch):
                head, *rest = (one[order[begin : begin + batch]] for one in arrays)
                yield [head if first is None else first(head), *rest]

    return minimise(loss, begun, batches(), steps=ROUNDS * (size // batch), rate=RATE, decay=DECAY)


def _drawn(rng: np.random.Generator, *shape: int) -> Any:
    return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
