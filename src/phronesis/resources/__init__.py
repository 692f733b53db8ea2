"""The resource engine: documents are split into sections and followed from version to version."""
