"""Catalyst design: two metals in an atomic ratio, a small molecule that modifies them, and products measured."""
