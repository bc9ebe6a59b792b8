"""MCP, and what a process that stays does meanwhile: workers, the index of an idle bank."""
