"""Weights of a network as they come with the package: matrices in small steps, the rest in halves.

A matrix has a scale for every `BLOCK` of its numbers, and each number is a whole number of steps of it on either side
of zero (symmetric quantisation, Jacob et al. 2018).
"""

import io
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from phronesis.core.vectors import Floats

BLOCK: Final = 32
"""Numbers that share one scale."""

LARGEST: Final = 63
"""Steps on either side of zero. Average precision by the encoder of English lessons, of four labelled sets: .620 with
63 (20 MB), .618 with 127 (23 MB), .615 with 31 (18 MB), .609 with 15 and .601 with 7."""

_STEPS, _SCALE, _WIDTH = ".steps", ".scale", ".width"


def packed(weights: Mapping[str, Floats], *, pieces: tuple[str, ...]) -> bytes:
    """Give an archive of numpy with weights by name, and the vocabulary of the network.

    Matrices whose rows are blocks of `BLOCK` numbers are stored in steps; what else there is, as halves.
    """
    held: dict[str, Any] = {"pieces": np.frombuffer("\n".join(pieces).encode(), np.uint8)}
    for name, tensor in weights.items():
        if tensor.ndim < 2 or tensor.shape[1] % BLOCK:  # noqa: PLR2004 - a vector
            held[name] = tensor.astype(np.float16)
            continue
        blocks = tensor.reshape(-1, BLOCK)
        scale = (np.abs(blocks).max(axis=1, keepdims=True) / LARGEST).astype(np.float16)
        unit = np.where(scale > 0, scale, 1).astype(np.float32)
        held[name + _STEPS] = np.clip(np.rint(blocks / unit), -LARGEST, LARGEST).astype(np.int8)
        held[name + _SCALE] = scale[:, 0]
        held[name + _WIDTH] = np.array(tensor.shape[1])
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **held)
    return out.getvalue()


def unpacked(archive: bytes) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Give the weights of an archive as float32, and its vocabulary."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        pieces = tuple(held["pieces"].tobytes().decode().split("\n"))
        out = {}
        for entry in held.files:
            name, _, kind = entry.rpartition(".")
            if f".{kind}" == _STEPS:
                blocks = held[entry].astype(np.float32) * held[name + _SCALE].astype(np.float32)[:, None]
                out[name] = blocks.reshape(-1, int(held[name + _WIDTH]))
            elif f".{kind}" not in (_SCALE, _WIDTH) and entry != "pieces":
                out[entry] = held[entry].astype(np.float32)
        return out, pieces
