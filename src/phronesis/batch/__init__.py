"""Batches: the runs of a file, recorded, interpreted and learned from, row by row, as often as it takes (RB-24)."""

from phronesis.batch.recording import Batch
from phronesis.batch.told import Summary, Told

__all__ = ["Batch", "Summary", "Told"]
