"""HTTP: the verbs of Memory as routes under /api/v1. It parses, calls and renders."""
