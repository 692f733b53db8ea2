"""Which key of memory-types.md a question asks for, and what is held under it."""
