"""Ranking evidence: a sum of weight times feature, each feature a small function, the weights data."""
