"""The protocol RBMEM_CLAIMS_V1: a topic and up to ten claims as lines of text, read and written without loss."""
