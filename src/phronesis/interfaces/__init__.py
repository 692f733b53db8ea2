"""The faces: command line, HTTP, MCP and web pages. They parse, call Memory and render."""
