"""Catalyst design: facts of runs (two metals, a modifier, products), PubChem look-ups and reviews of modifiers."""
