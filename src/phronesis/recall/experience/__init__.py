"""Asking the experience base: seeds, the graph around them, and an answer whose every line reaches its source."""
