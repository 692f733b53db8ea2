"""The pages, one file for what belongs together. A page parses, calls Memory and renders."""
