"""Resources: documents that are read in sections and followed from version to version."""
