"""Coding agents: what their hooks ask and tell, and what their transcripts teach."""
