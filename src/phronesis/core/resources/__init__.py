"""Resources: documents that are worth keeping, read in sections."""
