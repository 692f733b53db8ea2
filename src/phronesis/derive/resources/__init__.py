"""Resources: documents are read, kept in sections, and followed from version to version."""
