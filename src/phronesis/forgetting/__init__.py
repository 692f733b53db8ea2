"""Forgetting: archive and finally end items that are no longer used, by one law for conversation and experience."""
