"""The experience base: attempts become events, events patterns, patterns principles (EMB-01 … EMB-16)."""
