"""The experience engine: attempts become events, events form patterns, and patterns yield principles."""
