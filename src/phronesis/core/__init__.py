"""Records and pure functions that every part shares. No I/O, clock or randomness."""
