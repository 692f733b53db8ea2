"""The pages, one module per subject. A page parses, calls Memory and renders."""
