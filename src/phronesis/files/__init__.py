"""Memory as files that people and other agents read and edit: bundles of the Open Knowledge Format, and skills.

The database stays the only truth: a bundle is written from it, and edits of files come back as entries of the log.
"""
