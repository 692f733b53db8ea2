"""Carrying out a plan: what each retriever finds, and one list of it."""
