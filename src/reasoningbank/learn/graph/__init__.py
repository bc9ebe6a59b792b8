"""Conversations as nodes and sentence edges of the memory graph."""
