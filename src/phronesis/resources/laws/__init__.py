"""Pure laws of resources: outlines, chunks, summaries and differences between versions."""
