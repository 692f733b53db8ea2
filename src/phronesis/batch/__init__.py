"""Batches: the runs of a file, recorded, interpreted and learned from, row by row, as often as it takes (RB-24)."""

from phronesis.batch.rows import Summary, Told
from phronesis.batch.runner import Batch

__all__ = ["Batch", "Summary", "Told"]
