"""Pure laws of traits: records, strength as a fold over evidence, and when a reflection is due."""
