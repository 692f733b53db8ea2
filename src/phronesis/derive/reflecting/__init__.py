"""Reflection: nine steps from what was learned since the last one to traits (requirements NM-01 … NM-15)."""
