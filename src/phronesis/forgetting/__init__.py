"""Forgetting: items that nobody needs are archived and end at last. One law for conversation memory and experience."""
