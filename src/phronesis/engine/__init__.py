"""Prepare and apply of log entries, replay, rollback and erasure, shared by all engines."""
