"""The append-only log: entries, their chain, payload parts, redaction, export and import."""
