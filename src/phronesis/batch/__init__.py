"""Batches: record, interpret and learn from the runs of a file, row by row, idempotently (RB-24)."""

from phronesis.batch.rows import BatchSummary, RowResult
from phronesis.batch.runner import Batch

__all__ = ["Batch", "BatchSummary", "RowResult"]
