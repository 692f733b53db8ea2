"""Records and pure functions that all packages share. No I/O, clock or randomness."""
