"""The doors for programs: who comes in (identity, tokens, OAuth) and how (HTTP, MCP)."""
