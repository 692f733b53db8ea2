"""The interfaces: command line, HTTP, MCP and web pages. They parse a request, call Memory and render the result."""
