"""Fate of the commits that sessions made."""
