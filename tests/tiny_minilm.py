"""Weights of a BERT as MiniLM's are named, small and of chance: two layers of 32 numbers, and a few pieces."""

import json
from collections.abc import Mapping
from string import ascii_lowercase

import numpy as np

from phronesis.models.embedder import Floats

WIDTH, LAYERS, HEADS, INNER, PLACES = 32, 2, 4, 64, 40
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", ",", "'", "盘", "disk", "full", "##s", "##ful", "##ly", *ascii_lowercase,
          *(f"##{letter}" for letter in ascii_lowercase))  # fmt: skip
_SIDES = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH), "up": (INNER, WIDTH),
          "down": (WIDTH, INNER)}  # fmt: skip
_NAMES = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
          "ao": "attention.output.dense", "an": "attention.output.LayerNorm", "up": "intermediate.dense",
          "down": "output.dense", "dn": "output.LayerNorm"}  # fmt: skip


def tiny_minilm(seed: int = 0) -> dict[str, Floats]:
    """Give such weights, by the names of `Bert`."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Floats:
        values: Floats = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        return values

    out = {"word": 5 * drawn(len(PIECES), WIDTH), "place": drawn(PLACES, WIDTH), "type": drawn(2, WIDTH)}
    norms = ["en", *(f"l{n}.{name}" for n in range(LAYERS) for name in ("an", "dn"))]
    for norm in norms:
        out |= {f"{norm}.w": 1 + drawn(WIDTH), f"{norm}.b": drawn(WIDTH)}
    for n in range(LAYERS):
        for name, shape in _SIDES.items():
            out |= {f"l{n}.{name}.w": drawn(*shape), f"l{n}.{name}.b": drawn(shape[0])}
    return out


def as_safetensors(weights: Mapping[str, Floats], *, kind: str = "F32") -> bytes:
    """Give the file that sentence-transformers would write of them, with two tensors that are not asked for."""
    told: dict[str, object] = {"__metadata__": {"format": "pt"}}
    image = b""
    stored = {_theirs(name): tensor for name, tensor in weights.items()}
    stored |= {"pooler.dense.bias": np.zeros(WIDTH, np.float32), "encoder.layer.0.other.bias": np.zeros(1, np.float32)}
    for name, tensor in stored.items():
        begin = len(image)
        image += tensor.tobytes()
        told[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, len(image)]}
    head = json.dumps(told).encode()
    return len(head).to_bytes(8, "little") + head + image


def _theirs(name: str) -> str:
    fixed = {"word": "embeddings.word_embeddings.weight", "place": "embeddings.position_embeddings.weight",
             "type": "embeddings.token_type_embeddings.weight", "en.w": "embeddings.LayerNorm.weight",
             "en.b": "embeddings.LayerNorm.bias"}  # fmt: skip
    if name in fixed:
        return fixed[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{_NAMES[part]}.{'weight' if kind == 'w' else 'bias'}"
