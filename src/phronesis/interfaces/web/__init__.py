"""Web pages of the server: what is remembered, why, and what a person can do about it.

No build step, and no request to another server.
"""
