"""Readers that parse bytes or text into text with sections, one module per format."""
