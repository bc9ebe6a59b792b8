"""Edges between memories: made by hand here, walked both ways."""
