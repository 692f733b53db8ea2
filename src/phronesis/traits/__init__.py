"""User traits: derived from memories by reflection, with evidence, decay and contradiction."""
