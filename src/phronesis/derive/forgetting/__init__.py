"""Forgetting: what nobody needs is put away, and ends at last; one law for conversation memory and experience."""
