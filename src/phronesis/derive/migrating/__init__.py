"""Old memories in free text, rewritten as claims by rules or by a model (RB-23)."""
