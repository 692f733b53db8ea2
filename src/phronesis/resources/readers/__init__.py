"""Readers of documents: bytes or text in, text with sections out. One module for each form."""
