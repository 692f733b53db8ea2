"""Extraction by rules: messages in clauses, tables of patterns, and the gate that refuses what states nothing."""
