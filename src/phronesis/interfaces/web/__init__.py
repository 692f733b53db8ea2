"""Web pages of the server: browse memories, see their provenance, and edit, archive or erase them.

There is no build step and no request to another server.
"""
