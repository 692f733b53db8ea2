"""Sources: readers that turn a raw text into drafts of events, one module or package for each format."""
