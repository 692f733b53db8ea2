"""What may be written into the reasoning bank: every hard constraint as a rule of its own (RB-04 … RB-07, RB-16)."""
