"""The bank as a Model Context Protocol server: a few cheap tools, resources and prompts, over stdio and HTTP."""
