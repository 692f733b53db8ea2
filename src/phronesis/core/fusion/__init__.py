"""Evidence of several sources as one list: comparable scores, each thing once, no source too much of it."""
