"""The experience base: attempts become events, events patterns, patterns principles."""
