"""Source adapters that parse a raw text into drafts of events, one module or package per format."""
