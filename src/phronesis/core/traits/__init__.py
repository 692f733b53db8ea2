"""Traits: what kind of person a user is, found by reflection, with evidence, decay and contradiction."""
