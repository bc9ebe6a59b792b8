"""Coding agents: hooks, installation, transcripts, the files that they read."""
