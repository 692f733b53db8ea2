"""Search documents, tokens and vectors: a projection of items that can be rebuilt."""
