"""Lessons without a model: what a trace shows by its shape alone."""
