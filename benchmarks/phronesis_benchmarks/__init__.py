"""Measure a memory without a language model: the benchmark data, the figures, the systems that are compared."""
