"""The spine of writing: prepare, apply, replay, rollback and erasure of any engine."""
