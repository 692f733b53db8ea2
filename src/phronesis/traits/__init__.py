"""User traits: what reflection derives from memories, with evidence, decay and contradiction."""
