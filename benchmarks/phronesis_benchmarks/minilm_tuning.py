"""What of MiniLM is tuned to tell lessons apart in English: all of it but what its single pieces mean."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.errors import InputError
from phronesis.experience.laws.similarity import Floats
from phronesis.models.bert import Bert, WordPiece
from phronesis.models.lesson_encoders import LONGEST
from phronesis_benchmarks.bert_layers import mean_of, normed, passed
from phronesis_benchmarks.lesson_tuning import Changes, States
from phronesis_benchmarks.optional import import_optional

WORDS: Final = "word"
"""The weights that stay as they come: of thirty thousand pieces the events have a few thousand."""

_PARTS: Final = {
    "attention.self.query": "q", "attention.self.key": "k", "attention.self.value": "v",
    "attention.output.dense": "ao", "attention.output.LayerNorm": "an", "intermediate.dense": "up",
    "output.dense": "down", "output.LayerNorm": "dn",
}  # fmt: skip
_FIXED: Final = {
    "embeddings.word_embeddings.weight": WORDS, "embeddings.position_embeddings.weight": "place",
    "embeddings.token_type_embeddings.weight": "type", "embeddings.LayerNorm.weight": "en.w",
    "embeddings.LayerNorm.bias": "en.b",
}  # fmt: skip
_LAYER: Final = re.compile(r"encoder\.layer\.(\d+)\.(.+)\.(w|b)(?:eight|ias)$")


class MiniLMNetwork:
    """MiniLM by its weights, those of `Bert`; what is learned takes the place of them, by the same names."""

    rounds = 6
    rate = 5e-5
    decay = 0.01

    def __init__(self, weights: Mapping[str, Floats], pieces: Sequence[str], *, heads: int) -> None:
        self.weights, self.heads = weights, heads
        self.layers = Bert(weights, heads).layers
        self.tokenizer = WordPiece(pieces)
        self.jax = import_optional("jax", "jax", field="data")

    @property
    def width(self) -> int:
        """Numbers of a state."""
        return int(self.weights[WORDS].shape[1])

    def begun(self, texts: Sequence[str]) -> list[States]:
        """Return the numbers of the pieces of texts, a row each."""
        return [np.array(self.tokenizer.numbers(text, longest=LONGEST), np.int32)[:, None] for text in texts]

    def nothing(self) -> Changes:
        """Return all weights but those of pieces."""
        return {name: held for name, held in self.weights.items() if name != WORDS}

    def pooled(self, changes: Mapping[str, Any], states: Any, there: Any) -> Any:
        """Return where texts lie, from the numbers of their pieces."""
        held = changes
        words = self.jax.numpy.asarray(self.weights[WORDS])
        states = words[states[..., 0]] + held["place"][: states.shape[1]] + held["type"][0]
        states = normed(states, held, "en")
        for n in range(self.layers):
            mark = f"l{n}."
            layer = {name.removeprefix(mark): one for name, one in held.items() if name.startswith(mark)}
            states = passed(layer, states, there, heads=self.heads)
        return mean_of(states, there)


def read_safetensors(path: Path) -> dict[str, Floats]:
    """Read the weights of a BERT of sentence-transformers (``model.safetensors``), by the names of `Bert`.

    The format: a length of 8 bytes, that many of JSON which tells where each tensor stands, and the tensors.
    InputError: there is no file, it is none of that form, or has weights that are not float32.
    """
    if not path.is_file():
        raise InputError(f"{path} is no file; the weights of all-MiniLM-L6-v2 are needed", field="base")
    image = path.read_bytes()
    try:
        begin = 8 + int.from_bytes(image[:8], "little")
        out = {}
        for name, told in json.loads(image[8:begin]).items():
            known = _name_of(name.removeprefix("bert."))
            if known is None:
                continue
            if told["dtype"] != "F32":
                raise InputError(f"{path.name}: {name} is {told['dtype']}, where F32 is needed", field="base")
            first, last = told["data_offsets"]
            out[known] = np.frombuffer(image, np.float32, (last - first) // 4, begin + first).reshape(told["shape"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path.name} is no file of safetensors: {error!r:.120}", field="base") from error
    if WORDS not in out:
        raise InputError(f"{path.name} has no BERT in it", field="base")
    return out


def _name_of(name: str) -> str | None:
    found = _LAYER.match(name)
    if found is None:
        return _FIXED.get(name)
    part = _PARTS.get(found[2])
    return None if part is None else f"l{found[1]}.{part}.{found[3]}"
