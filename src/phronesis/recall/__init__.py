"""Retrieval: from a question and a scope to evidence with sources. It never writes."""
