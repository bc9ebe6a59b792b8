"""The doors for other programs: MCP and HTTP, over the one bank."""
