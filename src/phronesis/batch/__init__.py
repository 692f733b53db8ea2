"""Batches: record, interpret and learn from the runs of a file, row by row, idempotently (RB-24)."""

from phronesis.batch.rows import RowResult, Summary
from phronesis.batch.runner import Batch

__all__ = ["Batch", "RowResult", "Summary"]
