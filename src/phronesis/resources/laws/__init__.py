"""Pure functions of the resource engine: outlines, chunks, summaries and version differences."""
