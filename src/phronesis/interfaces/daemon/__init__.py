"""The daemon: one process of a user that keeps a store open for MCP clients and the hooks of coding agents.

`endpoint` finds, starts and connects to it with the standard library alone; `server` is the process itself.
"""
