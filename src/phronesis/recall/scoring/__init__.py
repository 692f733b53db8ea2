"""Ranking: signals, features, weights and the scale of scores. Pure."""
